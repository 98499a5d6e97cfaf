"""Which targets are classes, and how classes become numbers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from greedyrls import GreedyRLSClassifier
from greedyrls.assess import cross_validate_path, permutation_null, resample_path
from internals import code_classes, make_targets

CLASSES: dict[str, Any] = {
    "text": ["b", "a", "b"],
    "text in an array": np.array(["b", "a", "b"]),
    "text as objects": np.array(["b", "a", "b"], dtype=object),
    "flags": [True, False, True],
    "flags in an array": np.array([True, False, True]),
    "flags as objects": np.array([True, False, True], dtype=object),
    "two whole numbers": [0, 1, 0],
    "two numbers": np.array([-1.0, 2.0, -1.0]),
    "small numbers": np.array([0, 1, 0], dtype=np.uint8),
    "series": pd.Series(["b", "a", "b"]),
    "categories": pd.Series(["b", "a", "b"], dtype="category"),
    "nullable numbers": pd.Series([0, 1, 0], dtype="Int64"),
    "nullable flags": pd.Series([True, False, True], dtype="boolean"),
}
NUMBERS: dict[str, Any] = {
    "three numbers": [0.5, 1.0, 2.0],
    "many whole numbers": np.arange(21),
    "one number": np.array([2.0, 2.0]),
    "two targets": np.array([[0.0, 1.0], [1.0, 0.0]]),
    "not finite": np.array([0.0, 1.0, np.nan]),
}


@pytest.mark.parametrize("name", CLASSES)
def test_what_is_taken_for_classes(name: str) -> None:
    targets = make_targets(CLASSES[name], "auto")
    assert targets.labels is not None
    assert targets.classes is not None
    first, second = np.unique(np.asarray(targets.labels)).tolist()
    assert targets.classes.tolist() == [first, second]
    expected = np.where(np.asarray(targets.labels) == second, 1.0, -1.0)
    assert_array_equal(targets.values, expected)
    assert set(expected) == {-1.0, 1.0}


def test_text_of_numpy_is_text() -> None:
    y = np.array(["b", "a", "b"], dtype=np.dtypes.StringDType())
    assert_array_equal(make_targets(y, "auto").values, [1.0, -1.0, 1.0])


def test_two_numbers_with_fractions_are_numbers() -> None:
    y = np.array([0.5, 2.0, 0.5])
    targets = make_targets(y, "auto")
    assert targets.labels is None
    assert targets.values is y


@pytest.mark.parametrize("name", NUMBERS)
def test_what_is_taken_for_numbers(name: str) -> None:
    values = NUMBERS[name]
    targets = make_targets(values, "auto")
    assert targets.values is values
    assert targets.labels is None
    assert targets.classes is None


@pytest.mark.parametrize("count", [3, 20])
def test_few_whole_numbers_may_be_either(count: int) -> None:
    y = np.arange(count, dtype=float)
    with pytest.warns(UserWarning, match=f"y has {count} different whole numbers, which are taken"):
        assert make_targets(y, "auto").labels is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert make_targets(y, "regression").labels is None
        targets = make_targets(y, "classification")
    assert_array_equal(targets.labels, y)
    assert targets.values.shape == (count, count)


def test_what_is_asked_for_is_done() -> None:
    y = np.array([1.0, -1.0, 1.0])
    assert make_targets(y, "regression").values is y
    text = ["1", "2", "1"]
    assert make_targets(text, "regression").values is text  # and refused later
    assert_array_equal(make_targets(y, "classification").values, y)


def test_codes_of_classes() -> None:
    y = np.array(["b", "c", "a", "b"])
    targets = code_classes(y)
    assert targets.classes is not None
    assert targets.classes.tolist() == ["a", "b", "c"]
    assert_array_equal(targets.values, [[-1, 1, -1], [-1, -1, 1], [1, -1, -1], [-1, 1, -1]])
    assert targets.values.dtype == np.float64
    assert targets.labels is y


@pytest.mark.parametrize("task", ["class", "AUTO", None, 1, ["auto"]])
def test_tasks_are_known(task: Any) -> None:
    with pytest.raises(ValueError, match="task must be 'auto', 'regression' or 'classification'"):
        make_targets([1.0, 2.0], task)


@pytest.mark.parametrize(
    ("y", "task", "message"),
    [
        (["a", "a"], "auto", "only one class is present: every label is 'a'"),
        ([1, 1, 1], "classification", "every label is 1. Pass data of at least 2 classes"),
        ([[1, 0], [0, 1]], "classification", r"one label for each sample; got shape \(2, 2\)"),
        ([0.5, 1.5, 2.5], "classification", "Unknown label type: continuous"),
        (np.array(["a", None, "b"], dtype=object), "auto", "missing value: row 1 is None"),
        (
            np.array(["a", "b", np.nan], dtype=object),
            "auto",
            "row 2 is nan. Give every row",
        ),
    ],
)
def test_labels_that_cannot_be(y: Any, task: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_targets(y, task)


def test_the_classifier_has_the_same_classes() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((24, 3))
    for y in (np.arange(24) % 3, np.array(["u", "v"])[np.arange(24) % 2]):
        model = GreedyRLSClassifier(1, alpha=1.0).fit(X, y)
        assert_array_equal(model.classes_, code_classes(y).classes)
    with pytest.raises(ValueError, match="only one class is present: every label is 'u'"):
        GreedyRLSClassifier(1, alpha=1.0).fit(X, np.full(24, "u"))


SHORT: dict[Any, dict[str, Any]] = {
    cross_validate_path: {"cv": 3, "n_random": 0},
    permutation_null: {"n_permutations": 1},
    resample_path: {"n_resamples": 2},
}


@pytest.mark.parametrize("call", SHORT)
def test_every_question_takes_the_task(call: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 3))
    y = np.arange(30) % 4
    options: dict[str, Any] = {"alpha": 1.0} | SHORT[call]
    with pytest.warns(UserWarning, match="y has 4 different whole numbers"):
        call(X, y, 2, **options)
    for task, measure in (("regression", "squared"), ("classification", "zero_one")):
        found = call(X, y, 2, task=task, **options)
        assert getattr(found, "measure", measure) == measure


@pytest.mark.parametrize("call", SHORT)
def test_warnings_point_at_the_caller(call: Any) -> None:
    X = np.random.default_rng(0).standard_normal((30, 3))
    options: dict[str, Any] = {"alpha": 1.0} | SHORT[call]
    with pytest.warns(UserWarning, match="different whole numbers") as caught:
        call(X, np.arange(30) % 4, 2, **options)
    assert caught[0].filename == __file__
