"""The architecture: which package may import which, what an import loads, public names."""

from __future__ import annotations

import ast
import doctest
import importlib
import importlib.util
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import greedyrls
from greedyrls import reference
from project import TESTS, TOOLS

# After everything else: the folder is not a package.
sys.path.append(str(TOOLS))

import architecture

PACKAGE = Path(greedyrls.__file__).parent


def test_every_import_follows_the_plan() -> None:
    assert architecture.problems() == []


def test_the_plan_has_no_circles() -> None:
    for package in architecture.MAY_IMPORT:
        assert package not in architecture.allowed(package)


def test_stubs_list_nothing_that_no_one_uses() -> None:
    used = {
        (one.target, one.name)
        for package in architecture.packages()
        for one in architecture.imports(package)
    }
    used |= {(package, name) for name, package in greedyrls._PACKAGES.items()}
    for package in architecture.packages():
        public = set(getattr(importlib.import_module(f"greedyrls.{package}"), "__all__", ()))
        if package.startswith("_") or package in ("app", "estimators", "path"):
            public = set()  # `__all__` is the stub itself
        for name in architecture.exports(package) - public:
            value = getattr(importlib.import_module(f"greedyrls.{package}"), name)
            # Pickles find their classes there.
            is_pickled = getattr(value, "__module__", "") == f"greedyrls.{package}"
            assert is_pickled or (package, name) in used, f"{package}: nobody imports {name}"


@pytest.mark.parametrize("package", architecture.MAY_IMPORT)
def test_a_package_says_what_it_is_for(package: str) -> None:
    if (architecture.PACKAGE / package).is_dir():
        module = importlib.import_module(f"greedyrls.{package}")
        first_line = (module.__doc__ or "").splitlines()[0]
        assert len(first_line) > 20
        assert first_line.endswith(".")


@pytest.mark.parametrize("package", architecture.MAY_IMPORT)
def test_stubs_are_what_is_loaded(package: str) -> None:
    module = importlib.import_module(f"greedyrls.{package}")
    for name in architecture.exports(package):
        assert getattr(module, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'lasso_path'"):
        getattr(module, "lasso_path")  # noqa: B009 (as an attribute mypy would see it)


def test_the_picture_shows_the_plan() -> None:
    text = architecture.GUIDE.read_text(encoding="utf-8")
    assert architecture.guide_with(architecture.picture()) == text, (
        "run python3 tools/architecture.py --write"
    )
    assert architecture.picture() in text


def test_the_folder_is_small() -> None:
    # Folders that a move has emptied may still be there, with what was compiled.
    files = (path for path in PACKAGE.rglob("*") if path.is_file() and path.suffix != ".pyc")
    entries = {path.relative_to(PACKAGE).parts[0] for path in files}
    assert len(entries) <= 25


def modules_after(code: str) -> set[str]:
    command = [sys.executable, "-c", f"import sys\n{code}\nprint(*sys.modules)"]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


ENGINE = {
    "_data",
    "_rows",
    "_features",
    "_criteria",
    "_cluster",
    "_search",
    "_select",
    "estimators",
}


@pytest.mark.parametrize(
    "code",
    [
        "import greedyrls; greedyrls.SelectionPath.from_json",
        "import greedyrls; greedyrls.SelectionResult.from_json; greedyrls.LinearModel.from_json",
        "import greedyrls.plots as module; [getattr(module, name) for name in module.__all__]",
        "import greedyrls.export as module; [getattr(module, name) for name in module.__all__]",
        "import greedyrls.report as module; [getattr(module, name) for name in module.__all__]",
    ],
)
def test_results_know_no_engine(code: str) -> None:
    loaded = modules_after(code)
    modules = {name.split(".")[1] for name in loaded if name.startswith("greedyrls.")}
    assert not modules & ENGINE


def test_import_alone_is_quick() -> None:
    assert not {"numpy", "scipy", "sklearn"} & modules_after("import greedyrls")


def test_nothing_optional_is_loaded() -> None:
    # scikit-learn itself loads pandas where it is installed.
    theirs = modules_after("import sklearn.feature_selection, sklearn.linear_model")
    ours = modules_after(
        "import greedyrls\nfor name in greedyrls.__all__: getattr(greedyrls, name)"
    )
    optional = {
        "dask",
        "torch",
        "cupy",
        "matplotlib",
        "pandas",
        "polars",
        "pyarrow",
        "tqdm",
        "openpyxl",
    }
    assert not optional & (ours - theirs)


@pytest.mark.parametrize("module", [greedyrls, reference])
def test_public_names_are_complete_and_sorted(module: object) -> None:
    names = vars(module)["__all__"]
    assert names == sorted(names)
    for name in names:
        assert getattr(module, name).__doc__, f"{name} has no docstring"


def test_public_names_are_loaded_when_used() -> None:
    assert set(greedyrls._PACKAGES) == set(greedyrls.__all__)
    assert set(greedyrls.__all__) <= set(dir(greedyrls))
    with pytest.raises(AttributeError, match="no attribute 'lasso_path'"):
        getattr(greedyrls, "lasso_path")  # noqa: B009 (as an attribute mypy would see it)


@pytest.mark.parametrize("name", architecture.MAY_IMPORT)
def test_examples_in_docstrings(name: str) -> None:
    has_triton = importlib.util.find_spec("triton") is not None
    for file in architecture.files_of(name):
        if not has_triton and "\nimport triton\n" in file.read_text(encoding="utf-8"):
            continue  # kernels, which are loaded where they can be launched only
        parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
        module = importlib.import_module(".".join(parts).removesuffix(".__init__"))
        # Classes say that they are of the module that exports them.
        finder = doctest.DocTestFinder(exclude_empty=True)
        own = [module, *(value for value in vars(module).values() if is_defined_in(value, file))]
        runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
        for one in own:
            for test in finder.find(one, getattr(one, "__name__", ""), globs=dict(vars(module))):
                runner.run(test)
        assert runner.failures == 0, module.__name__


def is_defined_in(value: object, file: Path) -> bool:
    """Whether it is a class of a file that has the name of another module."""
    if not inspect.isclass(value) or value.__module__ == "builtins":
        return False
    functions = [one for one in vars(value).values() if inspect.isfunction(one)]
    return any(one.__code__.co_filename == str(file) for one in functions)


def test_files_have_one_job() -> None:
    for path in PACKAGE.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        imported = [
            node for node in ast.parse(source).body if isinstance(node, ast.Import | ast.ImportFrom)
        ]
        # Imports of many names from one package have a line for each.
        lines = len(source.splitlines()) - sum(
            (node.end_lineno or node.lineno) - node.lineno for node in imported
        )
        assert lines <= 500, path.name


# Folders of tests that are not of one package.
ACROSS_PACKAGES = {"docs", "exactness", "golden", "support"}


def test_tests_mirror_the_packages() -> None:
    packages = {name.lstrip("_") for name in architecture.MAY_IMPORT if (PACKAGE / name).is_dir()}
    folders = {path.parent.relative_to(TESTS).parts for path in TESTS.rglob("test_*.py")} - {()}
    assert {parts[0] for parts in folders} - ACROSS_PACKAGES == packages
    for package, *inner in folders:
        assert package in ACROSS_PACKAGES or not inner or PACKAGE.joinpath(package, *inner).is_dir()


def test_test_files_have_names_of_their_own() -> None:
    """pytest imports them by name alone; and none imports another, which the order would decide."""
    paths = list(TESTS.rglob("*.py"))
    names = [path.stem for path in paths]
    assert sorted(names) == sorted(set(names))
    for path in paths:
        source = path.read_text(encoding="utf-8")
        found = re.findall(r"^\s*(?:from|import) (test_\w+|conftest)\b", source, re.MULTILINE)
        assert found == [], path.name


# The test files that may name private modules: a move is an edit there and nowhere else.
PRIVATE_NAMES_IN = {
    "support/internals.py",
    "support/tuning.py",
    "support/traps.py",
    "test_architecture.py",
    "test_tuning.py",
    "test_mutants_tool.py",
}


def private_names_in(source: str) -> list[str]:
    """Imports of private modules of greedyrls in a test file, and patches of what it imported."""
    found: list[str] = []
    from_internals: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "internals":
            from_internals.update(alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found += re.findall(r"greedyrls[\w.]*", node.value)
    private = [name for name in found if re.match(r"greedyrls(\.\w+)*\._[^_]", name)]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith((".setattr", ".object")):
            patched = ast.unparse(node.args[0]).split(".")[0] if node.args else ""
            private += [f"{patched} is patched"] if patched in from_internals else []
    return private


def test_tests_name_private_modules_in_one_place() -> None:
    files = {path.relative_to(TESTS).as_posix(): path for path in TESTS.rglob("*.py")}
    assert files.keys() >= PRIVATE_NAMES_IN
    for name in files.keys() - PRIVATE_NAMES_IN:
        assert private_names_in(files[name].read_text(encoding="utf-8")) == [], name


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("from greedyrls._state import SelectionState", ["greedyrls._state.SelectionState"]),
        ("from greedyrls import _state, greedy_path", ["greedyrls._state"]),
        ("def test(): import greedyrls.cli._run as run", ["greedyrls.cli._run"]),
        ("patch.setattr('greedyrls._state.DRIFT_BOUND', 0)", ["greedyrls._state.DRIFT_BOUND"]),
        ("from internals import A\npatch.setattr(A.b, 'c', 0)", ["A is patched"]),
        ("from greedyrls import __version__, greedy_path\nimport greedyrls.plots", []),
    ],
)
def test_private_names_are_seen(source: str, expected: list[str]) -> None:
    assert private_names_in(source) == expected
