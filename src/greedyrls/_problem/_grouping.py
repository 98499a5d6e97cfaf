"""Validation of feature groups, feature costs and the budget."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import Float
from ._feature_names import feature_indices

# Groups of columns: an id for each column, lists of columns, or a dict of such lists by name.
FeatureGroups = Sequence[Any] | Mapping[Any, Sequence[Any]] | NDArray[Any]
# One number for each column, or numbers by the name of a column or group.
FeatureCosts = Sequence[float] | Mapping[Any, float] | NDArray[Any]

# The name of an unnamed group lists at most this many columns.
_NAMED = 3
# Sums of costs are rounded: exceeding the budget by this share is allowed.
BUDGET_ROUNDING = 1e-9
# Larger costs, or costs below its inverse, would overflow in sums or quotients.
_LARGEST_COST = 1e100


class Grouping(NamedTuple):
    """The validated groups, costs and budget."""

    # All features, in groups: sorted by their first columns, each in ascending order.
    groups: tuple[tuple[int, ...], ...] | None = None
    names: tuple[str, ...] | None = None  # of the groups
    costs: Float | None = None  # (n); those of a group are added up
    budget: float | None = None


def grouping_of(
    feature_groups: FeatureGroups | None,
    feature_costs: FeatureCosts | None,
    budget: Any,
    n_features: int,
    feature_names: tuple[str, ...] | None,
) -> Grouping:
    """Check `feature_groups`, `feature_costs` and `budget`."""
    named = _checked_groups(feature_groups, n_features, feature_names)
    groups, names = _groups(named, n_features, feature_names)
    costs = _costs(feature_costs, n_features, feature_names, dict(named))
    return Grouping(groups, names, costs, _budget(budget, costs is not None))


def _checked_groups(
    feature_groups: FeatureGroups | None, n: int, names: tuple[str, ...] | None
) -> list[tuple[str, tuple[int, ...]]]:
    """Return the user's groups with their names, including groups of one column."""
    if feature_groups is None:
        return []
    named = _named_groups(feature_groups, n, names)
    owner: dict[int, str] = {}
    for name, columns in named:
        if not columns:
            raise ValueError(f"feature_groups: group {name!r} has no columns; leave it out.")
        for column in columns:
            if column in owner:
                raise ValueError(
                    f"feature_groups: column {_shown(column, names)} is in group {owner[column]!r} "
                    f"and in group {name!r}. Groups must not overlap; take it out of one of them."
                )
            owner[column] = name
        if names and name in names and names.index(name) not in columns:
            raise ValueError(
                f"feature_groups: group {name!r} has the name of column "
                f"{_shown(names.index(name), names)}, which is not in it: the two could not be "
                "told apart. Rename the group."
            )
    return named


def _groups(
    named: list[tuple[str, tuple[int, ...]]], n: int, names: tuple[str, ...] | None
) -> tuple[tuple[tuple[int, ...], ...] | None, tuple[str, ...] | None]:
    """Return groups that cover all n columns, and names; ungrouped columns become groups of one.

    Return None if all groups have one column: then features are chosen one at a time.
    """
    if all(len(columns) == 1 for _, columns in named):
        return None, None
    owned = {column for _, columns in named for column in columns}
    everything = [(name, tuple(sorted(columns))) for name, columns in named]
    everything += [(_name(column, names), (column,)) for column in range(n) if column not in owned]
    everything.sort(key=lambda group: group[1][0])
    return tuple(columns for _, columns in everything), tuple(name for name, _ in everything)


def _named_groups(
    feature_groups: FeatureGroups, n: int, names: tuple[str, ...] | None
) -> list[tuple[str, tuple[int, ...]]]:
    """Return the user's groups with their names, with columns in the given order."""
    if isinstance(feature_groups, str) or not isinstance(feature_groups, Iterable):
        raise TypeError(
            "feature_groups must be a list with a group id for each column, a list of lists of "
            f"columns, or a dict of such lists by name; got {feature_groups!r}."
        )
    if isinstance(feature_groups, Mapping):
        named = [(str(key), _columns(columns, n, names)) for key, columns in feature_groups.items()]
        _check_names([name for name, _ in named], list(feature_groups))
        return named
    values = _in_order(feature_groups, names)
    if not values:
        return []
    if any(_is_list(value) for value in values):
        single = [value for value in values if not _is_list(value)]
        if single:
            raise TypeError(
                "feature_groups must hold lists of columns, or one id for each column; it has "
                f"lists and also {single[0]!r}."
            )
        return _without_names([_columns(value, n, names) for value in values], names)
    if len(values) != n:
        raise ValueError(
            f"feature_groups has {len(values)} ids but X has {n} features. Pass one id for each "
            "column (None for a column on its own), or lists of columns such as [[0, 1], [4, 5]]."
        )
    members: dict[Any, list[int]] = {}
    for column, value in enumerate(values):
        if not _is_no_id(value):
            try:
                members.setdefault(value, []).append(column)
            except TypeError as error:
                raise TypeError(
                    f"feature_groups: the id of column {_shown(column, names)} is {value!r}; ids "
                    "must be numbers or text."
                ) from error
    _check_names([str(key) for key in members], list(members))
    return [(str(key), tuple(columns)) for key, columns in members.items()]


def _in_order(ids: Iterable[Any], names: tuple[str, ...] | None) -> list[Any]:
    """Return ids in the order of the columns; a Series may be indexed by column names."""
    by_name = _by_name(ids, names)
    if by_name is None:
        return list(ids)
    lacking = [name for name in names or () if name not in by_name]
    unknown = [name for name in by_name if name not in (names or ())]
    if lacking or unknown:
        problem = f"lacks column {lacking[0]!r}" if lacking else f"has {unknown[0]!r}, no column"
        raise ValueError(
            f"feature_groups is a Series whose index {problem} of X. Index it by all columns of X, "
            "or pass its values as a list in the order of the columns."
        )
    return [by_name[name] for name in names or ()]


def _by_name(values: Any, names: tuple[str, ...] | None) -> dict[str, Any] | None:
    """Return a pandas Series indexed by text as a dict if X has column names, else None."""
    if names is None or type(values).__name__ != "Series" or not hasattr(values, "index"):
        return None
    keys = list(values.index)
    if not keys or not all(isinstance(key, str) for key in keys) or len(set(keys)) < len(keys):
        return None
    return dict(zip(keys, list(values), strict=True))


def _without_names(
    lists: list[tuple[int, ...]], names: tuple[str, ...] | None
) -> list[tuple[str, tuple[int, ...]]]:
    """Name groups by their columns; add the number of the first if the name is ambiguous."""
    joined = [_joined(columns, names) for columns in lists]
    named = []
    for name, columns in zip(joined, lists, strict=True):
        is_column = len(columns) > 1 and name in (names or ())
        is_taken = is_column or joined.count(name) > 1
        named.append((f"{name} ({min(columns)})" if is_taken else name, columns))
    return named


def _check_names(names: list[str], keys: list[Any]) -> None:
    """Raise an error if two keys are the same as text."""
    for index, name in enumerate(names):
        first = names.index(name)
        if first != index:
            raise ValueError(
                f"feature_groups has the groups {keys[first]!r} and {keys[index]!r}, which have "
                "the same name as text; rename one of them."
            )


def _is_list(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, Iterable) and not isinstance(value, str | bytes)


def _is_no_id(value: Any) -> bool:
    """Whether an id (None, −1, NaN or pandas' NA) marks an ungrouped column."""
    if value is None or type(value).__name__ == "NAType":
        return True
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        return False
    return float(value) == -1.0 or math.isnan(float(value))


def _columns(value: Any, n: int, names: tuple[str, ...] | None) -> tuple[int, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise TypeError(
            f"feature_groups: a group must be a list of column numbers or names, got {value!r}."
        )
    return feature_indices(list(value), n, names, "feature_groups")


def _name(column: int, names: tuple[str, ...] | None) -> str:
    return names[column] if names else f"x{column}"


def _shown(column: int, names: tuple[str, ...] | None) -> str:
    return f"{column} ({names[column]!r})" if names else str(column)


def _joined(columns: tuple[int, ...], names: tuple[str, ...] | None) -> str:
    """Return a name for a group that has none."""
    shown = [_name(column, names) for column in sorted(columns)]
    return "+".join(shown if len(shown) <= _NAMED else [shown[0], "…", shown[-1]])


def whole_groups(
    forced: tuple[int, ...],
    excluded: tuple[int, ...],
    grouping: Grouping,
    names: tuple[str, ...] | None,
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Extend forced and excluded columns to whole groups.

    Forced groups are in the order of their first forced column.
    """
    if grouping.groups is None or grouping.names is None:
        return forced, excluded
    groups = grouping.groups
    owner = {column: number for number, group in enumerate(groups) for column in group}
    kept = list(dict.fromkeys(owner[column] for column in forced))
    left_out = {owner[column] for column in excluded}
    for number in kept:
        if number in left_out:
            group = groups[number]
            first = next(column for column in forced if column in group)
            other = next(column for column in excluded if column in group)
            raise ValueError(
                f"Group {grouping.names[number]!r} has column {_shown(first, names)}, which is in "
                f"forced_features, and column {_shown(other, names)}, which is in "
                "excluded_features. A group is chosen as a whole; take one of the two out."
            )
    return (
        tuple(column for number in kept for column in groups[number]),
        tuple(sorted(column for number in left_out for column in groups[number])),
    )


def _costs(
    feature_costs: FeatureCosts | None,
    n: int,
    names: tuple[str, ...] | None,
    groups: dict[str, tuple[int, ...]],
) -> Float | None:
    """Return the cost of each column; the first column of a group carries its total cost."""
    if feature_costs is None:
        return None
    by_name = (
        feature_costs if isinstance(feature_costs, Mapping) else _by_name(feature_costs, names)
    )
    if by_name is not None:
        return _costs_by_name(by_name, n, names, groups)
    if isinstance(feature_costs, str | set | frozenset) or not isinstance(feature_costs, Iterable):
        raise TypeError(
            "feature_costs must be a number for each column, or a dict of numbers by name; "
            f"got {feature_costs!r}."
        )
    values = list(feature_costs)
    if len(values) != n:
        raise ValueError(
            f"feature_costs has {len(values)} numbers but X has {n} features. Pass one for each "
            "column (of a group they are added up), or a dict by name."
        )
    each = [_cost(value, f"column {_shown(column, names)}") for column, value in enumerate(values)]
    return np.array(each)


def _costs_by_name(
    by_name: Mapping[Any, float],
    n: int,
    names: tuple[str, ...] | None,
    groups: dict[str, tuple[int, ...]],
) -> Float:
    """Return costs from a dict by names of groups or columns; others cost 1.

    A number always refers to a column, even if ids of groups are numbers. A group of one column is
    treated as that column.
    """
    of_groups: dict[str, float] = {}
    of_columns: dict[int, float] = {}
    for key, value in by_name.items():
        cost = _cost(value, repr(key))
        group = groups.get(key, ()) if isinstance(key, str) else ()
        if len(group) > 1:
            of_groups[key] = cost
            continue
        (column,) = group or feature_indices([key], n, names, "feature_costs")
        if column in of_columns:
            raise ValueError(
                f"feature_costs has {key!r} and another cost of the same column, "
                f"{_shown(column, names)}; give one of the two."
            )
        of_columns[column] = cost
    costs = np.array([of_columns.get(column, 1.0) for column in range(n)])
    for name, members in groups.items():
        if len(members) == 1:
            continue
        named = [column for column in members if column in of_columns]
        if name in of_groups and named:
            raise ValueError(
                f"feature_costs has a cost of group {name!r} and one of its column "
                f"{_shown(named[0], names)}; give one of the two."
            )
        if not named:
            costs[list(members)] = 0.0
            costs[min(members)] = of_groups.get(name, 1.0)
    return costs


def _cost(value: Any, where: str) -> float:
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        raise TypeError(f"feature_costs must hold numbers; that of {where} is {value!r}.")
    cost = float(value)
    if not (math.isfinite(cost) and cost > 0.0):
        raise ValueError(
            f"feature_costs must be finite and greater than 0; that of {where} is {value!r}. For a "
            "feature that is free use a small number, or forced_features."
        )
    if not 1.0 / _LARGEST_COST <= cost <= _LARGEST_COST:
        raise ValueError(
            f"feature_costs must be between {1.0 / _LARGEST_COST:g} and {_LARGEST_COST:g}; "
            f"that of {where} is {value!r}. Only their ratios matter: use another unit."
        )
    return cost


def _budget(value: Any, has_costs: bool) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"budget must be a number greater than 0, got {value!r}.")
    budget = float(value)
    if not (math.isfinite(budget) and budget > 0.0):
        raise ValueError(f"budget must be a finite number greater than 0, got {value!r}.")
    if not has_costs:
        raise ValueError(
            f"budget={value!r} needs feature_costs. To limit the number of features, leave it out "
            "and pass that number."
        )
    return budget


def check_budget(
    grouping: Grouping, forced: tuple[int, ...], excluded: tuple[int, ...], n: int
) -> None:
    """Raise an error if the budget is too small for the forced features, or for any feature."""
    costs, budget = grouping.costs, grouping.budget
    if costs is None or budget is None:
        return
    limit = budget * (1.0 + BUDGET_ROUNDING)
    spent = math.fsum(costs[list(forced)].tolist())
    if spent > limit:
        raise ValueError(
            f"The forced features cost {spent:g}, more than budget={budget:g}; force fewer, or "
            "raise the budget."
        )
    members = grouping.groups or tuple((column,) for column in range(n))
    left_out = set(excluded)
    prices = [
        math.fsum(costs[list(group)].tolist()) for group in members if group[0] not in left_out
    ]
    if not forced and prices and min(prices) > limit:
        raise ValueError(
            f"budget={budget:g} is too small for any feature: the cheapest costs {min(prices):g}."
        )
