"""A row block for folds: sums over sets of its rows, and its part of what each split holds out.

As `RowBlock` it answers questions whose answers are added up over blocks, and it is a value:
`begin`, `opened` and `advanced` return new ones. What is added up has no number for each row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _tiles as tiles
from ._files import FileMatrix
from ._held_out import HeldOutRows
from ._kernels import Float
from ._losses import Loss
from ._matrix import Matrix
from ._matrix import columns as columns_of
from ._sparse import SparseMatrix

# Elements of X sorted by set at a time: each set's share should still be a matrix product worth
# its name.
_TILE_ELEMENTS = 1 << 22
# Elements of held-out rows at a time, with temporaries of the same size (2 MiB).
_ROW_ELEMENTS = 1 << 18
# Rows of a block looked at for rough means, and columns at a time.
_SHIFT_ROWS = 128
_SHIFT_COLUMNS = 1024

Rows = NDArray[np.intp]


class RoughSums(NamedTuple):
    """Of some rows of positive weight, to see which means are far out."""

    rows: float
    x: Float  # (n) Σ x
    xx: Float  # (n) Σ (x − mean)², with the mean of the block
    weight: float  # Σ w, of all rows
    y: Float  # (t) Σ w y, of all rows


class SetSums(NamedTuple):
    """Weighted sums over each set of rows, of X and Y less their shifts; first axis: the sets."""

    weight: Float  # (sets)
    x: Float  # (sets × n)
    xx: Float  # (sets × n)
    xy: Float  # (sets × t × n)
    y: Float  # (sets × t)
    yy: Float  # (sets × t)


class SetProducts(NamedTuple):
    """Σ w x_b x_i over each set of rows."""

    values: Float  # (B × sets × n)


class StepSums(NamedTuple):
    """A feature on the held-out rows of each split as it is added."""

    norms: Float  # (K) ‖z‖²
    inner: Float  # (K × t) r·z
    energy: Float  # (K × t) ‖r‖² after the step


class RefinedSums(NamedTuple):
    """A feature that the chosen ones nearly span, on the training rows of one split."""

    products: Float  # (|S|) X_S'z
    norm: float  # ‖z‖²
    inner: Float  # (t) z·(y − X_S w)


class SplitSums(NamedTuple):
    """Sums over the held-out rows of each split."""

    values: Float  # (K × …)


class Candidates(NamedTuple):
    """Some candidates in the models of all splits."""

    indices: NDArray[np.intp]
    means: Float  # (K × c) over the training rows
    beta: Float  # (K × |S| × c)
    rho: Float  # (K × t × c)


@dataclass(frozen=True, slots=True)
class FoldBlock:
    """Rows of X and y with the sets that they belong to: first the test rows of each split."""

    X: Matrix
    raw: Float  # (rows × t) the targets as given
    weights: Float  # (rows)
    sets: tuple[Rows | None, ...]  # None: all rows
    trains: tuple[Rows, ...]  # the training rows of each split; () where all are complements
    Y: Float  # (rows × t) less their shift
    shift: Float
    splits: tuple[HeldOutRows, ...] = ()
    # Each set's rows of a sparse X: a cache, which is not sought again in every pass.
    parts: dict[int, SparseMatrix] = field(default_factory=dict)

    @classmethod
    def from_rows(
        cls,
        X: Matrix,
        Y: Float,
        weights: Float | None,
        sets: tuple[Rows | None, ...],
        trains: tuple[Rows, ...],
    ) -> FoldBlock:
        """Before anything is shifted."""
        weights = np.ones(len(Y)) if weights is None else weights
        return cls(X, Y, weights, sets, trains, Y, np.zeros(X.shape[1]))

    def rough_sums(self) -> RoughSums:
        """From a few rows what the means roughly are; 0 for a sparse X, which stays as it is."""
        n = self.X.shape[1]
        weight, y = float(self.weights.sum()), self.weights @ self.raw
        if isinstance(self.X, SparseMatrix):
            return RoughSums(0.0, np.zeros(n), np.zeros(n), weight, y)
        if isinstance(self.X, FileMatrix):
            some: NDArray[Any] = self.X.rows(0, min(_SHIFT_ROWS, len(self.raw)))
            rows = np.arange(len(some))
        else:
            (rows,) = self.weights.nonzero()
            some, rows = self._array(), rows[:: max(1, len(rows) // _SHIFT_ROWS)]
        x, xx = np.zeros(n), np.zeros(n)
        if len(rows):
            with np.errstate(over="ignore", invalid="ignore"):
                for first in range(0, n, _SHIFT_COLUMNS):
                    columns = slice(first, first + _SHIFT_COLUMNS)
                    values = some[rows, columns].astype(np.float64)
                    x[columns] = values.sum(axis=0)
                    xx[columns] = values.var(axis=0) * len(rows)
        return RoughSums(float(len(rows)), x, xx, weight, y)

    def begin(self, shift: Float, target_shift: Float) -> FoldBlock:
        """The block whose X and Y are less their shifts in all sums."""
        return replace(self, shift=shift, Y=self.raw - target_shift)

    def with_sets(self, sets: Sequence[int]) -> FoldBlock:
        """The block that also sums the training rows of some splits for themselves."""
        return replace(self, sets=(*self.sets, *(self._train(split) for split in sets)))

    def _train(self, split: int) -> Rows:
        """The training rows of a split."""
        if self.trains:
            return self.trains[split]
        is_held_out = np.zeros(len(self.raw), dtype=bool)
        is_held_out[self.splits[split].rows if self.splits else self.sets[split]] = True
        return np.flatnonzero(~is_held_out)

    def set_sums(self) -> SetSums:
        """Sums over each set of rows: one pass."""
        sets, n, t = len(self.sets), self.X.shape[1], self.Y.shape[1]
        sums = SetSums(
            np.zeros(sets),
            np.zeros((sets, n)),
            np.zeros((sets, n)),
            np.zeros((sets, t, n)),
            np.zeros((sets, t)),
            np.zeros((sets, t)),
        )

        def add(place: int, rows: Rows, x: Float | SparseMatrix) -> None:
            w, y = self.weights[rows], self.Y[rows]
            weighted = y * w[:, None]
            sums.weight[place] += w.sum()
            sums.y[place] += weighted.sum(axis=0)
            sums.yy[place] += np.einsum("jt,jt->t", weighted, y)
            vectors = np.concatenate((w[None, :], weighted.T))
            if isinstance(x, SparseMatrix):
                products, squares = x.product(vectors), x.squares(w)
            else:
                products = vectors @ x
                x *= x
                squares = w @ x
            sums.x[place] += products[0]
            sums.xy[place] += products[1:]
            sums.xx[place] += squares

        with np.errstate(over="ignore", invalid="ignore"):
            self._visit(add)
        return sums

    def products(self, order: NDArray[np.intp]) -> SetProducts:
        """Σ w x_b x_i over each set of rows, X less its shift: one pass."""
        values = np.zeros((len(order), len(self.sets), self.X.shape[1]))

        def add(place: int, rows: Rows, x: Float | SparseMatrix) -> None:
            if isinstance(x, SparseMatrix):
                values[:, place] += x.product(x.columns(order) * self.weights[rows])
            else:
                chosen = x[:, order] * self.weights[rows][:, None]
                values[:, place] += chosen.T @ x

        if isinstance(self.X, FileMatrix):
            self.X.take_along(order.tolist())
        self._visit(add)
        return SetProducts(values)

    def _visit(self, add: Callable[[int, Rows, Float | SparseMatrix], None]) -> None:
        """One pass: `add` gets each set's rows of each tile, less the shift, to use as it likes."""
        X = self.X
        if isinstance(X, SparseMatrix):
            for place, rows in enumerate(self.sets):
                every = np.arange(len(self.weights)) if rows is None else rows
                add(place, every, self._part(X, place, rows))
            return
        is_shifted = bool(self.shift.any())
        # Memory that is used again and again needs to be made only once.
        buffer = np.empty((0, X.shape[1]), dtype=X.dtype)
        for top, end, tile in _row_tiles(X if isinstance(X, FileMatrix) else self._array()):
            for place, rows in enumerate(self.sets):
                if rows is None:
                    some = np.arange(top, end)
                else:
                    first, last = np.searchsorted(rows, (top, end))
                    some = rows[first:last]
                if len(some) > len(buffer):
                    buffer = np.empty((len(some), X.shape[1]), dtype=X.dtype)
                if len(some):
                    taken = np.take(tile, some - top, axis=0, out=buffer[: len(some)], mode="clip")
                    x = taken.astype(np.float64, copy=False)
                    if is_shifted:
                        x -= self.shift
                    add(place, some, x)

    def _array(self) -> NDArray[Any]:
        """X, which is an array here."""
        assert isinstance(self.X, np.ndarray)
        return self.X

    def _part(self, X: SparseMatrix, place: int, rows: Rows | None) -> SparseMatrix:
        """A set's rows of a sparse X."""
        if place not in self.parts:
            self.parts[place] = X if rows is None else X.take(rows)
        return self.parts[place]

    def column(self, index: int, rows: Rows | slice = slice(None)) -> Float:
        """Some rows of a column less its shift."""
        (values,) = columns_of(self.X, np.array([index]), rows)
        values -= self.shift[index]
        column: Float = values
        return column

    def opened(self, target_means: Float, limit: int) -> FoldBlock:
        """The block at the empty models of a search, whose means over training rows are (K × t).

        Columns of at most `limit` chosen features are kept.
        """
        splits = tuple(
            HeldOutRows.at_the_start(rows, self.weights, self.raw, self.Y, means, limit)
            for rows, means in zip(self.sets, target_means, strict=False)
            if rows is not None
        )
        return replace(self, splits=splits)

    def leftovers(self, index: int, means: Float, beta: Float) -> list[tuple[Float, Float]]:
        """Of each split the held-out rows of a feature less its mean (K), and z, (rows) each."""
        whole = self.column(index)
        found = []
        for split, mean, own in zip(self.splits, means, beta, strict=True):
            column = whole[split.rows] - mean
            z = column.copy()
            for places, columns in split.chosen(self.column):
                z -= own[places] @ columns
            found.append((column, z))
        return found

    def step_sums(self, leftovers: list[tuple[Float, Float]], rho: Float) -> StepSums:
        """What a feature with these leftovers does on the held-out rows; rho (K × t)."""
        norms, inner, energy = [], [], []
        for split, (_, z), own in zip(self.splits, leftovers, rho, strict=True):
            weighted = split.weights * z
            norms.append(float(weighted @ z))
            inner.append(split.r @ weighted)
            energy.append(np.square(split.r - own[:, None] * z) @ split.weights)
        return StepSums(np.array(norms), np.array(inner), np.array(energy))

    def advanced(
        self, leftovers: list[tuple[Float, Float]], index: int, means: Float, rho: Float
    ) -> FoldBlock:
        """The block with the feature added to the models of all splits."""
        splits = tuple(
            split.with_feature(index, column, float(mean), split.r - own[:, None] * z)
            for split, (column, z), mean, own in zip(
                self.splits, leftovers, means, rho, strict=True
            )
        )
        if isinstance(self.X, FileMatrix):
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
        rows = self._train(split)
        products, norm, inner = np.zeros(len(beta)), 0.0, np.zeros(w.shape[1])
        for places, x in self.tiles_of(rows, columns):
            x -= means
            z = x[:, -1] - x[:, :-1] @ beta
            weighted = z * self.weights[rows[places]]
            residual = self.Y[rows[places]] - target_means
            products += weighted @ x[:, :-1]
            norm += float(weighted @ z)
            inner += weighted @ (residual - x[:, :-1] @ w)
        return RefinedSums(products, norm, inner)

    def stratum_weights(self, loss: Loss) -> SplitSums:
        """Weights of the held-out rows of each split in each stratum of a loss, (K × strata)."""
        count = loss.n_strata(self.raw.shape[1])
        sums = [
            np.bincount(loss.strata(split.y.T), split.weights, minlength=count)
            for split in self.splits
        ]
        return SplitSums(np.array(sums))

    def split_losses(self, loss: Loss) -> SplitSums:
        """Σ w ℓ of the current models on the held-out rows in each stratum, (K × strata)."""
        count = loss.n_strata(self.raw.shape[1])
        values = np.zeros((len(self.splits), count))
        for number, split in enumerate(self.splits):
            (used,) = split.weights.nonzero()
            Y, predictions = split.y[:, used].T, (split.y - split.r)[:, None, used]
            weighted = loss.sample_losses(Y, predictions)[0] * split.weights[used]
            values[number] = np.bincount(loss.strata(Y), weighted, minlength=count)
        return SplitSums(values)

    @staticmethod
    def _shares(loss: Loss, split: HeldOutRows, factors: Float) -> Float:
        """e_j = w_j × the factor of its stratum (strata)."""
        shares: Float = split.weights * factors[loss.strata(split.y.T)]
        return shares

    def candidate_losses(self, loss: Loss, factors: Float, candidates: Candidates) -> SplitSums:
        """Σ e ℓ of each split with each of some candidates added, (K × c), tile by tile."""
        shares = [
            self._shares(loss, split, own) for split, own in zip(self.splits, factors, strict=True)
        ]
        indices, means, beta, rho = candidates
        totals = np.zeros((len(self.splits), len(indices)))
        name = loss.name.removeprefix("balanced_")
        for number, places, x in self._tiles_of_splits(indices):
            split = self.splits[number]
            x -= means[number]
            for some, columns in split.chosen(self.column, places):
                x -= columns.T @ beta[number][some]
            errors = tiles.fold_errors(x, split.r[:, places], rho[number])
            totals[number] += tiles.error_sums(
                name, errors, split.y[:, places], shares[number][places]
            )
        return SplitSums(totals)

    def _tiles_of_splits(self, columns: NDArray[np.intp]) -> Iterator[tuple[int, slice, Float]]:
        """`tiles_of` the held-out rows of each split, with the number of the split.

        A file is read once for all of them, unless the columns are there already.
        """
        if not isinstance(self.X, FileMatrix) or not self.X.missing(columns.tolist()):
            for number, split in enumerate(self.splits):
                for places, x in self.tiles_of(split.rows, columns):
                    yield number, places, x
            return
        shift = self.shift[columns]
        height = max(32, _ROW_ELEMENTS // len(columns))
        for inside, chunk in self.X.chunks():
            for number, split in enumerate(self.splits):
                first, last = np.searchsorted(split.rows, (inside.start, inside.stop)).tolist()
                for top in range(first, last, height):
                    places = slice(top, min(last, top + height))
                    taken = chunk[split.rows[places] - inside.start][:, columns]
                    yield number, places, taken.astype(np.float64, order="C") - shift

    def tiles_of(self, rows: Rows, columns: NDArray[np.intp]) -> Iterator[tuple[slice, Float]]:
        """Some rows and columns of X less the shift, in tiles, with their places among `rows`."""
        everything = np.array_equal(columns, np.arange(self.X.shape[1]))
        shift = self.shift[columns]
        height = max(32, _ROW_ELEMENTS // len(columns))
        for top in range(0, len(rows), height):
            places = slice(top, min(len(rows), top + height))
            taken: NDArray[Any]
            if isinstance(self.X, SparseMatrix):
                taken = self.X.part(rows[places], None if everything else columns)
            elif isinstance(self.X, FileMatrix):
                taken = self.X.columns(columns, rows[places]).T
            elif everything:
                taken = self._array()[rows[places]]
            else:
                taken = self._array()[np.ix_(rows[places], columns)]
            x = taken.astype(np.float64, order="C", copy=False)
            x -= shift
            yield places, x


def _row_tiles(X: NDArray[Any] | FileMatrix) -> Iterator[tuple[int, int, NDArray[Any]]]:
    """First row, last row and values of tiles of X, whose rows lie together."""
    m, n = X.shape
    height = max(32, _TILE_ELEMENTS // n)
    if isinstance(X, FileMatrix):
        for rows, chunk in X.chunks():
            for top in range(0, len(chunk), height):
                tile = np.ascontiguousarray(chunk[top : top + height])
                yield rows.start + top, rows.start + top + len(tile), tile
        return
    for top in range(0, m, height):
        end = min(m, top + height)
        yield top, end, np.ascontiguousarray(X[top:end])  # a copy if X does not lie by rows
