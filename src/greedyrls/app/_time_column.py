"""The column of a table that orders its rows in time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._problem import TimeOrderedSplit
from ._table import Dates, InputError, Numbers, Table, Unusable

Codes = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class TimeOrder:
    """Units of rows in time order; a unit is never split between folds."""

    column: str
    starts: Codes  # (units) first and last time of each, by rank
    ends: Codes

    def splitter(self, n_splits: int, keeps_classes: bool) -> TimeOrderedSplit:
        """Return a splitter for folds in this order, of rows whose groups are these units."""
        words = f"the order of {self.column!r}"
        return TimeOrderedSplit(n_splits, self.starts, self.ends, words, keeps_classes)

    def note(self, is_feature: bool) -> str:
        """Return a note on the order."""
        also = "" if is_feature else f"; {self.column!r} itself is not a feature"
        return (
            f"Rows are in the order of {self.column!r}: all folds train on earlier rows and test "
            f"on later ones{also}."
        )


def check_times(table: Table, name: str, target: str) -> None:
    """Raise an error if a row with a target has no time; rows are still numbered as in the file."""
    values, y = table.columns[name], table.columns[target]
    if isinstance(y, Unusable) or not isinstance(values, Numbers | Dates):
        return
    is_missing = values.is_missing & ~y.is_missing
    if is_missing.any():
        location = table.location(int(np.argmax(is_missing)))
        raise InputError(
            f"Column {name!r} (--time) of {table.source} has missing values, first in {location}; "
            "fill them in, or leave these rows out of the file."
        )


def ordered_by(
    table: Table, name: str, groups: NDArray[Any] | None, grouped_by: str | None
) -> tuple[Codes, TimeOrder]:
    """Return the unit of each row (its group or time), and when units begin and end."""
    values = table.columns[name]
    where = f"Column {name!r} (--time) of {table.source}"
    if isinstance(values, Dates):
        times: NDArray[Any] = values.moments
    elif isinstance(values, Numbers):
        times = values.values
    else:
        kind = values.what if isinstance(values, Unusable) else "text"
        raise InputError(f"{where} has {kind}; it must have dates, timestamps or numbers.")
    ranks = np.unique(times, return_inverse=True)[1].reshape(-1)
    if ranks.max() < 1:
        raise InputError(f"{where} has a single value in all rows: there is no order.")
    units = ranks if groups is None else groups
    starts = np.full(int(units.max()) + 1, len(ranks))
    ends = np.zeros(len(starts), dtype=np.intp)
    np.minimum.at(starts, units, ranks)
    np.maximum.at(ends, units, ranks)
    if starts.max() <= ends.min():
        raise InputError(
            f"The groups of {grouped_by!r} overlap in time: none of them ends before another "
            f"begins, so that later ones cannot be tested. Leave out --cv {grouped_by!r} or --time."
        )
    return units, TimeOrder(name, starts, ends)
