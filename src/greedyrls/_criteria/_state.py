"""The state of a search: the two spaces and the Gram columns between them, updated together."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from .._base import (
    FAR_ROUNDING,
    HOST,
    KNOWN_LOSS,
    REFINED_PIVOT,
    SMALLEST_D,
    Z_ROUNDING,
    Float,
    batches,
    put,
    to_host,
)
from .._features import (
    FeatureSpace,
    GroupPairs,
    Pivot,
    Ranking,
    extend_model,
    follow_spread,
    inverse_pivots,
    move_to,
    note_model,
    penalty_of,
    rebuild,
)
from .._features import removal_squares as removal_norms
from .._problem import Loss, make_loss
from .._rows import (
    Removals,
    at_set,
    chosen_products,
    factor_sums,
    removal_squares,
    with_rows,
    without,
)
from ._choice import NumericalLimit
from ._loo_data import LooData, total_of
from ._samples import SampleSpace, Scores
from ._search_state import (
    Held,
    SearchState,
    SetColumns,
    inverse_of,
    mean_losses,
    removals_of,
)

# Safety of the bounds against rounding, relative to the loss of the current model.
MARGIN = 1e-9
# A pivot further than this (relative to A_bb) from its value in the data means that the
# recurrences have drifted: feature space is then rebuilt from the chosen features.
DRIFT_BOUND = 1e-10
# Elements of all chosen columns up to which every removal is scored: bounds would take as long.
_LITTLE = 1 << 15
# Removals that may update r and d before these are computed from scratch.
_MOST_UPDATES = 8


def pivot_of(scores: Scores, position: int) -> Pivot:
    """Return the pivot of a scored candidate."""
    return Pivot(
        float(scores.delta[position]),
        scores.rho[:, position],
        float(scores.norms[position]),
        scores.correlations[:, position],
        scores.mixed[:, position],
        float(scores.fourth[position]),
    )


class SelectionState(SearchState):
    """The state of a search with one model of all rows: leave-one-out with squared loss."""

    data: LooData
    features: FeatureSpace
    samples: SampleSpace
    fold_losses: Float | None = None  # leave-one-out has no splits
    # Whether compiled steps look at the losses of folds, before they go on from a model.
    checks_losses_of_folds = False

    def __init__(
        self, data: LooData, alpha: float, capacity: int, loss: Loss | None = None
    ) -> None:
        super().__init__(data, data.samples.fork(capacity), loss or make_loss("squared"))
        self.features = _feature_space(data, alpha, capacity, self.barred)
        if self.problem.n_samples >= self.samples.spread_rows:
            follow_spread(self.features)
        self._columns = SetColumns(data.gram, data.centred, (self.problem.n_features,))
        self.bar_spanned()
        self.largest_drift = 0.0
        self.n_updates = 0  # removals since r and d were computed from scratch
        self.statistics = data.statistics
        self.target_energy = data.statistics.r_r
        self.loss_weight = self.start.total_weight * self.problem.n_targets

    @property
    def loss_sum(self) -> float:
        """The leave-one-out loss of the current model as a sum over rows and targets."""
        return total_of(self.statistics.g_r)

    def mean_loss(self, total: float) -> float:
        """Convert a sum over rows and targets to the weighted mean over both."""
        return float(total / self.loss_weight)

    @property
    def loss(self) -> float:
        """Leave-one-out loss of the current model."""
        return self.mean_loss(self.loss_sum)

    @property
    def standard_error(self) -> float:
        """Standard error of the loss as a weighted mean over samples."""
        return self.data.loss_and_error(self.statistics)[1]

    def measure(self, index: int) -> Pivot:
        """Measure one candidate in the data."""
        return pivot_of(self.score(np.array([index])), 0)

    def score(self, indices: NDArray[np.intp]) -> Scores:
        """Score candidates exactly; the spread of their z sharpens later bounds."""
        parts = []
        X = self.problem.X
        X.fetch(indices.tolist())  # in one pass, rather than one for each group
        for chunk in batches(indices, self.samples.group):
            spread = self.features.spread
            terms = self.features.coefficients(chunk)
            scores = self.samples.score(chunk, *terms, spread is not None)
            if spread is not None:
                spread.remember(chunk, scores.mixed, scores.fourth)
            parts.append(scores)
        if len(parts) == 1:
            return parts[0]
        return Scores(*(np.concatenate(arrays, axis=-1) for arrays in zip(*parts, strict=True)))

    def add(self, index: int, pivot: Pivot, ranking: Ranking, remaining: int) -> None:
        """Add a feature to the model; `ranking` names the likely next ones, for prefetching."""
        column = self._columns.take(index, ranking, remaining)
        beta = self.features.beta(index)
        if self.size and pivot.delta < REFINED_PIVOT * self.features.pivot_scale(index):
            beta, pivot = _refined(self, index, beta)
        self._move(index, beta, pivot, self.features.anchor_along(index, pivot.norm))
        drift = self.features.add(index, column, beta, pivot)
        self.barred[index] = np.inf
        self.largest_drift = max(self.largest_drift, drift)
        if drift > DRIFT_BOUND:
            self.rebuild()
        self.bar_spanned()
        self._measure()

    def _measure(self) -> None:
        self.statistics = self.samples.statistics()
        if self.statistics.smallest_d < SMALLEST_D:
            raise NumericalLimit("a sample's leverage is 1 up to rounding")

    def _move(self, index: int, beta: Float, pivot: Pivot, along: Float | None) -> None:
        """Update the rows for a step; along (t) is what an anchor loses."""
        self.samples.advance(index, beta[:, None], pivot.delta, pivot.rho, along)

    @property
    def _chosen_gram(self) -> Float:
        return self.features.gram

    def set_anchor(self, columns: list[int]) -> None:
        """Compute X'g, g = ω∘r, by a pass over X, for the bounds of this and later steps.

        The pass also fetches the Gram columns of `columns`.
        """
        products = self.samples.products(columns, new_anchor=True)
        self.gram.keep(columns, products[: len(columns), :])
        self.features.set_anchor(products[len(columns) :, :])
        g_r, g_g = self.statistics.g_r, self.statistics.g_g
        self.statistics = self.statistics._replace(a_r=g_r, a_g=g_g, a_a=g_g)

    def rebuild(self) -> None:
        """Rebuild feature space from the chosen set in one pass over the data."""
        self.rebuilds += 1
        try:
            columns = self.samples.products(self.features.selected)
            put(columns, self.data.constant, 0.0)
            rebuild(self.features, self.selected, columns)
        except np.linalg.LinAlgError as error:
            raise NumericalLimit("the chosen features are dependent up to rounding") from error

    def held(self) -> Held | None:
        """The set as it is, for `move_to` sets that have one feature less."""
        if not self.layout.is_single:
            return None
        selected = self.features.selected
        removals = Removals(*self.features.model.removals(np.arange(len(selected))))
        return Held(tuple(selected), self.samples.blocks, removals, self.n_updates)

    def _factor_sums(self, order: list[int], inverse: Float, split: int = 0) -> Float:
        question = partial(factor_sums, features=tuple(order), inverse=inverse)
        sums: Float = self.data.samples.total(question).values
        return sums

    def _place(self, order: list[int], columns: Float, inverse: Float, held: Held | None) -> None:
        move_to(self.features, order, columns, inverse)
        removal = None if held is None else _accurate_removal(self, order, held)
        if held is not None and removal is not None:
            self.n_updates = held.n_updates + 1
            question = partial(without, features=tuple(order), removals=removal)
            self.samples.move_to(held.blocks, question)
        else:
            self.n_updates = 0
            steps = inverse @ self.start.correlation[:, order].T
            question = partial(
                at_set, features=tuple(order), inverse=inverse, steps=steps, kept=order
            )
            self.samples.move_to(self.data.samples.blocks, question)

    @property
    def _largest_d(self) -> float:
        """The largest d of the empty model, which no d exceeds."""
        return self.data.statistics.largest_d

    def removal_bounds(self) -> Float | None:
        """Return lower bounds of the losses without each chosen feature, (|S|), if they help."""
        return super().removal_bounds() if self.size * self.problem.n_samples > _LITTLE else None

    def _least_without(self) -> Float:
        squares = removal_norms(self.features, self.statistics.r_r).sum(axis=0)
        bounds: Float = squares / (self._largest_d**2 * self.loss_weight) - MARGIN * self.loss
        return bounds

    def removal_losses(self, positions: NDArray[np.intp]) -> tuple[Float, Float]:
        """Exact losses without some of the chosen features, and the tolerances of ties."""
        question = partial(removal_squares, removals=removals_of(self, positions))
        return mean_losses(self, self.samples.total(question).values)


def place_noted(state: SelectionState, r: Float, d: Float, is_one_more: bool) -> None:
    """Let the model and its rows follow a set that a stepper noted; candidates do not.

    It may have one feature more than the set before.
    """
    order = state.features.selected
    if not (is_one_more and extend_model(state.features)):
        note_model(state.features, inverse_of(state, order, state.features.gram))
    question = partial(with_rows, features=tuple(order), r=r, d=d)
    state.samples.move_to(state.data.samples.blocks, question)
    state.n_updates = 0


def _accurate_removal(state: SelectionState, order: list[int], held: Held) -> Removals | None:
    """The removal that leads from a held set to this one, if r and d keep their digits."""
    (index,) = set(held.selected).difference(order)
    removal = held.removal_of(index)
    is_lost = removal.delta[0] < REFINED_PIVOT * state.features.pivot_scale(index)
    return None if is_lost or held.n_updates >= _MOST_UPDATES else removal


def _refined(state: SelectionState, index: int, beta: Float) -> tuple[Float, Pivot]:
    """Refine β by the difference of X_S'z and Pβ, and measure the feature again.

    If the chosen features nearly span a feature, its z is mostly the error of β, and r, h and w
    would keep that error.
    """
    samples, features, order = state.samples, state.features, np.array([index])
    for _ in range(2):
        pieces = samples.pieces(index, beta[:, None])
        (products,) = to_host(samples.total(chosen_products, pieces).values)  # X_S'z
        wrong = products - features.penalty.pulled(index, beta)
        beta = features.model.corrected(beta, wrong)
        samples.forget()
        scores = samples.score(order, *features.terms(order, beta[:, None]), True)
    return beta, pivot_of(scores, 0)


def _feature_space(data: LooData, alpha: float, capacity: int, barred: Float) -> FeatureSpace:
    """Return feature space at the empty model, for the kind of data and penalty."""
    start, penalty = data.start, penalty_of(data.problem.X, alpha, capacity)
    arguments = start.diagonal, start.correlation, penalty
    if data.samples.feature_location is not HOST:
        from .._features import DeviceFeatures  # which loads all that devices need

        return DeviceFeatures(*arguments, capacity, barred)
    pairs = None if data.layout.is_single else GroupPairs(data.layout, data.pairs, data.pairs)
    return FeatureSpace(*arguments, capacity, pairs)


def is_loss_known(state: SelectionState) -> bool:
    """Whether the loss is known to `KNOWN_LOSS`, as compiled code estimates it as well.

    z of a feature is known to `Z_ROUNDING` of its length, and so are r, relative to y, and d:
    e = r/d is then known to as much of (|y| + |e|)/d.
    """
    if state.checks_losses_of_folds:
        return True
    statistics, space = state.statistics, state.features
    total = state.loss_sum
    known = np.sqrt(total_of(state.target_energy)) + np.sqrt(total)
    means = state.start.means[state.selected]
    scales = space.scale[state.selected]
    scales = scales + FAR_ROUNDING * state.start.total_weight * np.square(means)
    growth = np.max(scales * inverse_pivots(space), initial=1.0)
    rounding = Z_ROUNDING * np.sqrt(growth * total_of(statistics.g_g)) * known
    return bool(rounding <= KNOWN_LOSS * max(total, total_of(state.data.statistics.g_r)))
