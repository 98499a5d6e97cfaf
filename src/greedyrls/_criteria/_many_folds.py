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

from .._base import Float, ask, batches
from .._features import Pivot
from .._problem import Folds, Loss, Problem
from .._rows import RowBlock, candidate_residuals, leftover_tile, removed_columns, tiles
from ._choice import Judge, finite_losses
from ._every_candidate import may_be_best
from ._fold_inverses import FoldInverses, Rows, Tile
from ._loo_data import LooData
from ._search_state import FoldMeans, Held, mean_losses, removals_of
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


class FoldOrder:
    """The rows that are in folds, one fold after the other."""

    def __init__(self, tests: list[Rows]) -> None:
        self.rows: Rows = np.concatenate(tests)
        sizes = [len(test) for test in tests]
        self.starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    @property
    def parts(self) -> list[slice]:
        """The rows of each fold."""
        return [slice(*ends) for ends in zip(self.starts[:-1], self.starts[1:], strict=True)]


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
    def order(self) -> FoldOrder:
        """The rows of all folds, for compiled code."""
        return FoldOrder(self.tests)

    @cached_property
    def start_errors(self) -> Float:
        """The held-out errors of the model without features, (t × rows) in that order."""
        (block,) = self.samples.blocks
        return np.ascontiguousarray(self.inverses.times(block.r)[:, self.order.rows])

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

    def row_shares(self, loss: Loss) -> Float:
        """Return the share of each row in a loss that is a mean over the rows of a fold, (m)."""
        (block,) = self.samples.blocks
        weights, shares = block.filled_weights(), np.zeros(block.n_rows)
        for split, share in zip(self.folds.splits, self.fold_shares, strict=True):
            rows = split.test[weights[split.test] > 0.0]
            shares[rows] = share * loss.sample_weights(block.y[:, rows].T, weights[rows])
        return shares

    @property
    def fold_shares(self) -> Float:
        """The weight of each fold in the loss, (K)."""
        shares: Float = self.fold_weights / self.fold_weights.sum()
        return shares


class ManyFoldState(FoldMeans, SelectionState):
    """The state of a search by many folds."""

    data: ManyFoldData
    fold_losses: Float
    checks_losses_of_folds = True
    _largest_d = 1.0

    def __init__(self, data: ManyFoldData, alpha: float, loss: Loss, capacity: int) -> None:
        super().__init__(data, alpha, capacity, loss)
        self.shares = data.fold_shares
        self.features.spread = None
        self.inverses = data.inverses.copy()
        self._is_squared = loss.name == "squared"
        self._row_shares = None if self._is_squared else data.row_shares(loss)
        self._measure_folds()
        self.target_energy = np.square(self.errors).sum(axis=1)  # (t)
        self.initial_loss = abs(self.loss)

    @property
    def block(self) -> RowBlock:
        """The block of all rows."""
        (block,) = self.samples.blocks
        return block

    def _measure_folds(self) -> None:
        """Set the errors (t × m), scaled by √w, and the loss on each fold."""
        block = self.block
        self.errors = self.inverses.times(block.r)
        if self._row_shares is None:
            squares = self.inverses.sums(np.square(self.errors))
            self.fold_losses = squares.mean(axis=0) / self.data.fold_weights
        else:
            P = block.y - self.errors / block.positive_root()
            losses = self.criterion_loss.sample_losses(block.y.T, P[:, None]) * self._row_shares
            self.fold_losses = self.inverses.sums(losses)[0] / self.shares

    def _move(self, index: int, beta: Float, pivot: Pivot, along: Float | None) -> None:
        z = np.concatenate(self.samples.pieces(index, beta[:, None]))
        self.inverses.add(z, pivot.delta)
        super()._move(index, beta, pivot, along)

    def _place(self, order: list[int], columns: Float, inverse: Float, held: Held | None) -> None:
        super()._place(order, columns, inverse, held)
        self.inverses = self.data.inverses.copy()
        for q in self._pivots(np.arange(self.block.n_rows)).T[: len(order)]:
            self.inverses.add(q, 1.0)

    def _measure(self) -> None:
        super()._measure()
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

    def _tiles_of(self, candidates: NDArray[np.intp]) -> tuple[Tile, Float, Float]:
        """Return a function that computes z of candidates, and their δ (c) and τ (t × c)."""
        features, block, n = self.features, self.block, self.problem.n_features
        is_whole = len(candidates) == n
        beta = features.beta_of(candidates)

        def tile(rows: Rows, columns: Rows | None) -> Float:
            if columns is None:
                return leftover_tile(block, rows, None if is_whole else candidates, beta)
            return leftover_tile(block, rows, candidates[columns], beta[:, columns])

        return tile, features.delta[candidates], features.tau[:, candidates]

    def candidate_losses(
        self, candidates: NDArray[np.intp], judge: Judge, count: int
    ) -> tuple[Float, Float]:
        """Return mean losses with each candidate added, and tolerances of ties: a pass over X."""
        self.samples.passes += 1
        self.samples.exact_evaluations += len(candidates)
        # Columns that are no candidates are computed as well if they are few.
        n = self.problem.n_features
        is_whole = len(candidates) > (1.0 - _FEW) * n
        arguments = self._tiles_of(np.arange(n) if is_whole else candidates)
        kept = candidates if is_whole else slice(None)
        if not self._is_squared:
            losses = self._mean_losses(*arguments)[kept]
            return losses, self.tolerances(losses)
        sums = self._squares(*arguments)[:, kept]
        losses, tolerances = finite_losses(*mean_losses(self, sums))
        # The recurrences have δ and τ to rounding of A_ii: candidates that may be the best, or
        # runners-up, are measured.
        wide = tolerances + _NEAR * np.maximum(losses, 0.0)
        rounding = _FOLD_ROUNDING * float(self.target_energy.sum()) / self.loss_weight
        near = may_be_best(judge, candidates, losses, wide, count, rounding)
        near |= self.features.untrusted()[candidates]
        sums[:, near] = self._measured_squares(candidates[near])
        return mean_losses(self, sums)

    def _squares(self, tile: Tile, delta: Float, tau: Float) -> Float:
        """Return held-out sums of squares with each candidate added, from its errors, (t × c)."""
        total = np.zeros(tau.shape)
        arguments = tile, self.block.r, self.errors, delta, tau
        for _, columns, errors in self.inverses.errors(*arguments):
            total[:, columns] += np.einsum("trc,trc->tc", errors, errors)
        return total

    def _measured_squares(self, candidates: NDArray[np.intp]) -> Float:
        """Return the same with δ and τ measured on the rows."""
        parts = [np.empty((self.problem.n_targets, 0))]
        for chunk in batches(candidates, self.samples.group):
            beta, penalty, shrinkage = self.features.coefficients(chunk)
            (Z,) = self.samples.each(ask(candidate_residuals, chunk, beta))
            self.samples.exact_evaluations += len(chunk)

            def tile(rows: Rows, columns: Rows | None, Z: Float = Z) -> Float:
                return Z[:, rows].T if columns is None else Z[np.ix_(columns, rows)].T

            delta = np.square(Z).sum(axis=1) + penalty
            parts.append(self._squares(tile, delta, self.block.r @ Z.T + shrinkage))
        return np.concatenate(parts, axis=1)

    def _mean_losses(self, tile: Tile, delta: Float, tau: Float) -> Float:
        """Return a loss that is a mean over the rows of a fold, with each candidate added, (c)."""
        block, shares = self.block, self._row_shares
        assert shares is not None
        kind = self.criterion_loss.name.removeprefix("balanced_")
        total, root = np.zeros(len(delta)), block.positive_root()
        arguments = tile, block.r, self.errors, delta, tau
        for rows, columns, errors in self.inverses.errors(*arguments):
            is_lost = np.isnan(errors).any(axis=(0, 1))
            errors /= root[rows, None]
            sums = tiles.error_sums(kind, errors, block.y[:, rows], shares[rows])
            sums[is_lost] = np.nan
            total[columns] += sums
        return total

    def squared_losses(self, candidates: NDArray[np.intp]) -> Float:
        """Return squared losses of candidates, (c), to break ties of the criterion's loss."""
        self.samples.passes += 1
        return mean_losses(self, self._squares(*self._tiles_of(candidates)))[0]

    def removal_losses(self, positions: NDArray[np.intp]) -> tuple[Float, Float]:
        """Exact losses without some of the chosen features, and the tolerances of ties."""
        beta, delta, rho, _ = removals_of(self, positions)
        block = self.block

        def tile(rows: Rows, columns: Rows | None) -> Float:
            return removed_columns(block, beta if columns is None else beta[:, columns], rows).T

        arguments = tile, -delta, rho * delta
        if self._is_squared:
            return mean_losses(self, self._squares(*arguments))
        losses = self._mean_losses(*arguments)
        return losses, self.tolerances(losses)


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
