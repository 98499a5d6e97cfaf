"""Sample space: all row blocks. Calls the same function on each and adds up the results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from .._base import (
    NO_DIGITS,
    Executor,
    Float,
    Handle,
    as_float,
    ask,
    batches,
    floor_at,
    namespace_of,
    put,
    to_host,
    true_indices,
)
from .._features import FeatureSpace
from .._rows import (
    BlockSet,
    BoundTerms,
    Products,
    RowBlock,
    SampleStatistics,
    TargetSums,
    candidate_residuals,
    fetch_columns,
    fresh_moments,
    gram_products,
    make_scores,
    row_of,
    row_products,
    sample_statistics,
    start_sums,
    target_sums,
)
from .._rows import Scores as Scores

# A mean is far if its square is this many times the variance: Gram columns are centred again, as
# the rounding of Σv times the mean would be as many units in the last place of them.
_FAR = 1e2
# Bytes that kept columns of all blocks together may take, however small X is.
SPARE_BYTES = 1 << 22
# Gram columns computed at a time where those of all features are.
_GRAM_WIDTH = 256


class StartSums(NamedTuple):
    """Sums over all rows before the first step, from which feature space starts."""

    total_weight: float
    means: Float  # (n) weighted means of the features; zeros without an intercept
    target_means: Float  # (t)
    diagonal: Float  # (n) ‖x_i‖² of the centred, weighted columns
    correlation: Float  # (t × n) x_i · y


class Latest(NamedTuple):
    """The best candidate scored since the last step."""

    feature: int
    loss: float
    pieces: list[Float]  # its z, a piece for each block


class Lowest(NamedTuple):
    """The candidates of lowest bound, scored."""

    indices: NDArray[np.intp]
    scores: Scores
    beyond: float  # no other candidate has a lower bound


class SampleSpace(BlockSet[RowBlock]):
    """The interface of the search to the row blocks, wherever they are."""

    # Elements of Z computed at a time while candidates are scored (4 MiB): keeps temporaries small.
    score_elements = 1 << 19
    # The least number of elements scored in a round: in a smaller one the interpreter dominates.
    round_elements = 1 << 17
    # The most candidates in the first round of a step.
    first_width = 16
    # Scoring a candidate costs about as much as a pass over this many columns of X: gathering it,
    # the product with the chosen columns, and a dozen operations on vectors of m. The bounds of
    # later steps profit from the pass, too.
    columns_per_score = 100
    # The bounds of the spread of z over the rows lose about 6/√m of their value at every step: with
    # fewer rows than this they are useless.
    spread_rows = 4096

    def __init__(
        self,
        blocks: Iterable[Handle],
        shape: tuple[int, int],
        executor: Executor | None = None,
    ) -> None:
        super().__init__(blocks, shape, executor)
        # Sums of weights and targets, which do not change during a search.
        self.weights = self._weights()
        self._means: Float | None = None
        self._has_far_means = False
        self._latest: Latest | None = None
        # The numbers of candidates scored at a time, and at least in a round.
        self.group = max(1, self.score_elements // max(1, self._rows))
        self.least = 1

    def _weights(self) -> TargetSums:
        """Return sums of the weights and targets, on the host."""
        sums: TargetSums = self.total(target_sums)
        return sums

    def score_together(self, largest_block: int, least: int, most: int) -> None:
        """Score larger groups: with remote blocks the number of calls dominates, not their size."""
        self.group = max(least, min(most, self.score_elements // max(1, largest_block)))
        self.least = least

    def fork(self, count: int = 0) -> Self:
        """The same rows for another search, which has scored nothing yet."""
        other = super().fork(count)
        other._latest = None
        return other

    def start(self, fit_intercept: bool) -> StartSums:
        """Compute the start of feature space in one pass; blocks move to the empty model."""
        weight, target_means, *_ = self.weights
        if not fit_intercept:
            target_means = np.zeros_like(target_means)
        self.passes += 1
        product, diagonal = self._features(*self.total(ask(start_sums, target_means)))
        correlation, weighted = product[:-1, :], product[-1, :]
        means = weighted / weight if fit_intercept else 0.0 * weighted
        self._means = means if fit_intercept else None
        intercept_weight = weight if fit_intercept else None
        spare = SPARE_BYTES / self._rows
        self.become(ask(RowBlock.begin, target_means, self._means, intercept_weight, spare))
        if fit_intercept:
            diagonal = self._centre(diagonal, correlation, means, weight)
            is_far = weight * means**2 > _FAR * diagonal
            self._has_far_means = bool(namespace_of(is_far).any(is_far))
        return StartSums(weight, means, target_means, diagonal, correlation)

    def _centre(self, diagonal: Float, correlation: Float, means: Float, total: float) -> Float:
        """Return ‖x_i‖² after centring; columns whose mean dwarfs their spread are summed again."""
        centred = diagonal - total * means * means
        # Below this share of the raw sum, more than five digits have cancelled.
        doubtful = true_indices(centred < 1e-5 * diagonal)
        if len(doubtful):
            self.each(ask(fetch_columns, doubtful))
        for chunk in batches(doubtful, self.group):
            norms, products = to_host(*self.total(ask(fresh_moments, chunk)))
            put(centred, chunk, norms)
            put(correlation, chunk, products)
        # What remains of a constant column is the rounding of its mean: set it to 0.
        varies = as_float(centred > NO_DIGITS * diagonal)
        correlation *= varies
        floored: Float = floor_at(centred * varies, 0.0)
        return floored

    def _features(self, *values: Float) -> list[Float]:
        """Move vectors of n features to their device."""
        return to_host(*values)

    def products(self, indices: Sequence[int], new_anchor: bool = False) -> Float:
        """Return Gram columns of features, then X'a of a new anchor: (c [+ t]) × n, in one pass.

        Only v is centred in v'X; the remaining part of the means of X is subtracted here. For a
        centred column Σv is rounding, so this matters only where means dwarf spreads. There it
        keeps the error at eps·|mean|/spread, where centring both sides afterwards would square it.
        """
        self.passes += 1
        if new_anchor:
            self.become(RowBlock.anchored)
        with self._pass(len(indices)):
            answer: Products = self.total(ask(row_products, indices, new_anchor))
        return self._centred(len(indices), answer)

    def products_with(self, block: RowBlock, indices: Sequence[int]) -> Float:
        """Return the same from a block that has all rows, with an anchor of its own."""
        self.passes += 1
        return self._centred(len(indices), row_products(block, indices, True))

    def _centred(self, n_columns: int, answer: Products) -> Float:
        """Subtract the means of X, which products of columns have only if they are far from 0."""
        values, sums = self._features(*answer)
        if self._means is not None:
            first = 0 if self._has_far_means else n_columns
            if first < values.shape[0]:
                values[first:, :] -= sums[first:, None] * self._means
        return values

    def gram(self, features: NDArray[np.intp]) -> Float:
        """Return the products of features with each other (c × c) in one pass."""
        self.passes += 1
        with self._pass(len(features)):
            answer: Products = self.total(ask(gram_products, features, _GRAM_WIDTH))
        values, sums = self._features(*answer)
        if self._means is not None and self._has_far_means:
            values -= sums[:, None] * self._means[features]
        return values

    def score(
        self,
        indices: NDArray[np.intp],
        beta: Float,
        penalty: Float,
        shrinkage: Float,
        with_spread: bool,
    ) -> Scores:
        """Score at most `group` candidates exactly.

        beta (|S| × c) are their coefficients on the chosen features; penalty (c) is
        P_ii + β'Pβ and shrinkage (t × c) is w'Pβ: δ and τ are computed from the rows themselves,
        as ‖z‖² + P_ii + β'Pβ and r·z + w'Pβ, where errors of β are of second order. Σ r² z² and
        Σ z⁴ are computed if `with_spread`.
        """
        self.exact_evaluations += len(indices)
        Z = self.each(ask(candidate_residuals, indices, beta))
        scores = make_scores(self._executor, self._blocks, Z, penalty, shrinkage, with_spread)
        losses = scores.losses
        sums = losses[0] if len(losses) == 1 else losses.sum(axis=0)
        row = int(sums.argmin())
        loss = float(sums[row])
        if self._latest is None or loss < self._latest.loss:
            # This candidate is very likely added: keep its z.
            self._latest = Latest(int(indices[row]), loss, self.each(ask(row_of, row), Z))
        return scores

    def score_lowest(
        self, features: FeatureSpace, terms: Callable[[], BoundTerms], count: int
    ) -> Lowest | None:
        """Return the candidates of lowest bound and their scores, if rows and features find them.

        None if bounds have to be computed first.
        """
        return None

    def forget(self) -> None:
        """Forget the best candidate scored so far: it will not be added as it is."""
        self._latest = None

    def pieces(self, index: int, beta: Float) -> list[Float]:
        """Return a candidate's z, a piece for each block."""
        if self._latest is not None and self._latest.feature == index:
            return self._latest.pieces
        return self.each(ask(row_of, 0), self._residuals(index, beta))

    def _residuals(self, index: int, beta: Float) -> list[Handle]:
        """Compute a candidate's z from the data, (1 × rows) for each block."""
        return self.each(ask(candidate_residuals, np.array([index]), beta))

    def advance(
        self, index: int, beta: Float, delta: float, rho: Float, along: Float | None
    ) -> None:
        """Add a feature with coefficients beta (|S| × 1); its z is reused if remembered.

        along (t) is (a·z)/‖z‖² if there is an anchor a.
        """
        pieces = self.pieces(index, beta)
        self._latest = None
        self.become(ask(RowBlock.advance, index, delta, rho, along), pieces)

    def move_to(self, blocks: Sequence[Handle], question: Callable[..., Any]) -> None:
        """Move to another set: `question` makes its blocks from `blocks`."""
        self._blocks = self._executor.each(question, blocks)
        self._latest = None

    def statistics(self) -> SampleStatistics:
        """Return the sums over all rows that the bounds and the loss need."""
        statistics: SampleStatistics = self.total(sample_statistics)
        return statistics
