"""Triton kernels of `RecordedSteps`; loaded when they are first launched."""

# Annotations of a kernel are interpreted by Triton: they name compile-time constants.
# mypy: disable-error-code="untyped-decorator, no-untyped-def"

import triton
import triton.language as tl

from .._data import fused
from .._rows import AddedNumbers, BoundTerms, SampleStatistics, Scores
from ._queue import DOUBTFUL, LACKS_COLUMN, PLAIN
from ._recorded import HistoryRow

# Rows of scores and positions of single numbers, as in `_rows`.
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
_PLAIN, _DOUBTFUL, _LACKS_COLUMN = map(tl.constexpr, (PLAIN, DOUBTFUL, LACKS_COLUMN))
_OUTCOME, _INDEX, _DRIFT, _SUMS = fused.positions(HistoryRow, "outcome", "index", "drift", "sums")


@triton.jit(do_not_specialize=["c"])
def admit(
    chosen_size, terms, inverse, penalties, weights, overlaps, energy, added, slopes, left, chosen,
    best, scores, sums, numbers, beyond, recurred, anchored, factor, beta, floor, diagonal, barred,
    addresses, history, c, capacity, candidates: tl.constexpr, padded: tl.constexpr,
    ahead: tl.constexpr, height: tl.constexpr, n_sums: tl.constexpr, row_size: tl.constexpr,
    tie: tl.constexpr, tie_rounding: tl.constexpr, margin: tl.constexpr,
    refined_pivot: tl.constexpr, drift_bound: tl.constexpr, smallest_d: tl.constexpr,
    sum_rounding: tl.constexpr, parallel: tl.constexpr, tiny: tl.constexpr, largest: tl.constexpr,
):  # fmt: skip
    """Add the best candidate if nothing is in doubt; else stop."""
    size = tl.load(chosen_size).to(tl.int64)
    if size < 0:
        tl.store(added + SIZE, -1.0)
        return
    v = tl.arange(0, candidates)
    index = tl.load(best).to(tl.int64)
    losses = tl.load(scores + c * LOSSES + v, mask=v < c, other=float("inf"))
    of_best = scores + index
    loss = tl.load(of_best + c * LOSSES)
    delta = tl.load(of_best + c * DELTA)
    rho = tl.load(of_best + c * RHO)
    norm = tl.load(of_best + c * NORMS)
    inner = tl.load(of_best + c * CORRELATIONS)
    mixed = tl.load(of_best + c * MIXED)
    fourth = tl.load(of_best + c * FOURTH)
    r_r = tl.load(sums + R_R) + tiny
    g_r = tl.load(sums + G_R)
    g_g = tl.load(sums + G_G)
    d = tl.load(sums + LARGEST_D)
    feature = tl.load(numbers + index).to(tl.int64)
    penalty = tl.load(floor + feature)
    scale = tl.load(diagonal + feature) + penalty
    drift = tl.abs(tl.load(recurred + index) - delta) / scale
    limit = loss + (tie * loss + tie_rounding * tl.sqrt(loss * tl.load(energy)))
    rivals = tl.sum(((v != index) & (losses <= limit)).to(tl.int32), axis=0)
    address = tl.load(addresses + feature)
    before = tl.load(terms + ENERGY)
    is_plain = (rivals == 0) & (tl.load(beyond) > limit + margin * before)
    is_plain = is_plain & (limit < largest) & (delta >= refined_pivot * scale)
    is_plain = is_plain & (drift <= drift_bound)
    is_plain = is_plain & (tl.load(sums + SMALLEST_D) >= smallest_d) & (g_r < largest)
    is_plain = is_plain & (tl.load(sums + LOSS_SQUARES) < largest)
    has_column = address > 0.0
    row = history + size * row_size
    outcome = tl.where(has_column, _PLAIN, _LACKS_COLUMN)
    tl.store(row + _OUTCOME, tl.where(is_plain, outcome, _DOUBTFUL))
    tl.store(row + _INDEX, feature.to(tl.float64))
    tl.store(row + _DRIFT, drift)
    k = tl.arange(0, 16)
    tl.store(row + _SUMS + k, tl.load(sums + k, mask=k < n_sums, other=0.0), mask=k < n_sums)
    is_plain = is_plain & has_column
    if is_plain:
        # Arrays of |S| numbers: `FeatureSpace.add`.
        root = tl.sqrt(delta)
        step = rho * root
        q_q = norm / delta
        a = tl.arange(0, padded)
        is_a = a < size
        on_factor = factor + index
        on_chosen = tl.load(on_factor + a * c, mask=is_a, other=0.0) / root
        overlap = on_chosen
        for first in range(0, size, ahead):
            for s in tl.static_range(ahead):
                position = first + s
                is_valid = is_a & (0 * a + position < size)
                column = tl.load(overlaps + position * capacity + a, mask=is_valid, other=0.0)
                share = tl.load(on_factor + position * c, mask=position < size, other=0.0) / root
                overlap -= column * share
        b = tl.load(beta + a * c + index, mask=is_a, other=0.0)
        tl.store(inverse + size * capacity + a, -b / root, mask=is_a)
        tl.store(inverse + a * capacity + size, 0.0 * b, mask=is_a)
        tl.store(inverse + size * capacity + size, 1.0 / root)
        tl.store(overlaps + size * capacity + a, overlap, mask=is_a)
        tl.store(overlaps + a * capacity + size, overlap, mask=is_a)
        tl.store(overlaps + size * capacity + size, q_q)
        w = tl.load(weights + a, mask=is_a, other=0.0)
        tl.store(weights + a, w - b * rho, mask=is_a)
        tl.store(weights + size, rho)
        tl.store(penalties + size, penalty)
        # For vectors of n numbers: `FeatureSpace.add`, `Spread.update`.
        q_fourth = tl.sqrt(tl.sqrt(fourth)) / root
        lost = tl.abs(step) * q_fourth
        tl.store(added + SIZE, size.to(tl.float64))
        tl.store(added + FEATURE, feature.to(tl.float64))
        tl.store(added + ROOT, root)
        tl.store(added + LOST, lost)
        tl.store(added + REST, tl.sqrt(mixed / delta) + lost * q_fourth)
        tl.store(added + Q_FOURTH, q_fourth)
        tl.store(added + ADDRESS, address)
        tl.store(slopes, 1.0)
        tl.store(slopes + 1, 0.0)
        tl.store(slopes + 2, -q_q)
        tl.store(slopes + 3, 2.0)
        tl.store(slopes + 4, step)
        tl.store(slopes + 5, 0.0)
        tl.store(slopes + 6, inner / root - step * q_q)
        tl.store(slopes + 7, step)
        # Approximate g by r and the anchor: `_leave_one_out.approximation`.
        c1 = g_r / r_r
        c2 = 0.0 * c1
        square = (1.0 + sum_rounding) * g_g - c1 * g_r
        if height > 4:
            on_anchor = tl.load(anchored + index)
            along = tl.where(norm > 0.0, on_anchor / tl.where(norm > 0.0, norm, 1.0), 0.0)
            tl.store(slopes + 8, 0.0)
            tl.store(slopes + 9, along * root)
            a_r = tl.load(sums + A_R)
            a_a = tl.load(sums + A_A)
            slope = a_r / r_r
            across = a_a - slope * a_r
            a_g = tl.load(sums + A_G) - slope * g_r
            c2 = a_g / (tl.abs(across) + parallel * a_a + tiny)
            c1 -= c2 * slope
            square += c2 * (c2 * across - 2.0 * a_g)
        tl.store(left + a, on_chosen, mask=is_a)
        tl.store(left + capacity + a, on_chosen + overlap, mask=is_a)
        tl.store(chosen + size, feature.to(tl.float64))
        tl.store(terms + ENERGY, g_r)
        tl.store(terms + ALONG_R, 2.0 * c1)
        tl.store(terms + ALONG_ANCHOR, 2.0 * c2)
        distance = tl.sqrt(tl.maximum(square, sum_rounding * g_g))
        tl.store(terms + DISTANCE, 2.0 * distance)
        tl.store(terms + CURVE, -1.0 / (d * d))
        tl.store(terms + GROWTH, 2.0 / (d * d * d))
        tl.store(barred + feature, float("inf"))
        tl.store(chosen_size, (size + 1).to(tl.float64))
    else:
        tl.store(added + SIZE, -1.0)
        tl.store(chosen_size, -1.0)


@triton.jit
def keep(added, best, columns, chosen, m, rows: tl.constexpr):
    """Append the feature's column to the chosen ones."""
    size = tl.load(added + SIZE).to(tl.int64)
    if size < 0:
        return
    j = tl.program_id(0).to(tl.int64) * rows + tl.arange(0, rows)
    index = tl.load(best).to(tl.int64)
    column = tl.load(columns + index * m + j, mask=j < m, other=0.0)
    tl.store(chosen + size * m + j, column, mask=j < m)
