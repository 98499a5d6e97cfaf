"""Sample space: all row blocks. Asks each the same question and adds up the answers."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._answers import (
    CandidateLosses,
    ColumnShapes,
    Products,
    SampleStatistics,
    SupportSums,
    TargetSums,
)
from ._blocks import RowBlock
from ._crew import Alone, Crew, Handle, ask
from ._kernels import Float
from ._leftovers import Leftovers
from ._losses import Loss, stratum_factors

# A mean is far out if its square is this many times the variance.
_FAR = 1e4
# Elements of Z made at a time while candidates are scored (4 MiB): keeps temporaries small.
_SCORE_ELEMENTS = 1 << 19
# Bytes that kept columns of all blocks together may take however small X is.
SPARE_BYTES = 1 << 22


class StartSums(NamedTuple):
    """Sums over all rows before the first step: the start of feature space."""

    total_weight: float
    means: Float  # (n) weighted means of the features; zeros without an intercept
    target_means: Float  # (t)
    diagonal: Float  # (n) ‖x_i‖² of the centred, weighted columns
    correlation: Float  # (t × n) x_i · y


class Scores(NamedTuple):
    """Exact leave-one-out sums of some candidates, and what was measured on the way."""

    losses: Float  # (t × c) Σ over rows of the squared LOO error
    delta: Float  # (c)
    rho: Float  # (t × c)
    norms: Float  # (c) ‖z‖²
    correlations: Float  # (t × c) r·z
    mixed: Float  # (t × c) Σ r² z²
    fourth: Float  # (c) Σ z⁴


class _Latest(NamedTuple):
    """The best candidate scored since the last step."""

    feature: int
    loss: float
    pieces: list[Float]  # its z, a piece for each block


class SampleSpace:
    """The driver's view of the rows."""

    def __init__(self, blocks: Iterable[Handle], n_rows: int, crew: Crew | None = None) -> None:
        self._blocks = list(blocks)
        self._crew: Crew = Alone() if crew is None else crew
        self._rows = n_rows
        # What is known of the weights; at the start.
        self.weights: TargetSums = self.total(ask("target_sums"))
        self._means: Float | None = None
        self._has_far_means = False
        self._latest: _Latest | None = None
        self._kept: list[Leftovers] = []
        self.passes = 0
        self.exact_evaluations = 0
        # How many candidates may be scored at a time, and are at least.
        self.group = max(1, _SCORE_ELEMENTS // max(1, self._rows))
        self.least = 1

    def score_together(self, largest_block: int, least: int, most: int) -> None:
        """Blocks are far away: what counts is how often they are asked, not for how many."""
        self.group = max(least, min(most, _SCORE_ELEMENTS // max(1, largest_block)))
        self.least = least

    def fork(self) -> SampleSpace:
        """The same rows for another search; blocks are values, and share their columns."""
        other = copy.copy(self)
        other._latest = None
        other._kept = []
        other.passes = other.exact_evaluations = 0
        return other

    @property
    def blocks(self) -> tuple[RowBlock, ...]:
        """The blocks as they are now."""
        return tuple(self._blocks)

    def total(self, question: Callable[..., Any], *own: Sequence[Handle]) -> Any:
        """The answers of all blocks, added up; `own` are things of theirs."""
        return self._crew.total(question, self._blocks, *own)

    def each(self, question: Callable[..., Any], *own: Sequence[Handle]) -> list[Handle]:
        """What each block makes of a question."""
        return self._crew.each(question, self._blocks, *own)

    def start(self, fit_intercept: bool, is_shared: bool = False) -> StartSums:
        """One pass: what feature space starts from; blocks move to the empty model."""
        weight, targets, *_ = self.weights
        target_means = targets / weight if fit_intercept else np.zeros_like(targets)
        self.passes += 1
        product, diagonal = self.total(ask("start_sums", target_means))
        correlation, weighted = product[:-1], product[-1]
        means = weighted / weight if fit_intercept else np.zeros_like(weighted)
        self._means = means if fit_intercept else None
        intercept_weight = weight if fit_intercept else None
        spare = SPARE_BYTES / self._rows
        self._blocks = self.each(
            ask("begin", target_means, self._means, intercept_weight, spare, is_shared)
        )
        if fit_intercept:
            diagonal = self._centre(diagonal, correlation, means, weight)
            self._has_far_means = bool((weight * means**2 > _FAR * diagonal).any())
        return StartSums(weight, means, target_means, diagonal, correlation)

    def _centre(self, diagonal: Float, correlation: Float, means: Float, total: float) -> Float:
        """‖x_i‖² after centring; columns whose mean dwarfs their spread are summed anew."""
        centred = diagonal - total * means * means
        # Below this share of the raw sum, more than five digits have cancelled.
        doubtful = np.flatnonzero(centred < 1e-5 * diagonal)
        if len(doubtful):
            self.each(ask("fetch", doubtful))
        for first in range(0, len(doubtful), self.group):
            some = doubtful[first : first + self.group]
            centred[some], correlation[:, some] = self.total(ask("fresh_moments", some))
        return np.maximum(centred, 0.0)

    def products(self, indices: Sequence[int], new_anchor: bool = False) -> Float:
        """Gram columns of the named features, then X'a of a new anchor: (c [+ t]) × n, one pass.

        Only v is centred in v'X; what is left of the means of X is subtracted here. For a centred
        column Σv is rounding, so this matters only where means dwarf spreads. There it keeps the
        error at eps·|mean|/spread, where centring both sides afterwards would square that.
        """
        self.passes += 1
        if new_anchor:
            self._blocks = self.each(ask("anchored"))
        answer: Products = self.total(ask("products", indices, new_anchor))
        values = answer.values
        if self._means is not None:
            first = 0 if self._has_far_means else len(indices)
            values[first:] -= answer.sums[first:, None] * self._means
        return values

    def score(
        self,
        indices: NDArray[np.intp],
        beta: Float,
        penalty: Float,
        shrinkage: Float,
        with_spread: bool,
        Z: list[Float] | None = None,
    ) -> Scores:
        """Exact leave-one-out sums of at most `group` candidates; Z are their z, if known.

        beta (|S| × c) are their coefficients on the chosen features; penalty (c) is
        P_ii + β'Pβ and shrinkage (t × c) is w'Pβ: δ and τ are computed from the rows themselves,
        as ‖z‖² + P_ii + β'Pβ and r·z + w'Pβ, where errors of β are of second order. Σ r² z² and
        Σ z⁴ are computed if asked for.
        """
        self.exact_evaluations += len(indices)
        if Z is None:
            Z = self.each(ask("residuals", indices, beta))
        norms, correlations = self.total(ask("moments"), Z)
        delta = norms + penalty
        rho = (correlations + shrinkage) / delta
        losses, mixed, fourth = self.total(ask("losses", delta, rho, with_spread), Z)
        sums = losses[0] if len(losses) == 1 else losses.sum(axis=0)
        row = int(sums.argmin())
        loss = float(sums[row])
        if self._latest is None or loss < self._latest.loss:
            # Very likely the one that will be added: spares making its z again.
            self._latest = _Latest(int(indices[row]), loss, self.each(ask("row", row), Z))
        return Scores(losses, delta, rho, norms, correlations, mixed, fourth)

    def support_sums(
        self, indices: NDArray[np.intp], beta: Float, delta: Float, rho: Float
    ) -> SupportSums:
        """Of some candidates in ascending order, over the rows in which they are not 0."""
        sums: SupportSums = self.total(ask("support_sums", indices, beta, delta, rho))
        return sums

    def entry_counts(self) -> Float:
        """How many values of each column of a sparse X are not 0, (n)."""
        counts: Float = self.total(ask("entry_counts")).values
        return counts

    def forget(self) -> None:
        """Candidates scored so far are not those that will be added."""
        self._latest = None

    def _pieces(self, index: int, beta: Float) -> list[Float]:
        """A candidate's z, a piece for each block."""
        if self._latest is not None and self._latest.feature == index:
            return self._latest.pieces
        Z = self.each(ask("residuals", np.array([index]), beta))
        return self.each(ask("row", 0), Z)

    def chosen_products(self, index: int, beta: Float) -> Float:
        """X_S'z of a candidate, (|S|): Pβ up to rounding, if β is right."""
        pieces = self._pieces(index, beta)
        values: Float = self.total(ask("chosen_products"), pieces).values
        return values

    def advance(
        self, index: int, beta: Float, delta: float, rho: Float, along: Float | None
    ) -> None:
        """Add a feature with coefficients beta (|S| × 1); its z is taken if remembered.

        along (t) is (a·z)/‖z‖² if there is an anchor a.
        """
        pieces = self._pieces(index, beta)
        self._latest = None
        self._blocks = self.each(ask("advance", index, delta, rho, along), pieces)

    def predictions(self) -> Float:
        """Leave-one-out predictions of the current model, (t × m)."""
        return np.concatenate(self.each(ask("predictions")), axis=1)

    def candidate_predictions(
        self, indices: NDArray[np.intp], beta: Float, delta: Float, rho: Float
    ) -> Float:
        """Leave-one-out predictions if each of some candidates were added, (t × c × m)."""
        answers = self.each(ask("candidate_predictions", indices, beta, delta, rho))
        return answers[0] if len(answers) == 1 else np.concatenate(answers, axis=2)

    def shapes(self) -> list[ColumnShapes]:
        """How far values are from their means, block by block: one pass."""
        self.passes += 1
        return self.each(ask("shapes"))

    def loss_factors(self, loss: Loss) -> Float:
        """Shares of rows in a loss that is a mean over rows are their weights times these."""
        return stratum_factors(self.total(ask("stratum_weights", loss)).values)

    def candidate_losses(
        self,
        loss: Loss,
        factors: Float | None,
        beta: Float,
        delta: Float,
        rho: Float,
        reach: Float | None,
        shapes: list[ColumnShapes],
    ) -> CandidateLosses:
        """Σ_j e_j ℓ_j over all rows with each of all features added.

        `reach` and `shapes` are for one target of labels ±1 and loss zero_one.
        """
        support = [shape.support for shape in shapes] if shapes else [None] * len(self._blocks)
        losses: CandidateLosses = self.total(
            ask("candidate_losses", loss, factors, beta, delta, rho, reach), support
        )
        return losses

    @property
    def keeps_leftovers(self) -> bool:
        """Whether z of all candidates are kept."""
        return bool(self._kept)

    def keep_leftovers(self, candidates: NDArray[np.intp], beta: Float) -> None:
        """Make z of these candidates, with coefficients beta (|S| × c), and keep them."""
        self.passes += 1
        self._kept = self.each(ask("leftovers", candidates, beta))

    def drop_leftovers(self) -> None:
        """Free their memory."""
        self._kept = []

    def follow(self, index: int, slopes: Float) -> None:
        """Take a feature that was added out of what is kept; slopes (n) are those on it."""
        for kept in self._kept:
            kept.follow(index, slopes)

    def kept_columns(self, index: int) -> list[Float]:
        """The kept z of a candidate, a piece (1 × rows) for each block."""
        return [
            kept.column(index, len(block.d))[None]
            for kept, block in zip(self._kept, self._blocks, strict=True)
        ]

    def kept_losses(self, loss: Loss, factors: Float | None, delta: Float, rho: Float) -> Float:
        """Σ_j e_j [wrong] with each feature added, from what is kept, (n)."""
        values: Float = self.total(ask("kept_losses", loss, factors, delta, rho), self._kept).values
        return values

    def statistics(self) -> SampleStatistics:
        """Sums over all rows of what the bounds and the loss need."""
        statistics: SampleStatistics = self.total(ask("statistics"))
        return statistics
