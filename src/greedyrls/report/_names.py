"""Features as they are shown: a column, the text it must have, and what belongs together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..app import SelectionResult, order_of
from ._words import plain_name

# Characters of a name; fewer on a long path, since each name is there some twenty times.
_LENGTH, _SHORTEST, _ALL = 300, 40, 30_000


class Name(NamedTuple):
    """A feature in two parts that can be shown."""

    column: str
    level: str | None = None
    is_forced: bool = False

    @property
    def text(self) -> str:
        """In one piece."""
        return self.column if self.level is None else f"{self.column}={self.level}"


class Names:
    """The names of a result's features, short enough to be shown."""

    def __init__(self, result: SelectionResult) -> None:
        self._result = result
        self.length = max(_SHORTEST, min(_LENGTH, _ALL // len(result.features)))
        # Of every feature, with the size at which it comes in, and of what each size adds.
        self.path: list[Name] = []
        self.sizes: list[int] = []
        self.steps: list[Name] = []
        known = set[int]()
        order = order_of(result.path)
        changes = [] if result.path.is_nested else result.path.changes()
        for size, step in enumerate(result.path.sets, 1):
            added = [index for index in step.features if index not in known]
            known.update(added)
            for feature in result.features[len(self.path) : len(self.path) + len(added)]:
                level = None if feature.level is None else self.short(feature.level)
                self.path.append(Name(self.short(feature.column), level, step.forced))
                self.sizes.append(size)
            if changes:  # sets that are not nested may lose features, too
                self.steps.append(Name(self.short(changes[size - 1]), None, step.forced))
            else:
                whole = Name(self.path[-1].column, None, step.forced)
                self.steps.append(self.path[-1] if len(added) == 1 else whole)
        self._groups = {
            index: group[0]
            for group in result.path.settings.feature_groups or ()
            for index in group
        }
        self.places = {index: place for place, index in enumerate(order)}
        self._texts = [column for column in result.inputs if column.levels is not None]

    def short(self, name: str) -> str:
        """Any name, cut to the length."""
        return plain_name(name, self.length)

    def of(self, index: int) -> Name:
        """Of any feature that the search saw.

        Whether "=" in the name of a feature that is not on the path parts a column from its text
        is known only if another text of that column is on the path.
        """
        if index in self._groups:  # it stands for all of its group
            return Name(self.short(self._result.path.name_of(index)))
        if index in self.places:
            return self.path[self.places[index]]._replace(is_forced=False)
        known = self._result.path.settings.feature_names_in
        name = known[index] if known else f"x{index}"
        for column in self._texts:
            level = name.removeprefix(f"{column.name}=")
            if level != name and column.levels is not None and level in column.levels:
                return Name(self.short(column.name), self.short(level))
        return Name(self.short(name))


def together(columns: Sequence[str]) -> list[int]:
    """Places in the order of selection, but with the levels of a column together.

    >>> together(["colour", "size", "colour"])
    [0, 2, 1]
    """
    first: dict[str, int] = {}
    for place, column in enumerate(columns):
        first.setdefault(column, place)
    return sorted(range(len(columns)), key=lambda place: (first[columns[place]], place))
