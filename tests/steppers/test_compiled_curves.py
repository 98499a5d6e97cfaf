"""Compiled losses of models of all sizes against those of NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from compiled_steps import needs_compiled_steps
from greedyrls import greedy_path
from internals import (
    FoldCurve,
    LooCurve,
    LooData,
    ManyFoldData,
    chosen_of,
    fold_curve,
    loo_curve,
    make_loss,
    make_plan,
    make_problem,
)

pytestmark = needs_compiled_steps


@pytest.mark.parametrize(("intercept", "weighted"), [(True, False), (False, True), (True, True)])
def test_models_of_all_sizes_are_those_of_numpy(intercept: bool, weighted: bool) -> None:
    rng = np.random.default_rng(2)
    m = 150
    X, y = rng.standard_normal((m, 9)), rng.standard_normal((m, 2))
    y[:, 0] += X[:, 2] - X[:, 5]
    weights = rng.choice([0.0, 0.5, 2.0], m) if weighted else None
    if weights is not None:
        weights[::10] = 1.0
    whole = make_problem(X, y, sample_weight=weights, fit_intercept=intercept)
    plan = make_plan(whole, cv=np.arange(m) // 10)
    data = ManyFoldData(whole, plan.folds)
    path = greedy_path(
        X, y, 7, sample_weight=weights, fit_intercept=intercept, cv=np.arange(m) // 10
    )
    chosen = chosen_of(path)
    ours, theirs = fold_curve(data, chosen), FoldCurve(data, chosen)
    assert type(ours) is not type(theirs)
    penalties = np.array([1e-3, 1.0, 100.0])
    assert_allclose(ours.losses(penalties), theirs.losses(penalties), rtol=1e-12)
    own = penalties[[0, 1, 2, 2, 1, 0, 1]]
    assert_allclose(ours.own_errors(own), theirs.own_errors(own), rtol=1e-11, atol=1e-13)


def test_a_fold_that_has_all_of_a_feature() -> None:
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((40, 4)), rng.standard_normal(40)
    X[:36, 1] = 0.0
    path = greedy_path(X, y, 4, cv=np.arange(40) // 4, alpha=1e-3, fit_intercept=False)
    whole = make_problem(X, y, fit_intercept=False)
    data = ManyFoldData(whole, make_plan(whole, cv=np.arange(40) // 4).folds)
    chosen, penalties = chosen_of(path), np.array([1e-14, 1.0])
    ours, theirs = fold_curve(data, chosen), FoldCurve(data, chosen)
    assert_allclose(ours.losses(penalties), theirs.losses(penalties), rtol=1e-9)
    assert np.isinf(ours.losses(penalties)[0]).any()
    own = np.full(4, penalties[0])
    assert_array_equal(np.isnan(ours.own_errors(own)), np.isnan(theirs.own_errors(own)))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("options", [{}, {"direction": "floating"}, {"block_rows": 64}])
@pytest.mark.parametrize(("m", "t"), [(70, 1), (700, 3)])
def test_leave_one_out_is_that_of_numpy(
    m: int, t: int, options: dict[str, Any], weighted: bool
) -> None:
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((m, 12)), rng.standard_normal((m, t))
    X[:, 4] = X[:, 1] + 0.3 * rng.standard_normal(m)
    y[:, 0] += X[:, 4] + X[:, 2] - X[:, 5]
    weights = rng.choice([0.0, 0.5, 2.0], m) if weighted else None
    path = greedy_path(X, y, 9, sample_weight=weights, **options)
    whole = make_problem(X, y, sample_weight=weights)
    data = LooData(whole, options.get("block_rows"))
    chosen, loss = chosen_of(path), make_loss("squared")
    ours = loo_curve(data, chosen, loss)
    theirs = LooCurve(data.samples, whole, chosen, loss)
    assert type(ours) is not type(theirs)
    penalties = np.array([1e-6, 1.0, 100.0])
    assert_allclose(ours.losses(penalties), theirs.losses(penalties), rtol=1e-12)


def test_a_sample_that_a_model_fits_exactly_has_no_loss() -> None:
    X = np.zeros((8, 2))
    X[0, 0], X[:, 1] = 1e9, np.arange(8.0)
    y = np.arange(8.0) ** 2
    path = greedy_path(X, y, 2, alpha=1e18, fit_intercept=False, forced_features=[1, 0])
    whole = make_problem(X, y, fit_intercept=False)
    data, loss = LooData(whole), make_loss("squared")
    chosen, penalties = chosen_of(path), np.array([1e-3, 1e18])
    ours = loo_curve(data, chosen, loss).losses(penalties)
    theirs = LooCurve(data.samples, whole, chosen, loss).losses(penalties)
    assert_array_equal(np.isinf(ours), np.isinf(theirs))
    assert np.isinf(ours).any()
