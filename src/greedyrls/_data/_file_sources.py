"""Access to rows and columns in files: NumPy arrays here, other formats in their own modules."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ._matrix import Rows

# Kinds of numbers that can be converted to float64.
NUMERIC = "biuf"


class Source(Protocol):
    """Rows that can be read repeatedly, from the first to the last."""

    @property
    def shape(self) -> tuple[int, int]:
        """The number of samples m and of features n."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values."""

    @property
    def overhead(self) -> int:
        """Bytes of memory that reading takes in addition to the rows."""

    @property
    def name(self) -> str:
        """The name of the file, for error messages."""

    def chunks(self, height: int) -> Iterator[NDArray[Any]]:
        """Yield all rows in order, `height` at a time (the last chunk may be shorter).

        A chunk may be overwritten when the next but one is requested.
        """

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return consecutive rows as a new array."""


@runtime_checkable
class ColumnSource(Source, Protocol):
    """A file that is stored by columns: these are read faster than rows."""

    @property
    def step(self) -> int:
        """The number of columns that are stored together."""

    def read_columns(self, columns: slice | NDArray[np.intp], rows: Rows) -> NDArray[Any]:
        """Return rows of columns as a new array, (rows × c)."""


class ArraySource:
    """A memory-mapped array or a view of one; if it is in C order, it is read from the file.

    Pages that are read stay in the system's cache; pages of a map would count as memory of this
    process.
    """

    overhead = 0  # rows are read directly into their buffer

    def __init__(self, array: NDArray[Any]) -> None:
        if array.ndim != 2:
            raise ValueError(f"X must have 2 dimensions, got an array of shape {array.shape}.")
        if array.dtype.kind not in NUMERIC:
            raise ValueError(f"X must be numeric; the numbers in the file are {array.dtype}.")
        self._array = array
        self.shape = int(array.shape[0]), int(array.shape[1])
        self.dtype = array.dtype
        self._path: str | None = None
        self._offset = 0  # offset of the view in the file
        self._end = 0  # offset of the end of the map in the file
        self._map: mmap.mmap | None = None
        root = map_of(array)
        if root is None or root.filename is None or root.mode == "c":
            return  # changes of a map of mode "c" are not in the file
        self._path = str(root.filename)
        self._end = int(root.offset) + root.nbytes
        self._offset = int(root.offset) + array.ctypes.data - root.ctypes.data
        if isinstance(root.base, mmap.mmap):
            self._map = root.base

    @property
    def name(self) -> str:
        """The name of the file, for error messages."""
        return self._path or "X"

    def chunks(self, height: int) -> Iterator[NDArray[Any]]:
        """Yield all rows in order, `height` at a time."""
        m, n = self.shape
        # Buffers are allocated once and reused.
        buffers = [np.empty((min(m, height), n), dtype=self.dtype) for _ in range(2)]
        for number, top in enumerate(range(0, m, height)):
            rows = buffers[number % 2][: min(m, top + height) - top]
            self.fill(rows, top)
            yield rows

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return consecutive rows as a new array."""
        rows = np.empty((stop - start, self.shape[1]), dtype=self.dtype)
        self.fill(rows, start)
        return rows

    def fill(self, rows: NDArray[Any], start: int) -> None:
        """Fill an array with rows, from `start` on."""
        stop = start + len(rows)
        if self._path is None:
            rows[:] = self._array[start:stop]
            return
        if os.path.getsize(self._path) < self._end:
            # Reading a map beyond the end of the file would kill the process.
            raise OSError(f"{self._path} is shorter than it was when it was opened.")
        if not self._array.flags.c_contiguous:
            rows[:] = self._array[start:stop]
            if self._map is not None and hasattr(self._map, "madvise"):
                self._map.madvise(mmap.MADV_DONTNEED)  # release the pages
            return
        with open(self._path, "rb", buffering=0) as file:
            file.seek(self._offset + start * rows.strides[0])
            read_into(file, rows, f"{self._path} ends before row {stop}; was it cut short?")


def read_into(file: Any, values: NDArray[Any], complaint: str) -> None:
    """Fill an array from the current position of a file."""
    view = bytes_of(values)
    done = 0
    while done < len(view):
        count = file.readinto(view[done:])
        if not count:
            raise OSError(complaint)
        done += count


def bytes_of(values: NDArray[Any]) -> memoryview:
    """Return the bytes of a contiguous array."""
    return values.reshape(-1).view(np.uint8).data


def map_of(array: Any) -> np.memmap[Any, Any] | None:
    """Return the memory map that an array is, or is a view of; None if it is neither."""
    root = None
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap) and isinstance(array.base, mmap.mmap):
            root = array
        array = array.base
    return root
