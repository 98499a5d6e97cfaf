"""Standard errors and intervals of held-out losses, from their covariance.

`_criteria/_held_out_errors.py` has the derivation.
"""

from __future__ import annotations

import numpy as np
from scipy.special import stdtrit

from .._base import Float

# Places in the vectors of losses; those of sizes 1, 2, … follow.
CHOSEN, INITIAL, LOSSES_BEFORE_SIZES = 0, 1, 2
# The stability index up to which shared training rows count in full; above it the agreement of
# selections is called excellent. benchmarks/suites/coverage.py has the coverage.
_AGREEING = 0.75


def variances_of(covariance: Float) -> tuple[Float, Float]:
    """Variances (c) of losses, and of their differences to the loss without features."""
    own = np.diagonal(covariance)
    return own, np.maximum(own + own[INITIAL] - 2.0 * covariance[INITIAL], 0.0)


def corrected(
    variances: Float, differences: Float, agreement: Float, ratio: float, n_folds: int
) -> Float:
    """Standard errors, corrected for shared training rows where selections differ.

    `differences` are V_δ, variances of the difference to the loss without features; `agreement` is
    the stability index Φ and `ratio` is ρ. Φ is not a number where all selections must be the same,
    and for a single fold, which says nothing of it.
    """
    known = np.nan_to_num(agreement, nan=float(n_folds > 1))
    differing = np.clip((1.0 - known) / (1.0 - _AGREEING), 0.0, 1.0)
    own = np.maximum(variances, 0.0)
    depending = np.sqrt(own * np.clip(differences, 0.0, own))
    errors: Float = np.sqrt(own + differing * ratio * depending)
    return errors


def t_quantile(level: float, n_folds: int, n_clusters: int | None) -> float:
    """How many standard errors a two-sided interval reaches; n_clusters is None for folds alone."""
    freedom = (n_folds if n_clusters is None else n_clusters) - 1
    return float(stdtrit(freedom, 0.5 + level / 2.0)) if freedom > 0 else np.nan


def rate_interval(rate: float, error: float, quantile: float) -> tuple[float, float]:
    """Wilson's (1927): all rates from which this one is no more than so many errors away.

    The error of another rate p is taken to be error · √(p(1 − p) / (rate (1 − rate))), as if the
    rate were of independent samples, whatever their number. So both ends are possible rates.
    """
    variance = rate * (1.0 - rate)
    if error == 0.0 or variance <= 0.0:
        return max(0.0, rate - quantile * error), min(1.0, rate + quantile * error)
    ratio = quantile**2 * error**2 / variance  # z²/n
    centre, width = rate + ratio / 2.0, np.sqrt(ratio * (variance + ratio / 4.0))
    return float((centre - width) / (1.0 + ratio)), float((centre + width) / (1.0 + ratio))
