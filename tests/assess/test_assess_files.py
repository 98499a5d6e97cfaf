"""Assessments of X in a file, of which no rows are copied: the answers are those of an array."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import GroupKFold, KFold

from assess_checks import ALPHAS, labels, numbers
from greedyrls import files
from greedyrls.assess import cross_validate_path, permutation_null, resample_path
from internals import RowsOf
from literal import huberish
from own_matrices import ListedColumns, hdf5_columns
from tuning import tuned

M = 48
GROUPS = np.arange(M) // 3
CHUNKS = {"smallest_file_chunk": 500, "largest_file_chunk": 700}


def npy(X: Any, folder: Path) -> Any:
    """A file that is read a few rows at a time."""
    np.save(folder / "X.npy", X)
    return files.open_npy(folder / "X.npy", memory_limit="30MB")


def by_columns(X: Any, folder: Path) -> Any:
    return hdf5_columns(X)[0]


KINDS: list[Callable[[Any, Path], Any]] = [npy]
if importlib.util.find_spec("h5py") is not None:
    KINDS.append(by_columns)
every_kind = pytest.mark.parametrize("kind", KINDS)

WEIGHTS = np.random.default_rng(3).integers(0, 3, M).astype(float)
QUESTIONS: dict[str, tuple[bool, dict[str, Any]]] = {
    "leave-one-out": (False, {"alpha": 1.0}),
    "a grid": (False, {"alpha": ALPHAS}),
    "a grid and a size": (False, {"alpha": ALPHAS, "n_features": "auto"}),
    "folds": (False, {"alpha": 1.0, "inner_cv": 3}),
    "folds and a grid": (False, {"alpha": ALPHAS, "inner_cv": KFold(3)}),
    "groups": (False, {"alpha": ALPHAS, "inner_cv": GroupKFold(3), "groups": GROUPS}),
    "weights": (False, {"alpha": 1.0, "inner_cv": 3, "sample_weight": WEIGHTS}),
    "absolute": (False, {"alpha": 1.0, "loss": "absolute", "refit_alpha": "loo"}),
    "absolute in folds": (False, {"alpha": 1.0, "loss": "absolute", "inner_cv": 3}),
    "a function": (False, {"alpha": 1.0, "loss": huberish}),
    "a measure": (False, {"alpha": 1.0, "measure": huberish, "n_jobs": 2}),
    "groups of features": (False, {"alpha": 1.0, "feature_groups": {"a": [0, 2], "b": [1, 5]}}),
    "costs": (False, {"alpha": 1.0, "feature_costs": [1, 2, 1, 3, 1, 1], "loss": "absolute"}),
    "forced": (False, {"alpha": 1.0, "forced_features": [4], "inner_cv": 4}),
    "classes": (True, {"alpha": 1.0}),
    "classes and a grid": (True, {"alpha": ALPHAS, "loss": "squared"}),
    "classes in folds": (True, {"alpha": 1.0, "inner_cv": 3, "loss": "balanced_zero_one"}),
    "class weights": (True, {"alpha": 1.0, "class_weight": "balanced"}),
    "class weights and a grid": (
        True,
        {"alpha": ALPHAS, "class_weight": {"ant": 3.0}, "loss": "squared"},
    ),
    "AUC": (True, {"alpha": 1.0, "loss": "auc"}),
}


def assert_same(found: Any, expected: Any) -> None:
    """All attributes are the same: whole numbers and text exactly, losses up to rounding."""
    for attribute in fields(expected):
        one, other = getattr(found, attribute.name), getattr(expected, attribute.name)
        if attribute.name in ("features", "selections"):
            for features, others in zip(one, other, strict=True):
                assert_array_equal(features, others)
        elif isinstance(other, np.ndarray):
            assert_allclose(one, other, rtol=1e-7, atol=1e-9, err_msg=attribute.name)
        elif hasattr(other, "__dataclass_fields__"):
            assert_same(one, other)
        elif isinstance(other, float):
            assert one == pytest.approx(other, rel=1e-7), attribute.name
        else:
            assert one == other, attribute.name


def problem(is_classes: bool) -> tuple[Any, Any]:
    return labels(M) if is_classes else numbers(M)


@every_kind
@pytest.mark.parametrize("name", QUESTIONS)
def test_cross_validation(kind: Any, name: str, tmp_path: Path) -> None:
    is_classes, options = QUESTIONS[name]
    X, y = problem(is_classes)
    asked: dict[str, Any] = {"n_features": 2, "cv": 3, "n_random": 2} | options
    expected = cross_validate_path(X, y, **asked | {"n_jobs": None})
    with tuned(**CHUNKS):
        assert_same(cross_validate_path(kind(X, tmp_path), y, **asked), expected)


@every_kind
@pytest.mark.parametrize("resample", ["subsample", "bootstrap"])
@pytest.mark.parametrize("name", ["a grid", "folds", "absolute", "class weights", "groups"])
def test_resampling(kind: Any, name: str, resample: Any, tmp_path: Path) -> None:
    is_classes, options = QUESTIONS[name]
    X, y = problem(is_classes)
    asked: dict[str, Any] = {"resample": resample, "n_resamples": 3} | options
    expected = resample_path(X, y, 2, **asked)
    with tuned(**CHUNKS):
        assert_same(resample_path(kind(X, tmp_path), y, 2, **asked), expected)


@every_kind
@pytest.mark.parametrize("name", ["leave-one-out", "folds", "weights", "class weights"])
def test_permutations(kind: Any, name: str, tmp_path: Path) -> None:
    is_classes, options = QUESTIONS[name]
    X, y = problem(is_classes)
    expected = permutation_null(X, y, 2, n_permutations=3, **options)
    with tuned(**CHUNKS):
        found = permutation_null(kind(X, tmp_path), y, 2, n_permutations=3, **options)
    assert_same(found, expected)


@pytest.mark.parametrize("options", [{}, {"inner_cv": 3}, {"loss": "absolute"}])
def test_any_matrix_can_be_assessed(options: dict[str, Any]) -> None:
    """It answers the protocol, and knows nothing of rows that are left out."""
    X, y = numbers(M)
    expected = cross_validate_path(X, y, 2, alpha=1.0, **options)
    assert_same(cross_validate_path(ListedColumns(X), y, 2, alpha=1.0, **options), expected)


def test_an_automatic_loss_is_that_of_estimators(tmp_path: Path) -> None:
    """For a file they do not try 0/1 error, which takes a pass for each step of each fold."""
    X, y = labels(M)
    with tuned(**CHUNKS):
        found = cross_validate_path(npy(X, tmp_path), y, 2, alpha=ALPHAS, cv=3, n_random=0)
    expected = cross_validate_path(X, y, 2, alpha=ALPHAS, cv=3, n_random=0, loss="squared")
    assert found.criterion == expected.criterion == "leave-one-out, squared loss"
    assert_same(found, expected)


def test_the_row_of_a_bad_value_is_that_of_the_file(tmp_path: Path) -> None:
    X, y = numbers(M)
    X[31, 4] = np.nan
    for options in ({}, {"inner_cv": 3}, {"loss": "absolute"}):
        with tuned(**CHUNKS), pytest.raises(ValueError, match="NaN: row 31, column 4 is nan"):
            cross_validate_path(npy(X, tmp_path), y, 2, alpha=1.0, **options)


def test_some_rows_of_a_matrix() -> None:
    X = np.random.default_rng(0).standard_normal((300, 5))
    rows = np.array([1, 2, 7, 8, 9, 100, 190, 191, 299])
    view = ListedColumns(X, 4).take(rows)
    assert isinstance(view, RowsOf)
    taken = X[rows]
    assert view.shape == taken.shape
    assert_array_equal(view.part(slice(None)), taken)
    assert_array_equal(view.part(slice(1, 1)), taken[1:1])
    assert_array_equal(view.part(slice(2, 8), np.array([3, 0])), taken[2:8][:, [3, 0]])
    assert_array_equal(view.columns(np.array([4, 1]), slice(1, 7)), taken[1:7, [4, 1]].T)
    parts = list(view.chunks())
    assert [number for inside, _ in parts for number in np.arange(len(rows))[inside]] == list(
        range(len(rows))
    )
    assert_array_equal(np.concatenate([part.part(slice(None)) for _, part in parts]), taken)
    V, weights = np.random.default_rng(1).random((2, len(rows))), np.arange(1.0, 10.0)
    products, squares = view.sums(V, weights, True)
    assert_allclose(products, V @ taken)
    assert_allclose(squares, weights @ taken**2)
    sets = [None, np.array([0, 3, 8])]
    for number, inside, tile in view.tiles_by_set(sets, np.zeros(5), {}):
        assert number == 0 or set(inside) <= {0, 3, 8}
        assert_array_equal(tile.part(slice(None)), taken[inside])
    again = view.take(np.array([0, 4, 8]))
    assert_array_equal(again.part(slice(None)), X[[1, 9, 299]])
