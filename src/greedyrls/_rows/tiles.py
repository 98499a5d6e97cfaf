"""Losses of held-out predictions for all candidates, a tile of rows at a time.

Tiles are (rows × candidates) in any memory order; the errors y − prediction of t targets are
(t × rows × candidates). Kernels may overwrite their arguments.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._base import Float, kernels
from .._problem import UNDECIDED

Flags = NDArray[np.bool_]
Starts = NDArray[np.intp]


def loo_errors(
    Z: Float, r: Float, d: Float, delta: Float, rho: Float, starts: Starts | None = None
) -> Float:
    """Leave-one-out errors with each candidate added: (r − Σ z ρ) / (1 − h − Σ z²/δ).

    Z (rows × c), r (t × rows), d (rows) = 1 − h, delta (c), rho (t × c). The columns of candidates
    of several, which begin at `starts`, are orthogonal to each other.
    """
    shrunk = Z * Z
    shrunk *= 1.0 / delta
    if starts is not None:
        shrunk = np.add.reduceat(shrunk, starts, axis=1)
    np.subtract(d[:, None], shrunk, out=shrunk)
    errors = fold_errors(Z, r, rho, starts)
    errors /= shrunk
    return errors


def fold_errors(Z: Float, r: Float, rho: Float, starts: Starts | None = None) -> Float:
    """Errors on held-out rows with each candidate added: r − Σ z ρ."""
    errors = Z[None] * rho[:, None, :]
    if starts is not None:
        errors = np.add.reduceat(errors, starts, axis=2)
    np.subtract(r[:, :, None], errors, out=errors)
    return errors


def loo_wrong(
    Z: Float, y: Float, r: Float, d: Float, delta: Float, rho: Float, pairs: bool = False
) -> Flags:
    """Return which leave-one-out predictions are wrong, for one target of labels ±1: (rows × c).

    A prediction p = y − e/v is right if y p > ε, where e = (r − z ρ)/D, D = 1 − h − z²/δ > 0 and
    v is the root of the row's weight. With y/v given as y this is (1 − ε) D > y (r − z ρ): no
    division, and one comparison with a number that the row has for all candidates. For `pairs`
    of row and candidate, Z is (pairs × 1) and delta and rho are (pairs).
    """
    if pairs:
        delta, rho = delta[:, None], rho[:, None]
    slope = Z * ((1.0 - UNDECIDED) / delta)
    slope -= y[:, None] * rho
    slope *= Z
    wrong: Flags = slope >= loo_margins(y, r, d)[:, None]
    return wrong


def loo_margins(y: Float, r: Float, d: Float) -> Float:
    """Return (1 − ε)(1 − h) − y r of the current model: positive if its prediction is right."""
    margins: Float = (1.0 - UNDECIDED) * d - y * r
    return margins


def weighted_count(flags: Flags, weights: Float | None) -> Float:
    """Return the weighted sum of flags (rows × c) over rows, (c)."""
    if weights is not None:
        total: Float = weights @ flags.astype(np.float64)
        return total
    return kernels.count_flags(flags)


def error_sums(kind: str, errors: Float, y: Float, weights: Float | None) -> Float:
    """Return Σ_j e_j ℓ_j of each candidate (c), from errors (t × rows × c), y (t × rows) and e."""
    t = len(errors)
    if kind in ("squared", "absolute"):
        measure = np.square if kind == "squared" else np.absolute
        measure(errors, out=errors)
        sums = errors.sum(axis=1) if weights is None else weights @ errors
        return np.asarray(sums.sum(axis=0) / t)
    if t == 1:
        errors[0] *= y[0][:, None]
        wrong = errors[0] >= 1.0 - UNDECIDED
    else:
        wrong = ~_largest_is_true(errors, y)
    return weighted_count(wrong, weights)


def _largest_is_true(errors: Float, y: Float) -> Flags:
    """Return whether the target of the +1 has the largest prediction, by more than rounding."""
    predictions = np.subtract(y[:, :, None], errors, out=errors)
    true = np.full(predictions.shape[1:], 0.0)
    other = np.full(predictions.shape[1:], -np.inf)
    for values, labels in zip(predictions, y, strict=True):
        is_class = labels > 0
        true[is_class] = values[is_class]
        values[is_class] = -np.inf
        np.maximum(other, values, out=other)
    true -= other
    result: Flags = true > UNDECIDED
    return result
