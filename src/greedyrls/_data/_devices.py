"""X on the device named by `device=`: copied there if it fits into memory, else streamed."""

from __future__ import annotations

import importlib
from typing import Any

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from .._base import ArrayLocation, other_namespace, send
from ._device_matrix import DeviceMatrix, as_device_matrix, is_in_host_memory
from ._stream import StreamedMatrix
from ._transport import transport_to

# Share of the free memory of a device for X: the rest is for columns in float64 (up to a quarter of
# X) and for vectors over samples.
RESIDENT_SHARE = 0.6
_COPIED_BYTES = 1 << 27


def location_named(device: Any) -> ArrayLocation:
    """Return the location of "cuda:1", "cpu", "cupy", or of a device of PyTorch or CuPy."""
    if isinstance(device, ArrayLocation):
        return device
    if isinstance(device, str) and device.partition(":")[0] == "cupy":
        return _cupy_location(device)
    module = type(device).__module__.partition(".")[0]
    if module == "cupy":
        return ArrayLocation(
            array_api_compat.array_namespace(_imported("cupy", device).empty(0)), device
        )
    if not isinstance(device, str) and module != "torch":
        raise TypeError(
            "device must be None, text such as 'cuda', 'cuda:1' or 'cupy', or a device of PyTorch "
            f"or CuPy, got {device!r}."
        )
    torch = _imported("torch", device)
    try:
        torch_device = torch.device(device)
    except RuntimeError as error:
        raise ValueError(
            f"device={device!r} is not a PyTorch device ({str(error).splitlines()[0]}) Use 'cuda', "
            "'cuda:1', 'cupy', or None."
        ) from error
    if torch_device.type == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if (torch_device.index or 0) >= count:
            raise ValueError(
                f"device={device!r}, but PyTorch sees {count} CUDA devices on this machine. Use "
                "device=None to compute where X is."
            )
        if torch_device.index is None:
            torch_device = torch.device("cuda", torch.cuda.current_device())
    return ArrayLocation(array_api_compat.array_namespace(torch.empty(0)), torch_device)


def _cupy_location(device: str) -> ArrayLocation:
    """Return the location of "cupy" or "cupy:1"."""
    cupy = _imported("cupy", device)
    _, colon, number = device.partition(":")
    if colon and not number.isdecimal():
        raise ValueError(f"device={device!r} must be 'cupy' or 'cupy:' and a number.")
    cupy_device = cupy.cuda.Device(int(number)) if colon else cupy.cuda.Device()
    return ArrayLocation(array_api_compat.array_namespace(cupy.empty(0)), cupy_device)


def _imported(name: str, device: Any) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        how = (
            "PyTorch (pip install torch)" if name == "torch" else "CuPy (pip install cupy-cuda12x)"
        )
        raise ImportError(
            f"device={device!r} needs {how}. Use device=None to compute where X is."
        ) from error


def free_bytes(location: ArrayLocation) -> int | None:
    """Return the free memory of a device in bytes; None if it is not known, or is the host's."""
    if array_api_compat.is_torch_namespace(location.xp) and location.device.type == "cuda":
        cuda = importlib.import_module("torch").cuda
        unused = cuda.memory_reserved(location.device) - cuda.memory_allocated(location.device)
        return int(cuda.mem_get_info(location.device)[0] + unused)
    if array_api_compat.is_cupy_namespace(location.xp):
        with location.device:
            pool = importlib.import_module("cupy").get_default_memory_pool()
            return int(location.device.mem_info[0] + pool.free_bytes())
    return None


def on_device(X: Any, device: Any) -> DeviceMatrix:
    """Return X, a checked array, as a matrix for a search on a device."""
    location = location_named(device)
    if other_namespace(X) is not None:
        checked = as_device_matrix(X)
        if checked.location == location:
            return checked
        if not (array_api_compat.is_torch_array(X) and is_in_host_memory(checked.location.device)):
            raise ValueError(
                f"X is on the device {checked.location.device} already, got device={device!r}: "
                "that is for X in host memory. Use device=None to compute where X is, or move X."
            )
        X = _numpy_view(checked.values)
    _check_type(X, location)
    free = free_bytes(location)
    if free is None or X.nbytes <= RESIDENT_SHARE * free:
        return _copied(X, location)
    return StreamedMatrix(X, location, free)


def _numpy_view(tensor: Any) -> NDArray[Any]:
    """Return a NumPy view of a tensor in host memory, pinned or not."""
    try:
        values: NDArray[Any] = tensor.numpy()
    except TypeError as error:
        raise TypeError(
            f"X is a tensor of {tensor.dtype} in host memory, a type that NumPy does not support; "
            "pass X.float(), or move it to the device."
        ) from error
    return values


def _check_type(X: NDArray[Any], location: ArrayLocation) -> None:
    """Raise an error unless the device supports the type of X."""
    try:
        send(location, X[:1, :1])
    except (TypeError, ValueError) as error:
        name = getattr(location.xp, "__name__", str(location.xp)).rpartition(".")[2]
        raise TypeError(
            f"X has the type {X.dtype}, which {name} does not support ({error}). Convert it, for "
            "example X.astype('float32'), or use device=None."
        ) from error


def _copied(values: NDArray[Any], location: ArrayLocation) -> DeviceMatrix:
    """Copy X to a device, some rows at a time."""
    m, n = values.shape
    height = max(1, min(m, _COPIED_BYTES // max(1, n * values.dtype.itemsize)))
    dtype = send(location, np.asarray(values[:1, :1])).dtype
    copied = location.xp.empty((m, n), dtype=dtype, device=location.device)
    pieces = (slice(top, min(m, top + height)) for top in range(0, m, height))
    for rows, chunk in transport_to(location, values, height).chunks(pieces):
        copied[rows, :] = chunk
    return DeviceMatrix(copied)
