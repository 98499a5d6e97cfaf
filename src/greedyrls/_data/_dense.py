"""X as a NumPy array of any type and memory order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base import CACHE_LINE_BYTES, HALF_TILE_ELEMENTS, Float, kernels
from ._matrix import Matrix, Rows

# Numbers in a line of the cache.
_LINE = CACHE_LINE_BYTES // 8


class DenseMatrix(Matrix):
    """X (m × n) as an array in memory, in its own type: converted to float64 a tile at a time."""

    is_in_memory = True

    def __init__(self, values: NDArray[Any]) -> None:
        self.values = values

    @property
    def shape(self) -> tuple[int, int]:
        """The number of samples m and of features n."""
        m, n = self.values.shape
        return m, n

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the numbers as given."""
        return self.values.dtype

    @property
    def nbytes(self) -> int:
        """The size of all of X in bytes."""
        return self.values.nbytes

    def columns(self, indices: NDArray[np.intp], rows: Rows = slice(None)) -> Float:
        """Some columns as float64, one per row of the result, all rows or some."""
        return kernels.gather(self.values[rows], indices)

    def chunks(self) -> Iterator[tuple[slice, Matrix]]:
        """All rows at once."""
        yield slice(0, len(self.values)), self

    def product(self, V: Float) -> Float:
        """V (c × m) times X, accumulated in float64, X read once."""
        return kernels.product(V, self.values)

    def start_sums(self, V: Float, weights: Float | None) -> tuple[Float, Float]:
        """V X and the weighted sums of squares of the columns, in one pass."""
        return kernels.start_sums(V, self.values, weights)

    def part(self, rows: Rows, indices: NDArray[np.intp] | None = None) -> NDArray[Any]:
        """Some rows of some columns (or of all), (rows × c), in its own type."""
        if indices is None:
            return self.values[rows]
        if isinstance(rows, slice):
            return self.values[rows][:, indices]
        return self.values[np.ix_(rows, indices)]

    def ordered_part(
        self, rows: NDArray[np.intp], indices: NDArray[np.intp] | None
    ) -> tuple[NDArray[Any], bool]:
        """`part` in the memory order of X, and whether rows lie together there."""
        X = self.values
        by_rows = abs(X.strides[0]) >= abs(X.strides[1])
        if indices is None:
            taken = X[rows] if by_rows else X.T[:, rows].T
        elif not by_rows:
            taken = X.T[np.ix_(indices, rows)].T
        elif _LINE * len(indices) < X.shape[1]:
            taken = X[np.ix_(rows, indices)]
        else:  # whole rows, rather than jump to nearly every cache line of them
            taken = np.take(X[rows], indices, axis=1)
        return taken, by_rows

    def sample_rows(self, weights: Float, count: int) -> NDArray[Any]:
        """About as many rows of those that have a weight, in its own type."""
        (rows,) = weights.nonzero()
        return self.values[rows[:: max(1, len(rows) // count)]]

    def take(self, rows: Rows) -> DenseMatrix:
        """Some rows, as a view where they are a slice."""
        return DenseMatrix(self.values[rows])

    def first_non_finite(self) -> tuple[int, int] | None:
        """Row and column of a value that is NaN or infinite, the first in memory order."""
        return kernels.first_non_finite(self.values)

    def value(self, row: int, column: int) -> float:
        """A single value."""
        return float(self.values[row, column])

    def entries(
        self, indices: NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], NDArray[np.intp], Float]:
        """Rows, columns and values of all that is not 0 in some columns."""
        X = self.values
        support = [np.flatnonzero(X[:, column]) for column in indices]
        where = np.concatenate([np.empty(0, dtype=np.intp), *support])
        owners = np.repeat(indices, [len(rows) for rows in support])
        return where, owners, X[where, owners].astype(np.float64)

    def distances(
        self, means: Float | None, is_used: NDArray[np.bool_] | None
    ) -> tuple[Float, Float]:
        """The largest |x_i − mean_i| in the rows that are used, and how many x_i are not 0, (n)."""
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
