"""Sums over rows that the bounds and the loss need after a step."""

from __future__ import annotations

from .._base import extremes, inner, namespace_of, row_dots
from ._answers import SampleStatistics
from ._blocks import RowBlock


def sample_statistics(block: RowBlock) -> SampleStatistics:
    """Return this block's part of the sums of r and h that the driver needs."""
    r, d, anchor, weights = block.r, block.d, block.anchor, block.weights
    xp = namespace_of(r)
    t = r.shape[0]
    error = r / d
    g = error / d
    losses = error * error
    if t > 1:
        losses = xp.sum(losses, axis=0)[None, :] / t
    sums = [row_dots(r, r), row_dots(error, error), row_dots(g, g)]
    if anchor is not None:
        sums += [row_dots(anchor, r), row_dots(anchor, g), row_dots(anchor, anchor)]
    squares = row_dots(losses, losses)[0]
    if weights is None:
        weighted = sums[1][0] if t == 1 else xp.sum(sums[1]) / t
    else:
        weighted = inner(losses, weights[None, :])[0, 0]
    of_anchor = sums[3:]
    if anchor is None:
        none = 0.0 * r[:, 0]
        of_anchor = [none, none, none]
    return SampleStatistics._make([*sums[:3], *of_anchor, squares, weighted, *extremes(d)])
