"""X as a NumPy array of any type and memory order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base import CACHE_LINE_BYTES, HALF_TILE_ELEMENTS, Float, kernels, slices
from ._matrix import Matrix, Rows

# Numbers in a cache line.
_LINE = CACHE_LINE_BYTES // 8


class DenseMatrix(Matrix):
    """X (m × n) as an array in memory, in its own type: converted to float64 a tile at a time."""

    is_in_memory = True

    def __init__(self, values: NDArray[Any]) -> None:
        self.values = self.host_array = values
        m, n = values.shape
        self.shape, self.dtype = (m, n), values.dtype

    @property
    def nbytes(self) -> int:
        """The size of all of X in bytes."""
        return self.values.nbytes

    def columns(self, indices: NDArray[np.intp], rows: Rows = slice(None)) -> Float:
        """Return columns as float64, one per row of the result, for all rows or some."""
        return kernels.gather(self.values[rows], indices)

    def chunks(self) -> Iterator[tuple[slice, Matrix]]:
        """Yield all rows at once."""
        yield slice(0, len(self.values)), self

    def sums(self, V: Float, weights: Float | None, with_squares: bool) -> tuple[Float, Float]:
        """Return V X, and the weighted sums of squares of the columns if `with_squares`."""
        if with_squares:
            return kernels.start_sums(V, self.values, weights)
        return kernels.product(V, self.values), np.empty(0)

    def part(self, rows: Rows, indices: NDArray[np.intp] | None = None) -> NDArray[Any]:
        """Return rows of some columns (or all), (rows × c), in the type of X."""
        if indices is None:
            return self.values[rows]
        if isinstance(rows, slice):
            return self.values[rows][:, indices]
        return self.values[np.ix_(rows, indices)]

    def take(self, rows: Rows) -> DenseMatrix:
        """Return rows as a matrix, which is a view if they are a slice."""
        return DenseMatrix(self.values[rows])

    def first_non_finite(self) -> tuple[int, int, float] | None:
        """Return row, column and value of the first NaN or infinity in memory order, or None."""
        position = kernels.first_non_finite(self.values)
        return None if position is None else (*position, float(self.values[position]))

    def entries(
        self, indices: NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], NDArray[np.intp], Float]:
        """Return rows, columns and values of the nonzero values of some columns."""
        X = self.values
        support = [np.flatnonzero(X[:, column]) for column in indices]
        where = np.concatenate([np.empty(0, dtype=np.intp), *support])
        owners = np.repeat(indices, [len(rows) for rows in support])
        return where, owners, X[where, owners].astype(np.float64)

    def distances(
        self, means: Float | None, is_used: NDArray[np.bool_] | None
    ) -> tuple[Float, Float]:
        """Return the largest |x_i − mean_i| of the used rows and the number of nonzero x_i, (n)."""
        X = self.values
        largest, count = np.zeros(X.shape[1]), np.zeros(X.shape[1])
        for rows, columns in kernels.tiles(X, HALF_TILE_ELEMENTS):
            tile = X[rows, columns].astype(np.float64)
            count[columns] += kernels.count_flags(tile != 0.0)
            if means is not None:
                tile -= means[columns]
            if is_used is not None:
                tile = tile[is_used[rows]]
            np.abs(tile, out=tile)
            largest[columns] = np.maximum(largest[columns], tile.max(axis=0, initial=0.0))
        return largest, count


def dense_chunks(X: Matrix, height: int) -> Iterator[tuple[slice, DenseMatrix]]:
    """Yield all rows in order, so many at a time, in memory."""
    for rows in slices(X.shape[0], height):
        yield rows, DenseMatrix(np.ascontiguousarray(X.part(rows)))


def ordered_part(
    matrix: Matrix, rows: NDArray[np.intp], indices: NDArray[np.intp] | None
) -> tuple[NDArray[Any], bool]:
    """Return `matrix.part` in the memory order of X, and whether this is C order."""
    if not isinstance(matrix, DenseMatrix):
        return matrix.part(rows, indices), matrix.is_sparse
    X = matrix.values
    by_rows = abs(X.strides[0]) >= abs(X.strides[1])
    if indices is None:
        taken = X[rows] if by_rows else X.T[:, rows].T
    elif not by_rows:
        taken = X.T[np.ix_(indices, rows)].T
    elif _LINE * len(indices) < X.shape[1]:
        taken = X[np.ix_(rows, indices)]
    else:  # whole rows, since nearly every cache line would be read anyway
        taken = np.take(X[rows], indices, axis=1)
    return taken, by_rows
