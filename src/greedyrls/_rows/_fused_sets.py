"""Sums over sets of rows with X read once, wherever its rows are, by the kernel of `fused`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import (
    DEVICE_ELEMENTS,
    Array,
    Float,
    as_float,
    contiguous,
    numbers_on,
    slices,
    take,
    take_rows,
    to_device,
)
from .._data import Matrix
from .._data import fused as _fused
from ._answers import SetSums


class RowSets(NamedTuple):
    """Sets of rows, concatenated."""

    order: Array  # row numbers, on the device
    ends: list[int]  # the end of each set in `order`
    is_plain: bool  # whether `order` is all rows of X in order

    @classmethod
    def of(cls, X: Matrix, sets: Sequence[Any]) -> RowSets:
        """Concatenate sets given as row numbers on the device, or slices."""
        xp = X.location.xp
        rows = [
            xp.arange(members.start, members.stop, dtype=xp.int64, device=X.location.device)
            if isinstance(members, slice)
            else members
            for members in sets
        ]
        ends = np.cumsum([members.shape[0] for members in rows]).tolist()
        begins = [0, *ends[:-1]]
        is_plain = ends[-1] == X.shape[0] and all(
            isinstance(members, slice) and members.start == begin
            for members, begin in zip(sets, begins, strict=True)
        )
        return cls(xp.concat(rows), ends, is_plain)

    def groups(self, count: int) -> Iterator[tuple[slice, RowSets]]:
        """Yield slices of the sets for which `count` vectors of their rows fit into memory."""
        first, begin = 0, 0
        for number, end in enumerate(self.ends, 1):
            is_last = number == len(self.ends)
            if is_last or count * (self.ends[number] - begin) > DEVICE_ELEMENTS:
                ends = [set_end - begin for set_end in self.ends[first:number]]
                is_all = self.is_plain and is_last and first == 0
                yield slice(first, number), RowSets(self.order[begin:end], ends, is_all)
                first, begin = number, end


def _sums_of(
    X: Matrix, sets: RowSets, V: Array, shift: Array, weights: Array | None
) -> tuple[Array, Array]:
    """V (c × rows of all sets) times X minus its shift over each set, and Σ w x²."""
    order = None if sets.is_plain else sets.order
    return _fused.fused_set_sums(V, X.device_array, weights, sets.ends, order, shift)


def set_sums(
    X: Matrix, sets: RowSets, Y: Float, weights: Float, shift: NDArray[np.float64]
) -> SetSums:
    """Return the sums over each set of rows, X minus its shift, in one pass."""
    xp = X.location.xp
    (away,) = to_device(X.location, shift)
    sums = []
    for _, group in sets.groups(2 + 2 * Y.shape[1]):
        w, y = _rows_of(weights, group), _rows_of(Y, group).T
        weighted = y * w
        V = xp.concat((w[None, :], weighted))
        alone = xp.concat((V, weighted * y))  # sums that do not involve X
        begins = [0, *group.ends[:-1]]
        plain_sums = xp.stack(
            [
                xp.sum(alone[:, begin:end], axis=1)
                for begin, end in zip(begins, group.ends, strict=True)
            ]
        )
        parts = []
        for first in range(0, V.shape[0], _fused.MOST_VECTORS):
            vectors = V[first : first + _fused.MOST_VECTORS, :]
            squared = w if first == 0 else None
            parts.append(_sums_of(X, group, vectors, away, squared))
        products = xp.concat([part[0] for part in parts], axis=1)
        t = Y.shape[1]
        sums.append(
            (
                plain_sums[:, 0],
                products[:, 0, :],
                parts[0][1],
                products[:, 1:, :],
                plain_sums[:, 1 : 1 + t],
                plain_sums[:, 1 + t :],
            )
        )
    return SetSums(*(xp.concat(values) for values in zip(*sums, strict=True)))


def set_products(
    X: Matrix,
    sets: RowSets,
    indices: NDArray[np.intp],
    weights: Float,
    shift: NDArray[np.float64],
) -> Float:
    """Return Σ w x_b x_i over each set of rows, X minus its shift, (B × sets × n): one pass."""
    xp = X.location.xp
    away, own_shift = to_device(X.location, shift, shift[indices])
    picked = take(X.device_array, numbers_on(X.location, indices))  # (m × B) in its own type
    values = X.location.empty((len(indices), len(sets.ends), X.shape[1]))
    for numbers, group in sets.groups(min(len(indices), _fused.MOST_VECTORS)):
        w = _rows_of(weights, group)
        for chosen in slices(len(indices), _fused.MOST_VECTORS):
            V = as_float(contiguous(_rows_of(picked[:, chosen], group).T))
            V = (V - own_shift[chosen, None] if shift.any() else V) * w
            products, _ = _sums_of(X, group, V, away, None)
            values[chosen, numbers, :] = xp.permute_dims(products, (1, 0, 2))
    return values


def _rows_of(values: Array, sets: RowSets) -> Array:
    """Return the rows of all sets, one set after the other."""
    return values if sets.is_plain else take_rows(values, sets.order)


def can_fuse(X: Matrix) -> bool:
    """Whether the kernel is the faster way for such data."""
    return _fused.reads(X) and bool(X.dtype == X.location.xp.float32)
