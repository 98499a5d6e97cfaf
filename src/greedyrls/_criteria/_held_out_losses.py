"""Losses of models of all sizes, with any penalties, on rows that they were not fitted to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import Float, to_host
from .._features import Chosen, Models, all_pivots, held_out_errors
from .._problem import Components, Loss
from ._curves import LossMoments, add_moments, no_moments


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
        errors, _ = _with_guess(chosen, penalties, guess, columns, Y)
        (Y,) = to_host(Y)
        losses = _losses_of_errors(loss, Y, errors)
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
