"""Leave-one-out with any loss: from the predictions of every candidate, a tile at a time.

There is no bound that spares a look at the rows: each step makes all candidates' leave-one-out
predictions, O(m·n·|S|), and never keeps more of them than a tile.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from .._base import LOSS_ROUNDING, PREDICTION_ELEMENTS, TIE, Float
from .._features import Pivot, Ranking
from .._problem import Loss, breaks_ties, make_loss
from .._rows import ColumnShapes, Removals, removal_losses, removal_predictions
from ._choice import Choice, check_candidates, choose_among
from ._curves import LossMoments, model_moments
from ._loo_data import LooData
from ._set_moves import Held
from ._state import SelectionState, pivot_of

# What z of all candidates may take if kept, where X is smaller.
_KEPT_BYTES = 1 << 29
# Nanoseconds, roughly: a pair of row and candidate looked at, each chosen feature in it, and a pair
# whose z is kept. Only their ratios matter, and only for speed.
_LOOK, _LOOK_CHOSEN, _KEPT = 10.0, 0.1, 3.0
# Kept z are compared with one made again so often, and all made again where they differ by more.
_CHECK_STEPS = 32
_KEPT_DRIFT = 1e-10


class LossState(SelectionState):
    """The state of a leave-one-out search whose loss is not the squared one."""

    def __init__(self, data: LooData, alpha: float, loss: Loss, capacity: int) -> None:
        super().__init__(data, alpha, capacity)
        self.criterion_loss = loss
        # Shares of the rows are weights times these; None where each is 1/m and sums may count.
        self.factors: Float | None = None
        if loss.is_additive and (data.problem.is_weighted or loss.name == "balanced_zero_one"):
            self.factors = self.samples.loss_factors(loss)
        self._remembered: tuple[int, float, float] | None = None
        self._shapes: list[ColumnShapes] = []
        self.looked = 0  # pairs of row and candidate that the last step looked at
        self._kept_steps = 0  # steps since all z were made again
        self.initial_loss = abs(self.loss)

    def _loss_and_error(self) -> tuple[float, float]:
        if self._remembered is None or self._remembered[0] != self.size:
            loss = self.criterion_loss
            covariance: Float | None
            if loss.is_additive:
                moments: LossMoments = self.samples.total(partial(model_moments, loss=loss))
                value, covariance = float(moments.values()[0]), moments.covariance()
            else:
                Y, weights, used = self.rows_that_count()
                predictions = self.samples.predictions()[:, None, used]
                value = float(loss.values(Y, predictions, weights)[0])
                covariance = loss.covariance(Y, predictions, weights)
            error = math.nan if covariance is None else math.sqrt(max(0.0, covariance[0, 0]))
            self._remembered = (self.size, value, error)
        return self._remembered[1:]

    def rows_that_count(self) -> tuple[Float, Float | None, NDArray[np.intp]]:
        """Targets, weights and numbers of the rows that have a weight, for losses of all rows."""
        Y, weights = self.problem.Y, self.problem.weights
        if weights is None:
            return Y, None, np.arange(len(Y))
        (used,) = weights.nonzero()
        return Y[used], weights[used], used

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

    def _reach(self, beta: Float, rho: Float) -> Float:
        """How far z_i can move a margin, (n): |z| |ρ| + w z²/δ with the largest |z| there may be.

        |z_i| ≤ |x_i| + Σ_s |β_si| |x_s|, for the largest values in each column; those of i itself
        outside its support, if it is rare.
        """
        if not self._shapes:
            self._shapes = self.samples.shapes()
        largest = np.max([shape.largest for shape in self._shapes], axis=0)
        sizes = np.max([shape.outside for shape in self._shapes], axis=0)
        sizes += largest[self.features.selected] @ np.abs(beta)
        most = self.samples.weights.largest_weight
        reach: Float = sizes * (np.abs(rho[0]) + most * sizes / self.features.delta)
        reach[self.barred > 0.0] = (
            0.0  # nobody asks for the losses of features that are no candidates
        )
        return reach

    def losses(self) -> Float:
        """Exact losses of all candidates (n); no number where a feature is none."""
        candidates = self.candidates
        self.samples.passes += 1
        self.samples.exact_evaluations += len(candidates)
        rho = self.features.tau / self.features.delta
        if self.criterion_loss.is_additive:
            return self._sums(rho)
        return self._values(candidates, rho)

    def _sums(self, rho: Float) -> Float:
        """A loss that is a mean over rows."""
        features = self.features
        name = self.criterion_loss.name.removeprefix("balanced_")
        two_classes = name == "zero_one" and len(rho) == 1
        # A file is read once for every step, and looked at whole; so are rows on a cluster.
        two_classes = two_classes and self.problem.X.is_in_memory
        if two_classes and self._worth_keeping():
            if not self.samples.keeps_leftovers:
                candidates = self.candidates
                self.samples.keep_leftovers(candidates, features.coefficients(candidates).beta)
                self._kept_steps = 0
            values = self.samples.kept_losses(
                self.criterion_loss, self.factors, features.delta, rho[0]
            )
        else:
            beta = features.coefficients(np.arange(self.problem.n_features)).beta
            reach = self._reach(beta, rho) if two_classes else None
            values, self.looked = self.samples.candidate_losses(
                self.criterion_loss, self.factors, beta, features.delta, rho, reach, self._shapes
            )
        return values if self.factors is not None else values / self.problem.n_samples

    def squared_losses(self, candidates: NDArray[np.intp]) -> Float:
        """Squared losses of some candidates, (c), for ties of the loss that the search goes by."""
        squared, features = make_loss("squared"), self.features
        self.samples.passes += 1
        values, _ = self.samples.candidate_losses(
            squared,
            self.samples.loss_factors(squared),
            features.coefficients(np.arange(self.problem.n_features)).beta,
            features.delta,
            features.tau / features.delta,
            None,
            [],
        )
        return values[candidates]

    def _worth_keeping(self) -> bool:
        """Whether looking at all rows with kept z is cheaper than at some without."""
        if self.samples.keeps_leftovers:
            return True
        pairs = len(self.candidates) * self.problem.n_samples
        allowed = 8 * pairs <= max(_KEPT_BYTES, self.problem.X.nbytes)
        return allowed and self.looked * (_LOOK + _LOOK_CHOSEN * self.size) > _KEPT * pairs

    def measure(self, index: int) -> Pivot:
        """One candidate in the data; from its z where that is kept."""
        if not self.samples.keeps_leftovers:
            return super().measure(index)
        order = np.array([index])
        terms = self.features.coefficients(order)
        Z = self.samples.kept_columns(index)
        self._kept_steps += 1
        if self._kept_steps % _CHECK_STEPS == 0 and self._has_drifted(order, terms.beta, Z):
            self.samples.drop_leftovers()
            return super().measure(index)
        return pivot_of(self.samples.score(order, *terms, self.features.follows_spread, Z), 0)

    def _has_drifted(self, order: NDArray[np.intp], beta: Float, Z: list[Float]) -> bool:
        """Whether the kept z of a candidate is not the one that is made again."""
        pairs = list(zip(self.samples.blocks, Z, strict=True))
        largest = max(float(np.abs(z).max(initial=0.0)) for z in Z)
        return any(
            float(np.abs(block.residuals(order, beta) - z).max(initial=0.0)) > _KEPT_DRIFT * largest
            for block, z in pairs
        )

    def add(self, index: int, pivot: Pivot, ranking: Ranking, remaining: int) -> None:
        """Add a feature to the model, and take it out of the z that are kept."""
        super().add(index, pivot, ranking, remaining)
        if self.samples.keeps_leftovers:
            row = self.features.L[-1]
            self.samples.follow(index, row / row[index])

    def tie(self, loss: float) -> float:
        """Losses that differ from this one by no more than this are equal."""
        return TIE * abs(loss) + LOSS_ROUNDING * self.initial_loss

    def move_to(self, features: Sequence[int], held: Held | None = None) -> None:
        """Go to any set of features."""
        super().move_to(features, held)
        self._remembered = None
        self._kept_steps = 0

    def removal_bounds(self) -> Float:
        """Nothing is known without a look at the rows."""
        return np.full(self.size, -np.inf)

    def removal_losses(self, places: NDArray[np.intp]) -> tuple[Float, Float]:
        """Exact losses without some of the chosen features, and the tolerances of ties."""
        self.samples.exact_evaluations += len(places)
        removals = Removals(*self.features.removals(places))
        loss = self.criterion_loss
        if loss.is_additive:
            question = partial(removal_losses, loss=loss, factors=self.factors, removals=removals)
            values = self.samples.total(question).values
            losses = values if self.factors is not None else values / self.problem.n_samples
        else:
            Y, weights, used = self.rows_that_count()
            parts = self.samples.each(partial(removal_predictions, removals=removals))
            losses = loss.values(Y, np.concatenate(parts, axis=2)[:, :, used], weights)
        return losses, TIE * np.abs(losses) + LOSS_ROUNDING * self.initial_loss

    def _values(self, candidates: NDArray[np.intp], rho: Float) -> Float:
        """A loss of all rows together, some candidates at a time."""
        features = self.features
        values = np.full(self.problem.n_features, np.nan)
        self.problem.X.fetch(candidates.tolist())
        Y, weights, used = self.rows_that_count()
        width = max(1, PREDICTION_ELEMENTS // (len(rho) * self.problem.n_samples))
        for first in range(0, len(candidates), width):
            some = candidates[first : first + width]
            predictions = self.samples.candidate_predictions(
                some, features.coefficients(some).beta, features.delta[some], rho[:, some]
            )
            values[some] = self.criterion_loss.values(Y, predictions[:, :, used], weights)
        return values


class LeaveOneOutLoss:
    """Chooses by the exact leave-one-out loss of the state, scoring every candidate."""

    def choose(self, state: LossState, n_runners_up: int, remaining: int) -> Choice:
        """The best candidate with its runners-up."""
        check_candidates(state.is_spanned)
        candidates: NDArray[np.intp] = state.candidates
        losses = state.losses()[candidates]
        tolerances = TIE * np.abs(losses) + LOSS_ROUNDING * state.initial_loss
        second = None
        if breaks_ties(state.criterion_loss):
            second = partial(state.squared_losses, candidates)
        choice = choose_among(candidates, losses, tolerances, n_runners_up, second)
        return choice._replace(pivot=state.measure(choice.feature))

    def least(self, state: LossState) -> float:
        """Nothing is known of the losses before they are computed."""
        return -math.inf
