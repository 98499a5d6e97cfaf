"""The held-out loss over folds: squared in feature space, any other loss on the held-out rows.

With squared loss a step does not read the rows: feature space has the exact losses of all
candidates. Other losses are computed from the held-out predictions of every candidate, a tile of
rows at a time.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from numpy.typing import NDArray

from .._base import LOSS_ROUNDING, PREDICTION_ELEMENTS, TIE, TRUSTED_LOSS, Float, ask
from .._problem import breaks_ties, make_loss, stratum_factors
from .._rows import Candidates, FoldBlock, HeldOutRows
from ._choice import Choice, check_candidates, choose_among, tie_tolerances
from ._fold_state import FoldState


class FoldLoss:
    """The criterion that minimises the held-out loss of the state."""

    def choose(self, state: FoldState, n_runners_up: int, remaining: int) -> Choice:
        """Score all candidates and return the best with its runners-up."""
        check_candidates(state.is_spanned)
        candidates = state.candidates
        if state.criterion_loss.name == "squared":
            losses, tolerances = self._squared(state, candidates, n_runners_up)
        else:
            losses = row_losses(state, candidates)
            tolerances = TIE * np.abs(losses) + LOSS_ROUNDING * state.initial_loss
        second = None
        if breaks_ties(state.criterion_loss):
            second = partial(_squared_row_losses, state, candidates)
        return choose_among(candidates, losses, tolerances, n_runners_up, second)

    def least(self, state: FoldState) -> float:
        """Return −inf: no bound is available before the losses are computed."""
        return -math.inf

    @staticmethod
    def _squared(
        state: FoldState, candidates: NDArray[np.intp], n_runners_up: int
    ) -> tuple[Float, Float]:
        """Return mean losses, the smallest ones from the rows, and tolerances of ties."""
        weight = state.total_test_weight * state.problem.n_targets
        by_target = state.held_out_sums(candidates)
        np.maximum(by_target, 0.0, out=by_target)
        losses = by_target.sum(axis=0) / weight
        tolerances = tie_tolerances(by_target, state.target_energy) / weight
        rounding = LOSS_ROUNDING * state.initial_loss
        count = min(n_runners_up, len(losses) - 1)
        reached = float(np.partition(losses, count)[count])
        if rounding > TRUSTED_LOSS * reached:
            (near,) = (losses <= reached * (1.0 + TIE) + 2.0 * rounding).nonzero()
            losses[near] = row_losses(state, candidates[near])
        return losses, tolerances


def row_losses(state: FoldState, candidates: NDArray[np.intp]) -> Float:
    """Return held-out losses of candidates, (c), in one pass over the held-out rows."""
    state.exact_evaluations += len(candidates)
    state.settle()
    if 2 * len(candidates) > state.problem.n_features:  # single columns are not counted
        state.rows.passes += 1
    models = state.space.candidates(candidates)
    loss = state.criterion_loss
    if state.problem.X.on_device:
        squares = state.rows.total(ask(FoldBlock.squared_losses, models)).values
        means: Float = squares.sum(axis=0) / state.total_test_weight
        return means
    if loss.is_additive:
        sums = state.rows.total(ask(FoldBlock.candidate_losses, loss, state.factors, models)).values
        values: Float = state.shares @ sums
        return values
    state.problem.X.fetch(candidates.tolist())
    (block,) = state.rows.blocks
    total = np.zeros(len(candidates))
    for number, split in enumerate(block.splits):
        total += state.shares[number] * _as_a_whole(state, block, split, models, number)
    return total


def _squared_row_losses(state: FoldState, candidates: NDArray[np.intp]) -> Float:
    """Return squared losses of candidates, (c), to break ties of the criterion's loss."""
    state.settle()
    state.rows.passes += 1
    squared, models = make_loss("squared"), state.space.candidates(candidates)
    factors = stratum_factors(state.rows.total(ask(FoldBlock.stratum_weights, squared)).values)
    values: Float = (
        state.shares
        @ state.rows.total(ask(FoldBlock.candidate_losses, squared, factors, models)).values
    )
    return values


def _as_a_whole(
    state: FoldState, block: FoldBlock, split: HeldOutRows, candidates: Candidates, number: int
) -> Float:
    """Return a loss that needs all rows together, (c), a chunk of candidates at a time."""
    indices = candidates.indices
    means, beta, rho = (values[number] for values in candidates[1:])
    rows, (used,) = split.rows[0], split.weights[0].nonzero()
    Y, weights = split.y[0, :, used], split.weights[0, used]
    width = max(1, PREDICTION_ELEMENTS // (len(rows) * len(rho)))
    values = []
    for first in range(0, len(indices), width):
        chunk = slice(first, first + width)
        Z = np.empty((len(indices[chunk]), len(rows)))
        for tile, x in block.tiles_of(rows, indices[chunk]):
            Z[:, tile] = (x - means[chunk]).T
        for chosen, columns in split.chosen(block.column):
            Z -= beta[chosen, chunk].T @ columns[0]
        predictions = Z[None] * rho[:, chunk, None]
        predictions += (split.y - split.r)[0][:, None, :]
        values.append(state.criterion_loss.values(Y, predictions[:, :, used], weights))
    return np.concatenate(values)
