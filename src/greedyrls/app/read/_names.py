"""Names of columns, made unique and non-empty, with notes on the changes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from .._table import listed, options_for

# The name that pandas gives to a first column without a name.
_UNNAMED = re.compile(r"Unnamed: 0")


@dataclass(frozen=True, slots=True)
class Names:
    """The names of all columns of a file, after cleaning."""

    names: list[str]  # stripped, unique and not empty
    row_names: str | None = None  # the first column, if it seems to hold row names
    numbered: tuple[str, ...] = ()  # columns that have no name in the file
    repeated: tuple[str, ...] = ()  # columns that repeat an earlier name
    trimmed: tuple[str, ...] = ()  # columns whose names were stripped

    def left_out(self, wanted: Collection[str]) -> frozenset[str]:
        """Return columns that are left out unless they are asked for: row names."""
        if self.row_names is None or self.row_names in wanted or len(self.names) == 1:
            return frozenset()
        return frozenset((self.row_names,))

    def notes(self, used: Collection[str], left_out: Collection[str]) -> list[str]:
        """Return notes on changed names of columns that are used."""
        notes, used = [], frozenset(used)
        if self.row_names is not None and self.row_names in left_out:
            named = "has no name" if self.row_names in self.numbered else f"is {self.row_names!r}"
            notes.append(
                f"The first column {named}: taken as row names and left out. To keep it as a "
                f"feature, pass {options_for('--keep', [self.row_names])}."
            )
        for names, sentence in (
            (self.numbered, "Columns without a name are called {}."),
            (self.repeated, "Columns that have the name of an earlier one are called {}."),
            (self.trimmed, "Blanks around the names of columns were taken off: {}."),
        ):
            seen = [name for name in names if name in used]
            if seen:
                notes.append(sentence.format(listed(seen)))
        return notes


def tidy(raw: Sequence[str]) -> Names:
    """Clean the names of a file, so that each stands for one column."""
    stripped = [name.strip() for name in raw]
    taken = set(stripped)
    seen: set[str] = set()
    counts: Counter[str] = Counter()
    names: list[str] = []
    numbered, repeated, trimmed = [], [], []
    for number, (name, original) in enumerate(zip(stripped, raw, strict=True), 1):
        if not name:
            name = _free(f"column {number}", taken, counts)
            numbered.append(name)
        elif name in seen:
            name = _free(name, taken, counts)
            repeated.append(name)
        elif name != original:
            trimmed.append(name)
        taken.add(name)
        seen.add(name)
        names.append(name)
    row_names = None
    if names and (not stripped[0] or _UNNAMED.fullmatch(names[0])):
        row_names = names[0]
    return Names(names, row_names, tuple(numbered), tuple(repeated), tuple(trimmed))


def _free(name: str, taken: Collection[str], counts: Counter[str]) -> str:
    """Return the name, with a number appended if it is taken."""
    free = name
    while free in taken:
        counts[name] += 1
        free = f"{name} ({counts[name] + 1})"
    return free
