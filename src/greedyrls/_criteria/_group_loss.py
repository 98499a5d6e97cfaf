"""Leave-one-out with any loss for groups of features: from the predictions of every group."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from .._base import LOSS_ROUNDING, PREDICTION_ELEMENTS, TIE, Float
from .._rows import CandidateLosses, Directions, any_losses, directions, group_predictions
from ._group_choice import GroupChoice, GroupCriterion, Judge, choose_group
from ._group_criterion import space_of
from ._loo_loss import LossState


def all_losses(state: LossState, groups: NDArray[np.intp]) -> Float:
    """Return exact losses of groups, (c)."""
    state.samples.passes += 1
    state.samples.exact_evaluations += len(groups)
    if state.criterion_loss.is_additive:
        return _sums(state, groups)
    return _values(state, groups)


def _directions(
    state: LossState, groups: NDArray[np.intp]
) -> tuple[list[Directions], list[Float], NDArray[np.intp]]:
    """Return, part by part, the directions of groups and β of their columns; their positions."""
    space = space_of(state)
    parts, betas, positions = [], [], [np.empty(0, dtype=np.intp)]
    for part in space.layout.parts(groups):
        roots, _ = space.roots(part)
        parts.append(directions(part, roots, space.tau))
        betas.append(space.coefficients(part.columns.ravel()).beta)
        positions.append(part.positions)
    return parts, betas, np.concatenate(positions)


def _sums(state: LossState, groups: NDArray[np.intp]) -> Float:
    """Return a loss that is a mean over rows, (c), tile by tile."""
    parts, betas, positions = _directions(state, groups)
    question = partial(
        any_losses,
        loss=state.criterion_loss,
        factors=state.factors,
        groups=parts,
        betas=betas,
    )
    sums: CandidateLosses = state.samples.total(question)
    values = np.empty(len(groups))
    values[positions] = sums.values
    return values if state.factors is not None else values / state.problem.n_samples


def _values(state: LossState, groups: NDArray[np.intp]) -> Float:
    """Return a loss that needs all rows together, (c), a chunk of groups at a time."""
    layout = space_of(state).layout
    state.problem.X.fetch(layout.columns(groups).tolist())
    Y, weights, used = state.rows_that_count()
    widest = int(layout.widths[groups].max())
    elements = (len(state.features.tau) + widest) * state.problem.n_samples
    count = max(1, PREDICTION_ELEMENTS // elements)
    values = np.empty(len(groups))
    for first in range(0, len(groups), count):
        parts, betas, positions = _directions(state, groups[first : first + count])
        answers = state.samples.each(partial(group_predictions, groups=parts, betas=betas))
        predictions = np.concatenate(answers, axis=2)
        values[first + positions] = state.criterion_loss.values(Y, predictions[:, :, used], weights)
    return values


class GroupLeaveOneOutLoss(GroupCriterion):
    """The criterion that minimises the exact leave-one-out loss, scoring every group."""

    def choose(
        self, state: LossState, candidates: NDArray[np.intp], n_runners_up: int, remaining: int
    ) -> GroupChoice:
        """Return the best group with its runners-up."""
        losses = all_losses(state, candidates)
        tolerances = TIE * np.abs(losses) + LOSS_ROUNDING * state.initial_loss
        judge = Judge(self.layout.costs, state.loss)
        return choose_group(judge, candidates, losses, tolerances, n_runners_up)
