"""The state of a search: the two spaces and the Gram columns between them, moved together."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._features import FeatureSpace
from ._gram import GramColumns, Ranking
from ._kernels import Float
from ._problem import Problem, report_non_finite
from ._samples import RowBlock, SampleSpace, SampleStatistics, Scores

# A pivot further than this (relative to A_bb) from its value in the data means that the
# recurrences have drifted: feature space is then rebuilt from the chosen features.
DRIFT_BOUND = 1e-10


class NumericalLimit(ArithmeticError):
    """The penalty is lost in the rounding of the data: no further step can be computed."""


class Pivot(NamedTuple):
    """A candidate as measured in the data."""

    delta: float
    rho: Float  # (t)
    norm: float  # ‖z‖²
    inner: Float  # (t) r·z
    mixed: Float  # (t) Σ r² z²
    fourth: float  # Σ z⁴

    @classmethod
    def from_scores(cls, scores: Scores, place: int) -> Pivot:
        """One of the candidates that were scored."""
        return cls(
            float(scores.delta[place]),
            scores.rho[:, place],
            float(scores.norms[place]),
            scores.correlations[:, place],
            scores.mixed[:, place],
            float(scores.fourth[place]),
        )


class SelectionState:
    """Everything that changes during a search."""

    def __init__(self, problem: Problem, capacity: int, block_rows: int | None = None) -> None:
        self.problem = problem
        self.samples = SampleSpace(_memory_blocks(problem, block_rows))
        with np.errstate(over="ignore", invalid="ignore"):
            self.start = self.samples.start(problem.fit_intercept)
            if not np.isfinite(self.start.diagonal).all():
                report_non_finite(problem)
        self.features = FeatureSpace(
            self.start.diagonal, self.start.correlation, problem.penalty, capacity
        )
        self.gram = GramColumns(self.samples, capacity)
        # −inf for candidates, +inf for features that are chosen or excluded: a floor of bounds.
        self.barred = np.full(problem.n_features, -np.inf)
        self.barred[list(problem.excluded)] = np.inf
        self.rebuilds = 0
        self.largest_drift = 0.0
        self._constant = np.flatnonzero(self.start.diagonal == 0.0)
        with np.errstate(all="ignore"):
            self.statistics = self.samples.statistics()
        _check_start(problem, self.statistics)
        weights = problem.weights
        self._weight_squares = (
            float(problem.n_samples) if weights is None else float(weights @ weights)
        )
        self._n_weighted = problem.n_samples if weights is None else int(np.count_nonzero(weights))
        self.target_energy = float(self.statistics.r_r.sum())

    @property
    def size(self) -> int:
        """How many features are chosen."""
        return self.features.size

    @property
    def candidates(self) -> NDArray[np.intp]:
        """Features that may be added."""
        return np.flatnonzero(self.barred < 0.0)

    def mean_loss(self, total: float) -> float:
        """From a sum over rows and targets to the weighted mean over both."""
        return float(total / (self.start.total_weight * self.problem.Y.shape[1]))

    @property
    def loss(self) -> float:
        """Leave-one-out loss of the current model."""
        return self.mean_loss(self.loss_sum)

    @property
    def loss_sum(self) -> float:
        """The same as a sum over rows and targets."""
        return float(self.statistics.g_r.sum())

    @property
    def standard_error(self) -> float:
        """Of the loss as a weighted mean over samples."""
        known, mean, n = self.statistics, self.loss, self._n_weighted
        squares = (
            known.loss_squares
            - 2.0 * mean * known.loss_weights
            + mean * mean * self._weight_squares
        )
        return math.sqrt(max(squares, 0.0) * n / (n - 1)) / self.start.total_weight

    def measure(self, index: int) -> Pivot:
        """One candidate in the data."""
        order = np.array([index])
        return Pivot.from_scores(self.score(order), 0)

    def score(self, indices: NDArray[np.intp]) -> Scores:
        """Candidates scored exactly; what was seen of them sharpens their later bounds."""
        scores = self.samples.score(indices, *self.features.coefficients(indices))
        self.features.remember_spread(indices, scores.mixed, scores.fourth)
        return scores

    def add(self, index: int, pivot: Pivot, ranking: Ranking, remaining: int) -> None:
        """Add a feature to the model; `ranking` names the likely next ones, for prefetching."""
        column = self.gram.take(index, ranking, remaining)
        if len(self._constant):
            column[self._constant] = 0.0  # a constant column has no products, only rounding
        beta = None
        if not self.samples.remembers(index):
            beta = self.features.coefficients(np.array([index])).beta
        along = self.features.anchor_along(index, pivot.norm)
        self.samples.advance(index, beta, pivot.delta, pivot.rho, along)
        drift = self.features.add(index, column, *pivot)
        self.barred[index] = np.inf
        self.largest_drift = max(self.largest_drift, drift)
        if drift > DRIFT_BOUND:
            self.rebuild()
        self.statistics = self.samples.statistics()

    def set_anchor(self, columns: list[int]) -> None:
        """Compute X'g, g = ω∘r, by a pass over X, for this step's bounds and those to come.

        The pass also fetches the Gram columns of some features.
        """
        products = self.samples.products(columns, new_anchor=True)
        self.gram.keep(columns, products[: len(columns)])
        self.features.set_anchor(products[len(columns) :])
        known = self.statistics
        self.statistics = known._replace(a_r=known.g_r, a_g=known.g_g, a_a=known.g_g)

    def rebuild(self) -> None:
        """Feature space anew from the chosen set: one pass over the data."""
        self.rebuilds += 1
        try:
            self.features.rebuild(self.samples.products(self.features.selected))
        except np.linalg.LinAlgError as error:
            raise NumericalLimit("the chosen features are dependent up to rounding") from error


def _check_start(problem: Problem, known: SampleStatistics) -> None:
    """Errors for numbers too large to compute a loss and its standard error from."""
    if math.isfinite(known.loss_squares) and np.isfinite(known.g_g).all():
        return
    weights = problem.weights
    if weights is not None and problem.fit_intercept and weights.max() >= weights.sum() - 1e-16:
        row = int(weights.argmax())
        raise ValueError(
            f"sample_weight of row {row}, {float(weights[row])!r}, dwarfs all others: nothing is "
            "left of them when it is left out. Use weights closer to each other."
        )
    raise ValueError(
        "y has values so large that their fourth powers overflow float64 (over about 1e77); "
        "rescale it."
    )


def _memory_blocks(problem: Problem, block_rows: int | None) -> list[RowBlock]:
    """X in memory, cut into row blocks (views, no copies)."""
    m = problem.n_samples
    height = m if block_rows is None else max(1, min(m, block_rows))
    return [
        RowBlock.from_rows(
            problem.X[top : top + height],
            problem.Y[top : top + height],
            None if problem.weights is None else problem.weights[top : top + height],
        )
        for top in range(0, m, height)
    ]
