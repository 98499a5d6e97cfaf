"""A sparse X, which is never made dense or centred; a product with it costs O(nnz).

Columns are accessed one by one and rows in sets, so it is stored by columns, and also by rows once
rows are accessed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._base import Float
from ._matrix import Matrix, Rows, whole_sets

# Values processed together.
_VALUES = 1 << 22


class SparseMatrix(Matrix):
    """X (m × n) by columns, and also by rows once rows are accessed."""

    noun = "sparse"
    is_sparse = True
    is_in_memory = True

    def __init__(self, by_columns: Any, by_rows: Any = None) -> None:
        self._by_columns = by_columns
        self._by_rows = by_rows
        m, n = by_columns.shape
        self.shape, self.dtype = (int(m), int(n)), by_columns.dtype

    @classmethod
    def from_scipy(cls, X: Any) -> SparseMatrix:
        """Convert a SciPy matrix or array of any format, without a copy if possible."""
        by_columns = sparse.csc_array(X)
        # Duplicates are summed and zeros removed in a copy, never in the user's data.
        if not by_columns.has_canonical_format or (by_columns.data == 0).any():
            by_columns = by_columns.copy()
            by_columns.sum_duplicates()
            by_columns.eliminate_zeros()
        is_by_rows = X.format == "csr" and X.has_canonical_format
        return cls(by_columns, sparse.csr_array(X) if is_by_rows else None)

    @property
    def nbytes(self) -> int:
        """The size in bytes of one of the two forms."""
        held = self._by_columns
        return int(held.data.nbytes + held.indices.nbytes + held.indptr.nbytes)

    @property
    def arrays(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """The arrays by columns: beginnings of columns, ascending row numbers, nonzero values."""
        held = self._by_columns
        return held.indptr, held.indices, held.data

    @property
    def by_rows(self) -> Any:
        """X by rows, converted on first access."""
        if self._by_rows is None:
            self._by_rows = self._by_columns.tocsr()
        return self._by_rows

    def take(self, rows: Rows) -> SparseMatrix:
        """Return rows as a sparse matrix."""
        return SparseMatrix(self.by_rows[rows].tocsc())

    def sums(self, V: Float, weights: Float | None, with_squares: bool) -> tuple[Float, Float]:
        """Return V X, and the weighted sums of squares of the columns if `with_squares`."""
        products = np.ascontiguousarray((self._by_columns.T @ np.ascontiguousarray(V.T)).T)
        return products, self.squares(weights) if with_squares else np.empty(0)

    def chunks(self) -> Iterator[tuple[slice, Matrix]]:
        """Yield all rows at once."""
        yield slice(0, self.shape[0]), self

    def tiles_by_set(
        self, sets: Sequence[Any], shift: Float, cache: dict[int, Any]
    ) -> Iterator[tuple[int, Any, Matrix]]:
        """Yield number, rows and values of each set; the shift is 0."""
        return whole_sets(self, sets, cache)

    def squares(self, weights: Float | None) -> Float:
        """Return the weighted sums of squares of the columns, (n)."""
        held = self._by_columns
        result = np.empty(held.shape[1])
        for columns in _pieces(held.indptr):
            inside = slice(held.indptr[columns.start], held.indptr[columns.stop])
            data = held.data[inside].astype(np.float64)
            data *= data
            if weights is not None:
                data *= weights[held.indices[inside]]
            begins = held.indptr[columns] - inside.start
            # For empty columns `reduceat` returns the next value instead of 0.
            sums = np.add.reduceat(np.append(data, 0.0), begins)
            ends = held.indptr[columns.start + 1 : columns.stop + 1] - inside.start
            result[columns] = np.where(ends > begins, sums, 0.0)
        return result

    def columns(self, indices: NDArray[np.intp], rows: Rows = slice(None)) -> Float:
        """Return columns as a dense array, one per row of the result, for all rows or some."""
        if not (isinstance(rows, slice) and rows == slice(None)):
            return np.ascontiguousarray(self.part(rows, indices).T)
        held = self._by_columns
        values = np.zeros((len(indices), held.shape[0]))
        for value, index in zip(values, indices.tolist(), strict=True):
            inside = slice(held.indptr[index], held.indptr[index + 1])
            value[held.indices[inside]] = held.data[inside]
        return values

    def part(self, rows: Rows, indices: NDArray[np.intp] | None = None) -> Float:
        """Return rows of some columns (or all) as a dense array, (rows × c)."""
        taken = self.by_rows[rows]
        if indices is not None:
            taken = taken[:, indices]
        return np.asarray(taken.toarray(), dtype=np.float64)

    def entries(
        self, indices: NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], NDArray[np.intp], Float]:
        """Return rows, columns and values of the nonzero values of some columns."""
        taken = self._by_columns[:, indices]
        owners = np.repeat(indices, np.diff(taken.indptr))
        return taken.indices.astype(np.intp), owners, taken.data.astype(np.float64)

    def distances(
        self, means: Float | None, is_used: NDArray[np.bool_] | None
    ) -> tuple[Float, Float]:
        """Return the largest |x_i − mean_i| of the used rows and the number of nonzero x_i, (n)."""
        held = self._by_columns
        owners = np.repeat(np.arange(held.shape[1]), np.diff(held.indptr))
        values = held.data.astype(np.float64)
        if means is not None:
            values -= means[owners]
        np.abs(values, out=values)
        rows = held.shape[0]
        if is_used is not None:
            inside = is_used[held.indices]
            owners, values, rows = owners[inside], values[inside], int(np.count_nonzero(is_used))
        largest = np.zeros(held.shape[1])
        np.maximum.at(largest, owners, values)
        if means is None:
            return largest, nonzero_counts(self)
        has_zeros = np.bincount(owners, minlength=held.shape[1]) < rows
        farthest = np.where(has_zeros, np.maximum(largest, np.abs(means)), largest)
        return farthest, nonzero_counts(self)

    def first_non_finite(self) -> tuple[int, int, float] | None:
        """Return row, column and value of a NaN or infinite value, or None."""
        held = self._by_columns
        bad = np.flatnonzero(~np.isfinite(held.data))
        if len(bad) == 0:
            return None
        column = int(np.searchsorted(held.indptr, bad[0], side="right")) - 1
        return int(held.indices[bad[0]]), column, float(held.data[bad[0]])


def nonzero_counts(X: Matrix) -> Float:
    """Count the nonzero values of each column, (n)."""
    if isinstance(X, SparseMatrix):
        return np.asarray(np.diff(X.arrays[0]), dtype=np.float64)
    return X.distances(None, None)[1]


def _pieces(indptr: NDArray[Any]) -> Iterator[slice]:
    """Yield slices of columns with a limited number of values, because X may be in a file."""
    first, n = 0, len(indptr) - 1
    while first < n:
        last = int(np.searchsorted(indptr, indptr[first] + _VALUES, side="right")) - 1
        last = min(n, max(first + 1, last))
        yield slice(first, last)
        first = last
