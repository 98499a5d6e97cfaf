"""Leave-one-out with any loss: from the predictions of every candidate, a tile at a time.

There is no bound that spares a look at the rows: each step makes all candidates' leave-one-out
predictions, O(m·n·|S|), and never keeps more of them than a tile.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ._choice import TIE, Choice, best_first, best_places
from ._kernels import Float
from ._losses import Loss
from ._problem import Problem
from ._state import NumericalLimit, SelectionState

# Rounding of a loss relative to that of the empty model, generously.
_ROUNDING = 1e-13
# Elements of predictions at a time where a loss needs all rows of a candidate.
_GROUP_ELEMENTS = 1 << 20


class LossState(SelectionState):
    """The state of a leave-one-out search whose loss is not the squared one."""

    def __init__(
        self, problem: Problem, capacity: int, loss: Loss, block_rows: int | None = None
    ) -> None:
        super().__init__(problem, capacity, block_rows)
        self.criterion_loss = loss
        weights = problem.weights
        self.used = np.arange(problem.n_samples) if weights is None else weights.nonzero()[0]
        self._Y = problem.Y[self.used]
        self._own_weights = None if weights is None else weights[self.used]
        # Evaluation weights e_j; None where each is 1/m and sums may count.
        self.shares: Float | None = None
        if loss.is_additive and (weights is not None or loss.name == "balanced_zero_one"):
            self.shares = np.zeros(problem.n_samples)
            self.shares[self.used] = loss.sample_weights(self._Y, self._own_weights)
        self._remembered: tuple[int, float, float] | None = None
        self.initial_loss = abs(self.loss)

    def _loss_and_error(self) -> tuple[float, float]:
        if self._remembered is None or self._remembered[0] != self.size:
            predictions = self.samples.predictions()[:, None, self.used]
            loss = self.criterion_loss
            value = float(loss.values(self._Y, predictions, self._own_weights)[0])
            covariance = loss.covariance(self._Y, predictions, self._own_weights)
            error = math.nan if covariance is None else math.sqrt(max(0.0, covariance[0, 0]))
            self._remembered = (self.size, value, error)
        return self._remembered[1:]

    @property
    def loss(self) -> float:
        """Leave-one-out loss of the current model."""
        return self._loss_and_error()[0]

    @property
    def standard_error(self) -> float:
        """Of that loss over samples; not a number where the loss has none."""
        return self._loss_and_error()[1]

    def mean_loss(self, total: float) -> float:
        """Losses are means already."""
        return total

    def losses(self) -> Float:
        """Exact losses of all candidates (n); no number where a feature is none."""
        features = self.features
        candidates = self.candidates
        self.samples.passes += 1
        self.samples.exact_evaluations += len(candidates)
        rho = features.tau / features.delta
        if self.criterion_loss.is_additive:
            everything = np.arange(self.problem.n_features)
            name = self.criterion_loss.name.removeprefix("balanced_")
            values = self.samples.candidate_losses(
                name, self.shares, features.coefficients(everything).beta, features.delta, rho
            )
            return values if self.shares is not None else values / self.problem.n_samples
        values = np.full(self.problem.n_features, np.nan)
        width = max(1, _GROUP_ELEMENTS // (len(rho) * self.problem.n_samples))
        for first in range(0, len(candidates), width):
            some = candidates[first : first + width]
            predictions = self.samples.candidate_predictions(
                some, features.coefficients(some).beta, features.delta[some], rho[:, some]
            )
            values[some] = self.criterion_loss.values(
                self._Y, predictions[:, :, self.used], self._own_weights
            )
        return values


class LeaveOneOutLoss:
    """Chooses by the exact leave-one-out loss of the state, scoring every candidate."""

    def choose(self, state: LossState, n_runners_up: int, remaining: int) -> Choice:
        """The best candidate with its runners-up."""
        candidates: NDArray[np.intp] = state.candidates
        losses = state.losses()[candidates]
        tolerances = TIE * np.abs(losses) + _ROUNDING * state.initial_loss
        lost = ~(losses < np.inf)
        losses[lost], tolerances[lost] = np.inf, 0.0
        place, *others = best_places(candidates, losses, tolerances, n_runners_up + 1)
        if losses[place] == np.inf:
            raise NumericalLimit("no candidate has a finite loss")

        def ranking(count: int) -> list[int]:
            return [int(candidates[place]) for place in best_first(losses, count)]

        feature = int(candidates[place])
        return Choice(
            feature,
            float(losses[place]),
            state.measure(feature),
            tuple((int(candidates[other]), float(losses[other])) for other in others),
            ranking,
        )
