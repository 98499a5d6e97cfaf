"""Held-out rows of one split within a block: targets, residuals, columns of chosen features."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ._kernels import Float

# Columns of chosen features are kept in buffers of this many, which take memory as they fill.
_BUFFER_COLUMNS = 32

Rows = NDArray[np.intp]
# Some rows of a column by its number.
Gather = Callable[[int, Rows], Float]


@dataclass(frozen=True, slots=True)
class HeldOutRows:
    """A value: adding a feature makes another, which shares the buffers with this one.

    A search adds to the end only, so what this one reads of the buffers stays as it is.
    """

    rows: Rows
    weights: Float
    y: Float  # (t × rows)
    r: Float  # (t × rows)
    limit: int  # of columns that are kept
    selected: tuple[int, ...] = ()
    means: tuple[float, ...] = ()
    buffers: tuple[Float, ...] = ()

    @classmethod
    def at_the_start(
        cls, rows: Rows, weights: Float, raw: Float, Y: Float, means: Float, limit: int
    ) -> HeldOutRows:
        """Of some rows of a block; targets as given and shifted are (rows × t), means (t)."""
        y = np.ascontiguousarray(raw[rows].T)
        r = np.ascontiguousarray((Y[rows] - means).T)
        return cls(rows, weights[rows], y, r, limit)

    def chosen(self, gather: Gather, places: slice = slice(None)) -> Iterator[tuple[slice, Float]]:
        """Columns of the chosen features (… × rows), some at a time, with their places in S."""
        size, known = len(self.selected), 0
        for buffer in self.buffers:
            count = min(len(buffer), size - known)
            yield slice(known, known + count), buffer[:count, places]
            known += count
        for place in range(known, size):
            column = gather(self.selected[place], self.rows[places]) - self.means[place]
            yield slice(place, place + 1), column[None]

    def with_feature(self, index: int, column: Float, mean: float, r: Float) -> HeldOutRows:
        """These rows with a feature added; its column is kept if the limit allows."""
        place, buffers = len(self.selected), self.buffers
        if place < self.limit:
            if place % _BUFFER_COLUMNS == 0:
                size = min(_BUFFER_COLUMNS, self.limit - place)
                buffers = (*buffers, np.empty((size, len(column))))
            buffers[-1][place % _BUFFER_COLUMNS] = column
        return replace(
            self,
            r=r,
            selected=(*self.selected, index),
            means=(*self.means, mean),
            buffers=buffers,
        )
