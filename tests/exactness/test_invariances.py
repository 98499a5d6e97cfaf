"""What must not change the answer, and what must change it in a known way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.model_selection import LeaveOneGroupOut

from greedyrls import greedy_path
from problems import Case, cases, named_problems, two_classes


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    return two_classes(300, 80, seed=3, signal=0.3)


def test_a_path_is_a_prefix_of_the_longer_one(data: Any) -> None:
    short, long = greedy_path(*data, 7), greedy_path(*data, 25)
    assert short.indices.tolist() == long.indices[:7].tolist()
    assert_allclose(short.losses, long.losses[:7], rtol=1e-13)


def test_permuting_rows_changes_nothing(data: Any) -> None:
    X, y = data
    order = np.random.default_rng(0).permutation(len(y))
    path, permuted = greedy_path(X, y, 15), greedy_path(X[order], y[order], 15)
    assert path.indices.tolist() == permuted.indices.tolist()
    assert_allclose(path.losses, permuted.losses, rtol=1e-12)


def test_permuting_columns_permutes_the_answer(data: Any) -> None:
    X, y = data
    order = np.random.default_rng(1).permutation(X.shape[1])
    path, permuted = greedy_path(X, y, 15), greedy_path(X[:, order], y, 15)
    assert path.indices.tolist() == order[permuted.indices].tolist()


@given(scale=st.floats(1e-8, 1e8), sign=st.sampled_from([-1.0, 1.0]))
@settings(max_examples=20)
def test_scaling_the_target_scales_losses_by_the_square(scale: float, sign: float) -> None:
    X, y = two_classes(60, 20, seed=5, signal=0.3)
    path, scaled = greedy_path(X, y, 5), greedy_path(X, sign * scale * y, 5)
    assert path.indices.tolist() == scaled.indices.tolist()
    assert_allclose(scaled.losses, scale**2 * path.losses, rtol=1e-11)
    assert_allclose(scaled.coef(), sign * scale * path.coef(), rtol=1e-9)


def test_shifting_columns_changes_nothing_with_an_intercept(data: Any) -> None:
    X, y = data
    shift = 1e5 * np.random.default_rng(2).standard_normal(X.shape[1])
    path, shifted = greedy_path(X, y, 15), greedy_path(X + shift, y + 1e4, 15)
    assert path.indices.tolist() == shifted.indices.tolist()
    assert_allclose(shifted.losses, path.losses, rtol=1e-9)


def test_columns_a_million_times_farther_out_than_they_are_wide(data: Any) -> None:
    X, y = data
    path, shifted = greedy_path(X, y, 10), greedy_path(X + 1e6, y, 10)
    assert path.indices.tolist() == shifted.indices.tolist()
    # X + 1e6 itself is rounded to 1e-10; no more than that is lost.
    assert_allclose(shifted.losses, path.losses, rtol=1e-8)


def test_integer_weights_are_repeated_rows_left_out_together() -> None:
    X, y = two_classes(30, 12, seed=7, signal=0.5)
    weights = np.random.default_rng(8).integers(1, 4, 30)
    path = greedy_path(X, y, 4, sample_weight=weights)
    rows = np.repeat(np.arange(30), weights)
    for k in range(1, 5):
        columns = X[np.ix_(rows, path.indices[:k])]
        errors = np.empty(len(rows))
        for train, test in LeaveOneGroupOut().split(columns, y[rows], rows):
            model = Ridge().fit(columns[train], y[rows][train])
            errors[test] = (model.predict(columns[test]) - y[rows][test]) ** 2
        assert path.losses[k - 1] == pytest.approx(errors.mean(), rel=1e-10)


def test_zero_weight_is_a_missing_row(data: Any) -> None:
    X, y = data
    weights = np.ones(len(y))
    weights[::3] = 0
    path = greedy_path(X, y, 12, sample_weight=weights, search="bounded")
    kept = greedy_path(X[weights > 0], y[weights > 0], 12)
    assert path.indices.tolist() == kept.indices.tolist()
    assert_allclose(path.losses, kept.losses, rtol=1e-12)
    assert_allclose(path.standard_errors, kept.standard_errors, rtol=1e-9)


def test_equal_targets_are_one_target(data: Any) -> None:
    X, y = data
    one, three = greedy_path(X, y, 10), greedy_path(X, np.column_stack([y, y, y]), 10)
    assert one.indices.tolist() == three.indices.tolist()
    assert_allclose(one.losses, three.losses, rtol=1e-12)
    assert_allclose(one.standard_errors, three.standard_errors, rtol=1e-9)
    assert_allclose(three.coef(4), np.tile(one.coef(4), (3, 1)), rtol=1e-10)


def test_losses_are_those_of_ridge_cv(data: Any) -> None:
    X, y = data
    path = greedy_path(X, y, 6, alpha=2.5)
    for k in (1, 3, 6):
        model = RidgeCV(alphas=[2.5], store_cv_results=True).fit(X[:, path.indices[:k]], y)
        assert path.losses[k - 1] == pytest.approx(model.cv_results_.mean(), rel=1e-10)


def test_a_huge_penalty_ranks_by_covariance(data: Any) -> None:
    X, y = data
    path = greedy_path(X, y, 5, alpha=1e8)
    covariance = np.abs((X - X.mean(axis=0)).T @ (y - y.mean()))
    assert path.indices[0] == np.argmax(covariance)
    assert_allclose(path.losses, path.initial_loss, rtol=1e-4)


def test_a_tiny_penalty_is_least_squares(data: Any) -> None:
    X, y = data
    path = greedy_path(X, y, 5, alpha=1e-10)
    design = np.column_stack([np.ones(len(y)), X[:, path.indices]])
    least_squares = np.linalg.lstsq(design, y, rcond=None)[0]
    assert_allclose(path.coef(), least_squares[1:], rtol=1e-9)


def test_forced_and_excluded_features(data: Any) -> None:
    X, y = data
    free = greedy_path(X, y, 6)
    excluded = free.indices[:2].tolist()
    path = greedy_path(X, y, 6, forced_features=[70, 3], excluded_features=excluded)
    assert path.indices[:2].tolist() == [70, 3]
    assert [step.forced for step in path.steps] == [True, True, False, False, False, False]
    assert not set(excluded) & set(path.indices.tolist())
    without = np.delete(np.arange(X.shape[1]), excluded)
    columns = X[:, without]
    again = greedy_path(
        columns, y, 6, forced_features=np.flatnonzero(np.isin(without, [70, 3]))[::-1]
    )
    assert without[again.indices].tolist() == path.indices.tolist()


LAYOUTS: dict[str, Callable[[np.ndarray], Any]] = {
    "Fortran order": np.asfortranarray,
    "rows of a larger array": lambda X: np.concatenate([X, X])[: len(X)],
    "every second row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "every second column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "reversed": lambda X: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
    "other byte order": lambda X: X.astype(X.dtype.newbyteorder()),
    "longdouble": lambda X: X.astype(np.longdouble),
    "lists": lambda X: X.tolist(),
    "read-only": lambda X: _read_only(X),
}


def _read_only(X: np.ndarray) -> np.ndarray:
    copy = X.copy()
    copy.flags.writeable = False
    return copy


@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_memory_layout_gives_the_same_answer(layout: str, data: Any) -> None:
    X, y = data
    path, other = greedy_path(X, y, 15), greedy_path(LAYOUTS[layout](X), y, 15)
    assert path.indices.tolist() == other.indices.tolist()
    assert_allclose(path.losses, other.losses, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "int64", "uint8", "bool"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_any_type_gives_the_answer_of_its_values_in_float64(
    dtype: str, order: Any, data: Any
) -> None:
    X, y = data
    values = (np.abs(3 * X) if dtype in ("uint8", "bool") else 3 * X).astype(dtype, order=order)
    if dtype == "bool":
        values = np.asarray(np.abs(X) > 0.7, order=order)
    path, other = greedy_path(values.astype(float), y, 15), greedy_path(values, y, 15)
    assert path.indices.tolist() == other.indices.tolist()
    assert_allclose(path.losses, other.losses, rtol=1e-12)


@pytest.mark.parametrize("rows", [1, 7, 100, 299, 300, 10_000])
@pytest.mark.parametrize("search", ["bounded", "exhaustive"])
def test_any_block_size_gives_the_same_answer(rows: int, search: Any, data: Any) -> None:
    X, y = data
    options: dict[str, Any] = {
        "sample_weight": np.random.default_rng(0).random(len(y)),
        "n_runners_up": 2,
        "search": search,
    }
    Y = np.column_stack([y, X[:, 0]])
    path = greedy_path(X, Y, 12, **options)
    cut = greedy_path(X, Y, 12, block_rows=rows, **options)
    assert path.indices.tolist() == cut.indices.tolist()
    assert_allclose(path.losses, cut.losses, rtol=1e-12)
    assert_allclose(path.standard_errors, cut.standard_errors, rtol=1e-9)
    for one, other in zip(path.runners_up, cut.runners_up, strict=True):
        assert [index for index, _ in one] == [index for index, _ in other]


@pytest.mark.parametrize("name", ["duplicates", "constant columns"])
@pytest.mark.parametrize("search", ["bounded", "exhaustive"])
def test_ties_go_to_the_lowest_index(name: str, search: Any) -> None:
    X, y = named_problems()[name]
    path = greedy_path(X, y, 9, search=search)
    for place, index in enumerate(path.indices.tolist()):
        equal = np.flatnonzero((X[:, [index]] == X).all(axis=0))
        free = [other for other in equal if other not in path.indices[:place]]
        assert index == min(free)


@settings(max_examples=50)
@given(case=cases())
def test_inputs_are_never_modified(case: Case) -> None:
    weights = case.options.get("sample_weight")
    before = [None if a is None else a.copy() for a in (case.X, case.y, weights)]
    greedy_path(case.X, case.y, case.n_features, search="bounded", **case.options)
    for array, copy in zip((case.X, case.y, weights), before, strict=True):
        assert copy is None or np.array_equal(array, copy)
