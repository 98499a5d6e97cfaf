"""Names of features as they are shown: a column and the text it must have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..app import SelectionResult, order_of
from ._words import plain_name

# Most characters of a name; fewer on a long path, since each name occurs about twenty times.
_LENGTH, _SHORTEST, _ALL = 300, 40, 30_000


class Name(NamedTuple):
    """The name of a feature in two parts, ready to be shown."""

    column: str
    level: str | None = None
    is_forced: bool = False

    @property
    def text(self) -> str:
        """The name in one piece."""
        return self.column if self.level is None else f"{self.column}={self.level}"


class Names:
    """The names of the features of a result, short enough to be shown."""

    def __init__(self, result: SelectionResult) -> None:
        self._result = result
        self.length = max(_SHORTEST, min(_LENGTH, _ALL // len(result.features)))
        # Names of all features, the size at which each enters, and names of what each size adds.
        self.path: list[Name] = []
        self.sizes: list[int] = []
        self.steps: list[Name] = []
        seen = set[int]()
        order = order_of(result.path)
        changes = [] if result.path.is_nested else result.path.changes()
        for size, step in enumerate(result.path.sets, 1):
            added = [index for index in step.features if index not in seen]
            seen.update(added)
            for feature in result.features[len(self.path) : len(self.path) + len(added)]:
                level = None if feature.level is None else self.short(feature.level)
                self.path.append(Name(self.short(feature.column), level, step.forced))
                self.sizes.append(size)
            if changes:  # sets that are not nested may also lose features
                self.steps.append(Name(self.short(changes[size - 1]), None, step.forced))
            else:
                whole = Name(self.path[-1].column, None, step.forced)
                self.steps.append(self.path[-1] if len(added) == 1 else whole)
        self._groups = {
            index: group[0]
            for group in result.path.settings.feature_groups or ()
            for index in group
        }
        self.positions = {index: position for position, index in enumerate(order)}
        self._texts = [column for column in result.inputs if column.levels is not None]

    def short(self, name: str) -> str:
        """Return any name, cut to the length."""
        return plain_name(name, self.length)

    def of(self, index: int) -> Name:
        """Return the name of any feature that the search saw.

        A "=" in the name of a feature that is not on the path separates a column from its text only
        if another text of that column is on the path.
        """
        if index in self._groups:  # it represents its whole group
            return Name(self.short(self._result.path.name_of(index)))
        if index in self.positions:
            return self.path[self.positions[index]]._replace(is_forced=False)
        names_in = self._result.path.settings.feature_names_in
        name = names_in[index] if names_in else f"x{index}"
        for column in self._texts:
            level = name.removeprefix(f"{column.name}=")
            if level != name and column.levels is not None and level in column.levels:
                return Name(self.short(column.name), self.short(level))
        return Name(self.short(name))


def together(columns: Sequence[str]) -> list[int]:
    """Return indices in the order of selection, but with the levels of a column adjacent.

    >>> together(["colour", "size", "colour"])
    [0, 2, 1]
    """
    first: dict[str, int] = {}
    for index, column in enumerate(columns):
        first.setdefault(column, index)
    return sorted(range(len(columns)), key=lambda index: (first[columns[index]], index))
