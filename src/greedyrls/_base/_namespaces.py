"""Array namespaces: NumPy, or the namespace of the user's device arrays.

The mathematics is written once, with operators and the functions that all namespaces share. This
module has the operations in which they differ, and every transfer between host and device:
`to_host` and `to_device` move several arrays together, because each transfer has a high latency.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import array_api_compat
import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]
# An array of any namespace.
Array = Any


Option = TypeVar("Option")
Fields = TypeVar("Fields")


class ArrayLocation(NamedTuple):
    """The array namespace and the device that arrays belong to."""

    xp: Any
    device: Any

    @property
    def on_device(self) -> bool:
        """Whether the namespace is not NumPy's."""
        return self.xp is not np

    def pick(self, of_host: Option, of_device: Option) -> Option:
        """Return the setting for the host or the one for devices."""
        return of_device if self.on_device else of_host

    def ones(self, count: int) -> Float:
        """Return a vector of ones."""
        values: Float = self.xp.ones(count, dtype=self.xp.float64, **self._where)
        return values

    def zeros(self, shape: int | tuple[int, ...]) -> Float:
        """Return an array of zeros."""
        values: Float = self.xp.zeros(shape, dtype=self.xp.float64, **self._where)
        return values

    def empty(self, shape: tuple[int, ...]) -> Float:
        """Return an uninitialised array."""
        values: Float = self.xp.empty(shape, dtype=self.xp.float64, **self._where)
        return values

    def buffer(self, shape: tuple[int, ...]) -> Float:
        """Return an array to be filled: zeros on a device, where recorded work reads all of it."""
        return self.empty(shape) if self.xp is np else self.zeros(shape)

    def full(self, count: int, value: float) -> Float:
        """Return a vector that is filled with one number."""
        values: Float = self.xp.full(count, value, dtype=self.xp.float64, **self._where)
        return values

    @property
    def _where(self) -> dict[str, Any]:
        return {} if self.xp is np else {"device": self.device}


HOST = ArrayLocation(np, None)
_NAMESPACES: dict[type, Any] = {np.ndarray: np, np.float64: np}


def namespace_of(values: Array) -> Any:
    """Return the array namespace of an array."""
    kind = type(values)
    if kind not in _NAMESPACES:
        is_numpy = isinstance(values, np.ndarray)
        _NAMESPACES[kind] = np if is_numpy else array_api_compat.array_namespace(values)
    return _NAMESPACES[kind]


def location_of(values: Array) -> ArrayLocation:
    """Return the namespace and the device of an array."""
    xp = namespace_of(values)
    return HOST if xp is np else ArrayLocation(xp, array_api_compat.device(values))


def other_namespace(values: Any) -> Any | None:
    """Return the namespace of an array of another library, such as PyTorch; None for other values.

    Nothing is imported for this. JAX arrays are immutable and Dask arrays have no values yet: both
    are converted to NumPy arrays.
    """
    is_other = (
        not isinstance(values, np.ndarray | np.generic)
        and array_api_compat.is_array_api_obj(values)
        and not array_api_compat.is_jax_array(values)
        and not array_api_compat.is_dask_array(values)
        and not array_api_compat.is_pydata_sparse_array(values)
    )
    return namespace_of(values) if is_other else None


def checked_device_array(X: Array) -> Array:
    """Return X, detached, after checking that it is dense, real and two-dimensional."""
    xp = namespace_of(X)
    if X.ndim != 2:
        raise ValueError(
            f"X must have 2 dimensions (samples × features), got an array of shape "
            f"{tuple(X.shape)}."
        )
    if 0 in X.shape:
        raise ValueError(f"X is empty: its shape is {tuple(X.shape)}.")
    if xp.isdtype(X.dtype, "complex floating"):
        raise ValueError(f"X must have real numbers, got {X.dtype}.")
    if array_api_compat.is_torch_array(X):
        X = X.detach()
        if X.layout != xp.strided:
            raise TypeError(
                "X is a sparse tensor, which is not supported on a device; pass a dense tensor, or "
                "a SciPy sparse matrix."
            )
    return X


def to_host(*values: Array) -> list[Float]:
    """Return float64 arrays as NumPy arrays, in one transfer."""
    if all(isinstance(value, np.ndarray | float) for value in values):
        return list(values)
    shapes = [tuple(value.shape) for value in values]
    return split(_fetch(flattened(*values)), shapes)


def numpy_of(values: Any) -> Any:
    """Convert a device array of any type to NumPy; return anything else unchanged."""
    if other_namespace(values) is None:
        return values
    if array_api_compat.is_torch_array(values):
        values = values.detach()
    return to_host(values)[0]


def sent_beside(location: ArrayLocation, values: Any) -> Float | None:
    """Return an array of the location's namespace as float64 at the location; None for others.

    Arrays of another namespace can only be moved through the host.
    """
    if other_namespace(values) is not location.xp or not location.on_device:
        return None
    return as_float(send(location, values))


def host_numbers(values: Any) -> Any:
    """Convert integers on a device, such as fold ids, to NumPy; return others unchanged."""
    if other_namespace(values) is None:
        return values
    is_whole = namespace_of(values).isdtype(values.dtype, "integral")
    return numpy_of(values) if is_whole else to_host(as_float(values))[0].astype(np.intp)


def to_device(location: ArrayLocation, *values: Float) -> list[Array]:
    """Move NumPy arrays of float64 to a location in one transfer."""
    if not location.on_device:
        return list(values)
    packed = flattened(*values)
    return split(_send(location, packed), [np.shape(value) for value in values])


def flattened(*values: Array) -> Array:
    """Concatenate the values of several arrays into a vector."""
    xp = namespace_of(values[0])
    flat = [xp.reshape(value, (-1,)) for value in values]
    return flat[0] if len(flat) == 1 else xp.concat(flat)


def split(vector: Array, shapes: Sequence[tuple[int, ...]]) -> list[Array]:
    """Cut a vector into arrays of the given shapes; undoes `flattened`."""
    xp = namespace_of(vector)
    result = []
    begin = 0
    for shape in shapes:
        end = begin + _size(shape)
        piece = vector[begin:end]
        if len(shape) != 1:
            piece = piece.reshape(shape) if xp is np else xp.reshape(piece, shape)
        result.append(piece)
        begin = end
    return result


class Layout(Generic[Fields]):
    """Where the fields of a tuple lie in a vector of float64: one after the other.

    The host packs and unpacks by these views, and kernels get their pointers from them.
    """

    def __init__(self, fields: Callable[..., Fields], *shapes: tuple[int, ...]) -> None:
        self._fields, self._shapes = fields, shapes
        self.size = sum(map(_size, shapes))

    def views(self, vector: Array) -> Fields:
        """Return the fields of a vector, which may have other numbers after them; no copies."""
        return self._fields(*split(vector, self._shapes))


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for length in shape:
        size *= length
    return size


class Transfers:
    """Counts transfers from a device to the host, each of which blocks the search."""

    count = 0


def note_transfer() -> None:
    """Count one more transfer from a device to the host."""
    Transfers.count += 1


def _fetch(values: Array) -> Float:
    """Copy an array from a device to the host. Recorded work does this itself (`_replay`)."""
    note_transfer()
    if array_api_compat.is_torch_array(values):
        fetched: Float = (values.cpu() if values.device.type != "cpu" else values.clone()).numpy()
    elif array_api_compat.is_cupy_array(values):
        fetched = values.get()
    else:
        fetched = np.array(np.from_dlpack(values))
    return fetched


def _send(location: ArrayLocation, values: NDArray[Any]) -> Array:
    """Copy an array from the host to a device."""
    if array_api_compat.is_torch_namespace(location.xp):
        # Does not wait for the device; the values have been read when the call returns.
        return location.xp.from_numpy(values).to(location.device, non_blocking=True)
    return location.xp.asarray(values, device=location.device)


def send(location: ArrayLocation, values: Any) -> Array:
    """Move an array of any type to a location, without a copy if it is there already."""
    if not location.on_device or other_namespace(values) is location.xp:
        if array_api_compat.is_torch_array(values):
            return values.detach().to(location.device)
        if not location.on_device:
            return values
        return array_api_compat.to_device(values, location.device)
    return _send(location, np.array(values, copy=True, order="C"))


def as_float(values: Array) -> Float:
    """Convert an array to float64; it is copied only if its type differs."""
    xp = namespace_of(values)
    converted: Float = xp.astype(values, xp.float64, copy=False)
    return converted


def contiguous(values: Array) -> Float:
    """Return the array in C order, if its namespace supports memory orders."""
    result: Any = values
    if array_api_compat.is_torch_array(values):
        result = values.contiguous()
    elif isinstance(values, np.ndarray) or array_api_compat.is_cupy_array(values):
        result = namespace_of(values).ascontiguousarray(values)
    rows: Float = result
    return rows


def copy(values: Array) -> Float:
    """Return a copy of an array."""
    copied: Float = namespace_of(values).asarray(values, copy=True)
    return copied


def address_of(values: Array) -> int:
    """Return the memory address of a contiguous PyTorch tensor, for a kernel."""
    assert values.is_contiguous()
    address: int = values.data_ptr()
    return address


def whole_numbers(values: Array) -> Array:
    """Convert float64 numbers to int64."""
    xp = namespace_of(values)
    return xp.astype(values, xp.int64)


def numbers_on(location: ArrayLocation, indices: Array) -> Array:
    """Move NumPy indices to a location; others are there already."""
    if not location.on_device or not isinstance(indices, np.ndarray):
        return indices
    return _send(location, indices.astype(np.int64))


def take(values: Array, indices: Array) -> Array:
    """Take elements along the last axis."""
    if isinstance(values, np.ndarray):
        return values.take(indices, axis=-1)
    xp = namespace_of(values)
    if array_api_compat.is_torch_namespace(xp):  # the wrapped function checks for negative indices
        return xp.index_select(values, values.ndim - 1, indices)
    return xp.take(values, indices, axis=values.ndim - 1)


def take_rows(values: Array, indices: Array) -> Array:
    """Take elements along the first axis."""
    xp = namespace_of(values)
    if array_api_compat.is_torch_namespace(xp):
        return xp.index_select(values, 0, indices)
    return xp.take(values, indices, axis=0)


def put(values: Array, indices: NDArray[np.intp], numbers: Float | float) -> None:
    """Set elements along the last axis in place; the indices are on the host."""
    xp = namespace_of(values)
    if xp is np:
        values[..., indices] = numbers
    elif array_api_compat.is_torch_namespace(xp) or array_api_compat.is_cupy_namespace(xp):
        location = location_of(values)
        if isinstance(numbers, np.ndarray):
            where, numbers = to_device(location, indices.astype(np.float64), numbers)
        else:
            (where,) = to_device(location, indices.astype(np.float64))
        values[..., whole_numbers(where)] = numbers
    else:
        for number, index in enumerate(indices.tolist()):
            value = numbers[..., number] if isinstance(numbers, np.ndarray) else numbers
            values[..., index] = xp.asarray(value)


def floor_at(values: Array, floor: Any) -> Array:
    """Return the elementwise maximum, written to the first argument if it is a NumPy array."""
    if isinstance(values, np.ndarray):
        return np.maximum(values, floor, out=values)
    xp = namespace_of(values)
    if isinstance(floor, float):
        return xp.clip(values, min=floor)
    return xp.maximum(values, floor)


def larger_number(values: Array, others: Array) -> Array:
    """Return the elementwise maximum, ignoring NaN like `np.fmax`."""
    if isinstance(values, np.ndarray):
        return np.fmax(values, others, out=values)
    xp = namespace_of(values)
    return xp.where(xp.isnan(values), others, xp.maximum(values, others))


def true_indices(mask: Array) -> NDArray[np.intp]:
    """Return the indices at which a vector is true, on the host."""
    if isinstance(mask, np.ndarray):
        (where,) = mask.nonzero()
        return where
    xp = namespace_of(mask)
    (indices,) = xp.nonzero(mask)
    (numbers,) = to_host(xp.astype(indices, xp.float64))
    return numbers.astype(np.intp)


def smallest_indices(values: Array, count: int) -> tuple[NDArray[np.intp], Float]:
    """Return indices and values of the `count` smallest values, unordered, on the host."""
    count = min(count, values.shape[0])
    xp = namespace_of(values)
    if xp is np:
        indices = np.argpartition(values, count - 1)[:count] if count < len(values) else None
        indices = np.arange(len(values)) if indices is None else indices
        return indices, values[indices]
    if array_api_compat.is_torch_namespace(xp):
        smallest, order = xp.topk(values, count, largest=False, sorted=False)
    else:
        order = xp.argsort(values)[:count]
        smallest = xp.take(values, order, axis=0)
    numbers, least = to_host(xp.astype(order, xp.float64), smallest)
    return numbers.astype(np.intp), least


def inner(first: Array, second: Array) -> Float:
    """Multiply first (p × m) by the transpose of second (q × m): sums over samples, (p × q)."""
    product: Float = first @ second.T
    return product


def row_dots(first: Array, second: Array) -> Float:
    """Return the inner products of the rows of two matrices, (rows)."""
    values: Float
    if isinstance(first, np.ndarray):
        values = np.vecdot(first, second)
    else:
        values = namespace_of(first).sum(first * second, axis=-1)
    return values


def extremes(values: Array) -> tuple[Array, Array]:
    """Return the largest and the smallest value."""
    if isinstance(values, np.ndarray):
        return values.max(), values.min()
    xp = namespace_of(values)
    return xp.max(values), xp.min(values)


def stacked(rows: Sequence[Array]) -> Float:
    """Concatenate matrices along the first axis."""
    values: Float = rows[0] if len(rows) == 1 else namespace_of(rows[0]).concat(rows)
    return values


def at(values: Array, index: Array | int) -> Array:
    """Take one element along the last axis; the index is an int or a device vector of length 1."""
    return values[..., index] if isinstance(index, int) else take(values, index)[..., 0]


def put_at(values: Array, index: Array | int, numbers: Array | float) -> None:
    """Set one element along the last axis, (… × 1); the index is an int, or as in `at`."""
    if isinstance(index, int):
        values[..., index : index + 1] = numbers
    else:
        values.index_copy_(values.ndim - 1, index, numbers)


def put_row(values: Array, index: Array | int, numbers: Array) -> None:
    """Set one element along the last axis but one, or its beginning if `numbers` is shorter."""
    if isinstance(index, int):
        values[..., index, : numbers.shape[-1]] = numbers
    else:
        values.index_copy_(values.ndim - 2, index, numbers[..., None, :])


def put_border(
    values: Array, size: Array | int, row: Array, last: Array | float, is_symmetric: bool = False
) -> None:
    """Set row (… × |S|) and corner (… × 1) of square matrices after `size` rows; the column too?"""
    if isinstance(size, int):
        values[..., size, :size] = row
        values[..., size, size : size + 1] = last
        if is_symmetric:
            values[..., :size, size] = row
        return
    row = row.index_copy(row.ndim - 1, size, last)
    put_row(values, size, row)
    if is_symmetric:
        put_at(values, size, row[..., None])


def raise_to(values: Array, floor: Any) -> None:
    """Replace the values by their elementwise maximum with a floor, in place."""
    if isinstance(values, np.ndarray):
        np.maximum(values, floor, out=values)
    elif array_api_compat.is_torch_array(values):
        values.clamp_(min=floor)
    else:
        values[...] = floor_at(values, floor)
