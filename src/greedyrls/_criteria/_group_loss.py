"""Leave-one-out with any loss for groups of features: from the predictions of every group."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .._base import PREDICTION_ELEMENTS, Float
from .._problem import Loss, Problem
from .._rows import CandidateLosses, Directions, any_losses, directions, group_predictions
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


def rows_that_count(problem: Problem) -> tuple[Float, Float | None, NDArray[np.intp]]:
    """Return targets, weights and numbers of the rows of positive weight."""
    Y, weights = problem.Y, problem.weights
    if weights is None:
        return Y, None, np.arange(len(Y))
    (used,) = weights.nonzero()
    return Y[used], weights[used], used


def _values(state: LossState, groups: NDArray[np.intp], loss: Loss) -> Float:
    """Return a loss of all rows together, a few groups at a time."""
    layout = state.layout
    state.problem.X.fetch(layout.columns(groups).tolist())
    Y, weights, used = rows_that_count(state.problem)
    widest = int(layout.widths(groups).max())
    elements = (len(state.features.tau) + widest) * state.problem.n_samples
    count = max(1, PREDICTION_ELEMENTS // elements)
    values = np.empty(len(groups))
    for first in range(0, len(groups), count):
        parts, betas, positions = _directions(state, groups[first : first + count])
        answers = state.samples.each(partial(group_predictions, groups=parts, betas=betas))
        predictions = np.concatenate(answers, axis=2)
        values[first + positions] = loss.values(Y, predictions[:, :, used], weights)
    return values
