"""The Triton kernel of `fused`: loaded when it is first launched."""

# Annotations of a kernel are interpreted by Triton: they name compile-time constants.
# mypy: disable-error-code="untyped-decorator, no-untyped-def"

import triton
import triton.language as tl


@triton.jit(do_not_specialize=["m", "given"])
def gather(
    X, by_row, by_column, numbers, out, m, given, count: tl.constexpr, rows: tl.constexpr
):  # fmt: skip
    """Some columns of X in float64, one per row of `out`; a program reads some rows of all."""
    j = tl.program_id(0).to(tl.int64) * rows + tl.arange(0, rows)
    for first in range(0, given, count):
        v = first + tl.arange(0, count)
        index = tl.load(numbers + v, mask=v < given, other=0)
        is_there = (v < given)[:, None] & (j < m)[None, :]
        place = X + j[None, :] * by_row + index[:, None] * by_column
        x = tl.load(place, mask=is_there, other=0).to(tl.float64)
        tl.store(out + v[:, None].to(tl.int64) * m + j[None, :], x, mask=is_there)


@triton.jit(do_not_specialize=["given", "parts"])
def sums(
    X, by_row, by_column, order, bounds, V, W, shift, products, squares, m, n, by_vector, given,
    parts, count: tl.constexpr, rows: tl.constexpr, columns: tl.constexpr,
    with_squares: tl.constexpr, has_sets: tl.constexpr, has_order: tl.constexpr,
    has_shift: tl.constexpr,
):  # fmt: skip
    """Some columns of V X over a part of a set of rows, and of its weighted squares."""
    part = tl.program_id(1)
    own = tl.program_id(2)
    i = tl.program_id(0) * columns + tl.arange(0, columns)
    v = tl.arange(0, count)
    j = tl.arange(0, rows)
    begin = 0
    end = m
    if has_sets:
        begin = tl.load(bounds + own)
        end = tl.load(bounds + own + 1)
    height = (end - begin + parts * rows - 1) // (parts * rows) * rows
    begin = begin + part * height
    end = tl.minimum(begin + height, end)
    if has_shift:
        away = tl.load(shift + i, mask=i < n, other=0.0)[None, :]
    total = tl.zeros((count, columns), tl.float64)
    total_squares = tl.zeros((16, columns), tl.float64)
    for top in range(begin, end, rows):
        place = top + j
        is_row = place < end
        row = place  # known ahead: what is to be read is under way early
        if has_order:
            row = tl.load(order + place, mask=is_row, other=0)
        x = tl.load(
            X + row[:, None].to(tl.int64) * by_row + i[None, :].to(tl.int64) * by_column,
            mask=is_row[:, None] & (i < n)[None, :],
            other=0,
        ).to(tl.float64)
        if has_shift:
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
