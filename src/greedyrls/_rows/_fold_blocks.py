"""A row block for folds: sums over sets of its rows, and its part of the held-out rows.

Like `RowBlock` it is an immutable value: `begin`, `opened` and `advanced` return new ones.
Questions to it are functions of a block (`_fold_sums`, `_fold_losses`, `_fold_at_set`), whose
answers are added up over blocks and have no axis for rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base import (
    LEAST_TILE_ROWS,
    TILE_ELEMENTS,
    Float,
    slices,
    take,
    to_device,
)
from .._data import Matrix, pin_column
from .._problem import FoldMembers, numbers_on_device, rows_of
from ._fused_sets import RowSets
from ._held_out import HeldOutRows, padded

Rows = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class FoldBlock:
    """Rows of X and y with the sets that they belong to: first the test rows of each split."""

    X: Matrix
    raw: Float  # (rows × t) the targets as given
    weights: Float  # (rows)
    sets: tuple[Rows | FoldMembers | None, ...]  # None: all rows
    trains: tuple[Rows, ...]  # the training rows of each split; () if all are complements
    Y: Float  # (rows × t) minus their shift
    shift: Float
    splits: tuple[HeldOutRows, ...] = ()
    # Caches: each set's rows of a sparse X, or their numbers on a device.
    parts: dict[int, Any] = field(default_factory=dict)
    numbers: dict[int, list[Any]] = field(default_factory=dict)  # by the number of sets
    row_sets: dict[int, RowSets] = field(default_factory=dict)

    @classmethod
    def from_rows(
        cls,
        X: Matrix,
        Y: Float,
        weights: Float | None,
        sets: tuple[Rows | FoldMembers | None, ...],
        trains: tuple[Rows, ...],
    ) -> FoldBlock:
        """Return a block in which nothing is shifted yet."""
        weights = X.location.ones(Y.shape[0]) if weights is None else weights
        return cls(X, Y, weights, sets, trains, Y, np.zeros(X.shape[1]))

    def begin(self, shift: Float, target_shift: Float) -> FoldBlock:
        """Return the block that subtracts the shifts from X and Y in all sums."""
        (moved,) = to_device(self.X.location, target_shift)
        return replace(self, shift=shift, Y=self.raw - moved)

    def with_sets(self, sets: Sequence[int]) -> FoldBlock:
        """Return the block with the training rows of splits as additional sets."""
        return replace(self, sets=(*self.sets, *(self.train_rows(split) for split in sets)))

    def train_rows(self, split: int) -> Rows:
        """Return the training rows of a split."""
        if self.trains:
            return self.trains[split]
        is_held_out, tested = np.zeros(self.raw.shape[0], dtype=bool), self.sets[split]
        is_held_out[slice(None) if tested is None else rows_of(tested)] = True
        return np.flatnonzero(~is_held_out)

    def visit(self) -> Iterator[tuple[int, Any, Matrix]]:
        """Yield each set's rows of each tile minus the shift, in one pass."""
        sets = (
            self._on_device() if self.X.location.on_device else list(map(_sorted_rows, self.sets))
        )
        return self.X.tiles_by_set(sets, self.shift, self.parts)

    def _on_device(self) -> list[Any]:
        """Return the rows of all sets as numbers on the device, or slices."""
        count = len(self.sets)
        if count not in self.numbers:
            self.numbers[count] = numbers_on_device(self.X.location, self.sets, self.X.shape[0])
        return self.numbers[count]

    def all_row_sets(self) -> RowSets:
        """Return all sets, concatenated, for the kernel."""
        count = len(self.sets)
        if count not in self.row_sets:
            self.row_sets[count] = RowSets.of(self.X, self._on_device())
        return self.row_sets[count]

    def column(self, index: int, rows: Rows | slice = slice(None)) -> Float:
        """Return rows of a column minus its shift."""
        column: Float = self.X.columns(np.array([index]), rows)[0, :] - float(self.shift[index])
        return column

    def opened(self, target_means: Float, limit: int) -> FoldBlock:
        """Return the block at the empty models of a search, with target means (K × t).

        Means are over training rows. Columns of at most `limit` chosen features are kept.
        """
        location = self.X.location
        tests = [rows for rows in self.sets[: len(target_means)] if rows is not None]
        data = (self.weights, self.raw, self.Y)
        splits: tuple[HeldOutRows, ...]
        if self.X.location.on_device:
            sets = self._on_device()[: len(tests)]
            rows, has_row = padded(location, sets, [len(test) for test in tests])
            splits = (
                HeldOutRows.at_the_start(location, rows, has_row, *data, target_means, limit),
            )
        else:
            splits = tuple(
                HeldOutRows.at_the_start(
                    location, rows_of(test)[None], None, *data, means[None], limit
                )
                for test, means in zip(tests, target_means, strict=True)
            )
        return replace(self, splits=splits)

    def with_room(self, capacity: int) -> FoldBlock:
        """Return the block with memory for `capacity` columns of all held-out rows."""
        return replace(self, splits=tuple(split.with_room(capacity) for split in self.splits))

    def noted(self, selected: tuple[int, ...]) -> FoldBlock:
        """The block after features were added in the memory of its held-out rows."""
        return replace(self, splits=tuple(split.noted(selected) for split in self.splits))

    def shared_out(self, *values: Float) -> Iterator[tuple[HeldOutRows, list[Float]]]:
        """Yield held-out rows with their part of arrays for all splits (K × …)."""
        first = 0
        is_there = not isinstance(values[0], np.ndarray)
        moved = list(values) if is_there else to_device(self.X.location, *values)
        for split in self.splits:
            last = first + split.rows.shape[0]
            yield split, [array[first:last, ...] for array in moved]
            first = last

    def advanced(
        self, leftovers: list[tuple[Float, Float]], index: int, means: Float, rho: Float
    ) -> FoldBlock:
        """Return the block with the feature added to the models of all splits."""
        shared = zip(self.shared_out(means, rho), leftovers, strict=True)
        splits = tuple(
            split.with_feature(index, column, mean, z, split_rho)
            for (split, (mean, split_rho)), (column, z) in shared
        )
        pin_column(self.X, index)
        return replace(self, splits=splits)

    def tiles_of_splits(self, columns: NDArray[np.intp]) -> Iterator[tuple[int, slice, Float]]:
        """Yield `tiles_of` the held-out rows of each split, with the number of the split.

        A file is read once for all splits, unless the columns are in memory already.
        """
        if not self.X.kept.missing(columns.tolist()):
            for number, split in enumerate(self.splits):
                for part, x in self.tiles_of(split.rows[0], columns):
                    yield number, part, x
            return
        shift = self.shift[columns]
        height = max(LEAST_TILE_ROWS, TILE_ELEMENTS // len(columns))
        for inside, chunk in self.X.chunks():
            for number, split in enumerate(self.splits):
                first, last = np.searchsorted(split.rows[0], (inside.start, inside.stop)).tolist()
                for top in range(first, last, height):
                    part = slice(top, min(last, top + height))
                    rows = split.rows[0][part] - inside.start
                    taken = chunk.part(rows)[:, columns]
                    yield number, part, taken.astype(np.float64, order="C") - shift

    def tiles_of(self, rows: Rows, columns: NDArray[np.intp]) -> Iterator[tuple[slice, Float]]:
        """Yield rows and columns of X minus the shift, in tiles, with their slice of `rows`."""
        if self.X.location.on_device:  # all at once
            (moved,) = to_device(self.X.location, self.shift[columns])
            yield slice(None), take(self.X.columns(columns), rows).T - moved
            return
        everything = np.array_equal(columns, np.arange(self.X.shape[1]))
        shift = self.shift[columns]
        height = max(LEAST_TILE_ROWS, TILE_ELEMENTS // len(columns))
        for part in slices(len(rows), height):
            taken = self.X.part(rows[part], None if everything else columns)
            x = taken.astype(np.float64, order="C", copy=False)
            x -= shift
            yield part, x


def _sorted_rows(rows: Rows | FoldMembers | None) -> Rows | None:
    return None if rows is None else rows_of(rows)
