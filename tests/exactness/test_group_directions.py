"""Groups and costs in searches that remove features, against slow twins that fit every set."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greedyrls import greedy_path
from grouped import GroupCase, group_cases
from literal_directions import literal_search, twin_of
from problems import FOLD_KINDS, Case
from sweeps import EXAMPLES

DIRECTIONS = ["backward", "floating", "foba", "swap"]
COUNT = max(12, min(60, EXAMPLES // 20))


def compare(
    problem: GroupCase, direction: str, loss: Any = "squared", **options: Any
) -> list[tuple[int, ...]]:
    """Every loss is that of its set; moves are the same up to a tie. The removed groups."""
    case, groups = problem.case, problem.groups
    given_options = {name: value for name, value in options.items() if name != "feature_costs"}
    literal = dict(problem.literal_options)
    forced = [groups[place][0] for place in literal.pop("forced")]
    excluded = [groups[place][0] for place in literal.pop("excluded")]
    search = literal_search(
        *(case.X, case.y),
        loss=loss,
        forced_features=forced,
        excluded_features=excluded,
        groups=groups,
        costs=options.get("feature_costs"),
        **given_options,
        **literal,
    )
    path = greedy_path(
        *(case.X, case.y, problem.n_groups),
        direction=direction,
        loss=loss,
        **options,
        **problem.options,
    )
    moves = twin_of(direction, search, problem.n_groups)
    members = {group[0]: group for group in groups}
    owner = {column: group[0] for group in groups for column in group}
    now = [] if path.start is None else list(dict.fromkeys(owner[i] for i in path.start.features))
    floor = 1e-11 * abs(search.initial_loss) + 1e-12
    removed = []
    for place, step in enumerate(path.steps):
        assert step.features == members[step.index]
        if step.action == "add":
            now.append(step.index)
        else:
            now.remove(step.index)
            removed.append(step.features)
        assert search.can_afford(now) or direction == "backward"
        assert step.loss == pytest.approx(search.score(now), rel=1e-8, abs=floor)
        if place < len(moves) and (step.action, step.index) != moves[place][:2]:
            return removed  # a tie of two groups: what follows may go another way
    assert len(path.steps) == len(moves)
    return removed


@pytest.mark.heavy
@pytest.mark.parametrize("direction", DIRECTIONS)
@settings(max_examples=COUNT)
@given(problem=group_cases(folds=["loo", *FOLD_KINDS], kinds=["normal", "scaled"]))
def test_squared_loss(direction: str, problem: GroupCase) -> None:
    problem.case.options["alpha"] = max(problem.case.options["alpha"], 1e-3)
    compare(problem, direction)


@pytest.mark.heavy
@pytest.mark.parametrize("direction", DIRECTIONS)
@settings(max_examples=COUNT)
@given(
    problem=group_cases(folds=["loo", "stratified"], labelled=True, kinds=["normal"]),
    loss=st.sampled_from(["zero_one", "absolute", "auc"]),
)
def test_other_losses(direction: str, problem: GroupCase, loss: str) -> None:
    problem.case.options["alpha"] = max(problem.case.options["alpha"], 1e-3)
    if loss == "auc" and problem.case.y.ndim == 2:
        loss = "zero_one"
    compare(problem, direction, loss)


@pytest.mark.heavy
@pytest.mark.parametrize("direction", ["floating", "foba", "swap"])
@settings(max_examples=COUNT)
@given(
    problem=group_cases(folds=["loo", "k-fold"], kinds=["normal"]),
    seed=st.integers(0, 2**16),
    share=st.floats(0.3, 1.2),
)
def test_costs_and_a_budget(direction: str, problem: GroupCase, seed: int, share: float) -> None:
    problem.case.options["alpha"] = max(problem.case.options["alpha"], 1e-3)
    costs = np.random.default_rng(seed).integers(1, 6, problem.case.X.shape[1]) / 2.0
    prices = [sum(costs[list(group)]) for group in problem.groups]
    least = sum(prices[place] for place in problem.forced)
    cheapest = min(p for place, p in enumerate(prices) if place not in problem.excluded)
    budget = max(least, share * sum(prices), cheapest)
    compare(problem, direction, feature_costs=costs.tolist(), budget=budget)


def astray(seed: int, width: int) -> GroupCase:
    """Groups of causes, and a group of their sum with noise that a forward search takes first."""
    rng = np.random.default_rng(seed)
    m = 60
    causes = rng.standard_normal((m, 3 * width))
    y = causes.sum(axis=1)
    noisy = y[:, None] + 1.2 * rng.standard_normal((m, width))
    X = np.column_stack([noisy, causes, rng.standard_normal((m, width))])
    groups = tuple(tuple(range(first, first + width)) for first in range(0, X.shape[1], width))
    case = Case(X, y + 0.3 * rng.standard_normal(m), 4, {"alpha": 0.01, "fit_intercept": True})
    return GroupCase(case, groups, 3 if width > 1 else 4, [], [])


@pytest.mark.parametrize("direction", ["floating", "foba", "swap"])
@pytest.mark.parametrize("width", [2, 3])
def test_groups_are_removed_again(direction: str, width: int) -> None:
    removed = []
    for seed in range(6):
        problem = astray(seed, width)
        if direction != "swap":
            problem.n_groups = 5
        removed += compare(problem, direction)
    assert removed
    assert all(len(group) == width for group in removed)


def test_a_set_found_by_an_exchange_stays_within_the_budget() -> None:
    problem = astray(0, 2)
    n = problem.case.X.shape[1]
    costs = [1.0] * n
    path = greedy_path(
        problem.case.X,
        problem.case.y,
        3,
        alpha=0.01,
        feature_groups=[list(group) for group in problem.groups],
        feature_costs=costs,
        budget=6.0,
        direction="swap",
    )
    assert max(len(path.features(size)) for size in range(1, len(path) + 1)) <= 6


def test_an_exchange_for_what_only_its_removal_pays_for() -> None:
    rng = np.random.default_rng(0)
    causes = rng.standard_normal((50, 2))
    y = causes.sum(axis=1)
    both = y[:, None] + 0.3 * rng.standard_normal((50, 1))
    X = np.hstack([both, causes])
    case = Case(X, y, 2, {"alpha": 0.01, "fit_intercept": True})
    problem = GroupCase(case, ((0,), (1,), (2,)), 2, [], [])
    # Once the first is paid for, the third is too dear.
    compare(problem, "swap", feature_costs=[3.0, 2.0, 3.0], budget=5.0)
    path = greedy_path(
        X, y, 2, alpha=0.01, feature_costs=[3.0, 2.0, 3.0], budget=5.0, direction="swap"
    )
    assert sorted(path.indices) == [1, 2]


def test_backward_keeps_what_the_budget_pays_for() -> None:
    problem = astray(1, 2)
    X, y = problem.case.X, problem.case.y
    options = {"alpha": 0.01, "direction": "backward", "feature_costs": [1.0] * X.shape[1]}
    groups = [list(group) for group in problem.groups]
    whole = greedy_path(X, y, 5, feature_groups=groups, **options)
    part = greedy_path(X, y, 5, feature_groups=groups, budget=5.0, **options)
    assert len(whole) == 5
    assert len(part) == 2
    assert part.stop_reason.value == "budget"
    for size in (1, 2):
        assert part.features(size).tolist() == whole.features(size).tolist()
        np.testing.assert_allclose(part.coef(size), whole.coef(size))
