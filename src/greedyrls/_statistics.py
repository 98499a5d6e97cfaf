"""Sums over rows after a step, all that the bounds and the loss need."""

from __future__ import annotations

from ._answers import SampleStatistics
from ._kernels import Float
from ._namespace import dots, inner, namespace_of, row_dots


def statistics_of(
    r: Float, d: Float, anchor: Float | None, weights: Float | None
) -> SampleStatistics:
    """Of residuals r (t × m), d = 1 − h (m), the anchor (t × m) and the weights, if any."""
    xp = namespace_of(r)
    t = r.shape[0]
    error = r / d
    g = error / d
    losses = error * error
    if t > 1:
        losses = xp.sum(losses, axis=0)[None, :] / t
    pairs = [(r, r), (error, error), (g, g)]
    if anchor is not None:
        pairs += [(anchor, r), (anchor, g), (anchor, anchor)]
    if t == 1:
        pairs.append((losses, losses))
    sums = dots(*pairs)
    squares = sums.pop()[0] if t == 1 else row_dots(losses, losses)[0]
    if weights is None:
        weighted = xp.sum(sums[1]) / t
    else:
        weighted = inner(losses, weights[None, :])[0, 0]
    none = xp.zeros_like(sums[0])
    of_anchor = [none, none, none] if anchor is None else sums[3:]
    return SampleStatistics(*sums[:3], *of_anchor, squares, weighted, xp.max(d), xp.min(d))
