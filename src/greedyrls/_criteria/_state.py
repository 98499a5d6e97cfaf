"""The state of a search: the two spaces and the Gram columns between them, updated together."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .._base import (
    HOST,
    REFINED_PIVOT,
    SMALLEST_D,
    Float,
    numbers_on,
    put,
    take,
    to_host,
    true_indices,
)
from .._features import (
    FeatureSpace,
    GroupPairs,
    Pivot,
    Ranking,
    follow_spread,
    penalty_of,
    rebuild,
)
from .._rows import BoundTerms, chosen_products
from ..path import Moments
from ._choice import NumericalLimit
from ._entries import bar_spanned
from ._loo_data import LooData, total_of
from ._samples import Lowest, Scores
from ._set_moves import SetMoves

# A pivot further than this (relative to A_bb) from its value in the data means that the
# recurrences have drifted: feature space is then rebuilt from the chosen features.
DRIFT_BOUND = 1e-10


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


class SelectionState(SetMoves):
    """The state of a leave-one-out search with squared loss."""

    def __init__(self, data: LooData, alpha: float, capacity: int) -> None:
        self.data = data
        self.problem = problem = data.problem
        self.samples = data.samples.fork(capacity)
        self.start = data.start
        self.gram = data.gram
        # −inf for candidates, +inf for features that are chosen or excluded: a floor of bounds.
        self.layout = data.layout
        self.barred = data.samples.feature_location.full(problem.n_features, -np.inf)
        put(self.barred, np.array(problem.excluded, dtype=np.intp), np.inf)
        put(self.barred, self.layout.others, np.inf)
        self.features = _feature_space(data, alpha, capacity, self.barred)
        if problem.n_samples >= data.samples.spread_rows:
            follow_spread(self.features)
        self.is_spanned = False  # whether nothing is left of any candidate
        self.bar_spanned()
        self.rebuilds = 0
        self.largest_drift = 0.0
        self._constant = data.constant
        self.statistics = data.statistics
        self.target_energy = data.statistics.r_r
        self._passes_before = data.samples.passes
        # X'x_b of features that were chosen, where the search may move to any set of them.
        self._columns: dict[int, Float] | None = None

    @property
    def passes(self) -> int:
        """The number of passes over the data; the first search counts the pass all start from."""
        return self.samples.passes + self.data.samples.passes - self._passes_before

    @property
    def exact_evaluations(self) -> int:
        """The number of times a candidate's loss was computed on the rows."""
        return self.samples.exact_evaluations

    def moments(self) -> Moments:
        """Return the moments of the chosen features and the targets."""
        start = self.start
        if self._columns is not None:
            return self._all_moments(list(self._columns))
        selected = self.features.selected
        chosen = numbers_on(self.features.location, np.array(selected, dtype=np.intp))
        correlation, means = to_host(take(start.correlation, chosen), take(start.means, chosen))
        return Moments(
            tuple(selected),
            self.features.gram.copy(),
            correlation.T.copy(),
            means,
            start.target_means.copy(),
            self.features.penalty.matrix(),
        )

    @property
    def selected(self) -> list[int]:
        """The chosen features in the order of choice."""
        return self.features.selected

    @property
    def loss_sum(self) -> float:
        """The leave-one-out loss of the current model as a sum over rows and targets."""
        return total_of(self.statistics.g_r)

    def mean_loss(self, total: float) -> float:
        """Convert a sum over rows and targets to the weighted mean over both."""
        return float(total / (self.start.total_weight * self.problem.n_targets))

    @property
    def size(self) -> int:
        """The number of chosen features."""
        return self.features.size

    @property
    def candidates(self) -> NDArray[np.intp]:
        """The features that may be added."""
        return true_indices(self.barred < 0.0)

    @property
    def loss(self) -> float:
        """Leave-one-out loss of the current model."""
        return self.mean_loss(self.loss_sum)

    @property
    def standard_error(self) -> float:
        """Standard error of the loss as a weighted mean over samples."""
        return self.data.loss_and_error(self.statistics)[1]

    @property
    def fold_losses(self) -> Float | None:
        """None, since leave-one-out has no splits."""
        return None

    def measure(self, index: int) -> Pivot:
        """Measure one candidate in the data."""
        return pivot_of(self.score(np.array([index])), 0)

    def score(self, indices: NDArray[np.intp]) -> Scores:
        """Score candidates exactly; the spread of their z sharpens later bounds."""
        parts = []
        X = self.problem.X
        X.fetch(indices.tolist())  # in one pass, rather than one for each group
        for first in range(0, len(indices), self.samples.group):
            chunk = indices[first : first + self.samples.group]
            spread = self.features.spread
            terms = self.features.coefficients(chunk)
            scores = self.samples.score(chunk, *terms, spread is not None)
            if spread is not None:
                spread.remember(chunk, scores.mixed, scores.fourth)
            parts.append(scores)
        if len(parts) == 1:
            return parts[0]
        return Scores(*(np.concatenate(arrays, axis=-1) for arrays in zip(*parts, strict=True)))

    def score_lowest(self, terms: Callable[[], BoundTerms], count: int) -> Lowest | None:
        """Return the candidates of lowest bound with their scores; None if not possible."""
        if self.problem.n_available - self.size <= count:
            return None
        return self.samples.score_lowest(self.features, terms, count)

    def add(self, index: int, pivot: Pivot, ranking: Ranking, remaining: int) -> None:
        """Add a feature to the model; `ranking` names the likely next ones, for prefetching."""
        if self._columns is not None and index in self._columns:  # it was chosen before
            column = self._columns[index].copy()
        else:
            column = self.gram.take(index, ranking, remaining)
        if len(self._constant):
            put(column, self._constant, 0.0)  # a constant column has no products, only rounding
        beta = self.features.beta(index)
        if self.size and pivot.delta < REFINED_PIVOT * self.features.pivot_scale(index):
            beta, pivot = _refined(self, index, beta)
        self._move(index, beta, pivot, self.features.anchor_along(index, pivot.norm))
        drift = self.features.add(index, column, beta, pivot)
        if self._columns is not None:
            self._columns[index] = column.copy()
        self.barred[index] = np.inf
        self.largest_drift = max(self.largest_drift, drift)
        if drift > DRIFT_BOUND:
            self.rebuild()
        self.bar_spanned()
        self.statistics = self.samples.statistics()
        if self.statistics.smallest_d < SMALLEST_D:
            raise NumericalLimit("a sample's leverage is 1 up to rounding")

    def _move(self, index: int, beta: Float, pivot: Pivot, along: Float | None) -> None:
        """Update the rows for a step; along (t) is what an anchor loses."""
        self.samples.advance(index, beta[:, None], pivot.delta, pivot.rho, along)

    def bar_spanned(self) -> None:
        """Features that the chosen ones span are no candidates from now on."""
        spanned = self.features.penalty.spanned(self.features.delta, self.features.scale)
        self.is_spanned = bar_spanned(self, spanned)

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
            put(columns, self._constant, 0.0)
            rebuild(self.features, columns)
        except np.linalg.LinAlgError as error:
            raise NumericalLimit("the chosen features are dependent up to rounding") from error


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
