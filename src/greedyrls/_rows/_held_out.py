"""Held-out rows of splits within a block: targets, residuals, columns of chosen features.

Arrays have a leading axis for G splits of the same number of rows. On the host every split is by
itself, G = 1; on a device all are together, padded with rows of no weight, because many small
operations take longer to launch than to run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base import (
    BUFFER_COLUMNS,
    ArrayLocation,
    Float,
    SelectedColumns,
    as_float,
    contiguous,
    location_of,
    namespace_of,
    take_rows,
    to_device,
)
from ._answers import StepSums

Rows = NDArray[np.intp]
# Some rows of a column by its number.
Gather = Callable[[int, Any], Float]


@dataclass(frozen=True, slots=True)
class HeldOutRows:
    """A value: adding a feature makes another, which shares memory with this one."""

    rows: Any  # (G × R) their numbers in the block
    weights: Float  # (G × R)
    y: Float  # (G × t × R)
    r: Float  # (G × t × R)
    start: Float  # (G × t × R) r at the empty model
    columns: SelectedColumns  # (G × columns × R) less their means, as many as may be kept
    selected: tuple[int, ...] = ()
    means: tuple[Float, ...] = ()  # (G) of each of them

    @classmethod
    def at_the_start(
        cls,
        location: ArrayLocation,
        rows: Any,
        has_row: Float | None,
        weights: Float,
        raw: Float,
        Y: Float,
        means: Float,
        limit: int,
    ) -> HeldOutRows:
        """Of some rows (G × R) of a block; some may be padding, where has_row is 0.

        Targets as given and shifted are (rows × t), means over the training rows (G × t).
        """
        count, height = rows.shape
        where = location.xp.reshape(rows, (-1,))
        (means,) = to_device(location, means)

        def of_splits(values: Float) -> Float:
            xp = namespace_of(values)
            taken = xp.reshape(take_rows(values, where), (count, height, values.shape[1]))
            return contiguous(xp.permute_dims(taken, (0, 2, 1)))

        own = of_splits(weights[:, None])[:, 0, :]
        if has_row is not None:
            own = own * has_row
        r = of_splits(Y) - means[:, :, None]
        rows = namespace_of(own).reshape(where, (count, height))
        columns = SelectedColumns(limit, BUFFER_COLUMNS)
        return cls(rows, own, of_splits(raw), r, r, columns)

    def at_set(
        self, gather: Gather, features: tuple[int, ...], means: Float, weights: Float
    ) -> HeldOutRows:
        """These rows at any set of features; means are (G × |S|), coefficients (G × |S| × t).

        Into buffers of their own: those of another set may still be read.
        """

        def column(feature: int) -> Float:
            gathered = np.reshape(gather(feature, self.rows.reshape(-1)), self.rows.shape)
            own_means: Float = means[:, features.index(feature), None]
            return gathered - own_means

        at_set = replace(
            self,
            columns=self.columns.arranged(features, column),
            selected=features,
            means=tuple(means[:, index] for index in range(len(features))),
        )
        r = self.start.copy()
        for positions, columns in at_set.chosen(gather):
            r -= weights[:, positions].mT @ columns
        return replace(at_set, r=r)

    def of(self, column: Float) -> Float:
        """These rows (G × R) of a column of the block."""
        xp = namespace_of(column)
        taken = take_rows(column, xp.reshape(self.rows, (-1,)))
        of_splits: Float = xp.reshape(taken, self.rows.shape)
        return of_splits

    def chosen(self, gather: Gather, part: slice = slice(None)) -> Iterator[tuple[slice, Float]]:
        """Columns of the chosen features (G × … × R), some at a time, with their positions in S."""
        yield from self.columns.parts(part)
        for position in range(len(self.columns), len(self.selected)):
            rows = self.rows[:, part]
            xp = namespace_of(rows)
            column = gather(self.selected[position], xp.reshape(rows, (-1,)))
            column = xp.reshape(column, rows.shape) - self.means[position][:, None]
            yield slice(position, position + 1), column[:, None, :]

    def leftover(self, gather: Gather, column: Float, beta: Float) -> Float:
        """z of a feature (G × R), whose column less its mean is given; beta is (G × |S|)."""
        z = column
        for positions, columns in self.chosen(gather):
            z = z - (beta[:, None, positions] @ columns)[:, 0, :]
        return z

    def sums(self, z: Float, rho: Float) -> StepSums:
        """Sums for a feature with this z, for rho (G × t)."""
        xp = namespace_of(z)
        weighted = self.weights * z
        left = self.r - rho[:, :, None] * z[:, None, :]
        left *= left
        return StepSums(
            xp.sum(weighted * z, axis=1),
            (self.r @ weighted[:, :, None])[:, :, 0],
            (left @ self.weights[:, :, None])[:, :, 0],
        )

    def with_room(self, capacity: int) -> HeldOutRows:
        """These rows with room for so many columns, in one buffer, and those that are kept."""
        count, _, height = self.r.shape
        shape = (count, capacity, height)
        return replace(self, columns=self.columns.in_one_buffer(location_of(self.r), shape))

    def noted(self, selected: tuple[int, ...]) -> HeldOutRows:
        """These rows after the columns of features were added in their one buffer."""
        return replace(self, selected=selected, columns=self.columns.with_features(selected))

    def with_feature(
        self, index: int, column: Float, mean: Float, z: Float, rho: Float
    ) -> HeldOutRows:
        """These rows with a feature added; its column is kept if the limit allows."""
        return replace(
            self,
            r=self.r - rho[:, :, None] * z[:, None, :],
            columns=self.columns.append(index, column),
            selected=(*self.selected, index),
            means=(*self.means, mean),
        )


def padded(
    location: ArrayLocation, sets: Sequence[Any], lengths: Sequence[int]
) -> tuple[Any, Float | None]:
    """Sets of rows on a device as one matrix (G × R), and 1 for its numbers that are rows.

    None where all are. A set is a vector of numbers there, or a slice.
    """
    xp, height = location.xp, max(lengths)
    rows = [
        xp.arange(own.start, own.stop, dtype=xp.int64, device=location.device)
        if isinstance(own, slice)
        else own
        for own in sets
    ]
    if min(lengths) == height:
        return xp.stack(rows), None
    filler = [
        xp.zeros(height - length, dtype=xp.int64, device=location.device) for length in lengths
    ]
    (counts,) = to_device(location, np.array(lengths, dtype=np.float64))
    numbers = xp.arange(height, dtype=xp.float64, device=location.device)
    has_row = as_float(numbers[None, :] < counts[:, None])
    return xp.stack([xp.concat(pair) for pair in zip(rows, filler, strict=True)]), has_row
