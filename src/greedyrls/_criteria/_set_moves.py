"""A leave-one-out search that goes to any set of features, and knows the losses without each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import REFINED_PIVOT, SMALLEST_D, TIE, TIE_ROUNDING, Float, Handle, put
from .._features import FeatureSpace, GramColumns
from .._problem import Problem
from .._rows import Removals, SampleStatistics, at_set, factor_sums, removal_squares, without
from ..path import Moments
from ._choice import NumericalLimit, tie_tolerances
from ._loo_data import LooData, total_of
from ._samples import SampleSpace, StartSums

# Safety of the bounds against rounding, relative to the loss of the current model.
MARGIN = 1e-9
# Gram columns fetched at a time where features come and go.
_BATCH = 32


class Held(NamedTuple):
    """A set of features that a search will come back to."""

    selected: tuple[int, ...]
    blocks: tuple[Handle, ...]
    removals: Removals  # of all of them

    def less(self, order: Sequence[int]) -> Removals:
        """The removal that leads to a set of one less, in the same order."""
        (place,) = (place for place, index in enumerate(self.selected) if index not in set(order))
        beta, delta, rho = self.removals
        return Removals(beta[:, [place]], delta[[place]], rho[:, [place]])


class SetMoves:
    """What a state needs to go to any set of features."""

    data: LooData
    problem: Problem
    start: StartSums
    features: FeatureSpace
    samples: SampleSpace
    gram: GramColumns
    barred: Float
    statistics: SampleStatistics
    target_energy: Float  # (t)
    _constant: NDArray[np.intp]
    # X'x_b of features that were chosen, where the search may go to any set of them.
    _columns: dict[int, Float] | None

    @property
    def loss_sum(self) -> float:
        """The leave-one-out loss of the current model as a sum over rows and targets."""
        return total_of(self.statistics.g_r)

    def mean_loss(self, total: float) -> float:
        """From a sum over rows and targets to the weighted mean over both."""
        return float(total / (self.start.total_weight * self.problem.n_targets))

    def keep_columns(self, features: Sequence[int] = ()) -> None:
        """From now on the Gram columns of chosen features are kept, for `move_to`, and of some."""
        self._gram_columns([*self.selected, *features])
        self.gram.expect(_BATCH)

    @property
    def selected(self) -> list[int]:
        """The chosen features in their order."""
        return self.features.selected

    def tie(self, loss: float) -> float:
        """Losses that differ from this one by no more than this are equal."""
        scale = self.mean_loss(total_of(self.target_energy))
        rounding = TIE_ROUNDING * math.sqrt(abs(loss) * scale)
        return TIE * abs(loss) + rounding

    def held(self) -> Held:
        """The set as it is, for `move_to` sets that have one feature less."""
        selected = self.features.selected
        removals = Removals(*self.features.removals(np.arange(len(selected))))
        return Held(tuple(selected), self.samples.handles, removals)

    def move_to(self, features: Sequence[int], held: Held | None = None) -> None:
        """Go to any set of features, free of the rounding of the steps that led here.

        From one that was held, less a feature, it takes a fraction of the time.
        """
        order = list(features)
        columns = self._gram_columns(order)
        try:
            inverse = self._orthogonal(order, columns)
        except np.linalg.LinAlgError as error:
            raise NumericalLimit("the chosen features are dependent up to rounding") from error
        self.features.move_to(order, columns, inverse)
        if held is None:
            steps = inverse @ self.start.correlation[:, order].T
            question = partial(
                at_set, features=tuple(order), inverse=inverse, steps=steps, kept=order
            )
            self.samples.move_to(self.data.samples.handles, question)
        else:
            question = partial(without, features=tuple(order), removals=held.less(order))
            self.samples.move_to(held.blocks, question)
        self.barred[:] = -np.inf
        self.barred[[*self.problem.excluded, *order]] = np.inf
        self.statistics = self.samples.statistics()
        if self.statistics.smallest_d < SMALLEST_D:
            raise NumericalLimit("a sample's leverage is 1 up to rounding")

    def _known_column(self, index: int) -> Float | None:
        """X'x_b of a feature that was chosen before, where such are kept."""
        column = None if self._columns is None else self._columns.get(index)
        return None if column is None else column.copy()

    def _gram_columns(self, order: list[int]) -> Float:
        """X'x_b of some features, (|S| × n): one pass for those that were never chosen."""
        if self._columns is None:
            self._columns = {}
        missing = [index for index in order if index not in self._columns]
        if missing:
            fetched = self.gram.columns(missing)
            put(fetched, self._constant, 0.0)
            self._columns.update(zip(missing, fetched, strict=True))
        if not order:
            return np.empty((0, self.problem.n_features))
        return np.array([self._columns[index] for index in order])

    def _orthogonal(self, order: list[int], columns: Float) -> Float:
        """L⁻¹ of A on some features.

        Where a feature is nearly spanned by those before it, products of columns know q to the
        square of that only: what the rows say of q'q corrects it.
        """
        penalties = self.features.penalty[order]
        gram = columns[:, order]
        A = 0.5 * (gram + gram.T) + np.diag(penalties)
        factor = np.linalg.cholesky(A)
        inverse: Float = np.tril(np.linalg.inv(factor))
        if (np.square(np.diag(factor)) < REFINED_PIVOT * np.diag(A)).any():
            question = partial(factor_sums, features=tuple(order), inverse=inverse)
            known = self.data.samples.total(question).values + (inverse * penalties) @ inverse.T
            inverse = np.tril(np.linalg.inv(np.linalg.cholesky(known))) @ inverse
        return inverse

    def removal_bounds(self) -> Float:
        """Without each chosen feature the loss is at least this: no d is above that at the start.

        Less a margin for rounding.
        """
        squares = self.features.removal_squares(self.statistics.r_r).sum(axis=0)
        least = squares / self.data.statistics.largest_d**2 - MARGIN * self.loss_sum
        bounds: Float = least / (self.start.total_weight * self.problem.n_targets)
        return bounds

    def removal_losses(self, places: NDArray[np.intp]) -> tuple[Float, Float]:
        """Exact losses without some of the chosen features, and the tolerances of ties."""
        self.samples.exact_evaluations += len(places)
        removals = Removals(*self.features.removals(places))
        sums = self.samples.total(partial(removal_squares, removals=removals)).values
        tolerances = tie_tolerances(sums, self.target_energy)
        scale = self.start.total_weight * self.problem.n_targets
        return sums.sum(axis=0) / scale, tolerances / scale

    def _all_moments(self, known: list[int]) -> Moments:
        """Of all features that were ever chosen."""
        start = self.start
        gram = self._gram_columns(known)[:, known]
        gram = 0.5 * (gram + gram.T)
        gram[np.diag_indices(len(known))] = start.diagonal[known]
        return Moments(
            tuple(known),
            gram,
            start.correlation[:, known].T.copy(),
            start.means[known],
            start.target_means.copy(),
        )
