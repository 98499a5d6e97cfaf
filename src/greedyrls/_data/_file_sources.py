"""Rows in files, read from the first to the last: arrays of NumPy; Parquet is in `_parquet`."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

# Kinds of numbers that can be converted to float64.
NUMERIC = "biuf"


class Source(Protocol):
    """Rows that can be read again and again, from the first to the last."""

    @property
    def shape(self) -> tuple[int, int]:
        """m and n."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the numbers."""

    @property
    def overhead(self) -> int:
        """Bytes of memory that reading takes beside the rows themselves."""

    @property
    def name(self) -> str:
        """For messages."""

    def chunks(self, height: int) -> Iterator[NDArray[Any]]:
        """All rows in order, `height` of them at a time (the last ones may be fewer).

        A chunk may be overwritten when the next but one is asked for.
        """

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Some rows next to each other, as an array of their own."""


class ArraySource:
    """A memory-mapped array or a view of one, read rather than mapped where it lies by rows.

    Pages read so belong to the system; pages of a map would count as ours.
    """

    def __init__(self, array: NDArray[Any]) -> None:
        if array.ndim != 2:
            raise ValueError(f"X must have 2 dimensions, got an array of shape {array.shape}.")
        if array.dtype.kind not in NUMERIC:
            raise ValueError(f"X must be numeric; the numbers in the file are {array.dtype}.")
        self._array = array
        self._path: str | None = None
        self._offset = 0  # where in the file the view begins
        self._end = 0  # where in the file its map ends
        self._map: mmap.mmap | None = None
        root = map_of(array)
        if root is None or root.filename is None or root.mode == "c":
            return  # what was written to a map of mode "c" is not in the file
        self._path = str(root.filename)
        self._end = int(root.offset) + root.nbytes
        self._offset = int(root.offset) + array.ctypes.data - root.ctypes.data
        if isinstance(root.base, mmap.mmap):
            self._map = root.base

    @property
    def shape(self) -> tuple[int, int]:
        """m and n."""
        m, n = self._array.shape
        return int(m), int(n)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the numbers."""
        return self._array.dtype

    @property
    def overhead(self) -> int:
        """Nothing: rows are read into place."""
        return 0

    @property
    def name(self) -> str:
        """The file."""
        return self._path or "X"

    def chunks(self, height: int) -> Iterator[NDArray[Any]]:
        """All rows in order."""
        m, n = self.shape
        # Memory that is used again and again needs to be made only once.
        buffers = [np.empty((min(m, height), n), dtype=self.dtype) for _ in range(2)]
        for number, top in enumerate(range(0, m, height)):
            rows = buffers[number % 2][: min(m, top + height) - top]
            self.fill(rows, top)
            yield rows

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Some rows."""
        rows = np.empty((stop - start, self.shape[1]), dtype=self.dtype)
        self.fill(rows, start)
        return rows

    def fill(self, rows: NDArray[Any], start: int) -> None:
        """Read as many rows as there are places, from `start` on."""
        stop = start + len(rows)
        if self._path is None:
            rows[:] = self._array[start:stop]
            return
        if os.path.getsize(self._path) < self._end:
            # Past its end, a map would not raise an error but end the process.
            raise OSError(f"{self._path} is shorter than it was when it was opened.")
        if not self._array.flags.c_contiguous:
            rows[:] = self._array[start:stop]
            if self._map is not None and hasattr(self._map, "madvise"):
                self._map.madvise(mmap.MADV_DONTNEED)  # these pages are not ours any more
            return
        with open(self._path, "rb", buffering=0) as file:
            file.seek(self._offset + start * rows.strides[0])
            read_into(file, rows, f"{self._path} ends before row {stop}; was it cut short?")


def read_into(file: Any, values: NDArray[Any], complaint: str) -> None:
    """Fill an array from where a file stands."""
    view = bytes_of(values)
    done = 0
    while done < len(view):
        count = file.readinto(view[done:])
        if not count:
            raise OSError(complaint)
        done += count


def bytes_of(values: NDArray[Any]) -> memoryview:
    """The bytes of an array whose numbers lie one after the other."""
    return values.reshape(-1).view(np.uint8).data


def map_of(array: Any) -> np.memmap[Any, Any] | None:
    """The memory map that an array is, or is a view of."""
    found = None
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap) and isinstance(array.base, mmap.mmap):
            found = array
        array = array.base
    return found
