"""Backward elimination: the model on all features, and the models without each of them.

With W = X A⁻¹, v = diag A⁻¹ and w the coefficients, the model without s has r + W_s w_s/v_s and
d + W_s²/v_s: the losses of all removals cost O(m·n). A removal then subtracts the part along W_s
from all others, W ← W − W_s (A⁻¹)_s·/v_s, which costs as much again (docs/theory.md, "Directions").
Features are the rows of arrays here, one for each that is left; when one is removed, the last row
moves to its position.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from .._base import (
    SMALLEST_D,
    Float,
    long_call,
)
from .._data import physical_bytes
from .._problem import Folds, Loss, Problem, layout_of
from ..path import FeatureSet, Moments
from ._backward_fit import BackwardFit
from ._backward_rows import BackwardRows, n_at_start
from ._choice import NumericalLimit, fold_error, mean_tolerances, tie_tolerances
from ._search_state import chosen_groups

Rows = NDArray[np.intp]

# Everything is recomputed after so many removals, or this share of the features that were left.
_LEAST_REMOVALS, _SHARE_OF_REMOVALS = 32, 0.25
# A removal after which some (A⁻¹)_ii is this much smaller has cancelled digits: recompute at once.
_CANCELLED = 1e-3
# From as many times as many features as rows on, A⁻¹ is not kept, unless digits would be lost and
# there are no more features than this.
_WIDE, _MOST_SQUARE = 4, 6000
# With more features than rows, a smaller 1 − h is not computed as a difference from 1.
_SMALL_D = 1e-4


def _factor(X: Float, alpha: float) -> tuple[Float, Float]:
    """Return R⁻¹ and Q (features × rows) with [X; √α] = QR, for columns X (features × rows).

    Products of columns would lose half the digits of a feature that others nearly span.
    """
    count, m = X.shape
    stacked = np.zeros((m + count, count), order="F")
    stacked[:m] = X.T
    stacked[m:][np.diag_indices(count)] = math.sqrt(alpha)
    Q, R = linalg.qr(stacked, overwrite_a=True, mode="economic", check_finite=False)
    inverse = linalg.solve_triangular(R, np.eye(count), check_finite=False)
    return inverse, Q[:m].T


def _dual(X: Float, alpha: float, unit: Float | None) -> tuple[Float, float]:
    """Return (XX' + αI)⁻¹ of columns (features × rows), and its eigenvalue along the constant.

    Along the constant centred columns leave only the penalty, whose inverse would dwarf the rest;
    the eigenvalue of XX' + αI there is set to its trace.
    """
    K = X.T @ X
    K[np.diag_indices(len(K))] += alpha
    along = alpha
    if unit is not None:
        along = float(np.trace(K))
        K += (along - alpha) * np.outer(unit, unit)
    inverse = linalg.cho_solve(linalg.cho_factor(K, lower=True), np.eye(len(K)))
    return 0.5 * (inverse + inverse.T), 1.0 / along


def _shares_of(loss: Loss, Y: Float, weights: Float | None) -> Float | None:
    return loss.sample_weights(Y, weights) if loss.is_additive else None


def _total_weight(training: BackwardRows) -> float:
    weights = training.weights
    return float(len(training.rows) if weights is None else weights.sum())


def _by_rows(X: Float, alpha: float, training: BackwardRows) -> tuple[Float | None, Float | None]:
    """Return A⁻¹ and the coefficients by products of rows: cheap if features outnumber rows.

    A⁻¹ is a difference from 1/α; (None, None) is returned where some features dwarf the others
    and the difference cancels.
    """
    dual, _ = _dual(X, alpha, training.unit)
    on_rows = X @ dual
    A = on_rows @ X.T
    A *= -1.0
    A[np.diag_indices(len(A))] += 1.0
    if len(A) <= _MOST_SQUARE and np.diag(A).min() < _CANCELLED:
        return None, None
    A /= alpha
    return 0.5 * (A + A.T), on_rows @ training.y.T


class BackwardState:
    """The state of a backward search."""

    def __init__(self, problem: Problem, loss: Loss, folds: Folds | None, alpha: float) -> None:
        self.problem = problem
        self.layout = layout_of(problem)
        self.alpha = alpha
        self.criterion_loss = loss
        self._folds = folds
        self.selected = np.setdiff1d(np.arange(problem.n_features), problem.excluded).tolist()
        _check_memory(problem, folds)
        self._all = BackwardRows(problem, np.arange(problem.n_samples))
        self._training: list[BackwardRows] = []
        self._tested: list[Rows] = []
        if folds is not None:
            self._training = [BackwardRows(problem, split.train) for split in folds.splits]
            self._tested = [_weighted(problem, split.test) for split in folds.splits]
        self.passes = self.exact_evaluations = self.rebuilds = 0
        self._removed = 0  # since everything was recomputed
        weights = [
            len(rows) if problem.weights is None else problem.weights[rows].sum()
            for rows in self._tested
        ]
        self._shares = np.ones(1) if folds is None else np.array(weights) / np.sum(weights)
        self._scales = np.square(self._all.y).sum(axis=1)
        self.initial_loss = self._empty_loss()
        with np.errstate(over="ignore", invalid="ignore"):
            self._make()
        self._measure()

    @property
    def size(self) -> int:
        """The number of features that are left."""
        return len(self.selected)

    def _make(self) -> None:
        """Recompute everything for the features that are left: one factorisation per model."""
        self.passes += 1
        self._removed = 0
        self._size_made = self.size
        try:
            with long_call(float(self.size) ** 2 * self.problem.n_samples):
                self._fit()
        except np.linalg.LinAlgError as error:
            raise NumericalLimit("the features are dependent up to rounding") from error

    def _fit(self) -> None:
        if self._folds is None:
            self._fits = [self._leave_one_out()]
        else:
            self._fits = [self._split(number) for number in range(len(self._tested))]

    def _leave_one_out(self) -> BackwardFit:
        """Fit the model by products of rows if features far outnumber them, else by A⁻¹.

        Products of rows give (A⁻¹)_ii as a difference from 1/α, which is accurate unless some
        features dwarf the others and the difference cancels.
        """
        rows = self._all
        X, _ = rows.columns(self.selected)
        if len(X) > _WIDE * X.shape[1]:
            fit = self._wide(X)
            if fit.v.min() * self.alpha >= _CANCELLED or len(X) > _MOST_SQUARE:
                return fit
        inverse, Q = _factor(X, self.alpha)
        steps = Q @ rows.y.T
        r, d = rows.y - steps.T @ Q, 1.0 - np.einsum("ij,ij->j", Q, Q)
        unit = rows.unit
        if unit is not None:
            d -= unit * unit
        if len(X) >= X.shape[1] and d.min() < _SMALL_D:
            r, d, _ = self._dual_model(X)
        elif d.min() < SMALLEST_D:
            raise NumericalLimit("a sample's leverage is 1 up to rounding")
        v = np.einsum("ij,ij->i", inverse, inverse)
        A = inverse @ inverse.T
        W, w = inverse @ Q, inverse @ steps
        return BackwardFit(*self._targets(), rows.root, W, v, w, r, d, A, None, self.alpha)

    def _targets(self) -> tuple[Float, Float | None, Float | None]:
        """Return targets, weights and shares of the rows of leave-one-out."""
        rows = self._all
        Y = self.problem.Y[rows.rows]
        return (
            np.ascontiguousarray(Y.T),
            rows.weights,
            _shares_of(self.criterion_loss, Y, rows.weights),
        )

    def _dual_model(self, X: Float) -> tuple[Float, Float, Float]:
        """Return r, d and (XX' + αI)⁻¹; no digits of d are lost where it is small."""
        unit = self._all.unit
        dual, along = _dual(X, self.alpha, unit)
        d = self.alpha * np.diag(dual)
        if unit is not None:
            d -= self.alpha * along * unit * unit
        return self.alpha * (self._all.y @ dual), d, dual

    def _wide(self, X: Float) -> BackwardFit:
        rows = self._all
        r, d, dual = self._dual_model(X)
        W = X @ dual
        v = (1.0 - np.einsum("ij,ij->i", X, W)) / self.alpha
        return BackwardFit(
            *self._targets(), rows.root, W, v, W @ rows.y.T, r, d, None, X, self.alpha
        )

    def _test_targets(self, number: int) -> tuple[Float, Float | None, Float | None]:
        """Return targets, weights and shares of the rows that a split tests."""
        tested, weights = self._tested[number], self.problem.weights
        Y, weights = self.problem.Y[tested], None if weights is None else weights[tested]
        return np.ascontiguousarray(Y.T), weights, _shares_of(self.criterion_loss, Y, weights)

    def _split(self, number: int) -> BackwardFit:
        training, tested = self._training[number], self._tested[number]
        X, means = training.columns(self.selected)
        others = training.others(self.selected, tested, means)
        A, w = _by_rows(X, self.alpha, training) if len(X) >= X.shape[1] else (None, None)
        if A is None or w is None:
            inverse, Q = _factor(X, self.alpha)
            w = inverse @ (Q @ training.y.T)
            A = inverse @ inverse.T
        targets = self._test_targets(number)
        r = targets[0] - training.target_means[:, None] - w.T @ others
        return BackwardFit(
            *targets, None, A @ others, np.diag(A).copy(), w, r, None, A, None, self.alpha
        )

    def _empty_loss(self) -> float:
        """Return the loss of the model without features."""
        rows, loss = self._all, self.criterion_loss
        if self._folds is None:
            Y = self.problem.Y[rows.rows]
            errors = rows.y / (1.0 if rows.unit is None else 1.0 - rows.unit**2)
            predictions = Y.T - (errors if rows.root is None else errors / rows.root)
            return float(loss.values(Y, predictions[:, None], rows.weights)[0])
        values = []
        for training, tested in zip(self._training, self._tested, strict=True):
            Y = self.problem.Y[tested]
            weights = None if self.problem.weights is None else self.problem.weights[tested]
            predictions = np.repeat(training.target_means[:, None], len(tested), axis=1)
            values.append(float(loss.values(Y, predictions[:, None], weights)[0]))
        return float(self._shares @ values)

    def _measure(self) -> None:
        """Set the loss of the current model and its standard error."""
        loss = self.criterion_loss
        values = [
            float(loss.values(fit.y.T, fit.predictions()[:, None], fit.weights)[0])
            for fit in self._fits
        ]
        self.fold_losses = None if self._folds is None else np.array(values)
        self.loss = float(self._shares @ values)
        if not math.isfinite(self.loss):
            raise NumericalLimit("the loss is not finite")
        if self._folds is not None:
            self.standard_error = fold_error(self._shares, np.array(values))
            return
        (fit,) = self._fits
        covariance = loss.covariance(fit.y.T, fit.predictions()[:, None], fit.weights)
        self.standard_error = (
            math.nan if covariance is None else math.sqrt(max(0.0, float(covariance[0, 0])))
        )

    def removal_bounds(self) -> None:
        """Return None: all losses are computed together."""

    def removal_losses(self, positions: NDArray[np.intp]) -> tuple[Float, Float]:
        """Exact losses without some of the features or groups, and the tolerances of ties."""
        self.exact_evaluations += len(positions)
        is_squared = self.criterion_loss.name == "squared"
        by_fit = self._losses_by_fit(positions)
        if self._folds is None and is_squared:
            weight = _total_weight(self._all) * self.problem.n_targets
            tolerances = tie_tolerances(by_fit[0], self._scales) / weight
            return by_fit[0].sum(axis=0) / weight, tolerances
        losses = self._shares @ np.concatenate(by_fit)
        return losses, mean_tolerances(losses, abs(self.initial_loss), is_squared)

    def _losses_by_fit(self, positions: NDArray[np.intp]) -> list[Float]:
        """Return losses without some features or groups, (t × c) or (1 × c) for each model."""
        loss = self.criterion_loss
        if self.layout.is_single:
            return [fit.losses(loss)[:, positions] for fit in self._fits]
        groups = chosen_groups(self, positions)
        return [fit.group_losses(loss, groups) for fit in self._fits]

    def remove(self, features: Sequence[int]) -> None:
        """Take a feature, or the columns of a group, out of all models."""
        kept = 1.0
        for index in features:
            position = self.selected.index(index)
            kept = min(kept, *(fit.remove(position) for fit in self._fits))
            self._drop(position)
        self._removed += len(features)
        is_wide = self._fits[0].columns is not None
        many = max(_LEAST_REMOVALS, _SHARE_OF_REMOVALS * self._size_made)
        if (
            not kept > _CANCELLED
            or self._removed >= many
            or (is_wide and self.size <= _WIDE * len(self._all.rows))
        ):
            self.rebuilds += 1
            self._make()
        self._measure()

    def leave_out(self, features: Sequence[int]) -> None:
        """Take features out at once, and recompute everything for the others."""
        for index in features:
            self._drop(self.selected.index(index))
        with np.errstate(over="ignore", invalid="ignore"):
            self._make()
        self._measure()

    def _drop(self, position: int) -> None:
        """Overwrite a feature with the last one, as the models do."""
        self.selected[position] = self.selected[-1]
        del self.selected[-1]

    def as_set(self) -> FeatureSet:
        """Return the features that are left, with the loss of their model."""
        order = tuple(sorted(self.selected))
        folds = () if self.fold_losses is None else tuple(self.fold_losses.tolist())
        return FeatureSet(order, len(order), self.loss, self.standard_error, folds)

    def moments(self, features: tuple[int, ...]) -> Moments:
        """Return the moments of features and targets over all rows."""
        rows = self._all
        X, means = rows.columns(features)
        return Moments(features, X @ X.T, X @ rows.y.T, means, rows.target_means.copy())


def _weighted(problem: Problem, rows: Rows) -> Rows:
    """Return the rows that have a positive weight."""
    return rows if problem.weights is None else rows[problem.weights[rows] > 0.0]


def whole_bytes(problem: Problem, folds: Folds | None) -> float:
    """Return the memory of a search with all columns in memory."""
    m, count = problem.n_samples, n_at_start(problem)
    if folds is not None:
        tested = sum(len(split.test) for split in folds.splits)
        return 8.0 * count * (count * (folds.n_splits + 1) + tested + 3 * m)
    needed = 24.0 * m * count
    if count <= max(_WIDE * m, _MOST_SQUARE):
        needed += 16.0 * count * (m + count)
    return needed


def _check_memory(problem: Problem, folds: Folds | None) -> None:
    """Raise a MemoryError before the first factorisation if the search cannot fit."""
    advice = "Search forward (direction='forward'), or exclude features."
    if folds is not None:
        advice = (
            "Use fewer folds, or leave-one-out (cv='loo'), which keeps m × n numbers; or search "
            "forward (direction='forward')."
        )
    needed = whole_bytes(problem, folds)
    if problem.X.is_in_memory and needed > physical_bytes():
        raise MemoryError(
            f"A backward search from {n_at_start(problem)} features of {problem.n_samples} samples "
            f"needs {needed / 1e9:.1f} GB, more than this machine has. {advice}"
        )
