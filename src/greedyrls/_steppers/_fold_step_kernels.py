"""Triton kernels of `RecordedFoldSteps`; loaded when they are first launched."""

# Annotations of a kernel are interpreted by Triton: they name compile-time constants.
# mypy: disable-error-code="untyped-decorator, no-untyped-def"

import triton
import triton.language as tl

from .._data import fused
from ._queue import DOUBTFUL, LACKS_COLUMN, PLAIN
from ._recorded_folds import FoldHistoryRow, Limits

_PLAIN, _DOUBTFUL, _LACKS_COLUMN = map(tl.constexpr, (PLAIN, DOUBTFUL, LACKS_COLUMN))
_OUTCOME, _INDEX = fused.positions(FoldHistoryRow, "outcome", "index")
_ENERGY, _ROUNDING = fused.positions(Limits, "energy", "rounding")


@triton.jit
def survey(losses, barred, least, second, which, n, width: tl.constexpr):
    """Find the smallest two losses of some candidates."""
    part = tl.program_id(0)
    own = tl.arange(0, width)
    i = part * width + own
    loss = tl.load(losses + i, mask=i < n, other=float("inf"))
    loss = tl.maximum(loss, 0.0)
    is_open = tl.load(barred + i, mask=i < n, other=float("inf")) < 0.0
    # NaN is no candidate.
    loss = tl.where(is_open & (loss < float("inf")), loss, float("inf"))
    smallest, at = tl.min(loss, axis=0, return_indices=True)
    tl.store(least + part, smallest)
    tl.store(second + part, tl.min(tl.where(own == at, float("inf"), loss), axis=0))
    tl.store(which + part, part * width + at)


@triton.jit(do_not_specialize=["programs", "row_size"])
def admit(
    counter, least, second, which, pivots, limits, barred, addresses, feature, size, history,
    programs, row_size, padded: tl.constexpr, tie: tl.constexpr, tie_rounding: tl.constexpr,
    refined_pivot: tl.constexpr, trusted: tl.constexpr, largest: tl.constexpr,
):  # fmt: skip
    """Add the best candidate if nothing is in doubt; else stop."""
    chosen = tl.load(counter).to(tl.int64)
    if chosen < 0:
        tl.store(size, -1.0)
        return
    p = tl.arange(0, padded)
    losses = tl.load(least + p, mask=p < programs, other=float("inf"))
    loss, at = tl.min(losses, axis=0, return_indices=True)
    index = tl.load(which + at).to(tl.int64)
    rival = tl.min(tl.where(p == at, float("inf"), losses), axis=0)
    rival = tl.minimum(rival, tl.load(second + at))
    # Twice what counts as a tie: the host divides losses by their weight first.
    tolerance = tie * loss + tie_rounding * tl.sqrt(loss * tl.load(limits + _ENERGY))
    is_plain = (loss < largest) & (rival > loss + 2.0 * tolerance)
    is_plain = is_plain & (tl.load(limits + _ROUNDING) <= 0.5 * trusted * loss)
    is_plain = is_plain & (tl.load(pivots + index) >= refined_pivot)
    has_column = tl.load(addresses + index) > 0.0
    row = history + chosen * row_size
    outcome = tl.where(has_column, _PLAIN, _LACKS_COLUMN)
    tl.store(row + _OUTCOME, tl.where(is_plain, outcome, _DOUBTFUL))
    tl.store(row + _INDEX, index.to(tl.float64))
    if is_plain & has_column:
        tl.store(feature, index.to(tl.float64))
        tl.store(size, chosen.to(tl.float64))
        tl.store(barred + index, float("inf"))
        tl.store(counter, (chosen + 1).to(tl.float64))
    else:
        tl.store(size, -1.0)
        tl.store(counter, -1.0)


@triton.jit
def bring(feature, size, addresses, column, count, width: tl.constexpr):
    """Copy the sums of products with the feature to where steps read them."""
    if tl.load(size) < 0.0:
        return
    i = tl.program_id(0).to(tl.int64) * width + tl.arange(0, width)
    address = tl.load(addresses + tl.load(feature).to(tl.int64))
    values = address.to(tl.int64).to(tl.pointer_type(tl.float64))
    tl.store(column + i, tl.load(values + i, mask=i < count, other=0.0), mask=i < count)


@triton.jit(do_not_specialize=["splits", "row_size"])
def note(
    size, energies, gram, history, splits, capacity, row_size, first, padded: tl.constexpr,
    padded_splits: tl.constexpr,
):  # fmt: skip
    """Store ‖r‖² of all splits and the products with the chosen features in the history."""
    chosen = tl.load(size).to(tl.int64)
    if chosen < 0:
        return
    row = history + chosen * row_size + first
    k = tl.arange(0, padded_splits)
    tl.store(row + k, tl.load(energies + k, mask=k < splits, other=0.0), mask=k < splits)
    a = tl.arange(0, padded)
    tl.store(row + splits + a, tl.load(gram + a, mask=a < capacity, other=0.0), mask=a < capacity)
