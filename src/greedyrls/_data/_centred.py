"""X minus the means of its queries, scaled: X̃ = D (X − E M), which is never stored.

Row j belongs to query q(j): (E M)_j is row q(j) of the weighted means M (Q × n), and D multiplies
row j by the scale of its query. Rows that count in no query have the scale 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._base import LEAST_TILE_ROWS, Float, slices
from ._dense import DenseMatrix
from ._file_memory import Needs
from ._matrix import SET_ELEMENTS, Answer, Matrix, Rows
from ._views import View

Queries = NDArray[np.intp]


class CentredMatrix(View):
    """X̃ of a matrix whose vectors are in host memory; tiles of it are centred when they are read.

    `query_of` (m) are the queries, `weights` (m) those of the means, and `scale` (m) is D.
    """

    def __init__(self, X: Matrix, query_of: Queries, weights: Float, scale: Float) -> None:
        super().__init__(X)
        self.dtype = np.dtype(np.float64)
        self._query_of, self._scale = query_of, scale
        count = int(query_of.max()) + 1
        X.reserve(Needs(other_bytes=16 * count * X.shape[1]))
        self._means = _query_means(X, query_of, weights, count)

    def reserve(
        self, needs: Needs, verbose: int = 0, chunk_rows: int | None = None, n_jobs: int = 1
    ) -> None:
        """Divide the memory that X may use for a search; the means and a tile take part of it."""
        m, n = self.shape
        other = self._means.nbytes + 8 * min(m * n, SET_ELEMENTS)
        self._whole.reserve(replace(needs, other_bytes=other), verbose, chunk_rows, n_jobs)

    def _centred(self, values: NDArray[Any], rows: Any, indices: Any = slice(None)) -> Float:
        """Return rows of some columns of X (rows × c) minus their means, scaled."""
        result: Float = values - self._means[:, indices][self._query_of[rows]]
        result *= self._scale[rows, None]
        return result

    def columns(self, indices: NDArray[np.intp], rows: Rows = slice(None)) -> Float:
        """Return columns minus their means, one per row of the result, for all rows or some."""
        values = self._whole.columns(indices, rows)
        return np.ascontiguousarray(self._centred(values.T, rows, indices).T)

    def part(self, rows: Rows, indices: NDArray[np.intp] | None = None) -> Float:
        """Return rows of some columns (or all) minus their means, (rows × c)."""
        values = self._whole.part(rows, indices)
        return self._centred(values, rows, slice(None) if indices is None else indices)

    def chunks(self) -> Iterator[tuple[slice, Matrix]]:
        """Yield all rows in order, a tile at a time: one pass."""
        height = max(LEAST_TILE_ROWS, SET_ELEMENTS // self.shape[1])
        for inside, chunk in self._whole.chunks():
            for top in range(inside.start, inside.stop, height):
                rows = slice(top, min(inside.stop, top + height))
                values = chunk.part(slice(top - inside.start, rows.stop - inside.start))
                yield rows, DenseMatrix(self._centred(values, rows))

    def map_tiles(
        self, question: Callable[[slice, Matrix], Answer], n_vectors: int
    ) -> Iterator[Answer]:
        """Yield `question(rows, tile)` for the tiles of X, by its threads."""

        def ask(rows: slice, tile: Matrix) -> Answer:
            if tile is self._whole:  # a file by columns, whose tiles of rows are read one by one
                return question(rows, self)
            return question(rows, DenseMatrix(self._centred(tile.part(slice(None)), rows)))

        yield from self._whole.map_tiles(ask, n_vectors)

    def first_non_finite(self) -> tuple[int, int, float] | None:
        """Return row, column and value of a NaN or infinite value of X, or None."""
        return self._whole.first_non_finite()


def _query_means(X: Matrix, query_of: Queries, weights: Float, count: int) -> Float:
    """Return the weighted means of queries, (Q × n): one pass.

    Differences from the first row of each query are summed: far from the origin, the rounding
    error of a sum of the values would be large.
    """
    first, sums = np.zeros((2, count, X.shape[1]))
    is_new = np.ones(count, dtype=bool)
    for rows, chunk in X.chunks():
        (used,) = weights[rows].nonzero()
        queries, v = query_of[rows][used], weights[rows][used]
        height = max(LEAST_TILE_ROWS, SET_ELEMENTS // X.shape[1])
        for part in slices(len(used), height):
            values = chunk.part(used[part]).astype(np.float64)
            query, position = np.unique(queries[part], return_index=True)
            query, position = query[is_new[query]], position[is_new[query]]
            first[query], is_new[query] = values[position], False
            values -= first[queries[part]]
            inside = queries[part], np.arange(len(values))
            sums += sparse.csr_array((v[part], inside), shape=(count, len(values))) @ values
    sums /= np.bincount(query_of, weights, count)[:, None]
    first += sums
    return first
