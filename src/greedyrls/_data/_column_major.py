"""X in a file that is stored by columns: read in tiles of columns, and single columns cost little.

Tiles of rows, which some options need (losses other than the squared one), are read from all
columns: each of them costs as much as a pass.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base import Float, progress_bar
from ._dense import DenseMatrix, dense_chunks
from ._file_memory import Needs, share_out
from ._file_sources import ColumnSource
from ._kept_columns import KeptColumns
from ._limited import LimitedMatrix
from ._matrix import Answer, Matrix, Rows, passes_over

# More columns than this, and a quarter of all, are not read one by one: they are worth a pass.
_MANY_COLUMNS = 64
# Bytes of a tile of columns at most: the memory of larger ones is not reused, and slow to get.
_LARGEST_TILE = 1 << 24


class _CheapColumns(KeptColumns):
    """Columns of a file that is stored by columns: only many at once cost a pass."""

    def __init__(self, n_features: int) -> None:
        self._many = max(_MANY_COLUMNS, n_features // 4)

    def missing(self, indices: Iterable[int]) -> list[int]:
        """Return the columns if there are so many that reading them is a pass."""
        wanted = list(indices)
        return wanted if len(wanted) > self._many else []


class ColumnFileMatrix(LimitedMatrix[ColumnSource]):
    """X in a file by columns; products with vectors are made by tiles of these."""

    is_whole_tile = True

    def __init__(self, source: ColumnSource, memory_limit: int | None = None) -> None:
        super().__init__(source, memory_limit)
        self._n_workers = 2  # one of them may read while another computes
        self._tile_bytes = _LARGEST_TILE
        self.kept = _CheapColumns(source.shape[1])

    def reserve(
        self, needs: Needs, verbose: int = 0, chunk_rows: int | None = None, n_jobs: int = 1
    ) -> None:
        """Divide the memory that X may use for a search; raise an error if it is too little."""
        assert self.memory_limit is not None
        room = share_out(self.shape, self.dtype, self._source.overhead, self.memory_limit, needs)
        m, n = self.shape
        self._tile_bytes = min(room.chunk_rows * n * self.dtype.itemsize, _LARGEST_TILE)
        # What is left is for chosen columns, for the columns that X is multiplied by (there are
        # three copies of them), and for tiles of rows (two copies).
        part = room.column_bytes // 3
        height = max(room.chunk_rows, part // (2 * n * self.dtype.itemsize))
        self._room = room._replace(
            chunk_rows=min(m, height, chunk_rows or height),
            gram_columns=min(room.gram_columns, max(1, part // (3 * 8 * m))),
            column_bytes=part,
        )
        self.column_bytes = part
        self._verbose, self._n_workers = verbose, n_jobs + 1

    def over_tiles(
        self, question: Callable[[slice, DenseMatrix], Answer], rows: Rows = slice(None)
    ) -> Iterator[Answer]:
        """Yield `question(columns, tile)` for tiles of columns of some rows: one pass."""
        m, n = self.shape
        if self._room is None:
            self.reserve(Needs())  # which also says how wide a tile may be
        step = self._source.step
        width = max(step, self._tile_bytes // (m * self.dtype.itemsize) // step * step)
        tiles = [slice(first, min(n, first + width)) for first in range(0, n, width)]
        reading: list[float] = []
        asking: list[float] = []

        def ask(columns: slice) -> tuple[slice, Answer]:
            began = time.perf_counter()
            tile = DenseMatrix(self._source.read_columns(columns, rows))
            read = time.perf_counter()
            answer = question(columns, tile)
            reading.append(read - began)
            asking.append(time.perf_counter() - read)
            return columns, answer

        label = f"pass {passes_over(self) + 1}"
        with (
            closing(progress_bar(self._verbose, m, what="reading", label=label)) as bar,
            ThreadPoolExecutor(self._n_workers, thread_name_prefix="greedyrls") as pool,
        ):
            for columns, answer in pool.map(ask, tiles):
                yield answer
                bar.advance(m * columns.stop // n - m * columns.start // n)
        self.rows_read += m if isinstance(rows, slice) else len(rows)
        self.share_of_waiting = sum(reading) / max(1e-9, sum(reading) + sum(asking))

    def sums(self, V: Float, weights: Float | None, with_squares: bool) -> tuple[Float, Float]:
        """Return V X, and the weighted sums of squares of the columns if `with_squares`."""
        return self.sums_of_rows(slice(None), None, V, weights, with_squares)

    def sums_of_rows(
        self, rows: Rows, shift: Float | None, V: Float, weights: Float | None, with_squares: bool
    ) -> tuple[Float, Float]:
        """Return `sums` of some rows, of X minus a shift (n)."""
        products, squares = np.empty((len(V), self.shape[1])), np.empty(self.shape[1])

        def question(columns: slice, tile: DenseMatrix) -> None:
            if shift is not None:
                tile = DenseMatrix(tile.values - shift[columns])
            products[:, columns], square = tile.sums(V, weights, with_squares)
            if with_squares:
                squares[columns] = square

        for _ in self.over_tiles(question, rows):
            pass
        return products, squares

    def columns(self, indices: NDArray[np.intp], rows: Rows = slice(None)) -> Float:
        """Return columns as float64, one per row of the result, for all rows or some."""
        read = self._source.read_columns(indices, rows)
        # A new array: the type of the one read may have its byte order written out ("<f8").
        values = np.empty(read.shape[::-1])
        values[:] = read.T
        return values

    def part(self, rows: Rows, indices: NDArray[np.intp] | None = None) -> NDArray[Any]:
        """Return rows of some columns (or all), (rows × c), in the type of X."""
        return self._source.read_columns(slice(None) if indices is None else indices, rows)

    def chunks(self) -> Iterator[tuple[slice, DenseMatrix]]:
        """Yield all rows in order; each chunk is read from all columns."""
        for rows, chunk in dense_chunks(self, self.memory.chunk_rows):
            yield rows, chunk
            self.rows_read += rows.stop - rows.start

    def tiles_by_set(
        self, sets: Sequence[Any], shift: Float, cache: dict[int, Any]
    ) -> Iterator[tuple[int, Any, Matrix]]:
        """Yield number, rows and values minus the shift of each set, which are read when used."""
        for number, members in enumerate(sets):
            rows = np.arange(self.shape[0]) if members is None else members
            yield number, rows, _RowSet(self, rows, shift)

    def first_non_finite(self) -> tuple[int, int, float] | None:
        """Return row, column and value of a NaN or infinite value, or None."""
        found = [
            (position[0], position[1] + first, position[2])
            for first, position in self.over_tiles(
                lambda columns, tile: (columns.start, tile.first_non_finite())
            )
            if position is not None
        ]
        return found[0] if found else None


class _RowSet(Matrix):
    """Rows of a matrix by columns, minus a shift; read when they are asked for."""

    noun = ColumnFileMatrix.noun
    dtype = np.dtype(np.float64)

    def __init__(self, whole: ColumnFileMatrix, rows: NDArray[np.intp], shift: Float) -> None:
        self._whole, self._rows, self._shift = whole, rows, shift
        self.shape = len(rows), whole.shape[1]

    def columns(self, indices: NDArray[np.intp], rows: Rows = slice(None)) -> Float:
        """Return columns minus their shift, one per row of the result, for all rows or some."""
        return self._whole.columns(indices, self._rows[rows]) - self._shift[indices, None]

    def chunks(self) -> Iterator[tuple[slice, Matrix]]:
        """Yield all rows at once."""
        yield slice(0, len(self._rows)), self

    def sums(self, V: Float, weights: Float | None, with_squares: bool) -> tuple[Float, Float]:
        """Return V X, and the weighted sums of squares of the columns if `with_squares`."""
        return self._whole.sums_of_rows(self._rows, self._shift, V, weights, with_squares)
