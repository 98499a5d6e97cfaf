"""Triton kernels of `FusedFeatures`; loaded when they are first launched."""

# Annotations of a kernel are interpreted by Triton: they name compile-time constants.
# mypy: disable-error-code="untyped-decorator, no-untyped-def"

import triton
import triton.language as tl

from . import fields as field


@triton.jit
def bound(
    size, terms, rows, doubtful, barred, mixed_root, fourth_root, values, places, n, kept,
    width: tl.constexpr, most: tl.constexpr, has_anchor: tl.constexpr,
    has_spread: tl.constexpr,
):  # fmt: skip
    """Compute lower bounds of losses of some features, and report the `kept` smallest."""
    if tl.load(size) < 0.0:
        return  # the search waits for the host: `_steppers`
    part = tl.program_id(0)
    own = tl.arange(0, width)
    i = part * width + own
    is_i = i < n
    row = rows + i
    delta = tl.load(row, mask=is_i, other=1.0)
    rho = tl.load(row + 2 * n, mask=is_i, other=0.0) / delta
    gain = tl.load(row + 3 * n, mask=is_i, other=0.0) * tl.load(terms + field.ALONG_R)
    if has_anchor:
        gain += tl.load(row + 4 * n, mask=is_i, other=0.0) * tl.load(terms + field.ALONG_ANCHOR)
    gain *= rho
    step = tl.abs(rho) * tl.sqrt(tl.load(row + n, mask=is_i, other=0.0))
    gain += (step * tl.load(terms + field.CURVE) + tl.load(terms + field.DISTANCE)) * step
    value = tl.load(terms + field.ENERGY) - gain
    if has_spread:
        # What growing leverages add at least: `_criterion.leverage_growth`.
        fourth = tl.load(fourth_root + i, mask=is_i, other=0.0)
        spread = tl.load(mixed_root + i, mask=is_i, other=0.0) - tl.abs(rho) * fourth * fourth
        spread = tl.where(spread > 0.0, spread, 0.0)
        value += spread * spread * (tl.load(terms + field.GROWTH) / delta)
    lost = delta < tl.load(doubtful + i, mask=is_i, other=0.0)
    value = tl.where(lost, float("-inf"), value)
    # NaN gives no bound.
    least = tl.load(barred + i, mask=is_i, other=float("inf"))
    value = tl.where(value > least, value, least)
    k = tl.arange(0, most)
    best_values = tl.full((most,), float("inf"), tl.float64)
    best_places = tl.zeros((most,), tl.int32)
    for number in range(0, kept):
        smallest, at = tl.min(value, axis=0, return_indices=True)
        best_values = tl.where(k == number, smallest, best_values)
        best_places = tl.where(k == number, part * width + at, best_places)
        value = tl.where(own == at, float("inf"), value)
    tl.store(values + part * kept + k, best_values, mask=k < kept)
    tl.store(places + part * kept + k, best_places, mask=k < kept)


@triton.jit
def pick(
    size, inverse, penalties, weights, values, places, count, L, rows, floor, beta, penalty,
    shrinkage, numbers, beyond, delta, anchored, factor, n, c, capacity, candidates: tl.constexpr,
    padded: tl.constexpr, pieces: tl.constexpr, ahead: tl.constexpr, has_anchor: tl.constexpr,
):  # fmt: skip
    """Find the candidates of lowest bound among all programs; compute their coefficients."""
    chosen = tl.load(size).to(tl.int64)
    if chosen < 0:
        return
    p = tl.arange(0, pieces)
    value = tl.load(values + p, mask=p < count, other=float("inf"))
    which = tl.load(places + p, mask=p < count, other=0)
    v = tl.arange(0, candidates)
    is_v = v < c
    index = tl.zeros((candidates,), tl.int32)
    for number in range(0, c):
        at = tl.argmin(value, axis=0)
        best = tl.sum(tl.where(p == at, which, 0), axis=0)
        index = tl.where(v == number, best, index)
        value = tl.where(p == at, float("inf"), value)
    tl.store(numbers + v, index.to(tl.float64), mask=is_v)
    tl.store(beyond, tl.min(value, axis=0))
    tl.store(delta + v, tl.load(rows + index, mask=is_v, other=0.0), mask=is_v)
    if has_anchor:
        on_anchor = tl.load(rows + 4 * n.to(tl.int64) + index, mask=is_v, other=0.0)
        tl.store(anchored + v, on_anchor, mask=is_v)
    a = tl.arange(0, padded)
    is_a = a < chosen
    total = tl.zeros((padded, candidates), tl.float64)
    for first in range(0, chosen, ahead):
        for s in tl.static_range(ahead):
            row = first + s
            is_there = is_v & (0 * v + row < chosen)
            f = tl.load(L + row * n + index, mask=is_there, other=0.0)
            tl.store(factor + row * c + v, f, mask=is_there)
            own = tl.load(
                inverse + row * capacity + a, mask=is_a & (0 * a + row < chosen), other=0.0
            )
            total += own[:, None] * f[None, :]
    out = beta + a[:, None] * c + v[None, :]
    tl.store(out, total, mask=is_a[:, None] & is_v[None, :])
    p_a = tl.load(penalties + a, mask=is_a, other=0.0)[:, None]
    w_a = tl.load(weights + a, mask=is_a, other=0.0)[:, None]
    weighted = p_a * total
    own_penalty = tl.load(floor + index, mask=is_v, other=0.0)
    tl.store(penalty + v, own_penalty + tl.sum(weighted * total, axis=0), mask=is_v)
    tl.store(shrinkage + v, tl.sum(w_a * weighted, axis=0), mask=is_v)


@triton.jit
def remember(
    size, numbers, scores, mixed_root, fourth_root, c, candidates: tl.constexpr,
    tiny: tl.constexpr, unknown: tl.constexpr,
):  # fmt: skip
    """Store the spread of scored candidates: `FeatureSpace.remember_spread`."""
    if tl.load(size) < 0.0:
        return
    v = tl.arange(0, candidates)
    is_v = v < c
    index = tl.load(numbers + v, mask=is_v, other=0.0).to(tl.int64)
    products = tl.load(scores + c * field.MIXED + v, mask=is_v, other=0.0)
    fourth = tl.load(scores + c * field.FOURTH + v, mask=is_v, other=1.0)
    is_known = (fourth > tiny) & (fourth < float("inf"))
    root = tl.where(is_known, tl.sqrt(products), 0.0)
    tl.store(mixed_root + index, root, mask=is_v)
    root = tl.where(is_known, tl.sqrt(tl.sqrt(fourth)), unknown)
    tl.store(fourth_root + index, root, mask=is_v)


@triton.jit
def follow(
    added, slopes, left, chosen, L, rows, floors, mixed_root, fourth_root, products, n, capacity,
    width: tl.constexpr, padded: tl.constexpr, height: tl.constexpr, ahead: tl.constexpr,
    has_spread: tl.constexpr,
):  # fmt: skip
    """Update all vectors for a chosen feature."""
    part = tl.program_id(0)
    i = part * width + tl.arange(0, width)
    is_i = i < n
    size = tl.load(added + field.SIZE).to(tl.int64)
    if size < 0:
        return
    index = tl.load(added + field.FEATURE).to(tl.int32)
    root = tl.load(added + field.ROOT)
    column = tl.load(added + field.ADDRESS).to(tl.int64).to(tl.pointer_type(tl.float64))
    share = tl.load(column + i, mask=is_i, other=0.0) / root
    minus_l = tl.zeros((width,), tl.float64)  # −l and −q·z of docs/theory.md
    minus_q = tl.zeros((width,), tl.float64)
    for first in range(0, size, ahead):
        for s in tl.static_range(ahead):
            row = first + s
            is_there = is_i & (0 * i + row < size)
            values = tl.load(L + row * n + i, mask=is_there, other=0.0)
            minus_l += tl.load(left + row, mask=row < size, other=0.0) * values
            minus_q += tl.load(left + capacity + row, mask=row < size, other=0.0) * values
    minus_l = tl.where(i == index, -root, minus_l - share)
    minus_q -= share
    tl.store(L + size * n + i, -minus_l, mask=is_i)
    for row in tl.static_range(height):
        place = rows + row * n + i
        change = tl.load(slopes + 2 * row) * minus_l + tl.load(slopes + 2 * row + 1) * minus_q
        if row < 2:
            change *= -minus_l
        value = tl.load(place, mask=is_i, other=0.0) + change
        if row < 2:
            value = tl.maximum(value, tl.load(floors + row * n + i, mask=is_i, other=0.0))
        tl.store(place, value, mask=is_i)
    if has_spread:
        lost = tl.load(added + field.LOST)
        fourth = tl.load(fourth_root + i, mask=is_i, other=0.0)
        mixed = tl.load(mixed_root + i, mask=is_i, other=0.0)
        mixed -= lost * fourth + tl.load(added + field.REST) * tl.abs(minus_l)
        tl.store(mixed_root + i, tl.maximum(mixed, 0.0), mask=is_i)
        fourth += tl.abs(minus_l) * tl.load(added + field.Q_FOURTH)
        tl.store(fourth_root + i, fourth, mask=is_i)
    if part == 0:
        a = tl.arange(0, padded)
        before = tl.load(chosen + a, mask=a < size, other=0.0).to(tl.int64)
        own = tl.load(column + before, mask=a < size, other=0.0)
        tl.store(products + size * capacity + a, own, mask=a < size)
