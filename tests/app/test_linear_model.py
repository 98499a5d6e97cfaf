"""The model predicts: data of all kinds, decisions, and the same as what it was made of."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal

import exported
from exported import Case, cases, small_model
from greedyrls import GreedyRLSClassifier, GreedyRLSRegressor, LinearModel, greedy_path
from internals import InputColumn, InputError, Numbers, Table, Term, Texts, Unusable, make_texts

MODEL = LinearModel(
    task="classification",
    target="kind",
    columns=(InputColumn("size", None, 0.5), InputColumn("colour", ("red", "blue"), "red")),
    terms=(Term("size", None, (0.1, 1e-17, -3.0)), Term("colour", "blue", (1.0, 2.0, 1 / 3))),
    intercepts=(0.1 + 0.2, 0.0, -1.5),
    classes=("a", "b", "c"),
    made_by="greedyrls 0.1.0",
)

# Data of all kinds.

SIZES = [1.5, None, -2.0, 0.0]
COLOURS = ["blue", "red", None, "green"]
DATA = {"size": SIZES, "other": ["x"] * 4, "colour": COLOURS}
KINDS = {
    "lists": DATA,
    "tuples": {name: tuple(values) for name, values in DATA.items()},
    "not a number among text": DATA
    | {"colour": ["blue", "red", math.nan, "green"], "size": [1.5, math.nan, -2.0, 0.0]},
    "arrays": {
        "size": np.array([1.5, np.nan, -2.0, 0.0], dtype=np.float32),
        "colour": np.array(COLOURS, dtype=object),
    },
    "pandas": pd.DataFrame(DATA),
    "pandas objects": pd.DataFrame(DATA, dtype=object),
    "pandas nullable": pd.DataFrame(DATA).convert_dtypes(),
    "pandas categories": pd.DataFrame(DATA).astype({"colour": "category"}),
    "polars": pl.DataFrame(DATA),
    "polars categories": pl.DataFrame(DATA).with_columns(pl.col("colour").cast(pl.Categorical)),
    "table": Table(
        "file.csv",
        {"size": Numbers(np.array([1.5, np.nan, -2.0, 0.0])), "colour": make_texts(COLOURS)},
        4,
    ),
}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_data_of_all_kinds(kind: str) -> None:
    sizes, is_blue = np.array([1.5, 0.5, -2.0, 0.0]), np.array([1.0, 0.0, 0.0, 0.0])
    expected = np.array(MODEL.intercepts) + np.outer(sizes, MODEL.terms[0].coefficients)
    expected += np.outer(is_blue, MODEL.terms[1].coefficients)
    assert_allclose(MODEL.scores(KINDS[kind]), expected, rtol=1e-15)
    assert MODEL.predict(KINDS[kind]).tolist() == [
        MODEL.classes[place] for place in expected.argmax(axis=1)
    ]
    assert MODEL.unseen(KINDS[kind]) == {"colour": ["green"]}


FLAGS: dict[str, Any] = {
    "list": [True, False, None],
    "array": np.array([1, 0, np.nan]),
    "objects": np.array([True, False, None], dtype=object),
    "pandas": pd.Series([True, False, None], dtype="boolean"),
    "polars": pl.Series([True, False, None]),
    "table": Numbers(np.array([1.0, 0.0, np.nan]), is_flag=True),
}


@pytest.mark.parametrize("kind", sorted(FLAGS))
def test_true_and_false_are_1_and_0(kind: str) -> None:
    model = small_model(
        columns=(InputColumn("size", None, 0.5),), terms=(Term("size", None, (2.0,)),)
    )
    given_: Any = {"size": FLAGS[kind]}
    data = Table("file.csv", given_, 3) if kind == "table" else given_
    assert model.predict(data).tolist() == [3.0, 1.0, 2.0]
    kinds = (InputColumn("size", ("true", "1"), "1"),)
    terms = (Term("size", "true", (2.0,)), Term("size", "1", (4.0,)))
    expected = [5.0, 1.0, 5.0] if kind == "array" else [3.0, 1.0, 5.0]
    assert small_model(columns=kinds, terms=terms).predict(data).tolist() == expected


def test_numbers_for_text_are_as_people_write_them() -> None:
    levels = ("3", "1.5", "-2", "x")
    model = small_model(
        columns=(InputColumn("code", levels, "3"),),
        terms=tuple(Term("code", level, (2.0**place,)) for place, level in enumerate(levels)),
        intercepts=(0.0,),
    )
    assert model.predict({"code": [3.0, 1.5, -2, None, 7]}).tolist() == [1.0, 2.0, 4.0, 1.0, 0.0]
    assert model.predict({"code": np.array([3, -2, 7])}).tolist() == [1.0, 4.0, 0.0]
    assert model.predict({"code": [3.0, "x", 1.5, None, "3"]}).tolist() == [1.0, 8.0, 2.0, 1.0, 1.0]
    assert model.unseen({"code": [3, 7, 7.5]}) == {"code": ["7", "7.5"]}
    assert model.unseen({"code": [3, None]}) == {}


def test_columns_named_by_numbers() -> None:
    model = small_model(columns=(InputColumn("1"),), terms=(Term("1", None, (2.0,)),))
    assert model.predict(pd.DataFrame([[9.0, 1.0], [9.0, 2.0]])).tolist() == [3.0, 5.0]


def test_a_model_without_columns_says_the_same_of_each_row() -> None:
    model = small_model(columns=(), terms=())
    for data in ({"a": [1, 2, 3]}, pd.DataFrame({"a": ["x"] * 3}), Table("file.csv", {}, 3)):
        assert model.predict(data).tolist() == [1.0] * 3


def test_no_rows() -> None:
    assert MODEL.scores({"size": [], "colour": []}).shape == (0, 3)
    assert MODEL.predict(pd.DataFrame({"size": [], "colour": []})).shape == (0,)


def test_whole_intercepts_by_hand() -> None:
    assert small_model(intercepts=(1,)).predict({"size": [0.25], "kind": ["b"]}).tolist() == [2.0]


def test_inputs_are_not_changed() -> None:
    frame = pd.DataFrame(DATA)
    before = frame.copy(deep=True)
    MODEL.predict(frame)
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"colour": ["red"]}, "the data has no column 'size'; it has 'colour'"),
        ({"Size ": [1.0], "colour": ["red"]}, "no column 'size'; did you mean 'Size '"),
        ({"size": [1.0], "coulour": ["red"]}, "no column 'colour'; did you mean 'coulour'"),
        ({"size": [1.0, math.inf], "colour": ["red"] * 2}, "'size' .* infinite value in row 2"),
        ({"size": [-math.inf], "colour": ["red"]}, "'size' .* infinite value in row 1"),
        ({"size": ["1.5"], "colour": ["red"]}, "Column 'size' of the data has text"),
        ({"size": [[1.0]], "colour": ["red"]}, "'size' .* more than one value in each row"),
        ({"size": 1.0, "colour": "red"}, "'size' .* a single value"),
        ({"size": [{}], "colour": ["red"]}, "'size' .* neither numbers nor text"),
        ({"size": [[1.0], [1.0, 2.0]], "colour": ["red"] * 2}, "neither numbers nor text"),
        ({"size": [10**400], "colour": ["red"]}, "'size' .* neither numbers nor text"),
        ({"size": [b"1"], "colour": ["red"]}, "'size' .* neither numbers nor text"),
        ({"size": np.array([b"1"]), "colour": ["red"]}, r"'size' .* type \|S1"),
        ({"size": [1j], "colour": ["red"]}, "'size' .* neither numbers nor text"),
        ({"size": [1.0], "colour": [("red",)]}, "'colour' .* more than one value"),
        ({"size": np.array(["2020-01-01"], "M8[D]"), "colour": ["red"]}, "'size' .* datetime64"),
        (pd.DataFrame([[1.0, 2.0, "x"]], columns=["size", "size", "colour"]), "more than one"),
        (pl.DataFrame({"size": [[1.0, 2.0]], "colour": ["red"]}), "neither numbers nor text"),
        (Table("f.csv", {"size": Unusable("dates")}, 1), "Column 'size' of f.csv has dates"),
        (Table("f.csv", {"size": Numbers(np.ones(1))}, 1), "f.csv has no column 'colour'"),
    ],
)
def test_data_that_do_not_fit(data: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        MODEL.predict(data)


def test_columns_of_different_lengths() -> None:
    with pytest.raises(ValueError, match=r"different lengths: \[1, 2\]"):
        MODEL.predict({"size": [1.0, 2.0], "colour": ["red"]})


@pytest.mark.parametrize("data", [None, [1.0], np.ones((2, 2)), "file.csv", pd.Series([1.0])])
def test_what_is_no_table(data: Any) -> None:
    with pytest.raises(TypeError, match="data must be a data frame or a mapping"):
        MODEL.predict(data)


@pytest.mark.parametrize("missing", [None, math.nan, pd.NA, np.nan, pd.NaT])
def test_missing_values_without_a_fill(missing: Any) -> None:
    model = small_model(columns=(InputColumn("size"), InputColumn("kind", ("a", "b"))))
    message = "Column {!r} of the data has 1 missing values, the first in row 2"
    with pytest.raises(InputError, match=re.escape(message.format("size"))):
        model.predict({"size": [1.0, missing], "kind": ["a", "b"]})
    with pytest.raises(InputError, match=re.escape(message.format("kind"))):
        model.predict({"size": [1.0, 2.0], "kind": ["a", missing]})
    table = Table("f.csv", {"size": Numbers(np.ones(1)), "kind": make_texts([None])}, 1)
    with pytest.raises(InputError, match=r"Column 'kind' of f\.csv has 1 missing"):
        model.predict(table)


def test_unseen_texts_of_a_table() -> None:
    columns = {
        "size": Numbers(np.ones(2)),
        "colour": Texts(np.array([1, -1], np.int32), ("green", "pink", "red")),
    }
    assert MODEL.unseen(Table("f.csv", columns, 2)) == {"colour": ["pink"]}
    with pytest.raises(InputError, match="no column 'size'"):
        MODEL.unseen(Table("f.csv", {}, 0))
    numbers: dict[str, Any] = columns | {"colour": Unusable("dates")}
    assert MODEL.unseen(Table("f.csv", numbers, 2)) == {}


# Decisions.


def test_two_classes_are_told_apart_at_0() -> None:
    model = small_model(task="classification", classes=(3, 7))
    scores = np.array([[-1.0], [-0.0], [0.0], [5e-324], [1.0]])
    assert model.decide(scores).tolist() == [3, 3, 3, 7, 7]


def test_more_classes_by_the_first_of_the_largest() -> None:
    scores = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 0.0], [-3.0, -2.0, -1.0]])
    assert MODEL.decide(scores).tolist() == ["a", "b", "a", "c"]


@pytest.mark.parametrize(
    "classes", [("a\0", "a"), (-1, 2**63), (2**70, 1), (False, True), (0.5, -1.5), ("", "x")]
)
def test_labels_come_back_as_they_are(classes: Any) -> None:
    model = small_model(task="classification", classes=classes)
    found = model.decide(np.array([[-1.0], [1.0]])).tolist()
    assert found == list(classes)
    assert [type(label) for label in found] == [type(label) for label in classes]


# Made of paths and estimators.

RNG = np.random.default_rng(3)
NAMES = ["a", "b c", "Größe", "d", "e"]
X = pd.DataFrame(RNG.standard_normal((40, 5)), columns=NAMES)
Y = X.to_numpy() @ RNG.standard_normal((5, 3)) + RNG.standard_normal((40, 3))


def assert_same(model: LinearModel, data: Any, expected: Any) -> None:
    found = LinearModel.from_json(model.to_json()).predict(data)
    if model.classes is None:
        assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
        assert found.shape == np.shape(expected)
    else:
        assert_array_equal(found, expected)


@pytest.mark.parametrize("k", [1, 3, 5, None])
@pytest.mark.parametrize("targets", [1, 3])
def test_as_the_path_predicts(k: int | None, targets: int) -> None:
    y = Y[:, 0] if targets == 1 else Y
    path = greedy_path(X, y, 5, alpha=0.5)
    model = LinearModel.from_path(path, k, target="height")
    assert_same(model, X, path.predict(X, k))
    assert [term.name for term in model.terms] == path.names(k)
    assert model.target == "height"
    assert model.made_by.startswith("greedyrls ")
    assert "height" in repr(model)


def test_a_path_with_one_target_in_two_dimensions() -> None:
    path = greedy_path(X, Y[:, :1], 2, alpha=0.5)
    assert_allclose(LinearModel.from_path(path).predict(X), path.predict(X)[:, 0], rtol=1e-12)


def test_a_path_without_names() -> None:
    path = greedy_path(X.to_numpy(), Y[:, 0], 2)
    model = LinearModel.from_path(path)
    data = {f"x{place}": X[name] for place, name in enumerate(NAMES)}
    assert_same(model, data, path.predict(X.to_numpy()))


def test_the_chosen_size_is_the_default() -> None:
    estimator = GreedyRLSRegressor(2, alpha=0.5).fit(X, Y[:, 0])
    model = LinearModel.from_path(estimator.path_)
    assert_same(model, X, estimator.predict(X))
    chosen = GreedyRLSRegressor().fit(X, Y[:, 0])
    assert_same(LinearModel.from_path(chosen.path_), X, chosen.predict(X))


def test_a_regressor_with_several_targets() -> None:
    estimator = GreedyRLSRegressor(3, alpha=0.5).fit(X, Y)
    assert_same(LinearModel.from_path(estimator.path_), X, estimator.predict(X))


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("kind", ["text", "whole", "float", "flag"])
def test_a_classifier(count: int, kind: str) -> None:
    if kind == "flag" and count > 2:
        return
    places = np.argmax(Y[:, :count], axis=1)
    labels: Any = {
        "text": np.array(["no", "yes", "perhaps"]),
        "whole": np.array([10, -3, 5]),
        "float": np.array([1.0, -2.0, 3.0]),
        "flag": np.array([False, True]),
    }[kind]
    estimator = GreedyRLSClassifier(3, alpha=0.5).fit(X, labels[places])
    model = LinearModel.from_path(estimator.path_, classes=estimator.classes_, target="y")
    assert_same(model, X, estimator.predict(X))
    scores = np.reshape(estimator.decision_function(X), (len(X), -1))
    assert_allclose(model.scores(X), scores, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("targets", "classes"), [(1, ["a"]), (1, ["a", "b", "c"]), (3, ["a", "b"]), (3, ["a"]), (1, [])]
)
def test_classes_that_are_not_those_of_the_path(targets: int, classes: list[str]) -> None:
    path = greedy_path(X, Y[:, 0] if targets == 1 else Y, 2)
    with pytest.raises(ValueError, match=f"{targets} targets .* match {len(classes)} classes"):
        LinearModel.from_path(path, classes=classes)


def test_two_features_of_the_same_name() -> None:
    path = greedy_path(X, Y[:, 0], 2)
    names = path.settings.feature_names_in
    assert names is not None
    twin = json.loads(path.to_json())
    twin["settings"]["feature_names_in"] = ["a"] * len(names)
    with pytest.raises(ValueError, match="same name"):
        LinearModel.from_path(type(path).from_json(json.dumps(twin)))


@settings(max_examples=30)
@given(cases())
def test_scores_are_the_sum_that_they_say(case: Case) -> None:
    # Against a sum over the terms, written down once more.
    model = case.model
    rows = [row for row in case.rows if not any_open(model, row)]
    if not rows:
        return
    found = model.scores({name: [row[name] for row in rows] for name in rows[0]})
    fills = {column.name: column.fill for column in model.columns}
    for row, scores in zip(rows, found, strict=True):
        values = [
            fills[name] if exported.is_missing(value) else value for name, value in row.items()
        ]
        known = dict(zip(row, values, strict=True))
        for output, score in enumerate(scores):
            total = model.intercepts[output]
            for term in model.terms:
                value = known[term.column]
                factor = value if term.level is None else float(value == term.level)
                total += factor * term.coefficients[output]
            assert score == total


def any_open(model: LinearModel, row: exported.Row) -> bool:
    return any(exported.is_missing(row[one.name]) and one.fill is None for one in model.columns)
