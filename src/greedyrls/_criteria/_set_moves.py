"""A leave-one-out search that can move to any set of features; losses without each feature."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import REFINED_PIVOT, SMALLEST_D, TIE, TIE_ROUNDING, Float, Handle, put
from .._features import FeatureSpace, GramColumns, move_to
from .._features import removal_squares as squares_without
from .._problem import GroupLayout, Problem
from .._rows import Removals, SampleStatistics, at_set, factor_sums, removal_squares, without
from ..path import Moments
from ._choice import NumericalLimit, tie_tolerances
from ._entries import chosen_groups, open_candidates
from ._loo_data import LooData, total_of
from ._samples import SampleSpace, StartSums

# Safety of the bounds against rounding, relative to the loss of the current model.
MARGIN = 1e-9
# Gram columns fetched at a time where features come and go.
_BATCH = 32


class Held(NamedTuple):
    """A set of features to which a search will return."""

    selected: tuple[int, ...]
    blocks: tuple[Handle, ...]
    removals: Removals  # of all its features

    def removal_to(self, order: Sequence[int]) -> Removals:
        """The removal that leads to a set of one less, in the same order."""
        (place,) = (place for place, index in enumerate(self.selected) if index not in set(order))
        beta, delta, rho, _ = self.removals
        return Removals(beta[:, [place]], delta[[place]], rho[:, [place]])


class SetMoves(ABC):
    """Moves of a state to any set of features."""

    data: LooData
    problem: Problem
    layout: GroupLayout
    start: StartSums
    features: FeatureSpace
    samples: SampleSpace
    gram: GramColumns
    barred: Float
    statistics: SampleStatistics
    target_energy: Float  # (t)
    _constant: NDArray[np.intp]
    # X'x_b of features that were chosen, where the search may move to any set of them.
    _columns: dict[int, Float] | None

    @abstractmethod
    def bar_spanned(self) -> None:
        """Features that the chosen ones span are no candidates."""

    @property
    @abstractmethod
    def loss_sum(self) -> float:
        """The leave-one-out loss of the current model as a sum over rows and targets."""

    @abstractmethod
    def mean_loss(self, total: float) -> float:
        """Convert a sum over rows and targets to the weighted mean over both."""

    @property
    @abstractmethod
    def selected(self) -> list[int]:
        """The chosen features in the order of choice."""

    @property
    def keeps_columns(self) -> bool:
        """Whether this search may move to any set of features."""
        return self._columns is not None

    def keep_columns(self, features: Sequence[int] = ()) -> None:
        """Keep the Gram columns of chosen features, and of `features`, for `move_to`."""
        self._gram_columns([*self.selected, *features])
        self.gram.expect(_BATCH)

    def tie(self, loss: float) -> float:
        """Return the difference up to which another loss ties with this one."""
        scale = self.mean_loss(total_of(self.target_energy))
        rounding = TIE_ROUNDING * math.sqrt(abs(loss) * scale)
        return TIE * abs(loss) + rounding

    def held(self) -> Held | None:
        """The set as it is, for `move_to` sets that have one feature less."""
        if not self.layout.is_single:
            return None
        selected = self.features.selected
        removals = Removals(*self.features.model.removals(np.arange(len(selected))))
        return Held(tuple(selected), self.samples.blocks, removals)

    def move_to(self, features: Sequence[int], held: Held | None = None) -> None:
        """Move to any set of features, without the accumulated rounding of earlier steps.

        From a held set, minus one feature, this takes a fraction of the time.
        """
        order = list(features)
        columns = self._gram_columns(order)
        try:
            inverse = self._orthogonal(order, columns)
        except np.linalg.LinAlgError as error:
            raise NumericalLimit("the chosen features are dependent up to rounding") from error
        move_to(self.features, order, columns, inverse)
        if held is None:
            steps = inverse @ self.start.correlation[:, order].T
            question = partial(
                at_set, features=tuple(order), inverse=inverse, steps=steps, kept=order
            )
            self.samples.move_to(self.data.samples.blocks, question)
        else:
            question = partial(without, features=tuple(order), removals=held.removal_to(order))
            self.samples.move_to(held.blocks, question)
        open_candidates(self)
        self.statistics = self.samples.statistics()
        if self.statistics.smallest_d < SMALLEST_D:
            raise NumericalLimit("a sample's leverage is 1 up to rounding")

    def _gram_columns(self, order: list[int]) -> Float:
        """Return X'x_b of features, (|S| × n), in one pass for those that were never chosen."""
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
        """Return L⁻¹ of A on features.

        If a feature is nearly spanned by those before it, q from products of columns has lost twice
        as many digits; q'q computed on the rows corrects it.
        """
        square = self.features.penalty.square(len(order))
        gram = columns[:, order]
        A = 0.5 * (gram + gram.T) + square
        factor = np.linalg.cholesky(A)
        inverse: Float = np.tril(np.linalg.inv(factor))
        if (np.square(np.diag(factor)) < REFINED_PIVOT * np.diag(A)).any():
            question = partial(factor_sums, features=tuple(order), inverse=inverse)
            products = self.data.samples.total(question).values + inverse @ square @ inverse.T
            inverse = np.tril(np.linalg.inv(np.linalg.cholesky(products))) @ inverse
        return inverse

    def removal_bounds(self) -> Float:
        """Return lower bounds of the losses without each chosen feature, (|S|).

        No d exceeds that of the empty model. A margin for rounding is subtracted.
        """
        if not self.layout.is_single:
            return np.full(len(self.layout.entries(self.selected)), -np.inf)
        squares = squares_without(self.features, self.statistics.r_r).sum(axis=0)
        least = squares / self.data.statistics.largest_d**2 - MARGIN * self.loss_sum
        bounds: Float = least / (self.start.total_weight * self.problem.n_targets)
        return bounds

    def removal_losses(self, positions: NDArray[np.intp]) -> tuple[Float, Float]:
        """Exact losses without some of the chosen features, and the tolerances of ties."""
        removals = self._removals(positions)
        sums = self.samples.total(partial(removal_squares, removals=removals)).values
        tolerances = tie_tolerances(sums, self.target_energy)
        scale = self.start.total_weight * self.problem.n_targets
        return sums.sum(axis=0) / scale, tolerances / scale

    def _removals(self, positions: NDArray[np.intp]) -> Removals:
        """Some of the chosen features, or groups, as the others leave them."""
        self.samples.exact_evaluations += len(positions)
        if self.layout.is_single:
            return Removals(*self.features.model.removals(positions))
        return Removals(*self.features.model.group_removals(chosen_groups(self, positions)))

    def _all_moments(self, features: list[int]) -> Moments:
        """Return the moments of all features that were ever chosen."""
        start = self.start
        gram = self._gram_columns(features)[:, features]
        gram = 0.5 * (gram + gram.T)
        gram[np.diag_indices(len(features))] = start.diagonal[features]
        return Moments(
            tuple(features),
            gram,
            start.correlation[:, features].T.copy(),
            start.means[features],
            start.target_means.copy(),
        )
