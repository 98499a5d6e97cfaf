"""Single columns of a row block: centred, weighted, gathered once and kept while they are of use.

In C order a column lies scattered over all of X, and gathering it costs more than computing with
it. The columns of the chosen features are needed at every step and those scored lately are likely
scored again, so both are kept, within a budget: X is never copied whole. This is a cache: what it
returns depends on the arguments alone, so blocks that share it remain values.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base import BUFFER_COLUMNS, CHOSEN_SHARE, Float, numbers_on, take
from .._data import Matrix

# Share of the memory of X that columns scored lately may take.
RECENT_SHARE = 0.04

# Shorter columns are gathered faster than they are looked up.
_WORTH_KEEPING_ROWS = 1500
# Columns scored lately that may be scored again, or chosen.
_RECENT_COLUMNS = 16
# The same where several searches score candidates together.
_SHARED_RECENT_COLUMNS = 32
# `BUFFER_COLUMNS` on a device, where products with fewer buffers are fewer launches.
_DEVICE_BUFFER_COLUMNS = 64
# The same where columns are so long that room for many of them may not be there.
_LIMITED_BUFFER_COLUMNS = 16
# Chosen columns over the budget are gathered again at each use, this many at a time.
_OVERFLOW_COLUMNS = 8


class ColumnStore:
    """Columns √w ∘ (x_i − mean_i) of one row block; `spare_bytes` are always allowed."""

    def __init__(
        self,
        X: Matrix,
        root_weights: Float | None,
        means: Float | None,
        spare_bytes: float,
        is_shared: bool = False,
    ) -> None:
        self._X = X
        self._is_short = X.shape[0] < _WORTH_KEEPING_ROWS
        self._root_weights = root_weights
        self._means = means
        column_bytes = max(1, 8 * X.shape[0])
        self._limit = int(max(spare_bytes, CHOSEN_SHARE * X.nbytes)) // column_bytes
        if X.is_sparse:
            self._limit = X.shape[1]  # k dense columns are little beside k rows of the factor
        recent = int(max(spare_bytes, RECENT_SHARE * X.nbytes)) // column_bytes
        if X.on_device:  # gathering is as fast there as copying
            self._is_short = True
            recent = 0
        if X.column_bytes is not None:
            self._limit = X.column_bytes // column_bytes
        if X.keeps_columns:
            self._is_short = True
            self._limit = recent = 0
        # Columns gathered lately, in a ring: which column a slot holds, and where a column is.
        most = _SHARED_RECENT_COLUMNS if is_shared else _RECENT_COLUMNS
        length = 0 if X.on_device else X.shape[0]
        self._recent = np.empty((min(max(1, recent), most), length))
        self._owners: dict[int, int] = {}
        self._slots: dict[int, int] = {}
        self._next = 0
        # Columns of chosen features, in buffers: where each is.
        self._places: dict[int, int] = {}
        self._order: tuple[int, ...] = ()
        self._buffers: list[Float] = []
        self._buffer = _DEVICE_BUFFER_COLUMNS if X.on_device else BUFFER_COLUMNS
        if X.column_bytes is not None:
            self._buffer = _LIMITED_BUFFER_COLUMNS

    def fresh(
        self, indices: NDArray[np.intp], rows: slice | NDArray[np.intp] = slice(None)
    ) -> Float:
        """Columns gathered from X, one per row of the result, all rows or some."""
        numbers = self._X.column_numbers(indices)
        return self._scaled(self._X.columns(numbers, rows), numbers, rows)

    def of_tile(self, tile: Matrix, numbers: Any, rows: slice) -> Float:
        """The same of some rows that are in memory as a matrix of their own."""
        return self._scaled(tile.columns(numbers), numbers, rows)

    def _scaled(self, columns: Float, numbers: Any, rows: slice | NDArray[np.intp]) -> Float:
        """Columns centred and weighted."""
        if self._means is not None:
            columns -= take(self._means, numbers_on(self._X.location, numbers))[:, None]
        if self._root_weights is not None:
            columns *= self._root_weights[rows]
        return columns

    def attached(self, X: Matrix, count: int = 0) -> ColumnStore:
        """A value with another X (or none): what it keeps later, this one does not know of.

        The columns of chosen features are shared; those gathered lately are let go. On a device as
        many as `count` will lie together, if there are none yet.
        """
        other = copy.copy(self)
        other._X = X
        other._is_short = True
        other._recent = np.empty((0, 0))
        other._owners, other._slots = {}, {}
        other._places, other._buffers = dict(self._places), list(self._buffers)
        if not self._buffers and X.column_bytes is None:
            other._buffer = max(self._buffer, min(count, self._limit))
        return other

    def piece(self, X: Matrix, rows: slice) -> ColumnStore:
        """Columns of some rows, which are in memory as X, with nothing kept."""
        root = None if self._root_weights is None else self._root_weights[rows]
        return ColumnStore(X, root, self._means, 0)

    def get(self, indices: NDArray[np.intp]) -> Float:
        """The columns (c × m); the caller may overwrite them."""
        if self._is_short or len(indices) > len(self._recent):
            return self.fresh(indices)
        slots = np.array([self._slots.get(index, -1) for index in indices.tolist()], dtype=np.intp)
        known = slots >= 0
        if known.all():
            kept: Float = self._recent[slots]
            return kept
        missing = indices[~known]
        fresh = self.fresh(missing)
        if len(missing) == len(indices):
            columns = fresh
        else:
            columns = np.empty((len(indices), self._X.shape[0]))
            columns[known] = self._recent[slots[known]]
            columns[~known] = fresh
        self._remember(missing.tolist(), fresh)
        return columns

    def _remember(self, indices: Sequence[int], columns: Float) -> None:
        """Keep gathered columns in the place of the oldest."""
        for index, column in zip(indices, columns, strict=True):
            slot = self._next % len(self._recent)
            self._next += 1
            self._slots.pop(self._owners.get(slot, -1), None)
            self._owners[slot] = index
            self._slots[index] = slot
            self._recent[slot] = column

    @property
    def room(self) -> Float | None:
        """On a device, the columns of chosen features and room for more, which is 0.

        None where X is streamed: what comes from the host cannot be recorded.
        """
        if self._X.device_array is None or len(self._buffers) > 1 or not self._limit:
            return None
        if not self._buffers:
            self._buffers.append(self._make_room(min(self._buffer, self._limit)))
        return self._buffers[0]

    def begins_with(self, features: tuple[int, ...]) -> bool:
        """Whether the columns of these features are all kept, before any other and in order."""
        return self._order[: len(features)] == features

    def keep(self, index: int, column: Float | None = None) -> None:
        """A feature was chosen: keep its column, if the budget allows."""
        if self._X.keeps_columns:
            self._X.pin(index)
            return
        place = len(self._places)
        if index in self._places or place >= self._limit:
            return
        slot = self._slots.pop(index, None)
        if slot is not None:
            del self._owners[slot]
        if place % self._buffer == 0 and len(self._buffers) * self._buffer <= place:
            size = min(self._buffer, self._limit - place)
            self._buffers.append(self._make_room(size))
        if column is None:
            column = self._single(index) if slot is None else self._recent[slot]
        self._buffers[-1][place % self._buffer, :] = column
        self._places[index] = place
        self._order = (*self._order, index)

    def note(self, index: int) -> None:
        """A feature was chosen whose column is in its place among the chosen ones already."""
        self._places[index] = len(self._places)
        self._order = (*self._order, index)

    def _make_room(self, count: int) -> Float:
        """Room for as many columns."""
        return self._X.location.buffer((count, self._X.shape[0]))

    def _single(self, index: int) -> Float:
        """One column, (m)."""
        column = self._X.single(index)
        if self._means is not None:
            column = column - self._means[index]
        if self._root_weights is not None:
            column = column * self._root_weights
        return column

    def chosen(
        self, features: tuple[int, ...], rows: slice | NDArray[np.intp] = slice(None)
    ) -> Iterator[tuple[slice, Float]]:
        """Columns of the chosen features, some at a time, with their places in `features`."""
        first = 0
        if features[: len(self._order)] == self._order:  # a single search: no need to look around
            for buffer in self._buffers:
                count = min(buffer.shape[0], len(self._order) - first)
                yield slice(first, first + count), buffer[:count, rows]
                first += count
        while first < len(features):
            places = self._run_of_places(features, first)
            if places:
                count = len(places)
                columns = self._buffered(places, rows)
            else:
                count = min(_OVERFLOW_COLUMNS, len(features) - first)
                columns = self.fresh(np.array(features[first : first + count]), rows)
            yield slice(first, first + count), columns
            first += count

    def places(self, features: Sequence[int]) -> NDArray[np.intp]:
        """Where the columns of chosen features are kept; −1 for those that are not."""
        return np.array([self._places.get(feature, -1) for feature in features], dtype=np.intp)

    def subtract_chosen(
        self,
        Z: Float,
        chosen: Sequence[NDArray[np.intp]],
        places: Sequence[NDArray[np.intp]],
        betas: Sequence[Float],
    ) -> None:
        """Z (c × m) less X_S β for candidates of several searches, each with features of its own.

        The first rows of Z belong to the search that chose the features chosen[0], which lie in
        places[0], with coefficients betas[0] (|S| × rows), and so on. One product for all:
        coefficients on all columns that are kept, 0 on those that a search has not chosen.
        """
        spread = np.zeros((len(Z), len(self._places)))
        top = 0
        for features, where, beta in zip(chosen, places, betas, strict=True):
            rows = slice(top, top + beta.shape[1])
            top = rows.stop
            if where.min(initial=0) < 0:
                lost = where < 0
                Z[rows] -= beta[lost].T @ self.fresh(features[lost])
                where, beta = where[~lost], beta[~lost]
            spread[rows, where] = beta.T
        for number, buffer in enumerate(self._buffers):
            first = number * self._buffer
            some = spread[:, first : first + self._buffer]
            if some.shape[1]:
                Z -= some @ buffer[: some.shape[1]]

    def _run_of_places(self, features: tuple[int, ...], first: int) -> list[int]:
        """Where the features from `first` on are kept, as far as they are in the same buffer."""
        places: list[int] = []
        for feature in features[first:]:
            place = self._places.get(feature)
            if place is None or (places and place // self._buffer != places[0] // self._buffer):
                break
            places.append(place)
        return places

    def _buffered(self, places: list[int], rows: slice | NDArray[np.intp]) -> Float:
        """Columns in places of one buffer: a view where they lie next to each other."""
        buffer = self._buffers[places[0] // self._buffer]
        start = places[0] % self._buffer
        columns: Float
        if places == list(range(places[0], places[0] + len(places))):
            columns = buffer[start : start + len(places), rows]
        elif isinstance(rows, slice):
            columns = buffer[:, rows][[place % self._buffer for place in places]]
        else:
            columns = buffer[np.ix_(np.array(places) % self._buffer, rows)]
        return columns
