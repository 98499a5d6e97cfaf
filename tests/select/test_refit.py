"""Penalties of the models on chosen features, and the grids that penalties are chosen from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import Ridge

from greedyrls import (
    GreedyRLSRegressor,
    SelectionPath,
    extend_path,
    greedy_path,
)
from internals import auto_grid, penalty_scale, refit_grid
from literal import best_penalty
from penalties import ALPHAS, assert_best_penalties, diagonal, labels, numbers
from problems import Case, fold_cases
from sweeps import EXAMPLES

# Penalties of the models -------------------------------------------------------------------------


@pytest.mark.heavy
@settings(max_examples=max(6, min(60, EXAMPLES // 40)))
@given(case=fold_cases(folds=["loo", "shuffled", "groups"], kinds=["normal", "scaled", "far"]))
def test_refit_penalties_are_the_best_by_leave_one_out(case: Case) -> None:
    path = greedy_path(case.X, case.y, case.n_features, refit_alpha="loo", **case.options)
    intercept = case.options["fit_intercept"]
    weights = case.options.get("sample_weight", np.ones(len(case.X)))
    assert path.settings.refit_alpha == "loo"
    assert_best_penalties(path, case, "loo")
    assert path.refit_alphas is not None
    for k in range(1, len(path) + 1):
        assert_ridge_model(path, case.X, case.y, k, path.refit_alphas[k - 1], intercept, weights)


def assert_ridge_model(
    path: SelectionPath, X: Any, y: Any, k: int, alpha: float, intercept: bool, weights: Any
) -> None:
    columns = X[:, path.indices[:k]].astype(float)
    ridge = Ridge(alpha=alpha, fit_intercept=intercept, solver="svd").fit(columns, y, weights)
    expected = ridge.predict(columns).reshape(y.shape)
    size = np.abs(y).max()
    assert_allclose(path.predict(X, k), expected, rtol=1e-7, atol=1e-7 * size)
    magnitude = np.abs(ridge.coef_).max()
    assert_allclose(
        path.coef(k).reshape(ridge.coef_.shape), ridge.coef_, rtol=1e-6, atol=1e-6 * magnitude
    )


@pytest.mark.parametrize("loss", ["squared", "absolute", "zero_one"])
@pytest.mark.parametrize("cv", ["loo", 4])
def test_refit_penalties_by_other_losses(loss: str, cv: Any) -> None:
    X, y = labels(22, 5) if loss == "zero_one" else numbers(22, 5)
    path = greedy_path(X, y, 3, cv=cv, loss=loss, refit_alpha="loo", alpha=0.5)
    grid = refit_grid(penalty_scale(diagonal(X, np.ones(22), True)), is_fine=True)
    for k in (1, 2, 3):
        expected = best_penalty(
            *(X, y[:, None], path.indices[:k].tolist(), grid),
            loss=loss,
            fit_intercept=True,
            weights=None,
        )
        assert path.refit_alphas[k - 1] == pytest.approx(expected, rel=1e-9)
        assert_ridge_model(path, X, y, k, path.refit_alphas[k - 1], True, None)


def test_a_number_for_the_models() -> None:
    X, y = numbers()
    path = greedy_path(X, y, 4, alpha=1.0, refit_alpha=25)
    assert path.indices.tolist() == greedy_path(X, y, 4, alpha=1.0).indices.tolist()
    assert path.refit_alphas == (25.0,) * 4
    assert path.settings.refit_alpha == 25.0
    for k in range(1, 5):
        assert_ridge_model(path, X, y, k, 25.0, True, None)
    assert path.truncated(2).refit_alphas == (25.0,) * 2
    assert_allclose(path.truncated(2).coef(), path.coef(2))


@pytest.mark.parametrize(
    ("options", "refit"),
    [
        ({"alpha": 1.0}, "same"),
        ({"alpha": "auto"}, "loo"),
        ({"alpha": "auto", "alpha_rule": "joint"}, "loo"),
        ({"alpha": "auto", "alpha_rule": "all_features"}, "loo"),
        ({"alpha": ALPHAS}, "loo"),
        ({"alpha": ALPHAS, "alpha_rule": "joint"}, "same"),
        ({"alpha": ALPHAS, "alpha_rule": "all_features"}, "same"),
        ({"alpha": ALPHAS, "refit_alpha": "same"}, "same"),
        ({"alpha": 1.0, "refit_alpha": "loo"}, "loo"),
    ],
)
def test_what_models_get_where_nothing_is_said(options: dict[str, Any], refit: str) -> None:
    X, y = numbers()
    path = greedy_path(X, y, 3, **options)
    assert path.settings.refit_alpha == refit
    assert (path.refit_alphas is None) == (refit == "same")
    assert ("The model on the chosen features has the penalty" in path.sentence) == (refit == "loo")


@pytest.mark.parametrize("options", [{}, {"cv": 4}, {"loss": "absolute"}])
def test_a_path_with_chosen_penalties_is_extended(options: dict[str, Any]) -> None:
    X, y = numbers(50, 10)
    full = greedy_path(X, y, 8, alpha="auto", **options)
    longer = extend_path(full.truncated(3), X, y, 8, **options)
    assert longer.settings == full.settings
    assert_array_equal(longer.indices, full.indices)
    assert longer.refit_alphas == full.refit_alphas
    assert longer.surface == full.surface
    assert_allclose(longer.coef(5), full.coef(5), rtol=1e-9)


def test_estimators_use_the_penalty_of_the_size() -> None:
    X, y = numbers(60, 10)
    model = GreedyRLSRegressor().fit(X, y)
    path = model.path_
    k = model.n_features_
    assert model.alpha_ == path.settings.alpha
    columns = X[:, path.indices[:k]]
    ridge = Ridge(alpha=path.refit_alphas[k - 1]).fit(columns, y)
    assert_allclose(model.predict(X), ridge.predict(columns), rtol=1e-8)
    for size in (1, len(path)):
        columns = X[:, path.indices[:size]]
        ridge = Ridge(alpha=path.refit_alphas[size - 1]).fit(columns, y)
        assert_allclose(model.with_n_features(size).predict(X), ridge.predict(columns), rtol=1e-8)


# Grids -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cv", ["loo", 4])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_automatic_grid_is_in_the_scale_of_the_data(cv: Any, fit_intercept: bool) -> None:
    X, y = numbers(50, 10, seed=7)
    X[:, 4] = 0.0
    weights = np.random.default_rng(0).choice([0.0, 1.0, 3.0], 50)
    options: dict[str, Any] = {"cv": cv, "fit_intercept": fit_intercept, "sample_weight": weights}
    path = greedy_path(X, y, 4, alpha="auto", **options)
    squares = diagonal(X, weights, fit_intercept)
    expected = np.median(squares[squares > 1e-9]) * 10.0 ** np.arange(-4.0, 3.0)
    assert_allclose(path.surface.alphas, expected, rtol=1e-8)  # nine digits
    assert_array_equal(path.surface.alphas, auto_grid(penalty_scale(squares)))
    larger = greedy_path(10.0 * X, y, 4, alpha="auto", **options)
    assert_allclose(larger.surface.alphas, 100.0 * path.surface.alphas, rtol=1e-9)
    upside_down = greedy_path(
        X[::-1], y[::-1], 4, alpha="auto", **options | {"sample_weight": weights[::-1]}
    )
    assert_array_equal(upside_down.surface.alphas, path.surface.alphas)
    assert_array_equal(larger.indices, path.indices)
    assert_allclose(larger.surface.losses, path.surface.losses, rtol=1e-8)
    assert_allclose(larger.refit_alphas, 100.0 * np.array(path.refit_alphas), rtol=1e-9)
    assert_allclose(larger.predict(10.0 * X), path.predict(X), rtol=1e-7, atol=1e-9)


def test_columns_far_from_the_origin_do_not_blow_up_the_grid() -> None:
    X, y = numbers(50, 10, seed=7)
    for cv in ("loo", 5):
        near = greedy_path(X, y, 2, alpha="auto", cv=cv).surface.alphas
        far = greedy_path(X + 1e6, y, 2, alpha="auto", cv=cv).surface.alphas
        assert_allclose(far, near, rtol=1e-6)


@pytest.mark.parametrize("cv", ["loo", 5])
def test_excluded_columns_are_no_part_of_the_grid(cv: Any) -> None:
    X, y = numbers(50, 10, seed=7)
    X[:, 3] *= 1e6  # such as a time stamp
    path = greedy_path(X, y, 2, alpha="auto", cv=cv, excluded_features=[3])
    without = greedy_path(np.delete(X, 3, axis=1), y, 2, alpha="auto", cv=cv)
    assert_allclose(path.surface.alphas, without.surface.alphas, rtol=1e-9)
    assert_allclose(path.surface.losses, without.surface.losses, rtol=1e-9)
    assert_allclose(path.refit_alphas, without.refit_alphas, rtol=1e-9)


def test_constant_data_have_a_grid_too() -> None:
    _, y = numbers()
    for cv in ("loo", 3):
        path = greedy_path(np.ones((36, 3)), y, 1, alpha="auto", cv=cv)
        assert_allclose(path.surface.alphas, 10.0 ** np.arange(-4.0, 3.0))
        assert path.coef().tolist() == pytest.approx([0.0], abs=1e-9)


@pytest.mark.parametrize(
    "grid", [ALPHAS, tuple(ALPHAS), np.array(ALPHAS), [100, 1, 0.01], [1.0, 0.01, 100.0, 1.0]]
)
def test_grids_are_sorted_without_repetitions(grid: Any) -> None:
    X, y = numbers()
    path = greedy_path(X, y, 2, alpha=grid)
    assert path.surface.alphas.tolist() == ALPHAS
    assert path.surface == greedy_path(X, y, 2, alpha=ALPHAS).surface


def test_a_grid_of_one() -> None:
    X, y = numbers()
    path = greedy_path(X, y, 3, alpha=[2.0], refit_alpha="same")
    assert path.surface.losses.shape == (1, 3)
    assert path.settings.alpha == 2.0
    assert_allclose(path.losses, greedy_path(X, y, 3, alpha=2.0).losses, rtol=1e-12)


def test_constant_columns_have_no_scale_whatever_the_weights() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([np.full(17, 2.0), rng.standard_normal(17)])
    y = X[:, 1] + rng.standard_normal(17)
    for _ in range(50):
        weights = rng.uniform(0.3, 3.0, 17)
        path = greedy_path(
            *(X, y, 1), excluded_features=[1], sample_weight=weights, refit_alpha="loo"
        )
        assert path.refit_alphas == (10.0,)  # the largest of the grid in the scale of 1
        assert path.coef(1).tolist() == [0.0]
