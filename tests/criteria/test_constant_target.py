"""A target that does not vary: nothing is left of it, so nothing but the column order decides."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bounds import assert_bounds_hold
from greedyrls import GreedyRLSRegressor, greedy_path
from problems import Case

SEARCHES: dict[str, dict[str, Any]] = {
    "exhaustive": {"search": "exhaustive"},
    "bounded": {"search": "bounded"},
    "blocks": {"block_rows": 7},
    "5 folds": {"cv": 5},
    "10 folds": {"cv": 10},
    "absolute": {"loss": "absolute"},
    "backward": {"direction": "backward"},
    "floating": {"direction": "floating"},
}


def far_columns(seed: int, m: int, n: int) -> tuple[np.ndarray, np.random.Generator]:
    """Columns far from the origin, where the rounding of a mean shows first."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((m, n)) + 100.0 * rng.standard_normal(n), rng


@pytest.mark.parametrize("seed", [1, 5, 27, 101])
@pytest.mark.parametrize("value", [-1.0, 0.1])
def test_bounds_hold_for_a_weighted_constant_target(seed: int, value: float) -> None:
    """Found by Hypothesis: the weighted mean of equal numbers was rounded, and what was left of
    the target after centring (1e-16) had bounds above its exact losses."""
    X, rng = far_columns(seed, 8, 9)
    weights = (rng.integers(0, 4, 8) + rng.random(8)).astype(float)
    for n_features in (1, 2, 3):
        options = {"alpha": 1.0, "fit_intercept": True, "sample_weight": weights}
        assert_bounds_hold(Case(X, np.full(8, value), n_features, options))


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("value", [-1.0, 0.1, 1e5 / 3])
def test_the_lowest_columns_win_and_the_loss_is_0(
    value: float, weighted: bool, search: str
) -> None:
    X, rng = far_columns(0, 60, 20)
    weights = rng.random(60) + 0.1 if weighted else None
    path = greedy_path(X, np.full(60, value), 4, sample_weight=weights, **SEARCHES[search])
    assert sorted(path.indices.tolist()) == [0, 1, 2, 3]
    assert not path.losses.any()
    assert path.predict(X, 4) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize("search", SEARCHES)
def test_variation_by_rounding_is_none(search: str) -> None:
    X, _ = far_columns(1, 60, 20)
    y = np.full(60, 0.3)
    y[::3] = 0.1 + 0.2  # 0.30000000000000004
    path = greedy_path(X, y, 3, **SEARCHES[search])
    assert sorted(path.indices.tolist()) == [0, 1, 2]
    assert not path.losses.any()
    assert y[0] != y[1]  # the caller's array is as it was


def test_rows_without_weight_may_differ() -> None:
    X, _ = far_columns(2, 40, 6)
    y, weights = np.full(40, 0.1), np.ones(40)
    y[0], weights[0] = 7.0, 0.0
    path = greedy_path(X, y, 2, sample_weight=weights)
    assert path.indices.tolist() == [0, 1]
    assert not path.losses.any()


def test_one_target_of_two_is_constant() -> None:
    X, rng = far_columns(3, 50, 8)
    y = X[:, 5] - X[:, 2] + rng.standard_normal(50)
    both = greedy_path(X, np.column_stack([y, np.full(50, 0.1)]), 4)
    alone = greedy_path(X, y, 4)
    assert both.indices.tolist() == alone.indices.tolist()
    assert both.losses == pytest.approx(alone.losses / 2)  # the mean over both targets


def test_small_variation_counts() -> None:
    X, rng = far_columns(4, 50, 8)
    y = X[:, 5] - X[:, 5].mean() + 0.1 * rng.standard_normal(50)
    far = greedy_path(X, 1.0 + 1e-10 * y, 1)
    assert far.indices.tolist() == [5]


def test_an_estimator_predicts_the_constant() -> None:
    X, _ = far_columns(5, 40, 6)
    model = GreedyRLSRegressor(2, alpha=1.0).fit(X, np.full(40, 0.1))
    assert model.predict(X) == pytest.approx(0.1, rel=1e-15)
