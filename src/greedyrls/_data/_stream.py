"""X in host memory that is larger than the memory of the device: rows travel there chunk by chunk.

All else (r, d, weights, chosen columns) is on the device. A pass over X goes at the speed of the
link. A column of X in C order lies scattered over all of it, and to gather it on the host would
take longer than to send everything. So columns of candidates are taken along in passes that are
made anyway, as from a file (`_files`), and kept on the device.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base import (
    CACHE_LINE_BYTES,
    Array,
    ArrayLocation,
    ColumnCache,
    Float,
    as_float,
    numbers_on,
    send,
    take_rows,
    to_host,
)
from ._dense import DenseMatrix
from ._device_matrix import DeviceMatrix, Indices
from ._file_memory import Needs
from ._kept_columns import FetchedColumns
from ._matrix import Matrix, Rows
from ._transport import Transport, transport_to

# A chunk: large enough for the link to be at full speed.
_CHUNK_BYTES = 1 << 27
# Rows of a chunk at most: it is multiplied with up to a hundred vectors of that length.
_MOST_ROWS = 1 << 20
# Shares of the free memory of the device: both chunks, candidates' columns, chosen columns.
_CHUNK_SHARE = 0.1
_COLUMN_SHARE = 0.25
# Gathering a line of the cache on the host takes as long as sending so many.
_GATHERED_LINE = 10
# Columns that a search asks for at least, beside those that came along with a pass.
_ASKED = 96


class StreamedMatrix(DeviceMatrix):
    """X (m × n) in host memory for a search on a device that has so many bytes free."""

    noun = "streamed to a device"
    is_in_memory = False
    passes_dominate = True

    def __init__(self, values: NDArray[Any], location: ArrayLocation, free: int) -> None:
        self.values = values
        self.location = location
        self.shape = (values.shape[0], values.shape[1])
        self._free = free
        self.dtype = send(location, values[:1]).dtype  # on the device
        m, n = self.shape
        width = max(1, n * values.dtype.itemsize)
        chunk = min(_CHUNK_BYTES, int(_CHUNK_SHARE * free) // 2)
        self._height = max(1, min(m, _MOST_ROWS, chunk // width))
        self._transport: Transport | None = None
        self.column_bytes: int = int(_COLUMN_SHARE * free)
        # Columns on the device in their own type.
        cache = ColumnCache(max(1, self.column_bytes // (m * values.dtype.itemsize)))
        by_rows = abs(values.strides[0]) >= abs(values.strides[1])
        # So many columns are gathered on the host in the time of a pass.
        self._worth_a_pass = width / max(1e-9, CACHE_LINE_BYTES * _GATHERED_LINE)
        self._gathered_since = 0
        self._gathers = not by_rows or self._worth_a_pass > _ASKED
        self.kept: FetchedColumns = FetchedColumns(cache, self._gathers)

    @property
    def nbytes(self) -> int:
        """Of all of X."""
        return int(self.values.nbytes)

    def reserve(
        self, needs: Needs, verbose: int = 0, chunk_rows: int | None = None, n_jobs: int = 1
    ) -> None:
        """At most so many rows are sent at a time."""
        if chunk_rows is not None:
            self._height = max(1, min(chunk_rows, self._height))
            self._transport = None

    def take(self, rows: Rows) -> StreamedMatrix:
        """Some rows as a matrix, which is a view if they are a slice."""
        return StreamedMatrix(self.values[rows], self.location, self._free)

    def fetch(self, indices: Iterable[int]) -> None:
        """Have some columns on the device: gathered on the host, or by a pass.

        Gathered until those since the last pass have taken as long as another one would.
        """
        cache = self.kept.cache
        lacking = cache.missing(map(int, indices))[: cache.limit]
        self._gathered_since += len(lacking)
        if lacking and (self._gathers or self._gathered_since < self._worth_a_pass):
            cache.add(lacking, self._gathered(lacking, slice(None)), as_batch=True)
        elif lacking:
            self.kept.take_along(lacking)
            for _ in self.chunks():
                pass

    def chunks(self) -> Iterator[tuple[slice, DeviceMatrix]]:
        """All rows in order, on the device: one pass. The next chunk travels meanwhile."""
        m, _ = self.shape
        if self._transport is None:
            self._transport = transport_to(self.location, self.values, self._height)
        along = self.kept.due()[: self.kept.cache.limit]
        self._gathered_since = 0
        arrivals: Array = None
        if along:
            arrivals = self.location.xp.empty(
                (len(along), m), dtype=self.dtype, device=self.location.device
            )
            order = numbers_on(self.location, np.array(along, dtype=np.intp))
        pieces = (slice(top, min(m, top + self._height)) for top in range(0, m, self._height))
        for rows, chunk in self._transport.chunks(pieces):
            if along:
                arrivals[:, rows] = take_rows(chunk.T, order)
            yield rows, DeviceMatrix(chunk)
            self.rows_read += rows.stop - rows.start
        if along:
            self.kept.cache.add(along, arrivals, as_batch=True)

    def columns(self, indices: Indices, rows: slice = slice(None)) -> Float:
        """Some columns as float64, one per row of the result; those not kept are gathered."""
        if not isinstance(indices, np.ndarray):
            (numbers,) = to_host(as_float(indices))
            indices = numbers.astype(np.intp)
        kept = self.kept.cache.gather(indices.tolist(), partial(self._gathered, rows=rows), rows)
        columns: Float = as_float(self.location.xp.stack(kept))
        return columns

    def _gathered(self, indices: list[int], rows: slice) -> Array:
        """Some columns from the host, in their own type, (c × rows)."""
        return send(self.location, self.values[rows][:, indices].T)

    def host_columns(self, indices: NDArray[np.intp], rows: Rows) -> Float:
        """Some columns as a NumPy array, one per row of the result."""
        return DenseMatrix(self.values).columns(indices, rows)

    def host_part(self, rows: Rows, indices: NDArray[np.intp] | None = None) -> NDArray[Any]:
        """Some rows of some columns (or all) as a NumPy array, without a copy if it can be."""
        return DenseMatrix(self.values).part(rows, indices)

    def first_non_finite(self) -> tuple[int, int, float] | None:
        """Row, column and value of one that is NaN or infinite."""
        return Matrix.first_non_finite(self)

    def sums(self, V: Float, weights: Float | None, with_squares: bool) -> tuple[Float, Float]:
        """V X, and the weighted sums of squares if asked for: one pass."""
        return Matrix.sums(self, V, weights, with_squares)
