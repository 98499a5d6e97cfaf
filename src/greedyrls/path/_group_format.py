"""Groups of features and costs in JSON: written plainly, read with care."""

from __future__ import annotations

from typing import Any

from .._base import JsonObject, as_number, as_whole
from ._steps import Settings, Step


def groups_object(settings: Settings) -> list[dict[str, Any]] | None:
    """Groups of two columns or more, with their names."""
    if settings.feature_groups is None or settings.group_names is None:
        return None
    return [
        {"name": name, "columns": list(columns)}
        for name, columns in zip(settings.group_names, settings.feature_groups, strict=True)
    ]


def read_grouping(settings: JsonObject, n: int) -> dict[str, Any]:
    """Groups, costs and budget of the settings of a path of n columns."""
    groups = names = costs = budget = None
    if settings.has("feature_groups"):
        found = [_group(one, n) for one in settings.parts("feature_groups", "a group")]
        names, groups = tuple(name for name, _ in found), tuple(columns for _, columns in found)
        columns = [column for group in groups for column in group]
        if not groups or len(set(columns)) < len(columns):
            raise ValueError("feature_groups is empty, or a column is in two groups")
    if settings.has("feature_costs"):
        found_costs = settings.entries("feature_costs", n)
        costs = tuple(as_number(cost, "feature_costs") for cost in found_costs)
        # What a group costs as a whole may stand at its first column.
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
    found = group.entries("columns")
    columns = tuple(as_whole(column, "columns", 0, n) for column in found)
    if len(columns) < 2:
        raise ValueError("a group has fewer than two columns")
    return group.text("name"), columns


def check_groups(steps: tuple[Step, ...], groups: tuple[tuple[int, ...], ...] | None) -> None:
    """Whether each step adds a whole group, or a single feature of none."""
    owner = {column: group for group in groups or () for column in group}
    for step in steps:
        if set(step.features) != set(owner.get(step.index, (step.index,))):
            raise ValueError(f"the step with feature {step.index} is not that of a whole group")
