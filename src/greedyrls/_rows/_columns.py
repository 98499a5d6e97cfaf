"""Single columns of a row block: centred, weighted, and kept where they are needed at every step.

In C order a column lies scattered over all of X, and gathering it costs more than computing with
it. The columns of the chosen features are therefore kept, within a budget: X is never copied whole.
This is a cache: what it returns depends on the arguments alone, so blocks that share it remain
values.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base import (
    BUFFER_COLUMNS,
    CHOSEN_SHARE,
    CopiedLock,
    Float,
    SelectedColumns,
    numbers_on,
    take,
)
from .._data import Matrix, column_numbers, columns_once, pin_column, single_column

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
    ) -> None:
        self._X = X
        self._root_weights = root_weights
        self._means = means
        column_bytes = max(1, 8 * X.shape[0])
        limit = int(max(spare_bytes, CHOSEN_SHARE * X.nbytes)) // column_bytes
        width = _DEVICE_BUFFER_COLUMNS if X.location.on_device else BUFFER_COLUMNS
        if X.keeps_columns:
            limit = 0
        elif X.column_bytes is not None:
            limit, width = X.column_bytes // column_bytes, _LIMITED_BUFFER_COLUMNS
        elif X.is_sparse:
            limit = X.shape[1]  # k dense columns are little beside k rows of the factor
        self._selected = SelectedColumns(limit, width)
        self._lock = CopiedLock()  # searches on the same rows may run at the same time

    def fresh(
        self, indices: NDArray[np.intp], rows: slice | NDArray[np.intp] = slice(None)
    ) -> Float:
        """Columns gathered from X, one per row of the result, all rows or some."""
        numbers = column_numbers(self._X, indices)
        return self._scaled(self._X.columns(numbers, rows), numbers, rows)

    def once(self, indices: NDArray[np.intp]) -> Float:
        """The same of all rows, by a pass where columns cost one: X does not keep them."""
        numbers = column_numbers(self._X, indices)
        return self._scaled(columns_once(self._X, numbers), numbers, slice(None))

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

        The columns of chosen features are shared. On a device as many as `count` will lie together,
        if there are none yet.
        """
        other = copy.copy(self)
        other._X = X
        selected = self._selected
        if not selected.buffers and X.column_bytes is None:
            width = max(selected.width, min(count, selected.limit))
            other._selected = replace(selected, width=width)
        return other

    def piece(self, X: Matrix, rows: slice) -> ColumnStore:
        """Columns of some rows, which are in memory as X, with nothing kept."""
        root = None if self._root_weights is None else self._root_weights[rows]
        return ColumnStore(X, root, self._means, 0)

    @property
    def room(self) -> Float | None:
        """On a device, the columns of chosen features and room for more, which is 0.

        None where X is streamed: what comes from the host cannot be recorded.
        """
        selected = self._selected
        if self._X.device_array is None or len(selected.buffers) > 1 or not selected.limit:
            return None
        if not selected.buffers:
            shape = (min(selected.width, selected.limit), self._X.shape[0])
            self._selected = selected.in_one_buffer(self._X.location, shape)
        return self._selected.buffers[0]

    def begins_with(self, features: tuple[int, ...]) -> bool:
        """Whether the columns of these features are all kept, before any other and in order."""
        return self._selected.features[: len(features)] == features

    def keep(self, index: int, column: Float | None = None) -> None:
        """A feature was chosen: keep its column, if the budget allows."""
        if self._X.keeps_columns:
            pin_column(self._X, index)
            return
        with self._lock:
            selected = self._selected
            if index in selected.positions or len(selected) >= selected.limit:
                return
            self._selected = selected.append(
                index, self._single(index) if column is None else column
            )

    def note(self, index: int) -> None:
        """A feature was chosen whose column is already the next one in the buffers."""
        self._selected = self._selected.with_features((*self._selected.features, index))

    def _single(self, index: int) -> Float:
        """One column, (m)."""
        column = single_column(self._X, index)
        if self._means is not None:
            column = column - self._means[index]
        if self._root_weights is not None:
            column = column * self._root_weights
        return column

    def chosen(
        self, features: tuple[int, ...], rows: slice | NDArray[np.intp] = slice(None)
    ) -> Iterator[tuple[slice, Float]]:
        """Columns of the chosen features, some at a time, with their positions in `features`."""
        first, selected = 0, self._selected
        if features[: len(selected)] == selected.features:  # a single search: no need to look
            yield from selected.parts(rows)
            first = len(selected)
        while first < len(features):
            columns = selected.leading(features[first:], rows)
            if columns is None:
                overflow = np.array(features[first : first + _OVERFLOW_COLUMNS])
                columns = self.fresh(overflow, rows)
            yield slice(first, first + columns.shape[0]), columns
            first += columns.shape[0]
