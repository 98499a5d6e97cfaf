"""Leave-one-out losses of models of all sizes with any penalty.

Residuals and leverages of all sizes are running sums (`_chosen`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import ModuleType
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .._base import (
    DEVICE_TILE_ELEMENTS,
    LEAST_SET_ROWS,
    QUARTER_TILE_ELEMENTS,
    TIE,
    TRUSTED_PIVOT,
    Float,
    as_float,
    location_of,
    native,
    row_dots,
    slices,
    stacked,
    to_device,
    to_host,
)
from .._features import (
    Chosen,
    Models,
    all_pivots,
    at_ends,
    minus_running_sums,
    pivots,
    take_positions,
)
from .._problem import Loss, Problem
from .._rows import ArraySum, RowBlock, factor_sums, stratum_weights
from ._samples import SampleSpace


def errors_by_size(
    block: RowBlock, chosen: Chosen, models: Sequence[Models]
) -> Iterator[tuple[slice, int, Float]]:
    """Yield leave-one-out errors (t × k × rows) of all sizes, scaled by √w, for each penalty.

    Each item has the rows, the number of the penalty and the errors. The block must be at the empty
    model. The caller may overwrite the errors; the next item reuses their memory.
    """
    location = location_of(block.d)
    elements = location.pick(QUARTER_TILE_ELEMENTS, DEVICE_TILE_ELEMENTS)
    count = len(chosen.indices)
    height = max(LEAST_SET_ROWS, elements // max(1, count, chosen.n_models))
    factors = [
        [to_device(location, model.inverse, model.steps.T.copy()) for model in of_penalty]
        for of_penalty in models
    ]
    for rows in slices(block.n_rows, height):
        columns = stacked([part for _, part in block.columns.chosen(chosen.indices, rows)])
        errors = location.empty((block.r.shape[0], chosen.n_models, columns.shape[1]))
        for number, of_penalty in enumerate(factors):
            done = 0
            for chain, (inverse, steps) in zip(chosen.chains, of_penalty, strict=True):
                q = inverse @ take_positions(columns, chain, count)
                models_of = slice(done, done + len(chain.ends))
                shrunk = at_ends(minus_running_sums(block.d[rows], q * q), chain)
                for target in range(errors.shape[0]):
                    error = minus_running_sums(block.r[target, rows], q * steps[target, :, None])
                    errors[target, models_of, :] = at_ends(error, chain) / shrunk
                done = models_of.stop
            yield rows, number, errors


class StratumSums(NamedTuple):
    """Sums over the rows of each stratum: whole numbers where losses and weights are."""

    values: Float  # (strata × …) Σ w ℓ
    weights: Float  # (strata) Σ w

    def mean(self) -> Float:
        """Average the means of all strata that have rows, (…)."""
        (present,) = self.weights.nonzero()
        means = [self.values[stratum] / self.weights[stratum] for stratum in present]
        result: Float = np.mean(means, axis=0)
        return result


class LossMoments(NamedTuple):
    """Sums over the rows of each stratum, with ℓ the losses (c) of a row and w its weight."""

    squares: Float  # (strata × c × c) Σ w² ℓ ℓ'
    firsts: Float  # (strata × c) Σ w² ℓ
    zeroth: Float  # (strata) Σ w²
    sums: Float  # (strata × c) Σ w ℓ
    weights: Float  # (strata) Σ w
    counts: Float  # (strata) rows that have a weight

    def values(self) -> Float:
        """Return the mean losses, (c)."""
        return StratumSums(self.sums, self.weights).mean()

    def covariance(self) -> Float:
        """Return the covariance (c × c) of the mean losses; samples in a stratum are independent.

        A stratum of a single sample adds nothing, since its spread cannot be estimated.
        """
        result = np.zeros(self.squares.shape[1:])
        n_strata = np.count_nonzero(self.weights)
        for squares, firsts, zeroth, sums, weight, count in zip(*self, strict=True):
            if count > 1:
                mean = sums / weight
                centred = squares - np.outer(mean, firsts) - np.outer(firsts, mean)
                centred += zeroth * np.outer(mean, mean)
                result += centred * (count / (count - 1)) / (weight * n_strata) ** 2
        return result


def no_moments(strata: int, count: int) -> LossMoments:
    zeros = np.zeros
    vectors = zeros((strata, count)), zeros((strata, count))
    return LossMoments(
        zeros((strata, count, count)), vectors[0], zeros(strata), vectors[1], *zeros((2, strata))
    )


def add_moments(total: LossMoments, loss: Loss, Y: Float, w: Float, losses: Float) -> None:
    """Add rows with their losses (c × rows) in place."""
    for stratum, rows in _strata(loss, Y, w):
        weights = w[rows]
        scaled = losses[:, rows] * weights
        total.squares[stratum] += scaled @ scaled.T
        total.firsts[stratum] += scaled @ weights
        total.zeroth[stratum] += weights @ weights
        total.sums[stratum] += scaled.sum(axis=1)
        total.weights[stratum] += weights.sum()
        total.counts[stratum] += len(rows)


def _strata(loss: Loss, Y: Float, weights: Float) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """Yield each stratum with its rows of positive weight."""
    strata = loss.strata(Y)
    for stratum in np.unique(strata).tolist():
        (rows,) = ((strata == stratum) & (weights > 0.0)).nonzero()
        yield stratum, rows


def model_moments(block: RowBlock, loss: Loss) -> LossMoments:
    """Return moments of the losses of the current model's leave-one-out predictions."""
    return moments_of(block, loss, block.r[None], block.d[None])


def moments_of(block: RowBlock, loss: Loss, r: Float, d: Float) -> LossMoments:
    """Return the same of several models, from their r (c × t × rows) and d (c × rows)."""
    Y = block.y.T
    errors = r.transpose(1, 0, 2) / d
    errors /= block.positive_root()
    losses = loss.sample_losses(Y, np.subtract(block.y[:, None, :], errors, out=errors))
    total = no_moments(loss.n_strata(Y.shape[1]), len(r))
    add_moments(total, loss, Y, block.filled_weights(), losses)
    return total


def _squared_sums(block: RowBlock, chosen: Chosen, models: Sequence[Models]) -> ArraySum:
    compiled = native()
    if compiled is not None and isinstance(block.d, np.ndarray) and chosen.is_one_chain:
        return _compiled_sums(compiled, block, chosen, models)
    total = np.zeros((len(models), chosen.n_models))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for _, number, errors in errors_by_size(block, chosen, models):
            for target in range(errors.shape[0]):
                error = errors[target, ...]
                total[number] += to_host(row_dots(error, error))[0]
    return ArraySum(total)


def _compiled_sums(
    compiled: ModuleType, block: RowBlock, chosen: Chosen, models: Sequence[Models]
) -> ArraySum:
    """Compute `_squared_sums` in C, a tile of rows at a time."""
    k, t = len(chosen.indices), len(block.r)
    inverses = np.array([model.inverse for (model,) in models])
    steps = np.array([model.steps.T for (model,) in models])
    (chain,) = chosen.chains
    is_end = np.zeros(k, dtype=np.uint8)
    is_end[chain.ends - 1] = 1
    total, part = np.zeros((len(models), k)), np.empty((len(models), k))
    height = max(LEAST_SET_ROWS, QUARTER_TILE_ELEMENTS // k)
    for rows in slices(block.n_rows, height):
        columns = stacked([part for _, part in block.columns.chosen(chosen.indices, rows)])
        r, d = np.ascontiguousarray(block.r[:, rows]), np.ascontiguousarray(block.d[rows])
        sizes = k, len(d), len(models), t
        columns = np.ascontiguousarray(columns)
        compiled.loo_curve(columns, inverses, steps, r, d, is_end, part, *sizes)
        total += part
    return ArraySum(total if is_end.all() else total[:, chain.ends - 1])


def _squared_moments(block: RowBlock, chosen: Chosen, model: Models) -> LossMoments:
    """Return moments of the squared losses, which have a single stratum."""
    total = no_moments(1, chosen.n_models)
    location = location_of(block.d)
    for rows, _, errors in errors_by_size(block, chosen, [model]):
        errors *= errors
        weighted = location.xp.mean(errors, axis=0)  # w ℓ
        count = rows.stop - rows.start
        row_weights = location.ones(count) if block.weights is None else block.weights[rows]
        squares, firsts, zeroth, sums, weights, used = to_host(
            weighted @ weighted.T,
            weighted @ row_weights,
            (row_weights @ row_weights)[None],
            location.xp.sum(weighted, axis=1),
            location.xp.sum(row_weights)[None],
            location.xp.sum(as_float(row_weights > 0.0))[None],
        )
        summands = (squares[None], firsts[None], zeroth, sums[None], weights, used)
        for accumulated, summand in zip(total, summands, strict=True):
            accumulated += summand
    return total


def _loss_sums(
    block: RowBlock, loss: Loss, chosen: Chosen, models: Sequence[Models]
) -> StratumSums:
    """Sum a loss that is a mean over rows, from predictions of a few rows at a time."""
    count = loss.n_strata(len(block.y))
    total = StratumSums(
        np.zeros((count, len(models), chosen.n_models)),
        stratum_weights(block, loss).values,
    )
    weights = block.filled_weights()
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for rows, number, predictions in _predictions_by_size(block, chosen, models):
            Y, row_weights = block.y[:, rows].T, weights[rows]
            losses = loss.sample_losses(Y, predictions)
            for stratum, members in _strata(loss, Y, row_weights):
                total.values[stratum, number] += losses[:, members] @ row_weights[members]
    return total


def _loss_moments(block: RowBlock, loss: Loss, chosen: Chosen, model: Models) -> LossMoments:
    total = no_moments(loss.n_strata(len(block.y)), chosen.n_models)
    weights = block.filled_weights()
    for rows, _, predictions in _predictions_by_size(block, chosen, [model]):
        Y = block.y[:, rows].T
        add_moments(total, loss, Y, weights[rows], loss.sample_losses(Y, predictions))
    return total


def _predictions_by_size(
    block: RowBlock, chosen: Chosen, models: Sequence[Models]
) -> Iterator[tuple[slice, int, Float]]:
    """Yield leave-one-out predictions in the same way as `errors_by_size`."""
    root = block.positive_root()
    for rows, number, errors in errors_by_size(block, chosen, models):
        errors /= root[rows]
        yield rows, number, np.subtract(block.y[:, None, rows], errors, out=errors)


def _predictions(
    block: RowBlock, chosen: Chosen, model: Models, positions: NDArray[np.intp] | None = None
) -> Float:
    """Return predictions (t × k × rows) of all models, or of those at `positions`."""
    count = chosen.n_models if positions is None else len(positions)
    values = np.empty((len(block.y), count, len(block.d)))
    for rows, _, predictions in _predictions_by_size(block, chosen, [model]):
        values[:, :, rows] = predictions if positions is None else predictions[:, positions]
    return values


def whole_predictions(
    samples: SampleSpace, problem: Problem, question: Callable[..., Float]
) -> tuple[Float, Float, Float | None]:
    """Return targets, predictions (… × rows) and weights of the rows of positive weight.

    `question` returns the predictions of a block.
    """
    answers, weights = samples.each(question), problem.weights
    values = answers[0] if len(answers) == 1 else np.concatenate(answers, axis=-1)
    if weights is None:
        return problem.Y, values, None
    (used,) = weights.nonzero()
    return problem.Y[used], values[..., used], weights[used]


def corrected_by(samples: SampleSpace, problem: Problem, chosen: Chosen, least: float) -> Chosen:
    """Return the chosen features with sums over the rows their models are fitted to.

    With X in a file such sums would cost a pass, on a cluster or device a round trip.
    """
    X = problem.X
    if not X.is_in_memory or X.location.on_device or X.remote is not None:
        return chosen

    def sums(features: tuple[int, ...], inverse: Float) -> Float:
        question = partial(factor_sums, features=features, inverse=inverse)
        values: Float = samples.total(question).values
        return values

    return chosen._replace(sums=sums, least=least)


class LooCurve:
    """Leave-one-out losses of models on the chosen features, by size, for any penalty."""

    def __init__(self, samples: SampleSpace, problem: Problem, chosen: Chosen, loss: Loss) -> None:
        self._samples = samples
        self._problem = problem
        # Most penalties of a grid are chosen among by losses that differ by far more than rounding.
        self._chosen = corrected_by(samples, problem, chosen, TRUSTED_PIVOT)
        self._loss = loss

    def losses(self, penalties: Float) -> Float:
        """Return losses of each penalty and size, (G × k); infinite if rounding hides a penalty."""
        fits = all_pivots(self._chosen, penalties)
        losses = np.full((len(penalties), self._chosen.n_models), np.inf)
        models = [model for model in fits if model is not None]
        usable = [position for position, model in enumerate(fits) if model is not None]
        if models and self._loss.name == "squared":
            question = partial(_squared_sums, chosen=self._chosen, models=models)
            weight = self._samples.weights.weight * self._problem.n_targets
            losses[usable] = self._samples.total(question).values / weight
        elif models and self._loss.is_additive:
            sums: StratumSums = self._samples.total(
                partial(_loss_sums, loss=self._loss, chosen=self._chosen, models=models)
            )
            losses[usable] = sums.mean()
        else:
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                for position, model in zip(usable, models, strict=True):
                    losses[position] = self._loss.values(*self._as_a_whole(model))
        losses[~np.isfinite(losses)] = np.inf
        return losses

    def covariance(self, penalty: float) -> Float | None:
        """Return the covariance (k × k) of the losses of all sizes; None if the loss has none."""
        model = pivots(self._chosen, penalty)
        if model is None:
            return None
        if not self._loss.is_additive:
            return self._loss.covariance(*self._as_a_whole(model))
        question = partial(_loss_moments, loss=self._loss, chosen=self._chosen, model=model)
        if self._loss.name == "squared":
            question = partial(_squared_moments, chosen=self._chosen, model=model)
        moments: LossMoments = self._samples.total(question)
        return moments.covariance()

    def own_losses(self, penalties: Float) -> Float:
        """Return the loss of each size with its own penalty, (k)."""
        distinct, rows = np.unique(penalties, return_inverse=True)
        result: Float = self.losses(distinct)[rows, np.arange(len(penalties))]
        return result

    def reported_losses(
        self, penalties: Float, weights: Float | None, size: int | None = None
    ) -> Float:
        """Return the loss of each size with its own penalty, (k), with other weights than the fit.

        Rows without a weight (m) must have none in the fit either. With `size`, only the loss of
        that size is computed; the others are NaN.
        """
        losses = np.full(len(penalties), np.nan)
        asked = np.ones(len(penalties), dtype=bool)
        if size is not None:
            asked = np.arange(1, len(penalties) + 1) == size
        positive = None if weights is None else weights[weights > 0.0]
        for penalty in np.unique(penalties[asked]):
            (positions,) = (asked & (penalties == penalty)).nonzero()
            model = pivots(self._chosen, float(penalty))
            losses[positions] = np.inf
            if model is not None:
                Y, predictions, _ = self._as_a_whole(model, positions)
                losses[positions] = self._loss.values(Y, predictions, positive)
        return losses

    def own_errors(self, penalties: Float) -> Float:
        """Return standard errors of `own_losses`, (k); NaN where the loss has none."""
        errors = np.full(len(penalties), np.nan)
        for penalty in np.unique(penalties):
            covariance = self.covariance(float(penalty))
            if covariance is not None:
                of_it = penalties == penalty
                errors[of_it] = np.sqrt(np.maximum(np.diagonal(covariance)[of_it], 0.0))
        return errors

    def _as_a_whole(
        self, model: Models, positions: NDArray[np.intp] | None = None
    ) -> tuple[Float, Float, Float | None]:
        question = partial(_predictions, chosen=self._chosen, model=model, positions=positions)
        return whole_predictions(self._samples, self._problem, question)


class Curve(Protocol):
    """Losses of models on chosen features, by size, for any penalty."""

    def losses(self, penalties: Float) -> Float:
        """Return losses of each penalty and size, (G × k); infinite if rounding hides a penalty."""
        ...


def best_penalties(curve: Curve, penalties: Float) -> tuple[NDArray[np.intp], Float]:
    """Return, for each size, the position of the penalty of smallest loss, and all losses.

    Penalties are ascending; among equal losses the largest penalty is taken.
    """
    losses = curve.losses(penalties)  # (G × k)
    smallest = losses.min(axis=0)
    tied = losses <= smallest + TIE * np.abs(smallest)
    positions: NDArray[np.intp] = len(penalties) - 1 - np.argmax(tied[::-1], axis=0)
    return positions, losses
