"""Sample space for folds: sums over each set of rows, and held-out rows of single columns.

A split trains on some rows and tests on others. What feature space needs of either are sums over
its rows, which add up: where a split trains on all rows that it does not test, its training sums
are those of the other test sets, or of all rows less its test rows, and one pass over X serves all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._files import FileMatrix
from ._folds import Folds
from ._kernels import Float
from ._matrix import columns as columns_of
from ._problem import Problem, report_non_finite
from ._sparse import SparseMatrix

# Elements of X sorted by set at a time: each set's share should still be a matrix product worth
# its name.
_TILE_ELEMENTS = 1 << 22
# Elements of held-out rows at a time, with temporaries of the same size (2 MiB).
_ROW_ELEMENTS = 1 << 18
# Rows looked at for rough means, and columns at a time; any shift near the mean keeps the digits.
_SHIFT_ROWS = 128
_SHIFT_COLUMNS = 1024
# Where the rows that a split leaves out have so many times the squares of those that it trains on,
# too many digits would be lost in the difference.
_CANCELLED = 1e3
# A mean is far out if its square is this many times the variance: it costs two digits.
_FAR = 100.0

Rows = NDArray[np.intp]


def _rough_means(X: NDArray[np.generic], rows: Rows) -> Float:
    """Roughly the means of columns whose mean is far from 0 for their spread, 0 for the others."""
    some = rows[:: max(1, len(rows) // _SHIFT_ROWS)]
    means = np.zeros(X.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        for first in range(0, X.shape[1], _SHIFT_COLUMNS):
            columns = slice(first, first + _SHIFT_COLUMNS)
            values = X[some, columns].astype(np.float64)
            found = values.mean(axis=0)
            is_far = np.square(found) > _FAR * values.var(axis=0)
            means[columns] = np.where(is_far & np.isfinite(found), found, 0.0)
    return means


def _sums_of_others(parts: Float) -> tuple[Float, Float]:
    """For each part (K × …) the sum of all others, and the sum of all (…).

    From both sides rather than as a difference: what one part dwarfs is not lost from the others.
    """
    others = np.zeros_like(parts)
    np.cumsum(parts[:-1], axis=0, out=others[1:])
    total = others[-1] + parts[-1]
    if len(parts) > 1:
        others[:-1] += np.cumsum(parts[:0:-1], axis=0)[::-1]
    return others, total


class SetSums(NamedTuple):
    """Weighted sums over each set of rows, of X and Y less their shifts; first axis: the sets."""

    weight: Float  # (sets)
    x: Float  # (sets × n)
    xx: Float  # (sets × n)
    xy: Float  # (sets × t × n)
    y: Float  # (sets × t)
    yy: Float  # (sets × t)


class FoldRows:
    """The rows of X, seen through the splits."""

    def __init__(self, problem: Problem, folds: Folds) -> None:
        self._X = problem.X
        self._weights = np.ones(problem.n_samples) if problem.weights is None else problem.weights
        self._folds = folds
        self._problem = problem
        n, t = problem.n_features, problem.Y.shape[1]
        self.target_shift = np.zeros(t)
        self.shift = np.zeros(n)
        if problem.fit_intercept:
            # A sparse X stays as it is: zeros are where its values are dense.
            if isinstance(problem.X, FileMatrix):
                some = problem.X.rows(0, min(_SHIFT_ROWS, problem.n_samples))
                self.shift = _rough_means(some, np.arange(len(some)))
            elif not isinstance(problem.X, SparseMatrix):
                self.shift = _rough_means(problem.X, np.flatnonzero(self._weights))
            self.target_shift = np.average(problem.Y, axis=0, weights=self._weights)
        self._is_shifted = bool(self.shift.any())
        self.Y = problem.Y - self.target_shift
        self.passes = 0
        # Row sets that are summed: the test rows of each split, training rows that are not the
        # complement, and all rows unless these are the sum of the test sets.
        self._sets: list[Rows | None] = [split.test for split in folds.splits]
        self._direct: list[int | None] = []
        for split in folds.splits:
            self._direct.append(None if split.is_complement else len(self._sets))
            if not split.is_complement:
                self._sets.append(split.train)
        self._parts: dict[int, SparseMatrix] = {}
        self._is_partition = folds.is_partition
        self._all = len(self._sets)
        if not self._is_partition:
            self._sets.append(None)

    @property
    def n_splits(self) -> int:
        """K."""
        return len(self._folds.splits)

    @property
    def n_sets(self) -> int:
        """How many sets of rows are summed."""
        return len(self._sets)

    def start(self) -> tuple[SetSums, SetSums, SetSums]:
        """Sums over the training rows and the test rows of each split, and over all rows."""
        train, test, total = self._start()
        if self._is_partition:
            return train, test, total
        lost = (total.xx > _CANCELLED * train.xx).any(axis=1)
        lost |= total.weight > _CANCELLED * train.weight
        again = [split for split in np.flatnonzero(lost) if self._direct[split] is None]
        if again:
            # These splits' training rows are summed for themselves, now and in later passes.
            for split in again:
                self._direct[split] = len(self._sets)
                self._sets.append(self._folds.splits[split].train)
            train, test, total = self._start()
        return train, test, total

    def _start(self) -> tuple[SetSums, SetSums, SetSums]:
        sets, n, t = len(self._sets), self._X.shape[1], self.Y.shape[1]
        sums = SetSums(
            np.zeros(sets),
            np.zeros((sets, n)),
            np.zeros((sets, n)),
            np.zeros((sets, t, n)),
            np.zeros((sets, t)),
            np.zeros((sets, t)),
        )

        def add(place: int, rows: Rows, x: Float | SparseMatrix) -> None:
            w, y = self._weights[rows], self.Y[rows]
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
            parts = [self.by_split(values) for values in sums]
        train, test, total = (SetSums(*column) for column in zip(*parts, strict=True))
        if not np.isfinite(total.xx).all():
            report_non_finite(self._problem)
        return train, test, total

    def products(self, indices: Sequence[int]) -> Float:
        """Σ w x_b x_i over each set of rows, X less its shift: (B × sets × n), one pass."""
        order = np.array(indices, dtype=np.intp)
        values = np.zeros((len(order), len(self._sets), self._X.shape[1]))

        def add(place: int, rows: Rows, x: Float | SparseMatrix) -> None:
            if isinstance(x, SparseMatrix):
                values[:, place] += x.product(x.columns(order) * self._weights[rows])
            else:
                chosen = x[:, order] * self._weights[rows][:, None]
                values[:, place] += chosen.T @ x

        if isinstance(self._X, FileMatrix):
            self._X.take_along(order.tolist())
        self._visit(add)
        return values

    def by_split(self, values: Float) -> tuple[Float, Float, Float]:
        """From sums over the sets (sets × …) to the training and test rows of each split (K × …),
        and all rows (…)."""
        test = values[: self.n_splits]
        if self._is_partition:
            train, total = _sums_of_others(test)
        else:
            total = values[self._all]
            train = total - test
        for split, place in enumerate(self._direct):
            if place is not None:
                train[split] = values[place]
        return train, test, total

    def _visit(self, add: Callable[[int, Rows, Float | SparseMatrix], None]) -> None:
        """One pass: `add` gets each set's rows of each tile, less the shift, to use as it likes."""
        self.passes += 1
        if isinstance(self._X, SparseMatrix):
            for place, rows in enumerate(self._sets):
                every = np.arange(len(self._weights)) if rows is None else rows
                add(place, every, self._part(self._X, place, rows))
            return
        # Memory that is used again and again needs to be made only once.
        buffer = np.empty((0, self._X.shape[1]), dtype=self._X.dtype)
        for top, end, tile in self._tiles(self._X):
            for place, rows in enumerate(self._sets):
                if rows is None:
                    some = np.arange(top, end)
                else:
                    first, last = np.searchsorted(rows, (top, end))
                    some = rows[first:last]
                if len(some) > len(buffer):
                    buffer = np.empty((len(some), self._X.shape[1]), dtype=self._X.dtype)
                if len(some):
                    taken = np.take(tile, some - top, axis=0, out=buffer[: len(some)], mode="clip")
                    x = taken.astype(np.float64, copy=False)
                    if self._is_shifted:
                        x -= self.shift
                    add(place, some, x)

    def _part(self, X: SparseMatrix, place: int, rows: Rows | None) -> SparseMatrix:
        """A set's rows of a sparse X, which are not sought again in every pass."""
        if place not in self._parts:
            self._parts[place] = X if rows is None else X.take(rows)
        return self._parts[place]

    def _tiles(self, X: NDArray[Any] | FileMatrix) -> Iterator[tuple[int, int, NDArray[Any]]]:
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

    def column(self, index: int, rows: Rows | slice = slice(None)) -> Float:
        """Some rows of a column less its shift."""
        (values,) = columns_of(self._X, np.array([index]), rows)
        values -= self.shift[index]
        column: Float = values
        return column

    def tiles_of_sets(
        self, sets: Sequence[Rows], columns: NDArray[np.intp]
    ) -> Iterator[tuple[int, slice, Float]]:
        """`tiles_of` each of some sets of rows, in ascending order, with the number of the set.

        A file is read once for all of them, unless the columns are there already.
        """
        if not isinstance(self._X, FileMatrix) or not self._X.missing(columns.tolist()):
            for number, rows in enumerate(sets):
                for places, x in self.tiles_of(rows, columns):
                    yield number, places, x
            return
        shift = self.shift[columns]
        height = max(32, _ROW_ELEMENTS // len(columns))
        for inside, chunk in self._X.chunks():
            for number, rows in enumerate(sets):
                first, last = np.searchsorted(rows, (inside.start, inside.stop)).tolist()
                for top in range(first, last, height):
                    places = slice(top, min(last, top + height))
                    taken = chunk[rows[places] - inside.start][:, columns]
                    yield number, places, taken.astype(np.float64, order="C") - shift

    def tiles_of(self, rows: Rows, columns: NDArray[np.intp]) -> Iterator[tuple[slice, Float]]:
        """Some rows and columns of X less the shift, in tiles, with their places among `rows`."""
        everything = np.array_equal(columns, np.arange(self._X.shape[1]))
        shift = self.shift[columns]
        height = max(32, _ROW_ELEMENTS // len(columns))
        for top in range(0, len(rows), height):
            places = slice(top, min(len(rows), top + height))
            taken: NDArray[Any]
            if isinstance(self._X, SparseMatrix):
                taken = self._X.part(rows[places], None if everything else columns)
            elif isinstance(self._X, FileMatrix):
                taken = self._X.columns(columns, rows[places]).T
            elif everything:
                taken = self._X[rows[places]]
            else:
                taken = self._X[np.ix_(rows[places], columns)]
            x = taken.astype(np.float64, order="C", copy=False)
            x -= shift
            yield places, x
