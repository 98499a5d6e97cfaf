"""Inside the engine: bounds, recurrences, drift, batches, memory."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose

from bounds import assert_bounds_hold, replay, sharp_bounds, state_after
from greedyrls import greedy_path
from internals import (
    DRIFT_BOUND,
    DenseMatrix,
    LeaveOneOut,
    LooData,
    RowBlock,
    SelectionState,
    bound_slack,
    candidate_residuals,
    forward,
    kernels,
    leverage_growth,
    make_problem,
    tie_tolerances,
)
from problems import Case, cases, two_classes
from tuning import Tune


@settings(max_examples=200)
@given(case=cases())
def test_bounds_are_below_exact_losses(case: Case) -> None:
    assert_bounds_hold(case)


@settings(max_examples=200)
@given(case=cases())
def test_bounds_from_an_older_anchor_are_below_exact_losses(case: Case) -> None:
    path = greedy_path(case.X, case.y, case.n_features, search="exhaustive", **case.options)
    chosen = path.indices.tolist()
    state = state_after(case, chosen[:1])
    if len(state.candidates) == 0:
        return
    state.set_anchor([])
    for _ in replay(state, chosen[1:-1]):
        pass
    candidates = state.candidates
    scores = state.score(candidates)
    margin = 1e-9 * state.loss_sum + 1e-13 * state.target_energy.sum()
    assert (sharp_bounds(state) <= scores.losses.sum(axis=0) + margin).all()


@pytest.mark.parametrize("alpha", [0.1, 30.0, 1000.0])
def test_a_moved_anchor_loses_its_parts_along_added_features(alpha: float) -> None:
    """Its sums over rows, a·z of all candidates, and bounds that are below the exact losses."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal((60, 25)) + rng.standard_normal((60, 1))
    Y = X[:, :6] @ rng.standard_normal((6, 2)) + rng.standard_normal((60, 2))
    case = Case(X, Y, 9, {"alpha": alpha})
    chosen = greedy_path(X, Y, 9, alpha=alpha).indices.tolist()
    state = state_after(case, chosen[:3])
    state.set_anchor([])
    centred, targets = X - X.mean(axis=0), Y - Y.mean(axis=0)

    def model(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """z of all features, r, and g = r/(1 − h)² after some were chosen."""
        S = centred[:, chosen[:count]]
        H = S @ np.linalg.solve(S.T @ S + alpha * np.eye(count), S.T)
        r = targets - H @ targets
        return centred - H @ centred, r, r / np.square(1.0 - 1.0 / 60 - np.diag(H))[:, None]

    anchor = model(3)[2]
    for count in range(3, 9):
        Z, r, g = model(count)
        known = state.statistics
        assert_allclose(known.a_r, (anchor * r).sum(axis=0), rtol=1e-9)
        assert_allclose(known.a_g, (anchor * g).sum(axis=0), rtol=1e-9)
        assert_allclose(known.a_a, (anchor * anchor).sum(axis=0), rtol=1e-9)
        assert state.features.anchored is not None
        free = state.candidates
        size = np.linalg.norm(anchor, axis=0)[:, None] * np.linalg.norm(Z[:, free], axis=0)
        on_anchor = state.features.anchored[:, free]
        assert_allclose(on_anchor / size, anchor.T @ Z[:, free] / size, atol=1e-9)
        losses = state.score(free).losses.sum(axis=0)
        assert (sharp_bounds(state) <= losses * (1.0 + 1e-12)).all()
        z = Z[:, chosen[count]]
        anchor = anchor - np.outer(z, z @ anchor) / (z @ z)
        state.add(chosen[count], state.measure(chosen[count]), lambda count: [], 1)


def test_growth_and_slack_of_bounds_by_their_definitions() -> None:
    """With the spread of z known, as after scores; in units of X in which no factor is 1."""
    rng = np.random.default_rng(5)
    X = 7.0 * rng.standard_normal((40, 12))
    Y = X[:, :4] @ rng.standard_normal((4, 2)) + 9.0 * rng.standard_normal((40, 2))
    alpha, chosen, free = 300.0, [2, 9, 4], [0, 1, 3, 5, 6, 7, 8, 10, 11]
    state = state_after(Case(X, Y, 4, {"alpha": alpha}), chosen)
    state.score(np.array(free))
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    S = X[:, chosen]
    beta = np.linalg.solve(S.T @ S + alpha * np.eye(3), S.T)
    r, Z, d = Y - S @ (beta @ Y), X - S @ (beta @ X), 1.0 - 1.0 / 40 - np.sum(S * beta.T, axis=1)
    delta = (X * Z).sum(axis=0) + alpha
    rho = np.abs(Y.T @ Z / delta)
    mixed = np.sqrt(np.square(r).T @ np.square(Z))
    spread = np.maximum(mixed - rho * np.sqrt((Z**4).sum(axis=0)), 0.0)
    growth = 2.0 * np.square(spread).sum(axis=0) / (delta * d.max() ** 3)
    assert growth[free].min() > 0.0
    assert_allclose(leverage_growth(state, np.array(free)), growth[free], rtol=1e-9)
    g = r / np.square(d)[:, None]
    away = g - r * ((g * r).sum(axis=0) / (r * r).sum(axis=0))
    slack = 2.0 * np.linalg.norm(away, axis=0) @ (rho * np.linalg.norm(Z, axis=0))
    assert_allclose(bound_slack(state, np.array(free)), slack[free], rtol=1e-6)


@settings(max_examples=100)
@given(case=cases())
def test_recurrences_are_what_they_stand_for(case: Case) -> None:
    """δ, τ, ‖z‖², r·z and α of every candidate against their definitions."""
    path = greedy_path(case.X, case.y, case.n_features, search="exhaustive", **case.options)
    chosen = path.indices.tolist()
    state = state_after(case, chosen)
    weights = case.options.get("sample_weight", np.ones(len(case.X)))
    X, Y = case.X.astype(float), case.y.reshape(len(case.X), -1)
    rounding = 1e-12 * (Y.astype(float) ** 2).sum(axis=0)  # a target may not vary at all
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
    size = np.sqrt(scale) * np.sqrt((Y**2).sum(axis=0) + rounding + 1e-20)[:, None]
    assert_allclose(features.tau[:, free] / size, (Y.T @ Z)[:, free] / size, atol=tolerance)
    assert_allclose(features.inner[:, free] / size, (r.T @ Z)[:, free] / size, atol=tolerance)


@pytest.mark.usefixtures("numpy_steps")
def test_few_candidates_are_looked_at_and_few_passes_made() -> None:
    X, y = two_classes(20_000, 300, seed=1)
    path = greedy_path(X, y, 30)
    assert path.counters.passes <= 5
    assert path.counters.exact_evaluations <= 100  # of 8,565


def test_drift_over_500_steps() -> None:
    rng = np.random.default_rng(4)
    X = rng.standard_normal((700, 520)) @ np.diag(10.0 ** rng.uniform(-1, 1, 520))
    y = X @ rng.standard_normal(520) + rng.standard_normal(700)
    state = SelectionState(LooData(make_problem(X, y)), 1e-3, 500)
    for _ in forward(state, LeaveOneOut(), 500):
        pass
    assert state.largest_drift < DRIFT_BOUND
    chosen = state.features.selected
    centred = X - X.mean(axis=0)
    A = centred[:, chosen].T @ centred[:, chosen] + 1e-3 * np.eye(500)
    residual = (y - y.mean()) - centred[:, chosen] @ np.linalg.solve(
        A, centred[:, chosen].T @ (y - y.mean())
    )
    assert state.statistics.r_r[0] == pytest.approx(residual @ residual, rel=1e-8)


def test_a_drifted_feature_space_is_rebuilt(tune: Tune) -> None:
    X, y = two_classes(200, 40, seed=2)
    good = greedy_path(X, y, 12, search="bounded")
    state = SelectionState(LooData(make_problem(X, y)), 1.0, 12)
    steps = forward(state, LeaveOneOut("bounded"), 12)
    for _ in range(5):
        next(steps)
    state.features.delta[:] *= 1.0 + 1e-6  # as if errors had grown
    state.features.norms[:] *= 1.0 - 1e-6
    for _ in steps:
        pass
    assert state.rebuilds == 1
    assert state.features.selected == good.indices.tolist()
    tune(rebuild_every_step=True)
    path = greedy_path(X, y, 12, search="bounded")
    assert path.counters.rebuilds == 12
    assert path.indices.tolist() == good.indices.tolist()
    assert_allclose(path.losses, good.losses, rtol=1e-12)


def test_chosen_columns_beyond_the_budget_are_read_again(tune: Tune) -> None:
    X, y = two_classes(150, 30, seed=3)
    path = greedy_path(X, y, 30)
    tune(spare_bytes=0, chosen_share=0.1)
    again = greedy_path(X, y, 30)
    assert path.indices.tolist() == again.indices.tolist()
    assert_allclose(path.losses, again.losses, rtol=1e-11)


@pytest.mark.parametrize("elements", [1, 64, 1000, 10**9])
@pytest.mark.parametrize("order", ["C", "F"])
def test_kernels_by_tiles(elements: int, order: Any, tune: Tune) -> None:
    tune(tile_elements=elements, start_tile_elements=elements)
    rng = np.random.default_rng(0)
    X = np.asarray(rng.standard_normal((23, 17)), order=order).astype(np.float32, order=order)
    V, weights = rng.standard_normal((3, 23)), rng.random(23)
    assert_allclose(kernels.product(V, X), V @ X.astype(float), rtol=1e-12)
    products, squares = kernels.start_sums(V, X, weights)
    assert_allclose(products, V @ X.astype(float), rtol=1e-12)
    assert_allclose(squares, weights @ X.astype(float) ** 2, rtol=1e-12)
    X[20, 3] = np.nan
    assert kernels.first_non_finite(X) == (20, 3)


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


@pytest.mark.parametrize(
    ("name", "fit_intercept", "alpha"),
    [("powers", False, 1e-9), ("powers", True, 1e-12), ("far out", False, 1.0)],
)
def test_nearly_dependent_features_keep_their_digits(
    name: str, fit_intercept: bool, alpha: float
) -> None:
    rng = np.random.default_rng(0)
    if name == "powers":
        x = rng.uniform(0, 1, 200)
        X = np.column_stack([x**power for power in range(1, 21)])
        y = np.sin(6 * x) + 0.1 * rng.standard_normal(200)
    else:  # without an intercept, columns far from the origin are nearly parallel
        X = rng.standard_normal((300, 100)) + 1e6 * rng.standard_normal(100)
        y = (X - X.mean(axis=0))[:, :6].sum(axis=1) + rng.standard_normal(300)
    path = greedy_path(X, y, 10, alpha=alpha, fit_intercept=fit_intercept)
    # The definition in extended precision, by the dual form (which needs no X'X).
    Z = X[:, path.indices].astype(np.longdouble)
    centre = np.eye(len(y), dtype=np.longdouble)
    if fit_intercept:
        centre -= np.longdouble(1) / len(y)
    Q = orthonormal(centre @ Z)
    R = Q.T @ (centre @ Z)
    inner = np.linalg.inv((R @ R.T + alpha * np.eye(10)).astype(float)).astype(np.longdouble)
    for _ in range(3):  # Newton's iteration takes the inverse to extended precision
        inner = inner @ (2 * np.eye(10) - (R @ R.T + np.longdouble(alpha) * np.eye(10)) @ inner)
    H = Q @ (R @ R.T @ inner) @ Q.T
    h = np.diag(H) + (np.longdouble(1) / len(y) if fit_intercept else 0)
    target = centre @ y.astype(np.longdouble)
    errors = (target - H @ target) / (1 - h)
    assert path.losses[-1] == pytest.approx(float(np.mean(errors**2)), rel=1e-9)


def orthonormal(Z: np.ndarray) -> np.ndarray:
    """Gram–Schmidt, twice, in the precision of Z."""
    Q = Z.copy()
    for column in range(Z.shape[1]):
        for _ in range(2):
            Q[:, column] -= Q[:, :column] @ (Q[:, :column].T @ Q[:, column])
        Q[:, column] /= np.sqrt(Q[:, column] @ Q[:, column])
    return Q


@pytest.mark.parametrize("scale", [1e-82, 1e-60, 1.0, 1e60, 1e78, 1e100])
def test_any_scale_of_x_gives_the_same_selection(scale: float) -> None:
    X, y = two_classes(150, 60, seed=9, signal=0.3)
    Y = np.column_stack([y, np.ones(150)])  # a constant target: ρ = 0
    expected = greedy_path(X, Y, 10)
    path = greedy_path(scale * X, Y, 10, alpha=scale**2, search="bounded")
    assert path.indices.tolist() == expected.indices.tolist()
    assert_allclose(path.losses, expected.losses, rtol=1e-10)


def test_a_block_is_a_value() -> None:
    X, y = two_classes(2000, 10, seed=1)
    start = RowBlock.from_rows(DenseMatrix(X), y[:, None], None).begin(np.zeros(1), None, None, 1e6)
    z = candidate_residuals(start, np.array([3]), np.empty((0, 1)))[0]
    first = start.advance(z, 3, 2.0, np.array([0.5]), None)
    again = start.advance(z, 3, 2.0, np.array([0.5]), None)
    beta = np.array([[0.25]])
    expected = X[:, 5] - 0.25 * X[:, 3]
    for block in (first, again):
        assert_allclose(candidate_residuals(block, np.array([5]), beta)[0], expected)
    assert_allclose(candidate_residuals(start, np.array([5]), np.empty((0, 1)))[0], X[:, 5])
    second = first.advance(expected, 5, 2.0, np.array([0.5]), None)
    two = np.array([[0.25], [0.5]])
    for block in (second, again.advance(expected, 5, 2.0, np.array([0.5]), None)):
        assert_allclose(
            candidate_residuals(block, np.array([7]), two)[0],
            X[:, 7] - 0.25 * X[:, 3] - 0.5 * X[:, 5],
        )
    assert_allclose(candidate_residuals(first, np.array([7]), beta)[0], X[:, 7] - 0.25 * X[:, 3])


@pytest.mark.parametrize(("m", "n", "k"), [(20_000, 200, 20), (30, 60_000, 8)])
def test_memory_stays_small_with_many_blocks_and_few_rows(m: int, n: int, k: int) -> None:
    X, y = two_classes(m, n, seed=6)
    for options in ({}, {"block_rows": max(1, m // 20)}):
        tracemalloc.start()
        greedy_path(X, y, k, search="bounded", **options)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        # Feature space has k rows of n numbers and a few dozen vectors; Gram columns wait.
        assert peak < 0.5 * X.nbytes + 8 * n * (k + 50) + (1 << 23)


def test_ties_are_judged_target_by_target() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 6))
    X[:, 5] = X[:, 1] + 1e-8 * rng.standard_normal(60)
    # The huge target is explained by column 0; the other one tells columns 1 and 5 apart.
    Y = np.column_stack([1e6 * X[:, 0], X[:, 5] + 0.5 * rng.standard_normal(60)])
    path = greedy_path(X, Y, 2, alpha=1e-6, n_runners_up=1)
    (runner_up, loss) = path.runners_up[1][0]
    assert {int(path.indices[1]), runner_up} == {1, 5}
    assert path.losses[1] <= loss * (1 + 1e-10)


def test_tolerances_of_ties_add_up_over_targets() -> None:
    losses, scales = np.array([[1.0, 4.0], [9.0, 1e-14]]), np.array([1e12, 100.0])
    each = 1e-10 * losses + 2e-15 * np.sqrt(losses * scales[:, None])
    assert_allclose(tie_tolerances(losses, scales), each.sum(axis=0), rtol=1e-12)
    assert_allclose(tie_tolerances(losses[1:], scales[1:]), each[1], rtol=1e-12)
