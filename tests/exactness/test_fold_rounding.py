"""Losses where rounding is hard: outliers, near copies, tiny penalties, equal scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import (
    KFold,
)

import literal
from greedyrls import (
    greedy_path,
)
from shuffled import shuffled_splits


def data(m: int = 60, n: int = 6) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((m, n))
    return X, X[:, 0] + rng.standard_normal(m)


def test_a_constant_column_has_an_area_of_one_half() -> None:
    rng = np.random.default_rng(47)
    y = rng.permutation(np.repeat([-1.0, 1.0], 7))
    ids = rng.permutation(np.arange(14) % 3)
    weights = rng.integers(1, 4, 14).astype(float)
    X = np.column_stack([np.ones(14), rng.standard_normal(14)])
    path = greedy_path(X, y, 2, loss="auc", cv=ids, sample_weight=weights)
    assert path.initial_loss == pytest.approx(0.5)
    assert path.indices.tolist() == [1, 0]


def test_an_outlier_leaves_the_order_of_the_others() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal(60)
    y = np.where(x + 0.5 * rng.standard_normal(60) > 0, 1.0, -1.0)
    x[3], y[3] = 1e12, 1.0
    ids = np.where(np.arange(60) < 30, 0, -1)
    path = greedy_path(x[:, None], y, 1, loss="auc", cv=ids, alpha=1e-3)
    ridge = Ridge(alpha=1e-3).fit(x[30:, None], y[30:])
    area = roc_auc_score(y[:30], ridge.predict(x[:30, None]))
    assert path.losses[0] == pytest.approx(1.0 - area)


def fold_losses(X: Any, y: Any, path: Any, folds: int, weights: Any = None) -> list[float]:
    """Held-out losses of all sizes by literal refits."""
    splits = list(KFold(folds).split(X))
    return [
        literal.criterion(
            X,
            y[:, None],
            splits,
            path.indices[: k + 1].tolist(),
            loss="squared",
            alpha=path.settings.alpha,
            fit_intercept=True,
            weights=weights,
        )
        for k in range(len(path))
    ]


def test_an_outlier_in_a_row_of_no_weight_does_not_shift_columns() -> None:
    X, y = data(60, 12)
    weights = np.ones(60)
    weights[7] = 0.0
    X[:, 11] += 1e4
    X[7, :6] = 1e9
    path = greedy_path(X, y, 4, cv=list(KFold(5).split(X)), sample_weight=weights)
    kept = weights > 0
    ridge = Ridge(alpha=1.0).fit(X[kept][:, path.indices], y[kept])
    assert_allclose(path.coef(), ridge.coef_, rtol=1e-10)
    assert_allclose(path.losses, fold_losses(X, y, path, 5, weights), rtol=1e-9)


@pytest.mark.parametrize("size", [1e4, 1e6, 1e8])
def test_held_out_rows_that_dwarf_all_others(size: float) -> None:
    X, y = data(60, 12)
    X[3] = size
    path = greedy_path(X, y, 4, cv=5)
    assert_allclose(path.losses, fold_losses(X, y, path, 5), rtol=1e-9)
    if size > 1e6:
        return  # within the folds that train on it, its leverage is 1 up to rounding
    alphas = [1.0, 30.0]
    nested = greedy_path(X, y, 3, alpha=alphas, alpha_cv=5, refit_alpha="same").surface
    splits = shuffled_splits(60, 5)
    expected = literal.nested_surface(X, y, splits, alphas, 3)
    assert_allclose(nested.losses, expected["losses"], rtol=1e-8)


@pytest.mark.parametrize("distance", [1e-4, 1e-6])
@pytest.mark.parametrize("alpha", [1e-8, 1e-12])
def test_folds_with_features_that_nearly_span_each_other(distance: float, alpha: float) -> None:
    X, y = data(60, 8)
    X[:, 1] = X[:, 0] + distance * np.random.default_rng(1).standard_normal(60)
    path = greedy_path(X, y, 8, alpha=alpha, cv=5)
    assert_allclose(path.losses, fold_losses(X, y, path, 5), rtol=1e-9)


@pytest.mark.parametrize("alpha", [1e-8, 1e-5, 1e-2])
def test_all_of_many_features_with_a_small_penalty(alpha: float) -> None:
    X, y = data(30, 300)
    path = greedy_path(X, y, 1, alpha=[alpha, 1e9], alpha_rule="all_features")
    everything = list(range(300))
    expected = literal.criterion(
        X,
        y[:, None],
        "loo",
        everything,
        loss="squared",
        alpha=alpha,
        fit_intercept=True,
        weights=None,
    )
    assert path.surface.losses[0, 0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("order", ["C", "F"])
def test_folds_read_any_memory_order(order: Any) -> None:
    X, y = data(200, 20)
    expected = greedy_path(X, y, 5, cv=7)
    path = greedy_path(np.asarray(X, order=order), y, 5, cv=7)
    assert_allclose(path.losses, expected.losses, rtol=1e-12)
    strided = greedy_path(np.repeat(X, 2, axis=1)[:, ::2], y, 5, cv=7)
    assert_allclose(strided.losses, expected.losses, rtol=1e-12)


@pytest.mark.parametrize("weights", [None, np.linspace(0.3, 4.0, 14)], ids=["even", "weights"])
def test_a_feature_that_others_span_added_last_of_all(weights: Any) -> None:
    X, y = data(14, 3)
    X[:, 2] = X[:, 1]
    path = greedy_path(X, y, 3, alpha=1e-3, cv=4, sample_weight=weights)
    assert_allclose(path.losses, fold_losses(X, y, path, 4, weights), rtol=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_backward_with_folds_where_columns_dwarf_others(seed: int) -> None:
    """With no more rows than features A⁻¹ as 1/α less a part had lost its digits."""
    generator = np.random.default_rng(seed)
    X = generator.standard_normal((8, 7)) * 10.0 ** np.array([3, 3, -3, 0, 2, -1, 1])
    y = generator.standard_normal(8)
    folds = np.arange(8) % 4
    splits = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(4)]
    path = greedy_path(X, y, 7, alpha=0.03, cv=splits, direction="backward")
    for size in range(1, 8):
        chosen = sorted(path.features(size).tolist())
        expected = literal.criterion(
            *(X, y, splits, chosen), loss="squared", alpha=0.03, fit_intercept=True, weights=None
        )
        assert path.losses[size - 1] == pytest.approx(expected, rel=1e-8)
