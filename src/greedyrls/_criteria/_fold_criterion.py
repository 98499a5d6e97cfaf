"""The held-out loss over folds: squared in feature space, any other loss on the held-out rows.

With squared loss a step does not read the rows: feature space has the exact losses of all
candidates. Other losses are computed from the held-out predictions of every candidate, a tile of
rows at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .._base import LOSS_ROUNDING, PREDICTION_ELEMENTS, TRUSTED_LOSS, Float, ask
from .._problem import make_loss, stratum_factors
from .._rows import (
    Candidates,
    FoldBlock,
    HeldOutRows,
    fold_candidate_losses,
    fold_stratum_weights,
    split_values,
)
from .._rows import (
    squared_losses as squares_on_device,
)
from ._choice import Judge
from ._every_candidate import may_be_best
from ._search_state import mean_losses

if TYPE_CHECKING:
    from ._fold_state import FoldState


def squared_losses(
    state: FoldState, candidates: NDArray[np.intp], judge: Judge, count: int
) -> tuple[Float, Float]:
    """Return mean losses, those of the best `count` from the rows, and tolerances of ties."""
    if state.steps is None:
        by_target: Float = state.features.candidate_losses(candidates).sum(axis=0)  # (t × c)
    else:
        by_target = state.steps.report.losses[:, candidates]
    np.maximum(by_target, 0.0, out=by_target)
    losses, tolerances = mean_losses(state, by_target)
    rounding = LOSS_ROUNDING * state.initial_loss
    if rounding > TRUSTED_LOSS * float(np.partition(losses, count - 1)[count - 1]):
        # Where losses have become so small that rounding is more than a tie, rows decide.
        near = may_be_best(judge, candidates, losses, tolerances, count, rounding)
        losses[near] = row_losses(state, candidates[near])
    return losses, tolerances


def row_losses(state: FoldState, candidates: NDArray[np.intp]) -> Float:
    """Return held-out losses of candidates, (c), in one pass over the held-out rows."""
    state.samples.exact_evaluations += len(candidates)
    if state.steps is not None:
        state.steps.settle()
    models = state.features.candidates(candidates)
    if 2 * len(models.indices) > state.problem.n_features:  # single columns are not counted
        state.samples.passes += 1
    loss = state.criterion_loss
    if state.problem.X.location.on_device:
        squares = state.samples.total(ask(squares_on_device, models)).values
        means: Float = squares.sum(axis=0) / state.total_test_weight
        return means
    if loss.is_additive:
        sums = state.samples.total(ask(fold_candidate_losses, loss, state.factors, models)).values
        values: Float = state.shares @ sums
        return values
    state.problem.X.fetch(models.indices.tolist())
    (block,) = state.samples.blocks
    total = np.zeros(len(candidates))
    for number, split in enumerate(block.splits):
        total += state.shares[number] * _as_a_whole(state, block, split, models, number)
    return total


def squared_row_losses(state: FoldState, candidates: NDArray[np.intp]) -> Float:
    """Return squared losses of candidates, (c), to break ties of the criterion's loss."""
    state.samples.passes += 1
    squared, models = make_loss("squared"), state.features.candidates(candidates)
    factors = stratum_factors(state.samples.total(ask(fold_stratum_weights, squared)).values)
    sums = state.samples.total(ask(fold_candidate_losses, squared, factors, models)).values
    values: Float = state.shares @ sums
    return values


def _as_a_whole(
    state: FoldState, block: FoldBlock, split: HeldOutRows, candidates: Candidates, number: int
) -> Float:
    """A loss of all rows of a split together, some candidates at a time: (c)."""
    means, beta, rho = (values[number] for values in candidates[1:4])
    rows = split.rows[0]
    starts = np.arange(candidates.n_candidates) if candidates.starts is None else candidates.starts
    ends = np.append(starts[1:], len(candidates.indices))
    widest = int((ends - starts).max())
    count = max(1, PREDICTION_ELEMENTS // (len(rows) * (len(rho) + widest - 1)))
    values = []
    for first in range(0, len(starts), count):
        begins = starts[first : first + count]
        batch = slice(int(begins[0]), int(ends[first + len(begins) - 1]))
        Z = np.empty((batch.stop - batch.start, len(rows)))
        for tile, x in block.tiles_of(rows, candidates.indices[batch]):
            Z[:, tile] = (x - means[batch]).T
        for positions, columns in split.chosen(block.column):
            Z -= beta[positions, batch].T @ columns[0]
        predictions = Z[None] * rho[:, batch, None]
        if candidates.starts is not None:
            predictions = np.add.reduceat(predictions, begins - batch.start, axis=1)
        predictions += (split.y - split.r)[0][:, None, :]
        values.append(split_values(state.criterion_loss, split, predictions))
    return np.concatenate(values)
