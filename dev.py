"""Set-up and tasks from a clean clone, with nothing but Python and pip.

    python3 dev.py demo                  select features of embedded data, write a report
    python3 dev.py test                  the quick tests, five to six minutes on two cores
    python3 dev.py test --all            all tests; other arguments go to pytest
    python3 dev.py test --python 3.13    with another interpreter: a version, or a path
    python3 dev.py test --lowest         with the lowest versions that pyproject.toml allows
    python3 dev.py smoke 3.12 3.13       the most important tests on each version that is installed
    python3 dev.py fuzz --minutes 10     the random sweeps with fresh seeds; --seed repeats a run
    python3 dev.py mutants MODULE ...    random changes of a module: do its tests notice?
    python3 dev.py lint                  ruff and mypy, also on the Python of the guides
    python3 dev.py docs                  the documentation site, in docs/_build/html
    python3 dev.py docs --serve          the same, then shows it at http://localhost:8000
    python3 dev.py docs --fast           without running the examples of the gallery

Tasks make virtual environments under .venvs/ and install what they need there, and what
GREEDYRLS_ALSO names: tests with PyTorch are skipped without it. Where there is a C compiler, steps
are compiled if their sources have changed; GREEDYRLS_REQUIRE_COMPILED=1 makes it an error if not.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent
# The environment of each task under .venvs/, and the extra of pyproject.toml that fills it.
ENVIRONMENTS = {
    "demo": ("demo", "cli"),
    "test": ("dev", "dev"),
    "fuzz": ("dev", "dev"),
    "lint": ("dev", "dev"),
    "smoke": ("smoke", "smoke"),
    "mutants": ("mutants", "mutants"),
    "docs": ("docs", "docs"),
}
# What must work on every version of Python: exactness, formats, estimators, the command line.
SMOKE = (
    "exactness/test_exactness.py",
    "test_golden.py",
    "estimators/test_estimators.py",
    "app/read/test_read_csv.py",
    "cli/test_cli.py",
)
# Tests fill the cores with processes; threads of BLAS beside them would only fight over the cores.
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
# What building the site writes to docs/.
GENERATED = (
    *("_build", "gallery", "benchmarks/results"),
    *("reference/generated", "reference/backreferences"),
)
# Problems of each sweep in one round of fuzzing: a round takes a few minutes.
FUZZ_EXAMPLES = "300"


def main() -> None:
    """Do the task named on the command line."""
    if sys.version_info < (3, 11):  # noqa: UP036 (this file runs before anything is installed)
        sys.exit(f"greedyrls needs Python 3.11 or newer; this is {sys.version.split()[0]}.")
    if len(sys.argv) < 2 or sys.argv[1] not in TASKS:
        sys.exit(__doc__)
    task, arguments = sys.argv[1], sys.argv[2:]
    TASKS[task](arguments)


def demo(arguments: list[str]) -> None:
    """Run the command's own demonstration."""
    python = environment("demo")
    run([python, "-m", "greedyrls", "demo", "--out", "demo-output", *arguments])


def test(arguments: list[str]) -> None:
    """Run the tests; unknown arguments go to pytest."""
    parser = argparse.ArgumentParser(prog="dev.py test", add_help=False, allow_abbrev=False)
    parser.add_argument("--python")
    parser.add_argument("--lowest", action="store_true")
    options, others = parser.parse_known_args(arguments)
    python = environment("test", options.python, options.lowest)
    run([python, "-m", "pytest", *workers(others), *others], ONE_THREAD)


def smoke(arguments: list[str]) -> None:
    """Run the most important tests on each of some versions of Python that is installed."""
    parser = argparse.ArgumentParser(prog="dev.py smoke", allow_abbrev=False)
    parser.add_argument("versions", nargs="+")
    parser.add_argument("--lowest", action="store_true", help="with the lowest versions allowed")
    options = parser.parse_args(arguments)
    for version in options.versions:
        if interpreter(version) is None:
            print(f"Python {version} was not found: not tested.", flush=True)
            continue
        python = environment("smoke", version, options.lowest)
        versions = "the lowest versions allowed" if options.lowest else "current versions"
        print(f"Smoke test on Python {version} with {versions}:", flush=True)
        files = [f"tests/{name}" for name in SMOKE]
        few = {"GREEDYRLS_EXAMPLES": "10"}  # the sweeps' problems are those of all versions
        # In one process: each further one takes seconds of imports, and CI has other tests to run.
        run([python, "-m", "pytest", "-q", "-n", "0", *files], ONE_THREAD | few)


def fuzz(arguments: list[str]) -> None:
    """Run the sweeps of random problems with fresh seeds until the time is over."""
    parser = argparse.ArgumentParser(prog="dev.py fuzz", allow_abbrev=False)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, help="of the first round; the next have the next ones")
    options, others = parser.parse_known_args(arguments)
    python = environment("fuzz")
    number = int(time.time()) if options.seed is None else options.seed
    end = time.monotonic() + 60.0 * options.minutes
    command = [python, "-m", "pytest", "--all", "-q", *workers(others), *others]
    while time.monotonic() < end:
        print(f"Seed {number}: python3 dev.py fuzz --seed {number} repeats it.", flush=True)
        own = {"GREEDYRLS_FUZZ_SEED": str(number), "GREEDYRLS_EXAMPLES": FUZZ_EXAMPLES}
        process = subprocess.Popen(command, cwd=ROOT, env=surroundings(ONE_THREAD) | own)
        try:
            code = process.wait(max(1.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)  # pytest reports what it has found so far
            code = process.wait()
            code = 0 if code == 2 else code  # interrupted, and nothing had failed
        if code:
            sys.exit(code)
        number += 1


def mutants(arguments: list[str]) -> None:
    """Run random mutants of some modules against the tests that import them."""
    run([environment("mutants"), "tools/mutants.py", *arguments])


def lint(arguments: list[str]) -> None:
    """Check style and types."""
    python = environment("lint")
    run([python, "-m", "ruff", "check", ".", *arguments])
    run([python, "-m", "ruff", "format", "--check", "."])
    run([python, "-m", "mypy"])
    run([python, "tools/guide_types.py"])


def docs(arguments: list[str]) -> None:
    """Build the documentation site; warnings, and links that lead nowhere, are errors."""
    parser = argparse.ArgumentParser(prog="dev.py docs", allow_abbrev=False)
    parser.add_argument("--fast", action="store_true", help="do not run the gallery's examples")
    parser.add_argument("--clean", action="store_true", help="build all pages again")
    parser.add_argument("--serve", action="store_true", help="show the site when it is built")
    parser.add_argument("--port", type=int, default=8000, help="for --serve")
    options = parser.parse_args(arguments)
    python = environment("docs")
    site = ROOT / "docs" / "_build" / "html"
    if options.clean:
        for folder in GENERATED:
            shutil.rmtree(ROOT / "docs" / folder, ignore_errors=True)
    command = [python, "-m", "sphinx", "-b", "html", "--fail-on-warning", "--keep-going", "-q"]
    command += ["-D", "plot_gallery=0"] if options.fast else []
    run([*command, "docs", site], ONE_THREAD)
    print(f"The site is in {site.relative_to(ROOT)}: open index.html in a browser.", flush=True)
    if options.serve:
        print(f"Open http://localhost:{options.port} (Ctrl-C ends it).", flush=True)
        address = ["--bind", "127.0.0.1", "--directory", str(site)]
        run([python, "-m", "http.server", str(options.port), *address])


TASKS = {
    "demo": demo,
    "test": test,
    "smoke": smoke,
    "fuzz": fuzz,
    "mutants": mutants,
    "lint": lint,
    "docs": docs,
}


def workers(arguments: list[str]) -> list[str]:
    """One test process for each core, unless the arguments say how many."""
    if any(argument.startswith(("-n", "--numprocesses")) for argument in arguments):
        return []
    return ["-n", str(min(os.cpu_count() or 1, 8))]


def environment(task: str, version: str | None = None, is_lowest: bool = False) -> Path:
    """The Python of the task's own environment, made and filled if needed."""
    base = sys.executable if version is None else interpreter(version)
    if base is None:
        sys.exit(f"There is no Python {version} here: install it, or pass a path.")
    name, extra = ENVIRONMENTS[task]
    name += "" if version is None else f"-{Path(version).name}"
    name += "-lowest" if is_lowest else ""
    folder = ROOT / ".venvs" / name
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        print(f"Making a virtual environment in {folder.relative_to(ROOT)} …", flush=True)
        run([base, "-m", "venv", "--clear", folder])
    also = os.environ.get("GREEDYRLS_ALSO", "").split()
    wanted = ["--editable", f"{ROOT}[{extra}]", *also]
    if is_lowest:
        pins = folder / "lowest.txt"
        found = subprocess.run(
            [base, ROOT / "tools" / "lowest.py"], capture_output=True, text=True, check=True
        )
        pins.write_text(found.stdout, encoding="utf-8")
        wanted += ["--constraint", str(pins)]
    # Nothing to install while neither the dependencies nor what is asked for have changed.
    state = hashlib.sha256((ROOT / "pyproject.toml").read_bytes() + repr(wanted).encode())
    stamp = folder / "installed"
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != state.hexdigest():
        print("Installing what is needed (a minute the first time) …", flush=True)
        quiet = ["--quiet", "--disable-pip-version-check", "--no-compile"]
        run([python, "-m", "pip", "install", *quiet, *wanted])
        stamp.write_text(state.hexdigest(), encoding="utf-8")
    run([python, "tools/build_backend.py"])
    return python


def interpreter(version: str) -> str | None:
    """The interpreter of a version such as 3.13, or of a path; None if it is not installed."""
    if Path(version).is_file():
        return version
    for name in (f"python{version}", f"python{version}.exe"):
        path = shutil.which(name)
        if path is not None and is_version(path, version):
            return path
    launcher = shutil.which("py")  # on Windows
    if launcher is not None:
        found = subprocess.run(
            [launcher, f"-{version}", "-c", "import sys; print(sys.executable)"],
            capture_output=True,
            text=True,
        )
        if found.returncode == 0:
            return found.stdout.strip()
    for manager in (".pyenv/versions", ".local/share/uv/python"):
        for path in sorted(Path.home().joinpath(manager).glob(f"*{version}*/bin/python")):
            if is_version(str(path), version):
                return str(path)
    return None


def is_version(path: str, version: str) -> bool:
    """Whether an interpreter runs and is of a version; a shim may be there without one."""
    code = "import sys; print('.'.join(map(str, sys.version_info[:3])))"
    found = subprocess.run([path, "-c", code], capture_output=True, text=True)
    return found.returncode == 0 and f"{found.stdout.strip()}.".startswith(f"{version}.")


def run(command: list[str | Path], variables: dict[str, str] | None = None) -> None:
    """Run a command in the root of the clone; leave with its code if it fails.

    `variables` of the environment are set unless they are already.
    """
    code = subprocess.run(command, cwd=ROOT, env=surroundings(variables)).returncode
    if code:
        sys.exit(code)


def surroundings(variables: dict[str, str] | None) -> dict[str, str]:
    """The environment of a command.

    Each module is compiled by the first process that imports it, and by no other, also where
    processes do not write bytecode by themselves.
    """
    known = (variables or {}) | os.environ
    known.pop("PYTHONDONTWRITEBYTECODE", None)
    known.setdefault("PYTHONPYCACHEPREFIX", str(ROOT / ".venvs" / "bytecode"))
    return known


if __name__ == "__main__":
    main()
