"""Leave-one-out with any loss: from the predictions of every candidate, a tile at a time.

No bound avoids reading the rows: each step computes all candidates' leave-one-out predictions,
O(m·n·|S|), and never keeps more of them than a tile.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import PREDICTION_ELEMENTS, Float, ask
from .._problem import Loss, Problem, make_loss, stratum_factors
from .._rows import (
    ColumnShapes,
    Errors,
    RowBlock,
    candidate_errors,
    candidate_losses,
    column_shapes,
    directions,
    group_errors,
    loo_predictions,
    losses_with,
    predictions_with,
    removal_errors,
    stratum_weights,
)
from ._choice import Judge
from ._curves import LossMoments, model_moments, moments_of, whole_predictions
from ._group_bounds import roots_of
from ._loo_data import LooData
from ._samples import SampleSpace
from ._search_state import removals_of
from ._state import SelectionState


class LossState(SelectionState):
    """The state of a leave-one-out search whose loss is not the squared one."""

    def __init__(self, data: LooData, alpha: float, loss: Loss, capacity: int) -> None:
        super().__init__(data, alpha, capacity, loss)
        self.factors = loss_factors(data, loss)
        self._remembered: tuple[float, float] | None = None
        self._shapes: list[ColumnShapes] = []
        self.initial_loss = abs(self.loss)

    def _measure(self) -> None:
        super()._measure()
        self._remembered = None

    def _loss_and_error(self) -> tuple[float, float]:
        if self._remembered is None:
            self._remembered = model_loss(self.samples, self.problem, self.criterion_loss)
        return self._remembered

    @property
    def loss(self) -> float:
        """Leave-one-out loss of the current model."""
        return self._loss_and_error()[0]

    @property
    def standard_error(self) -> float:
        """Standard error of that loss over samples; NaN where the loss has none."""
        return self._loss_and_error()[1]

    def remember(self, measured: tuple[float, float]) -> None:
        """Take loss and standard error from a stepper, which has measured them."""
        self._remembered = measured

    def mean_loss(self, total: float) -> float:
        """Return the loss unchanged: choices have means already."""
        return total

    def _reach(self, beta: Float, rho: Float) -> Float:
        """Bound how far z_i can move a margin, (n): |z| |ρ| + w z²/δ for the largest possible |z|.

        |z_i| ≤ |x_i| + Σ_s |β_si| |x_s|, for the largest values in each column; for a rare feature,
        |x_i| outside its support.
        """
        if not self._shapes:
            self.samples.passes += 1
            self._shapes = self.samples.each(column_shapes)
        largest = np.max([shape.largest for shape in self._shapes], axis=0)
        sizes = np.max([shape.outside for shape in self._shapes], axis=0)
        sizes += largest[self.features.selected] @ np.abs(beta)
        most = self.samples.weights.largest_weight
        reach: Float = sizes * (np.abs(rho[0]) + most * sizes / self.features.delta)
        # The losses of features that are no candidates are not used.
        reach[self.barred > 0.0] = 0.0
        return reach

    def candidate_losses(
        self, candidates: NDArray[np.intp], judge: Judge, count: int
    ) -> tuple[Float, Float]:
        """Return mean losses with each candidate added, and tolerances of ties."""
        losses = self._losses(candidates)
        return losses, self.tolerances(losses)

    def _losses(self, candidates: NDArray[np.intp]) -> Float:
        """Return exact losses of candidates, (c)."""
        self.samples.passes += 1
        self.samples.exact_evaluations += len(candidates)
        if self.layout.is_single and self.criterion_loss.is_additive:
            return self._sums(self.features.tau / self.features.delta)[candidates]
        return _losses_with(self, candidates, self.criterion_loss, self.factors)

    def _sums(self, rho: Float) -> Float:
        """Return the losses (n) if the loss is a mean over rows."""
        beta = self.features.beta_of(np.arange(self.problem.n_features))
        name = self.criterion_loss.name.removeprefix("balanced_")
        reach, support = None, None
        # Files and rows on a cluster are read once per step, and all of their pairs are computed.
        if name == "zero_one" and len(rho) == 1 and self.problem.X.is_in_memory:
            reach = self._reach(beta, rho)
            support = [shape.support for shape in self._shapes]
        values = _row_losses(self, self.criterion_loss, self.factors, beta, rho, reach, support)
        return values if self.factors is not None else values / self.problem.n_samples

    def squared_losses(self, candidates: NDArray[np.intp]) -> Float:
        """Return squared losses of candidates, (c), to break ties of the criterion's loss."""
        squared, features = make_loss("squared"), self.features
        self.samples.passes += 1
        factors = _factors(self.samples, squared)
        if not self.layout.is_single:
            return _losses_with(self, candidates, squared, factors)
        beta = features.beta_of(np.arange(self.problem.n_features))
        rho = features.tau / features.delta
        return _row_losses(self, squared, factors, beta, rho)[candidates]

    def removal_losses(self, positions: NDArray[np.intp]) -> tuple[Float, Float]:
        """Exact losses without some of the chosen features, and the tolerances of ties."""
        removals = removals_of(self, positions)
        models = _Models(
            partial(removal_errors, removals=removals), removals.n_removals, len(removals.delta)
        )
        losses = _losses_of(self, models, self.criterion_loss, self.factors)
        return losses, self.tolerances(losses)


def loss_factors(data: LooData, loss: Loss) -> Float | None:
    """Return factors by which weights are multiplied to give the shares of rows in a loss.

    None if each share is 1/m, so that sums are counts, or if the loss is no mean over rows.
    """
    if loss.is_additive and (data.problem.is_weighted or loss.name == "balanced_zero_one"):
        return _factors(data.samples, loss)
    return None


def model_loss(samples: SampleSpace, problem: Problem, loss: Loss) -> tuple[float, float]:
    """Return the loss of the model of some rows, and its standard error or NaN."""
    covariance: Float | None
    if loss.is_additive:
        moments: LossMoments = samples.total(partial(model_moments, loss=loss))
        value, covariance = float(moments.values()[0]), moments.covariance()
    else:
        Y, predictions, weights = whole_predictions(samples, problem, loo_predictions)
        value = float(loss.values(Y, predictions[:, None], weights)[0])
        covariance = loss.covariance(Y, predictions[:, None], weights)
    error = math.nan if covariance is None else math.sqrt(max(0.0, covariance[0, 0]))
    return value, error


def losses_of(data: LooData, loss: Loss, r: Float, d: Float) -> tuple[Float, Float]:
    """Return losses and standard errors of models from their r (c × t × m) and d (c × m)."""
    (block,) = data.samples.blocks
    moments = moments_of(block, loss, r, d)
    return moments.values(), np.sqrt(np.maximum(np.diagonal(moments.covariance()), 0.0))


class _Models(NamedTuple):
    """Models that differ a little from the current one: their errors, and how many there are."""

    errors: Errors
    n_models: int
    width: int  # how many columns the errors are computed from


def _row_losses(
    state: LossState,
    loss: Loss,
    factors: Float | None,
    beta: Float,
    rho: Float,
    reach: Float | None = None,
    support: list[Any] | None = None,
) -> Float:
    """Return Σ_j e_j ℓ_j over all rows with each of all features added, (n).

    `reach` and `support` are for one target of labels ±1 and loss zero_one.
    """
    question = ask(candidate_losses, loss, factors, beta, state.features.delta, rho, reach)
    nothing = [None] * len(state.samples.blocks)
    sums: Float = state.samples.total(question, support or nothing).values
    return sums


def _losses_with(
    state: LossState, candidates: NDArray[np.intp], loss: Loss, factors: Float | None
) -> Float:
    """Return losses with each of some candidates added, (c); `factors` multiply weights of rows.

    A loss of all rows together is computed for a few candidates at a time.
    """
    layout, values, count = state.layout, np.empty(len(candidates)), len(candidates)
    if not loss.is_additive:
        state.problem.X.fetch(layout.columns(candidates).tolist())
        widest = int(layout.widths(candidates).max())
        each = state.problem.n_samples * (state.problem.n_targets + widest - 1)
        count = max(1, PREDICTION_ELEMENTS // each)
    for first in range(0, len(candidates), count):
        models, positions = _models_with(state, candidates[first : first + count])
        values[first + positions] = _losses_of(state, models, loss, factors, reads_X=True)
    return values


def _models_with(
    state: LossState, candidates: NDArray[np.intp]
) -> tuple[_Models, NDArray[np.intp]]:
    """Return the models with each candidate added, and the positions of these candidates."""
    features, layout = state.features, state.layout
    if layout.is_single:
        beta, delta = features.beta_of(candidates), features.delta[candidates]
        rho = features.tau[:, candidates] / delta
        errors = partial(candidate_errors, indices=candidates, beta=beta, delta=delta, rho=rho)
        return _Models(errors, len(candidates), len(candidates)), np.arange(len(candidates))
    parts = list(layout.parts(candidates))
    groups = [directions(part, roots_of(state, part)[0], features.tau) for part in parts]
    betas = [features.beta_of(part.columns.ravel()) for part in parts]
    width = sum(part.columns.size for part in parts)
    models = _Models(partial(group_errors, groups=groups, betas=betas), len(candidates), width)
    return models, np.concatenate([part.positions for part in parts])


def _losses_of(
    state: LossState, models: _Models, loss: Loss, factors: Float | None, reads_X: bool = False
) -> Float:
    """Return the losses of models, (c); those that need columns of X `reads_X`, in one pass."""
    if not loss.is_additive:
        question = ask(predictions_with, *models)
        return loss.values(*whole_predictions(state.samples, state.problem, question))
    question = ask(losses_with, *models, loss, factors)
    if reads_X:
        question = ask(RowBlock.over_chunks, question)
    values: Float = state.samples.total(question).values
    return values if factors is not None else values / state.problem.n_samples


def _factors(samples: SampleSpace, loss: Loss) -> Float:
    """Return factors by which weights are multiplied to give shares of rows in a loss."""
    return stratum_factors(samples.total(ask(stratum_weights, loss)).values)
