"""Rows by fold, sorted on demand on the host or on a device.

Sorting a million rows on the host takes longer than a step of a search on a GPU. Sorting them on
the GPU is fast, and only one byte for each row is transferred.
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
    """The fold of each row, and the sorted rows of each fold."""

    def __init__(self, fold_of: NDArray[Any], n_folds: int) -> None:
        # NumPy uses radix sort for integers of one or two bytes.
        small = np.uint8 if n_folds <= 1 << 8 else np.uint16 if n_folds <= 1 << 16 else np.int64
        self.fold_of = fold_of.astype(small, copy=False)
        self.counts: list[int] = np.bincount(fold_of, minlength=n_folds).tolist()

    @cached_property
    def rows(self) -> list[Rows]:
        """Sorted row numbers of each fold, on the host."""
        return self._cut(np.argsort(self.fold_of, kind="stable"))

    def rows_at(self, location: ArrayLocation) -> list[Array]:
        """Return the sorted row numbers of each fold on a device."""
        narrow = self.fold_of.dtype == np.uint8
        fold_of = send(location, self.fold_of if narrow else self.fold_of.astype(np.int64))
        return self._cut(location.xp.argsort(fold_of, stable=True))

    def _cut(self, order: Any) -> list[Any]:
        ends = np.cumsum(self.counts).tolist()
        return [order[begin:end] for begin, end in zip([0, *ends[:-1]], ends, strict=True)]

    def members(self) -> list[FoldMembers]:
        """Return the rows of each fold as lazily sorted objects."""
        return [FoldMembers(self, number) for number in range(len(self.counts))]


class FoldMembers:
    """The rows of one fold, sorted on demand."""

    def __init__(self, order: RowOrder, number: int) -> None:
        self.order, self.number = order, number

    def __len__(self) -> int:
        return self.order.counts[self.number]

    @property
    def rows(self) -> Rows:
        """Sorted row numbers, on the host."""
        return self.order.rows[self.number]


def rows_of(rows: Rows | FoldMembers) -> Rows:
    """Return sorted row numbers on the host."""
    return rows.rows if isinstance(rows, FoldMembers) else rows


def numbers_on_device(
    location: ArrayLocation, sets: Sequence[Rows | FoldMembers | None], n_samples: int
) -> list[Any]:
    """Return sets of rows as numbers on a device, or as slices if rows are consecutive.

    None stands for all rows.
    """
    located: list[Any] = []
    sorted_rows: dict[int, list[Array]] = {}
    for rows in sets:
        if rows is None:
            located.append(slice(0, n_samples))
        elif isinstance(rows, FoldMembers):
            key = id(rows.order)
            if key not in sorted_rows:
                sorted_rows[key] = rows.order.rows_at(location)
            located.append(sorted_rows[key][rows.number])
        elif len(rows) and rows[-1] - rows[0] + 1 == len(rows):  # they are sorted
            located.append(slice(int(rows[0]), int(rows[-1]) + 1))
        else:
            located.append(send(location, rows.astype(np.int64)))
    return located


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Disjoint training and test rows."""

    tested: Rows | FoldMembers  # sorted row numbers
    explicit_train: Rows | None  # sorted training rows; None: all rows that are not tested
    n_samples: int

    @property
    def test(self) -> Rows:
        """Sorted test rows."""
        return rows_of(self.tested)

    @property
    def is_complement(self) -> bool:
        """Whether the training rows are all rows that are not tested."""
        return self.explicit_train is None

    @property
    def train(self) -> Rows:
        """Sorted training rows."""
        if self.explicit_train is not None:
            return self.explicit_train
        is_left = np.ones(self.n_samples, dtype=bool)
        is_left[self.test] = False
        return np.flatnonzero(is_left)

    def n_trained_on(self, counted: NDArray[np.bool_]) -> int:
        """Return the number of training rows in the mask `counted`."""
        if self.explicit_train is not None:
            return int(np.count_nonzero(counted[self.explicit_train]))
        return int(np.count_nonzero(counted) - np.count_nonzero(counted[self.test]))

    @property
    def where(self) -> Rows | slice:
        """The test rows, as a slice if they are consecutive."""
        first = int(self.test[0]) if len(self.test) else 0
        if len(self.test) and int(self.test[-1]) - first + 1 == len(self.test):
            return slice(first, first + len(self.test))
        return self.test
