"""A row block for folds: sums over sets of its rows, and its part of what each split holds out.

As `RowBlock` it answers questions whose answers are added up over blocks, and it is a value:
`begin`, `opened` and `advanced` return new ones. What is added up has no number for each row.
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
    add_up,
    namespace_of,
    numbers_on,
    stacked,
    take,
    take_rows,
    to_device,
    to_host,
    weighted_means,
)
from .._data import Matrix
from .._problem import FoldMembers, Loss, numbers_on_device, rows_of
from . import tiles
from ._fold_answers import (
    Candidates,
    RefinedSums,
    RoughSums,
    SetProducts,
    SetSums,
    SplitSums,
    StepSums,
)
from ._fused_sets import RowSets, can_fuse, set_products, set_sums
from ._held_out import HeldOutRows, padded

# Rows of a block looked at for rough means, and columns at a time.
_SHIFT_ROWS = 128
_SHIFT_COLUMNS = 1024

Rows = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class FoldBlock:
    """Rows of X and y with the sets that they belong to: first the test rows of each split."""

    X: Matrix
    raw: Float  # (rows × t) the targets as given
    weights: Float  # (rows)
    sets: tuple[Rows | FoldMembers | None, ...]  # None: all rows
    trains: tuple[Rows, ...]  # the training rows of each split; () where all are complements
    Y: Float  # (rows × t) less their shift
    shift: Float
    splits: tuple[HeldOutRows, ...] = ()
    # Each set's rows of a sparse X, or their numbers on a device: caches.
    parts: dict[int, Any] = field(default_factory=dict)
    numbers: dict[int, list[Any]] = field(default_factory=dict)  # by how many sets there are
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
        """Before anything is shifted."""
        weights = X.place.ones(Y.shape[0]) if weights is None else weights
        return cls(X, Y, weights, sets, trains, Y, np.zeros(X.shape[1]))

    def rough_sums(self) -> RoughSums:
        """From a few rows what the means roughly are; 0 for a sparse X, which stays as it is."""
        n = self.X.shape[1]
        xp = namespace_of(self.weights)
        weight, y = float(xp.sum(self.weights)), weighted_means(self.raw.T, self.weights)
        some = self.X.sample_rows(self.weights, _SHIFT_ROWS)
        if some is None:
            return RoughSums(0.0, np.zeros(n), np.zeros(n), weight, y)
        count = int(some.shape[0])
        x, xx = np.zeros(n), np.zeros(n)
        if self.X.on_device:
            x, xx, y = to_host(xp.sum(some, axis=0), xp.var(some, axis=0) * count, y)
        elif count:
            with np.errstate(over="ignore", invalid="ignore"):
                for first in range(0, n, _SHIFT_COLUMNS):
                    columns = slice(first, first + _SHIFT_COLUMNS)
                    values = some[:, columns].astype(np.float64)
                    x[columns] = values.sum(axis=0)
                    xx[columns] = values.var(axis=0) * count
        return RoughSums(float(count), x, xx, weight, y)

    def begin(self, shift: Float, target_shift: Float) -> FoldBlock:
        """The block whose X and Y are less their shifts in all sums."""
        (own,) = to_device(self.X.place, target_shift)
        return replace(self, shift=shift, Y=self.raw - own)

    def with_sets(self, sets: Sequence[int]) -> FoldBlock:
        """The block that also sums the training rows of some splits for themselves."""
        return replace(self, sets=(*self.sets, *(self.train_rows(split) for split in sets)))

    def train_rows(self, split: int) -> Rows:
        """The training rows of a split."""
        if self.trains:
            return self.trains[split]
        is_held_out, tested = np.zeros(self.raw.shape[0], dtype=bool), self.sets[split]
        is_held_out[slice(None) if tested is None else rows_of(tested)] = True
        return np.flatnonzero(~is_held_out)

    def set_sums(self) -> SetSums:
        """Sums over each set of rows: one pass."""
        if can_fuse(self.X):
            return set_sums(self.X, self._row_sets(), self.Y, self.weights, self.shift)
        sets, n, t = len(self.sets), self.X.shape[1], self.Y.shape[1]
        zeros, xp = self.X.place.zeros, namespace_of(self.Y)
        sums = SetSums(
            zeros(sets),
            zeros((sets, n)),
            zeros((sets, n)),
            zeros((sets, t, n)),
            zeros((sets, t)),
            zeros((sets, t)),
        )

        with np.errstate(over="ignore", invalid="ignore"):
            for place, rows, x in self.visit():
                w, y = _rows_of(self.weights, rows), _rows_of(self.Y, rows)
                weighted = y * w[:, None]
                sums.weight[place] += xp.sum(w)
                sums.y[place, :] += xp.sum(weighted, axis=0)
                sums.yy[place, :] += xp.sum(weighted * y, axis=0)
                products, squares = x.start_sums(stacked([w[None, :], weighted.T]), w)
                sums.x[place, :] += products[0, :]
                sums.xy[place, :, :] += products[1:, :]
                sums.xx[place, :] += squares
        return sums

    def products(self, order: NDArray[np.intp]) -> SetProducts:
        """Σ w x_b x_i over each set of rows, X less its shift: one pass."""
        if can_fuse(self.X):
            known = (self._row_sets(), order, self.weights, self.shift)
            return SetProducts(set_products(self.X, *known))
        values = self.X.place.zeros((len(order), len(self.sets), self.X.shape[1]))
        self.X.take_along(order.tolist())
        for place, rows, x in self.visit():
            own = x.columns(order) * _rows_of(self.weights, rows)
            values[:, place, :] += x.product(own)
        return SetProducts(values)

    def visit(self) -> Iterator[tuple[int, Any, Matrix]]:
        """One pass: each set's rows of each tile, less the shift, to use as one likes."""
        sets = self._on_device() if self.X.on_device else list(map(_sorted_rows, self.sets))
        return self.X.tiles_by_set(sets, self.shift, self.parts)

    def _on_device(self) -> list[Any]:
        """The rows of all sets, as numbers there or slices."""
        count = len(self.sets)
        if count not in self.numbers:
            self.numbers[count] = numbers_on_device(self.X.place, self.sets, self.X.shape[0])
        return self.numbers[count]

    def _row_sets(self) -> RowSets:
        """All sets, one after the other."""
        count = len(self.sets)
        if count not in self.row_sets:
            self.row_sets[count] = RowSets.of(self.X, self._on_device())
        return self.row_sets[count]

    def column(self, index: int, rows: Rows | slice = slice(None)) -> Float:
        """Some rows of a column less its shift."""
        column: Float = self.X.columns(np.array([index]), rows)[0, :] - float(self.shift[index])
        return column

    def opened(self, target_means: Float, limit: int) -> FoldBlock:
        """The block at the empty models of a search, whose means over training rows are (K × t).

        Columns of at most `limit` chosen features are kept.
        """
        place = self.X.place
        tests = [rows for rows in self.sets[: len(target_means)] if rows is not None]
        known = (self.weights, self.raw, self.Y)
        splits: tuple[HeldOutRows, ...]
        if self.X.on_device:
            sets = self._on_device()[: len(tests)]
            rows, has_row = padded(place, sets, [len(test) for test in tests])
            splits = (HeldOutRows.at_the_start(place, rows, has_row, *known, target_means, limit),)
        else:
            splits = tuple(
                HeldOutRows.at_the_start(
                    place, rows_of(test)[None], None, *known, means[None], limit
                )
                for test, means in zip(tests, target_means, strict=True)
            )
        return replace(self, splits=splits)

    def with_room(self, capacity: int) -> FoldBlock:
        """The block with room for so many columns of the held-out rows of all splits."""
        return replace(self, splits=tuple(split.with_room(capacity) for split in self.splits))

    def noted(self, selected: tuple[int, ...]) -> FoldBlock:
        """The block after features were added in the memory of its held-out rows."""
        return replace(self, splits=tuple(split.noted(selected) for split in self.splits))

    def _shared_out(self, *values: Float) -> Iterator[tuple[HeldOutRows, list[Float]]]:
        """The held-out rows, and their part of arrays for all splits (K × …), where they are."""
        first = 0
        is_there = not isinstance(values[0], np.ndarray)
        own = list(values) if is_there else to_device(self.X.place, *values)
        for split in self.splits:
            last = first + split.rows.shape[0]
            yield split, [array[first:last, ...] for array in own]
            first = last

    def leftovers(self, index: int, means: Float, beta: Float) -> list[tuple[Float, Float]]:
        """The held-out rows of a feature less its means (K), and z, (G × R) each."""
        whole = self.column(index)
        found = []
        for split, (mean, own) in self._shared_out(means, beta):
            column = split.of(whole) - mean[:, None]
            found.append((column, split.leftover(self.column, column, own)))
        return found

    def step_sums(self, leftovers: list[tuple[Float, Float]], rho: Float) -> StepSums:
        """What a feature with these leftovers does on the held-out rows; rho (K × t)."""
        parts = [
            split.sums(z, own)
            for (split, (own,)), (_, z) in zip(self._shared_out(rho), leftovers, strict=True)
        ]
        if len(parts) == 1:
            return StepSums(*parts[0])
        return StepSums(*(np.concatenate(values) for values in zip(*parts, strict=True)))

    def advanced(
        self, leftovers: list[tuple[Float, Float]], index: int, means: Float, rho: Float
    ) -> FoldBlock:
        """The block with the feature added to the models of all splits."""
        shared = zip(self._shared_out(means, rho), leftovers, strict=True)
        splits = tuple(
            split.with_feature(index, column, mean, z, own)
            for (split, (mean, own)), (column, z) in shared
        )
        self.X.pin(index)
        return replace(self, splits=splits)

    def refined_sums(
        self,
        split: int,
        columns: NDArray[np.intp],
        means: Float,
        target_means: Float,
        beta: Float,
        w: Float,
    ) -> RefinedSums:
        """Of the last of some columns, the others being the chosen ones, on the training rows.

        beta (|S|) are its coefficients on these, w (|S| × t) those of the model.
        """
        place = self.X.place
        rows = numbers_on(place, self.train_rows(split))
        means, target_means, beta, w = to_device(place, means, target_means, beta, w)
        parts = []
        for places, x in self.tiles_of(rows, columns):
            x = x - means
            z = x[:, -1] - x[:, :-1] @ beta
            weighted = z * take_rows(self.weights, rows[places])
            residual = take_rows(self.Y, rows[places]) - target_means
            inner = weighted[None, :] @ (residual - x[:, :-1] @ w)
            parts.append(RefinedSums(weighted @ x[:, :-1], weighted @ z, inner[0, :]))
        return add_up(parts)

    def stratum_weights(self, loss: Loss) -> SplitSums:
        """Weights of the held-out rows of each split in each stratum of a loss, (K × strata)."""
        count = loss.n_strata(self.raw.shape[1])
        sums = [
            np.bincount(loss.strata(split.y[0].T), split.weights[0], minlength=count)
            for split in self.splits
        ]
        return SplitSums(np.array(sums, dtype=np.float64))

    def split_losses(self, loss: Loss) -> SplitSums:
        """Σ w ℓ of the current models on the held-out rows in each stratum, (K × strata)."""
        count = loss.n_strata(self.raw.shape[1])
        values = np.zeros((len(self.splits), count))
        for number, split in enumerate(self.splits):
            (used,) = split.weights[0].nonzero()
            Y, predictions = split.y[0, :, used], (split.y - split.r)[0][:, None, used]
            weighted = loss.sample_losses(Y, predictions)[0] * split.weights[0, used]
            values[number] = np.bincount(loss.strata(Y), weighted, minlength=count)
        return SplitSums(values)

    @staticmethod
    def shares(loss: Loss, split: HeldOutRows, factors: Float) -> Float:
        """e_j = w_j × the factor of its stratum (strata)."""
        shares: Float = split.weights[0] * factors[loss.strata(split.y[0].T)]
        return shares

    def squared_losses(self, candidates: Candidates) -> SplitSums:
        """Σ w (r − z ρ)² of each split and target with each of some candidates added, (K × c).

        On a device, where a few are looked at.
        """
        indices, *terms = candidates
        columns = [self.column(index) for index in indices.tolist()]
        parts = []
        for split, (means, beta, rho) in self._shared_out(*terms):
            xp = namespace_of(split.r)
            x = xp.stack([split.of(column) for column in columns], axis=1) - means[:, :, None]
            for places, chosen in split.chosen(self.column):
                x = x - xp.permute_dims(beta[:, places, :], (0, 2, 1)) @ chosen
            errors = split.r[:, :, None, :] - rho[..., None] * x[:, None, :, :]
            weighted = errors * errors * split.weights[:, None, None, :]
            parts.append(xp.sum(weighted, axis=(1, 3)) / self.raw.shape[1])
        return SplitSums(stacked(parts))

    def candidate_losses(self, loss: Loss, factors: Float, candidates: Candidates) -> SplitSums:
        """Σ e ℓ of each split with each of some candidates added, (K × c), tile by tile."""
        shares = [
            self.shares(loss, split, own) for split, own in zip(self.splits, factors, strict=True)
        ]
        indices, means, beta, rho = candidates
        totals = np.zeros((len(self.splits), len(indices)))
        name = loss.name.removeprefix("balanced_")
        for number, places, x in self.tiles_of_splits(indices):
            split = self.splits[number]
            x -= means[number]
            for some, columns in split.chosen(self.column, places):
                x -= columns[0].T @ beta[number][some]
            errors = tiles.fold_errors(x, split.r[0][:, places], rho[number])
            totals[number] += tiles.error_sums(
                name, errors, split.y[0][:, places], shares[number][places]
            )
        return SplitSums(totals)

    def tiles_of_splits(self, columns: NDArray[np.intp]) -> Iterator[tuple[int, slice, Float]]:
        """`tiles_of` the held-out rows of each split, with the number of the split.

        A file is read once for all of them, unless the columns are there already.
        """
        if not self.X.missing(columns.tolist()):
            for number, split in enumerate(self.splits):
                for places, x in self.tiles_of(split.rows[0], columns):
                    yield number, places, x
            return
        shift = self.shift[columns]
        height = max(LEAST_TILE_ROWS, TILE_ELEMENTS // len(columns))
        for inside, chunk in self.X.chunks():
            for number, split in enumerate(self.splits):
                first, last = np.searchsorted(split.rows[0], (inside.start, inside.stop)).tolist()
                for top in range(first, last, height):
                    places = slice(top, min(last, top + height))
                    rows = split.rows[0][places] - inside.start
                    taken = chunk.part(rows)[:, columns]
                    yield number, places, taken.astype(np.float64, order="C") - shift

    def tiles_of(self, rows: Rows, columns: NDArray[np.intp]) -> Iterator[tuple[slice, Float]]:
        """Some rows and columns of X less the shift, in tiles, with their places among `rows`."""
        if self.X.on_device:  # all at once
            (own,) = to_device(self.X.place, self.shift[columns])
            yield slice(None), take(self.X.columns(columns), rows).T - own
            return
        everything = np.array_equal(columns, np.arange(self.X.shape[1]))
        shift = self.shift[columns]
        height = max(LEAST_TILE_ROWS, TILE_ELEMENTS // len(columns))
        for top in range(0, len(rows), height):
            places = slice(top, min(len(rows), top + height))
            taken = self.X.part(rows[places], None if everything else columns)
            x = taken.astype(np.float64, order="C", copy=False)
            x -= shift
            yield places, x


def _rows_of(values: Any, rows: Any) -> Any:
    """Some rows of an array, by their numbers or as a slice."""
    return values[rows, ...] if isinstance(rows, slice) else take_rows(values, rows)


def _sorted_rows(rows: Rows | FoldMembers | None) -> Rows | None:
    return None if rows is None else rows_of(rows)
