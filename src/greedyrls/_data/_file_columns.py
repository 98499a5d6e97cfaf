"""Columns taken out of a file: in memory while there is room, else in a temporary file.

To read a column again would cost as much as to read everything, so none is ever thrown away.
Columns of chosen features are pinned: they are needed at every step, and stay in memory as long as
they fit.
"""

from __future__ import annotations

import tempfile
import weakref
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._file_sources import bytes_of, read_into

Rows = slice | NDArray[np.intp]


class KeptColumns:
    """Columns of `rows` numbers each, in the type that they have in the file."""

    def __init__(self, rows: int, dtype: np.dtype[Any], room: int) -> None:
        self._rows = rows
        self._dtype = dtype
        self._column_bytes = max(1, rows * dtype.itemsize)
        self._room = room // self._column_bytes
        self._memory: OrderedDict[int, NDArray[Any]] = OrderedDict()  # least used first
        self._pinned: set[int] = set()
        self._places: dict[int, int] = {}  # which column of the temporary file
        self._next = 0
        self._file: Any = None

    def __contains__(self, index: object) -> bool:
        return index in self._memory or index in self._places

    @property
    def count(self) -> int:
        """How many columns are kept, in memory or not."""
        return len(self._memory.keys() | self._places.keys())

    @property
    def in_memory(self) -> int:
        """How many columns are in memory."""
        return len(self._memory)

    @property
    def on_disk(self) -> int:
        """How many columns are in the temporary file."""
        return self._next

    def begin(self, indices: Sequence[int]) -> Arrivals:
        """Make room for columns that are about to come, a few rows at a time."""
        targets: list[NDArray[Any] | int] = []
        count = 0
        for _ in indices:
            if self._has_room(count):
                targets.append(np.empty(self._rows, dtype=self._dtype))
                count += 1
            else:
                targets.append(self._next)
                self._next += 1
        return Arrivals(self, list(indices), targets)

    def _has_room(self, expected: int) -> bool:
        """Whether one more fits into memory, after others have gone to the file if need be."""
        if len(self._memory) + expected < self._room:
            return True
        for index in self._memory:
            if index not in self._pinned:
                self._move_out(index)
                return True
        return False

    def _move_out(self, index: int) -> None:
        column = self._memory.pop(index)
        if index not in self._places:
            self.write(self._next, 0, column)
            self._places[index] = self._next
            self._next += 1

    def write(self, place: int, top: int, values: NDArray[Any]) -> None:
        """Some rows of a column of the temporary file."""
        if self._file is None:
            self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 (closed with this)
            weakref.finalize(self, self._file.close)
        try:
            self._file.seek(place * self._column_bytes + top * self._dtype.itemsize)
            view = bytes_of(np.ascontiguousarray(values))
            while len(view):
                view = view[self._file.write(view) :]
        except OSError as error:
            raise OSError(
                f"Columns of X could not be kept in a temporary file ({error}). Raise "
                "memory_limit, or set TMPDIR to a folder with enough space; it is now "
                f"{tempfile.gettempdir()}."
            ) from error

    def arrived(self, index: int, target: NDArray[Any] | int) -> None:
        """A column is there, whole."""
        if isinstance(target, int):
            self._places[index] = target
        else:
            self._memory[index] = target

    def pin(self, index: int) -> None:
        """A column that will be needed again and again: into memory, if there is room."""
        self._pinned.add(index)
        if index in self._places and index not in self._memory and self._has_room(0):
            self._memory[index] = self.get(index)

    def get(self, index: int, rows: Rows = slice(None)) -> NDArray[Any]:
        """Some rows of a column, in its own type; not to be overwritten."""
        if index in self._memory:
            self._memory.move_to_end(index)
            return self._memory[index][rows]
        first, count = 0, self._rows
        if isinstance(rows, slice):
            first, stop, _ = rows.indices(self._rows)
            count, rows = max(0, stop - first), slice(None, None, rows.step)
        values = np.empty(count, dtype=self._dtype)
        place = self._places[index] * self._column_bytes + first * self._dtype.itemsize
        self._file.seek(place)
        read_into(self._file, values, "the temporary file of columns was cut short")
        return values[rows]


class Arrivals:
    """Columns that come along with the rows of a pass; kept once all rows have come."""

    def __init__(
        self, kept: KeptColumns, indices: list[int], targets: list[NDArray[Any] | int]
    ) -> None:
        self._kept = kept
        self._indices = indices
        self._targets = targets

    def take(self, rows: slice, chunk: NDArray[Any]) -> None:
        """Some rows of all of them."""
        if not self._indices:
            return
        columns = np.ascontiguousarray(chunk[:, self._indices].T)
        for target, values in zip(self._targets, columns, strict=True):
            if isinstance(target, int):
                self._kept.write(target, rows.start, values)
            else:
                target[rows] = values

    def finish(self) -> None:
        """All rows have come."""
        for index, target in zip(self._indices, self._targets, strict=True):
            self._kept.arrived(index, target)
