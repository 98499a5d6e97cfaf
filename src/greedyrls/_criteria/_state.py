"""The state of a search: the two spaces and the Gram columns between them, moved together."""

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
from .._features import FeatureSpace, GroupSpace, KernelSpace, Pivot, Ranking
from .._rows import BoundTerms
from ..path import Moments
from ._choice import NumericalLimit, best_first
from ._loo_data import LooData
from ._samples import Lowest, Scores
from ._set_moves import SetMoves

# A pivot further than this (relative to A_bb) from its value in the data means that the
# recurrences have drifted: feature space is then rebuilt from the chosen features.
DRIFT_BOUND = 1e-10
# Columns of the likeliest candidates that a pass over a file brings along.
_ALONG = 96


def pivot_of(scores: Scores, place: int) -> Pivot:
    """One of the candidates that were scored."""
    return Pivot(
        float(scores.delta[place]),
        scores.rho[:, place],
        float(scores.norms[place]),
        scores.correlations[:, place],
        scores.mixed[:, place],
        float(scores.fourth[place]),
    )


class SelectionState(SetMoves):
    """Everything that changes during a search."""

    def __init__(self, data: LooData, alpha: float, capacity: int) -> None:
        self.data = data
        self.problem = problem = data.problem
        self.samples = data.samples.fork(capacity)
        self.start = data.start
        self.gram = data.gram
        # −inf for candidates, +inf for features that are chosen or excluded: a floor of bounds.
        self.barred = data.samples.feature_location.full(problem.n_features, -np.inf)
        put(self.barred, np.array(problem.excluded, dtype=np.intp), np.inf)
        self.features = _feature_space(data, alpha, capacity, self.barred)
        self.features.follows_spread = problem.n_samples >= data.samples.spread_rows
        self.is_spanned = False  # whether nothing is left of any candidate
        self._bar_spanned()
        self.rebuilds = 0
        self.largest_drift = 0.0
        self._constant = data.constant
        self.statistics = data.statistics
        self.target_energy = data.statistics.r_r
        self._passes_before = data.samples.passes
        # X'x_b of features that were chosen, where the search may go to any set of them.
        self._columns: dict[int, Float] | None = None

    @property
    def passes(self) -> int:
        """Over the data; the pass that all searches start from is the first one's."""
        return self.samples.passes + self.data.samples.passes - self._passes_before

    @property
    def exact_evaluations(self) -> int:
        """How often a candidate's loss was computed on the rows."""
        return self.samples.exact_evaluations

    def moments(self) -> Moments:
        """Of the chosen features and the targets."""
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
            self.features.penalty_matrix(),
        )

    @property
    def size(self) -> int:
        """How many features are chosen."""
        return self.features.size

    @property
    def candidates(self) -> NDArray[np.intp]:
        """Features that may be added."""
        return true_indices(self.barred < 0.0)

    @property
    def loss(self) -> float:
        """Leave-one-out loss of the current model."""
        return self.mean_loss(self.loss_sum)

    @property
    def standard_error(self) -> float:
        """Of the loss as a weighted mean over samples."""
        return self.data.loss_and_error(self.statistics)[1]

    @property
    def fold_losses(self) -> Float | None:
        """There are no splits."""
        return None

    def measure(self, index: int) -> Pivot:
        """One candidate in the data."""
        return pivot_of(self.score(np.array([index])), 0)

    def score(self, indices: NDArray[np.intp]) -> Scores:
        """Candidates scored exactly; what was seen of them sharpens their later bounds."""
        parts = []
        X = self.problem.X
        X.fetch(indices.tolist())  # in one pass, rather than one for each group
        for first in range(0, len(indices), self.samples.group):
            some = indices[first : first + self.samples.group]
            follows = self.features.follows_spread
            scores = self.samples.score(some, *self.features.coefficients(some), follows)
            if follows:
                self.features.remember_spread(some, scores.mixed, scores.fourth)
            parts.append(scores)
        if len(parts) == 1:
            return parts[0]
        return Scores(*(np.concatenate(arrays, axis=-1) for arrays in zip(*parts, strict=True)))

    def score_lowest(self, terms: Callable[[], BoundTerms], count: int) -> Lowest | None:
        """The candidates of lowest bound, scored, where rows and features find them together."""
        if self.problem.n_available - self.size <= count:
            return None
        return self.samples.score_lowest(self.features, terms, count)

    def lacks(self, indices: NDArray[np.intp]) -> bool:
        """Whether the columns of some candidates would cost a pass."""
        return bool(self.problem.X.missing(indices.tolist()))

    def fetch_ahead(self, indices: NDArray[np.intp], ranking: Ranking, remaining: int) -> None:
        """Where columns cost a pass: those of features that will be added, with their Gram."""
        X = self.problem.X
        if self.lacks(indices):
            columns = self.gram.batch(ranking, remaining, int(indices[0]))
            X.take_along(indices.tolist())
            self.gram.keep(columns, self.samples.products(columns))

    def wish(self, bounds: Float) -> None:
        """Have the next pass bring the columns of the likeliest candidates for little more."""
        X = self.problem.X
        if X.passes_dominate:
            X.prefetch(X.missing(best_first(bounds, X.n_kept + _ALONG))[:_ALONG])

    def add(self, index: int, pivot: Pivot, ranking: Ranking, remaining: int) -> None:
        """Add a feature to the model; `ranking` names the likely next ones, for prefetching."""
        column = self._known_column(index)
        if column is None:
            column = self.gram.take(index, ranking, remaining)
        if len(self._constant):
            put(column, self._constant, 0.0)  # a constant column has no products, only rounding
        beta = self.features.beta(index)
        if self.size and pivot.delta < REFINED_PIVOT * self.features.pivot_scale(index):
            beta, pivot = self._refined(index, beta)
        self._move(index, beta, pivot, self.features.anchor_along(index, pivot.norm))
        drift = self.features.add(index, column, beta, pivot)
        if self._columns is not None:
            self._columns[index] = column.copy()
        self.barred[index] = np.inf
        self.largest_drift = max(self.largest_drift, drift)
        if drift > DRIFT_BOUND:
            self.rebuild()
        self._bar_spanned()
        self.statistics = self.samples.statistics()
        if self.statistics.smallest_d < SMALLEST_D:
            raise NumericalLimit("a sample's leverage is 1 up to rounding")

    def _move(self, index: int, beta: Float, pivot: Pivot, along: Float | None) -> None:
        """The rows after a step; along (t) is what the anchor loses, if there is one."""
        self.samples.advance(index, beta[:, None], pivot.delta, pivot.rho, along)

    def _bar_spanned(self) -> None:
        """Features that the chosen ones span are no candidates from now on."""
        spanned = self.features.spanned()
        if spanned is not None:
            self.barred[spanned] = np.inf
            self.is_spanned = not (self.barred < 0.0).any()

    def _refined(self, index: int, beta: Float) -> tuple[Float, Pivot]:
        """β corrected by what X_S'z and Pβ differ by, and the feature measured with it.

        A feature that the chosen ones nearly span has a z that is mostly the error of β, and r, h
        and w would keep that error for good.
        """
        order = np.array([index])
        for _ in range(2):
            products = self.samples.chosen_products(index, beta[:, None])
            beta = self.features.corrected(index, beta, products)
            self.samples.forget()
            scores = self.samples.score(order, *self.features.terms(order, beta[:, None]), True)
        return beta, pivot_of(scores, 0)

    def set_anchor(self, columns: list[int]) -> None:
        """Compute X'g, g = ω∘r, by a pass over X, for this step's bounds and those to come.

        The pass also fetches the Gram columns of some features.
        """
        products = self.samples.products(columns, new_anchor=True)
        self.gram.keep(columns, products[: len(columns), :])
        self.features.set_anchor(products[len(columns) :, :])
        known = self.statistics
        self.statistics = known._replace(a_r=known.g_r, a_g=known.g_g, a_a=known.g_g)

    def rebuild(self) -> None:
        """Feature space anew from the chosen set: one pass over the data."""
        self.rebuilds += 1
        try:
            columns = self.samples.products(self.features.selected)
            put(columns, self._constant, 0.0)
            self.features.rebuild(columns)
        except np.linalg.LinAlgError as error:
            raise NumericalLimit("the chosen features are dependent up to rounding") from error


def _feature_space(data: LooData, alpha: float, capacity: int, barred: Float) -> FeatureSpace:
    """At the empty model; the penalty of kernel centres is that of their functions."""
    start, X = data.start, data.problem.X
    if X.centers is not None:
        return KernelSpace(start.diagonal, start.correlation, X.centers, alpha, capacity)
    known = start.diagonal, start.correlation, np.full(data.problem.n_features, alpha)
    if data.samples.feature_location is not HOST:
        from .._features import DeviceFeatures  # which loads all that devices need

        return DeviceFeatures(*known, capacity, barred)
    if data.layout is None:
        return FeatureSpace(*known, capacity)
    return GroupSpace(*known, capacity, data.layout, data.pairs)
