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
    """Chooses by the held-out loss of the state."""

    def choose(
        self, state: FoldState, candidates: NDArray[np.intp], n_runners_up: int, remaining: int
    ) -> GroupChoice:
        """Score all groups; the best, with its runners-up."""
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
        """Mean losses and tolerances of ties, from feature space; the smallest ones from rows."""
        weight = state.total_test_weight * state.problem.n_targets
        by_target = _space_of(state).group_losses(candidates).sum(axis=0)
        np.maximum(by_target, 0.0, out=by_target)
        losses = by_target.sum(axis=0) / weight
        tolerances = tie_tolerances(by_target, state.target_energy) / weight
        rounding = LOSS_ROUNDING * state.initial_loss
        if rounding > TRUSTED_LOSS * float(losses.min()):
            # Where losses have become so small that rounding is more than a tie, rows decide.
            wanted = min(n_runners_up + 1, len(losses))
            limits = judge.limits(candidates, losses, tolerances + rounding, wanted)
            own = limits[candidates] if isinstance(limits, np.ndarray) else limits
            (near,) = (losses <= own + 2.0 * rounding).nonzero()
            losses[near] = row_losses(state, candidates[near])
        return losses, tolerances


def _space_of(state: FoldState) -> GroupFoldSpace:
    assert isinstance(state.space, GroupFoldSpace)
    return state.space


def row_losses(state: FoldState, groups: NDArray[np.intp]) -> Float:
    """Held-out losses of some groups from the rows, (c): one pass over the held-out rows."""
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
    for place, split in enumerate(block.splits):
        own = _as_a_whole(state, block, split, candidates, starts, place)
        total += state.shares[place] * own
    return total


def _as_a_whole(
    state: FoldState,
    block: FoldBlock,
    split: HeldOutRows,
    candidates: Candidates,
    starts: NDArray[np.intp],
    place: int,
) -> Float:
    """A loss of all rows together, some groups at a time: (c)."""
    means, beta, rho = (values[place] for values in candidates[1:])
    rows, (used,) = split.rows[0], split.weights[0].nonzero()
    Y, weights = split.y[0, :, used], split.weights[0, used]
    ends = np.append(starts[1:], len(candidates.indices))
    count = max(1, PREDICTION_ELEMENTS // (len(rows) * (len(rho) + int((ends - starts).max()))))
    values = []
    for first in range(0, len(starts), count):
        last = min(len(starts), first + count) - 1
        some = slice(int(starts[first]), int(ends[last]))
        indices = candidates.indices[some]
        Z = np.empty((len(indices), len(rows)))
        for places, x in block.tiles_of(rows, indices):
            Z[:, places] = (x - means[some]).T
        for places, columns in split.chosen(block.column):
            Z -= beta[places, some].T @ columns[0]
        begins = starts[first : last + 1] - starts[first]
        changes = [np.add.reduceat(Z * own[some, None], begins, axis=0) for own in rho]
        predictions = np.array(changes)
        predictions += (split.y - split.r)[0][:, None, :]
        values.append(state.criterion_loss.values(Y, predictions[:, :, used], weights))
    return np.concatenate(values)
