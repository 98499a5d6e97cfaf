"""Choice of the penalty and of the size by the losses of the criterion itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._base import Float
from ..path import AlphaSurface, SelectionPath, best_pair


def pair_at(losses: Float, size: int | None, least: int, initial_loss: float) -> tuple[int, int]:
    """Return row and size of the smallest loss, over all sizes or at one.

    If every path ended before the requested size, the largest size reached is used.
    """
    if size is None:
        return best_pair(losses, least, initial_loss)
    reached = np.flatnonzero(np.isfinite(losses).any(axis=0))
    if len(reached) == 0:
        raise ValueError("No penalty gave a finite loss; use larger values of alpha.")
    last = min(size, int(reached[-1]) + 1)
    return best_pair(losses[:, :last], last, initial_loss)


def joint_surface(
    paths: Sequence[SelectionPath], length: int, size: int | None, least: int
) -> AlphaSurface:
    """Return the surface of the criterion's losses along the path of each penalty."""
    alphas = np.array([path.settings.alpha for path in paths])
    losses = np.full((len(alphas), length), np.nan)
    errors = np.full((len(alphas), length), np.nan)
    for row, path in enumerate(paths):
        losses[row, : len(path)] = path.losses
        errors[row, : len(path)] = path.standard_errors
    row, chosen = pair_at(losses, size, least, paths[0].initial_loss)
    return AlphaSurface("joint", alphas, losses, errors, None, None, "", float(alphas[row]), chosen)
