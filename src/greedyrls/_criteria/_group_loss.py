"""Leave-one-out with any loss for groups of features: from the predictions of every group."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .._base import PREDICTION_ELEMENTS, Float
from .._problem import Loss
from .._rows import CandidateLosses, Directions, any_losses, directions, group_predictions
from ._curves import whole_predictions
from ._group_bounds import roots_of

if TYPE_CHECKING:
    from ._loo_loss import LossState


def group_losses(
    state: LossState, groups: NDArray[np.intp], loss: Loss, factors: Float | None
) -> Float:
    """Return exact losses of groups, (c); `factors` multiply the weights of rows."""
    if loss.is_additive:
        return _sums(state, groups, loss, factors)
    return _values(state, groups, loss)


def _directions(
    state: LossState, groups: NDArray[np.intp]
) -> tuple[list[Directions], list[Float], NDArray[np.intp]]:
    """Return the directions of each part, β of its columns, and the positions of its groups."""
    space = state.features
    parts, betas, positions = [], [], [np.empty(0, dtype=np.intp)]
    for part in state.layout.parts(groups):
        roots, _ = roots_of(state, part)
        parts.append(directions(part, roots, space.tau))
        betas.append(space.coefficients(part.columns.ravel()).beta)
        positions.append(part.positions)
    return parts, betas, np.concatenate(positions)


def _sums(state: LossState, groups: NDArray[np.intp], loss: Loss, factors: Float | None) -> Float:
    """Return a loss that is a mean over rows, tile by tile."""
    parts, betas, positions = _directions(state, groups)
    question = partial(
        any_losses,
        loss=loss,
        factors=factors,
        groups=parts,
        betas=betas,
    )
    sums: CandidateLosses = state.samples.total(question)
    values = np.empty(len(groups))
    values[positions] = sums.values
    return values if factors is not None else values / state.problem.n_samples


def _values(state: LossState, groups: NDArray[np.intp], loss: Loss) -> Float:
    """Return a loss of all rows together, a few groups at a time."""
    layout = state.layout
    state.problem.X.fetch(layout.columns(groups).tolist())
    widest = int(layout.widths(groups).max())
    elements = (len(state.features.tau) + widest) * state.problem.n_samples
    count = max(1, PREDICTION_ELEMENTS // elements)
    values = np.empty(len(groups))
    for first in range(0, len(groups), count):
        parts, betas, positions = _directions(state, groups[first : first + count])
        question = partial(group_predictions, groups=parts, betas=betas)
        whole = whole_predictions(state.samples, state.problem, question)
        values[first + positions] = loss.values(*whole)
    return values
