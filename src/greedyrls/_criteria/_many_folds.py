"""Searches by so many small folds that a model for each would be too expensive.

One feature space and one set of rows serve all folds, as for leave-one-out: `FoldInverses` gives
the errors of a fold that is left out. A step computes the z of all candidates, a tile of folds at a
time, and never keeps more of them: O(m·n·(|S| + s)) for folds of s rows, and memory for
m·min(s, …) numbers, where `FoldSpace` needs 2·K·|S|·n.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base import Float, ask
from .._features import Pivot, Ranking
from .._problem import Folds, Problem
from .._rows import RowBlock, candidate_residuals, leftover_tile
from ._choice import Choice, choose_among, tie_tolerances
from ._fold_inverses import FoldInverses, Rows
from ._loo_data import LooData
from ._state import SelectionState

# Rounding of sums relative to those of the empty model. Candidates that may be as good as the best
# up to this, or up to `_NEAR` times their loss, are computed from their errors.
_FOLD_ROUNDING = 1e-12
_NEAR = 1e-7
# Share of all weights that a fold may have.
_HEAVIEST = 1.0 - 1e-6
# The share of a feature's pivot that must remain outside every fold. With less, leaving that fold
# out cancels twice as many digits in all later steps.
_LEAST_OUTSIDE = 1e-5
# Columns that are not candidates are skipped if they are at least this share.
_FEW = 0.25


class ManyFoldData(LooData):
    """The sums and inverses that searches on the same rows and folds share.

    Every row of positive weight is in exactly one fold, and all other folds train on it.
    """

    def __init__(self, problem: Problem, folds: Folds, is_shared: bool = False) -> None:
        super().__init__(problem, is_shared=is_shared)
        self.folds = folds
        counted = problem.has_weight
        self.tests = [split.test[counted[split.test]] for split in folds.splits]
        self.inverses = FoldInverses(self.tests)
        weights = problem.weights
        weights = np.ones(problem.n_samples) if weights is None else weights
        if problem.fit_intercept:
            # The constant is the first feature: z = √w with pivot Σw.
            self.inverses.add(np.sqrt(weights), float(weights.sum()))
        self.fold_weights = self.inverses.sums(weights[None])[0]  # (K)
        self.by_models: Any = None  # created on demand

    @cached_property
    def _most_inside(self) -> Float:
        """The largest z'M_q z of any fold for each feature, (n); takes a pass over X."""
        (block,) = self.samples.blocks
        nothing = np.empty((0, self.problem.n_features))

        def tile(rows: Rows, columns: Rows | None) -> Float:
            return leftover_tile(
                block, rows, columns, nothing if columns is None else nothing[:, columns]
            )

        return self.inverses.most_inside(tile, self.problem.n_features)

    def is_lost(self, alpha: float) -> bool:
        """Return whether a fold has nearly all of some feature, so that it cannot be left out."""
        whole = self.start.diagonal + alpha
        is_inside = whole - self._most_inside < _LEAST_OUTSIDE * whole
        is_inside[list(self.problem.excluded)] = False
        return bool(is_inside.any())

    @property
    def fold_shares(self) -> Float:
        """The weight of each fold in the loss, (K)."""
        shares: Float = self.fold_weights / self.fold_weights.sum()
        return shares


class ManyFoldState(SelectionState):
    """The state of a search by many folds, with squared loss."""

    data: ManyFoldData

    def __init__(self, data: ManyFoldData, alpha: float, capacity: int) -> None:
        super().__init__(data, alpha, capacity)
        self.features.spread = None
        self.inverses = data.inverses.copy()
        self._measure_folds()
        self.target_energy = self._sums.sum(axis=1)  # (t)

    @property
    def block(self) -> RowBlock:
        """The block of all rows."""
        (block,) = self.samples.blocks
        return block

    def _measure_folds(self) -> None:
        """Set the errors (t × m), scaled by √w, and their sums of squares over folds (t × K)."""
        self.errors = self.inverses.times(self.block.r)
        self._sums = self.inverses.sums(np.square(self.errors))

    def set_sums(self, sums: Float) -> None:
        """Set the sums of squared errors over folds (t × K) after a step of a stepper."""
        self._sums = sums

    @property
    def fold_losses(self) -> Float:
        """The loss on each fold, (K)."""
        losses: Float = self._sums.mean(axis=0) / self.data.fold_weights
        return losses

    @property
    def loss(self) -> float:
        """Held-out loss of the current model: a mean over folds, by their weight."""
        return self.mean_loss(float(self._sums.sum()))

    @property
    def standard_error(self) -> float:
        """Standard error of the loss as a mean over folds."""
        shares = self.data.fold_shares
        squares = float(np.square(shares * (self.fold_losses - self.loss)).sum())
        return math.sqrt(squares * len(shares) / (len(shares) - 1))

    def _move(self, index: int, beta: Float, pivot: Pivot, along: Float | None) -> None:
        z = np.concatenate(self.samples.pieces(index, beta[:, None]))
        self.inverses.add(z, pivot.delta)
        super()._move(index, beta, pivot, along)

    def add(self, index: int, pivot: Pivot, ranking: Ranking, remaining: int) -> None:
        """Add a feature to the models of all folds."""
        super().add(index, pivot, ranking, remaining)
        if self.inverses.renew(self._pivots):
            self.rebuilds += 1
        self._measure_folds()

    def _pivots(self, rows: Rows) -> Float:
        """Return q_s of the intercept and the chosen features in rows, (rows × k)."""
        block = self.block
        columns = np.empty((self.size, len(rows)))
        for positions, part in block.columns.chosen(block.chosen, rows):
            columns[positions] = part
        pivots = [self.features.model.inverse @ columns]
        if self.problem.fit_intercept:
            root = block.positive_root()[rows] / math.sqrt(self.start.total_weight)
            pivots.append(root[None])
        return np.concatenate(pivots).T

    def sums(self, candidates: NDArray[np.intp]) -> Float:
        """Return held-out sums of squares with each candidate added, (t × c), in a pass over X."""
        self.samples.passes += 1
        self.samples.exact_evaluations += len(candidates)
        features, block, n = self.features, self.block, self.problem.n_features
        is_whole = len(candidates) > (1.0 - _FEW) * n
        order = np.arange(n) if is_whole else candidates
        beta = features.coefficients(order).beta

        def tile(rows: Rows, columns: Rows | None) -> Float:
            if columns is None:
                return leftover_tile(block, rows, None if is_whole else order, beta)
            return leftover_tile(block, rows, order[columns], beta[:, columns])

        sums = self.inverses.losses(
            tile, block.r, self.errors, features.delta[order], features.tau[:, order]
        )
        return sums[:, candidates] if is_whole else sums

    def measured_sums(self, candidates: NDArray[np.intp]) -> Float:
        """Return the same sums from δ and τ measured on the rows, computed from errors, (t × c)."""
        parts = []
        for first in range(0, len(candidates), self.samples.group):
            chunk = candidates[first : first + self.samples.group]
            beta, penalty, shrinkage = self.features.coefficients(chunk)
            (Z,) = self.samples.each(ask(candidate_residuals, chunk, beta))
            self.samples.exact_evaluations += len(chunk)
            delta = np.square(Z).sum(axis=1) + penalty
            tau = self.block.r @ Z.T + shrinkage

            def tile(rows: Rows, columns: Rows | None, Z: Float = Z) -> Float:
                return Z[:, rows].T if columns is None else Z[np.ix_(columns, rows)].T

            parts.append(
                self.inverses.losses(tile, self.block.r, self.errors, delta, tau, is_careful=True)
            )
        return np.concatenate(parts, axis=1)


class ManyFoldLoss:
    """The criterion that minimises the held-out loss over many folds, scoring every candidate."""

    def least(self, state: ManyFoldState) -> float:
        """Return −inf: no bound is available before the losses are computed."""
        return -math.inf

    def choose(
        self, state: ManyFoldState, n_runners_up: int, remaining: int, by_cost: bool = True
    ) -> Choice:
        """The best candidate with its runners-up."""
        candidates = state.candidates
        sums = state.sums(candidates)
        losses = sums.sum(axis=0)
        finite = np.where(losses < np.inf, losses, np.inf)  # NaN: too little is left of it
        count = min(n_runners_up, len(finite) - 1)
        reached = max(0.0, float(np.partition(finite, count)[count]))
        scale = float(state.target_energy.sum())
        # The recurrences have δ and τ to rounding of A_ii, and sums lose differences far below the
        # previous loss: candidates that may be the best, or runners-up, are measured.
        near = finite <= reached * (1.0 + _NEAR) + _FOLD_ROUNDING * scale
        near |= state.features.untrusted()[candidates]
        (positions,) = near.nonzero()
        sums[:, positions] = state.measured_sums(candidates[positions])
        losses = sums.sum(axis=0)
        with np.errstate(invalid="ignore"):
            tolerances = tie_tolerances(np.maximum(sums, 0.0), state.target_energy)
        return choose_among(candidates, losses, tolerances, n_runners_up)


def suits_many_folds(problem: Problem, folds: Folds) -> bool:
    """Return whether each row of positive weight is in one fold and all other splits train on it.

    Also, no fold may have nearly all of the weight: the rest would be lost in rounding.
    """
    counted, weights = problem.has_weight, problem.host_weights
    weights = np.ones(problem.n_samples) if weights is None else weights
    tested = np.zeros(problem.n_samples, dtype=np.intp)
    for split in folds.splits:
        tested[split.test] += 1
    heaviest = max(float(weights[split.test].sum()) for split in folds.splits)
    return (
        folds.n_splits > 1
        and all(split.is_complement for split in folds.splits)
        and bool((tested[counted] == 1).all())
        and heaviest <= _HEAVIEST * float(weights.sum())
    )
