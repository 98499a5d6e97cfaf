"""X on a device, or streamed to one, for engines whose vectors are NumPy arrays.

Products with all of X are computed on the device, and vectors travel there and back. Columns and
rows are copied to the host as they are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base import (
    DEVICE_ELEMENTS,
    DEVICE_TILE_ELEMENTS,
    Float,
    as_float,
    numbers_on,
    take_rows,
    to_device,
    to_host,
)
from ._dense import DenseMatrix, dense_chunks
from ._device_matrix import DeviceMatrix
from ._devices import free_bytes
from ._matrix import PRODUCT_ROWS, Answer, Matrix, Rows

# Bytes of X up to which the processor is faster than products on a device.
_SMALL_BYTES = 1 << 24
# Bytes of a chunk of rows that is copied to the host.
_CHUNK_BYTES = 1 << 26


class DeviceProducts(Matrix):
    """X (m × n) whose products are computed by a matrix on a device."""

    has_own_threads = True

    def __init__(self, matrix: DeviceMatrix) -> None:
        self._matrix = matrix
        self.noun, self.shape = matrix.noun, matrix.shape

    @property
    def device(self) -> DeviceMatrix:
        """The matrix on the device."""
        return self._matrix

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values on the host."""
        return self.part(slice(0, 1)).dtype

    @property
    def nbytes(self) -> int:
        """The size of all of X in bytes."""
        return self._matrix.nbytes

    def columns(self, indices: NDArray[np.intp], rows: Rows = slice(None)) -> Float:
        """Return columns as float64, one per row of the result, for all rows or some."""
        return self._matrix.host_columns(indices, rows)

    def part(self, rows: Rows, indices: NDArray[np.intp] | None = None) -> NDArray[Any]:
        """Return rows of some columns (or all), (rows × c)."""
        return self._matrix.host_part(rows, indices)

    def chunks(self) -> Iterator[tuple[slice, DenseMatrix]]:
        """Yield all rows in order, copied to the host."""
        return dense_chunks(self, max(1, _CHUNK_BYTES * self.shape[0] // max(1, self.nbytes)))

    def take(self, rows: Rows) -> Matrix:
        """Return rows as a matrix: a view if they are a slice, else a copy if memory allows."""
        free = free_bytes(self._matrix.location)
        if not isinstance(rows, slice) and free is not None and self.nbytes > free:
            return super().take(rows)
        return DeviceProducts(self._matrix.take(rows))

    def sums(self, V: Float, weights: Float | None, with_squares: bool) -> tuple[Float, Float]:
        """Return V X, and the weighted sums of squares if `with_squares`, in one pass."""
        X = self._matrix
        (vectors,) = to_device(X.location, V)
        moved = None if weights is None else to_device(X.location, weights)[0]
        products, squares = X.sums(vectors, moved, with_squares)
        if not with_squares:
            return to_host(products)[0], np.empty(0)
        on_host = to_host(products, squares)
        return on_host[0], on_host[1]

    def first_non_finite(self) -> tuple[int, int, float] | None:
        """Return row, column and value of a NaN or infinite value, or None."""
        return self._matrix.first_non_finite()

    def map_tiles(
        self, question: Callable[[slice, Matrix], Answer], n_vectors: int
    ) -> Iterator[Answer]:
        """Yield `question(rows, tile)` for tiles of rows on the device."""
        height = max(PRODUCT_ROWS, DEVICE_ELEMENTS // max(1, n_vectors))
        for rows, tile in self._matrix.tiles(height * self.shape[1]):
            yield question(rows, DeviceProducts(tile))

    def tiles_by_set(
        self, sets: Sequence[Any], shift: Float, cache: dict[int, Any]
    ) -> Iterator[tuple[int, Any, Matrix]]:
        """Yield number, rows and values minus the shift of each set, tile by tile: one pass."""
        location = self._matrix.location
        (away,) = to_device(location, shift)
        for inside, tile in self._matrix.tiles(DEVICE_TILE_ELEMENTS):
            for number, members in enumerate(sets):
                rows, values = np.arange(inside.start, inside.stop), tile.values
                if members is not None:
                    first, last = np.searchsorted(members, (inside.start, inside.stop))
                    rows = members[first:last]
                    if not len(rows):
                        continue
                    values = take_rows(values, numbers_on(location, rows - inside.start))
                if shift.any():
                    values = as_float(values) - away
                yield number, rows, DeviceProducts(DeviceMatrix(values))


def host_matrix(X: Matrix, in_memory: bool) -> Matrix:
    """Return X for an engine whose vectors are NumPy arrays, all of it in memory if asked for.

    A small X is copied to the host, where steps may be compiled.
    """
    device = X.device
    if device is None or X is not device:
        return X
    if in_memory or device.is_in_host_memory or device.nbytes <= _SMALL_BYTES:
        return DenseMatrix(_on_host(device))
    return DeviceProducts(device)


def _on_host(X: DeviceMatrix) -> NDArray[Any]:
    """Return all values as a NumPy array, without a copy if they are in host memory."""
    if X.is_in_host_memory:
        with suppress(BufferError, RuntimeError, TypeError):  # types that NumPy does not have
            return np.from_dlpack(X.values)
    return X.host_part(slice(None))
