"""Rows on their way from host memory to a device: the next ones travel while it computes.

A copy from ordinary memory waits for the processor; one from pinned memory does not. So with
PyTorch on CUDA rows go through two pinned buffers to two buffers on the device, by a stream of
their own: while the device computes with one chunk, the next is on the link, and the processor
fills the buffer after that.
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
    """Brings rows to a device."""

    def chunks(self, pieces: Iterable[slice]) -> Iterator[tuple[slice, Array]]:
        """Some rows after the other; a chunk is overwritten once the one after the next is asked.

        Not before what was launched with it is done.
        """
        ...


class PlainTransport:
    """Copies, one after the other, to arrays of any namespace."""

    def __init__(self, values: NDArray[Any], location: ArrayLocation) -> None:
        self._values = values
        self._location = location

    def chunks(self, pieces: Iterable[slice]) -> Iterator[tuple[slice, Array]]:
        """Some rows after the other."""
        for rows in pieces:
            yield rows, send(self._location, self._values[rows])


class PinnedTransport:
    """Through pinned memory to a CUDA device of PyTorch; X that is pinned itself goes directly."""

    def __init__(self, values: NDArray[Any], location: ArrayLocation, height: int) -> None:
        import torch

        self._device = location.device
        self._current = torch.cuda.current_stream
        self._on = torch.cuda.stream
        self._host = _as_tensor(values)
        # Buffers have the memory order of X: what lies together there is copied together.
        self._by_rows = abs(values.strides[0]) >= abs(values.strides[1])
        size, dtype = height * values.shape[1], self._host.dtype
        is_direct = self._by_rows and self._host.is_contiguous() and self._host.is_pinned()
        self._pinned: list[Any] = []
        if not is_direct:
            self._pinned = [
                torch.empty(size, dtype=dtype, pin_memory=True) for _ in range(_BUFFERS)
            ]
        self._room = [torch.empty(size, dtype=dtype, device=self._device) for _ in range(_BUFFERS)]
        cuda: Any = torch.cuda  # parts of it have no annotations
        self._stream = cuda.Stream(self._device)
        self._stream.wait_stream(self._current(self._device))  # memory that was in use before
        self._copied = [cuda.Event() for _ in range(_BUFFERS)]
        self._used = [cuda.Event() for _ in range(_BUFFERS)]

    def chunks(self, pieces: Iterable[slice]) -> Iterator[tuple[slice, Array]]:
        """Some rows after the other."""
        for number, rows in enumerate(pieces):
            place = number % _BUFFERS
            given = self._host[rows]
            if self._pinned:
                self._copied[place].synchronize()  # what is in the buffer has left it
                staged = self._shaped(self._pinned[place], given.shape)
                staged.copy_(given)
                given = staged
            chunk = self._shaped(self._room[place], given.shape)
            self._stream.wait_event(self._used[place])
            with self._on(self._stream):
                chunk.copy_(given, non_blocking=True)
                self._copied[place].record(self._stream)
            self._current(self._device).wait_event(self._copied[place])
            try:
                yield rows, chunk
            finally:
                self._used[place].record(self._current(self._device))

    def _shaped(self, buffer: Any, shape: tuple[int, int]) -> Any:
        """The front of a buffer as a matrix in the memory order of X."""
        m, n = shape
        front = buffer[: m * n]
        return front.view(m, n) if self._by_rows else front.view(n, m).T


def transport_to(location: ArrayLocation, values: NDArray[Any], height: int) -> Transport:
    """The fastest way for chunks of at most so many rows."""
    if array_api_compat.is_torch_namespace(location.xp) and location.device.type == "cuda":
        return PinnedTransport(values, location, height)
    return PlainTransport(values, location)


def _as_tensor(values: NDArray[Any]) -> Any:
    """A tensor of the same memory."""
    import torch

    if min(values.strides) < 0:
        raise ValueError(
            f"X has the strides {values.strides}, but PyTorch does not support negative strides; "
            "pass numpy.ascontiguousarray(X)."
        )
    with warnings.catch_warnings():
        # That a memory map must not be written to: nobody does.
        warnings.filterwarnings("ignore", message=".*not writable.*", category=UserWarning)
        return torch.from_numpy(np.asarray(values))
