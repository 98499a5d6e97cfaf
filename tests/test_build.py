"""Wheels with compiled steps and without, and what compiles them in place."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

import greedyrls
from components import program
from project import ROOT, TOOLS
from scripts import load

# A selection, and whether its steps are compiled.
SELECTION = """
import numpy as np
import greedyrls
X = np.random.default_rng(0).normal(size=(40, 8))
path = greedyrls.greedy_path(X, X[:, 3] - 2 * X[:, 5], 2)
assert sorted(path.indices) == [3, 5], path
print(greedyrls.__file__)
greedyrls.show_versions()
"""


@pytest.fixture
def backend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The build backend, with folders of its own."""
    module = load(TOOLS / "build_backend.py")
    monkeypatch.setattr(module, "FOLDER", tmp_path / "steps")
    monkeypatch.setattr(module, "STAMP", tmp_path / "build" / "stamp.txt")
    monkeypatch.delenv("GREEDYRLS_REQUIRE_COMPILED", raising=False)
    (tmp_path / "steps" / "c").mkdir(parents=True)
    (tmp_path / "steps" / "c" / "search.c").write_text("int one = 1;\n", encoding="utf-8")
    return module


def wheel_in(folder: Path, files: dict[str, str]) -> Path:
    wheel = folder / "greedyrls-0.1.0-cp311-abi3-linux_x86_64.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return wheel


def test_steps_are_current_until_a_source_changes(backend: ModuleType, tmp_path: Path) -> None:
    assert not backend.is_current()
    files = {"greedyrls/__init__.py": "", "greedyrls/_base/_compiled.abi3.so": "machine code"}
    backend.take_from(wheel_in(tmp_path, files))
    assert backend.is_current()
    assert sorted(file.name for file in backend.FOLDER.iterdir()) == ["_compiled.abi3.so", "c"]
    (backend.FOLDER / "c" / "search.c").write_text("int one = 2;\n", encoding="utf-8")
    assert not backend.is_current()


def test_without_a_compiler_steps_of_other_sources_are_removed(
    backend: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(backend, "may_compile", lambda: False)
    (backend.FOLDER / "_compiled.abi3.so").write_text("old", encoding="utf-8")
    (backend.FOLDER / "_compiled.pyi").write_text("", encoding="utf-8")
    backend.compile_steps()
    assert "not compiled and run in NumPy: there is no C compiler" in capsys.readouterr().out
    assert sorted(file.name for file in backend.FOLDER.iterdir()) == ["_compiled.pyi", "c"]


def test_without_a_compiler_demanded_steps_are_an_error(
    backend: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend, "may_compile", lambda: False)
    monkeypatch.setenv("GREEDYRLS_REQUIRE_COMPILED", "1")
    with pytest.raises(SystemExit, match="GREEDYRLS_REQUIRE_COMPILED is set, but the steps are no"):
        backend.compile_steps()


def test_an_editable_installation_is_a_path_without_hooks(
    backend: ModuleType, tmp_path: Path
) -> None:
    files = {
        "_editable_hook.py": "import sys",
        "_editable_hook.pth": "import _editable_hook",
        "greedyrls-0.1.0.dist-info/METADATA": "Name: greedyrls\n",
        "greedyrls-0.1.0.dist-info/RECORD": "",
    }
    wheel = wheel_in(tmp_path, files)
    backend.with_plain_path(wheel)
    with zipfile.ZipFile(wheel) as archive:
        assert archive.read("__editable__.greedyrls.pth").decode() == f"{ROOT / 'src'}\n"
        record = archive.read("greedyrls-0.1.0.dist-info/RECORD").decode().splitlines()
        assert sorted(line.split(",")[0] for line in record) == sorted(archive.namelist())
        assert len(archive.namelist()) == 3


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> dict[str, str]:
    """An environment of commands in which packages can be built."""
    folder = tmp_path_factory.mktemp("tools")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder)]
    got = subprocess.run(
        [*command, "build", "scikit-build-core", "cmake", "ninja"], capture_output=True, text=True
    )
    if got.returncode:
        if pytestconfig.getoption("--require-all"):
            pytest.fail(f"--require-all, but pip cannot install a build backend:\n{got.stderr}")
        pytest.skip("pip cannot install a build backend here")
    path = os.pathsep.join((str(folder / "bin"), os.environ["PATH"]))
    return os.environ | {"PYTHONPATH": str(folder), "PATH": path}


@pytest.fixture(scope="module")
def sdist(tools: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    code = f"import sys; sys.path.insert(0, 'tools'); import build_backend as backend\n\
backend.build_sdist({str(folder)!r})"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=tools, check=True)
    return next(folder.glob("*.tar.gz"))


def built(
    source: Path, folder: Path, variables: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation"]
    command += ["--no-cache-dir", "--wheel-dir", str(folder), str(source)]
    return subprocess.run(command, env=variables, capture_output=True, text=True)


def selected_with(wheel: Path, folder: Path) -> dict[str, str]:
    """What `show_versions` says after a selection with the package from a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    variables = {name: os.environ[name] for name in os.environ if name != "GREEDYRLS_COMPILED"}
    command = [sys.executable, "-c", SELECTION]
    got = subprocess.run(
        command,
        cwd=folder,
        env=variables | {"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    place, *lines = got.stdout.splitlines()
    assert Path(place).is_relative_to(folder.resolve())
    return dict(line.split(": ", maxsplit=1) for line in lines)  # type: ignore[misc]


@pytest.mark.slow
@pytest.mark.xdist_group("build")
def test_the_sdist_has_all_that_a_build_needs(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"CMakeLists.txt", "LICENSE", "pyproject.toml", "tools/build_backend.py"} <= names
    sources = (ROOT / "src" / "greedyrls" / "_base" / "c").glob("*.[ch]")
    assert {file.relative_to(ROOT).as_posix() for file in sources} <= names
    assert not any(name.endswith((".so", ".pyd")) for name in names)


@pytest.mark.slow
@pytest.mark.xdist_group("build")
@pytest.mark.skipif(program("cc", "gcc") is None, reason="there is no C compiler")
def test_a_wheel_with_a_compiler(sdist: Path, tools: dict[str, str], tmp_path: Path) -> None:
    got = built(sdist, tmp_path / "wheels", tools | {"GREEDYRLS_REQUIRE_COMPILED": "1"})
    assert got.returncode == 0, got.stdout + got.stderr
    wheel = next((tmp_path / "wheels").iterdir())
    assert "-cp311-abi3-" in wheel.name
    shown = selected_with(wheel, tmp_path / "installed")
    assert wheel.name.startswith(f"greedyrls-{shown['greedyrls']}-")
    assert shown["compiled steps"] in ("avx512", "avx2", "baseline")


@pytest.mark.slow
@pytest.mark.xdist_group("build")
@pytest.mark.skipif(os.name == "nt", reason="CMake finds its compiler by itself")
def test_a_wheel_without_a_compiler(sdist: Path, tools: dict[str, str], tmp_path: Path) -> None:
    without = tools | {"CC": "/bin/false", "GREEDYRLS_REQUIRE_COMPILED": "0"}
    got = built(sdist, tmp_path / "wheels", without)
    assert got.returncode == 0, got.stdout + got.stderr
    wheel = next((tmp_path / "wheels").iterdir())
    assert wheel.name.endswith("-py3-none-any.whl")
    shown = selected_with(wheel, tmp_path / "installed")
    assert shown["compiled steps"].startswith("no (the package was built without")


@pytest.mark.slow
@pytest.mark.xdist_group("build")
@pytest.mark.skipif(os.name == "nt", reason="CMake finds its compiler by itself")
def test_a_wheel_that_must_have_compiled_steps(
    sdist: Path, tools: dict[str, str], tmp_path: Path
) -> None:
    got = built(sdist, tmp_path, tools | {"CC": "/bin/false", "GREEDYRLS_REQUIRE_COMPILED": "1"})
    assert got.returncode != 0
    assert "GREEDYRLS_REQUIRE_COMPILED is set" in got.stdout + got.stderr


@pytest.mark.slow
@pytest.mark.xdist_group("build")
def test_a_wheel_has_all_files_of_the_package(
    sdist: Path, tools: dict[str, str], tmp_path: Path
) -> None:
    got = built(sdist, tmp_path, tools | {"CC": "/bin/false", "GREEDYRLS_REQUIRE_COMPILED": "0"})
    assert got.returncode == 0, got.stdout + got.stderr
    with zipfile.ZipFile(next(tmp_path.iterdir())) as archive:
        names = {name for name in archive.namelist() if name.startswith("greedyrls/")}
        assert any(name.endswith("/licenses/LICENSE") for name in archive.namelist())
    listed = subprocess.run(
        ["git", "ls-files", "src/greedyrls"], cwd=ROOT, capture_output=True, text=True
    )
    files = [Path(name).relative_to("src").as_posix() for name in listed.stdout.splitlines()]
    assert names == {name for name in files if not name.endswith((".c", ".h"))}


@pytest.fixture(scope="module")
def distributions(
    tools: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """What is released, by the end of its name, made by the command that releases it."""
    folder = tmp_path_factory.mktemp("dist")
    # The packages of `tools` are there, but not in an environment that `build` could check.
    options = ["--no-isolation", "--skip-dependency-check", "--outdir", str(folder)]
    command = [sys.executable, "-m", "build", *options, str(ROOT)]
    got = subprocess.run(command, env=tools, capture_output=True, text=True)
    assert got.returncode == 0, got.stdout + got.stderr
    return {file.suffix: file for file in folder.iterdir()}


@pytest.mark.slow
@pytest.mark.xdist_group("build")
def test_build_makes_an_sdist_and_a_wheel(distributions: dict[str, Path]) -> None:
    assert set(distributions) == {".gz", ".whl"}
    start = f"greedyrls-{greedyrls.__version__}"
    assert distributions[".gz"].name == f"{start}.tar.gz"
    assert distributions[".whl"].name.startswith(f"{start}-")
    with zipfile.ZipFile(distributions[".whl"]) as archive:
        metadata = archive.read(f"{start}.dist-info/METADATA").decode()
    assert f"\nVersion: {greedyrls.__version__}\n" in metadata
    assert "\nLicense-Expression: MIT\n" in metadata


@pytest.mark.slow
@pytest.mark.xdist_group("build")
def test_the_demo_in_a_clean_environment(
    distributions: dict[str, Path], tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    """As a user: an environment, pip, and the command that the README begins with."""
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "new")], check=True)
    commands = tmp_path / "new" / ("Scripts" if os.name == "nt" else "bin")
    kept = {name: os.environ[name] for name in os.environ if not name.startswith("PYTHON")}

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, cwd=tmp_path, env=kept, capture_output=True, text=True)

    python = str(commands / "python")
    got = run(python, "-m", "pip", "install", "--quiet", f"{distributions['.whl']}[cli]")
    if got.returncode:
        if pytestconfig.getoption("--require-all"):
            pytest.fail(f"--require-all, but pip cannot install the wheel:\n{got.stderr}")
        pytest.skip("pip cannot install the dependencies here")
    assert run(python, "-m", "pip", "check").returncode == 0
    shown = run(str(commands / "greedyrls"), "--version")
    assert greedyrls.__version__ in shown.stdout
    got = run(str(commands / "greedyrls"), "demo", "--out", "results")
    assert got.returncode == 0, got.stderr
    written = {file.name for file in (tmp_path / "results").iterdir()}
    assert {"result.json", "model.json", "report.html", "methods.txt"} <= written
    code = "import greedyrls; print(greedyrls.__file__)"
    assert Path(run(python, "-c", code).stdout.strip()).is_relative_to(tmp_path.resolve())
