"""The held-out loss over folds for groups: squared in feature space, others on held-out rows."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from .._base import LOSS_ROUNDING, PREDICTION_ELEMENTS, TIE, TRUSTED_LOSS, Float
from .._features import GroupFoldSpace, group_split_losses
from .._rows import Candidates, FoldBlock, HeldOutRows
from ._choice import tie_tolerances
from ._fold_state import FoldState
from ._group_choice import GroupChoice, GroupCriterion, Judge, choose_group


class GroupFoldLoss(GroupCriterion):
    """The criterion for groups that minimises the held-out loss of the state."""

    def choose(
        self, state: FoldState, candidates: NDArray[np.intp], n_runners_up: int, remaining: int
    ) -> GroupChoice:
        """Score all groups and return the best with its runners-up."""
        judge = Judge(self.layout.costs, state.loss)
        if state.criterion_loss.name == "squared":
            losses, tolerances = self._squared(state, judge, candidates, n_runners_up)
        else:
            losses = row_losses(state, candidates)
            tolerances = TIE * np.abs(losses) + LOSS_ROUNDING * state.initial_loss
        return choose_group(judge, candidates, losses, tolerances, n_runners_up)

    @staticmethod
    def _squared(
        state: FoldState, judge: Judge, candidates: NDArray[np.intp], n_runners_up: int
    ) -> tuple[Float, Float]:
        """Return mean losses, the smallest ones from the rows, and tolerances of ties."""
        weight = state.total_test_weight * state.problem.n_targets
        by_target = _space_of(state).group_losses(candidates).sum(axis=0)
        np.maximum(by_target, 0.0, out=by_target)
        losses = by_target.sum(axis=0) / weight
        tolerances = tie_tolerances(by_target, state.target_energy) / weight
        rounding = LOSS_ROUNDING * state.initial_loss
        if rounding > TRUSTED_LOSS * float(losses.min()):
            # Losses so small that rounding exceeds a tie are computed from the rows.
            wanted = min(n_runners_up + 1, len(losses))
            limits = judge.limits(candidates, losses, tolerances + rounding, wanted)
            limit = limits[candidates] if isinstance(limits, np.ndarray) else limits
            (near,) = (losses <= limit + 2.0 * rounding).nonzero()
            losses[near] = row_losses(state, candidates[near])
        return losses, tolerances


def _space_of(state: FoldState) -> GroupFoldSpace:
    assert isinstance(state.space, GroupFoldSpace)
    return state.space


def row_losses(state: FoldState, groups: NDArray[np.intp]) -> Float:
    """Return held-out losses of groups, (c), in one pass over the held-out rows."""
    state.exact_evaluations += len(groups)
    candidates, starts = _space_of(state).group_candidates(groups)
    if 2 * len(candidates.indices) > state.problem.n_features:  # single columns are not counted
        state.rows.passes += 1
    loss = state.criterion_loss
    if loss.is_additive:
        question = partial(
            group_split_losses,
            loss=loss,
            factors=state.factors,
            candidates=candidates,
            starts=starts,
        )
        values: Float = state.shares @ state.rows.total(question).values
        return values
    state.problem.X.fetch(candidates.indices.tolist())
    (block,) = state.rows.blocks
    total = np.zeros(len(groups))
    for number, split in enumerate(block.splits):
        losses = _as_a_whole(state, block, split, candidates, starts, number)
        total += state.shares[number] * losses
    return total


def _as_a_whole(
    state: FoldState,
    block: FoldBlock,
    split: HeldOutRows,
    candidates: Candidates,
    starts: NDArray[np.intp],
    number: int,
) -> Float:
    """Return a loss that needs all rows together, (c), a chunk of groups at a time."""
    means, beta, rho = (values[number] for values in candidates[1:])
    rows, (used,) = split.rows[0], split.weights[0].nonzero()
    Y, weights = split.y[0, :, used], split.weights[0, used]
    ends = np.append(starts[1:], len(candidates.indices))
    count = max(1, PREDICTION_ELEMENTS // (len(rows) * (len(rho) + int((ends - starts).max()))))
    values = []
    for first in range(0, len(starts), count):
        last = min(len(starts), first + count) - 1
        chunk = slice(int(starts[first]), int(ends[last]))
        indices = candidates.indices[chunk]
        Z = np.empty((len(indices), len(rows)))
        for tile, x in block.tiles_of(rows, indices):
            Z[:, tile] = (x - means[chunk]).T
        for chosen, columns in split.chosen(block.column):
            Z -= beta[chosen, chunk].T @ columns[0]
        begins = starts[first : last + 1] - starts[first]
        changes = [np.add.reduceat(Z * of_target[chunk, None], begins, axis=0) for of_target in rho]
        predictions = np.array(changes)
        predictions += (split.y - split.r)[0][:, None, :]
        values.append(state.criterion_loss.values(Y, predictions[:, :, used], weights))
    return np.concatenate(values)
