"""Input that is odd but not wrong: types, equal and constant columns, extreme numbers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bad_data import M, N, data, frame, weights
from greedyrls import StopReason, greedy_path
from internals import NumericalWarning

# No errors ---------------------------------------------------------------------------------------


def test_numbers_of_any_type_are_taken() -> None:
    X, y = data()
    X = np.round(4 * X)
    expected = greedy_path(X, y, 3)
    for kind in (object, np.int8, np.int64, np.float16, np.float32, np.longdouble):
        assert_array_equal(greedy_path(X.astype(kind), y, 3).indices, expected.indices)
    assert_array_equal(greedy_path(X.tolist(), y.tolist(), 3).indices, expected.indices)
    assert_array_equal(greedy_path(X, y.astype(object), 3).indices, expected.indices)
    assert_array_equal(greedy_path(frame(X).astype("Int64"), y, 3).indices, expected.indices)


@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_numbers_at_odd_addresses(loss: str) -> None:
    """As arrays that come from another process may be."""
    X, y = data()

    def moved(values: Any) -> Any:
        shifted = np.frombuffer(b"-" + values.tobytes(), np.uint8)[1:].view(np.float64)
        assert not shifted.flags.aligned
        return shifted.reshape(values.shape)

    w = weights(3, 2.0)
    expected = greedy_path(X, y, 3, loss=loss, sample_weight=w)
    found = greedy_path(moved(X), moved(y), 3, loss=loss, sample_weight=moved(w))
    assert_array_equal(found.indices, expected.indices)
    assert_allclose(found.losses, expected.losses, rtol=1e-12)


@pytest.mark.parametrize("search", ["exhaustive", "bounded"])
def test_of_equal_columns_the_lowest_index_wins(search: Any) -> None:
    X, y = data()
    X = X[:, [0, 5, 2, 5, 2, 5, 6, 7]]
    path = greedy_path(X, y, 8, alpha=0.1, search=search)
    assert path.indices[:2].tolist() == [1, 2]
    order = path.indices.tolist()
    assert [index for index in order if index in (1, 3, 5)] == [1, 3, 5]
    assert [index for index in order if index in (2, 4)] == [2, 4]
    assert path.stop_reason is StopReason.EXHAUSTED


@pytest.mark.parametrize("search", ["exhaustive", "bounded"])
def test_constant_columns_are_harmless(search: Any) -> None:
    X, y = data()
    X[:, [0, 3]] = 7.0, -1e6
    path = greedy_path(X, y, 8, alpha=1e-6, search=search)
    assert sorted(path.indices.tolist()) == list(range(8))
    assert 0 not in path.indices[:2]
    assert_allclose(path.coef()[[path.indices.tolist().index(i) for i in (0, 3)]], 0, atol=1e-9)
    flat = greedy_path(np.ones((M, N)), y, 3, search=search)
    assert flat.indices.tolist() == [0, 1, 2]
    assert_allclose(flat.losses, flat.initial_loss, rtol=1e-12)
    assert_array_equal(greedy_path(X, np.full(M, 3.0), 2, search=search).losses, 0.0)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("search", ["exhaustive", "bounded"])
def test_a_column_that_marks_one_sample(search: Any, fit_intercept: bool) -> None:
    X, y = data()
    X[:, 3] = np.arange(M) == 4  # with hardly a penalty, that sample's leverage rounds to 1
    with warnings.catch_warnings():  # whether that column looks best is a matter of rounding
        warnings.filterwarnings("ignore", category=NumericalWarning)
        path = greedy_path(X, y, 3, alpha=1e-20, search=search, fit_intercept=fit_intercept)
    assert np.isfinite(path.losses).all()
    assert len(path) == 3 or path.stop_reason is StopReason.NUMERICAL_LIMIT


@pytest.mark.parametrize("alpha", [1e-18, 1e-30, 1e-100, 1e-300])
def test_a_penalty_below_all_rounding_is_handled_or_refused(alpha: float) -> None:
    for seed in range(20):  # few samples, equal columns: leverages of 1, singular matrices
        rng = np.random.default_rng(seed)
        X, y = rng.integers(-2, 3, (4, 6)).astype(float), rng.integers(-1, 2, 4)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            path = greedy_path(X, y, 6, alpha=alpha)
        assert path.to_json()
        if len(path) < 6:
            assert path.stop_reason is StopReason.NUMERICAL_LIMIT
            (warning,) = caught
            assert "Use a larger alpha" in str(warning.message)
        else:
            assert not caught


def test_large_values_whose_squares_fit() -> None:
    X, y = data()
    expected = greedy_path(X, y, 3, alpha=1e-12)
    path = greedy_path(1e100 * X, 1e60 * y, 3, alpha=1e-12)
    assert_array_equal(path.indices, expected.indices)
    assert_allclose(path.losses, 1e120 * expected.losses, rtol=1e-9)


@pytest.mark.parametrize("scale", [1e90, 1e140])
def test_a_large_y_is_scaled_or_refused(scale: float) -> None:
    X, y = data()
    expected = greedy_path(X, y, 3)
    try:
        path = greedy_path(X, scale * y, 3)
    except ValueError as error:
        assert "y has values so large" in str(error)  # noqa: PT017
    else:
        assert_array_equal(path.indices, expected.indices)
        assert_allclose(path.losses, scale**2 * expected.losses, rtol=1e-9)


def test_one_weight_that_dwarfs_the_others_is_handled_or_refused() -> None:
    X, y = data()
    try:
        path = greedy_path(X, y, 3, sample_weight=weights(3, 1e20))
    except ValueError as error:
        assert "sample_weight" in str(error)  # noqa: PT017
    else:
        assert np.isfinite(path.losses).all()
