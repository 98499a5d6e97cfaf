"""Sample space: row blocks, and the few questions whose answers are added up over them.

A block holds its rows of X and its piece of the residuals r and of d = 1 − h. It answers

* ``target_sums`` and ``start_sums``: what the driver needs before the first step,
* ``products``: Gram columns X'x_b, and X'(ω∘r), in one pass over its rows,
* ``statistics``: sums that describe r and h,
* ``residuals``: z_i for some candidates, which stay where the block is,
* ``advance``: the block after a feature was added. A block is a value: this returns a new one.

`SampleSpace` asks all blocks and adds up. Only vectors of feature space pass between the two.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from . import _kernels as kernels
from ._columns import ColumnStore
from ._kernels import Float

# A mean is far out if its square is this many times the variance.
_FAR = 1e4
# Rows multiplied at a time with gathered columns: enough for a matrix product to run at speed.
_PRODUCT_ROWS = 4096
# Elements of Z made at a time while candidates are scored (4 MiB): keeps temporaries small.
_SCORE_ELEMENTS = 1 << 19


Answer = TypeVar("Answer")


def _total(answers: Iterable[Answer]) -> Answer:
    """The answers of all blocks, added up."""
    return functools.reduce(operator.add, answers)


class StartSums(NamedTuple):
    """Sums over all rows before the first step: the start of feature space."""

    total_weight: float
    means: Float  # (n) weighted means of the features; zeros without an intercept
    target_means: Float  # (t)
    diagonal: Float  # (n) ‖x_i‖² of the centred, weighted columns
    correlation: Float  # (t × n) x_i · y


class SampleStatistics(NamedTuple):
    """What the driver knows of r and h after a step: sums over rows, with g = ω∘r.

    a is the anchor: g at the last pass that computed X'g, without its parts along the features
    added since. There is none before the first such pass; its sums are then 0.
    """

    r_r: Float  # (t)
    g_r: Float  # (t) Σ ω r²: the leave-one-out sum of the current model
    g_g: Float  # (t)
    a_r: Float  # (t)
    a_g: Float  # (t)
    a_a: Float  # (t)
    largest_d: float
    loss_squares: float  # Σ_j v_j², v_j = w_j · (mean over targets of the squared LOO error)
    loss_weights: float  # Σ_j v_j w_j


@dataclass(frozen=True, slots=True)
class RowBlock:
    """Rows of X with their piece of r (t × rows) and d (rows)."""

    X: NDArray[np.generic]
    r: Float
    d: Float
    weights: Float | None
    root_weights: Float | None
    means: Float | None
    columns: ColumnStore
    anchor: Float | None = None  # (t × rows)

    @classmethod
    def from_rows(cls, X: NDArray[np.generic], Y: Float, weights: Float | None) -> RowBlock:
        """A block before the start: r is still the raw targets, nothing is centred."""
        root = None if weights is None else np.sqrt(weights)
        r = np.ascontiguousarray(Y.T)
        return cls(X, r, np.ones(len(X)), weights, root, None, ColumnStore(X, root, None))

    def target_sums(self) -> tuple[float, Float]:
        """Σw and Σ w y."""
        if self.weights is None:
            return float(len(self.d)), self.r.sum(axis=1)
        return float(self.weights.sum()), self.r @ self.weights

    def start_sums(self, target_means: Float) -> tuple[Float, Float]:
        """[Σ w (y − mean) x; Σ w x] (t+1 × n) and Σ w x² (n): one pass."""
        weights = np.ones(len(self.d)) if self.weights is None else self.weights
        vectors = np.vstack([(self.r - target_means[:, None]) * weights, weights])
        return kernels.start_sums(vectors, self.X, self.weights)

    def begin(
        self, target_means: Float, means: Float | None, total_weight: float | None
    ) -> RowBlock:
        """The block at the empty model; a total weight means that there is an intercept."""
        r = self.r - target_means[:, None]
        d = np.ones(len(self.d))
        if total_weight is not None:
            d -= (1.0 if self.weights is None else self.weights) / total_weight
        if self.root_weights is not None:
            r *= self.root_weights
        return replace(
            self, r=r, d=d, means=means, columns=ColumnStore(self.X, self.root_weights, means)
        )

    def anchored(self) -> RowBlock:
        """The block with g = ω∘r as its new anchor."""
        return replace(self, anchor=self.r / (self.d * self.d))

    def products(self, indices: Sequence[int], with_anchor: bool) -> tuple[Float, Float]:
        """v'X and Σv (X not centred) for v the named columns, then the anchor if asked for.

        Columns are gathered a few rows at a time, just before those rows are multiplied: they are
        in the cache then, and B whole columns of X are never copied.
        """
        order = np.array(indices, dtype=np.intp)
        parts = [
            self._row_products(order, with_anchor, slice(top, top + _PRODUCT_ROWS))
            for top in range(0, len(self.d), _PRODUCT_ROWS)
        ]
        return _total(product for product, _ in parts), _total(total for _, total in parts)

    def _row_products(
        self, order: NDArray[np.intp], with_anchor: bool, rows: slice
    ) -> tuple[Float, Float]:
        """`products` of some rows."""
        vectors = [self.columns.fresh(order, rows)] if len(order) else []
        if with_anchor and self.anchor is not None:
            vectors.append(self.anchor[:, rows])
        V = vectors[0] if len(vectors) == 1 else np.concatenate(vectors)
        if self.root_weights is not None:
            V = V * self.root_weights[rows]
        return kernels.product(V, self.X[rows]), V.sum(axis=1)

    def residuals(self, indices: NDArray[np.intp], beta: Float) -> Float:
        """z_i = x_i − X_S β_i for the candidates, (c × rows)."""
        Z = self.columns.get(indices)
        if len(beta):
            self.columns.subtract_chosen(Z, beta)
        return Z

    def advance(
        self, index: int, z: Float, delta: float, rho: Float, along: Float | None
    ) -> RowBlock:
        """The block with the feature added: r ← r − z ρ, h ← h + z²/δ, a ← a − z (a·z)/‖z‖²."""
        self.columns.choose(index)
        r = self.r - rho[:, None] * z
        d = self.d - (z * z) / delta
        anchor = self.anchor
        if anchor is not None and along is not None:
            anchor = anchor - along[:, None] * z
        return RowBlock(
            self.X, r, d, self.weights, self.root_weights, self.means, self.columns, anchor
        )

    def statistics(self) -> SampleStatistics:
        """This block's share of what the driver must know of r and h."""
        r, d, a = self.r, self.d, self.anchor
        error = r / d
        g = error / d
        g_r = np.vecdot(error, error)
        losses = np.square(error[0]) if len(r) == 1 else np.vecdot(error.T, error.T) / len(r)
        if self.weights is None:
            largest, weighted = float(d.max()), float(g_r.sum()) / len(r)
        else:
            # A row of weight 0 has z = 0 whatever the feature: its leverage bounds nothing.
            largest = float(np.max(d, where=self.weights > 0, initial=0.0))
            weighted = float(losses @ self.weights)
        none = np.zeros(len(r))
        return SampleStatistics(
            np.vecdot(r, r),
            g_r,
            np.vecdot(g, g),
            none if a is None else np.vecdot(a, r),
            none if a is None else np.vecdot(a, g),
            none if a is None else np.vecdot(a, a),
            largest,
            float(losses @ losses),
            weighted,
        )


class Scores(NamedTuple):
    """Exact leave-one-out sums of some candidates, and what was measured on the way."""

    losses: Float  # (c) Σ over rows and targets of the squared LOO error
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
    """All row blocks: asks each the same question and adds up the answers."""

    def __init__(self, blocks: Iterable[RowBlock]) -> None:
        self._blocks = list(blocks)
        self._means: Float | None = None
        self._has_far_means = False
        self._latest: _Latest | None = None
        self.passes = 0
        self.exact_evaluations = 0
        rows = max(len(block.d) for block in self._blocks)
        self._group = max(1, _SCORE_ELEMENTS // max(1, rows))

    def start(self, fit_intercept: bool) -> StartSums:
        """One pass: what feature space starts from; blocks move to the empty model."""
        total = _total(block.target_sums()[0] for block in self._blocks)
        target_means = _total(block.target_sums()[1] for block in self._blocks) / total
        if not fit_intercept:
            target_means = np.zeros_like(target_means)
        self.passes += 1
        answers = [block.start_sums(target_means) for block in self._blocks]
        product = _total(products for products, _ in answers)
        diagonal = _total(squares for _, squares in answers)
        correlation, weighted = product[:-1], product[-1]
        means = weighted / total if fit_intercept else np.zeros_like(weighted)
        self._blocks = [
            block.begin(target_means, means, total)
            if fit_intercept
            else block.begin(target_means, None, None)
            for block in self._blocks
        ]
        if fit_intercept:
            self._means = means
            diagonal = self._centre(diagonal, correlation, means, total)
            self._has_far_means = bool((total * means**2 > _FAR * diagonal).any())
        return StartSums(total, means, target_means, diagonal, correlation)

    def _centre(self, diagonal: Float, correlation: Float, means: Float, total: float) -> Float:
        """‖x_i‖² after centring; columns whose mean dwarfs their spread are summed anew."""
        centred = diagonal - total * means * means
        # Below this share of the raw sum, more than five digits have cancelled.
        doubtful = np.flatnonzero(centred < 1e-5 * diagonal)
        for first in range(0, len(doubtful), self._group):
            some = doubtful[first : first + self._group]
            columns = [block.columns.get(some) for block in self._blocks]
            centred[some] = _total(np.vecdot(column, column) for column in columns)
            correlation[:, some] = _total(
                block.r @ column.T for block, column in zip(self._blocks, columns, strict=True)
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
        answers = [block.products(indices, new_anchor) for block in self._blocks]
        result = _total(product for product, _ in answers)
        if self._means is not None:
            first = 0 if self._has_far_means else len(indices)
            sums = _total(total for _, total in answers)
            result[first:] -= sums[first:, None] * self._means
        return result

    def score(
        self, indices: NDArray[np.intp], beta: Float, penalty: Float, shrinkage: Float
    ) -> Scores:
        """Exact leave-one-out sums of candidates.

        beta (|S| × c) are their coefficients on the chosen features; penalty (c) is
        P_ii + β'Pβ and shrinkage (t × c) is w'Pβ: δ and τ are computed from the rows themselves,
        as ‖z‖² + P_ii + β'Pβ and r·z + w'Pβ, where errors of β are of second order.
        """
        self.exact_evaluations += len(indices)
        if len(indices) <= self._group:
            return self._score_group(indices, beta, penalty, shrinkage)
        parts = []
        for first in range(0, len(indices), self._group):
            some = slice(first, first + self._group)
            parts.append(
                self._score_group(indices[some], beta[:, some], penalty[some], shrinkage[:, some])
            )
        return Scores(*(np.concatenate(arrays, axis=-1) for arrays in zip(*parts, strict=True)))

    def _score_group(
        self, indices: NDArray[np.intp], beta: Float, penalty: Float, shrinkage: Float
    ) -> Scores:
        """As many candidates as temporaries are made for at a time."""
        blocks = self._blocks
        Z = [block.residuals(indices, beta) for block in blocks]
        norms = _total(np.vecdot(z, z) for z in Z)
        correlations = _total(block.r @ z.T for block, z in zip(blocks, Z, strict=True))
        delta = norms + penalty
        rho = (correlations + shrinkage) / delta
        answers = [
            kernels.loo_losses(z, block.r, block.d, delta, rho)
            for block, z in zip(blocks, Z, strict=True)
        ]
        losses, mixed, fourth = (_total(sums) for sums in zip(*answers, strict=True))
        row = int(losses.argmin())
        loss = float(losses[row])
        if self._latest is None or loss < self._latest.loss:
            # Very likely the one that will be added: spares making its z again.
            self._latest = _Latest(int(indices[row]), loss, [z[row] for z in Z])
        return Scores(losses, delta, rho, norms, correlations, mixed, fourth)

    def remembers(self, index: int) -> bool:
        """Whether this candidate's z is still there from scoring it."""
        return self._latest is not None and self._latest.feature == index

    def advance(
        self, index: int, beta: Float | None, delta: float, rho: Float, along: Float | None
    ) -> None:
        """Add a feature; beta (|S| × 1) may be left out if its z is remembered.

        along (t) is (a·z)/‖z‖² if there is an anchor a.
        """
        if beta is None and self._latest is not None:
            pieces = self._latest.pieces
        elif beta is not None:
            order = np.array([index])
            pieces = [block.residuals(order, beta)[0] for block in self._blocks]
        self._latest = None
        self._blocks = [
            block.advance(index, z, delta, rho, along)
            for block, z in zip(self._blocks, pieces, strict=True)
        ]

    def statistics(self) -> SampleStatistics:
        """Sums over all rows of what the bounds and the loss need."""
        answers = [block.statistics() for block in self._blocks]
        if len(answers) == 1:
            return answers[0]
        total = SampleStatistics(*(_total(values) for values in zip(*answers, strict=True)))
        return total._replace(largest_d=max(answer.largest_d for answer in answers))
