"""The plan of the house: which room may know which, what an import loads, public names."""

from __future__ import annotations

import ast
import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import greedyrls
from greedyrls import reference

PACKAGE = Path(greedyrls.__file__).parent

# Rooms from the ground up: a module or a package may import only rooms that stand before it.
ROOMS = [
    "_own_warnings",
    "_own_init",
    "_blas",
    "_text",
    "_atomic",
    "_numbers",
    "_namespace",
    "_fused",
    "_device",
    "_transport",
    "_stream",
    "_devices",
    "_replay",
    "_kernels",
    "_sigmoid",
    "_sparse",
    "_sparse_files",
    "_progress",
    "_file_sources",
    "_file_columns",
    "_file_memory",
    "_files",
    "_parquet",
    "_svmlight",
    "files",
    "_kernel_functions",
    "_kernel_matrix",
    "_matrix",
    "_digests",
    "_values",
    "_measures",
    "_calibration",
    "_losses",
    "_tiles",
    "_zero_one",
    "_leftovers",
    "_answers",
    "_crew",
    "_cluster",
    "_feature_names",
    "_column_errors",
    "_date_targets",
    "_grouping",
    "_class_weight",
    "_problem",
    "_group_layout",
    "_row_order",
    "_shuffle",
    "_time_order",
    "_folds",
    "_columns",
    "_statistics",
    "_shapes",
    "_blocks",
    "_at_set",
    "_group_blocks",
    "_fused_round",
    "_fused_features",
    "_rounds",
    "_flight",
    "_samples",
    "_feature_sets",
    "_features",
    "_group_space",
    "_kernel_space",
    "_gram",
    "_choice",
    "_removals",
    "_group_choice",
    "_steps",
    "_direction",
    "_sets",
    "_chosen",
    "_loo_data",
    "_set_moves",
    "_state",
    "_shared_gram",
    "_criterion",
    "_group_criterion",
    "_curves",
    "_held_out_losses",
    "_held_out_errors",
    "_loo_loss",
    "_group_loss",
    "_lane_space",
    "_lanes",
    "_held_out",
    "_fold_answers",
    "_fused_sets",
    "_fold_blocks",
    "_pieces",
    "_cluster_folds",
    "_dask",
    "_fold_at_set",
    "_fold_rows",
    "_fold_space",
    "_group_folds",
    "_kernel_folds",
    "_fused_step",
    "_fold_steps",
    "_fold_state",
    "_fold_criterion",
    "_backward",
    "_group_fold_criterion",
    "_fold_inverses",
    "_many_folds",
    "_fold_curves",
    "_plan",
    "_all_features",
    "_surface",
    "_alphas",
    "_size",
    "_json_values",
    "_step_format",
    "_group_format",
    "_path",
    "_path_format",
    "_checkpoint",
    "_search",
    "_directions",
    "_group_search",
    "_run",
    "_searches",
    "_outer_fold",
    "_nested",
    "_outer",
    "_request",
    "_fingerprint",
    "_select",
    "_margins",
    "_classifier",
    "_greedy",
    "_labels",
    "_estimator_base",
    "_regressor",
    "_estimators",
    "metrics",
    "_pairs",
    "_ranker",
    "_center_counts",
    "_kernel_base",
    "_kernel_estimators",
    "_cautions",
    "_class_rates",
    "_predictions",
    "_coefficient_errors",
    "_stability",
    "_assessment",
    "_null",
    "_path_warnings",
    "_random_sets",
    "_trial",
    "_procedure",
    "_draws",
    "_repeat",
    "assess",
    "_axes",
    "_svg",
    "_draw_parts",
    "_html",
    "_draw_null",
    "_draw_path",
    "_draw_surface",
    "_draw_coefficients",
    "_draw_assessment",
    "_draw_stability",
    "_draw_predictions",
    "plots",
    "_predictions_format",
    "_assessment_format",
    "_table",
    "_dates",
    "_frame_columns",
    "_time_column",
    "_column_roles",
    "_read",
    "_linear_model",
    "_model_format",
    "_pipeline_columns",
    "_from_estimator",
    "_data_summary",
    "_selection_result",
    "_result_format",
    "_result_words",
    "_multiples",
    "_placeholders",
    "_column_problems",
    "_target_column",
    "_column_summary",
    "_preparation",
    "_leaks",
    "_analysis",
    "_own_fit",
    "_fold_notes",
    "export",
    "report",
    "cli",
    "__main__",
]
# Results read and write themselves through their formats, which know them. So do models, which a
# room that knows estimators makes of these. What a notebook shows is asked of a result itself, and
# made by a room that knows all results.
SHOWN = ("_path", "_estimator_base", "_stability", "_assessment", "_null")
ALLOWED = {
    ("_path", "_path_format"),
    ("_linear_model", "_model_format"),
    ("_linear_model", "_from_estimator"),
    ("_selection_result", "_result_format"),
    ("_selection_result", "_result_words"),
    *((room, "_assessment_format") for room in ("_stability", "_assessment", "_null")),
    *((room, "_html") for room in SHOWN),
}
ALONE = {"reference"}


def files_of(room: str) -> list[Path]:
    """The file of a module, or all those of a package."""
    folder = PACKAGE / room
    return sorted(folder.rglob("*.py")) if folder.is_dir() else [PACKAGE / f"{room}.py"]


def imported_rooms(room: str) -> set[str]:
    names = set()
    for file in files_of(room):
        # As many dots lead out of the room; with fewer, the files of a package know each other.
        outside = len(file.relative_to(PACKAGE).parts)
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level >= outside:
                if node.module:
                    names.add(node.module.split(".")[0])
                else:
                    names.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("greedyrls"):
                names.update(alias.name for alias in node.names)
    return names - {"__version__"}  # of the package, which every room may know


def test_every_module_has_a_room() -> None:
    modules = {module.name for module in pkgutil.iter_modules([str(PACKAGE)])}
    assert modules == set(ROOMS) | ALONE


@pytest.mark.parametrize("room", ROOMS)
def test_arrows_point_one_way(room: str) -> None:
    allowed = set(ROOMS[: ROOMS.index(room)])
    allowed |= {target for source, target in ALLOWED if source == room}
    assert imported_rooms(room) <= allowed


def test_the_reference_stands_alone() -> None:
    assert imported_rooms("reference") == set()


def modules_after(code: str) -> set[str]:
    command = [sys.executable, "-c", f"import sys\n{code}\nprint(*sys.modules)"]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


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
    assert set(greedyrls._MODULES) == set(greedyrls.__all__)
    assert set(greedyrls.__all__) <= set(dir(greedyrls))
    with pytest.raises(AttributeError, match="no attribute 'lasso_path'"):
        getattr(greedyrls, "lasso_path")  # noqa: B009 (as an attribute mypy would see it)


@pytest.mark.parametrize("name", [*ROOMS, *sorted(ALONE)])
def test_examples_in_docstrings(name: str) -> None:
    for file in files_of(name):
        parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
        module = importlib.import_module(".".join(parts).removesuffix(".__init__"))
        result = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
        assert result.failed == 0, module.__name__


def test_files_have_one_job() -> None:
    for path in PACKAGE.rglob("*.py"):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 500, path.name


# The test files that may name private modules: a move is an edit there and nowhere else.
PRIVATE_NAMES_IN = {
    "internals.py",
    "tuning.py",
    "traps.py",
    "test_house.py",
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
    for path in Path(__file__).parent.glob("*.py"):
        if path.name not in PRIVATE_NAMES_IN:
            assert private_names_in(path.read_text(encoding="utf-8")) == [], path.name


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
