"""Transfer of rows from host memory to a device, overlapped with computation.

A copy from ordinary memory blocks the processor; one from pinned memory does not. So with PyTorch
on CUDA rows go through two pinned buffers to two buffers on the device, by a separate stream: while
the device computes with one chunk, the next is being transferred, and the processor fills the
buffer after that.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from .._base import Array, ArrayLocation, send

_BUFFERS = 2


class Transport(Protocol):
    """Transfers rows to a device."""

    def chunks(self, pieces: Iterable[slice]) -> Iterator[tuple[slice, Array]]:
        """Yield slices of rows on the device, in order.

        A chunk is overwritten when the next but one is requested, once the work that was launched
        with it is complete.
        """
        ...


class PlainTransport:
    """Copies rows synchronously to arrays of any namespace."""

    def __init__(self, values: NDArray[Any], location: ArrayLocation) -> None:
        self._values = values
        self._location = location

    def chunks(self, pieces: Iterable[slice]) -> Iterator[tuple[slice, Array]]:
        """Yield slices of rows on the device, in order."""
        for rows in pieces:
            yield rows, send(self._location, self._values[rows])


class PinnedTransport:
    """Copies rows through pinned memory to a CUDA device; a pinned X is copied directly."""

    def __init__(self, values: NDArray[Any], location: ArrayLocation, height: int) -> None:
        import torch

        self._device = location.device
        self._current = torch.cuda.current_stream
        self._on = torch.cuda.stream
        self._host = _as_tensor(values)
        # Buffers have the memory order of X, so that copies are contiguous.
        self._by_rows = abs(values.strides[0]) >= abs(values.strides[1])
        size, dtype = height * values.shape[1], self._host.dtype
        is_direct = self._by_rows and self._host.is_contiguous() and self._host.is_pinned()
        self._pinned: list[Any] = []
        if not is_direct:
            self._pinned = [
                torch.empty(size, dtype=dtype, pin_memory=True) for _ in range(_BUFFERS)
            ]
        self._buffers = [
            torch.empty(size, dtype=dtype, device=self._device) for _ in range(_BUFFERS)
        ]
        cuda: Any = torch.cuda  # parts of it have no annotations
        self._stream = cuda.Stream(self._device)
        self._stream.wait_stream(self._current(self._device))  # the memory may have been in use
        self._copied = [cuda.Event() for _ in range(_BUFFERS)]
        self._used = [cuda.Event() for _ in range(_BUFFERS)]

    def chunks(self, pieces: Iterable[slice]) -> Iterator[tuple[slice, Array]]:
        """Yield slices of rows on the device, in order."""
        for number, rows in enumerate(pieces):
            slot = number % _BUFFERS
            source = self._host[rows]
            if self._pinned:
                self._copied[slot].synchronize()  # the buffer has been copied
                staged = self._shaped(self._pinned[slot], source.shape)
                staged.copy_(source)
                source = staged
            chunk = self._shaped(self._buffers[slot], source.shape)
            self._stream.wait_event(self._used[slot])
            with self._on(self._stream):
                chunk.copy_(source, non_blocking=True)
                self._copied[slot].record(self._stream)
            self._current(self._device).wait_event(self._copied[slot])
            try:
                yield rows, chunk
            finally:
                self._used[slot].record(self._current(self._device))

    def _shaped(self, buffer: Any, shape: tuple[int, int]) -> Any:
        """Return the front of a buffer as a matrix in the memory order of X."""
        m, n = shape
        front = buffer[: m * n]
        return front.view(m, n) if self._by_rows else front.view(n, m).T


def transport_to(location: ArrayLocation, values: NDArray[Any], height: int) -> Transport:
    """Return the fastest transport for chunks of at most `height` rows."""
    if array_api_compat.is_torch_namespace(location.xp) and location.device.type == "cuda":
        return PinnedTransport(values, location, height)
    return PlainTransport(values, location)


def _as_tensor(values: NDArray[Any]) -> Any:
    """Return a tensor that shares the memory of an array."""
    import torch

    if min(values.strides) < 0:
        raise ValueError(
            f"X has the strides {values.strides}, but PyTorch does not support negative strides; "
            "pass numpy.ascontiguousarray(X)."
        )
    with warnings.catch_warnings():
        # A warning about read-only memory maps, which are never written to.
        warnings.filterwarnings("ignore", message=".*not writable.*", category=UserWarning)
        return torch.from_numpy(np.asarray(values))
