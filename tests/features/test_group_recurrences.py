"""The parts of the engine for groups: recurrences are what they stand for, bounds are bounds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bounds import replay
from internals import (
    FoldState,
    Judge,
    LooData,
    Problem,
    SelectionState,
    bound_slack,
    follow_spread,
    group_bounds,
    group_openness,
    grouping_of,
    inverse_roots,
    leverage_growth,
    lower_bounds,
    make_plan,
    make_problem,
    pairs_of,
    score_groups,
)
from problems import named_problems

Array = np.ndarray


def problem_of(X: Array, y: Array, width: int, weights: Array | None = None) -> Problem:
    n = X.shape[1]
    groups = [list(range(first, min(n, first + width))) for first in range(0, n, width)]
    return make_problem(X, y, sample_weight=weights, feature_groups=groups)


def weighted_rows(problem: Problem) -> Array:
    """√w ∘ (X − mean)."""
    X, weights = problem.X.part(slice(None)).astype(float), problem.weights
    root = np.ones(len(X)) if weights is None else np.sqrt(weights)
    return root[:, None] * (X - np.average(X, axis=0, weights=weights))


def leftovers(problem: Problem, chosen: list[int], alpha: float) -> tuple[Array, Array]:
    """Z of all columns and D, by their definitions."""
    X = weighted_rows(problem)
    A = X.T @ X + alpha * np.eye(X.shape[1])
    if not chosen:
        return X, A
    beta = np.linalg.solve(A[np.ix_(chosen, chosen)], A[chosen])
    return X - X[:, chosen] @ beta, A - A[:, chosen] @ beta


@pytest.mark.parametrize("is_weighted", [False, True])
def test_pairs_by_recurrence(is_weighted: bool) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((50, 12)), rng.standard_normal(50)
    problem = problem_of(X, y, 4, rng.random(50) if is_weighted else None)
    state = SelectionState(LooData(problem), 0.7, 2)
    space, pairs = state.features, pairs_of(state)
    chosen = [5, 4, 7, 6, 0]
    for step in replay(state, chosen):
        assert step.loss > 0.0
    for is_rebuilt in (False, True):
        if is_rebuilt:
            state.rebuild()
        Z, D = leftovers(problem, chosen, 0.7)
        for part in pairs.layout.parts(np.array([0, 8])):
            for members, matrix, norms in zip(
                part.columns.tolist(),
                pairs.layout.matrices(part, space.delta, pairs.delta),
                pairs.norm_matrices(part, space.norms),
                strict=True,
            ):
                own = [c for c in members if c not in chosen]
                places = [members.index(c) for c in own]
                assert_allclose(matrix[np.ix_(places, places)], D[np.ix_(own, own)], atol=1e-10)
                assert_allclose(norms[np.ix_(places, places)], Z[:, own].T @ Z[:, own], atol=1e-10)


@pytest.mark.parametrize("is_moved", [False, True])
def test_pairs_of_folds_by_recurrence(is_moved: bool) -> None:
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((40, 9)) + 50.0, rng.standard_normal(40)
    problem = problem_of(X, y, 3)
    plan = make_plan(problem, cv=4)
    state = plan.search(plan.data(problem), 0.3, 4)[0]
    assert isinstance(state, FoldState)
    pairs = state.features.pairs
    assert pairs is not None
    chosen = [3, 5, 4]
    if is_moved:
        assert len(list(replay(state, [0, 5, 8, 1]))) == 4
        state.move_to(chosen)
    else:
        assert len(list(replay(state, chosen))) == 3
    for fold in range(4):
        test = np.arange(10 * fold, 10 * fold + 10)
        train = np.setdiff1d(np.arange(40), test)
        A = X[train] - X[train].mean(axis=0)
        A = A.T @ A + 0.3 * np.eye(9)
        beta = np.linalg.solve(A[np.ix_(chosen, chosen)], A[chosen])
        held_out = X[test] - X[train].mean(axis=0)
        Z, D = held_out - held_out[:, chosen] @ beta, A - A[:, chosen] @ beta
        for left, right, delta, norm in zip(
            pairs.layout.left,
            pairs.layout.right,
            pairs.delta[fold],
            pairs.norms[fold],
            strict=True,
        ):
            if left not in chosen:
                assert delta == pytest.approx(D[left, right], abs=1e-9)
                assert norm == pytest.approx(Z[:, left] @ Z[:, right], abs=1e-9)


@pytest.mark.parametrize("name", sorted(named_problems()))
@pytest.mark.parametrize("alpha", [1e-4, 1.0, 100.0])
def test_bounds_are_below_exact_losses(name: str, alpha: float) -> None:
    X, y = named_problems()[name]
    rng = np.random.default_rng(2)
    Y = np.stack([y, rng.standard_normal(len(y))], axis=1)
    problem = problem_of(X, Y, 3, rng.random(len(y)) + 0.1)
    state = SelectionState(LooData(problem), alpha, 4)
    follow_spread(state.features)  # as with many rows
    for step in range(4):
        left = state.candidates
        exact = score_groups(state, left).sum(axis=0)
        slack = 1e-9 * state.loss_sum
        for _ in range(2):
            bounds = group_bounds(state)[left]
            growth, _ = group_openness(state, left)
            is_finite = np.isfinite(exact)
            assert (bounds <= exact + slack)[is_finite].all()
            assert (bounds + growth <= exact + slack)[is_finite].all()
            assert (growth >= 0.0).all()
            if step % 2 == 0:
                state.set_anchor([])
        group = state.layout.members(int(left[int(np.nanargmin(exact))]))
        assert len(list(replay(state, list(group)))) == len(group)


@pytest.mark.parametrize("is_anchored", [False, True])
def test_bounds_of_groups_of_one_are_those_of_features(is_anchored: bool) -> None:
    rng = np.random.default_rng(4)
    X = 5.0 * rng.standard_normal((60, 14))
    Y = X[:, :5] @ rng.standard_normal((5, 2)) + 8.0 * rng.standard_normal((60, 2))
    groups = [*([index] for index in range(12)), [12, 13]]
    states = [
        SelectionState(LooData(problem), 20.0, 6)
        for problem in (make_problem(X, Y), make_problem(X, Y, feature_groups=groups))
    ]
    for state in states:
        follow_spread(state.features)
        assert len(list(replay(state, [3, 0]))) == 2
        if is_anchored:
            state.set_anchor([])
        assert len(list(replay(state, [7, 1]))) == 2
    single, grouped = states
    left = np.array([2, 4, 5, 6, 8, 9, 10, 11])
    assert_allclose(group_bounds(grouped)[left], lower_bounds(single)[left], rtol=1e-9)
    score_groups(grouped, left)
    single.score(left)
    growth, slack = group_openness(grouped, left)
    assert growth.min() > 0.0
    assert_allclose(growth, leverage_growth(single, left), rtol=1e-9)
    assert_allclose(slack, bound_slack(single, left), rtol=1e-9)


def test_roots_of_matrices_that_are_nearly_singular() -> None:
    rng = np.random.default_rng(3)
    Z = rng.standard_normal((5, 20, 4))
    Z[:2, :, 3] = Z[:2, :, 1]  # the first two are singular but for the penalty
    D = Z.swapaxes(1, 2) @ Z
    for alpha in (1.0, 1e-6, 1e-20):
        full = D + alpha * np.eye(4)
        roots, regularity = inverse_roots(full, alpha)
        assert (regularity[:2] < 10.0 * alpha + 1e-14).all()
        for place in range(5):
            inverse = np.linalg.inv(full[2:])[place - 2] if place > 1 else None
            if inverse is not None:
                assert_allclose(roots[place].T @ roots[place], inverse, rtol=1e-9)
        # Clipped eigenvalues stay at the penalty: no direction is longer than 1/√α.
        assert np.linalg.norm(roots, ord=2, axis=(1, 2)).max() <= 1.001 / np.sqrt(alpha)


def test_costs_decide_only_what_gains() -> None:
    groups, tolerances = np.arange(4), np.zeros(4)
    losses = np.array([9.0, 8.0, 12.0, 11.0])
    judge = Judge(np.array([1.0, 3.0, 0.1, 100.0]), 10.0)
    assert judge.best(groups, losses, tolerances, 4) == [0, 1, 3, 2]
    assert Judge(None, 10.0).best(groups, losses, tolerances, 4) == [1, 0, 3, 2]
    # With the first known, a group must gain at least 1 for each unit of its cost.
    limits = judge.limits(groups[:1], losses[:1], tolerances[:1], 1)
    assert_allclose(limits, [9.0, 7.0, 9.9, -90.0])
    assert judge.limits(groups[2:3], losses[2:3], tolerances[:1], 1) == 12.0


def test_names_of_groups() -> None:
    names = ("a", "b", "c", "d", "e", "f")
    found = grouping_of([[5, 0], [1, 2, 3, 4]], None, None, 6, names)
    assert found.groups == ((0, 5), (1, 2, 3, 4))
    assert found.names == ("a+f", "b+…+e")
    problem = problem_of(np.eye(6), np.arange(6.0), 4)
    assert problem.entry_names == ("x0+…+x3", "x1", "x2", "x3", "x4+x5", "x5")
    assert replace(problem, groups=None).entry_names is None
