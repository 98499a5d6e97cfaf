"""Groups of features and costs in JSON, checked when they are read."""

from __future__ import annotations

from typing import Any

from .._base import JsonObject, as_number, as_whole
from ._steps import Settings, Step


def groups_object(settings: Settings) -> list[dict[str, Any]] | None:
    """Return the groups of two columns or more with their names, for JSON."""
    if settings.feature_groups is None or settings.group_names is None:
        return None
    return [
        {"name": name, "columns": list(columns)}
        for name, columns in zip(settings.group_names, settings.feature_groups, strict=True)
    ]


def read_grouping(settings: JsonObject, n: int) -> dict[str, Any]:
    """Read groups, costs and budget from the settings of a path of n columns."""
    groups = names = costs = budget = None
    if settings.has("feature_groups"):
        named_groups = [_group(one, n) for one in settings.parts("feature_groups", "a group")]
        names = tuple(name for name, _ in named_groups)
        groups = tuple(columns for _, columns in named_groups)
        columns = [column for group in groups for column in group]
        if not groups or len(set(columns)) < len(columns):
            raise ValueError("feature_groups is empty, or a column is in two groups")
    if settings.has("feature_costs"):
        entries = settings.entries("feature_costs", n)
        costs = tuple(as_number(cost, "feature_costs") for cost in entries)
        # The first column of a group may carry the cost of the whole group.
        owned = {column for group in groups or () for column in group[1:]}
        if any(cost < 0.0 or (cost == 0.0 and i not in owned) for i, cost in enumerate(costs)):
            raise ValueError("feature_costs has a number that is not above 0")
    if settings.has("budget"):
        budget = settings.positive("budget", zero_too=False)
        if costs is None:
            raise ValueError("budget is there without feature_costs")
    return {
        "feature_groups": groups,
        "group_names": names,
        "feature_costs": costs,
        "budget": budget,
    }


def _group(group: JsonObject, n: int) -> tuple[str, tuple[int, ...]]:
    entries = group.entries("columns")
    columns = tuple(as_whole(column, "columns", 0, n) for column in entries)
    if len(columns) < 2:
        raise ValueError("a group has fewer than two columns")
    return group.text("name"), columns


def check_groups(steps: tuple[Step, ...], groups: tuple[tuple[int, ...], ...] | None) -> None:
    """Raise an error unless each step adds a whole group, or a feature that is in none."""
    owner = {column: group for group in groups or () for column in group}
    for step in steps:
        if set(step.features) != set(owner.get(step.index, (step.index,))):
            raise ValueError(f"the step with feature {step.index} is not that of a whole group")
