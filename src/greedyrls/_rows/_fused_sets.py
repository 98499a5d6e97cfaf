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
    take,
    take_rows,
    to_device,
)
from .._data import Matrix
from .._data import fused as _fused
from ._fold_answers import SetSums


class RowSets(NamedTuple):
    """Sets of rows, one after the other."""

    order: Array  # their numbers, on the device
    ends: list[int]  # where each set ends among them
    is_plain: bool  # whether these are all rows of X in their order

    @classmethod
    def of(cls, X: Matrix, sets: Sequence[Any]) -> RowSets:
        """From numbers on the device, or slices."""
        xp = X.place.xp
        rows = [
            xp.arange(own.start, own.stop, dtype=xp.int64, device=X.place.device)
            if isinstance(own, slice)
            else own
            for own in sets
        ]
        ends = np.cumsum([own.shape[0] for own in rows]).tolist()
        begins = [0, *ends[:-1]]
        is_plain = ends[-1] == X.shape[0] and all(
            isinstance(own, slice) and own.start == begin
            for own, begin in zip(sets, begins, strict=True)
        )
        return cls(xp.concat(rows), ends, is_plain)

    def groups(self, count: int) -> Iterator[tuple[slice, RowSets]]:
        """Some sets at a time, with their places, so that `count` vectors of their rows fit."""
        first, begin = 0, 0
        for place, end in enumerate(self.ends, 1):
            is_last = place == len(self.ends)
            if is_last or count * (self.ends[place] - begin) > DEVICE_ELEMENTS:
                ends = [own - begin for own in self.ends[first:place]]
                is_all = self.is_plain and is_last and first == 0
                yield slice(first, place), RowSets(self.order[begin:end], ends, is_all)
                first, begin = place, end


def _sums_of(
    X: Matrix, sets: RowSets, V: Array, shift: Array, weights: Array | None
) -> tuple[Array, Array]:
    """V (c × rows of all sets) times X minus its shift over each set, and Σ w x²."""
    order = None if sets.is_plain else sets.order
    return _fused.fused_set_sums(V, X.device_array, weights, sets.ends, order, shift)


def set_sums(
    X: Matrix, sets: RowSets, Y: Float, weights: Float, shift: NDArray[np.float64]
) -> SetSums:
    """Sums over each set of rows, X less its shift: one pass."""
    xp = X.place.xp
    (away,) = to_device(X.place, shift)
    found = []
    for _, some in sets.groups(2 + 2 * Y.shape[1]):
        w, y = _rows_of(weights, some), _rows_of(Y, some).T
        weighted = y * w
        V = xp.concat((w[None, :], weighted))
        alone = xp.concat((V, weighted * y))  # without X
        begins = [0, *some.ends[:-1]]
        own = xp.stack(
            [
                xp.sum(alone[:, begin:end], axis=1)
                for begin, end in zip(begins, some.ends, strict=True)
            ]
        )
        parts = []
        for first in range(0, V.shape[0], _fused.MOST_VECTORS):
            vectors = V[first : first + _fused.MOST_VECTORS, :]
            squared = w if first == 0 else None
            parts.append(_sums_of(X, some, vectors, away, squared))
        products = xp.concat([part[0] for part in parts], axis=1)
        t = Y.shape[1]
        found.append(
            (
                own[:, 0],
                products[:, 0, :],
                parts[0][1],
                products[:, 1:, :],
                own[:, 1 : 1 + t],
                own[:, 1 + t :],
            )
        )
    return SetSums(*(xp.concat(values) for values in zip(*found, strict=True)))


def set_products(
    X: Matrix,
    sets: RowSets,
    indices: NDArray[np.intp],
    weights: Float,
    shift: NDArray[np.float64],
) -> Float:
    """Σ w x_b x_i over each set of rows, X less its shift, (B × sets × n): one pass."""
    xp = X.place.xp
    away, own = to_device(X.place, shift, shift[indices])
    picked = take(X.device_array, numbers_on(X.place, indices))  # (m × B) in its own type
    values = X.place.empty((len(indices), len(sets.ends), X.shape[1]))
    for places, some in sets.groups(min(len(indices), _fused.MOST_VECTORS)):
        w = _rows_of(weights, some)
        for first in range(0, len(indices), _fused.MOST_VECTORS):
            chosen = slice(first, min(len(indices), first + _fused.MOST_VECTORS))
            V = as_float(contiguous(_rows_of(picked[:, chosen], some).T))
            V = (V - own[chosen, None] if shift.any() else V) * w
            products, _ = _sums_of(X, some, V, away, None)
            values[chosen, places, :] = xp.permute_dims(products, (1, 0, 2))
    return values


def _rows_of(values: Array, sets: RowSets) -> Array:
    """The rows of all sets, one after the other."""
    return values if sets.is_plain else take_rows(values, sets.order)


def can_fuse(X: Matrix) -> bool:
    """Whether the kernel is the faster way for such data."""
    return _fused.reads(X) and bool(X.dtype == X.place.xp.float32)
