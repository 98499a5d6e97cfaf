"""Triton kernels of `FusedRound`; loaded when they are first launched."""

# Annotations of a kernel are interpreted by Triton: they name compile-time constants.
# mypy: disable-error-code="untyped-decorator, no-untyped-def"

import triton
import triton.language as tl

from . import fields as field


@triton.jit
def leave(
    X, by_row, by_column, means, roots, room, r, anchor, numbers, beta, size, columns, Z,
    pieces, m, tiles, c, candidates: tl.constexpr, rows: tl.constexpr, ahead: tl.constexpr,
    has_means: tl.constexpr, has_roots: tl.constexpr, has_anchor: tl.constexpr,
):  # fmt: skip
    """Compute x and z of all candidates, and partial sums of ‖z‖², r·z and a·z."""
    part = tl.program_id(0)
    v = tl.arange(0, candidates)
    is_v = v < c
    index = tl.load(numbers + v, mask=is_v, other=0.0).to(tl.int64)
    chosen = tl.load(size).to(tl.int64)
    if chosen < 0:
        return  # the search waits for the host: `_steppers`
    norms = tl.zeros((candidates,), tl.float64)
    inner = tl.zeros((candidates,), tl.float64)
    along = tl.zeros((candidates,), tl.float64)
    for tile in range(0, tiles):
        j = (part * tiles + tile) * rows + tl.arange(0, rows)
        is_j = j < m
        is_there = is_v[:, None] & is_j[None, :]
        x = X + index[:, None] * by_column + j[None, :].to(tl.int64) * by_row
        z = tl.load(x, mask=is_there, other=0).to(tl.float64)
        if has_means:
            z -= tl.load(means + index, mask=is_v, other=0.0)[:, None]
        if has_roots:
            z *= tl.load(roots + j, mask=is_j, other=0.0)[None, :]
        out = v[:, None].to(tl.int64) * m + j[None, :]
        tl.store(columns + out, z, mask=is_there)
        for first in range(0, chosen, ahead):
            for s in tl.static_range(ahead):
                place = first + s
                is_b = is_v & (0 * v + place < chosen)
                b = tl.load(beta + place * c + v, mask=is_b, other=0.0)
                is_x = is_j & (0 * j + place < chosen)
                column = tl.load(room + place * m + j, mask=is_x, other=0.0)
                z -= b[:, None] * column[None, :]
        z = tl.where(is_there, z, 0.0)
        tl.store(Z + out, z, mask=is_there)
        norms += tl.sum(z * z, axis=1)
        inner += tl.sum(z * tl.load(r + j, mask=is_j, other=0.0)[None, :], axis=1)
        if has_anchor:
            along += tl.sum(z * tl.load(anchor + j, mask=is_j, other=0.0)[None, :], axis=1)
    place = pieces + part * 3 * candidates + v
    tl.store(place, norms)
    tl.store(place + candidates, inner)
    tl.store(place + 2 * candidates, along)


@triton.jit
def three_sums(pieces, parts, candidates: tl.constexpr, some: tl.constexpr):
    """Add up the partial sums of all programs in a fixed order, three for every candidate."""
    v = tl.arange(0, candidates)
    p = tl.arange(0, some)
    one = tl.zeros((some, candidates), tl.float64)
    two = tl.zeros((some, candidates), tl.float64)
    three = tl.zeros((some, candidates), tl.float64)
    for first in range(0, parts, some):
        is_p = (first + p < parts)[:, None]
        place = pieces + (first + p)[:, None] * 3 * candidates + v[None, :]
        one += tl.load(place, mask=is_p, other=0.0)
        two += tl.load(place + candidates, mask=is_p, other=0.0)
        three += tl.load(place + 2 * candidates, mask=is_p, other=0.0)
    return tl.sum(one, axis=0), tl.sum(two, axis=0), tl.sum(three, axis=0)


@triton.jit
def measure(
    pieces, parts, penalty, shrinkage, scores, along, c,
    candidates: tl.constexpr, some: tl.constexpr,
):  # fmt: skip
    """Compute δ, ρ, ‖z‖², r·z and (a·z)/‖z‖² of all candidates."""
    v = tl.arange(0, candidates)
    is_v = v < c
    norm, product, on_anchor = three_sums(pieces, parts, candidates, some)
    delta = norm + tl.load(penalty + v, mask=is_v, other=1.0)
    rho = (product + tl.load(shrinkage + v, mask=is_v, other=0.0)) / delta
    tl.store(scores + c * field.DELTA + v, delta, mask=is_v)
    tl.store(scores + c * field.RHO + v, rho, mask=is_v)
    tl.store(scores + c * field.NORMS + v, norm, mask=is_v)
    tl.store(scores + c * field.CORRELATIONS + v, product, mask=is_v)
    share = on_anchor / tl.where(norm == 0.0, 1.0, norm)
    tl.store(along + v, share, mask=is_v)


@triton.jit
def lose(
    Z, r, d, scores, size, pieces, m, tiles, c,
    candidates: tl.constexpr, rows: tl.constexpr, with_spread: tl.constexpr,
):  # fmt: skip
    """Compute partial sums of the leave-one-out errors, Σ r² z² and Σ z⁴."""
    if tl.load(size) < 0.0:
        return
    part = tl.program_id(0)
    v = tl.arange(0, candidates)
    is_v = v < c
    inverse = (1.0 / tl.load(scores + c * field.DELTA + v, mask=is_v, other=1.0))[:, None]
    rho = tl.load(scores + c * field.RHO + v, mask=is_v, other=0.0)[:, None]
    losses = tl.zeros((candidates,), tl.float64)
    mixed = tl.zeros((candidates,), tl.float64)
    fourth = tl.zeros((candidates,), tl.float64)
    for tile in range(0, tiles):
        j = (part * tiles + tile) * rows + tl.arange(0, rows)
        is_j = j < m
        is_there = is_v[:, None] & is_j[None, :]
        z = tl.load(Z + v[:, None].to(tl.int64) * m + j[None, :], mask=is_there, other=0.0)
        own = tl.load(r + j, mask=is_j, other=0.0)[None, :]
        rest = tl.load(d + j, mask=is_j, other=1.0)[None, :]
        squares = z * z
        error = (z * rho - own) / (squares * inverse - rest)
        losses += tl.sum(error * error, axis=1)
        if with_spread:
            mixed += tl.sum(squares * (own * own), axis=1)
            fourth += tl.sum(squares * squares, axis=1)
    place = pieces + part * 3 * candidates + v
    tl.store(place, losses)
    tl.store(place + candidates, mixed)
    tl.store(place + 2 * candidates, fourth)


@triton.jit
def rank(pieces, parts, best, scores, c, candidates: tl.constexpr, some: tl.constexpr):
    """Compute losses and spread of all candidates, and the index of the best."""
    v = tl.arange(0, candidates)
    is_v = v < c
    loss, mixed, fourth = three_sums(pieces, parts, candidates, some)
    tl.store(scores + c * field.LOSSES + v, loss, mask=is_v)
    tl.store(scores + c * field.MIXED + v, mixed, mask=is_v)
    tl.store(scores + c * field.FOURTH + v, fourth, mask=is_v)
    # NaN is no candidate; the largest number exceeds any loss.
    beyond = 1.7976931348623157e308
    smallest = tl.argmin(tl.where(is_v & (loss < beyond), loss, beyond), axis=0)
    tl.store(best, smallest.to(tl.float64))


@triton.jit
def advance(
    weights, r, d, anchor, Z, best, scores, size, along, state, pieces, parts, m, tiles, c,
    rows: tl.constexpr, has_weights: tl.constexpr, has_anchor: tl.constexpr,
):  # fmt: skip
    """Update the block for the best candidate, and compute partial sums of the statistics."""
    if tl.load(size) < 0.0:
        return
    part = tl.program_id(0)
    index = tl.load(best).to(tl.int32)
    delta = tl.load(scores + c * field.DELTA + index)
    rho = tl.load(scores + c * field.RHO + index)
    share = tl.load(along + index)
    r_r = tl.zeros((rows,), tl.float64)
    g_r = tl.zeros((rows,), tl.float64)
    g_g = tl.zeros((rows,), tl.float64)
    a_r = tl.zeros((rows,), tl.float64)
    a_g = tl.zeros((rows,), tl.float64)
    a_a = tl.zeros((rows,), tl.float64)
    squares = tl.zeros((rows,), tl.float64)
    weighted = tl.zeros((rows,), tl.float64)
    largest = tl.full((rows,), float("-inf"), tl.float64)
    smallest = tl.full((rows,), float("inf"), tl.float64)
    for tile in range(0, tiles):
        j = (part * tiles + tile) * rows + tl.arange(0, rows)
        is_j = j < m
        z = tl.load(Z + index.to(tl.int64) * m + j, mask=is_j, other=0.0)
        own = tl.load(r + j, mask=is_j, other=0.0) - rho * z
        rest = tl.load(d + j, mask=is_j, other=1.0) - (z * z) / delta
        tl.store(state + j, own, mask=is_j)
        tl.store(state + m + j, rest, mask=is_j)
        error = own / rest
        g = error / rest
        loss = error * error
        r_r += own * own
        g_r += loss
        g_g += g * g
        squares += loss * loss
        if has_weights:
            weighted += loss * tl.load(weights + j, mask=is_j, other=0.0)
        else:
            weighted += loss
        if has_anchor:
            a = tl.load(anchor + j, mask=is_j, other=0.0) - share * z
            tl.store(state + 2 * m + j, a, mask=is_j)
            a_r += a * own
            a_g += a * g
            a_a += a * a
        largest = tl.maximum(largest, tl.where(is_j, rest, float("-inf")))
        smallest = tl.minimum(smallest, tl.where(is_j, rest, float("inf")))
    place = pieces + part
    tl.store(place + parts * field.R_R, tl.sum(r_r, axis=0))
    tl.store(place + parts * field.G_R, tl.sum(g_r, axis=0))
    tl.store(place + parts * field.G_G, tl.sum(g_g, axis=0))
    tl.store(place + parts * field.A_R, tl.sum(a_r, axis=0))
    tl.store(place + parts * field.A_G, tl.sum(a_g, axis=0))
    tl.store(place + parts * field.A_A, tl.sum(a_a, axis=0))
    tl.store(place + parts * field.LOSS_SQUARES, tl.sum(squares, axis=0))
    tl.store(place + parts * field.LOSS_WEIGHTS, tl.sum(weighted, axis=0))
    tl.store(place + parts * field.LARGEST_D, tl.max(largest, axis=0))
    tl.store(place + parts * field.SMALLEST_D, tl.min(smallest, axis=0))


@triton.jit
def add_up(pieces, parts, sums, some: tl.constexpr):
    """Combine the parts of one of the statistics: eight sums, a maximum and a minimum."""
    number = tl.program_id(0)
    p = tl.arange(0, some)
    totals = tl.zeros((some,), tl.float64)
    most = tl.full((some,), float("-inf"), tl.float64)
    least = tl.full((some,), float("inf"), tl.float64)
    for first in range(0, parts, some):
        is_p = first + p < parts
        values = tl.load(pieces + number * parts + first + p, mask=is_p, other=0.0)
        totals += values
        most = tl.maximum(most, tl.where(is_p, values, float("-inf")))
        least = tl.minimum(least, tl.where(is_p, values, float("inf")))
    result = tl.where(number == field.LARGEST_D, tl.max(most, axis=0), tl.sum(totals, axis=0))
    tl.store(sums + number, tl.where(number == field.SMALLEST_D, tl.min(least, axis=0), result))
