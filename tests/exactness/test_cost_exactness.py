"""Costs and a budget: gain per cost by its definition, what is affordable, where it ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from greedyrls import SelectionPath, StopReason, greedy_path
from grouped import GroupCase, assert_follows_groups, group_cases, literal_groups
from problems import FOLD_KINDS, Case, fold_cases, two_classes
from sweeps import EXAMPLES


def alone(case: Case) -> tuple[tuple[int, ...], ...]:
    return tuple((column,) for column in range(case.X.shape[1]))


def compare(
    case: Case,
    groups: tuple[tuple[int, ...], ...],
    costs: list[float],
    budget: float | None,
    loss: Any = "squared",
    **options: Any,
) -> SelectionPath:
    known = {
        name: case.options[name]
        for name in ("alpha", "fit_intercept", "sample_weight", "cv", "groups")
        if name in case.options
    }
    k = min(3, len(groups))
    path = greedy_path(
        case.X,
        case.y,
        k,
        loss=loss,
        feature_groups=[list(group) for group in groups],
        feature_costs=costs,
        budget=budget,
        n_runners_up=2,
        **known,
        **options,
    )
    twin = literal_groups(
        case.X,
        case.y,
        groups,
        k,
        cv=case.splits,
        loss=loss,
        alpha=known["alpha"],
        fit_intercept=known["fit_intercept"],
        sample_weight=known.get("sample_weight"),
        costs=costs,
        budget=np.inf if budget is None else budget,
    )
    prices = {group[0]: sum(costs[column] for column in group) for group in groups}
    agreed = assert_follows_groups(path, twin, prices)
    if agreed == len(twin.firsts):
        assert (path.stop_reason is StopReason.BUDGET) == twin.is_spent
    spent = [prices[step.index] for step in path.steps]
    assert_allclose(path.costs, np.cumsum(spent), rtol=1e-12)
    assert budget is None or sum(spent) <= budget * (1.0 + 1e-9)
    return path


def some_costs(count: int) -> st.SearchStrategy[list[float]]:
    cost = st.one_of(st.integers(1, 6).map(float), st.floats(0.05, 20.0))
    return st.lists(cost, min_size=count, max_size=count)


@pytest.mark.heavy
@settings(max_examples=max(20, EXAMPLES // 10))
@given(
    fold_cases(folds=["loo", *FOLD_KINDS]), st.data(), st.sampled_from(["bounded", "exhaustive"])
)
def test_gain_for_each_unit(case: Case, data: st.DataObject, search: Any) -> None:
    costs = data.draw(some_costs(case.X.shape[1]))
    compare(case, alone(case), costs, None, search=search)


@pytest.mark.heavy
@settings(max_examples=max(20, EXAMPLES // 10))
@given(group_cases(folds=["loo", "k-fold"]), st.data())
def test_groups_within_a_budget(problem: GroupCase, data: st.DataObject) -> None:
    costs = data.draw(some_costs(problem.case.X.shape[1]))
    prices = [sum(costs[column] for column in group) for group in problem.groups]
    budget = data.draw(st.floats(min(prices), sum(prices)))
    compare(problem.case, problem.groups, costs, budget)


@pytest.mark.heavy
@settings(max_examples=max(20, EXAMPLES // 10))
@given(
    fold_cases(folds=["loo", "stratified"], labelled=True, kinds=["normal"]),
    st.data(),
    st.sampled_from(["zero_one", "balanced_zero_one", "absolute"]),
)
def test_other_losses(case: Case, data: st.DataObject, loss: str) -> None:
    costs = data.draw(some_costs(case.X.shape[1]))
    compare(case, alone(case), costs, sum(costs) / 2 + max(costs), loss)


@pytest.mark.parametrize("cv", ["loo", 5])
def test_equal_costs_change_nothing(cv: Any) -> None:
    X, y = two_classes(200, 30, seed=1, signal=0.3)
    plain = greedy_path(X, y, 8, cv=cv)
    path = greedy_path(X, y, 8, cv=cv, feature_costs=[7.0] * 30)
    assert path.indices.tolist() == plain.indices.tolist()
    assert_allclose(path.losses, plain.losses, rtol=1e-10)
    assert path.costs.tolist() == [7.0 * size for size in range(1, 9)]
    assert plain.costs is None


def test_the_cheaper_of_two_that_tell_the_same() -> None:
    rng = np.random.default_rng(2)
    x = rng.standard_normal(50)
    X = np.stack([x, rng.standard_normal(50), x], axis=1)
    y = x + 0.1 * rng.standard_normal(50)
    assert greedy_path(X, y, 1, feature_costs=[2.0, 1.0, 1.9]).indices.tolist() == [2]
    assert greedy_path(X, y, 1, feature_costs=[1.9, 1.0, 1.9]).indices.tolist() == [0]


def test_the_cheapest_where_all_balanced_errors_are_the_same() -> None:
    """Without costs squared loss would break the tie."""
    y = np.repeat([-1.0, 1.0], 20)
    strong, weak = 3.0 * y, y + np.tile([0.1, -0.1], 20)
    X = np.stack([weak, strong, weak], axis=1)
    options: dict[str, Any] = {"loss": "balanced_zero_one"}
    assert greedy_path(X, y, 1, **options).indices.tolist() == [1]
    path = greedy_path(X, y, 1, feature_costs=[1.0, 1.0, 0.5], n_runners_up=2, **options)
    assert path.indices.tolist() == [2]
    assert [index for index, _ in path.steps[0].runners_up] == [0, 1]


@pytest.mark.parametrize("search", ["bounded", "exhaustive"])
def test_where_nothing_helps_the_smallest_loss_counts(search: Any) -> None:
    """A loss that rises is no better for a feature that costs much."""
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((60, 6)), rng.standard_normal(60)
    costs = [1.0, 1e3, 1.0, 1e-3, 5.0, 1e6]
    path = greedy_path(X, y, 6, alpha=1e-3, feature_costs=costs, search=search)
    twin = literal_groups(X, y, [(i,) for i in range(6)], 6, alpha=1e-3, costs=costs)
    assert path.indices.tolist() == twin.firsts
    assert (np.diff(path.losses) > 0.0).any()


def test_a_budget_alone_says_how_far() -> None:
    X, y = two_classes(120, 20, seed=4, signal=0.3)
    costs = np.linspace(0.1, 2.0, 20)
    path = greedy_path(X, y, None, feature_costs=costs, budget=3.0)
    assert path.stop_reason is StopReason.BUDGET
    assert path.costs[-1] <= 3.0
    left = np.delete(costs, path.indices)
    assert (left > 3.0 - path.costs[-1]).all()
    assert "budget" in path.sentence


def test_costs_that_add_up_to_the_budget() -> None:
    X, y = two_classes(40, 3, seed=5)
    path = greedy_path(X, y, 3, feature_costs=[0.1, 0.1, 0.1], budget=0.3)
    assert len(path) == 3
    assert path.stop_reason is StopReason.EXHAUSTED


def test_forced_features_are_paid_for() -> None:
    X, y = two_classes(60, 5, seed=6)
    path = greedy_path(X, y, None, feature_costs=[3, 1, 1, 1, 1], budget=5, forced_features=[0])
    assert path.indices[0] == 0
    assert path.costs.tolist() == [3.0, 4.0, 5.0]
    only = greedy_path(X, y, None, feature_costs=[3, 1, 1, 1, 1], budget=3, forced_features=[0])
    assert only.indices.tolist() == [0]
    assert only.stop_reason is StopReason.BUDGET


def test_costs_by_name() -> None:
    pandas = pytest.importorskip("pandas")
    X, y = two_classes(60, 5, seed=7)
    frame = pandas.DataFrame(X, columns=list("abcde"))
    groups = {"ab": ["a", "b"], "de": ["d", "e"]}

    def costs_of(costs: dict[Any, float]) -> dict[str, float]:
        path = greedy_path(frame, y, 3, feature_groups=groups, feature_costs=costs)
        each = np.diff(path.costs, prepend=0.0)
        return {path.group_names(3)[place]: cost for place, cost in enumerate(each.tolist())}

    assert costs_of({}) == {"ab": 1.0, "c": 1.0, "de": 1.0}
    assert costs_of({"ab": 4.0, "c": 2.5}) == {"ab": 4.0, "c": 2.5, "de": 1.0}
    assert costs_of({"a": 4.0, 3: 0.5, "e": 0.25}) == {"ab": 5.0, "c": 1.0, "de": 0.75}
