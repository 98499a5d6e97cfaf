"""Groups and costs as they are given: names that could be mixed up, Series, empty lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from greedyrls import GreedyRLSRegressor, extend_path, greedy_path

NAMES = [f"c{i}" for i in range(6)]


def table() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(40, 6)), columns=NAMES)
    return X, (X["c1"] + 2.0 * X["c4"] + rng.normal(size=40)).to_numpy()


@pytest.mark.parametrize("others", [{}, {"wide": ["c0", "c1"]}])
def test_the_cost_of_a_named_group_of_one_column(others: dict[str, list[str]]) -> None:
    X, y = table()
    groups = {"single": ["c2"], **others}
    path = greedy_path(X, y, 4, feature_groups=groups, feature_costs={"single": 7.0})
    assert path.settings.feature_costs is not None
    assert path.settings.feature_costs[2] == 7.0


def test_a_column_with_two_costs() -> None:
    X, y = table()
    for costs in ({"c2": 1.0, 2: 3.0}, {"single": 1.0, "c2": 3.0}):
        with pytest.raises(ValueError, match=r"another cost of the same column, 2 \('c2'\)"):
            greedy_path(X, y, 2, feature_groups={"single": ["c2"]}, feature_costs=costs)


@pytest.mark.parametrize("groups", [{"c4": ["c0", "c1"]}, ["c4", "c4", None, None, None, None]])
def test_a_group_with_the_name_of_another_column(groups: Any) -> None:
    X, y = table()
    with pytest.raises(ValueError, match=r"group 'c4' has the name of column 4 .* Rename"):
        greedy_path(X, y, 3, feature_groups=groups)
    own = greedy_path(X, y, 5, feature_groups={"c1": ["c0", "c1"]})
    assert len(own.group_names()) == len(own) == 5


def test_groups_without_names_that_read_alike_are_told_apart() -> None:
    X, y = table()
    X.columns = pd.Index(["a+b", "c", "a", "b+c", "d", "a+d"])
    groups = [[0, 1], [2, 3]]
    path = greedy_path(X, y, 4, feature_groups=groups)
    assert len(set(path.group_names())) == 4
    longer = extend_path(greedy_path(X, y, 2, feature_groups=groups), X, y, 4)
    assert longer.group_names() == path.group_names()
    assert longer.indices.tolist() == path.indices.tolist()
    joined = greedy_path(X, y, 5, feature_groups=[[2, 4]])
    assert sorted(joined.group_names()) == ["a+b", "a+d", "a+d (2)", "b+c", "c"]


def test_no_groups_at_all() -> None:
    X, y = table()
    plain = greedy_path(X, y, 3)
    for nothing in ([], {}, ()):
        assert greedy_path(X, y, 3, feature_groups=nothing).losses.tolist() == plain.losses.tolist()


def test_series_go_by_their_index() -> None:
    X, y = table()
    numbers = {name: float(place + 1) for place, name in enumerate(NAMES)}
    costs = pd.Series(numbers)[::-1]
    path = greedy_path(X, y, 3, feature_costs=costs)
    assert path.settings.feature_costs == tuple(numbers.values())
    assert greedy_path(X, y, 3, feature_costs=costs[:2]).settings.feature_costs == (
        *[1.0] * 4,
        *[5.0, 6.0],
    )
    ids = pd.Series({"c5": "b", "c4": "b", "c3": None, "c2": None, "c1": "a", "c0": "a"})
    grouped = greedy_path(X, y, 3, feature_groups=ids)
    assert grouped.settings.feature_groups == ((0, 1), (4, 5))
    # Without names, and with places for an index, by their order as ever.
    by_place = greedy_path(X.to_numpy(), y, 3, feature_costs=pd.Series(list(numbers.values())))
    assert by_place.settings.feature_costs == tuple(numbers.values())


def test_a_series_of_ids_with_other_columns() -> None:
    X, y = table()
    with pytest.raises(ValueError, match="lacks column 'c5'"):
        greedy_path(X, y, 2, feature_groups=pd.Series(dict.fromkeys(NAMES[:5], "a")))
    with pytest.raises(ValueError, match="has 'zz', no column"):
        greedy_path(X, y, 2, feature_groups=pd.Series(dict.fromkeys([*NAMES, "zz"], "a")))


def test_no_size_and_no_budget() -> None:
    X, y = table()
    with pytest.raises(TypeError, match="None requires a budget"):
        GreedyRLSRegressor(None, alpha=1.0, feature_costs=np.ones(6)).fit(X, y)


def test_costs_in_no_order_or_out_of_range() -> None:
    X, y = table()
    with pytest.raises(TypeError, match="a number for each column, or a dict"):
        greedy_path(X, y, 2, feature_costs={1.0, 2.0, 3.0, 4.0, 5.0, 6.0})  # type: ignore[arg-type]
    for cost in (1e308, 5e-324):
        with pytest.raises(ValueError, match=r"column 0 \('c0'\) is .* use another unit"):
            greedy_path(X, y, 2, feature_costs=[cost] * 6, feature_groups=[[0, 1]])
