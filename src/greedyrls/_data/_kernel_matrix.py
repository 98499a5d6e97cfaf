"""X whose columns are k(·, c_i) for a pool of centres: stored if it fits, else computed on demand.

If it is computed, rows come in chunks as those of a file, in as few passes as possible: each is an
evaluation of the kernel for all pairs. Unlike in a file, a single column costs no pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base import ColumnCache, Float, progress_bar
from ._dense import DenseMatrix
from ._file_memory import Needs, Room, default_limit, share_out
from ._kept_columns import KeptColumns
from ._kernel_functions import Kernel
from ._matrix import Matrix, Rows, passes_over
from ._points import MatrixPoints, point_blocks

# Elements of a chunk at most (8 MiB): it is multiplied while it is in the cache.
_CHUNK_ELEMENTS = 1 << 20
# Values of a stored matrix that are computed together: they stay in the second-level cache.
_WRITTEN_ELEMENTS = 1 << 17
# Columns that are transposed at a time: their parts stay in the cache.
_TRANSPOSED = 64
# Rows of a square kernel matrix that are computed together, to the right of the diagonal.
_MIRRORED = 128
# The share of the memory limit that the values may take if they are stored.
_STORED_SHARE = 0.5
# Columns scored lately that are kept, and elements of them.
_RECENT_COLUMNS = 128
_RECENT_ELEMENTS = 1 << 22


class CenterColumns(KeptColumns):
    """Columns of chosen centres, and those scored lately, of which none costs a pass."""

    def __init__(self) -> None:
        self.pinned, self.recent = ColumnCache(1), ColumnCache(1)

    def pin(self, index: int) -> None:
        """Keep a fetched column, that of a chosen centre, from now on."""
        cache = self.recent if index in self.recent else self.pinned
        # This is a copy: a row of a batch of recent columns would keep the memory of all.
        column = np.array([cache.get(index)])
        self.recent.pop(index)
        self.pinned.add([index], column)  # beyond the limit, those of an earlier search go


class KernelMatrix(Matrix):
    """X (m × n) = k(points, pool) for one search, within some bytes of memory.

    `row_of` (n) are the rows that the centres of the pool are, if they are rows.
    """

    noun = "made of kernel columns"
    has_own_threads = True
    dtype = np.dtype(np.float64)

    def __init__(
        self,
        kernel: Kernel,
        points: Any,
        pool: Any,
        memory_limit: int | None = None,
        row_of: NDArray[np.intp] | None = None,
    ) -> None:
        self._kernel, self._points, self._pool = kernel, points, pool
        self.shape = int(points.shape[0]), int(pool.shape[0])
        self.evaluations = 0  # how many values of the kernel were computed
        self._limit = default_limit() if memory_limit is None else memory_limit
        self.row_of = row_of
        self.center_diagonal = kernel.diagonal(pool)  # (n) k(c_i, c_i)

    @property
    def centers(self) -> KernelMatrix:
        """The kernel and its centres: the penalty is that of functions."""
        return self

    def centers_at(self, is_there: NDArray[np.bool_]) -> list[int]:
        """Candidates that are some of the rows (m)."""
        if self.row_of is None:
            return []
        candidates: list[int] = np.flatnonzero(is_there[self.row_of]).tolist()
        return candidates

    def _tiles(self, points: Any, centers: Any, height: int) -> Iterator[Float]:
        """The kernel of points and centres, `height` points at a time."""
        for block in point_blocks(points):
            for top in range(0, int(block.shape[0]), height):
                values = self._kernel(block[top : top + height], centers)
                self.evaluations += values.size
                yield values

    def first_non_finite(self) -> tuple[int, int, float] | None:
        """Row, column and value of a NaN or infinity, in the points if these are in a file."""
        if isinstance(self._points, MatrixPoints):
            return self._points.first_non_finite()
        return super().first_non_finite()

    def center_column(self, index: int) -> Float:
        """k(c_i, c_b) for all centres of the pool, (n)."""
        center = self._pool[np.array([index])]
        tiles = self._tiles(self._pool, center, _CHUNK_ELEMENTS)
        column = np.concatenate([values[:, 0] for values in tiles])
        column[index] = self.center_diagonal[index]
        return column


class ComputedKernelMatrix(KernelMatrix):
    """X = k(points, pool) as it is needed, in passes over the points."""

    passes_dominate = True
    keeps_columns = True
    # All of a pass: making the values takes far longer than a product with a few vectors.
    share_of_waiting = 1.0

    _room: Room | None = None
    _verbose = 0

    @cached_property
    def kept(self) -> CenterColumns:  # type: ignore[override]  # not shared by all matrices
        """Columns of chosen centres, and those scored lately; `reserve` sets the limits."""
        return CenterColumns()

    @property
    def memory(self) -> Room:
        """How the memory that it may use is shared out."""
        if self._room is None:
            self.reserve(Needs())
        assert self._room is not None
        return self._room

    def reserve(
        self, needs: Needs, verbose: int = 0, chunk_rows: int | None = None, n_jobs: int = 1
    ) -> None:
        """Share the memory out for a search; an error if it is too little."""
        m, n = self.shape
        # Columns of chosen centres, and for each two rows of n beside those of other searches.
        chosen = 8 * needs.n_chosen * (m + 2 * n)
        room = share_out(self.shape, self.dtype, chosen, self._limit, needs)
        height = max(1, min(room.chunk_rows, _CHUNK_ELEMENTS // n))
        if chunk_rows is not None:
            height = min(chunk_rows, height)
        self._room, self._verbose = room._replace(chunk_rows=height), verbose
        self.kept.pinned.limit = max(1, needs.n_chosen)
        allowed = min(_RECENT_ELEMENTS // m, room.column_bytes // (8 * m), _RECENT_COLUMNS)
        self.kept.recent.limit = max(1, allowed)

    def fetch(self, indices: Iterable[int]) -> None:
        """Have some columns that will be asked for, if they are few enough to be kept."""
        if self._room is None:
            self.reserve(Needs())
        lacking = self.kept.recent.missing(self.kept.pinned.missing(indices))
        if lacking and len(lacking) <= self.kept.recent.limit:
            self.kept.recent.add(lacking, self._compute(lacking))

    def _compute(self, indices: list[int], rows: Rows = slice(None)) -> Float:
        """Some columns, one per row of the result, made some rows at a time."""
        m, centers = self.shape[0], self._pool[np.array(indices, dtype=np.intp)]
        is_whole = isinstance(rows, slice) and rows == slice(None)
        points = self._points if is_whole else self._points[rows]
        result = np.empty((len(indices), m if is_whole else int(points.shape[0])))
        height, first = max(1, _CHUNK_ELEMENTS // max(1, len(indices))), 0
        for values in self._tiles(points, centers, height):
            result[:, first : first + len(values)] = values.T
            first += len(values)
        return result

    def columns(self, indices: NDArray[np.intp], rows: Rows = slice(None)) -> Float:
        """Some columns, one per row of the result; those that are not kept are computed."""
        wanted = indices.tolist()
        if isinstance(rows, slice) and rows == slice(None):
            self.fetch(wanted)
        pinned, latest = self.kept.pinned, self.kept.recent
        if not any(index in pinned or index in latest for index in wanted):
            return self._compute(wanted, rows)
        compute = partial(self._compute, rows=rows)

        def recent(missing: list[int]) -> Float:
            return np.array(latest.gather(missing, compute, rows))

        return np.array(pinned.gather(wanted, recent, rows))

    def chunks(self) -> Iterator[tuple[slice, DenseMatrix]]:
        """All rows in order: one pass."""
        m = self.shape[0]
        label = f"kernel, pass {passes_over(self) + 1}"
        top = 0
        with closing(progress_bar(self._verbose, m, what="reading", label=label)) as bar:
            for chunk in self._tiles(self._points, self._pool, self.memory.chunk_rows):
                rows = slice(top, top + len(chunk))
                yield rows, DenseMatrix(chunk)
                top = rows.stop
                self.rows_read += len(chunk)
                bar.advance(len(chunk))


class StoredKernelMatrix(KernelMatrix):
    """X = k(points, pool) in memory, column by column; evaluated once, when it is first used."""

    @cached_property
    def _whole(self) -> DenseMatrix:
        m, n = self.shape
        columns: Float = np.empty((n, m))  # one per row
        if not self._kernel.is_symmetric:
            self._transpose(columns)
        elif not self._is_square:
            self._fill(columns)
        elif self._kernel.fill(self._pool, self._pool, columns, is_square=True):
            self.evaluations += n * (n + 1) // 2
        else:
            self._mirror(columns)
        return DenseMatrix(columns.T)

    @property
    def _is_square(self) -> bool:
        """Whether the candidates are all rows, in their order."""
        m, n = self.shape
        if isinstance(self._points, MatrixPoints) or self.row_of is None or m != n:
            return False
        return bool((self.row_of == np.arange(n)).all())

    def _transpose(self, columns: Float) -> None:
        """Call the kernel as it is defined, and transpose what it returns."""
        n, left = len(columns), 0
        for chunk in self._tiles(self._points, self._pool, max(1, _CHUNK_ELEMENTS // n)):
            inside = slice(left, left + len(chunk))
            for top in range(0, n, _TRANSPOSED):
                columns[top : top + _TRANSPOSED, inside] = chunk[:, top : top + _TRANSPOSED].T
            left = inside.stop

    def _fill(self, columns: Float) -> None:
        """Write values where they stay: to transpose them would take longer than the kernel."""
        left = 0
        for block in point_blocks(self._points):
            width = int(block.shape[0])
            inside = slice(left, left + width)
            left = inside.stop
            if self._kernel.fill(self._pool, block, columns[:, inside]):
                self.evaluations += len(columns) * width
                continue
            height = max(1, _WRITTEN_ELEMENTS // max(1, width))
            for top in range(0, len(columns), height):
                self._write(columns[top : top + height, inside], top, block)

    def _mirror(self, columns: Float) -> None:
        """Write the values on one side of the diagonal; those on the other side are the same."""
        n = len(columns)
        for top in range(0, n, _MIRRORED):
            end = min(n, top + _MIRRORED)
            self._write(columns[top:end, top:], top, self._points[top:])
            for first in range(end, n, _TRANSPOSED):
                last = min(n, first + _TRANSPOSED)
                columns[first:last, top:end] = columns[top:end, first:last].T

    def _write(self, out: Float, top: int, points: Any) -> None:
        """Write the kernel of the candidates from `top` on and some points."""
        self._kernel(self._pool[top : top + len(out)], points, out=out)
        self.evaluations += out.size

    @property
    def host_array(self) -> NDArray[Any] | None:  # type: ignore[override]  # made on first use
        """The values, which compiled code may read."""
        return self._whole.values

    def reserve(
        self, needs: Needs, verbose: int = 0, chunk_rows: int | None = None, n_jobs: int = 1
    ) -> None:
        """Raise an error if the memory for the values and a search is too little."""
        share_out(self.shape, self.dtype, self.nbytes, self._limit, needs)

    def columns(self, indices: NDArray[np.intp], rows: Rows = slice(None)) -> Float:
        """Return columns, one per row of the result, for all rows or some."""
        return self._whole.columns(indices, rows)

    def chunks(self) -> Iterator[tuple[slice, DenseMatrix]]:
        """Yield all rows at once."""
        yield slice(0, self.shape[0]), self._whole

    def center_column(self, index: int) -> Float:
        """k(c_i, c_b) for all centres of the pool, (n)."""
        if self.row_of is None:
            return super().center_column(index)
        column: Float = self._whole.values[:, index][self.row_of]  # contiguous, unlike a row
        column[index] = self.center_diagonal[index]
        return column


def kernel_matrix(
    kernel: Kernel,
    points: Any,
    pool: Any,
    memory_limit: int | None = None,
    row_of: NDArray[np.intp] | None = None,
) -> KernelMatrix:
    """Return X = k(points, pool), stored if it takes at most half of the memory."""
    limit = default_limit() if memory_limit is None else memory_limit
    fits = 8 * points.shape[0] * pool.shape[0] <= _STORED_SHARE * limit
    return (StoredKernelMatrix if fits else ComputedKernelMatrix)(
        kernel, points, pool, limit, row_of
    )
