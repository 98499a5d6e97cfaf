"""The held-out loss over folds: squared in feature space, any other loss on the held-out rows.

With squared loss a step does not read the rows: feature space has the exact losses of all
candidates. Other losses are computed from the held-out predictions of every candidate, a tile of
rows at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._base import LOSS_ROUNDING, PREDICTION_ELEMENTS, TRUSTED_LOSS, Float, ask
from .._problem import make_loss, stratum_factors
from .._rows import (
    Removals,
    fold_candidate_errors,
    fold_candidate_losses,
    fold_losses_with,
    fold_removal_errors,
    fold_stratum_weights,
    fold_values_with,
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
    columns = state.layout.columns(candidates)
    if 2 * len(columns) > state.problem.n_features:  # single columns are not counted
        state.samples.passes += 1
    loss = state.criterion_loss
    if loss.is_additive:
        models = state.features.candidates(candidates)
        if not state.problem.X.location.on_device:
            return _weighted(state, ask(fold_candidate_losses, loss, state.factors, models))
        squares = state.samples.total(ask(squares_on_device, models)).values
        means: Float = squares.sum(axis=0) / state.total_test_weight
        return means
    # A loss of all rows together is computed for a few candidates at a time.
    state.problem.X.fetch(columns.tolist())
    widest = int(state.layout.widths(candidates).max())
    each = state.data.folds.n_tested * (state.problem.n_targets + widest - 1)
    count = max(1, PREDICTION_ELEMENTS // each)
    losses = []
    for first in range(0, len(candidates), count):
        models = state.features.candidates(candidates[first : first + count])
        errors = partial(fold_candidate_errors, candidates=models)
        question = ask(fold_values_with, errors, models.n_candidates, loss)
        losses.append(_weighted(state, question))
    return np.concatenate(losses)


def squared_row_losses(state: FoldState, candidates: NDArray[np.intp]) -> Float:
    """Return squared losses of candidates, (c), to break ties of the criterion's loss."""
    state.samples.passes += 1
    squared, models = make_loss("squared"), state.features.candidates(candidates)
    factors = stratum_factors(state.samples.total(ask(fold_stratum_weights, squared)).values)
    return _weighted(state, ask(fold_candidate_losses, squared, factors, models))


def removal_losses(state: FoldState, removals: Removals) -> Float:
    """Return held-out losses without some of the chosen features, (c)."""
    errors, loss = partial(fold_removal_errors, removals=removals), state.criterion_loss
    if loss.is_additive:
        question = ask(fold_losses_with, errors, removals.n_removals, loss, state.factors)
    else:
        question = ask(fold_values_with, errors, removals.n_removals, loss)
    return _weighted(state, question)


def _weighted(state: FoldState, question: Callable[..., Any]) -> Float:
    """Return the mean over splits, (c), of losses of each split."""
    losses: Float = state.shares @ state.samples.total(question).values
    return losses
