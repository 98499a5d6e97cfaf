"""A Triton kernel for sums over sets of rows, with X read once.

It is the kernel of `_fused` with row numbers, set after set: X is not gathered or converted first.
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


@cache
def _kernel() -> Any:
    """Return the kernel, which Triton compiles on first use."""
    global tl  # names in a kernel are looked up in its module
    triton = importlib.import_module("triton")
    tl = importlib.import_module("triton.language")

    @triton.jit
    def sums(
        X, by_row, by_column, order, bounds, V, W, shift, products, squares, n, by_vector, given,
        parts, count: tl.constexpr, rows: tl.constexpr, columns: tl.constexpr,
        with_squares: tl.constexpr, is_plain: tl.constexpr,
    ):  # fmt: skip
        """Compute some columns of V X and of weighted squares over a part of a set."""
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
            row = place  # known ahead, so that reads can start early
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
    """Multiply V (c × rows of all sets) by X minus its shift over each set, (sets × c × n).

    With weights, also return Σ w x² (sets × n). Partial sums are added up in a fixed order.
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
            parts.append(fused_set_sums(X.device_array, group, vectors, away, squared))
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
        for first in range(0, len(indices), _fused.MOST_VECTORS):
            chosen = slice(first, min(len(indices), first + _fused.MOST_VECTORS))
            V = as_float(contiguous(_rows_of(picked[:, chosen], group).T))
            V = (V - own_shift[chosen, None] if shift.any() else V) * w
            products, _ = fused_set_sums(X.device_array, group, V, away, None)
            values[chosen, numbers, :] = xp.permute_dims(products, (1, 0, 2))
    return values


def _rows_of(values: Array, sets: RowSets) -> Array:
    """Return the rows of all sets, one set after the other."""
    return values if sets.is_plain else take_rows(values, sets.order)


def can_fuse(X: Matrix) -> bool:
    """Whether the kernel supports such data: float32, a GPU of PyTorch, and Triton."""
    return (
        X.device_array is not None
        and array_api_compat.is_torch_namespace(X.location.xp)
        and X.device_array.is_cuda
        and X.dtype == X.location.xp.float32
        and _fused.has_triton()
    )
