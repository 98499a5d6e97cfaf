"""The fast path against its slow twins: exhaustive search, Algorithm 3, the wrapper, refits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge
from sklearn.model_selection import LeaveOneOut

from conftest import EXAMPLES
from greedyrls import SelectionPath, greedy_path, reference
from problems import Case, cases, named_problems

# Losses of two exact algorithms differ by rounding; where two candidates are closer than this,
# either is a right answer (a real tie, within 1e-10, must go to the lowest index).
SAME = 1e-9


def assert_same_selection(path: SelectionPath, indices: Any, losses: Any, scale: float) -> None:
    """Equal step by step, up to the first near-tie that the two resolve differently."""
    for step, index, loss in zip(path.steps, indices, losses, strict=True):
        assert step.loss == pytest.approx(loss, rel=SAME, abs=1e-12 * scale)
        if step.index != index:
            return  # the same loss, another feature: from here on the sets differ


def literal_losses(case: Case, indices: np.ndarray) -> list[float]:
    """Leave-one-out losses by refitting scikit-learn's Ridge without each sample."""
    X, y = case.X, case.y
    weights = case.options.get("sample_weight", np.ones(len(X)))
    losses = []
    for k in range(1, len(indices) + 1):
        columns = X[:, indices[:k]]
        errors = np.zeros(len(X))
        for train, test in LeaveOneOut().split(columns):
            if weights[test] == 0:
                continue
            model = Ridge(alpha=case.options["alpha"], fit_intercept=case.options["fit_intercept"])
            model.fit(columns[train], y[train], weights[train])
            errors[test] = np.mean((model.predict(columns[test]) - y[test]) ** 2)
        losses.append(float(weights @ errors / weights.sum()))
    return losses


@pytest.mark.heavy
@settings(max_examples=EXAMPLES)
@given(case=cases())
def test_pruned_exhaustive_algorithm_3_and_wrapper_agree(case: Case) -> None:
    bounded = greedy_path(case.X, case.y, case.n_features, search="bounded", **case.options)
    exhaustive = greedy_path(case.X, case.y, case.n_features, search="exhaustive", **case.options)
    third = reference.greedy_rls(case.X, case.y, case.n_features, **case.options)
    literal = reference.wrapper(case.X, case.y, case.n_features, **case.options)
    scale = max(bounded.initial_loss, float(np.mean(case.y**2)))
    assert bounded.indices.tolist() == exhaustive.indices.tolist()
    assert_allclose(bounded.losses, exhaustive.losses, rtol=1e-10, atol=1e-13 * scale)
    assert_same_selection(bounded, third.indices, third.losses, scale)
    assert_same_selection(bounded, literal.indices, literal.losses, scale)


@pytest.mark.heavy
@settings(max_examples=max(1, EXAMPLES // 10))
@given(case=cases())
def test_losses_are_those_of_literal_refits(case: Case) -> None:
    path = greedy_path(case.X, case.y, case.n_features, **case.options)
    scale = max(path.initial_loss, float(np.mean(case.y**2)))
    assert_allclose(path.losses, literal_losses(case, path.indices), rtol=1e-9, atol=1e-12 * scale)


@settings(max_examples=max(1, min(100, EXAMPLES // 10)))
@given(case=cases())
def test_coefficients_are_those_of_ridge_at_every_size(case: Case) -> None:
    path = greedy_path(case.X, case.y, case.n_features, **case.options)
    for k in range(1, len(path) + 1):
        model = Ridge(alpha=case.options["alpha"], fit_intercept=case.options["fit_intercept"])
        columns = case.X[:, path.indices[:k]]
        model.fit(columns, case.y, case.options.get("sample_weight"))
        expected = model.predict(columns).reshape(case.y.shape)
        size = 1.0 + np.abs(case.y).max()
        assert_allclose(path.predict(case.X, k), expected, rtol=1e-9, atol=1e-9 * size)
        # Where columns are (nearly) equal and the penalty small, only predictions are determined.
        A = columns.T @ columns + case.options["alpha"] * np.eye(k)
        if np.linalg.cond(A) < 1e6:
            magnitude = np.abs(model.coef_).max()
            coef = path.coef(k).reshape(model.coef_.shape)
            assert_allclose(coef, model.coef_, rtol=1e-9, atol=1e-9 * magnitude)
            assert_allclose(
                path.intercept(k), model.intercept_, rtol=1e-9, atol=1e-9 * (size + magnitude)
            )


@pytest.mark.parametrize("alpha", [1e-6, 1e-3, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("name", named_problems())
def test_named_problems(name: str, alpha: float) -> None:
    X, y = named_problems()[name]
    bounded = greedy_path(X, y, 10, alpha=alpha, search="bounded")
    exhaustive = greedy_path(X, y, 10, alpha=alpha, search="exhaustive")
    third = reference.greedy_rls(X - X.mean(axis=0), y, 10, alpha=alpha, fit_intercept=True)
    assert bounded.indices.tolist() == exhaustive.indices.tolist()
    assert_allclose(bounded.losses, exhaustive.losses, rtol=1e-10)
    assert_same_selection(bounded, third.indices, third.losses, float(np.mean(y**2)))


@pytest.mark.parametrize("alpha", [1e-2, 1.0, 100.0])
def test_more_features_than_samples(alpha: float) -> None:
    X, y = named_problems()["wide"]
    path = greedy_path(X, y, 60, alpha=alpha, search="bounded")
    third = reference.greedy_rls(X, y, 60, alpha=alpha, fit_intercept=True)
    assert_same_selection(path, third.indices, third.losses, float(np.mean(y**2)))
    literal = literal_losses(
        Case(X, y, 60, {"alpha": alpha, "fit_intercept": True}), path.indices[:45]
    )
    assert_allclose(path.losses[:45], literal, rtol=1e-8)


def test_the_paper_setting_has_no_intercept() -> None:
    X, y = named_problems()["tall"]
    path = greedy_path(X, y, 8, fit_intercept=False)
    second = reference.low_rank_ls_svm(X, y, 8)
    assert path.indices.tolist() == second.indices.tolist()
    assert_allclose(path.losses, second.losses, rtol=1e-10)
    assert path.intercept() == 0.0
    assert_allclose(path.coef(), second.coef, rtol=1e-10)
