"""Standard errors and intervals of held-out losses, from their covariance.

`_criteria/_held_out_errors.py` has the derivation.
"""

from __future__ import annotations

import numpy as np
from scipy.special import stdtrit

from .._base import Float

# Indices into the vectors of losses; the losses of sizes 1, 2, … follow.
CHOSEN, INITIAL, LOSSES_BEFORE_SIZES = 0, 1, 2
# The stability index up to which shared training rows count in full; above it the agreement of
# selections is called excellent. benchmarks/suites/coverage.py has the coverage.
_AGREEING = 0.75


def variances_of(covariance: Float) -> tuple[Float, Float]:
    """Return variances (c) of losses and of their differences to the loss without features.

    By rounding they may be below 0: `corrected` takes them for 0.
    """
    variances = np.diagonal(covariance)
    return variances, variances + variances[INITIAL] - 2.0 * covariance[INITIAL]


def corrected(
    variances: Float, differences: Float, agreement: Float, ratio: float, n_folds: int
) -> Float:
    """Return standard errors, corrected for shared training rows if selections differ.

    `differences` are V_δ, variances of the difference to the loss without features; `agreement` is
    the stability index Φ and `ratio` is ρ. Φ is NaN if all selections must be the same, and for a
    single fold, from which it cannot be estimated.
    """
    stability = np.nan_to_num(agreement, nan=float(n_folds > 1))
    differing = np.clip((1.0 - stability) / (1.0 - _AGREEING), 0.0, 1.0)
    clipped = np.maximum(variances, 0.0)
    depending = np.sqrt(clipped * np.clip(differences, 0.0, clipped))
    errors: Float = np.sqrt(clipped + differing * ratio * depending)
    return errors


def t_quantile(level: float, n_folds: int, n_clusters: int | None) -> float:
    """Return the t quantile of a two-sided interval; n_clusters is None for folds alone."""
    freedom = (n_folds if n_clusters is None else n_clusters) - 1
    return float(stdtrit(freedom, 0.5 + level / 2.0)) if freedom > 0 else np.nan


def rate_interval(
    rate: float, error: float, quantile: float, n_clusters: int | None = None
) -> tuple[float, float]:
    """Return Wilson's interval (1927): all rates at most `quantile` errors away from this one.

    The error of another rate p is taken to be error · √(p(1 − p) / (rate (1 − rate))), as if the
    rate were of independent samples, whatever their number. So both ends are possible rates. A rate
    of 0 or 1, whose error is 0, is taken to be that of `n_clusters` independent samples.
    """
    variance = rate * (1.0 - rate)
    if variance <= 0.0 and n_clusters:
        ratio = quantile**2 / n_clusters
    elif error == 0.0 or variance <= 0.0:
        return max(0.0, rate - quantile * error), min(1.0, rate + quantile * error)
    else:
        ratio = quantile**2 * error**2 / variance  # z²/n
    centre, width = rate + ratio / 2.0, np.sqrt(ratio * (variance + ratio / 4.0))
    return float((centre - width) / (1.0 + ratio)), float((centre + width) / (1.0 + ratio))
