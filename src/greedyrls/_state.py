"""The state of a search: the two spaces and the Gram columns between them, moved together."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._answers import SampleStatistics
from ._blocks import RowBlock
from ._choice import TIE, TIE_ROUNDING, NumericalLimit, best_first
from ._cluster import ClusterMatrix
from ._crew import Crew, Threads, ask
from ._device import DeviceMatrix
from ._features import FeatureSpace, Pivot
from ._files import FileMatrix
from ._flight import Doubts, Flight, Start, Taken
from ._fused_features import BoundTerms
from ._gram import GramColumns, Ranking
from ._kernels import Float
from ._matrix import Matrix, PassedMatrix, place_of
from ._matrix import take as take_rows
from ._namespace import HOST, address_of, namespace_of, numbers_on, places_of, put, take, to_host
from ._problem import Problem, report_non_finite
from ._samples import SampleSpace, Scores
from ._sparse import SparseMatrix
from ._stream import StreamedMatrix

# A pivot further than this (relative to A_bb) from its value in the data means that the
# recurrences have drifted: feature space is then rebuilt from the chosen features.
DRIFT_BOUND = 1e-10
# A chosen pivot this much smaller than A_bb is measured again with refined coefficients.
_REFINED_PIVOT = 1e-3
# What is known of the spread of z over the rows loses about 6/√m of itself at every step: with
# fewer rows than this it is of no use.
_SPREAD_ROWS = 4096
# On a device following it takes as long as scoring the candidates that it would have ruled out.
_DEVICE_SPREAD_ROWS = 1 << 16
# A feature is rare if it is not 0 in at most this share of the rows.
_RARE_SHARE = 1 / 16
# Gram columns of a sparse X that may wait however small it is.
_WAITING = 64
# Candidates scored in the first round of a step where every round is a journey to a cluster.
_SCORED_FAR_AWAY = 8
# Columns of the likeliest candidates that a pass over a file brings along.
_ALONG = 96
# Steps until a device is trusted with one again at most, after it left many to the host.
_LONGEST_REST = 15
# Safety of the bounds against rounding, relative to the loss of the current model.
MARGIN = 1e-9
# With 1 − h below this, r/(1 − h) has no more than four digits left.
_SMALLEST_D = 1e-12


class Foreseen(NamedTuple):
    """Candidates that were found and scored where the data are."""

    indices: NDArray[np.intp]
    scores: Scores
    beyond: float  # no other candidate has a lower bound


def _doubts() -> Doubts:
    """When a step is not left to a device."""
    return Doubts(TIE, TIE_ROUNDING, MARGIN, _REFINED_PIVOT, DRIFT_BOUND, _SMALLEST_D)


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


def _total(values: Float) -> float:
    """The sum of numbers of the targets, of which there is nearly always one."""
    return float(values[0] if len(values) == 1 else values.sum())


class LooData:
    """What searches on the same rows share, whatever their penalty: sums, columns, Gram columns."""

    def __init__(
        self,
        problem: Problem,
        block_rows: int | None = None,
        is_shared: bool = False,
        n_jobs: int = 1,
    ) -> None:
        self.problem = problem
        if isinstance(problem.X, FileMatrix | DeviceMatrix):
            n_jobs = 1  # it has threads of its own
        if n_jobs > 1 and block_rows is None:
            block_rows = -(-problem.n_samples // n_jobs)
        crew: Crew | None = Threads(n_jobs) if n_jobs > 1 else None
        if isinstance(problem.X, ClusterMatrix):
            crew = problem.X.crew
            blocks = crew.each(ask("row_block"), problem.X.pieces)
        else:
            blocks = _memory_blocks(problem, problem.X, block_rows)
        place = HOST if isinstance(problem.X, ClusterMatrix) else place_of(problem.X)
        self.samples = SampleSpace(blocks, problem.X.shape, crew, place)
        if isinstance(problem.X, ClusterMatrix):
            # z of so many candidates takes about an eighth of a block of X in float64.
            most = max(_SCORED_FAR_AWAY, problem.n_features // 8)
            self.samples.score_together(max(problem.X.counts), _SCORED_FAR_AWAY, most)
        with np.errstate(over="ignore", invalid="ignore"):
            self.start = self.samples.start(problem.fit_intercept, is_shared)
            xp = self.samples.feature_place.xp
            if not bool(xp.all(xp.isfinite(self.start.diagonal))):
                report_non_finite(problem)
        # A column has n numbers: a quarter of m of them are a quarter of X, and no more may wait.
        waiting = problem.n_samples // 4
        is_sparse = isinstance(problem.X, SparseMatrix) or (
            isinstance(problem.X, ClusterMatrix) and problem.X.is_sparse
        )
        if is_sparse:
            waiting = max(_WAITING, problem.X.nbytes // (32 * problem.n_features))
        if isinstance(problem.X, FileMatrix):
            waiting = problem.X.room.gram_columns
        on_device = not self.samples.place.is_host
        self.gram = GramColumns(self.samples.products, waiting, is_shared, on_device)
        if isinstance(problem.X, FileMatrix):
            self.gram.widen(problem.X.share_of_waiting)
        # Features that are 0 nearly everywhere have bounds of their own.
        self.is_rare: NDArray[np.bool_] | None = None
        if is_sparse:
            self.is_rare = self.samples.entry_counts() <= _RARE_SHARE * problem.n_samples
        self.constant = places_of(self.start.diagonal == 0.0)
        with np.errstate(all="ignore"):
            self.statistics = self.samples.statistics()
        _check_start(problem, self.statistics)

    @property
    def passes(self) -> int:
        """Over the data, so far."""
        return self.samples.passes

    def loss_and_error(self, known: SampleStatistics) -> tuple[float, float]:
        """The leave-one-out loss, a weighted mean over samples and targets, and its error."""
        weights, weight = self.samples.weights, self.start.total_weight
        n = weights.n_weighted
        mean = _total(known.g_r) / (weight * len(known.g_r))
        squares = (
            known.loss_squares
            - 2.0 * mean * known.loss_weights
            + mean * mean * weights.weight_squares
        )
        return mean, math.sqrt(max(squares, 0.0) * n / (n - 1)) / weight


class SelectionState:
    """Everything that changes during a search."""

    def __init__(self, data: LooData, alpha: float, capacity: int) -> None:
        self.data = data
        self.problem = problem = data.problem
        self.samples = data.samples.fork(capacity)
        self.start = data.start
        self.features = FeatureSpace(
            data.start.diagonal,
            data.start.correlation,
            np.full(problem.n_features, alpha),
            capacity,
        )
        fewest = _SPREAD_ROWS if data.samples.place.is_host else _DEVICE_SPREAD_ROWS
        self.features.follows_spread = problem.n_samples >= fewest
        self.gram = data.gram
        # −inf for candidates, +inf for features that are chosen or excluded: a floor of bounds.
        self.barred = data.samples.feature_place.full(problem.n_features, -np.inf)
        put(self.barred, np.array(problem.excluded, dtype=np.intp), np.inf)
        self.features.barred = self.barred
        self.rebuilds = 0
        self.largest_drift = 0.0
        self._constant = data.constant
        self.statistics = data.statistics
        self.target_energy = data.statistics.r_r
        self._passes_before = data.samples.passes
        # Steps that a device takes by itself: under way, tried again after some others, and where
        # it finds Gram columns.
        self._flight: Flight | None = None
        self._taken = self._pause = self._rest = self._farthest = 0
        self._addresses: Float | None = None
        self._version = -1

    @property
    def passes(self) -> int:
        """Over the data; the pass that all searches start from is the first one's."""
        return self.samples.passes + self.data.samples.passes - self._passes_before

    @property
    def exact_evaluations(self) -> int:
        """How often a candidate's loss was computed on the rows."""
        return self.samples.exact_evaluations

    def moments(self) -> tuple[Float, Float, Float, Float]:
        """Gram, correlation, means of the chosen features and of the targets."""
        start = self.start
        chosen = numbers_on(self.features.place, np.array(self.features.selected, dtype=np.intp))
        correlation, means = to_host(take(start.correlation, chosen), take(start.means, chosen))
        return (
            self.features.gram.copy(),
            correlation.T.copy(),
            means,
            start.target_means.copy(),
        )

    @property
    def size(self) -> int:
        """How many features are chosen."""
        return self.features.size

    @property
    def candidates(self) -> NDArray[np.intp]:
        """Features that may be added."""
        return places_of(self.barred < 0.0)

    def mean_loss(self, total: float) -> float:
        """From a sum over rows and targets to the weighted mean over both."""
        return float(total / (self.start.total_weight * self.problem.n_targets))

    @property
    def loss(self) -> float:
        """Leave-one-out loss of the current model."""
        return self.mean_loss(self.loss_sum)

    @property
    def loss_sum(self) -> float:
        """The same as a sum over rows and targets."""
        return _total(self.statistics.g_r)

    @property
    def standard_error(self) -> float:
        """Of the loss as a weighted mean over samples."""
        return self.data.loss_and_error(self.statistics)[1]

    @property
    def fold_losses(self) -> None:
        """There are no splits."""

    def measure(self, index: int) -> Pivot:
        """One candidate in the data."""
        return pivot_of(self.score(np.array([index])), 0)

    def score(self, indices: NDArray[np.intp]) -> Scores:
        """Candidates scored exactly; what was seen of them sharpens their later bounds."""
        parts = []
        X = self.problem.X
        if isinstance(X, PassedMatrix):
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

    def fly(self, terms: Callable[[SelectionState], BoundTerms], c: int, last: int) -> Taken | None:
        """The next step, if the device takes it by itself, from rounds of c candidates.

        None if it is left to the host; no step leads beyond `last` features.
        """
        flight = self._flight
        if flight is None:
            flight = self._depart(terms, c, last)
        if flight is None:
            return None
        last = min(last, self._farthest)
        taken = flight.taken(self.size, last)
        if taken is None:
            self._land(flight)
        else:
            self._taken += 1
            self.samples.exact_evaluations += c
        return taken

    def _depart(
        self, terms: Callable[[SelectionState], BoundTerms], c: int, last: int
    ) -> Flight | None:
        """Steps from here, if they are likely taken."""
        kernels = self.features.fused
        if kernels is None or len(self._constant) or not len(self.gram.waiting):
            return None
        if self._pause:
            self._pause -= 1
            return None
        flight = self.samples.flight(kernels, c, _doubts())
        if flight is None or kernels.has_anchor != flight.has_anchor:
            return None
        self._farthest = min(self.problem.n_available - c, kernels.capacity, flight.room)
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
        flight.begin(self.samples.blocks[0], start)
        self._flight, self._taken = flight, 0
        return flight

    def _gram_addresses(self) -> Float:
        """Where the device finds the Gram column of a feature, (n); 0 if there is none."""
        if self._addresses is None:
            self._addresses = self.features.place.zeros(self.problem.n_features)
        if self._version != self.gram.version:
            self._version = self.gram.version
            self._addresses[:] = 0.0
            columns = self.gram.waiting
            numbers = np.array([float(address_of(column)) for column in columns.values()])
            put(self._addresses, np.array(list(columns), dtype=np.intp), numbers)
        return self._addresses

    def _land(self, flight: Flight) -> None:
        """The host takes the next step."""
        block, known, overlap = flight.land(tuple(self.features.selected))
        self.samples.land(block)
        self.features.land(known, overlap)
        self._flight = None
        # Where steps are in doubt one after the other, trying is in vain.
        self._rest = 0 if self._taken else min(_LONGEST_REST, 2 * self._rest + 1)
        self._pause = self._rest

    @property
    def can_foresee(self) -> bool:
        """Whether it is worth trying."""
        return self.features.fused is not None

    def foresee(self, terms: BoundTerms, c: int) -> Foreseen | None:
        """The c candidates of lowest bound and their scores, in one transfer, where that works."""
        kernels = self.features.fused
        if kernels is None or self.problem.n_available - self.size <= c:
            return None
        answer = self.samples.foresee(kernels, terms, self.features.of_chosen, c)
        if answer is None:
            return None
        scores, told = answer
        self.features.saw(told)
        return Foreseen(told.indices, scores, told.beyond)

    def lacks(self, indices: NDArray[np.intp]) -> bool:
        """Whether the columns of some candidates would cost a pass."""
        X = self.problem.X
        return isinstance(X, PassedMatrix) and bool(X.missing(indices.tolist()))

    def fetch_ahead(self, indices: NDArray[np.intp], ranking: Ranking, remaining: int) -> None:
        """Where columns cost a pass: those of features that will be added, with their Gram."""
        X = self.problem.X
        if isinstance(X, PassedMatrix) and self.lacks(indices):
            columns = self.gram.batch(ranking, remaining, int(indices[0]))
            X.take_along(indices.tolist())
            self.gram.keep(columns, self.samples.products(columns))

    def wish(self, bounds: Float) -> None:
        """Have the next pass bring the columns of the likeliest candidates for little more."""
        X = self.problem.X
        if isinstance(X, PassedMatrix):
            X.wish(X.missing(best_first(bounds, X.kept.count + _ALONG))[:_ALONG])

    def add(self, index: int, pivot: Pivot | Taken, ranking: Ranking, remaining: int) -> None:
        """Add a feature to the model; `ranking` names the likely next ones, for prefetching."""
        column = self.gram.take(index, ranking, remaining)
        if isinstance(pivot, Taken):
            self.features.note(index)
            self.largest_drift = max(self.largest_drift, pivot.drift)
            self.statistics = pivot.statistics
            return
        if len(self._constant):
            put(column, self._constant, 0.0)  # a constant column has no products, only rounding
        beta = self.features.beta(index)
        if self.size and pivot.delta < _REFINED_PIVOT * self.features.pivot_scale(index):
            beta, pivot = self._refined(index, beta)
        along = self.features.anchor_along(index, pivot.norm)
        self.samples.advance(index, beta[:, None], pivot.delta, pivot.rho, along)
        drift = self.features.add(index, column, beta, pivot)
        self.barred[index] = np.inf
        self.largest_drift = max(self.largest_drift, drift)
        if drift > DRIFT_BOUND:
            self.rebuild()
        self.statistics = self.samples.statistics()
        if self.statistics.smallest_d < _SMALLEST_D:
            raise NumericalLimit("a sample's leverage is 1 up to rounding")

    def _refined(self, index: int, beta: Float) -> tuple[Float, Pivot]:
        """β corrected by what X_S'z and Pβ differ by, and the feature measured with it.

        A feature that the chosen ones nearly span has a z that is mostly the error of β, and r, h
        and w would keep that error for good.
        """
        order = np.array([index])
        for _ in range(2):
            products = self.samples.chosen_products(index, beta[:, None])
            beta = self.features.corrected(beta, products)
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


def _check_start(problem: Problem, known: SampleStatistics) -> None:
    """Errors for numbers too large to compute a loss and its standard error from."""
    weights = problem.weights
    if weights is not None and known.smallest_d < _SMALLEST_D:
        which = "one row"
        if not isinstance(problem.X, ClusterMatrix):
            row = int(namespace_of(weights).argmax(weights))
            which = f"row {row}, {float(weights[row])!r},"
        raise ValueError(
            f"sample_weight of {which} dwarfs all others: nothing is left of them when it is left "
            "out. Use weights closer to each other."
        )
    if not (math.isfinite(known.loss_squares) and np.isfinite(known.g_g).all()):
        raise ValueError(
            "y has values so large that their fourth powers overflow float64 (over about 1e77); "
            "rescale it."
        )


def _memory_blocks(problem: Problem, X: Matrix, block_rows: int | None) -> list[RowBlock]:
    """X in memory, cut into row blocks (views, no copies)."""
    m = problem.n_samples
    if isinstance(X, FileMatrix):
        block_rows = None  # it has chunks of its own
    if isinstance(X, StreamedMatrix):
        X.limit_chunks(block_rows)
        block_rows = None
    height = m if block_rows is None else max(1, min(m, block_rows))
    pieces = [slice(top, min(m, top + height)) for top in range(0, m, height)]
    return [
        RowBlock.from_rows(
            X if height == m else take_rows(X, rows),
            problem.Y[rows, :],
            None if problem.weights is None else problem.weights[rows],
        )
        for rows in pieces
    ]
