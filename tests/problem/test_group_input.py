"""Bad groups, costs and budgets: errors that name the value and say what to do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from greedyrls import greedy_path
from problems import two_classes

X, Y = two_classes(30, 6, seed=0)
NAMES = ["a", "b", "c", "d", "e", "f"]


def refused(match: str, error: type[Exception] = ValueError, **options: Any) -> None:
    with pytest.raises(error, match=match):
        greedy_path(X, Y, 1, **options)


@pytest.mark.parametrize(
    ("groups", "error", "match"),
    [
        ("abc", TypeError, "feature_groups must be a list with a group id"),
        (3, TypeError, "got 3"),
        ([1, 1, 2], ValueError, "has 3 ids but X has 6 features"),
        ([[0, 1], 2], TypeError, "has lists and also 2"),
        ([[0, 1], [1, 2]], ValueError, "column 1 is in group 'x0\\+x1' and in group 'x1\\+x2'"),
        ([[0, 0]], ValueError, "names feature 0 more than once"),
        ([[0, 6]], ValueError, "feature_groups has 6; features of X are numbered 0 to 5"),
        ([[0, -1]], ValueError, "feature_groups has -1"),
        ([["a", "b"]], ValueError, "X has no column names"),
        ([[0, 1.5]], TypeError, "must hold column numbers or names, got 1.5"),
        ([[0, 1], []], ValueError, "group '' has no columns; leave it out"),
        ({"one": []}, ValueError, "group 'one' has no columns"),
        ({"one": "ab"}, TypeError, "must be a list of column numbers or names, got 'ab'"),
        ({"one": 3}, TypeError, "got 3"),
        ({1: [0, 1], "1": [2, 3]}, ValueError, "the groups 1 and '1'"),
        ([1, "1", 2, 2, 3, 3], ValueError, "the groups 1 and '1'"),
    ],
)
def test_groups(groups: Any, error: type[Exception], match: str) -> None:
    refused(match, error, feature_groups=groups)


@pytest.mark.parametrize(
    ("costs", "error", "match"),
    [
        ([1, 1, 1], ValueError, "has 3 numbers but X has 6 features"),
        ([1, 1, 0, 1, 1, 1], ValueError, "that of column 2 is 0"),
        ([1, -2.5, 1, 1, 1, 1], ValueError, "that of column 1 is -2.5"),
        ([1, 1, 1, float("nan"), 1, 1], ValueError, "that of column 3 is nan"),
        ([1, 1, 1, 1, 1, float("inf")], ValueError, "that of column 5 is inf"),
        ([1, 1, 1, 1, 1, "2"], TypeError, "that of column 5 is '2'"),
        ([1, 1, 1, 1, 1, True], TypeError, "that of column 5 is True"),
        ({"a": 1.0}, ValueError, "X has no column names"),
        ({9: 1.0}, ValueError, "feature_costs has 9"),
        ({0: -1.0}, ValueError, "that of 0 is -1.0"),
        ("cheap", TypeError, "got 'cheap'"),
        (2.0, TypeError, "got 2.0"),
    ],
)
def test_costs(costs: Any, error: type[Exception], match: str) -> None:
    refused(match, error, feature_costs=costs)


@pytest.mark.parametrize(
    ("budget", "error", "match"),
    [
        (0, ValueError, "budget must be a finite number greater than 0, got 0"),
        (-1.0, ValueError, "got -1.0"),
        (float("nan"), ValueError, "got nan"),
        (float("inf"), ValueError, "got inf"),
        ("3", TypeError, "got '3'"),
        (True, TypeError, "got True"),
        (0.5, ValueError, "budget=0.5 is too small for any feature: the cheapest costs 1"),
    ],
)
def test_budgets(budget: Any, error: type[Exception], match: str) -> None:
    refused(match, error, feature_costs=[1.0] * 6, budget=budget)


def test_a_budget_needs_costs() -> None:
    refused("budget=3 needs feature_costs", budget=3)


def test_forced_features_beyond_the_budget() -> None:
    refused(
        "The forced features cost 3, more than budget=2.5",
        feature_costs=[1.0] * 6,
        budget=2.5,
        forced_features=[0, 1, 2],
    )


def test_costs_given_twice() -> None:
    refused(
        "cost of group 'one' and one of its column 1",
        feature_groups={"one": [0, 1]},
        feature_costs={"one": 2.0, 1: 3.0},
    )


def test_a_group_forced_and_excluded() -> None:
    refused(
        "Group 'one' has column 0, which is in forced_features, and column 1",
        feature_groups={"one": [0, 1]},
        forced_features=[0],
        excluded_features=[1],
    )


def test_sizes_count_groups() -> None:
    with pytest.raises(ValueError, match="Ask for at most 2"):
        greedy_path(X, Y, 3, feature_groups=[[0, 1, 2], [3, 4, 5]])
    with pytest.raises(ValueError, match="ask for at least 2"):
        greedy_path(X, Y, 1, feature_groups=[[0, 1], [3, 4]], forced_features=[1, 3])
    path = greedy_path(X, Y, 2, feature_groups=[[0, 1], [3, 4]], forced_features=[4, 0])
    assert [step.features for step in path.steps] == [(3, 4), (0, 1)]


def test_no_size_and_no_budget() -> None:
    with pytest.raises(TypeError, match="n_features"):
        greedy_path(X, Y, None)


def test_groups_in_all_their_forms() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=NAMES)
    expected = [(0, 3), (1,), (2, 5), (4,)]
    for groups in (
        ["p", None, "q", "p", None, "q"],
        [0, -1, 1, 0, -1, 1],
        [0.0, float("nan"), 1.0, 0.0, float("nan"), 1.0],
        np.array([0, -1, 1, 0, -1, 1]),
        pandas.Series(["p", pandas.NA, "q", "p", pandas.NA, "q"]),
        [["a", "d"], [5, 2]],
        np.array([[0, 3], [2, 5]]),
        {"p": ["d", "a"], "q": ("c", "f")},
        {"p": {0, 3}, "q": range(2, 6, 3)},
    ):
        path = greedy_path(frame, Y, 4, feature_groups=groups)
        assert sorted(step.features for step in path.steps) == expected
