"""A table in memory: named columns of numbers or of text, wherever they came from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._kernels import Float

# So many names are listed in a message.
SHOWN = 5
# More different texts than this are names or codes, not categories.
MOST_LEVELS = 50


class InputError(ValueError):
    """Something is wrong with what the user gave: says what, where, and what to do."""


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """A column of numbers, or of true and false."""

    values: Float  # (m) float64, not a number where missing; flags are 0 and 1
    is_whole: bool = False  # every value there is a whole number
    is_flag: bool = False  # true and false in the file

    @property
    def is_missing(self) -> NDArray[np.bool_]:
        """Where there is no value, (m)."""
        return np.isnan(self.values)


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """A column of text."""

    codes: NDArray[np.int32]  # (m) place among the levels, −1 where missing
    levels: tuple[str, ...]  # different texts, sorted

    @property
    def is_missing(self) -> NDArray[np.bool_]:
        """Where there is no value, (m)."""
        return self.codes < 0

    def strings(self) -> list[str | None]:
        """The text of each row."""
        known = (*self.levels, None)  # −1 is the last
        return [known[code] for code in self.codes.tolist()]


@dataclass(frozen=True, slots=True)
class Unusable:
    """A column that is neither: dates, lists, bytes."""

    what: str  # in words, such as "dates"


@dataclass(frozen=True, slots=True, eq=False)
class Dates(Unusable):
    """Dates that were asked for: no feature themselves, but they have parts that are."""

    moments: NDArray[np.datetime64]  # (m) microseconds in UTC, not a time where missing
    order: str | None = None  # "dmy" or "mdy", where years are written last

    @property
    def is_missing(self) -> NDArray[np.bool_]:
        """Where there is no value, (m)."""
        return np.isnat(self.moments)


Column = Numbers | Texts | Unusable


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Columns by name, in the order of the file."""

    source: str  # the file as the user named it
    columns: dict[str, Column]
    n_rows: int
    # The column that is the target unless another is named, for formats that have one.
    target: str | None = None
    notes: tuple[str, ...] = ()  # what was done to read it, in sentences

    def column(self, name: str) -> Column:
        """A column, or an error that names those like it."""
        if name not in self.columns:
            raise InputError(f"{self.source} has no column {name!r}{_suggestion(name, self)}")
        return self.columns[name]


def _suggestion(name: str, table: Table) -> str:
    import difflib

    names = list(table.columns)
    folded = {known.casefold().strip(): known for known in names}
    close = difflib.get_close_matches(name.casefold().strip(), folded, 3, 0.6)
    if close:
        return f"; did you mean {' or '.join(repr(folded[one]) for one in close)}?"
    shown = ", ".join(repr(one) for one in names[:8])
    return f"; it has {shown}{', …' if len(names) > 8 else '.'}"


def listed(names: Sequence[str]) -> str:
    """Some names, and how many more there are."""
    shown = ", ".join(repr(name) for name in names[:SHOWN])
    return f"{shown} and {len(names) - SHOWN} more" if len(names) > SHOWN else shown


def options_for(option: str, names: Sequence[str]) -> str:
    """What to type to name these columns."""
    import shlex

    shown = " ".join(f"{option} {shlex.quote(name)}" for name in names[:SHOWN])
    return f"{shown} …" if len(names) > SHOWN else shown


def make_texts(values: list[Any]) -> Texts:
    """A column of text from strings, with None for missing ones."""
    levels = sorted({value for value in values if value is not None})
    place = {level: code for code, level in enumerate(levels)}
    codes = np.fromiter(
        (-1 if value is None else place[value] for value in values), np.int32, len(values)
    )
    return Texts(codes, tuple(levels))
