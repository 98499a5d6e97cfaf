"""The state of a search: the two spaces and the Gram columns between them, updated together."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import (
    REFINED_PIVOT,
    SMALLEST_D,
    TIE,
    TIE_ROUNDING,
    Float,
    address_of,
    numbers_on,
    put,
    take,
    to_host,
    true_indices,
)
from .._features import FeatureSpace, GroupSpace, KernelSpace, Pivot, Ranking
from .._rows import BoundTerms
from ..path import Moments
from ._choice import NumericalLimit
from ._loo_data import LooData
from ._samples import Scores
from ._set_moves import MARGIN, SetMoves
from ._speculation import Doubts, Speculation, Start, Taken

# A pivot further than this (relative to A_bb) from its value in the data means that the
# recurrences have drifted: feature space is then rebuilt from the chosen features.
DRIFT_BOUND = 1e-10
# The bounds of the spread of z over the rows lose about 6/√m of their value at every step: with
# fewer rows than this they are useless.
_SPREAD_ROWS = 4096
# On a device updating them takes as long as scoring the candidates that they would rule out.
_DEVICE_SPREAD_ROWS = 1 << 16
# Columns of the likeliest candidates that a pass over a file prefetches.
_ALONG = 96
# The most steps on the host until speculation is tried again.
_LONGEST_BACKOFF = 15


class Speculated(NamedTuple):
    """Candidates that the device has found and scored."""

    indices: NDArray[np.intp]
    scores: Scores
    beyond: float  # no other candidate has a lower bound


def _doubts() -> Doubts:
    """Return the limits beyond which a step is not left to a device."""
    return Doubts(TIE, TIE_ROUNDING, MARGIN, REFINED_PIVOT, DRIFT_BOUND, SMALLEST_D)


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
        self.features = _feature_space(data, alpha, capacity)
        fewest = _DEVICE_SPREAD_ROWS if data.problem.X.on_device else _SPREAD_ROWS
        self.features.follows_spread = problem.n_samples >= fewest
        self.gram = data.gram
        # −inf for candidates, +inf for features that are chosen or excluded: a floor of bounds.
        self.layout = data.layout
        self.barred = data.samples.feature_location.full(problem.n_features, -np.inf)
        put(self.barred, np.array(problem.excluded, dtype=np.intp), np.inf)
        put(self.barred, self.layout.others, np.inf)
        self.is_spanned = False  # whether nothing is left of any candidate
        self.bar_spanned()
        self.features.barred = self.barred
        self.rebuilds = 0
        self.largest_drift = 0.0
        self._constant = data.constant
        self.statistics = data.statistics
        self.target_energy = data.statistics.r_r
        self._passes_before = data.samples.passes
        # X'x_b of features that were chosen, where the search may move to any set of them.
        self._columns: dict[int, Float] | None = None
        # Steps that a device takes by itself, the backoff until they are tried again, and the
        # addresses of Gram columns.
        self._speculation: Speculation | None = None
        self._taken = self._pause = self._backoff = self._farthest = 0
        self._addresses: Float | None = None
        self._version = -1

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
            self.features.penalty_matrix(),
        )

    @property
    def size(self) -> int:
        """The number of chosen features."""
        return self.features.size

    @property
    def candidates(self) -> NDArray[np.intp]:
        """The features that may be added."""
        return true_indices(self.barred < 0.0)

    def columns_of(self, candidates: list[int]) -> list[int]:
        """The columns of some candidates."""
        if self.layout.is_single:
            return candidates
        columns: list[int] = self.layout.columns(np.array(candidates, dtype=np.intp)).tolist()
        return columns

    @property
    def n_open_columns(self) -> int:
        """How many columns all candidates have."""
        if self.layout.is_single:
            return self.problem.n_available - self.size
        return int(self.layout.widths(self.candidates).sum())

    @property
    def mean_width(self) -> int:
        """How many columns a candidate has, roughly."""
        if self.layout.is_single:
            return 1
        return max(1, self.problem.n_features // len(self.layout.groups))

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
            follows = self.features.follows_spread
            scores = self.samples.score(chunk, *self.features.coefficients(chunk), follows)
            if follows:
                self.features.remember_spread(chunk, scores.mixed, scores.fourth)
            parts.append(scores)
        if len(parts) == 1:
            return parts[0]
        return Scores(*(np.concatenate(arrays, axis=-1) for arrays in zip(*parts, strict=True)))

    def take_speculative_steps(
        self, terms: Callable[[SelectionState], BoundTerms], c: int, last: int
    ) -> Taken | None:
        """Return the next step if the device takes it by itself, from rounds of c candidates.

        None if it is left to the host; no step leads beyond `last` features.
        """
        speculation = self._speculation
        if speculation is None:
            speculation = self._begin_speculation(terms, c, last)
        if speculation is None:
            return None
        last = min(last, self._farthest)
        taken = speculation.taken(self.size, last)
        if taken is None:
            self._settle_speculation(speculation)
        else:
            self._taken += 1
            self.samples.exact_evaluations += c
        return taken

    def _begin_speculation(
        self, terms: Callable[[SelectionState], BoundTerms], c: int, last: int
    ) -> Speculation | None:
        """Start speculative steps from the current model; None if they would likely fail."""
        kernels = self.features.fused
        if kernels is None or len(self._constant) or not len(self.gram.waiting):
            return None
        if self._pause:
            self._pause -= 1
            return None
        speculation = self.samples.speculation(kernels, c, _doubts())
        if speculation is None or kernels.has_anchor != speculation.has_anchor:
            return None
        self._farthest = min(
            self.problem.n_available - c, kernels.capacity, speculation.most_chosen
        )
        if self.size >= min(last, self._farthest):
            return None
        features = self.features
        start = Start(
            terms(self),
            features.of_chosen,
            features.overlap,
            features.chosen,
            float(self.target_energy[0]),
            features.diagonal,
            self._gram_addresses(),
        )
        speculation.begin(self.samples.blocks[0], start)
        self._speculation, self._taken = speculation, 0
        return speculation

    def _gram_addresses(self) -> Float:
        """Return the device addresses of Gram columns, (n); 0 if a column is not available."""
        if self._addresses is None:
            self._addresses = self.features.location.zeros(self.problem.n_features)
        if self._version != self.gram.version:
            self._version = self.gram.version
            self._addresses[:] = 0.0
            columns = self.gram.waiting
            numbers = np.array([float(address_of(columns.get(index))) for index in columns])
            put(self._addresses, np.array(list(columns), dtype=np.intp), numbers)
        return self._addresses

    def _settle_speculation(self, speculation: Speculation) -> None:
        """End speculation: the host takes the next step."""
        block, chosen, overlap = speculation.finish_speculation(tuple(self.features.selected))
        self.samples.finish_speculation(block)
        self.features.finish_speculation(chosen, overlap)
        self._speculation = None
        # After repeated fallbacks, back off exponentially.
        self._backoff = 0 if self._taken else min(_LONGEST_BACKOFF, 2 * self._backoff + 1)
        self._pause = self._backoff

    @property
    def can_speculate(self) -> bool:
        """Whether the device may score or take steps by itself."""
        return self.features.fused is not None

    def speculate(self, terms: BoundTerms, c: int) -> Speculated | None:
        """Return the c candidates of lowest bound and their scores; None if not possible."""
        kernels = self.features.fused
        if kernels is None or self.problem.n_available - self.size <= c:
            return None
        answer = self.samples.speculate(kernels, terms, self.features.of_chosen, c)
        if answer is None:
            return None
        scores, reported = answer
        self.features.remember_reported(reported)
        return Speculated(reported.indices, scores, reported.beyond)

    def lacks(self, indices: NDArray[np.intp]) -> bool:
        """Return whether fetching the columns of candidates would cost a pass."""
        return bool(self.problem.X.missing(indices.tolist()))

    def fetch_ahead(self, indices: NDArray[np.intp], ranking: Ranking, remaining: int) -> None:
        """Fetch columns of features that will be added, and Gram columns, if they cost a pass."""
        X = self.problem.X
        if self.lacks(indices):
            columns = self.gram.batch(ranking, remaining, int(indices[0]))
            X.take_along(indices.tolist())
            self.gram.keep(columns, self.samples.products(columns))

    def prefetch(self, ranking: Ranking) -> None:
        """Have the next pass bring the columns of the likeliest candidates for little more."""
        X = self.problem.X
        if X.passes_dominate:
            X.prefetch(X.missing(ranking(X.n_kept + _ALONG))[:_ALONG])

    def add(self, index: int, pivot: Pivot | Taken, ranking: Ranking, remaining: int) -> None:
        """Add a feature to the model; `ranking` names the likely next ones, for prefetching."""
        column = self._kept_column(index)
        if column is None:
            column = self.gram.take(index, ranking, remaining)
        if isinstance(pivot, Taken):
            self.features.note(index)
            self.largest_drift = max(self.largest_drift, pivot.drift)
            self.statistics = pivot.statistics
            return
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
        self.bar_spanned()
        self.statistics = self.samples.statistics()
        if self.statistics.smallest_d < SMALLEST_D:
            raise NumericalLimit("a sample's leverage is 1 up to rounding")

    def _move(self, index: int, beta: Float, pivot: Pivot, along: Float | None) -> None:
        """Update the rows for a step; along (t) is what an anchor loses."""
        self.samples.advance(index, beta[:, None], pivot.delta, pivot.rho, along)

    def bar_spanned(self) -> None:
        """Features that the chosen ones span are no candidates from now on."""
        spanned = self.features.spanned()
        if spanned is not None:
            self.barred[spanned] = np.inf
            self.is_spanned = not (self.barred < 0.0).any()

    def _refined(self, index: int, beta: Float) -> tuple[Float, Pivot]:
        """Refine β by the difference of X_S'z and Pβ, and measure the feature again.

        If the chosen features nearly span a feature, its z is mostly the error of β, and r, h and w
        would keep that error.
        """
        order = np.array([index])
        for _ in range(2):
            products = self.samples.chosen_products(index, beta[:, None])
            beta = self.features.corrected(index, beta, products)
            self.samples.forget()
            scores = self.samples.score(order, *self.features.terms(order, beta[:, None]), True)
        return beta, pivot_of(scores, 0)

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
            self.features.rebuild(columns)
        except np.linalg.LinAlgError as error:
            raise NumericalLimit("the chosen features are dependent up to rounding") from error


def _feature_space(data: LooData, alpha: float, capacity: int) -> FeatureSpace:
    """Return feature space at the empty model, for the kind of data and penalty."""
    start, X = data.start, data.problem.X
    if X.centers is not None:
        return KernelSpace(start.diagonal, start.correlation, X.centers, alpha, capacity)
    known = start.diagonal, start.correlation, np.full(data.problem.n_features, alpha)
    if data.layout.is_single:
        return FeatureSpace(*known, capacity)
    return GroupSpace(*known, capacity, data.layout, data.pairs)
