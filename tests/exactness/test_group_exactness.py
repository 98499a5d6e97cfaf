"""Groups of features: the fast path against refits for every group, sample and fold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge

from greedyrls import greedy_path
from grouped import GroupCase, assert_follows_groups, group_cases, literal_groups
from problems import FOLD_KINDS, named_problems, two_classes
from sweeps import EXAMPLES

LABELLED = ["loo", "stratified"]


def compare(problem: GroupCase, loss: Any = "squared", **options: Any) -> None:
    case = problem.case
    path = greedy_path(
        case.X, case.y, problem.n_groups, loss=loss, n_runners_up=2, **problem.options, **options
    )
    twin = literal_groups(
        case.X, case.y, problem.groups, problem.n_groups, loss=loss, **problem.literal_options
    )
    agreed = assert_follows_groups(path, twin, None)
    assert [step.forced for step in path.steps] == [
        place < len(problem.forced) for place in range(problem.n_groups)
    ]
    members = {group[0]: group for group in problem.groups}
    for step in path.steps:
        assert step.features == members[step.index]
    for k in range(1, agreed + 1):
        columns = [column for first in twin.firsts[:k] for column in members[first]]
        assert path.features(k).tolist() == columns


@pytest.mark.heavy
@settings(max_examples=max(20, EXAMPLES // 10))
@given(group_cases(folds=["loo"]), st.sampled_from(["auto", "bounded", "exhaustive"]))
def test_leave_one_out(problem: GroupCase, search: Any) -> None:
    compare(problem, search=search)


@pytest.mark.heavy
@settings(max_examples=max(20, EXAMPLES // 10))
@given(group_cases(folds=FOLD_KINDS))
def test_folds(problem: GroupCase) -> None:
    compare(problem)


@pytest.mark.heavy
@settings(max_examples=max(20, EXAMPLES // 10))
@given(
    group_cases(folds=LABELLED, labelled=True, kinds=["normal", "scaled"]),
    st.sampled_from(["zero_one", "balanced_zero_one", "absolute"]),
)
def test_losses_of_classes(problem: GroupCase, loss: str) -> None:
    compare(problem, loss)


@pytest.mark.heavy
@settings(max_examples=max(20, EXAMPLES // 10))
@given(
    group_cases(folds=LABELLED, labelled=True, kinds=["normal"], max_classes=2),
)
def test_area_under_the_curve(problem: GroupCase) -> None:
    problem.case.options.pop("sample_weight", None)
    compare(problem, "auc")


def largest_error(y: np.ndarray, predictions: np.ndarray) -> float:
    return float(np.abs(y - predictions).max())


@given(group_cases(folds=["loo", "k-fold"], kinds=["normal"]))
def test_a_function_for_a_loss(problem: GroupCase) -> None:
    compare(problem, largest_error)


def groups_of(n: int, width: int) -> list[list[int]]:
    return [list(range(first, min(n, first + width))) for first in range(0, n, width)]


@pytest.mark.parametrize("name", sorted(named_problems()))
@pytest.mark.parametrize("width", [2, 5])
def test_bounds_rule_out_no_winner(name: str, width: int) -> None:
    X, y = named_problems()[name]
    groups = groups_of(X.shape[1], width)
    k = min(len(groups), 6)
    one, other = (
        greedy_path(X, y, k, feature_groups=groups, search=search, n_runners_up=1)
        for search in ("bounded", "exhaustive")
    )
    assert_allclose(one.losses, other.losses, rtol=1e-9)
    assert [step.features for step in one.steps] == [step.features for step in other.steps]
    assert one.runners_up[0][0][0] == other.runners_up[0][0][0]


def test_many_rows_and_few_exact_evaluations() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6000, 200))
    y = X[:, ::20] @ rng.standard_normal(10) + rng.standard_normal(6000)
    groups = groups_of(200, 4)
    path = greedy_path(X, y, 8, feature_groups=groups)
    full = greedy_path(X, y, 8, feature_groups=groups, search="exhaustive")
    assert path.indices.tolist() == full.indices.tolist()
    assert_allclose(path.losses, full.losses, rtol=1e-12)
    # Every column that is added is measured; beside these, few of 50 groups in each step.
    assert path.counters.exact_evaluations < 32 + 100
    assert full.counters.exact_evaluations > 300


def test_a_single_group_is_ridge() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((30, 6)), rng.standard_normal(30)
    path = greedy_path(X, y, 1, alpha=0.5, feature_groups=[[0, 1, 2, 3, 4, 5]])
    model = Ridge(alpha=0.5).fit(X, y)
    assert_allclose(path.coef(1), model.coef_, rtol=1e-10)
    assert_allclose(path.predict(X, 1), model.predict(X), rtol=1e-10)
    assert len(path) == 1
    assert path.stop_reason.value == "exhausted"


@pytest.mark.parametrize("cv", ["loo", 4])
@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_of_identical_groups_the_first_wins(cv: Any, loss: str) -> None:
    rng = np.random.default_rng(2)
    half = rng.standard_normal((40, 3))
    X = np.concatenate([rng.standard_normal((40, 2)), half[:, ::-1], half], axis=1)
    y = half @ [1.0, 2.0, -1.0] + 0.1 * rng.standard_normal(40)
    groups = [[5, 6, 7], [2, 3, 4]]
    path = greedy_path(X, y, 2, cv=cv, loss=loss, feature_groups=groups, n_runners_up=1)
    assert path.steps[0].features == (2, 3, 4)
    assert path.runners_up[0][0] == (5, pytest.approx(path.losses[0], rel=1e-9))


@pytest.mark.parametrize("alpha", [1e-6, 1e-2, 1.0])
@pytest.mark.parametrize("cv", ["loo", 5])
def test_one_hot_columns_with_an_intercept(alpha: float, cv: Any) -> None:
    """The columns of a group add up to 1: only the penalty makes the model unique."""
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 4, (60, 5))
    X = np.concatenate([np.eye(4)[column] for column in codes.T], axis=1)
    y = np.array([0.0, 1.0, 3.0, -2.0])[codes[:, 2]] + codes[:, 4] + 0.5 * rng.standard_normal(60)
    groups = tuple(tuple(group) for group in groups_of(20, 4))
    path = greedy_path(X, y, 3, alpha=alpha, cv=cv, feature_groups=groups, search="bounded")
    splits: Any = "loo"
    if cv != "loo":
        folds = np.array_split(np.arange(60), 5)
        splits = [(np.setdiff1d(np.arange(60), fold), fold) for fold in folds]
    twin = literal_groups(X, y, groups, 3, alpha=alpha, cv=splits)
    assert assert_follows_groups(path, twin, None, rel=1e-6) == 3
    assert path.steps[0].features == groups[2]


@pytest.mark.parametrize("cv", ["loo", 3])
def test_groups_larger_than_the_data(cv: Any) -> None:
    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((12, 45)), rng.standard_normal(12)
    groups = tuple(tuple(group) for group in groups_of(45, 15))
    path = greedy_path(X, y, 2, alpha=0.1, cv=cv, feature_groups=groups, fit_intercept=False)
    splits: Any = "loo"
    if cv != "loo":
        folds = np.array_split(np.arange(12), 3)
        splits = [(np.setdiff1d(np.arange(12), fold), fold) for fold in folds]
    twin = literal_groups(X, y, groups, 2, alpha=0.1, cv=splits, fit_intercept=False)
    assert assert_follows_groups(path, twin, None) == 2


@pytest.mark.parametrize("cv", ["loo", 5])
def test_groups_of_one_are_features(cv: Any) -> None:
    X, y = two_classes(80, 12, seed=5)
    plain = greedy_path(X, y, 5, cv=cv, n_runners_up=2)
    for alone in ([[3], [1]], list(range(12)), [None] * 12, {"a": [4]}):
        path = greedy_path(X, y, 5, cv=cv, n_runners_up=2, feature_groups=alone)
        assert [step.features for step in path.steps] == [step.features for step in plain.steps]
        assert path.losses.tolist() == plain.losses.tolist()
        assert path.runners_up == plain.runners_up


@pytest.mark.parametrize("loss", ["squared", "zero_one", "auc"])
@pytest.mark.parametrize("cv", ["loo", 5])
def test_the_engine_of_groups_agrees_with_that_of_features(loss: str, cv: Any) -> None:
    """A group far away that is never chosen: all others have a single column."""
    X, y = two_classes(90, 14, seed=6, signal=0.4)
    X[:, 12:] = np.random.default_rng(7).standard_normal((90, 2)) * 1e-3
    plain = greedy_path(X, y, 4, cv=cv, loss=loss, excluded_features=[12, 13])
    path = greedy_path(X, y, 4, cv=cv, loss=loss, feature_groups=[[12, 13]], search="bounded")
    assert path.indices.tolist() == plain.indices.tolist()
    assert_allclose(path.losses, plain.losses, rtol=1e-10)


def test_gram_columns_of_likely_groups_come_together() -> None:
    """By folds a step needs Gram columns only, and those of several groups cost one pass."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((600, 200))
    y = X[:, :20] @ rng.standard_normal(20) + rng.standard_normal(600)
    path = greedy_path(X, y, 8, cv=10, feature_groups=groups_of(200, 5))
    assert path.counters.passes <= 6
