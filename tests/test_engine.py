"""Inside the engine: bounds, recurrences, drift, batches, memory."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose

from greedyrls import _columns, _kernels, _state, greedy_path
from greedyrls._criterion import LeaveOneOut, lower_bounds, tie_tolerance
from greedyrls._problem import make_problem
from greedyrls._search import forward, replay
from greedyrls._state import SelectionState
from problems import Case, cases, two_classes


def state_after(case: Case, features: list[int]) -> SelectionState:
    problem = make_problem(case.X, case.y, **case.options)
    state = SelectionState(problem, len(features) + 1)
    for _ in replay(state, features, forced=False):
        pass
    return state


@settings(max_examples=200)
@given(case=cases())
def test_bounds_are_below_exact_losses(case: Case) -> None:
    path = greedy_path(case.X, case.y, case.n_features, search="exhaustive", **case.options)
    state = state_after(case, path.indices[:-1].tolist())
    candidates = state.candidates
    scores = state.score(candidates)
    margin = 1e-9 * state.loss_sum + tie_tolerance(state.loss_sum, state.target_energy)
    bounds = lower_bounds(state).values[candidates]
    assert (bounds <= scores.losses + margin).all()
    state.set_anchor([])
    tighter = lower_bounds(state).values[candidates]
    assert (tighter <= scores.losses + margin).all()
    trusted = np.isfinite(bounds)
    assert (tighter[trusted] >= bounds[trusted] - margin).all()


@settings(max_examples=200)
@given(case=cases())
def test_bounds_from_an_older_anchor_are_below_exact_losses(case: Case) -> None:
    path = greedy_path(case.X, case.y, case.n_features, search="exhaustive", **case.options)
    chosen = path.indices.tolist()
    state = state_after(case, chosen[:1])
    if len(state.candidates) == 0:
        return
    state.set_anchor([])
    for _ in replay(state, chosen[1:-1], forced=False):
        pass
    candidates = state.candidates
    scores = state.score(candidates)
    margin = 1e-9 * state.loss_sum + tie_tolerance(state.loss_sum, state.target_energy)
    assert (lower_bounds(state).values[candidates] <= scores.losses + margin).all()


@settings(max_examples=100)
@given(case=cases())
def test_recurrences_are_what_they_stand_for(case: Case) -> None:
    """δ, τ, ‖z‖², r·z and α of every candidate against their definitions."""
    path = greedy_path(case.X, case.y, case.n_features, search="exhaustive", **case.options)
    chosen = path.indices.tolist()
    state = state_after(case, chosen)
    weights = case.options.get("sample_weight", np.ones(len(case.X)))
    X, Y = case.X.astype(float), case.y.reshape(len(case.X), -1)
    if case.options["fit_intercept"]:
        X = X - np.average(X, axis=0, weights=weights)
        Y = Y - np.average(Y, axis=0, weights=weights)
    root = np.sqrt(weights)[:, None]
    X, Y = X * root, Y * root
    alpha = case.options["alpha"]
    S = X[:, chosen]
    A = S.T @ S + alpha * np.eye(len(chosen))
    Z = X - S @ np.linalg.solve(A, S.T @ X)
    r = Y - S @ np.linalg.solve(A, S.T @ Y)
    free = state.candidates
    scale = (X**2).sum(axis=0)[free] + alpha
    features = state.features
    tolerance = 1e-9 * np.linalg.cond(A) ** 0.5
    assert_allclose(
        features.delta[free] / scale, ((X * Z).sum(axis=0) + alpha)[free] / scale, atol=tolerance
    )
    assert_allclose(features.norms[free] / scale, (Z**2).sum(axis=0)[free] / scale, atol=tolerance)
    size = np.sqrt(scale) * np.sqrt((Y**2).sum(axis=0) + 1e-20)[:, None]
    assert_allclose(features.tau[:, free] / size, (Y.T @ Z)[:, free] / size, atol=tolerance)
    assert_allclose(features.inner[:, free] / size, (r.T @ Z)[:, free] / size, atol=tolerance)


def test_few_candidates_are_looked_at_and_few_passes_made() -> None:
    X, y = two_classes(20_000, 300, seed=1)
    path = greedy_path(X, y, 30)
    assert path.counters.passes <= 5
    assert path.counters.exact_evaluations <= 100  # of 8,565


def test_drift_over_500_steps() -> None:
    rng = np.random.default_rng(4)
    X = rng.standard_normal((700, 520)) @ np.diag(10.0 ** rng.uniform(-1, 1, 520))
    y = X @ rng.standard_normal(520) + rng.standard_normal(700)
    problem = make_problem(X, y, alpha=1e-3)
    state = SelectionState(problem, 500)
    for _ in forward(state, LeaveOneOut(), 500):
        pass
    assert state.largest_drift < _state.DRIFT_BOUND
    chosen = state.features.selected
    centred = X - X.mean(axis=0)
    A = centred[:, chosen].T @ centred[:, chosen] + 1e-3 * np.eye(500)
    residual = (y - y.mean()) - centred[:, chosen] @ np.linalg.solve(
        A, centred[:, chosen].T @ (y - y.mean())
    )
    assert state.statistics.r_r[0] == pytest.approx(residual @ residual, rel=1e-8)


def test_a_drifted_feature_space_is_rebuilt(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = two_classes(200, 40, seed=2)
    good = greedy_path(X, y, 12, search="bounded")
    problem = make_problem(X, y)
    state = SelectionState(problem, 12)
    steps = forward(state, LeaveOneOut("bounded"), 12)
    for _ in range(5):
        next(steps)
    state.features.delta[:] *= 1.0 + 1e-6  # as if errors had grown
    state.features.norms[:] *= 1.0 - 1e-6
    for _ in steps:
        pass
    assert state.rebuilds == 1
    assert state.features.selected == good.indices.tolist()
    monkeypatch.setattr(_state, "DRIFT_BOUND", -1.0)  # rebuild at every step
    path = greedy_path(X, y, 12, search="bounded")
    assert path.counters.rebuilds == 12
    assert path.indices.tolist() == good.indices.tolist()
    assert_allclose(path.losses, good.losses, rtol=1e-12)


def test_chosen_columns_beyond_the_budget_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = two_classes(150, 30, seed=3)
    path = greedy_path(X, y, 30)
    for name, value in (("ALWAYS_ALLOWED_BYTES", 0), ("CHOSEN_SHARE", 0.1)):
        monkeypatch.setattr(_columns, name, value)
    again = greedy_path(X, y, 30)
    assert path.indices.tolist() == again.indices.tolist()
    assert_allclose(path.losses, again.losses, rtol=1e-11)


@pytest.mark.parametrize("elements", [1, 64, 1000, 10**9])
@pytest.mark.parametrize("order", ["C", "F"])
def test_kernels_by_tiles(elements: int, order: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_kernels, "TILE_ELEMENTS", elements)
    monkeypatch.setattr(_kernels, "START_ELEMENTS", elements)
    rng = np.random.default_rng(0)
    X = np.asarray(rng.standard_normal((23, 17)), order=order).astype(np.float32, order=order)
    V, weights = rng.standard_normal((3, 23)), rng.random(23)
    assert_allclose(_kernels.product(V, X), V @ X.astype(float), rtol=1e-12)
    products, squares = _kernels.start_sums(V, X, weights)
    assert_allclose(products, V @ X.astype(float), rtol=1e-12)
    assert_allclose(squares, weights @ X.astype(float) ** 2, rtol=1e-12)
    X[20, 3] = np.nan
    assert _kernels.first_non_finite(X) == (20, 3)


@pytest.mark.parametrize(
    ("dtype", "order"),
    [("float64", "C"), ("float64", "F"), ("float32", "C"), ("float32", "F"), ("int16", "C")],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_memory_beyond_x_stays_small(dtype: str, order: Any, weighted: bool) -> None:
    X, y = two_classes(20_000, 400, seed=6)
    X = np.asarray(10 * X, dtype=dtype, order=order)
    weights = np.random.default_rng(0).random(len(y)) if weighted else None
    tracemalloc.start()
    greedy_path(X, y, 20, sample_weight=weights)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # 20 chosen columns, recent ones, a few m-vectors, tiles: in float64 whatever X is.
    assert peak < 0.35 * 8 * X.size
