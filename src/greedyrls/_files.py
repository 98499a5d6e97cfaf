"""X in a file larger than memory: read from front to back, a chunk at a time, one ahead.

A column of such a file lies scattered over all of it, so that asking for one costs as much as
reading everything: columns are taken along in passes that are made anyway, and kept.
"""

from __future__ import annotations

import mmap
import os
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from . import _kernels as kernels
from ._kernels import Float

Rows = slice | NDArray[np.intp]

# Of the memory allowed: chunks (one in use, one read ahead), and columns that are kept.
_CHUNK_SHARE = 1 / 16
_LARGEST_CHUNK = 1 << 26
_COLUMN_SHARE = 0.6
# What is allowed unless something is said, as a share of the machine's memory.
_DEFAULT_SHARE = 0.25


class Source(Protocol):
    """Rows that can be read again and again, from the first to the last."""

    @property
    def shape(self) -> tuple[int, int]:
        """m and n."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the numbers."""

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Some rows next to each other, as an array of their own."""


class ArraySource:
    """A memory-mapped array, read rather than mapped where its file is as it lies."""

    def __init__(self, array: NDArray[Any]) -> None:
        self._array = array
        self._path: str | None = None
        self._offset = 0
        # A view of a map does not know where in the file it begins.
        if not isinstance(array, np.memmap) or not isinstance(array.base, mmap.mmap):
            return
        if array.flags.c_contiguous and array.filename is not None:
            self._path, self._offset = str(array.filename), int(array.offset)

    @property
    def shape(self) -> tuple[int, int]:
        """m and n."""
        m, n = self._array.shape
        return int(m), int(n)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the numbers."""
        return self._array.dtype

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Some rows."""
        if self._path is None:
            return np.array(self._array[start:stop])
        _, n = self.shape
        rows = np.empty((stop - start, n), dtype=self.dtype)
        # Pages read so belong to the system; pages of a map would count as ours.
        with open(self._path, "rb", buffering=0) as file:
            file.seek(self._offset + start * n * self.dtype.itemsize)
            view = memoryview(rows.view(np.uint8).reshape(-1))  # type: ignore[arg-type]  # it is one
            done = 0
            while done < len(view):
                count = file.readinto(view[done:])
                if not count:
                    raise OSError(f"{self._path} ends before row {stop}; was it cut short?")
                done += count
        return rows


class FileMatrix:
    """X (m × n) in a file, within some bytes of memory."""

    def __init__(self, source: Source, memory_limit: int | None = None) -> None:
        self._source = source
        limit = default_limit() if memory_limit is None else memory_limit
        m, n = source.shape
        width = max(1, n * source.dtype.itemsize)
        self._height = max(1, min(m, int(min(_LARGEST_CHUNK, _CHUNK_SHARE * limit)) // width))
        self.column_limit = max(1, int(_COLUMN_SHARE * limit) // max(1, 8 * m))
        self._kept: OrderedDict[int, Float] = OrderedDict()
        self.passes = 0

    @property
    def shape(self) -> tuple[int, int]:
        """m and n."""
        return self._source.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the numbers."""
        return self._source.dtype

    @property
    def nbytes(self) -> int:
        """Of the whole, were it in memory."""
        m, n = self.shape
        return m * n * self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def chunks(self, along: Sequence[int] = ()) -> Iterator[tuple[slice, NDArray[Any]]]:
        """All rows in order: one pass. Columns `along` are taken along and kept."""
        m, _ = self.shape
        self.passes += 1
        new = [index for index in along if index not in self._kept][: self.column_limit]
        columns = np.empty((len(new), m))
        tops = range(0, m, self._height)
        with ThreadPoolExecutor(1) as reader:
            waiting: Future[NDArray[Any]] | None = None
            for top in tops:
                end = min(m, top + self._height)
                rows = reader.submit(self._source.read, top, end) if waiting is None else waiting
                chunk = rows.result()
                waiting = None
                if end < m:
                    waiting = reader.submit(self._source.read, end, min(m, end + self._height))
                if new:
                    columns[:, top:end] = kernels.gather(chunk, np.array(new))
                yield slice(top, end), chunk
        for index, column in zip(new, columns, strict=True):
            self._keep(index, column.copy())

    def _keep(self, index: int, column: Float) -> None:
        self._kept[index] = column
        while len(self._kept) > self.column_limit:
            self._kept.popitem(last=False)

    def has(self, index: int) -> bool:
        """Whether a column is kept."""
        return index in self._kept

    def product(self, V: Float, along: Sequence[int] = ()) -> Float:
        """V (c × m) times X, (c × n): one pass."""
        result = np.zeros((len(V), self.shape[1]))
        for rows, chunk in self.chunks(along):
            result += kernels.product(V[:, rows], chunk)
        return result

    def start_sums(self, V: Float, weights: Float | None) -> tuple[Float, Float]:
        """V X and the weighted sums of squares of the columns: one pass."""
        products = np.zeros((len(V), self.shape[1]))
        squares = np.zeros(self.shape[1])
        for rows, chunk in self.chunks():
            own = None if weights is None else weights[rows]
            some, square = kernels.start_sums(V[:, rows], chunk, own)
            products += some
            squares += square
        return products, squares

    def columns(self, indices: NDArray[np.intp], rows: Rows = slice(None)) -> Float:
        """Some columns, one per row of the result; a pass if one of them is not kept."""
        wanted = indices.tolist()
        missing = [index for index in dict.fromkeys(wanted) if index not in self._kept]
        fresh: dict[int, Float] = {}
        for first in range(0, len(missing), self.column_limit):
            some = missing[first : first + self.column_limit]
            values = np.empty((len(some), self.shape[0]))
            for place, chunk in self.chunks():
                values[:, place] = kernels.gather(chunk, np.array(some))
            fresh.update(zip(some, values, strict=True))
        result: Float = np.array(
            [(fresh[index] if index in fresh else self._kept[index])[rows] for index in wanted]
        )
        for index, column in fresh.items():
            self._keep(index, column)
        for index in wanted:
            if index in self._kept:
                self._kept.move_to_end(index)
        return result.reshape(len(wanted), -1)

    def some_rows(self, rows: NDArray[np.intp], indices: NDArray[np.intp] | None) -> NDArray[Any]:
        """Some rows of some columns (or all): read whole from the first to the last of them."""
        first = int(rows.min())
        taken = self._source.read(first, int(rows.max()) + 1)[rows - first]
        return taken if indices is None else taken[:, indices]

    def take(self, rows: Rows) -> NDArray[Any]:
        """Some rows, in memory."""
        raise MemoryError(
            "this would copy rows of X, which is in a file, into memory; choose the penalty "
            "otherwise (a number for alpha), or use the squared loss."
        )

    def rows(self, start: int, stop: int) -> NDArray[Any]:
        """Some rows next to each other."""
        return self._source.read(start, stop)

    def first_non_finite(self) -> tuple[int, int] | None:
        """Row and column of a value that is NaN or infinite."""
        for rows, chunk in self.chunks():
            found = kernels.first_non_finite(chunk)
            if found is not None:
                return rows.start + found[0], found[1]
        return None


def default_limit() -> int:
    """A share of the memory of the machine, in bytes."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not on every system
        total = 8 << 30
    return int(_DEFAULT_SHARE * total)
