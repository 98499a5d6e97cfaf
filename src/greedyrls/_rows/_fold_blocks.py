"""A row block for folds: sums over sets of its rows, and its part of the held-out rows.

Like `RowBlock` it answers questions whose answers are added up over blocks, and it is immutable:
`begin`, `opened` and `advanced` return new ones. Answers have no axis for rows.
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

# Rows of a block that are sampled for rough means, and columns at a time.
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

    def rough_sums(self) -> RoughSums:
        """Estimate the means from a few rows; 0 for a sparse X, which is never shifted."""
        n = self.X.shape[1]
        xp = namespace_of(self.weights)
        weight, y = float(xp.sum(self.weights)), weighted_means(self.raw.T, self.weights)
        sample = self.X.sample_rows(self.weights, _SHIFT_ROWS)
        if sample is None:
            return RoughSums(0.0, np.zeros(n), np.zeros(n), weight, y)
        count = int(sample.shape[0])
        x, xx = np.zeros(n), np.zeros(n)
        if self.X.on_device:
            x, xx, y = to_host(xp.sum(sample, axis=0), xp.var(sample, axis=0) * count, y)
        elif count:
            with np.errstate(over="ignore", invalid="ignore"):
                for first in range(0, n, _SHIFT_COLUMNS):
                    columns = slice(first, first + _SHIFT_COLUMNS)
                    values = sample[:, columns].astype(np.float64)
                    x[columns] = values.sum(axis=0)
                    xx[columns] = values.var(axis=0) * count
        return RoughSums(float(count), x, xx, weight, y)

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

    def set_sums(self) -> SetSums:
        """Return the sums over each set of rows, in one pass."""
        if can_fuse(self.X):
            return set_sums(self.X, self._row_sets(), self.Y, self.weights, self.shift)
        sets, n, t = len(self.sets), self.X.shape[1], self.Y.shape[1]
        zeros, xp = self.X.location.zeros, namespace_of(self.Y)
        sums = SetSums(
            zeros(sets),
            zeros((sets, n)),
            zeros((sets, n)),
            zeros((sets, t, n)),
            zeros((sets, t)),
            zeros((sets, t)),
        )

        with np.errstate(over="ignore", invalid="ignore"):
            for number, rows, x in self.visit():
                w, y = _rows_of(self.weights, rows), _rows_of(self.Y, rows)
                weighted = y * w[:, None]
                sums.weight[number] += xp.sum(w)
                sums.y[number, :] += xp.sum(weighted, axis=0)
                sums.yy[number, :] += xp.sum(weighted * y, axis=0)
                products, squares = x.start_sums(stacked([w[None, :], weighted.T]), w)
                sums.x[number, :] += products[0, :]
                sums.xy[number, :, :] += products[1:, :]
                sums.xx[number, :] += squares
        return sums

    def products(self, order: NDArray[np.intp]) -> SetProducts:
        """Return Σ w x_b x_i over each set of rows, X minus its shift, in one pass."""
        if can_fuse(self.X):
            arguments = (self._row_sets(), order, self.weights, self.shift)
            return SetProducts(set_products(self.X, *arguments))
        values = self.X.location.zeros((len(order), len(self.sets), self.X.shape[1]))
        self.X.take_along(order.tolist())
        for number, rows, x in self.visit():
            weighted = x.columns(order) * _rows_of(self.weights, rows)
            values[:, number, :] += x.product(weighted)
        return SetProducts(values)

    def visit(self) -> Iterator[tuple[int, Any, Matrix]]:
        """Yield each set's rows of each tile minus the shift, in one pass."""
        sets = self._on_device() if self.X.on_device else list(map(_sorted_rows, self.sets))
        return self.X.tiles_by_set(sets, self.shift, self.parts)

    def _on_device(self) -> list[Any]:
        """Return the rows of all sets as numbers on the device, or slices."""
        count = len(self.sets)
        if count not in self.numbers:
            self.numbers[count] = numbers_on_device(self.X.location, self.sets, self.X.shape[0])
        return self.numbers[count]

    def _row_sets(self) -> RowSets:
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
        if self.X.on_device:
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

    def _shared_out(self, *values: Float) -> Iterator[tuple[HeldOutRows, list[Float]]]:
        """Yield held-out rows with their part of arrays for all splits (K × …)."""
        first = 0
        is_there = not isinstance(values[0], np.ndarray)
        moved = list(values) if is_there else to_device(self.X.location, *values)
        for split in self.splits:
            last = first + split.rows.shape[0]
            yield split, [array[first:last, ...] for array in moved]
            first = last

    def leftovers(self, index: int, means: Float, beta: Float) -> list[tuple[Float, Float]]:
        """Return the held-out rows of a feature minus its means (K), and z, (G × R) each."""
        whole = self.column(index)
        leftovers = []
        for split, (mean, split_beta) in self._shared_out(means, beta):
            column = split.of(whole) - mean[:, None]
            leftovers.append((column, split.leftover(self.column, column, split_beta)))
        return leftovers

    def step_sums(self, leftovers: list[tuple[Float, Float]], rho: Float) -> StepSums:
        """Return sums over the held-out rows for a feature with these leftovers and rho (K × t)."""
        parts = [
            split.sums(z, split_rho)
            for (split, (split_rho,)), (_, z) in zip(self._shared_out(rho), leftovers, strict=True)
        ]
        if len(parts) == 1:
            return StepSums(*parts[0])
        return StepSums(*(np.concatenate(values) for values in zip(*parts, strict=True)))

    def advanced(
        self, leftovers: list[tuple[Float, Float]], index: int, means: Float, rho: Float
    ) -> FoldBlock:
        """Return the block with the feature added to the models of all splits."""
        shared = zip(self._shared_out(means, rho), leftovers, strict=True)
        splits = tuple(
            split.with_feature(index, column, mean, z, split_rho)
            for (split, (mean, split_rho)), (column, z) in shared
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
        """Return training-row sums of the last column, given the others, which are chosen.

        beta (|S|) are its coefficients on the chosen ones, w (|S| × t) those of the model.
        """
        location = self.X.location
        rows = numbers_on(location, self.train_rows(split))
        means, target_means, beta, w = to_device(location, means, target_means, beta, w)
        parts = []
        for part, x in self.tiles_of(rows, columns):
            x = x - means
            z = x[:, -1] - x[:, :-1] @ beta
            weighted = z * take_rows(self.weights, rows[part])
            residual = take_rows(self.Y, rows[part]) - target_means
            inner = weighted[None, :] @ (residual - x[:, :-1] @ w)
            parts.append(RefinedSums(weighted @ x[:, :-1], weighted @ z, inner[0, :]))
        return add_up(parts)

    def stratum_weights(self, loss: Loss) -> SplitSums:
        """Return the weight of held-out rows of each split and stratum of a loss, (K × strata)."""
        count = loss.n_strata(self.raw.shape[1])
        sums = [
            np.bincount(loss.strata(split.y[0].T), split.weights[0], minlength=count)
            for split in self.splits
        ]
        return SplitSums(np.array(sums, dtype=np.float64))

    def split_losses(self, loss: Loss) -> SplitSums:
        """Return Σ w ℓ of the current models on held-out rows of each stratum, (K × strata)."""
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
        """Return e_j = w_j × the factor of its stratum (strata)."""
        shares: Float = split.weights[0] * factors[loss.strata(split.y[0].T)]
        return shares

    def squared_losses(self, candidates: Candidates) -> SplitSums:
        """Return Σ w (r − z ρ)² of each split with each candidate added, averaged over targets.

        The result is (K × c). This is for a few candidates on a device.
        """
        indices, *terms, _ = candidates
        columns = [self.column(index) for index in indices.tolist()]
        parts = []
        for split, (means, beta, rho) in self._shared_out(*terms):
            xp = namespace_of(split.r)
            x = xp.stack([split.of(column) for column in columns], axis=1) - means[:, :, None]
            for positions, chosen in split.chosen(self.column):
                x = x - xp.permute_dims(beta[:, positions, :], (0, 2, 1)) @ chosen
            errors = split.r[:, :, None, :] - rho[..., None] * x[:, None, :, :]
            weighted = errors * errors * split.weights[:, None, None, :]
            parts.append(xp.sum(weighted, axis=(1, 3)) / self.raw.shape[1])
        return SplitSums(stacked(parts))

    def candidate_losses(self, loss: Loss, factors: Float, candidates: Candidates) -> SplitSums:
        """Return Σ e ℓ of each split with each candidate added, (K × c), tile by tile."""
        shares = [
            self.shares(loss, split, split_factors)
            for split, split_factors in zip(self.splits, factors, strict=True)
        ]
        indices, means, beta, rho, starts = candidates
        totals = np.zeros((len(self.splits), candidates.n_candidates))
        name = loss.name.removeprefix("balanced_")
        for number, part, x in self.tiles_of_splits(indices):
            split = self.splits[number]
            x -= means[number]
            for positions, columns in split.chosen(self.column, part):
                x -= columns[0].T @ beta[number][positions]
            errors = tiles.fold_errors(x, split.r[0][:, part], rho[number], starts)
            totals[number] += tiles.error_sums(
                name, errors, split.y[0][:, part], shares[number][part]
            )
        return SplitSums(totals)

    def tiles_of_splits(self, columns: NDArray[np.intp]) -> Iterator[tuple[int, slice, Float]]:
        """Yield `tiles_of` the held-out rows of each split, with the number of the split.

        A file is read once for all splits, unless the columns are in memory already.
        """
        if not self.X.missing(columns.tolist()):
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
        if self.X.on_device:  # all at once
            (moved,) = to_device(self.X.location, self.shift[columns])
            yield slice(None), take(self.X.columns(columns), rows).T - moved
            return
        everything = np.array_equal(columns, np.arange(self.X.shape[1]))
        shift = self.shift[columns]
        height = max(LEAST_TILE_ROWS, TILE_ELEMENTS // len(columns))
        for top in range(0, len(rows), height):
            part = slice(top, min(len(rows), top + height))
            taken = self.X.part(rows[part], None if everything else columns)
            x = taken.astype(np.float64, order="C", copy=False)
            x -= shift
            yield part, x


def _rows_of(values: Any, rows: Any) -> Any:
    """Return rows of an array, by their numbers or as a slice."""
    return values[rows, ...] if isinstance(rows, slice) else take_rows(values, rows)


def _sorted_rows(rows: Rows | FoldMembers | None) -> Rows | None:
    return None if rows is None else rows_of(rows)
