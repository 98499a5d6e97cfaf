"""Triton kernels of this package; loaded when one is first launched."""

# Annotations of a kernel are interpreted by Triton: they name compile-time constants.
# mypy: disable-error-code="untyped-decorator, no-untyped-def"

import triton
import triton.language as tl

from .._data import fused
from ._answers import SampleStatistics, Scores
from ._fused_features import AddedNumbers, BoundTerms

# Rows of scores and positions of single numbers, for one target.
LOSSES, DELTA, RHO, NORMS, CORRELATIONS, MIXED, FOURTH = fused.positions(
    Scores, "losses", "delta", "rho", "norms", "correlations", "mixed", "fourth"
)
R_R, G_R, G_G, A_R, A_G, A_A, LOSS_SQUARES, LOSS_WEIGHTS, LARGEST_D, SMALLEST_D = fused.positions(
    SampleStatistics,
    *("r_r", "g_r", "g_g", "a_r", "a_g", "a_a"),
    *("loss_squares", "loss_weights", "largest_d", "smallest_d"),
)
ENERGY, ALONG_R, ALONG_ANCHOR, DISTANCE, CURVE, GROWTH = fused.positions(
    BoundTerms, "energy", "along_r", "along_anchor", "distance", "curve", "growth"
)
SIZE, FEATURE, ROOT, LOST, REST, Q_FOURTH, ADDRESS = fused.positions(
    AddedNumbers, "size", "feature", "root", "lost", "rest", "q_fourth", "address"
)


@triton.jit(do_not_specialize=["tiles", "c"])
def leave(
    X, by_row, by_column, means, roots, room, r, anchor, numbers, beta, size, columns, Z,
    pieces, jump, m, tiles, c, candidates: tl.constexpr, rows: tl.constexpr, ahead: tl.constexpr,
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
    now = chosen % 2 * jump
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
        inner += tl.sum(z * tl.load(r + now + j, mask=is_j, other=0.0)[None, :], axis=1)
        if has_anchor:
            own = tl.load(anchor + now + j, mask=is_j, other=0.0)
            along += tl.sum(z * own[None, :], axis=1)
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


@triton.jit(do_not_specialize=["parts", "c"])
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
    tl.store(scores + c * DELTA + v, delta, mask=is_v)
    tl.store(scores + c * RHO + v, rho, mask=is_v)
    tl.store(scores + c * NORMS + v, norm, mask=is_v)
    tl.store(scores + c * CORRELATIONS + v, product, mask=is_v)
    share = on_anchor / tl.where(norm == 0.0, 1.0, norm)
    tl.store(along + v, share, mask=is_v)


@triton.jit(do_not_specialize=["tiles", "c"])
def lose(
    Z, r, d, scores, size, pieces, jump, m, tiles, c,
    candidates: tl.constexpr, rows: tl.constexpr, with_spread: tl.constexpr,
):  # fmt: skip
    """Compute partial sums of the leave-one-out errors, Σ r² z² and Σ z⁴."""
    chosen = tl.load(size).to(tl.int64)
    if chosen < 0:
        return
    now = chosen % 2 * jump
    part = tl.program_id(0)
    v = tl.arange(0, candidates)
    is_v = v < c
    inverse = (1.0 / tl.load(scores + c * DELTA + v, mask=is_v, other=1.0))[:, None]
    rho = tl.load(scores + c * RHO + v, mask=is_v, other=0.0)[:, None]
    losses = tl.zeros((candidates,), tl.float64)
    mixed = tl.zeros((candidates,), tl.float64)
    fourth = tl.zeros((candidates,), tl.float64)
    for tile in range(0, tiles):
        j = (part * tiles + tile) * rows + tl.arange(0, rows)
        is_j = j < m
        is_there = is_v[:, None] & is_j[None, :]
        z = tl.load(Z + v[:, None].to(tl.int64) * m + j[None, :], mask=is_there, other=0.0)
        own = tl.load(r + now + j, mask=is_j, other=0.0)[None, :]
        rest = tl.load(d + now + j, mask=is_j, other=1.0)[None, :]
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


@triton.jit(do_not_specialize=["parts", "c"])
def rank(pieces, parts, best, scores, c, candidates: tl.constexpr, some: tl.constexpr):
    """Compute losses and spread of all candidates, and the index of the best."""
    v = tl.arange(0, candidates)
    is_v = v < c
    loss, mixed, fourth = three_sums(pieces, parts, candidates, some)
    tl.store(scores + c * LOSSES + v, loss, mask=is_v)
    tl.store(scores + c * MIXED + v, mixed, mask=is_v)
    tl.store(scores + c * FOURTH + v, fourth, mask=is_v)
    # NaN is no candidate; the largest number exceeds any loss.
    beyond = 1.7976931348623157e308
    smallest = tl.argmin(tl.where(is_v & (loss < beyond), loss, beyond), axis=0)
    tl.store(best, smallest.to(tl.float64))


@triton.jit(do_not_specialize=["parts", "tiles", "c"])
def advance(
    weights, r, d, anchor, Z, best, scores, size, along, state, pieces, jump, parts, m, tiles, c,
    rows: tl.constexpr, has_weights: tl.constexpr, has_anchor: tl.constexpr,
):  # fmt: skip
    """Update the block for the best candidate, and compute partial sums of the statistics."""
    chosen = tl.load(size).to(tl.int64)
    if chosen < 0:
        return
    now = chosen % 2 * jump
    state += jump - now
    part = tl.program_id(0)
    index = tl.load(best).to(tl.int32)
    delta = tl.load(scores + c * DELTA + index)
    rho = tl.load(scores + c * RHO + index)
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
        own = tl.load(r + now + j, mask=is_j, other=0.0) - rho * z
        rest = tl.load(d + now + j, mask=is_j, other=1.0) - (z * z) / delta
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
            a = tl.load(anchor + now + j, mask=is_j, other=0.0) - share * z
            tl.store(state + 2 * m + j, a, mask=is_j)
            a_r += a * own
            a_g += a * g
            a_a += a * a
        largest = tl.maximum(largest, tl.where(is_j, rest, float("-inf")))
        smallest = tl.minimum(smallest, tl.where(is_j, rest, float("inf")))
    place = pieces + part
    tl.store(place + parts * R_R, tl.sum(r_r, axis=0))
    tl.store(place + parts * G_R, tl.sum(g_r, axis=0))
    tl.store(place + parts * G_G, tl.sum(g_g, axis=0))
    tl.store(place + parts * A_R, tl.sum(a_r, axis=0))
    tl.store(place + parts * A_G, tl.sum(a_g, axis=0))
    tl.store(place + parts * A_A, tl.sum(a_a, axis=0))
    tl.store(place + parts * LOSS_SQUARES, tl.sum(squares, axis=0))
    tl.store(place + parts * LOSS_WEIGHTS, tl.sum(weighted, axis=0))
    tl.store(place + parts * LARGEST_D, tl.max(largest, axis=0))
    tl.store(place + parts * SMALLEST_D, tl.min(smallest, axis=0))


@triton.jit(do_not_specialize=["parts"])
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
    result = tl.where(number == LARGEST_D, tl.max(most, axis=0), tl.sum(totals, axis=0))
    tl.store(sums + number, tl.where(number == SMALLEST_D, tl.min(least, axis=0), result))


@triton.jit(do_not_specialize=["kept"])
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
    gain = tl.load(row + 3 * n, mask=is_i, other=0.0) * tl.load(terms + ALONG_R)
    if has_anchor:
        gain += tl.load(row + 4 * n, mask=is_i, other=0.0) * tl.load(terms + ALONG_ANCHOR)
    gain *= rho
    step = tl.abs(rho) * tl.sqrt(tl.load(row + n, mask=is_i, other=0.0))
    gain += (step * tl.load(terms + CURVE) + tl.load(terms + DISTANCE)) * step
    value = tl.load(terms + ENERGY) - gain
    if has_spread:
        # What growing leverages add at least: `_criterion.leverage_growth`.
        fourth = tl.load(fourth_root + i, mask=is_i, other=0.0)
        spread = tl.load(mixed_root + i, mask=is_i, other=0.0) - tl.abs(rho) * fourth * fourth
        spread = tl.where(spread > 0.0, spread, 0.0)
        value += spread * spread * (tl.load(terms + GROWTH) / delta)
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


@triton.jit(do_not_specialize=["count", "c"])
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
    # All at once, and not in the loop: no load may overtake a store.
    on_factor = is_a[:, None] & is_v[None, :]
    on_rows = a[:, None].to(tl.int64)
    all_f = tl.load(L + on_rows * n + index[None, :], mask=on_factor, other=0.0)
    tl.store(factor + on_rows * c + v[None, :], all_f, mask=on_factor)
    total = tl.zeros((padded, candidates), tl.float64)
    for first in range(0, chosen, ahead):
        for s in tl.static_range(ahead):
            row = first + s
            is_there = is_v & (0 * v + row < chosen)
            f = tl.load(L + row * n + index, mask=is_there, other=0.0)
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


@triton.jit(do_not_specialize=["c"])
def remember(
    size, numbers, scores, mixed_root, fourth_root, c, candidates: tl.constexpr,
    tiny: tl.constexpr, unknown: tl.constexpr,
):  # fmt: skip
    """Store the spread of scored candidates: `Spread.remember`."""
    if tl.load(size) < 0.0:
        return
    v = tl.arange(0, candidates)
    is_v = v < c
    index = tl.load(numbers + v, mask=is_v, other=0.0).to(tl.int64)
    products = tl.load(scores + c * MIXED + v, mask=is_v, other=0.0)
    fourth = tl.load(scores + c * FOURTH + v, mask=is_v, other=1.0)
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
    size = tl.load(added + SIZE).to(tl.int64)
    if size < 0:
        return
    index = tl.load(added + FEATURE).to(tl.int32)
    root = tl.load(added + ROOT)
    column = tl.load(added + ADDRESS).to(tl.int64).to(tl.pointer_type(tl.float64))
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
        lost = tl.load(added + LOST)
        fourth = tl.load(fourth_root + i, mask=is_i, other=0.0)
        mixed = tl.load(mixed_root + i, mask=is_i, other=0.0)
        mixed -= lost * fourth + tl.load(added + REST) * tl.abs(minus_l)
        tl.store(mixed_root + i, tl.maximum(mixed, 0.0), mask=is_i)
        fourth += tl.abs(minus_l) * tl.load(added + Q_FOURTH)
        tl.store(fourth_root + i, fourth, mask=is_i)
    if part == 0:
        a = tl.arange(0, padded)
        before = tl.load(chosen + a, mask=a < size, other=0.0).to(tl.int64)
        own = tl.load(column + before, mask=a < size, other=0.0)
        tl.store(products + size * capacity + a, own, mask=a < size)


@triton.jit(do_not_specialize=["splits", "tiles"])
def move(
    X, by_row, by_column, numbers, weights, r, room, capacity, feature, size, means, shift,
    recurrences, vectors, beta, pieces, splits, height, n, tiles, rows: tl.constexpr,
    ahead: tl.constexpr,
):  # fmt: skip
    """Compute z, r and sums of some rows of a split."""
    part = tl.program_id(0)
    split = tl.program_id(1).to(tl.int64)
    index = tl.load(feature).to(tl.int64)
    chosen = tl.load(size).to(tl.int64)
    if chosen < 0:
        return
    own = split * n + index
    mean = tl.load(means + own)
    away = tl.load(shift + index)
    delta = recurrences + split * vectors * n + index
    rho = tl.load(delta + 2 * n) / tl.load(delta)
    norms = tl.zeros((rows,), tl.float64)
    inner = tl.zeros((rows,), tl.float64)
    energy = tl.zeros((rows,), tl.float64)
    for tile in range(0, tiles):
        j = (part * tiles + tile) * rows + tl.arange(0, rows)
        is_j = j < height
        at = split * height + j
        row = tl.load(numbers + at, mask=is_j, other=0)
        x = tl.load(X + row * by_row + index * by_column, mask=is_j, other=0).to(tl.float64)
        x = (x - away) - mean
        columns = room + split * capacity * height + j
        tl.store(columns + chosen * height, x, mask=is_j)
        z = x
        for first in range(0, chosen, ahead):
            for s in tl.static_range(ahead):
                place = first + s
                is_there = place < chosen
                b = tl.load(beta + split * capacity + place, mask=is_there, other=0.0)
                is_x = is_j & (0 * j + place < chosen)
                z -= b * tl.load(columns + place * height, mask=is_x, other=0.0)
        w = tl.load(weights + at, mask=is_j, other=0.0)
        before = tl.load(r + at, mask=is_j, other=0.0)
        after = before - rho * z
        tl.store(r + at, after, mask=is_j)
        z = tl.where(is_j, z, 0.0)
        after = tl.where(is_j, after, 0.0)
        norms += w * z * z
        inner += w * z * before
        energy += w * after * after
    place = pieces + split * tl.num_programs(0) + part
    step = splits * tl.num_programs(0)
    tl.store(place, tl.sum(norms, axis=0))
    tl.store(place + step, tl.sum(inner, axis=0))
    tl.store(place + 2 * step, tl.sum(energy, axis=0))
