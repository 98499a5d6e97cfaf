"""A sparse X minus the means of its queries, scaled, in the memory of sparse matrices.

X̃ = S − E M as in `_centred`, with S (m × n) and M (Q × n) sparse: a mean is 0 unless the query has
a nonzero value in the column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._base import LEAST_TILE_ROWS, Float
from ._dense import dense_chunks
from ._matrix import SET_ELEMENTS, Matrix, Rows, whole_sets
from ._sparse import SparseMatrix


class CentredSparse(Matrix):
    """X̃ of a sparse X in memory; `query_of` (m) are the queries of its rows.

    A column without zeros in a query is centred in S, and its mean in M is 0. Otherwise the spread
    in the query is at least 1/√s of the mean with s rows: the difference of products with S and
    with E M loses few digits.
    """

    is_in_memory = True
    is_whole_tile = True
    dtype = np.dtype(np.float64)

    def __init__(self, S: SparseMatrix, M: Any, query_of: NDArray[np.intp]) -> None:
        self._S, self._M, self._query_of = S, M, query_of
        self.shape = S.shape

    @classmethod
    def of(cls, X: Any, query_of: NDArray[np.intp], weights: Float, scale: Float) -> CentredSparse:
        """Centre a SciPy matrix, given ascending queries, weights of the means and D, all (m)."""
        held = sparse.csc_array(X, dtype=np.float64, copy=True)
        held.sum_duplicates()
        where, values, n = held.indices, held.data, held.shape[1]
        owners, queries = np.repeat(np.arange(n), np.diff(held.indptr)), query_of[where]
        # The values of a query in a column lie next to each other: a run.
        is_first = (np.diff(owners, prepend=-1) != 0) | (np.diff(queries, prepend=-1) != 0)
        (starts,) = is_first.nonzero()
        counts, query = np.diff(starts, append=len(where)), queries[starts]
        total, is_full = (
            np.bincount(query_of, weights)[query],
            counts == np.bincount(query_of)[query],
        )
        run_of = np.repeat(np.arange(len(starts)), counts)

        def run_means() -> Float:
            means: Float = np.bincount(run_of, values * weights[where], len(starts)) / total
            return means

        means = np.where(is_full, 0.0, run_means()) * scale[where[starts]]
        for _ in range(2):  # far from the origin, the rounding error of a mean is large
            values -= np.where(is_full, run_means(), 0.0)[run_of]
        values *= scale[where]
        shape = int(query_of[-1]) + 1, n
        M = sparse.csc_array((means, (query, owners[starts])), shape=shape)
        return cls(SparseMatrix(held), M, query_of)

    @property
    def nbytes(self) -> int:
        """The size of S in bytes."""
        return self._S.nbytes

    @cached_property
    def _means_by_rows(self) -> Any:
        return self._M.tocsr()

    @cached_property
    def _members(self) -> Any:
        """E', (Q × m)."""
        m = len(self._query_of)
        shape = self._M.shape[0], m
        return sparse.csr_array((np.ones(m), (self._query_of, np.arange(m))), shape=shape)

    def sums(self, V: Float, weights: Float | None, with_squares: bool) -> tuple[Float, Float]:
        """Return V X̃, and the weighted sums of squares of the columns if `with_squares`."""
        products, _ = self._S.sums(V, None, False)
        products -= (self._M.T @ (self._members @ V.T)).T
        return products, self._squares(weights) if with_squares else np.empty(0)

    def _squares(self, weights: Float | None) -> Float:
        """Return the sums of squares: of stored values minus their means, and of other means."""
        m, n = self.shape
        w = np.ones(m) if weights is None else weights
        begins, where, values = self._S.arrays
        M, count = self._M, self._M.shape[0]
        owners = np.repeat(np.arange(n), np.diff(begins))
        columns = np.repeat(np.arange(n), np.diff(M.indptr))
        places = np.searchsorted(
            columns * count + M.indices, owners * count + self._query_of[where]
        )
        squares: Float = np.zeros(n)
        squares += np.bincount(owners, w[where] * np.square(values - M.data[places]), n)
        left = np.bincount(self._query_of, w, count)[M.indices]
        left -= np.bincount(places, w[where], len(M.data))
        squares += np.bincount(columns, np.maximum(left, 0.0) * np.square(M.data), n)
        return squares

    def columns(self, indices: NDArray[np.intp], rows: Rows = slice(None)) -> Float:
        """Return columns minus their means, one per row of the result, for all rows or some."""
        values = self._S.columns(indices, rows)
        values -= self._M[:, indices].toarray().T[:, self._query_of[rows]]
        return values

    def part(self, rows: Rows, indices: NDArray[np.intp] | None = None) -> Float:
        """Return rows of some columns (or all) minus their means, (rows × c)."""
        values = self._S.part(rows, indices)
        queries, position = np.unique(self._query_of[rows], return_inverse=True)
        means = self._means_by_rows[queries]
        values -= (means if indices is None else means[:, indices]).toarray()[position]
        return values

    def take(self, rows: Rows) -> CentredSparse:
        """Return rows as a matrix of the same kind."""
        queries, query_of = np.unique(self._query_of[rows], return_inverse=True)
        means = self._means_by_rows[queries].tocsc()
        return CentredSparse(self._S.take(rows), means, query_of.astype(np.intp))

    def chunks(self) -> Iterator[tuple[slice, Matrix]]:
        """Yield all rows in order, in dense tiles."""
        return dense_chunks(self, max(LEAST_TILE_ROWS, SET_ELEMENTS // self.shape[1]))

    def tiles_by_set(
        self, sets: Sequence[Any], shift: Float, cache: dict[int, Any]
    ) -> Iterator[tuple[int, Any, Matrix]]:
        """Yield number, rows and values of each set; the shift is 0."""
        return whole_sets(self, sets, cache)

    def first_non_finite(self) -> tuple[int, int, float] | None:
        """Return row, column and value of a NaN or infinite value, or None."""
        return self._S.first_non_finite()
