"""Sums over sets of rows with X read once, wherever its rows are: a kernel of Triton's.

`_fused` with the numbers of the rows, set after set: nothing of X is gathered or converted before.
"""

# Annotations of a kernel are Triton's own: they say what is compiled in.
# mypy: disable-error-code="untyped-decorator, no-untyped-def"

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from functools import cache
from typing import Any, NamedTuple

import array_api_compat
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

tl: Any = None  # Triton's language, once the kernel is made


class RowSets(NamedTuple):
    """Sets of rows, one after the other."""

    order: Array  # their numbers, on the device
    ends: list[int]  # where each set ends among them
    is_plain: bool  # whether these are all rows of X in their order

    @classmethod
    def of(cls, X: Matrix, sets: Sequence[Any]) -> RowSets:
        """From numbers on the device, or slices."""
        xp = X.location.xp
        rows = [
            xp.arange(own.start, own.stop, dtype=xp.int64, device=X.location.device)
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


@cache
def _kernel() -> Any:
    """The kernel; compiled by Triton when it is first used."""
    global tl  # names in a kernel are looked up in its module
    triton = importlib.import_module("triton")
    tl = importlib.import_module("triton.language")

    @triton.jit
    def sums(
        X, by_row, by_column, order, bounds, V, W, shift, products, squares, n, by_vector, given,
        parts, count: tl.constexpr, rows: tl.constexpr, columns: tl.constexpr,
        with_squares: tl.constexpr, is_plain: tl.constexpr,
    ):  # fmt: skip
        """Some columns of V X over a part of a set, and of its weighted squares."""
        part = tl.program_id(1)
        own = tl.program_id(2)
        i = tl.program_id(0) * columns + tl.arange(0, columns)
        v = tl.arange(0, count)
        j = tl.arange(0, rows)
        begin = tl.load(bounds + own)
        end = tl.load(bounds + own + 1)
        height = (end - begin + parts * rows - 1) // (parts * rows) * rows
        begin = begin + part * height
        end = tl.minimum(begin + height, end)
        away = tl.load(shift + i, mask=i < n, other=0.0)[None, :]
        total = tl.zeros((count, columns), tl.float64)
        total_squares = tl.zeros((16, columns), tl.float64)
        for top in range(begin, end, rows):
            place = top + j
            is_row = place < end
            row = place  # known ahead: what is to be read is under way early
            if not is_plain:
                row = tl.load(order + place, mask=is_row, other=0)
            x = tl.load(
                X + row[:, None] * by_row + i[None, :].to(tl.int64) * by_column,
                mask=is_row[:, None] & (i < n)[None, :],
                other=0,
            ).to(tl.float64)
            x = x - away
            y = tl.load(
                V + v[:, None].to(tl.int64) * by_vector + place[None, :],
                mask=is_row[None, :] & (v < given)[:, None],
                other=0.0,
            )
            total = tl.dot(y, x, total, out_dtype=tl.float64)
            if with_squares:
                w = tl.load(W + place, mask=is_row, other=0.0)
                first = tl.where((tl.arange(0, 16) == 0)[:, None], w[None, :], 0.0)
                total_squares = tl.dot(first, x * x, total_squares, out_dtype=tl.float64)
        piece = (own * parts + part).to(tl.int64)
        place = products + piece * count * n
        tl.store(place + v[:, None].to(tl.int64) * n + i[None, :], total, mask=(i < n)[None, :])
        if with_squares:
            tl.store(squares + piece * n + i, tl.sum(total_squares, axis=0), mask=i < n)

    return sums


def fused_set_sums(
    X: Array, sets: RowSets, V: Array, shift: Array, weights: Array | None
) -> tuple[Array, Array]:
    """V (c × rows of all sets) times X less its shift over each set, (sets × c × n).

    And Σ w x² (sets × n) if there are weights. Pieces are added up in a fixed order.
    """
    import torch

    n, c = X.shape[1], V.shape[0]
    count = _fused.LEAST_VECTORS
    while count < c:
        count *= 2
    n_sets = len(sets.ends)
    across = -(-n // _fused.SUM_COLUMNS)
    most = max(1, V.shape[1] // n_sets // _fused.LEAST_PIECE_ROWS)
    parts = max(1, min(most, _fused.SUM_PROGRAMS // (across * n_sets)))
    bounds = torch.tensor([0, *sets.ends]).to(X.device, non_blocking=True)
    products = V.new_empty((n_sets, parts, count, n))
    squares = V.new_empty((n_sets, parts, n) if weights is not None else (1, 1, 1))
    with torch.cuda.device(X.device) if X.is_cuda else nullcontext():
        _kernel()[(across, parts, n_sets)](
            X, X.stride(0), X.stride(1), sets.order, bounds, V, V if weights is None else weights,
            shift, products, squares, n, V.stride(0), c, parts, count, _fused.SUM_ROWS,
            _fused.SUM_COLUMNS, weights is not None, sets.is_plain, num_warps=_fused.SUM_WARPS,
            num_stages=_fused.SUM_STAGES,
        )  # fmt: skip
    return products.sum(1)[:, :c], squares.sum(1)


def set_sums(
    X: Matrix, sets: RowSets, Y: Float, weights: Float, shift: NDArray[np.float64]
) -> SetSums:
    """Sums over each set of rows, X less its shift: one pass."""
    xp = X.location.xp
    (away,) = to_device(X.location, shift)
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
            parts.append(fused_set_sums(X.device_array, some, vectors, away, squared))
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
    xp = X.location.xp
    away, own = to_device(X.location, shift, shift[indices])
    picked = take(X.device_array, numbers_on(X.location, indices))  # (m × B) in its own type
    values = X.location.empty((len(indices), len(sets.ends), X.shape[1]))
    for places, some in sets.groups(min(len(indices), _fused.MOST_VECTORS)):
        w = _rows_of(weights, some)
        for first in range(0, len(indices), _fused.MOST_VECTORS):
            chosen = slice(first, min(len(indices), first + _fused.MOST_VECTORS))
            V = as_float(contiguous(_rows_of(picked[:, chosen], some).T))
            V = (V - own[chosen, None] if shift.any() else V) * w
            products, _ = fused_set_sums(X.device_array, some, V, away, None)
            values[chosen, places, :] = xp.permute_dims(products, (1, 0, 2))
    return values


def _rows_of(values: Array, sets: RowSets) -> Array:
    """The rows of all sets, one after the other."""
    return values if sets.is_plain else take_rows(values, sets.order)


def can_fuse(X: Matrix) -> bool:
    """Whether the kernel takes such data: float32 on a GPU of PyTorch's, with Triton."""
    return (
        X.device_array is not None
        and array_api_compat.is_torch_namespace(X.location.xp)
        and X.device_array.is_cuda
        and X.dtype == X.location.xp.float32
        and _fused.is_there()
    )
