"""What leave-one-out searches on the same rows share: blocks, sums, Gram columns."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from numpy.typing import NDArray

from .._base import HOST, Crew, Float, Threads, ask, namespace_of, places_of
from .._data import (
    ClusterMatrix,
    DeviceMatrix,
    FileMatrix,
    KernelMatrix,
    Matrix,
    SparseMatrix,
    StreamedMatrix,
    place_of,
)
from .._data import take as take_rows
from .._features import GramColumns
from .._problem import Problem, layout_of, report_non_finite
from .._rows import RowBlock, SampleStatistics, pair_products
from ._samples import SampleSpace

# A feature is rare if it is not 0 in at most this share of the rows.
_RARE_SHARE = 1 / 16
# Gram columns of a sparse X that may wait however small it is.
_WAITING = 64
# Candidates scored in the first round of a step where every round is a journey to a cluster.
_SCORED_FAR_AWAY = 8
# Scoring a centre costs about as much as computing so many kernel columns, its own among them.
_KERNEL_COLUMNS_PER_SCORE = 4
# With 1 − h below this, r/(1 − h) has no more than four digits left.
SMALLEST_D = 1e-12


def total_of(values: Float) -> float:
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
        if isinstance(problem.X, KernelMatrix):
            self.samples.columns_per_score = _KERNEL_COLUMNS_PER_SCORE
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
        # Features that are chosen together, or that cost something.
        self.layout = layout_of(problem)
        self.pairs = np.zeros(0)
        if self.layout is not None and self.layout.n_pairs:
            self.samples.passes += 1
            self.pairs = self.samples.total(partial(pair_products, layout=self.layout)).values
            is_constant = np.zeros(problem.n_features, dtype=bool)
            is_constant[self.constant] = True
            self.pairs[is_constant[self.layout.left] | is_constant[self.layout.right]] = 0.0
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
        mean = total_of(known.g_r) / (weight * len(known.g_r))
        squares = (
            known.loss_squares
            - 2.0 * mean * known.loss_weights
            + mean * mean * weights.weight_squares
        )
        return mean, math.sqrt(max(squares, 0.0) * n / (n - 1)) / weight


def _check_start(problem: Problem, known: SampleStatistics) -> None:
    """Errors for numbers too large to compute a loss and its standard error from."""
    weights = problem.weights
    if weights is not None and known.smallest_d < SMALLEST_D:
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
