"""X in a file larger than memory: read from front to back, a chunk at a time, the next one ahead.

A column of such a file lies scattered over all of it, so that asking for one costs as much as
reading everything: columns are taken along in passes that are made anyway, and kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base import LEAST_TILE_ROWS, ColumnCache, Float, progress_bar
from ._column_major import ColumnFileMatrix
from ._dense import DenseMatrix
from ._file_columns import ColumnFile
from ._file_memory import Needs, check_limit, default_limit, share_out
from ._file_sources import ArraySource, ColumnSource, Source, map_of
from ._kept_columns import FetchedColumns
from ._limited import LimitedMatrix
from ._matrix import PRODUCT_ROWS, Answer, Matrix, Rows, passes_over


class FileMatrix(LimitedMatrix[Source]):
    """X in a file by rows."""

    keeps_columns = True

    def __init__(self, source: Source, memory_limit: int | None = None) -> None:
        super().__init__(source, memory_limit)
        self.n_jobs = 1
        self._pool: ThreadPoolExecutor | None = None
        # Those of chosen features stay in memory if they fit; `reserve` sets the limit.
        columns = ColumnFile(source.shape[0], source.dtype)
        self.kept: FetchedColumns = FetchedColumns(ColumnCache(0, columns))

    def reserve(
        self, needs: Needs, verbose: int = 0, chunk_rows: int | None = None, n_jobs: int = 1
    ) -> None:
        """Share the memory out for a search by some threads; an error if it is too little."""
        assert self.memory_limit is not None
        room = share_out(self.shape, self.dtype, self._source.overhead, self.memory_limit, needs)
        if chunk_rows is not None:
            room = room._replace(chunk_rows=min(chunk_rows, room.chunk_rows))
        self._room, self._verbose = room, verbose
        if not len(self.kept.cache):
            self.kept.cache.limit = room.column_bytes // max(1, self.shape[0] * self.dtype.itemsize)
        if n_jobs > 1:
            self.n_jobs = n_jobs
            self._pool = ThreadPoolExecutor(n_jobs, thread_name_prefix="greedyrls")

    def map_tiles(
        self, question: Callable[[slice, Matrix], Answer], n_vectors: int
    ) -> Iterator[Answer]:
        """What `question(rows, tile)` answers for tiles of rows, by the threads that there are."""
        for rows, chunk in self.chunks():
            # Columns gathered from a tile are still in the cache when it is multiplied.
            height = max(LEAST_TILE_ROWS, min(PRODUCT_ROWS, -(-chunk.shape[0] // self.n_jobs)))
            yield from self._each(
                partial(_asked, question, chunk, rows.start), chunk.shape[0], height
            )

    def _each(
        self, question: Callable[[slice], Answer], count: int, height: int
    ) -> Iterable[Answer]:
        """Put a question to some rows of a chunk at a time, by the threads that there are."""
        pieces = [slice(top, min(count, top + height)) for top in range(0, count, height)]
        return (map if self._pool is None else self._pool.map)(question, pieces)

    def fetch(self, indices: Iterable[int]) -> None:
        """Have some columns, by a pass if one of them is missing."""
        lacking = self.kept.missing(indices)
        if lacking:
            self.kept.take_along(lacking)
            for _ in self.chunks():
                pass

    def chunks(self) -> Iterator[tuple[slice, DenseMatrix]]:
        """All rows in order: one pass. A thread reads the next chunk meanwhile."""
        (m, _), height, kept = self.shape, self.memory.chunk_rows, self.kept.cache
        along = self.kept.due()
        incoming = kept.receive(along, partial(np.empty, m, self.dtype))
        label = f"pass {passes_over(self) + 1}"
        top = 0
        with (
            closing(progress_bar(self._verbose, m, what="reading", label=label)) as bar,
            ThreadPoolExecutor(1, thread_name_prefix="greedyrls-read") as reader,
        ):
            rest = self._source.chunks(height)
            began = time.perf_counter()
            waited = 0.0
            ahead = reader.submit(next, rest, None)
            while True:
                asked = time.perf_counter()
                chunk = ahead.result()
                waited += time.perf_counter() - asked
                if chunk is None:
                    break
                ahead = reader.submit(next, rest, None)
                rows = slice(top, top + len(chunk))
                kept.put_rows(incoming, rows, np.ascontiguousarray(chunk[:, along].T))
                yield rows, DenseMatrix(chunk)
                top = rows.stop
                self.rows_read += len(chunk)
                bar.advance(len(chunk))
        if top != m:
            raise OSError(f"{self._source.name} has {top} rows; when it was opened it had {m}.")
        kept.finish(incoming)
        self.share_of_waiting = waited / max(1e-9, time.perf_counter() - began)

    def sums(self, V: Float, weights: Float | None, with_squares: bool) -> tuple[Float, Float]:
        """V X and the weighted sums of squares of the columns, by the threads that there are."""
        products = np.zeros((len(V), self.shape[1]))
        squares = np.zeros(self.shape[1])
        for rows, chunk in self.chunks():
            own = None if weights is None else weights[rows]
            question = partial(_sums, V[:, rows], chunk, own, with_squares)
            height = max(1, -(-chunk.shape[0] // self.n_jobs))
            for some, square in self._each(question, chunk.shape[0], height):
                products += some
                if with_squares:
                    squares += square
        return products, squares

    def columns(self, indices: NDArray[np.intp], rows: Rows = slice(None)) -> Float:
        """Some columns, one per row of the result; a pass if one of them is not kept."""
        wanted = indices.tolist()
        self.fetch(wanted)
        count = len(range(*rows.indices(self.shape[0]))) if isinstance(rows, slice) else len(rows)
        result = np.empty((len(wanted), count))
        for row, index in enumerate(wanted):
            self.kept.cache.touch(index)
            result[row] = self.kept.cache.get(index, rows)
        return result

    def part(self, rows: Rows, indices: NDArray[np.intp] | None = None) -> NDArray[Any]:
        """Some rows of some columns; of all columns a few rows next to each other are read."""
        if indices is None and isinstance(rows, slice):
            return self._source.read(*rows.indices(self.shape[0])[:2])
        return super().part(rows, indices)


def _asked(
    question: Callable[[slice, Matrix], Answer], chunk: Matrix, first: int, rows: slice
) -> Answer:
    """A question to some rows of a chunk, whose first row has a number in X."""
    return question(slice(first + rows.start, first + rows.stop), chunk.take(rows))


class DataFile:
    """Data in a file, to be passed as X; it is not loaded into memory.

    Returned by the functions of `greedyrls.files`, such as `greedyrls.files.open_npy`.

    Attributes
    ----------
    shape : tuple of int
        The number of samples m and of features n.
    dtype : numpy.dtype
        Type of the numbers in the file; computations use float64.
    feature_names : tuple of str, or None
        Names of the columns, if the file has them.
    memory_limit : int, or None
        Memory that a search may use, in bytes; a quarter of the machine's memory if None.
    source : object
        Reads rows of the file.
    """

    def __init__(
        self,
        source: Source,
        memory_limit: int | str | None = None,
        feature_names: tuple[str, ...] | None = None,
    ) -> None:
        self.source = source
        self.shape, self.dtype = source.shape, source.dtype
        self.memory_limit = check_limit(memory_limit)
        self.feature_names = feature_names

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        m, n = self.shape
        size = m * n * self.dtype.itemsize / 1e9
        return f"<{self.source.name}: {m} × {n}, {self.dtype}, {size:.3g} GB>"

    def __array__(self, *arguments: Any, **options: Any) -> Any:
        raise TypeError(
            f"{self!r} is not read into memory: pass it as X to greedy_path or to fit and predict "
            "of GreedyRLSRegressor and GreedyRLSClassifier."
        )

    def rows(self, start: int, stop: int) -> NDArray[Any]:
        """Read a range of rows into memory.

        Parameters
        ----------
        start, stop : int
            First row, and the row after the last.

        Returns
        -------
        ndarray of shape (stop − start, n)
        """
        m, _ = self.shape
        if not 0 <= start <= stop <= m:
            raise ValueError(f"rows {start} to {stop} are not within 0 to {m}.")
        return self.source.read(start, stop)

    def linear(self, indices: NDArray[np.intp], coef: Float, intercept: Any) -> Float:
        """A linear model (t × c) on some columns, of all rows: (m × t), by one pass.

        Parameters
        ----------
        indices : ndarray of int
            Columns of the model, c of them.
        coef : ndarray of shape (t, c)
            Their coefficients.
        intercept : float or ndarray of shape (t,)
            Intercept of each output.
        """
        values = np.empty((len(self), len(coef)))
        X = self.matrix()
        every = slice(0, len(self))
        if not X.kept.missing(indices.tolist()):
            values[every] = X.columns(indices).T @ coef.T + intercept
            _check_finite(values, every)
            return values
        for rows, chunk in X.chunks():
            values[rows] = chunk.values[:, indices].astype(np.float64) @ coef.T + intercept
            _check_finite(values, rows)
        return values

    def matrix(self, memory_limit: int | None = None) -> FileMatrix | ColumnFileMatrix:
        """The matrix for one search.

        Parameters
        ----------
        memory_limit : int, optional
            Memory that the search may use, in bytes; that of the file by default.
        """
        limit = self.memory_limit if memory_limit is None else memory_limit
        if isinstance(self.source, ColumnSource):
            return ColumnFileMatrix(self.source, limit)
        return FileMatrix(self.source, limit)


def _check_finite(values: Float, rows: slice) -> None:
    """Raise an error that names a row of predictions that are not finite."""
    if not np.isfinite(values[rows]).all():
        row = rows.start + int(np.argmin(np.isfinite(values[rows]).all(axis=1)))
        raise ValueError(f"Input X contains NaN or infinity: a selected column, row {row}.")


def as_file(X: Any, memory_limit: Any = None) -> FileMatrix | ColumnFileMatrix | None:
    """X for a search if it is to be read from a file, else None.

    A memory map is if a limit is given, or if it is larger than the memory allowed without one.
    """
    limit = check_limit(memory_limit)
    if isinstance(X, DataFile):
        return X.matrix(limit)
    is_map = map_of(X) is not None
    if limit is None:
        return FileMatrix(ArraySource(X)) if is_map and X.nbytes > default_limit() else None
    if not is_map:
        raise ValueError(
            "memory_limit is for X in a file: a numpy.memmap, a dataset of h5py, zarr or "
            "bed-reader, or what greedyrls.files opens (a sparse one is mapped, not read). This X "
            f"is of type {type(X).__name__}."
        )
    return FileMatrix(ArraySource(X), limit)


def _sums(
    V: Float, chunk: Matrix, weights: Float | None, with_squares: bool, rows: slice
) -> tuple[Float, Float]:
    """`sums` of some rows of a chunk."""
    own = None if weights is None else weights[rows]
    return chunk.take(rows).sums(V[:, rows], own, with_squares)
