"""Triton kernels of `_fused_folds`; loaded when one is first launched."""

# Annotations of a kernel are interpreted by Triton: they name compile-time constants.
# mypy: disable-error-code="untyped-decorator, no-untyped-def"

import triton
import triton.language as tl

from .._data import fused
from ._fused_folds import AddedNumbers

ROOT, RHO, MEAN, TEST_X = fused.positions(AddedNumbers, "root", "rho", "mean", "test_x")
_COUNT = tl.constexpr(len(AddedNumbers._fields))
# Vectors that follow by recurrence, with a single target: δ, ‖z‖², τ and r·z lie in this order.
_HEIGHT = tl.constexpr(4)


@triton.jit
def lean(
    feature, size, L, V, inverse, overlap, means, test_x, recurrences, beta, left, numbers, n,
    capacity, padded: tl.constexpr, ahead: tl.constexpr,
):  # fmt: skip
    """Compute β of a feature in a split, and everything that `follow` reads but overwrites."""
    split = tl.program_id(0).to(tl.int64)
    index = tl.load(feature).to(tl.int64)
    chosen = tl.load(size).to(tl.int64)
    if chosen < 0:
        return  # the search waits for the host: `_steppers`
    own = split * n + index
    a = tl.arange(0, padded)
    is_a = a < chosen
    delta = recurrences + split * _HEIGHT * n + index
    root = tl.sqrt(tl.load(delta))
    rows = split * capacity * n + index
    square = split * capacity * capacity
    total = tl.zeros((padded,), tl.float64)
    across = tl.zeros((padded,), tl.float64)
    for first in range(0, chosen, ahead):
        for s in tl.static_range(ahead):
            place = first + s
            is_there = is_a & (0 * a + place < chosen)
            f = tl.load(L + rows + place * n, mask=place < chosen, other=0.0)
            at = square + place * capacity + a
            total += f * tl.load(inverse + at, mask=is_there, other=0.0)
            across += f * tl.load(overlap + at, mask=is_there, other=0.0)
    on_rows = rows + a.to(tl.int64) * n
    f_a = tl.load(L + on_rows, mask=is_a, other=0.0)
    v_a = tl.load(V + on_rows, mask=is_a, other=0.0)
    tl.store(beta + split * capacity + a, total, mask=a < capacity)
    tl.store(left + 2 * split * capacity + a, f_a, mask=a < capacity)
    both = (v_a - across) / root
    tl.store(left + (2 * split + 1) * capacity + a, both, mask=a < capacity)
    at = numbers + split * _COUNT
    tl.store(at + ROOT, root)
    tl.store(at + RHO, tl.load(delta + 2 * n) / (root * root))
    tl.store(at + MEAN, tl.load(means + own))
    tl.store(at + TEST_X, tl.load(test_x + own))


@triton.jit(do_not_specialize=["parts", "splits"])
def follow(
    feature, size, sums, L, V, inverse, overlap, weights, means, train_weight, test_weight, test_x,
    floor, recurrences, energy, beta, left, numbers, pieces, n, capacity, splits,
    parts, width: tl.constexpr, padded: tl.constexpr, padded_parts: tl.constexpr,
    ahead: tl.constexpr,
):  # fmt: skip
    """Update some features in a split, and with the first of them the arrays of |S| numbers."""
    part = tl.program_id(0)
    split = tl.program_id(1).to(tl.int64)
    index = tl.load(feature).to(tl.int64)
    chosen = tl.load(size).to(tl.int64)
    if chosen < 0:
        return
    i = part * width + tl.arange(0, width)
    is_i = i < n
    own = split * n + i
    rows = split * capacity * n + i
    at = numbers + split * _COUNT
    root = tl.load(at + ROOT)
    rho = tl.load(at + RHO)
    mean = tl.load(at + MEAN)
    test_x_b = tl.load(at + TEST_X)
    # ‖z‖², r·z and ‖r‖² from partial sums, in a fixed order.
    p = tl.arange(0, padded_parts)
    is_p = p < parts
    from_rows = pieces + split * parts + p
    norm = tl.sum(tl.load(from_rows, mask=is_p, other=0.0), axis=0)
    product = tl.sum(tl.load(from_rows + splits * parts, mask=is_p, other=0.0), axis=0)
    # Products with the feature on training and held-out rows: `FoldSpace.columns`.
    mean_i = tl.load(means + own, mask=is_i, other=0.0)
    on_train = tl.load(sums + own, mask=is_i, other=0.0)
    on_train -= tl.load(train_weight + split) * mean * mean_i
    on_test = tl.load(sums + splits * n + own, mask=is_i, other=0.0)
    on_test -= mean * tl.load(test_x + own, mask=is_i, other=0.0)
    on_test -= mean_i * (test_x_b - tl.load(test_weight + split) * mean)
    on_chosen = left + 2 * split * capacity
    along = tl.zeros((width,), tl.float64)
    for first in range(0, chosen, ahead):
        for s in tl.static_range(ahead):
            place = first + s
            is_there = is_i & (0 * i + place < chosen)
            f = tl.load(on_chosen + place, mask=place < chosen, other=0.0)
            b = tl.load(on_chosen + capacity + place, mask=place < chosen, other=0.0)
            factor = tl.load(L + rows + place * n, mask=is_there, other=0.0)
            on_train -= f * factor
            along += b * factor
            on_test -= f * tl.load(V + rows + place * n, mask=is_there, other=0.0)
    q_z = on_test / root
    tl.store(V + rows + chosen * n, q_z, mask=is_i)
    q_z -= along
    row = tl.where(i == index, root, on_train / root)
    tl.store(L + rows + chosen * n, row, mask=is_i)
    # `Recurrences._follow`.
    delta = recurrences + split * _HEIGHT * n + i
    norms, tau, inner = delta + n, delta + 2 * n, delta + 3 * n
    pivot = root * root
    q_q = norm / pivot
    q_r = product / root
    step = rho * root
    before = tl.load(delta, mask=is_i, other=1.0) - row * row
    tl.store(delta, tl.maximum(before, tl.load(floor)), mask=is_i)
    before = tl.load(norms, mask=is_i, other=0.0) + (row * row * q_q - 2.0 * row * q_z)
    tl.store(norms, tl.maximum(before, 0.0), mask=is_i)
    before = tl.load(inner, mask=is_i, other=0.0) + (step * q_q - q_r) * row
    tl.store(inner, before - step * q_z, mask=is_i)
    before = tl.load(tau, mask=is_i, other=0.0) - step * row
    tl.store(tau, before, mask=is_i)
    if part == 0:
        after = tl.sum(tl.load(from_rows + 2 * splits * parts, mask=is_p, other=0.0), axis=0)
        tl.store(energy + split, after)
        a = tl.arange(0, padded)
        is_a = a < chosen
        square = split * capacity * capacity
        b = tl.load(beta + split * capacity + a, mask=is_a, other=0.0)
        both = tl.load(on_chosen + capacity + a, mask=is_a, other=0.0)
        tl.store(inverse + square + chosen * capacity + a, -b / root, mask=is_a)
        tl.store(inverse + square + chosen * capacity + chosen, 1.0 / root)
        tl.store(overlap + square + chosen * capacity + a, both, mask=is_a)
        tl.store(overlap + square + a * capacity + chosen, both, mask=is_a)
        tl.store(overlap + square + chosen * capacity + chosen, q_q)
        w = tl.load(weights + split * capacity + a, mask=is_a, other=0.0)
        tl.store(weights + split * capacity + a, w - b * rho, mask=is_a)
        tl.store(weights + split * capacity + chosen, rho)


@triton.jit(do_not_specialize=["splits"])
def report(
    feature, size, sums, order, scale, recurrences, energy, energies, pivots, losses,
    gram, n, capacity, splits, width: tl.constexpr, padded: tl.constexpr,
    padded_splits: tl.constexpr, ahead: tl.constexpr,
):  # fmt: skip
    """Add up the losses of some candidates over the splits, and find their smallest pivots."""
    chosen = tl.load(size).to(tl.int64)
    if chosen < 0:
        return
    part = tl.program_id(0)
    i = part * width + tl.arange(0, width)
    is_i = i < n
    total = tl.zeros((width,), tl.float64)
    least = tl.full((width,), float("inf"), tl.float64)
    for first in range(0, splits, ahead):
        for s in tl.static_range(ahead):
            is_there = is_i & (0 * i + first + s < splits)
            split = (0 * i + first + s).to(tl.int64)
            delta = recurrences + split * _HEIGHT * n + i
            pivot = tl.load(delta, mask=is_there, other=1.0)
            norm = tl.load(delta + n, mask=is_there, other=0.0)
            rho = tl.load(delta + 2 * n, mask=is_there, other=0.0) / pivot
            product = tl.load(delta + 3 * n, mask=is_there, other=0.0)
            before = tl.load(energy + first + s, mask=first + s < splits, other=0.0)
            total += (rho * norm - 2.0 * product) * rho + before
            share = pivot / tl.load(scale + split * n + i, mask=is_there, other=1.0)
            least = tl.minimum(least, tl.where(is_there, share, float("inf")))
    tl.store(losses + i, total, mask=is_i)
    tl.store(pivots + i, least, mask=is_i)
    if part == 0:
        k = tl.arange(0, padded_splits)
        tl.store(energies + k, tl.load(energy + k, mask=k < splits, other=0.0), mask=k < splits)
        index = tl.load(feature).to(tl.int64)
        a = tl.arange(0, padded)
        which = tl.load(order + a, mask=a < chosen, other=0)
        which = tl.where(a == chosen, index, which)
        tl.store(order + chosen, index)
        of_all = sums + 2 * splits.to(tl.int64) * n
        tl.store(gram + a, tl.load(of_all + which, mask=a <= chosen, other=0.0), mask=a < capacity)
