"""Sample space: all row blocks. Asks each the same question and adds up the answers."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._blocks import (
    CandidateLosses,
    ColumnShapes,
    Products,
    RowBlock,
    SampleStatistics,
    SupportSums,
    add_up,
)
from ._kernels import Float
from ._leftovers import Leftovers
from ._sparse import SparseMatrix

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

    def __init__(self, blocks: Iterable[RowBlock]) -> None:
        self._blocks = list(blocks)
        self._rows = sum(len(block.d) for block in self._blocks)
        self._means: Float | None = None
        self._has_far_means = False
        self._latest: _Latest | None = None
        self._kept: list[Leftovers] = []
        self.passes = 0
        self.exact_evaluations = 0
        # How many candidates may be scored at a time.
        self.group = max(1, _SCORE_ELEMENTS // max(1, self._rows))

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

    def start(self, fit_intercept: bool, is_shared: bool = False) -> StartSums:
        """One pass: what feature space starts from; blocks move to the empty model."""
        total, targets = add_up(block.target_sums() for block in self._blocks)
        target_means = targets / total if fit_intercept else np.zeros_like(targets)
        self.passes += 1
        product, diagonal = add_up(block.start_sums(target_means) for block in self._blocks)
        correlation, weighted = product[:-1], product[-1]
        means = weighted / total if fit_intercept else np.zeros_like(weighted)
        self._means = means if fit_intercept else None
        self._blocks = [
            block.begin(
                target_means,
                self._means,
                total if fit_intercept else None,
                SPARE_BYTES * len(block.d) / self._rows,
                is_shared,
            )
            for block in self._blocks
        ]
        if fit_intercept:
            diagonal = self._centre(diagonal, correlation, means, total)
            self._has_far_means = bool((total * means**2 > _FAR * diagonal).any())
        return StartSums(total, means, target_means, diagonal, correlation)

    def _centre(self, diagonal: Float, correlation: Float, means: Float, total: float) -> Float:
        """‖x_i‖² after centring; columns whose mean dwarfs their spread are summed anew."""
        centred = diagonal - total * means * means
        # Below this share of the raw sum, more than five digits have cancelled.
        doubtful = np.flatnonzero(centred < 1e-5 * diagonal)
        for first in range(0, len(doubtful), self.group):
            some = doubtful[first : first + self.group]
            centred[some], correlation[:, some] = add_up(
                block.moments(block.columns.fresh(some)) for block in self._blocks
            )
        return np.maximum(centred, 0.0)

    def products(self, indices: Sequence[int], new_anchor: bool = False) -> Float:
        """Gram columns of the named features, then X'a of a new anchor: (c [+ t]) × n, one pass.

        Only v is centred in v'X; what is left of the means of X is subtracted here. For a centred
        column Σv is rounding, so this matters only where means dwarf spreads. There it keeps the
        error at eps·|mean|/spread, where centring both sides afterwards would square that.
        """
        self.passes += 1
        if new_anchor:
            self._blocks = [block.anchored() for block in self._blocks]
        answer: Products = add_up(block.products(indices, new_anchor) for block in self._blocks)
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
        blocks = self._blocks
        if Z is None:
            Z = [block.residuals(indices, beta) for block in blocks]
        norms, correlations = add_up(block.moments(z) for block, z in zip(blocks, Z, strict=True))
        delta = norms + penalty
        rho = (correlations + shrinkage) / delta
        losses, mixed, fourth = add_up(
            block.losses(z, delta, rho, with_spread) for block, z in zip(blocks, Z, strict=True)
        )
        sums = losses[0] if len(losses) == 1 else losses.sum(axis=0)
        row = int(sums.argmin())
        loss = float(sums[row])
        if self._latest is None or loss < self._latest.loss:
            # Very likely the one that will be added: spares making its z again.
            self._latest = _Latest(int(indices[row]), loss, [z[row] for z in Z])
        return Scores(losses, delta, rho, norms, correlations, mixed, fourth)

    def support_sums(
        self, indices: NDArray[np.intp], beta: Float, delta: Float, rho: Float
    ) -> SupportSums:
        """Of some candidates in ascending order, over the rows in which they are not 0."""
        return add_up(block.support_sums(indices, beta, delta, rho) for block in self._blocks)

    @property
    def entry_counts(self) -> Float | None:
        """How many values of each column are not 0, (n); known where X is sparse."""
        counts = [block.X.counts() for block in self._blocks if isinstance(block.X, SparseMatrix)]
        return sum(counts[1:], counts[0]) if counts else None

    def forget(self) -> None:
        """Candidates scored so far are not those that will be added."""
        self._latest = None

    def _pieces(self, index: int, beta: Float) -> list[Float]:
        """A candidate's z, a piece for each block."""
        if self._latest is not None and self._latest.feature == index:
            return self._latest.pieces
        return [block.residuals(np.array([index]), beta)[0] for block in self._blocks]

    def chosen_products(self, index: int, beta: Float) -> Float:
        """X_S'z of a candidate, (|S|): Pβ up to rounding, if β is right."""
        pieces = self._pieces(index, beta)
        return add_up(
            block.chosen_products(z) for block, z in zip(self._blocks, pieces, strict=True)
        ).values

    def advance(
        self, index: int, beta: Float, delta: float, rho: Float, along: Float | None
    ) -> None:
        """Add a feature with coefficients beta (|S| × 1); its z is taken if remembered.

        along (t) is (a·z)/‖z‖² if there is an anchor a.
        """
        pieces = self._pieces(index, beta)
        self._latest = None
        self._blocks = [
            block.advance(index, z, delta, rho, along)
            for block, z in zip(self._blocks, pieces, strict=True)
        ]

    def predictions(self) -> Float:
        """Leave-one-out predictions of the current model, (t × m)."""
        return np.concatenate([block.predictions() for block in self._blocks], axis=1)

    def candidate_predictions(
        self, indices: NDArray[np.intp], beta: Float, delta: Float, rho: Float
    ) -> Float:
        """Leave-one-out predictions if each of some candidates were added, (t × c × m)."""
        answers = [block.candidate_predictions(indices, beta, delta, rho) for block in self._blocks]
        return answers[0] if len(answers) == 1 else np.concatenate(answers, axis=2)

    def shapes(self) -> list[ColumnShapes]:
        """How far values are from their means, block by block: one pass."""
        self.passes += 1
        return [block.shapes() for block in self._blocks]

    def candidate_losses(
        self,
        kind: str,
        shares: Float | None,
        beta: Float,
        delta: Float,
        rho: Float,
        reach: Float | None,
        shapes: list[ColumnShapes],
    ) -> CandidateLosses:
        """Σ_j e_j ℓ_j over all rows with each of all features added.

        `reach` and `shapes` are for one target of labels ±1 and loss zero_one.
        """
        ends = np.cumsum([len(block.d) for block in self._blocks]).tolist()
        return add_up(
            block.candidate_losses(
                kind,
                None if shares is None else shares[end - len(block.d) : end],
                beta,
                delta,
                rho,
                reach,
                shapes[place].support if shapes else None,
            )
            for place, (block, end) in enumerate(zip(self._blocks, ends, strict=True))
        )

    @property
    def keeps_leftovers(self) -> bool:
        """Whether z of all candidates are kept."""
        return bool(self._kept)

    def keep_leftovers(self, candidates: NDArray[np.intp], beta: Float) -> None:
        """Make z of these candidates, with coefficients beta (|S| × c), and keep them."""
        self.passes += 1
        self._kept = [block.leftovers(candidates, beta) for block in self._blocks]

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

    def kept_losses(self, shares: Float | None, delta: Float, rho: Float) -> Float:
        """Σ_j e_j [wrong] with each feature added, from what is kept, (n)."""
        ends = np.cumsum([len(block.d) for block in self._blocks]).tolist()
        return add_up(
            block.kept_losses(
                kept, None if shares is None else shares[end - len(block.d) : end], delta, rho
            )
            for kept, block, end in zip(self._kept, self._blocks, ends, strict=True)
        ).values

    def statistics(self) -> SampleStatistics:
        """Sums over all rows of what the bounds and the loss need."""
        answers = [block.statistics() for block in self._blocks]
        return add_up(answers)._replace(
            largest_d=max(answer.largest_d for answer in answers),
            smallest_d=min(answer.smallest_d for answer in answers),
        )
