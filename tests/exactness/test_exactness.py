"""The fast path against its slow twins: exhaustive search, Algorithm 3, the wrapper, refits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge
from sklearn.model_selection import LeaveOneOut

from greedyrls import SelectionPath, greedy_path, reference
from problems import Case, cases, named_problems
from sweeps import EXAMPLES
from tuning import Tune

# Losses of two exact algorithms differ by rounding; where two candidates are closer than this,
# either is a right answer (a real tie, within 1e-10, must go to the lowest index).
SAME = 1e-9


def tolerance(case: Case, indices: np.ndarray) -> float:
    """1e-9, and more where a leverage near 1 takes digits from r/(1 − h) in any algorithm."""
    weights = case.options.get("sample_weight", np.ones(len(case.X)))
    columns = case.X[:, indices].astype(float)
    leverages = np.zeros(len(case.X))
    if case.options.get("fit_intercept", True):
        columns = columns - np.average(columns, axis=0, weights=weights)
        leverages += weights / weights.sum()
    columns = columns * np.sqrt(weights)[:, None]
    A = columns.T @ columns + case.options["alpha"] * np.eye(len(indices))
    leverages += np.einsum("ij,ji->i", columns, np.linalg.solve(A, columns.T))
    return SAME + 1e-14 / max(1e-10, 1.0 - float(leverages.max()))


def assert_same_selection(path: SelectionPath, other: Any, rel: float, scale: float) -> None:
    """Equal step by step, up to the first near-tie that the two resolve differently."""
    for step, index, loss in zip(path.steps, other.indices, other.losses, strict=True):
        assert step.loss == pytest.approx(loss, rel=rel, abs=1e-12 * scale)
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
    # Algorithm 3 does not centre: columns far from the origin would cost it digits.
    shift = case.X.mean(axis=0) if case.options["fit_intercept"] else 0.0
    third = reference.greedy_rls(case.X - shift, case.y, case.n_features, **case.options)
    literal = reference.wrapper(case.X, case.y, case.n_features, **case.options)
    scale = max(bounded.initial_loss, float(np.mean(case.y**2)))
    assert bounded.indices.tolist() == exhaustive.indices.tolist()
    rel = max(tolerance(case, chosen) for chosen in (bounded.indices, third.indices))
    assert_allclose(bounded.losses, exhaustive.losses, rtol=0.1 * rel, atol=1e-13 * scale)
    assert_same_selection(bounded, third, rel, scale)
    assert_same_selection(bounded, literal, rel, scale)


@pytest.mark.heavy
@settings(max_examples=max(1, EXAMPLES // 5))
@given(case=cases(max_samples=120, max_features=200))
def test_pruned_is_exhaustive_where_pruning_matters(case: Case) -> None:
    """Larger problems: here bounds are tightened by passes, batches miss, columns are evicted."""
    assert_pruned_is_exhaustive(case)


def assert_pruned_is_exhaustive(case: Case) -> None:
    k = min(3 * case.n_features, case.X.shape[1], len(case.X) // 3 + 1)
    bounded = greedy_path(case.X, case.y, k, search="bounded", n_runners_up=1, **case.options)
    exhaustive = greedy_path(
        case.X, case.y, k, search="exhaustive", n_runners_up=1, block_rows=50, **case.options
    )
    scale = max(bounded.initial_loss, float(np.mean(case.y**2)))
    assert bounded.indices.tolist() == exhaustive.indices.tolist()
    rel = tolerance(case, bounded.indices)
    assert_allclose(bounded.losses, exhaustive.losses, rtol=0.1 * rel, atol=1e-13 * scale)


@pytest.fixture
def spread_of_few_rows(tune: Tune) -> None:
    """Bounds that are worth their while for many rows only, used for few."""
    tune(spread_rows=0)


@pytest.mark.heavy
@pytest.mark.usefixtures("spread_of_few_rows")
@settings(
    max_examples=max(1, EXAMPLES // 5),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(case=cases(max_samples=120, max_features=200))
def test_pruned_by_the_spread_of_residuals_is_exhaustive(case: Case) -> None:
    assert_pruned_is_exhaustive(case)


@pytest.mark.heavy
@settings(max_examples=max(1, EXAMPLES // 10))
@given(case=cases())
def test_losses_are_those_of_literal_refits(case: Case) -> None:
    path = greedy_path(case.X, case.y, case.n_features, **case.options)
    scale = max(path.initial_loss, float(np.mean(case.y**2)))
    expected = literal_losses(case, path.indices)
    rel = tolerance(case, path.indices)
    assert_allclose(path.losses, expected, rtol=rel, atol=1e-12 * scale)


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
            magnitude = np.abs(model.coef_).max() + 1e-12 * size / (1e-12 + np.abs(columns).max())
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
    assert_same_selection(bounded, third, SAME, float(np.mean(y**2)))


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [1e-2, 1.0, 100.0])
def test_more_features_than_samples(alpha: float) -> None:
    X, y = named_problems()["wide"]
    path = greedy_path(X, y, 60, alpha=alpha, search="bounded")
    third = reference.greedy_rls(X, y, 60, alpha=alpha, fit_intercept=True)
    assert_same_selection(path, third, SAME, float(np.mean(y**2)))
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
