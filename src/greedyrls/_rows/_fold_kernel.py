"""The Triton kernel of `FusedStep`; loaded when it is first launched."""

# Annotations of a kernel are interpreted by Triton: they name compile-time constants.
# mypy: disable-error-code="untyped-decorator, no-untyped-def"

import triton
import triton.language as tl


@triton.jit
def move(
    X, by_row, by_column, numbers, weights, r, room, capacity, sent, means, shift, delta, tau,
    beta, pieces, splits, height, n, tiles, rows: tl.constexpr, ahead: tl.constexpr,
):  # fmt: skip
    """Compute z, r and sums of some rows of a split; `sent` has the feature and |S|."""
    part = tl.program_id(0)
    split = tl.program_id(1).to(tl.int64)
    index = tl.load(sent).to(tl.int64)
    chosen = tl.load(sent + 1).to(tl.int64)
    own = split * n + index
    mean = tl.load(means + own)
    away = tl.load(shift + index)
    rho = tl.load(tau + own) / tl.load(delta + own)
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
