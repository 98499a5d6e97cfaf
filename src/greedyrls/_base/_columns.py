"""Columns kept by feature index: a cache, and those of selected features in contiguous buffers.

Neither changes an answer: a column that is not kept is read, gathered or computed again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ._namespaces import Array, ArrayLocation, Float, location_of

Rows = slice | NDArray[np.intp]
# Makes columns that are missing, (c × rows).
Fetch = Callable[[list[int]], Array]
# Columns that arrive a few rows at a time, by feature index; None if they do not fit into memory.
Incoming = dict[int, Array | None]


class SpillFile(Protocol):
    """Storage for columns that do not fit into memory."""

    def write(self, index: int, values: Array, first: int = 0) -> None:
        """Write rows of a column, from row `first` on."""

    def read(self, index: int, rows: Rows) -> Array:
        """Read rows of a column that was written."""


class ColumnCache:
    """Columns by feature index, at most `limit` of them in memory; the oldest are dropped first.

    `touch` makes a column the newest, and a pinned column is never dropped. With a spill file,
    columns are written to it instead of dropped. Columns may be arrays of any namespace.
    """

    def __init__(self, limit: int, spill_file: SpillFile | None = None) -> None:
        self.limit = limit
        self._columns: dict[int, Array] = {}  # oldest first
        self._batches: dict[int, Sequence[int]] = {}  # the columns that share an array with one
        self._pinned: set[int] = set()
        self._spilled: set[int] = set()
        self._spill_file = spill_file

    def __contains__(self, index: object) -> bool:
        return index in self._columns or index in self._spilled

    def __iter__(self) -> Iterator[int]:
        return iter(dict.fromkeys((*self._columns, *self._spilled)))

    def __len__(self) -> int:
        return len(self._columns) + len(self._spilled.difference(self._columns))

    def missing(self, indices: Iterable[int]) -> list[int]:
        """Those of the indices whose columns are not kept."""
        known = self._columns.keys() | self._spilled if self._spilled else self._columns
        return [index for index in indices if index not in known]

    def get(self, index: int, rows: Rows = slice(None)) -> Array:
        """The rows of a column that is kept; not to be overwritten."""
        if index in self._columns:
            return self._columns[index][rows]
        if self._spill_file is None:
            raise KeyError(index)
        return self._spill_file.read(index, rows)

    def gather(self, indices: Sequence[int], fetch: Fetch, rows: Rows = slice(None)) -> list[Array]:
        """The rows of columns; `fetch`, which may add to the cache, makes those not kept."""
        missing = self.missing(indices)
        columns = {index: self.get(index, rows) for index in indices if index in self}
        if missing:
            values = fetch(missing)
            columns.update((index, values[row, ...]) for row, index in enumerate(missing))
        return [columns[index] for index in indices]

    def in_memory(self) -> Iterator[tuple[int, Array]]:
        """All columns that are in memory, by index."""
        return iter(self._columns.items())

    def touch(self, index: int) -> None:
        """Make a column the last one to be dropped."""
        if index in self._columns:
            self._columns[index] = self._columns.pop(index)

    def pop(self, index: int) -> Array:
        """Remove a column from memory and return it; None if it is not there."""
        return self._columns.pop(index, None)

    def add(
        self,
        indices: Sequence[int],
        columns: Array,
        priority: Callable[[int], float] | None = None,
        as_batch: bool = False,
    ) -> None:
        """Keep columns (c × m); beyond the limit those of lowest priority are dropped.

        Without priorities, columns that were there before are dropped, the oldest first. Columns
        of a batch are dropped together: a single one would keep the memory of all.
        """
        for row, index in enumerate(indices):
            self._columns.pop(index, None)
            self._batches.pop(index, None)
            self._columns[index] = columns[row, ...]
        if as_batch:
            self._batches.update(dict.fromkeys(indices, indices))
        if len(self._columns) <= self.limit:
            return
        order = list(self._columns)[: -len(indices)]
        if priority is not None:
            order = sorted(self._columns, key=priority)
        for index in order:
            if len(self._columns) <= self.limit:
                break
            self._drop(index)

    def receive(self, indices: Iterable[int], allocate: Callable[[], Array]) -> Incoming:
        """Make room for columns that will arrive a few rows at a time: `put_rows`, then `finish`.

        Those that do not fit into memory are written to the spill file, if there is one.
        """
        incoming: Incoming = {}
        reserved = 0
        for index in indices:
            fits = self._has_room(reserved)
            incoming[index] = allocate() if fits else None
            reserved += fits
        return incoming

    def put_rows(self, incoming: Incoming, rows: slice, values: Array) -> None:
        """Store rows of incoming columns, (c × rows)."""
        for (index, column), new in zip(incoming.items(), values, strict=True):
            if column is not None:
                column[rows] = new
            elif self._spill_file is not None:
                self._spill_file.write(index, new, rows.start)

    def finish(self, incoming: Incoming) -> None:
        """Keep columns of which all rows have arrived."""
        for index, column in incoming.items():
            if column is not None:
                self._columns[index] = column
            elif self._spill_file is not None:
                self._spilled.add(index)

    def pin(self, index: int) -> None:
        """Keep a column from now on, in memory if there is room."""
        self._pinned.add(index)
        if index in self._spilled and index not in self._columns and self._has_room(0):
            self._columns[index] = self.get(index)

    def _has_room(self, reserved: int) -> bool:
        """Whether one more column fits beside reserved ones, after dropping one if need be."""
        fits = len(self._columns) + reserved < self.limit
        return fits or any(self._drop(index) for index in list(self._columns))

    def _drop(self, index: int) -> bool:
        """Remove a column and its batch from memory; False if one of them is pinned."""
        batch = self._batches.get(index, (index,))
        if not self._pinned.isdisjoint(batch):
            return False
        for member in batch:
            self._batches.pop(member, None)
            column = self._columns.pop(member, None)
            if self._spill_file is not None and column is not None and member not in self._spilled:
                self._spill_file.write(member, column)
                self._spilled.add(member)
        return True


@dataclass(frozen=True, slots=True)
class SelectedColumns:
    """Columns of selected features in their order, in buffers (… × width × rows) for products.

    A value: appending a column makes another one, which shares the buffers with this one. Columns
    are appended at the end only, so what this one reads of the buffers stays as it is.
    """

    limit: int  # the number of columns that are kept
    width: int  # columns of a buffer
    positions: dict[int, int] = field(default_factory=dict)  # by feature, in their order
    buffers: tuple[Float, ...] = ()

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def features(self) -> tuple[int, ...]:
        """The features whose columns are kept, in order."""
        return tuple(self.positions)

    def append(self, feature: int, column: Float) -> SelectedColumns:
        """The columns with another one (… × rows), if the limit allows."""
        position, buffers = len(self.positions), self.buffers
        if position >= self.limit or feature in self.positions:
            return self
        if position >= len(buffers) * self.width:
            size = min(self.width, self.limit - position)
            shape = (*column.shape[:-1], size, column.shape[-1])
            buffers = (*buffers, location_of(column).buffer(shape))
        buffers[-1][..., position % self.width, :] = column
        positions = {**self.positions, feature: position}
        return SelectedColumns(self.limit, self.width, positions, buffers)

    def with_features(self, features: Iterable[int]) -> SelectedColumns:
        """The same buffers after columns of these features were written into them."""
        positions = {feature: position for position, feature in enumerate(features)}
        return replace(self, positions=positions)

    def in_one_buffer(self, location: ArrayLocation, shape: tuple[int, ...]) -> SelectedColumns:
        """The same columns in one buffer of a shape (… × columns × rows), otherwise 0."""
        buffer = location.zeros(shape)
        for positions, columns in self.parts():
            buffer[..., positions, :] = columns
        return replace(self, width=shape[-2], buffers=(buffer,))

    def column(self, position: int) -> Float:
        """A column, (… × rows)."""
        column: Float = self.buffers[position // self.width][..., position % self.width, :]
        return column

    def parts(self, rows: Rows = slice(None)) -> Iterator[tuple[slice, Float]]:
        """Columns of each buffer (… × c × rows), with their positions."""
        first = 0
        for buffer in self.buffers:
            count = min(buffer.shape[-2], len(self.positions) - first)
            if count:
                yield slice(first, first + count), buffer[..., :count, rows]
            first += count

    def arranged(
        self, features: Sequence[int], make: Callable[[int], Float], width: int | None = None
    ) -> SelectedColumns:
        """The columns of features in their order, in buffers of their own, of another width.

        `make` makes those that are not kept, (… × rows). Those over the limit are left out.
        """
        arranged = replace(self, width=width or self.width, positions={}, buffers=())
        kept = [self.positions.get(feature, -1) for feature in features[: self.limit]]
        if not kept:
            return arranged
        first = self.column(kept[0]) if kept[0] >= 0 else make(features[0])
        buffers = []
        for start in range(0, len(kept), arranged.width):
            size = min(arranged.width, self.limit - start)
            buffer = location_of(first).buffer((*first.shape[:-1], size, first.shape[-1]))
            positions = np.array(kept[start : start + size])
            for number, source in enumerate(self.buffers):
                (inside,) = (positions // self.width == number).nonzero()
                if len(inside):
                    buffer[..., inside, :] = source[..., positions[inside] % self.width, :]
            for row in (positions < 0).nonzero()[0].tolist():
                position = start + row
                buffer[..., row, :] = make(features[position]) if position else first
            buffers.append(buffer)
        return replace(arranged, buffers=tuple(buffers)).with_features(features[: len(kept)])

    def leading(self, features: Sequence[int], rows: Rows = slice(None)) -> Float | None:
        """Columns of the first features, as far as they are in one buffer (c × rows).

        A view where they lie next to each other; None if the first one is not kept.
        """
        number = self.positions.get(features[0], -1) // self.width
        if number < 0:
            return None
        inside = (self.positions.get(feature, -1) - number * self.width for feature in features)
        positions = list(takewhile(range(self.width).__contains__, inside))
        buffer, start = self.buffers[number], positions[0]
        columns: Float
        if positions == list(range(start, start + len(positions))):
            columns = buffer[start : start + len(positions), rows]
        elif isinstance(rows, slice):
            columns = buffer[:, rows][positions]
        else:
            columns = buffer[np.ix_(np.array(positions), rows)]
        return columns
