"""A sigmoid fitted to margins and classes (Platt 1999), which turns margins into probabilities.

P(class | f) = 1 / (1 + exp(−(a f + b))), with a ≥ 0. Targets are Platt's, (N₊ + 1)/(N₊ + 2) and
1/(N₋ + 2) rather than 1 and 0, so that a and b are finite where the margins separate the classes.
Newton's method with halved steps (Lin, Lin and Weng 2007).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._exported import exported
from .kernels import Float

_MOST_STEPS = 100
# Newton's method ends when a step lowers the mean loss by less than this.
_DONE = 1e-20
# Steps are halved down to this share.
_SHORTEST = 1e-10
# Margins that differ by less, relative to their size, differ by rounding only.
_MARGIN_ROUNDING = 1e-12


@exported("greedyrls._base")
class Sigmoid(NamedTuple):
    """P = 1 / (1 + exp(−(slope · margin + intercept)))."""

    slope: float  # 0 or more
    intercept: float


def constant_sigmoid(share: float) -> Sigmoid:
    """Return the sigmoid with the same probability for every margin."""
    tiny = float(np.finfo(np.float64).eps)
    inside = min(max(share, tiny), 1.0 - tiny)
    return Sigmoid(0.0, float(np.log(inside) - np.log1p(-inside)))


def fit_sigmoid(
    margins: Float, is_positive: NDArray[np.bool_], weights: Float, share: float
) -> Sigmoid:
    """Return the maximum-likelihood sigmoid for margins (m) of samples with weights (m).

    It is the constant `share` if the margins do not order the classes, or if there is a single
    class: a decreasing sigmoid would reverse the order of the model.
    """
    positive = float(weights[is_positive].sum())
    negative = float(weights.sum()) - positive
    if not (is_positive.any() and not is_positive.all() and positive > 0.0 and negative > 0.0):
        return constant_sigmoid(share)
    # Margins are standardised, so that both unknowns are of about the same size.
    total = positive + negative
    centre = float(weights @ margins) / total
    spread = float(np.sqrt(weights @ (margins - centre) ** 2 / total))
    if spread <= _MARGIN_ROUNDING * max(abs(centre), float(np.abs(margins).max())):
        return constant_sigmoid(share)
    z = (margins - centre) / spread
    high, low = (positive + 1.0) / (positive + 2.0), 1.0 / (negative + 2.0)
    targets = np.where(is_positive, high, low)
    # The loss is convex: the best slope is below 0 if the loss rises with the slope at 0.
    if float(weights @ (z * targets)) <= 0.0:
        return constant_sigmoid(share)
    slope, intercept = _newton(z, targets, weights / total)
    return Sigmoid(slope / spread, intercept - slope * centre / spread)


def _newton(z: Float, targets: Float, weights: Float) -> tuple[float, float]:
    """Return slope and intercept that minimise Σ w (log(1 + eᵘ) − t u) with u = a z + b."""
    mean = float(weights @ targets)
    a, b = 0.0, float(np.log(mean) - np.log1p(-mean))
    loss = _loss(a, b, z, targets, weights)
    for _ in range(_MOST_STEPS):
        p = logistic(a * z + b)
        errors, curvature = weights * (p - targets), weights * p * (1.0 - p)
        slope_gradient, gradient = float(errors @ z), float(errors.sum())
        zz, z1, one = float(curvature @ (z * z)), float(curvature @ z), float(curvature.sum())
        determinant = zz * one - z1 * z1
        if not determinant > 0.0:
            break
        step_a = (z1 * gradient - one * slope_gradient) / determinant
        step_b = (z1 * slope_gradient - zz * gradient) / determinant
        promised = -(step_a * slope_gradient + step_b * gradient)
        share = 1.0
        while share > _SHORTEST:
            tried = a + share * step_a, b + share * step_b
            new_loss = _loss(*tried, z, targets, weights)
            # The last steps change the loss by less than its rounding error.
            if new_loss <= loss - 1e-4 * share * promised + 1e-15 * abs(loss):
                break
            share /= 2.0
        else:
            break
        (a, b), loss = tried, new_loss
        if promised <= _DONE:
            break
    return a, b


def _loss(a: float, b: float, z: Float, targets: Float, weights: Float) -> float:
    u = a * z + b
    return float(weights @ (np.logaddexp(0.0, u) - targets * u))


def logistic(u: Float) -> Float:
    """Return 1 / (1 + e⁻ᵘ) without overflow."""
    small = np.exp(-np.abs(u))
    values: Float = np.where(u >= 0.0, 1.0, small) / (1.0 + small)
    return values
