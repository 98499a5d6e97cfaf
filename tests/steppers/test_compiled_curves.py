"""Compiled losses of models of all sizes by folds against those of NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from compiled_steps import needs_compiled_steps
from greedyrls import greedy_path
from internals import (
    FoldCurve,
    ManyFoldData,
    chosen_of,
    make_plan,
    make_problem,
)
from tuning import tuned

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
    penalties = np.array([1e-3, 1.0, 100.0])
    own = penalties[[0, 1, 2, 2, 1, 0, 1]]
    curve = FoldCurve(data, chosen)
    losses, errors = curve.losses(penalties), curve.own_errors(own)
    with tuned(compiled_steps=False):
        assert_allclose(losses, curve.losses(penalties), rtol=1e-12)
        assert_allclose(errors, curve.own_errors(own), rtol=1e-11, atol=1e-13)


def test_a_fold_that_has_all_of_a_feature() -> None:
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((40, 4)), rng.standard_normal(40)
    X[:36, 1] = 0.0
    path = greedy_path(X, y, 4, cv=np.arange(40) // 4, alpha=1e-3, fit_intercept=False)
    whole = make_problem(X, y, fit_intercept=False)
    data = ManyFoldData(whole, make_plan(whole, cv=np.arange(40) // 4).folds)
    chosen, penalties = chosen_of(path), np.array([1e-14, 1.0])
    curve, own = FoldCurve(data, chosen), np.full(4, penalties[0])
    losses, errors = curve.losses(penalties), curve.own_errors(own)
    assert np.isinf(losses[0]).any()
    with tuned(compiled_steps=False):
        assert_allclose(losses, curve.losses(penalties), rtol=1e-9)
        assert_array_equal(np.isnan(errors), np.isnan(curve.own_errors(own)))
