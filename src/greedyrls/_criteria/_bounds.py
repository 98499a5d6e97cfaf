"""Lower bounds of the leave-one-out loss with each feature added, from feature space alone.

docs/theory.md, "Bounds that rule out most candidates", derives them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base import PARALLEL, SUM_ROUNDING, TINY, Float, ask, larger_number
from .._features import column_on, entries
from .._rows import BoundTerms, support_sums
from ._state import SelectionState

# Of ‖z‖², which the recurrences know, relative to what the rows say.
_SUPPORT_ROUNDING = 1e-9


def approximation(state: SelectionState) -> tuple[Any, Any, Any]:
    """Approximate g = ω∘r by c₁ r + c₂ a: returns c₁, c₂ and the distance.

    They are (t), or numbers for one target; c₂ is None without an anchor.
    """
    sums: Any = state.statistics[:6]
    is_single = len(sums[0]) == 1
    if is_single:
        sums = [float(values[0]) for values in sums]
    r_r, g_r, g_g, a_r, a_g, a_a = sums
    r_r = r_r + TINY
    c1 = g_r / r_r
    # From sums of squares a distance is accurate only down to their rounding.
    square = (1.0 + SUM_ROUNDING) * g_g - c1 * g_r
    c2 = None
    if state.features.anchored is not None:
        # The part of the anchor orthogonal to r, and the component of g along it. If the two are
        # parallel up to rounding, the second summand of the divisor keeps c₂ small.
        slope = a_r / r_r
        across = a_a - slope * a_r
        a_g = a_g - slope * g_r
        c2 = a_g / (abs(across) + PARALLEL * a_a + TINY)
        c1 = c1 - c2 * slope
        square = square + c2 * (c2 * across - 2.0 * a_g)
    least = SUM_ROUNDING * g_g
    if is_single:
        return c1, c2, math.sqrt(max(square, least))
    return c1, c2, np.sqrt(np.maximum(square, least))


def lower_bounds(state: SelectionState) -> Float:
    """Return lower bounds (n) of the leave-one-out sums; +inf for features that are no candidates.

    They are E − Σ_t (2 ρ_i α_i − ρ_i² β_i), with β_i ≥ ω_min ‖z_i‖² and α_i = g·z_i known up to
    ‖g − c₁r − c₂a‖·‖z_i‖, where a is the anchor (if there is one).
    """
    features = state.features
    xp = features.location.xp
    c1, c2, distance = approximation(state)
    # `_fused_features` computes the same in a kernel.
    rho = features.tau / features.delta
    gain = features.inner * column_on(features.location, 2.0 * c1)
    if features.anchored is not None:
        gain += features.anchored * column_on(features.location, 2.0 * c2)
    gain *= rho
    size = xp.abs(rho)
    size *= xp.sqrt(features.norms)  # |ρ_i| ‖z_i‖
    quadratic = size * (-1.0 / float(state.statistics.largest_d) ** 2)
    quadratic += column_on(features.location, 2.0 * distance)
    quadratic *= size
    gain += quadratic
    values = state.loss_sum - (gain[0, :] if gain.shape[0] == 1 else xp.sum(gain, axis=0))
    values[features.untrusted()] = -np.inf
    # Numbers near the limits of float64 may give a NaN, which bounds nothing.
    bounds: Float = larger_number(values, state.barred)
    return bounds


def bound_terms(state: SelectionState) -> BoundTerms:
    """Return the coefficients of these bounds and of `leverage_growth`; for one target."""
    c1, c2, distance = approximation(state)
    d = float(state.statistics.largest_d)
    along_anchor = 0.0 if c2 is None else 2.0 * c2
    return BoundTerms(
        state.loss_sum, 2.0 * c1, along_anchor, 2.0 * distance, -1.0 / d**2, 2.0 / d**3
    )


def leverage_growth(state: SelectionState, indices: NDArray[np.intp]) -> Float:
    """Return a lower bound, to first order, of what growing leverages add to candidates' bounds.

    It is 2 Σ_t (‖r∘z_i‖ − |ρ_i| ‖z_i‖₄²)² / (δ_i d_max³), where the bracket is positive.
    """
    known = state.features.spread
    if known is None:
        return np.zeros(len(indices))
    features = state.features
    roots = known.fourth_root, known.mixed_root
    delta, tau, fourth_root, mixed_root = entries(
        features.location, indices, features.delta, features.tau, *roots
    )
    spread = np.abs(tau / delta)
    spread *= -np.square(fourth_root)
    spread += mixed_root
    spread = np.fmax(spread, 0.0)
    spread *= spread
    growth: Float = spread.sum(axis=0) * (2.0 / (state.statistics.largest_d**3 * delta))
    return growth


def bound_slack(state: SelectionState, indices: NDArray[np.intp]) -> Float:
    """Return how much the bounds of candidates could rise if α_i were computed."""
    features = state.features
    delta, tau, norms = entries(
        features.location, indices, features.delta, features.tau, features.norms
    )
    _, _, distance = approximation(state)
    size = np.abs(tau) * np.sqrt(norms)
    slack: Float = 2.0 * (np.atleast_1d(distance) @ size) / delta
    return slack


def support_bounds(state: SelectionState, indices: NDArray[np.intp]) -> Float:
    """Return lower bounds of the leave-one-out sums of rare candidates, in ascending order.

    The rows in which a candidate is not 0 are computed exactly; the sum over the others, where z is
    due to the chosen features and the mean only, is bounded.
    """
    features, statistics = state.features, state.statistics
    beta = features.beta_of(indices)
    delta = features.delta[indices]
    rho = features.tau[:, indices] / delta
    seen = state.samples.total(ask(support_sums, indices, beta, delta, rho))
    norms = features.norms[indices]
    rest = np.sqrt(np.maximum(norms - seen.z_z, 0.0) + _SUPPORT_ROUNDING * norms)  # ‖z‖ elsewhere
    c1 = statistics.g_r / (statistics.r_r + TINY)
    distance = np.sqrt(np.maximum((1.0 + SUM_ROUNDING) * statistics.g_g - c1 * statistics.g_r, 0.0))
    gain = 2.0 * c1[:, None] * rho * (features.inner[:, indices] - seen.r_z)
    size = np.abs(rho) * rest
    gain += size * (2.0 * distance[:, None] - size / statistics.largest_d**2)
    grown = seen.exact - seen.before
    values: Float = state.loss_sum + (grown - gain).sum(axis=0)
    values[features.untrusted()[indices]] = -np.inf
    return np.where(np.isnan(values), -np.inf, values)
