"""Rows by fold: sorted when they are first asked for, on the host or on a device.

Sorting a million rows on the host takes longer than a step of a search on a GPU, which sorts them
in no time, and needs one byte for each row rather than its number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base import Array, ArrayLocation, send

Rows = NDArray[np.intp]


class RowOrder:
    """Which fold each row is in, and the rows of each fold in order."""

    def __init__(self, fold_of: NDArray[Any], n_folds: int) -> None:
        # Numbers of one or two bytes are sorted without comparisons.
        small = np.uint8 if n_folds <= 1 << 8 else np.uint16 if n_folds <= 1 << 16 else np.int64
        self.fold_of = fold_of.astype(small, copy=False)
        self.counts: list[int] = np.bincount(fold_of, minlength=n_folds).tolist()

    @cached_property
    def rows(self) -> list[Rows]:
        """Sorted row numbers of each fold."""
        return self._cut(np.argsort(self.fold_of, kind="stable"))

    def there(self, location: ArrayLocation) -> list[Array]:
        """The same on a device."""
        narrow = self.fold_of.dtype == np.uint8
        fold_of = send(location, self.fold_of if narrow else self.fold_of.astype(np.int64))
        return self._cut(location.xp.argsort(fold_of, stable=True))

    def _cut(self, order: Any) -> list[Any]:
        ends = np.cumsum(self.counts).tolist()
        return [order[begin:end] for begin, end in zip([0, *ends[:-1]], ends, strict=True)]

    def members(self) -> list[FoldMembers]:
        """The rows of each fold."""
        return [FoldMembers(self, number) for number in range(len(self.counts))]


class FoldMembers:
    """The rows of one fold."""

    def __init__(self, order: RowOrder, number: int) -> None:
        self.order, self.number = order, number

    def __len__(self) -> int:
        return self.order.counts[self.number]

    @property
    def rows(self) -> Rows:
        """Sorted row numbers."""
        return self.order.rows[self.number]


def rows_of(rows: Rows | FoldMembers) -> Rows:
    """Sorted row numbers on the host."""
    return rows.rows if isinstance(rows, FoldMembers) else rows


def numbers_on_device(
    location: ArrayLocation, sets: Sequence[Rows | FoldMembers | None], n_samples: int
) -> list[Any]:
    """Sets of rows as numbers on a device, or as slices where rows follow each other.

    None stands for all rows.
    """
    found: list[Any] = []
    sorted_there: dict[int, list[Array]] = {}
    for rows in sets:
        if rows is None:
            found.append(slice(0, n_samples))
        elif isinstance(rows, FoldMembers):
            key = id(rows.order)
            if key not in sorted_there:
                sorted_there[key] = rows.order.there(location)
            found.append(sorted_there[key][rows.number])
        elif len(rows) and rows[-1] - rows[0] + 1 == len(rows):  # they are sorted
            found.append(slice(int(rows[0]), int(rows[-1]) + 1))
        else:
            found.append(send(location, rows.astype(np.int64)))
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Rows to train on and rows to test on; none is in both."""

    tested: Rows | FoldMembers  # sorted row numbers
    given: Rows | None  # to train on, sorted; None: exactly all rows that are not in test
    n_samples: int

    @property
    def test(self) -> Rows:
        """Sorted row numbers."""
        return rows_of(self.tested)

    @property
    def is_complement(self) -> bool:
        """Whether it trains on all rows that it does not test."""
        return self.given is None

    @property
    def train(self) -> Rows:
        """Sorted row numbers."""
        if self.given is not None:
            return self.given
        is_left = np.ones(self.n_samples, dtype=bool)
        is_left[self.test] = False
        return np.flatnonzero(is_left)

    def n_trained_on(self, counted: NDArray[np.bool_]) -> int:
        """How many rows it trains on of those that count."""
        if self.given is not None:
            return int(np.count_nonzero(counted[self.given]))
        return int(np.count_nonzero(counted) - np.count_nonzero(counted[self.test]))

    @property
    def where(self) -> Rows | slice:
        """The test rows; as a slice where they follow each other."""
        first = int(self.test[0]) if len(self.test) else 0
        if len(self.test) and int(self.test[-1]) - first + 1 == len(self.test):
            return slice(first, first + len(self.test))
        return self.test
