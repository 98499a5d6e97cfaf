"""Numerical care of models on splits: refinements where features are nearly dependent."""

from __future__ import annotations

import numpy as np

from .._base import REFINED_PIVOT, Float, ask, to_host
from .._features import FoldSpace
from .._rows import FoldRows, refined_sums


def careful_coefficients(space: FoldSpace, rows: FoldRows, index: int) -> Float:
    """Return β of a feature (K × |S|), refined where the chosen ones nearly span it."""
    vectors = (
        space.beta_of(np.array([index]))[:, :, 0],
        space.delta[:, index],
        space.scale[:, index],
    )
    beta, delta, scale = to_host(*vectors)
    if space.size:
        for split in np.flatnonzero(delta < REFINED_PIVOT * scale):
            beta[split] = _refined(space, rows, int(split), index, beta[split])
    return beta


def _refined(space: FoldSpace, rows: FoldRows, split: int, index: int, beta: Float) -> Float:
    """Refine β of a feature that the chosen ones nearly span, on a split's training rows.

    Its z is mostly the error of β. The pivot and its τ are measured with the refined β.
    """
    columns = np.array([*space.selected, index])
    w, means = to_host(space.model.weights[split, ...], space.means[split, ...])
    arguments = (split, columns, means[columns], space.target_means[split])
    for _ in range(2):
        sums = rows.total(ask(refined_sums, *arguments, beta, w))
        beta = space.corrected(split, index, beta, sums.products)
    _, norm, inner = rows.total(ask(refined_sums, *arguments, beta, w))
    space.set_pivot(split, index, beta, norm, inner)
    return beta
