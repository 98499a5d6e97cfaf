"""Python that is written for a model is run and says what the model says, to the bit."""

from __future__ import annotations

import ast
import decimal
import json
import math
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given

import exported
from exported import Case, cases, small_model
from greedyrls import LinearModel
from greedyrls.export import to_python
from internals import InputColumn, Term


def module_of(model: LinearModel, **options: Any) -> Any:
    """The module, made without anything from outside."""
    names: dict[str, Any] = {"__name__": "exported_model"}
    exec(compile(to_python(model, **options), "model.py", "exec"), names)
    return SimpleNamespace(**names)


def or_nan(function: Any, model: LinearModel, row: Any, width: int) -> Any:
    """The answer, or not a number where the module refuses a missing value."""
    if not exported.is_open(model, row):
        return function(row)
    with pytest.raises(ValueError, match=r"is missing, and the model has no fill value") as caught:
        function(row)
    missing = [
        column.name
        for column in exported.looked_at(model)
        if exported.is_missing(row[column.name]) and column.fill is None
    ]
    assert any(repr(name) in str(caught.value) for name in missing)
    return [math.nan] * width


def check(case: Case, module: Any) -> None:
    model = case.model
    width = len(model.intercepts)
    found = [or_nan(module.scores, model, row, width) for row in case.rows]
    exported.assert_scores(case, found, tolerance=0.0)
    predictions = [or_nan(module.predict, model, row, width) for row in case.rows]
    if model.classes is None:
        exported.assert_scores(case, [np.atleast_1d(one) for one in predictions], tolerance=0.0)
        assert all(isinstance(one, list if width > 1 else float | list) for one in predictions)
    else:
        labels = [
            None if exported.is_open(model, row) else label
            for row, label in zip(case.rows, predictions, strict=True)
        ]
        exported.assert_labels(case, labels, tolerance=0.0)


@given(cases())
def test_says_what_the_model_says(case: Case) -> None:
    code = to_python(case.model)
    assert code.isascii()
    ast.parse(code, feature_version=(3, 8))
    check(case, module_of(case.model))


def test_nasty_names_stay_names() -> None:
    case = exported.nasty_case()
    check(case, module_of(case.model))
    labels = exported.nasty_labels()
    check(labels, module_of(labels.model))
    tree = ast.parse(to_python(case.model))
    defined = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    assert defined == {"scores", "predict", "_filled", "_as_number", "_number", "_text"}
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert "__import__" not in used


@pytest.mark.parametrize("text", ["a\0b", "\ud800", ""])
def test_python_holds_any_text(text: str) -> None:
    column = InputColumn(text, (text, "b"), text)
    model = LinearModel(
        "classification", text, (column,), (Term(text, text, (2.0,)),), (-1.0,), (text, "b"), text
    )
    module = module_of(model)
    assert module.scores({text: text}) == module.scores({text: None}) == [1.0]
    assert module.predict({text: "b"}) == text
    assert text == module.TARGET


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_ties(n_classes: int) -> None:
    case = exported.ties(n_classes)
    check(case, module_of(case.model))


def test_many_terms() -> None:
    case = exported.many_terms()
    check(case, module_of(case.model))


def test_the_file_needs_nothing_else(tmp_path: Path) -> None:
    case = exported.nasty_case()
    (tmp_path / "model.py").write_text(to_python(case.model, name="estimate"), encoding="utf-8")
    rows = [row for row in case.rows if not exported.is_open(case.model, row)]
    code = (
        "import json, sys; sys.path.insert(0, sys.argv[1]); import model\n"
        "rows = json.load(sys.stdin)\n"
        "print(json.dumps([model.estimate(row) for row in rows]))\n"
        "assert not {'numpy', 'greedyrls'} & set(sys.modules)"
    )
    command = [sys.executable, "-I", "-S", "-W", "error", "-c", code, str(tmp_path)]
    given_ = json.dumps(rows)
    done = subprocess.run(command, input=given_, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == exported.answer(case.model, rows).predictions


def test_values_as_the_model_takes_them() -> None:
    model = small_model(
        columns=(InputColumn("size", None, 0.25), InputColumn("kind", ("3", "true", "1.5"), "3")),
        terms=(
            Term("size", None, (2.0,)),
            Term("kind", "3", (4.0,)),
            Term("kind", "true", (8.0,)),
            Term("kind", "1.5", (16.0,)),
        ),
    )
    module = module_of(model)
    sizes = [3, True, np.int8(5), np.float32(0.5), decimal.Decimal("0.5"), None, math.nan, pd.NA]
    for size in sizes:
        row = {"size": size, "kind": "3"}
        assert module.predict(row) == model.predict({name: [row[name]] for name in row})[0]
    for kind in ["3", 3, 3.0, np.int64(3), True, np.True_, "true", 1.5, None, math.nan, pd.NA, "x"]:
        values = np.array([kind]) if isinstance(kind, np.generic) else [kind]
        expected = model.predict({"size": [1.0], "kind": values})[0]
        assert module.predict({"size": 1.0, "kind": kind}) == expected, kind
    frame = pd.DataFrame({"size": [1.5, 2.5], "kind": ["3", None]})
    found = [module.predict(row) for _, row in frame.iterrows()]
    assert found == model.predict(frame).tolist()


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"kind": "a"}, "no column 'size'"),
        ({"size": None, "kind": "a"}, "Column 'size' is missing"),
        ({"size": math.nan, "kind": "a"}, "Column 'size' is missing"),
        ({"size": "1.5", "kind": "a"}, "'size' has text"),
        ({"size": b"1", "kind": "a"}, "'size' has text"),
        ({"size": math.inf, "kind": "a"}, "'size' is infinite"),
        ({"size": -math.inf, "kind": "a"}, "'size' is infinite"),
        ({"size": 10**400, "kind": "a"}, "'size' has 1000.*not a number"),
        ({"size": [1.0], "kind": "a"}, "'size' has .*not a number"),
        ({"size": 1.0, "kind": {"a": 1}}, "'kind' has .*not a number"),
    ],
)
def test_what_is_refused(row: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        module_of(small_model()).predict(row)


def test_the_name_is_that_of_the_function() -> None:
    assert module_of(small_model(), name="price_of").price_of({"size": 2.0, "kind": "b"}) == 5.5
