"""What pip calls to build the package: scikit-build-core, and steps compiled in place.

    python3 tools/build_backend.py       compile what has changed, as every task of dev.py does

An editable installation, and whoever has src/ on the path, finds the compiled steps beside the
Python files. They are those of a wheel, so there is one description of the build. Without a C
compiler there are none, and steps run in NumPy; with GREEDYRLS_REQUIRE_COMPILED=1 that is an error.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "src" / "greedyrls" / "_base"
# Says from what the compiled steps were made.
STAMP = ROOT / "build" / "compiled-steps.txt"
DEMAND = "GREEDYRLS_REQUIRE_COMPILED"


def compile_steps() -> None:
    """Compile the steps in place if their sources have changed."""
    if is_current():
        return
    if not may_compile():
        report("there is no C compiler, or Python's headers are not installed")
        return
    print("Compiling the steps …", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-cache-dir"]
        command += ["--disable-pip-version-check", "--wheel-dir", folder, str(ROOT)]
        if importlib.util.find_spec("scikit_build_core") is not None:
            command.append("--no-build-isolation")  # which needs no network
        variables = os.environ | {DEMAND: "1"}
        made = subprocess.run(command, env=variables, capture_output=True, text=True)
        if made.returncode:
            report("compiling them failed", made.stdout + made.stderr)
        else:
            take_from(next(Path(folder).glob("*.whl")))


def is_current() -> bool:
    """Whether the steps in place were made from the sources as they are."""
    is_there = any(FOLDER.glob("_compiled.*[od]"))
    return is_there and STAMP.exists() and STAMP.read_text(encoding="utf-8") == digest()


def digest() -> str:
    """Whatever the compiled steps depend on."""
    state = hashlib.sha256()
    for file in (ROOT / "CMakeLists.txt", *sorted((FOLDER / "c").glob("*.[ch]"))):
        state.update(file.name.encode() + file.read_bytes())
    names = ("CC", "CFLAGS", "LDFLAGS", "CMAKE_ARGS")
    state.update(repr([sysconfig.get_platform(), *map(os.environ.get, names)]).encode())
    return state.hexdigest()


def may_compile() -> bool:
    """Whether Python's headers and maybe a C compiler are here; on Windows CMake knows where."""
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        return False
    names = [os.environ.get("CC", "cc").split(" ")[0], "cc", "gcc", "clang"]
    return os.name == "nt" or any(map(shutil.which, names))


def take_from(wheel: Path) -> None:
    """Put the compiled steps of a wheel in place, whole or not at all."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith((".so", ".pyd")))
        new = FOLDER / f"{Path(name).name}.{os.getpid()}.new"
        new.write_bytes(archive.read(name))
    # Processes that run now keep the file that they have loaded.
    os.replace(new, FOLDER / Path(name).name)
    STAMP.parent.mkdir(exist_ok=True)
    STAMP.write_text(digest(), encoding="utf-8")


def report(reason: str, output: str = "") -> None:
    """Say that there are no compiled steps; an error where they are demanded."""
    for file in FOLDER.glob("_compiled.*[od]"):  # of other sources, which is worse than none
        file.unlink(missing_ok=True)
    if os.environ.get(DEMAND, "0").lower() not in ("", "0", "false", "no", "off"):
        sys.exit(f"{output}\n{DEMAND} is set, but the steps are not compiled: {reason}.")
    print(f"Steps are not compiled and run in NumPy: {reason}.", flush=True)


# What pip calls (PEP 517 and 660).

Settings = dict[str, Any] | None


def get_requires_for_build_sdist(config_settings: Settings = None) -> list[str]:
    from scikit_build_core import build

    return build.get_requires_for_build_sdist(config_settings)


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    from scikit_build_core import build

    return build.build_sdist(sdist_directory, config_settings)


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    from scikit_build_core import build

    return build.get_requires_for_build_wheel(config_settings)


def build_wheel(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    from scikit_build_core import build

    return build.build_wheel(wheel_directory, config_settings, metadata_directory)


def get_requires_for_build_editable(config_settings: Settings = None) -> list[str]:
    return [] if is_current() else get_requires_for_build_wheel(config_settings)


def build_editable(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    from scikit_build_core import build

    if not is_current():
        with tempfile.TemporaryDirectory() as folder:
            wheel = Path(folder) / build.build_wheel(folder, config_settings)
            if wheel.stem.endswith("none-any"):
                report("there is no working C compiler")
            else:
                take_from(wheel)
    name: str = build.build_editable(wheel_directory, config_settings, metadata_directory)
    with_plain_path(Path(wheel_directory) / name)
    return name


def with_plain_path(wheel: Path) -> None:
    """Put src/ on the path and nothing else.

    The import hook of scikit-build-core goes before PYTHONPATH, by which tests of mutants and
    comparisons of commits choose another copy of the package.
    """
    with zipfile.ZipFile(wheel) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    record = next(name for name in files if name.endswith(".dist-info/RECORD"))
    kept = {name: files[name] for name in files if ".dist-info/" in name and name != record}
    kept["__editable__.greedyrls.pth"] = f"{ROOT / 'src'}\n".encode()
    lines = [f"{name},sha256={checksum(text)},{len(text)}" for name, text in kept.items()]
    kept[record] = "\n".join([*lines, f"{record},,", ""]).encode()
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in kept.items():
            archive.writestr(name, text)


def checksum(text: bytes) -> str:
    """As wheels write it."""
    return base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    compile_steps()
