"""Models on the first 1, 2, … chosen features with any penalty: leave-one-out and predictions.

With L the Cholesky factor of X_S'X_S + γI in the order of choice, the columns of X_S L⁻ᵀ are the
q of docs/theory.md: the model of size k uses the first k of them. One product therefore gives
residuals and leverages of all sizes, as running sums.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._kernels import Float
from ._losses import Loss
from ._problem import Problem
from ._samples import SampleSpace

# Numbers of (sizes × rows) worked on at a time.
_ELEMENTS = 1 << 16


class Chosen(NamedTuple):
    """The features of a path with their moments on the rows that they were chosen on."""

    indices: tuple[int, ...]
    gram: Float  # (k × k)
    correlation: Float  # (k × t)
    means: Float  # (k)
    target_means: Float  # (t)


class Pivots(NamedTuple):
    """The chosen features made orthogonal for a penalty."""

    inverse: Float  # (k × k) lower triangular L⁻¹
    steps: Float  # (k × t) coefficients on the q


def pivots(chosen: Chosen, penalty: float) -> Pivots | None:
    """For a penalty; None if it is lost in the rounding of the data."""
    A = chosen.gram + penalty * np.eye(len(chosen.gram))
    try:
        factor = np.linalg.cholesky(A)
    except np.linalg.LinAlgError:
        return None
    inverse = np.tril(np.linalg.inv(factor))
    return Pivots(inverse, inverse @ chosen.correlation)


def held_out_errors(chosen: Chosen, model: Pivots, columns: Float, Y: Float) -> Float:
    """Errors (t × k × rows) of the models of all sizes on other rows.

    columns (rows × k) are the chosen features there, Y (rows × t) the targets.
    """
    q = model.inverse @ (columns - chosen.means).T
    errors = q[None] * model.steps.T[:, :, None]
    for residual, error in zip((Y - chosen.target_means).T, errors, strict=True):
        _less_running_sums(residual, error)
    return errors


def held_out_losses(
    chosen: Chosen, penalties: Float, columns: Float, Y: Float, weights: Float | None, loss: Loss
) -> Float:
    """Losses (k) of the models of all sizes on other rows, each size with its own penalty (k).

    columns (rows × k) are the chosen features there. Not a number where a penalty is lost in the
    rounding of the data.
    """
    losses = np.full(len(chosen.indices), np.nan)
    for penalty in np.unique(penalties):
        model = pivots(chosen, float(penalty))
        if model is None:
            continue
        errors = held_out_errors(chosen, model, columns, Y)
        if loss.name == "squared":
            values = mean_squares(errors, weights)
        else:
            predictions = np.subtract(Y.T[:, None, :], errors, out=errors)
            values = loss.values(Y, predictions, weights)
        own = penalties == penalty
        losses[own] = values[own]
    return losses


def mean_squares(errors: Float, weights: Float | None) -> Float:
    """Mean over targets and weighted mean over rows of squared errors (t × k × rows): (k)."""
    np.square(errors, out=errors)
    if weights is None:
        result: Float = errors.mean(axis=(0, 2))
    else:
        result = (errors @ weights).mean(axis=0) / weights.sum()
    return result


def loo_errors_by_size(
    samples: SampleSpace, chosen: Chosen, models: list[Pivots]
) -> Iterator[tuple[slice, int, Float]]:
    """Leave-one-out errors (t × k × rows) of all sizes, scaled by √w, for each of some models.

    Some rows at a time, with the number of the model. `samples` are at the empty model. What is
    yielded may be overwritten, and is when the next is asked for.
    """
    top = 0
    height = max(64, _ELEMENTS // max(1, len(chosen.indices)))
    for block in samples.blocks:
        for first in range(0, len(block.d), height):
            rows = slice(first, min(len(block.d), first + height))
            parts = [part for _, part in block.columns.chosen(chosen.indices, rows)]
            columns = parts[0] if len(parts) == 1 else np.concatenate(parts)
            shrunk = np.empty_like(columns)
            errors = np.empty((len(block.r), *columns.shape))
            for number, model in enumerate(models):
                q = model.inverse @ columns
                np.multiply(q, q, out=shrunk)
                _less_running_sums(block.d[rows], shrunk)
                for residual, steps, error in zip(block.r, model.steps.T, errors, strict=True):
                    np.multiply(q, steps[:, None], out=error)
                    _less_running_sums(residual[rows], error)
                    error /= shrunk
                yield slice(top + rows.start, top + rows.stop), number, errors
        top += len(block.d)


def _less_running_sums(start: Float, values: Float) -> None:
    """start (rows) less the sums of the first 1, 2, … of the values (k × rows), in place.

    Row by row: several times as fast as `cumsum` along the first axis.
    """
    before = start
    for row in values:
        np.subtract(before, row, out=row)
        before = row


class LooCurve:
    """Leave-one-out losses of models on the chosen features, by size, for any penalty."""

    def __init__(self, samples: SampleSpace, problem: Problem, chosen: Chosen, loss: Loss) -> None:
        self._samples = samples
        self._chosen = chosen
        self._loss = loss
        weights = problem.weights
        self._used = np.arange(problem.n_samples) if weights is None else np.flatnonzero(weights)
        self._Y = problem.Y
        self._weights = weights
        self._root = np.ones(problem.n_samples)
        if weights is not None:
            self._root = np.where(weights > 0.0, np.sqrt(weights), 1.0)
        self._total = float(problem.n_samples if weights is None else weights.sum())

    @property
    def _own_weights(self) -> Float | None:
        return None if self._weights is None else self._weights[self._used]

    def losses(self, penalties: Float) -> Float:
        """Of each penalty and size, (G × k); infinite where a penalty is lost in rounding."""
        found = [pivots(self._chosen, float(penalty)) for penalty in penalties]
        losses = np.full((len(penalties), len(self._chosen.indices)), np.inf)
        models = [model for model in found if model is not None]
        usable = [place for place, model in enumerate(found) if model is not None]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if self._loss.name == "squared":
                losses[usable] = self._squared(models)
            elif self._loss.is_additive:
                losses[usable] = self._sums(models)
            else:
                for place, model in zip(usable, models, strict=True):
                    losses[place] = self._loss.values(
                        self._Y[self._used], self._predictions(model), self._own_weights
                    )
        losses[~np.isfinite(losses)] = np.inf
        return losses

    def covariance(self, penalty: float) -> Float | None:
        """Of the losses of all sizes as estimates, (k × k); None where the loss has none."""
        model = pivots(self._chosen, penalty)
        if model is None:
            return None
        if self._loss.name != "squared":
            return self._loss.covariance(
                self._Y[self._used], self._predictions(model), self._own_weights
            )
        k = len(self._chosen.indices)
        # Sums of e² ℓ ℓ', e² ℓ and e², with ℓ the mean over targets and e the share of the row.
        squares, firsts, zeroth = np.zeros((k, k)), np.zeros(k), 0.0
        means = np.zeros(k)
        for rows, _, errors in loo_errors_by_size(self._samples, self._chosen, [model]):
            weighted = np.square(errors).mean(axis=0)  # w ℓ
            own = np.ones(weighted.shape[1]) if self._weights is None else self._weights[rows]
            squares += weighted @ weighted.T
            firsts += weighted @ own
            zeroth += float(own @ own)
            means += weighted.sum(axis=1)
        means /= self._total
        centred = squares - np.outer(means, firsts) - np.outer(firsts, means)
        centred += zeroth * np.outer(means, means)
        count = len(self._used)
        result: Float = centred * (count / (count - 1)) / self._total**2
        return result

    def _squared(self, models: list[Pivots]) -> Float:
        total = np.zeros((len(models), len(self._chosen.indices)))
        for _, number, errors in loo_errors_by_size(self._samples, self._chosen, models):
            for error in errors:
                total[number] += np.vecdot(error, error)
        total /= self._total * self._Y.shape[1]
        return total

    def _sums(self, models: list[Pivots]) -> Float:
        """A loss that is a mean over rows: predictions are made some rows at a time."""
        shares = np.zeros(len(self._Y))
        shares[self._used] = self._loss.sample_weights(self._Y[self._used], self._own_weights)
        total = np.zeros((len(models), len(self._chosen.indices)))
        for rows, number, errors in loo_errors_by_size(self._samples, self._chosen, models):
            errors /= self._root[rows]
            predictions = np.subtract(self._Y.T[:, None, rows], errors, out=errors)
            total[number] += self._loss.sample_losses(self._Y[rows], predictions) @ shares[rows]
        return total

    def own_losses(self, penalties: Float) -> Float:
        """Of each size with its own penalty, (k)."""
        distinct, places = np.unique(penalties, return_inverse=True)
        result: Float = self.losses(distinct)[places, np.arange(len(penalties))]
        return result

    def own_errors(self, penalties: Float) -> Float:
        """Standard errors of `own_losses`, (k); not a number where the loss has none."""
        errors = np.full(len(penalties), np.nan)
        for penalty in np.unique(penalties):
            covariance = self.covariance(float(penalty))
            if covariance is not None:
                of_it = penalties == penalty
                errors[of_it] = np.sqrt(np.maximum(np.diagonal(covariance)[of_it], 0.0))
        return errors

    def _predictions(self, model: Pivots) -> Float:
        """Of the rows that have a weight, (t × k × rows)."""
        k, m = len(self._chosen.indices), len(self._Y)
        values = np.empty((self._Y.shape[1], k, m))
        for rows, _, errors in loo_errors_by_size(self._samples, self._chosen, [model]):
            errors /= self._root[rows]
            values[:, :, rows] = self._Y.T[:, None, rows] - errors
        return values if len(self._used) == m else values[:, :, self._used]


def best_penalties(curve: LooCurve, penalties: Float) -> tuple[NDArray[np.intp], Float]:
    """For each size the place of the penalty of smallest leave-one-out loss, and all losses.

    Penalties are ascending; among equal losses the largest penalty is taken.
    """
    losses = curve.losses(penalties)  # (G × k)
    smallest = losses.min(axis=0)
    tied = losses <= smallest + 1e-10 * np.abs(smallest)
    places: NDArray[np.intp] = len(penalties) - 1 - np.argmax(tied[::-1], axis=0)
    return places, losses
