"""X as a device array: matrix products in float64, converted a tile at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base import (
    DEVICE_TILE_ELEMENTS,
    Array,
    ArrayLocation,
    Float,
    as_float,
    checked_device_array,
    contiguous,
    location_of,
    namespace_of,
    numbers_on,
    slices,
    stacked,
    take,
    take_rows,
    to_device,
    to_host,
    true_indices,
)
from . import fused as _fused
from ._matrix import Matrix, Rows

# A product is split along the samples until its results have this many numbers, to keep the whole
# device busy; but not into pieces of fewer rows than the kernel's.
_BUSY = 1 << 16
# Bytes of the types that the kernel supports: Triton cannot convert narrower ones in a product.
_FUSED_BYTES = 4

Indices = NDArray[np.intp] | Array


class DeviceMatrix(Matrix):
    """X (m × n) as an array of PyTorch, CuPy or another namespace of the array API."""

    noun = "on a device"
    is_in_memory = True
    has_own_threads = True

    def __init__(self, values: Array) -> None:
        self.values = self.device_array = values
        self.location: ArrayLocation = location_of(values)
        self.shape = (int(values.shape[0]), int(values.shape[1]))
        self.dtype = values.dtype

    @property
    def nbytes(self) -> int:
        """The size of all of X in bytes."""
        xp = namespace_of(self.values)
        if xp.isdtype(self.dtype, "bool"):
            bits = 8
        else:
            is_real = xp.isdtype(self.dtype, "real floating")
            bits = (xp.finfo if is_real else xp.iinfo)(self.dtype).bits
        return int(math.prod(self.shape) * bits // 8)

    @property
    def device(self) -> DeviceMatrix:
        """The matrix itself."""
        return self

    def take(self, rows: Rows) -> DeviceMatrix:
        """Return rows as a matrix, which is a view if they are a slice."""
        return DeviceMatrix(_some_rows(self.values, self.location, rows))

    def chunks(self) -> Iterator[tuple[slice, DeviceMatrix]]:
        """Yield all rows at once."""
        yield slice(0, self.shape[0]), self

    def tiles(self, elements: int) -> Iterator[tuple[slice, DeviceMatrix]]:
        """Yield all rows in order, in tiles of about so many elements: one pass."""
        height = max(1, elements // self.shape[1])
        for rows, chunk in self.chunks():
            for part in slices(chunk.shape[0], height):
                yield slice(rows.start + part.start, rows.start + part.stop), chunk.take(part)

    def tiles_by_set(
        self, sets: Sequence[Any], shift: Float, cache: dict[int, Any]
    ) -> Iterator[tuple[int, Any, Matrix]]:
        """Yield number, rows and values minus the shift of each set, all its rows at once.

        Sets are row numbers on the device, or slices.
        """
        (away,) = to_device(self.location, shift)
        for number, rows in enumerate(sets):
            is_slice = isinstance(rows, slice)
            taken = self.values[rows, ...] if is_slice else take_rows(self.values, rows)
            if shift.any():
                taken = as_float(taken) - away
            yield number, rows, DeviceMatrix(taken)

    def sums(self, V: Float, weights: Float | None, with_squares: bool) -> tuple[Float, Float]:
        """Return V X, and the weighted sums of squares if `with_squares`, in one pass."""
        m, n = self.shape
        if self._is_fused:
            return self._fused_sums(V, weights, with_squares)
        is_ready = self.dtype == self.location.xp.float64 and not with_squares
        height = m if is_ready else max(1, DEVICE_TILE_ELEMENTS // n)
        products = self.location.zeros((V.shape[0], n))
        squares = self.location.zeros((1, n))
        for rows in slices(m, height):
            tile = as_float(self.values[rows, :])
            products += _split_product(V[:, rows], tile)
            if with_squares:
                ones = self.location.ones(tile.shape[0]) if weights is None else weights[rows]
                squares += _split_product(ones[None, :], tile * tile)
        return products, squares[0, :]

    @property
    def _is_fused(self) -> bool:
        """Whether the Triton kernel supports X, so that it need not be converted."""
        return _fused.runs_at(self.location) and self.values.dtype.itemsize == _FUSED_BYTES

    def _fused_sums(
        self, V: Float, weights: Float | None, with_squares: bool
    ) -> tuple[Float, Float]:
        """Compute `sums` by the Triton kernel, with a limited number of vectors at a time."""
        if with_squares and weights is None:
            weights = self.location.ones(self.shape[0])
        results = []
        for first in range(0, V.shape[0], _fused.MOST_VECTORS):
            vectors = V[first : min(first + _fused.MOST_VECTORS, V.shape[0]), :]
            wanted = weights if with_squares and first == 0 else None
            results.append(_fused.fused_sums(vectors, self.values, wanted))
        return stacked([products for products, _ in results]), results[0][1]

    @property
    def is_in_host_memory(self) -> bool:
        """Whether the device is the processor."""
        return is_in_host_memory(self.location.device)

    def columns(self, indices: Indices, rows: Any = slice(None)) -> Float:
        """Return columns as float64, one per row of the result; the caller may overwrite them.

        Rows are a slice, or numbers on the device.
        """
        indices = numbers_on(self.location, indices)
        if isinstance(rows, slice) and _fused.reads(self):
            gathered: Float = _fused.fused_columns(self.values[rows, :], indices)
            return gathered
        if isinstance(rows, slice):
            return contiguous(as_float(take_rows(self.values[rows, :].T, indices)))
        whole = contiguous(as_float(take_rows(self.values.T, indices)))
        return contiguous(take(whole, rows))

    def host_columns(self, indices: NDArray[np.intp], rows: Rows) -> Float:
        """Return `columns` as a NumPy array."""
        where = rows if isinstance(rows, slice) else numbers_on(self.location, rows)
        return to_host(self.columns(indices, where))[0]

    def host_part(self, rows: Rows, indices: NDArray[np.intp] | None = None) -> NDArray[Any]:
        """Return rows of some columns (or all) as a NumPy array, if it can be in their own type."""
        values = _some_rows(self.values, self.location, rows)
        if indices is not None:
            values = take(values, numbers_on(self.location, indices))
        try:
            return to_host(values)[0]
        except TypeError:  # a type that NumPy does not have, such as bfloat16
            return to_host(as_float(values))[0]

    def first_non_finite(self) -> tuple[int, int, float] | None:
        """Return row, column and value of a NaN or infinite value, or None."""
        xp = self.location.xp
        if not xp.isdtype(self.dtype, "real floating"):
            return None
        height = max(1, DEVICE_TILE_ELEMENTS // self.shape[1])
        for top in range(0, self.shape[0], height):
            bad = ~xp.isfinite(self.values[top : min(top + height, self.shape[0]), :])
            rows = true_indices(xp.any(bad, axis=1))
            if len(rows):
                row, column = top + int(rows[0]), int(true_indices(bad[int(rows[0]), :])[0])
                (value,) = to_host(as_float(self.values[row : row + 1, column]))
                return row, column, float(value[0])
        return None


def is_in_host_memory(device: Any) -> bool:
    """Whether a device is the processor, whose arrays NumPy can read without a copy."""
    return "cpu" in str(device).lower()


def as_device_matrix(X: Array) -> DeviceMatrix:
    """Check that a device array is two-dimensional and real, and return it as a matrix."""
    return DeviceMatrix(checked_device_array(X))


def _some_rows(values: Array, location: ArrayLocation, rows: Rows) -> Array:
    """Return rows of a device array by a slice, or by their numbers on the host."""
    if isinstance(rows, slice):
        return values[rows, :]
    return take_rows(values, numbers_on(location, rows))


def _split_product(V: Float, X: Float) -> Float:
    """Multiply V (c × m) by X (m × n), split along m into pieces that run in parallel."""
    m, n = X.shape
    pieces = max(1, min(m // _fused.LEAST_PIECE_ROWS, _BUSY // n))
    result: Float
    if pieces == 1:
        result = V @ X
        return result
    xp = namespace_of(X)
    size = m // pieces
    whole = size * pieces
    left = xp.permute_dims(xp.reshape(V[:, :whole], (V.shape[0], pieces, size)), (1, 0, 2))
    result = xp.sum(left @ xp.reshape(X[:whole, :], (pieces, size, n)), axis=0)
    if whole < m:
        result += V[:, whole:] @ X[whole:, :]
    return result
