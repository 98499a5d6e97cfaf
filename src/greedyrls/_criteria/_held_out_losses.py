"""Losses of models of all sizes, with any penalties, on rows that they were not fitted to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import Float, namespace_of, to_host
from .._features import Chosen, Models, all_pivots, errors_by_target, held_out_errors
from .._problem import Components, Loss
from ._curves import LossMoments, add_moments, no_moments


def held_out_losses(
    chosen: Chosen, penalties: Float, columns: Float, Y: Float, weights: Float | None, loss: Loss
) -> Float:
    """Return losses (k) of the models of all sizes on other rows, each with its own penalty (k).

    columns (rows × k) are the chosen features there. Losses are NaN where a penalty is lost in the
    rounding of the data.
    """
    losses = np.full(chosen.n_models, np.nan)
    for sizes, models in _fitted(chosen, penalties):
        errors = held_out_errors(chosen, models, columns, Y)
        if loss.name == "squared":
            values = mean_squares(errors, weights)
        else:
            predictions = np.subtract(Y.T[:, None, :], errors, out=errors)
            values = loss.values(Y, predictions, weights)
        losses[sizes] = values[sizes]
    return losses


def _fitted(chosen: Chosen, penalties: Float) -> Iterator[tuple[NDArray[np.bool_], Models]]:
    """Yield, for each penalty that is not lost in rounding, a mask (k) of its sizes, and models."""
    distinct = np.unique(penalties)
    for penalty, models in zip(distinct, all_pivots(chosen, distinct), strict=True):
        if models is not None:
            yield penalties == penalty, models


def held_out_predictions(
    chosen: Chosen, penalties: Float, columns: Float, Y: Float
) -> tuple[Float, NDArray[np.bool_]]:
    """Return predictions (t × k × rows) of the same models, and a mask (k) of sizes that have any.

    columns and Y (rows × t) are those of the rows to predict.
    """
    errors, has_model = _all_held_out_errors(chosen, penalties, columns, Y)
    return np.subtract(Y.T[:, None, :], errors, out=errors), has_model


def _all_held_out_errors(
    chosen: Chosen, penalties: Float, columns: Float, Y: Float
) -> tuple[Float, NDArray[np.bool_]]:
    """Return errors (t × k × rows) on the host, and a mask (k) of sizes that have any."""
    result = np.full((Y.shape[1], chosen.n_models, Y.shape[0]), np.nan)
    has_model = np.zeros(chosen.n_models, dtype=bool)
    for sizes, models in _fitted(chosen, penalties):
        (errors,) = to_host(held_out_errors(chosen, models, columns, Y))
        result[:, sizes] = errors[:, sizes]
        has_model |= sizes
    return result, has_model


class HeldOutLosses(NamedTuple):
    """Losses on other rows of a model without features and of the models of all sizes."""

    values: Float  # (1 + k) NaN where a penalty is lost in the rounding of the data
    components: Components | None  # the components of each row, if the loss has them


def held_out_components(
    chosen: Chosen,
    penalties: Float,
    guess: Float,
    columns: Float,
    Y: Float,
    weights: Float | None,
    loss: Loss,
) -> HeldOutLosses:
    """Return losses of the same models, and of one that predicts `guess` (t), with components.

    Only columns (rows × p) and Y may be on a device.
    """
    if loss.is_additive:
        if loss.name == "squared" and isinstance(columns, np.ndarray):
            losses = _squared_losses(chosen, penalties, guess, columns, Y)
        else:
            errors, _ = _with_guess(chosen, penalties, guess, columns, Y)
            losses = _losses_of_errors(loss, to_host(Y)[0], errors)
        (Y,) = to_host(Y)
        components = Components(losses, loss.sample_weights(Y, weights), loss.strata(Y))
        return HeldOutLosses(_means(losses, components.strata, weights), components)
    errors, has_model = _with_guess(chosen, penalties, guess, columns, Y)
    (Y,) = to_host(Y)
    predictions = np.subtract(Y.T[:, None, :], errors, out=errors)[:, has_model]
    values = np.full(len(has_model), np.nan)
    values[has_model] = loss.values(Y, predictions, weights)
    components_of = loss.components(Y, predictions, weights)
    if components_of is not None and not has_model.all():
        losses = np.full((len(values), len(Y)), np.nan)
        losses[has_model] = components_of.losses
        components_of = components_of._replace(losses=losses)
    return HeldOutLosses(values, components_of)


def held_out_moments(
    chosen: Chosen,
    penalties: Float,
    guess: Float,
    columns: Float,
    Y: Float,
    weights: Float,
    loss: Loss,
) -> LossMoments:
    """Return sums over rows of the same losses (1 + k), if they are means over rows."""
    errors, _ = _with_guess(chosen, penalties, guess, columns, Y)
    total = no_moments(loss.n_strata(Y.shape[1]), 1 + len(penalties))
    add_moments(total, loss, Y, weights, _losses_of_errors(loss, Y, errors))
    return total


def _with_guess(
    chosen: Chosen, penalties: Float, guess: Float, columns: Float, Y: Float
) -> tuple[Float, NDArray[np.bool_]]:
    """Return errors (t × 1 + k × rows) of a guess and of all models; a mask of those computed."""
    errors, has_model = _all_held_out_errors(chosen, penalties, columns, Y)
    (Y,) = to_host(Y)
    errors = np.concatenate([(Y - guess).T[:, None, :], errors], axis=1)
    return errors, np.concatenate([[True], has_model])


def _squared_losses(
    chosen: Chosen, penalties: Float, guess: Float, columns: Float, Y: Float
) -> Float:
    """Return the squared losses of each row, (1 + k × rows), one target after the other.

    Errors of all targets at once would not stay in the cache.
    """
    losses = np.full((1 + chosen.n_models, len(Y)), np.nan)
    losses[0] = np.square(Y - guess).mean(axis=1)
    for sizes, models in _fitted(chosen, penalties):
        squares = np.zeros((chosen.n_models, len(Y)))
        for errors in errors_by_target(chosen, models, columns, Y):
            squares += np.square(errors, out=errors)
        losses[1:][sizes] = squares[sizes] / Y.shape[1]
    return losses


def _means(losses: Float, strata: NDArray[np.intp], weights: Float | None) -> Float:
    """Return means over strata of means over rows; whole numbers are divided once, at the end."""
    row_weights = np.ones(len(strata)) if weights is None else weights
    parts = [np.where(strata == stratum, row_weights, 0.0) for stratum in np.unique(strata)]
    result: Float = np.mean([losses @ part / part.sum() for part in parts], axis=0)
    return result


def _losses_of_errors(loss: Loss, Y: Float, errors: Float) -> Float:
    """Return the losses of each row, (c × rows), of an additive loss; overwrites the errors."""
    if loss.name == "squared":
        errors *= errors  # from predictions, a large target would cancel digits
        squares: Float = errors[0] if len(errors) == 1 else errors.mean(axis=0)
        return squares
    is_unknown = np.isnan(errors).any(axis=(0, 2))
    losses = loss.sample_losses(Y, np.subtract(Y.T[:, None, :], errors, out=errors))
    losses = losses.astype(np.float64, copy=False)
    losses[is_unknown] = np.nan
    return losses


def mean_squares(errors: Float, weights: Float | None) -> Float:
    """Return the mean over targets and rows (weighted) of squared errors (t × k × rows), (k)."""
    errors *= errors
    xp = namespace_of(errors)
    result: Float
    if weights is None:
        result = xp.mean(errors, axis=(0, 2))
    else:
        result = xp.mean(errors @ weights, axis=0) / xp.sum(weights)
    (result,) = to_host(result)
    return result
