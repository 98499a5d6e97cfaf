"""The blocks, sums and Gram columns that leave-one-out searches on the same rows share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base import (
    SMALLEST_D,
    Executor,
    Float,
    Handle,
    ThreadExecutor,
    namespace_of,
    put,
    true_indices,
)
from .._problem import Problem, report_non_finite
from .._rows import RowBlock, SampleStatistics, entry_counts, pair_products
from ._samples import SampleSpace
from ._search_state import SearchData

# A feature is rare, and has separate bounds, if it is not 0 in at most this share of the rows.
_RARE_SHARE = 1 / 16
# Gram columns of a sparse X that may be kept ahead of their use, however small it is.
_WAITING = 64
# Candidates scored in the first round of a step where every round is a round trip to a cluster.
_SCORED_FAR_AWAY = 8
# Scoring a centre costs about as much as computing so many kernel columns, including its own.
_KERNEL_COLUMNS_PER_SCORE = 4


def total_of(values: Float) -> float:
    """Return the sum of numbers per target; with a single target, the usual case, no reduction."""
    return float(values[0] if len(values) == 1 else values.sum())


class LooData(SearchData):
    """The sums, columns and Gram columns that searches on the same rows share for any penalty."""

    samples: SampleSpace

    def __init__(
        self,
        problem: Problem,
        block_rows: int | None = None,
        is_shared: bool = False,
        n_jobs: int = 1,
    ) -> None:
        super().__init__(problem)
        self.is_shared = is_shared  # several searches use them
        self.compiled: dict[Any, Any] = {}  # what compiled searches share, by their kind
        self._arguments = block_rows, is_shared, n_jobs
        self._untouched: LooData | None = None
        if problem.X.has_own_threads:
            n_jobs = 1
        if n_jobs > 1 and block_rows is None:
            block_rows = -(-problem.n_samples // n_jobs)
        executor: Executor | None = ThreadExecutor(n_jobs) if n_jobs > 1 else None
        remote = problem.X.remote
        if remote is not None:
            executor = remote.executor
            blocks = remote.row_block_handles()
        else:
            blocks = _memory_blocks(problem, block_rows)
        self.samples = _rows_of(problem, blocks, executor)
        if remote is not None:
            # z of so many candidates takes about an eighth of a block of X in float64.
            most = max(_SCORED_FAR_AWAY, problem.n_features // 8)
            self.samples.score_together(max(remote.counts), _SCORED_FAR_AWAY, most)
        if problem.X.centers is not None and problem.X.passes_dominate:
            self.samples.columns_per_score = _KERNEL_COLUMNS_PER_SCORE
        with np.errstate(over="ignore", invalid="ignore"):
            self.start = self.samples.start(problem.fit_intercept)
            xp = self.samples.feature_location.xp
            if not bool(xp.all(xp.isfinite(self.start.diagonal))):
                report_non_finite(problem)
        # A column has n numbers: at most m/4 of them, a quarter of X, are kept ahead of their use.
        waiting = problem.n_samples // 4
        if problem.X.is_sparse:
            waiting = max(_WAITING, problem.X.nbytes // (32 * problem.n_features))
        self.gram = self._prefetched(self.samples.products, waiting, is_shared)
        # Features that are 0 nearly everywhere have separate bounds.
        self.is_rare: NDArray[np.bool_] | None = None
        if problem.X.is_sparse:
            counts = self.samples.total(entry_counts).values
            self.is_rare = counts <= _RARE_SHARE * problem.n_samples
        self.constant = true_indices(self.start.diagonal == 0.0)
        self.pairs = np.zeros(0)
        if self.layout.n_pairs:
            self.samples.passes += 1
            self.pairs = self.samples.total(partial(pair_products, layout=self.layout)).values
            is_constant = np.zeros(problem.n_features, dtype=bool)
            is_constant[self.constant] = True
            self.pairs[is_constant[self.layout.left] | is_constant[self.layout.right]] = 0.0
        with np.errstate(all="ignore"):
            self.statistics = self.samples.statistics()
        _check_start(problem, self.statistics)

    def centred(self, index: int, values: Float) -> Float:
        """Return the Gram column of a feature; overwrites the sums that were fetched."""
        if len(self.constant):
            put(values, self.constant, 0.0)  # they have no products, only rounding
        return values

    @property
    def untouched(self) -> LooData:
        """The same data without the Gram columns of compiled steps, which have other rounding."""
        if not self.compiled:
            return self
        if self._untouched is None:
            self._untouched = type(self)(self.problem, *self._arguments)
        return self._untouched

    def loss_and_error(self, statistics: SampleStatistics) -> tuple[float, float]:
        """Return the leave-one-out loss, a weighted mean, and its standard error."""
        mean = total_of(statistics.g_r) / (self.start.total_weight * len(statistics.g_r))
        return mean, math.sqrt(max(self._variance(mean, statistics), 0.0)) / self.start.total_weight

    def losses_and_errors(self, statistics: SampleStatistics) -> tuple[Float, Float]:
        """Return the same for several models, (c) and (c), whose sums are (c × t) and (c)."""
        n_targets = statistics.g_r.shape[1]
        means = statistics.g_r.sum(axis=1) / (self.start.total_weight * n_targets)
        variances = np.maximum(self._variance(means, statistics), 0.0)
        return means, np.sqrt(variances) / self.start.total_weight

    def _variance(self, mean: Any, statistics: SampleStatistics) -> Any:
        """Return the variance of the loss as a weighted sum, of one model or several."""
        weights = self.samples.weights
        squares = (
            statistics.loss_squares
            - 2.0 * mean * statistics.loss_weights
            + mean * mean * weights.weight_squares
        )
        return squares * weights.n_weighted / (weights.n_weighted - 1)


def _rows_of(problem: Problem, blocks: Sequence[Handle], executor: Executor | None) -> SampleSpace:
    """Return sample space for the device of the rows."""
    X = problem.X
    if X.location.on_device:
        from ._device_rows import DeviceRows  # which loads all that devices need

        return DeviceRows(blocks, X.shape, executor, X.location)
    return SampleSpace(blocks, X.shape, executor)


def _check_start(problem: Problem, statistics: SampleStatistics) -> None:
    """Raise an error for numbers too large to compute a loss and its standard error."""
    weights = problem.weights
    if weights is not None and statistics.smallest_d < SMALLEST_D:
        which = "one row"
        if problem.X.remote is None:
            row = int(namespace_of(weights).argmax(weights))
            which = f"row {row}, {float(weights[row])!r},"
        raise ValueError(
            f"sample_weight of {which} dwarfs all others: leaving it out leaves almost no weight. "
            "Use weights of similar magnitude."
        )
    if not (math.isfinite(statistics.loss_squares) and np.isfinite(statistics.g_g).all()):
        raise ValueError(
            "y has values so large that their fourth powers overflow float64 (over about 1e77); "
            "rescale it."
        )


def _memory_blocks(problem: Problem, block_rows: int | None) -> list[RowBlock]:
    """Return the rows of a problem in this process as row blocks (views, no copies).

    They have at most `block_rows` rows each, but an X that is not in memory is a single block.
    """
    X, Y, weights = problem.X, problem.Y, problem.weights
    m = X.shape[0]
    height = m if block_rows is None or not X.is_in_memory else max(1, min(m, block_rows))
    pieces = [slice(top, min(m, top + height)) for top in range(0, m, height)]
    return [
        RowBlock.from_rows(
            X if height == m else X.take(rows),
            Y[rows, :],
            None if weights is None else weights[rows],
        )
        for rows in pieces
    ]


def share_columns(whole: LooData, other: LooData) -> None:
    """Let a selection for other targets use the Gram columns of the same rows and weights."""
    weights, others = whole.problem.weights, other.problem.weights
    if weights is None or others is None:
        is_same = weights is others
    else:
        is_same = np.array_equal(weights, others)
    if is_same and whole.problem.X.is_in_memory and not whole.problem.X.location.on_device:
        other.gram.fetch = whole.gram.columns
