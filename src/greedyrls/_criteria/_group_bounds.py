"""Leave-one-out with squared loss for groups of features: bounds, and exact scores on the rows.

As for single features, leverages only grow, so Σ_j ω_j (r_j − z_j'ρ)² bounds the loss with a group
from below. Its terms are known in feature space (docs/theory.md,
"Bounds that rule out most candidates").
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from .._base import Float, ask
from .._features import GroupPairs, joint_coefficients
from .._problem import Part, inverse_roots
from .._rows import (
    GroupLosses,
    GroupMoments,
    candidate_residuals,
    group_losses,
    group_moments,
    steps_of,
)
from ._bounds import approximation
from ._state import SelectionState

# A pivot within a group this much smaller than that of its column alone has too few digits left for
# a bound. (`TRUSTED_PIVOT` compares the pivot of a column with the column before any step.)
_TRUSTED_REGULARITY = 1e-9
# Of Σ_i |ρ_i| √A_ii squared: what ‖Z ρ‖² is known by.
_NORM_ROUNDING = 1e-14


def pairs_of(state: SelectionState) -> GroupPairs:
    """The pairs of columns of a search among groups."""
    assert state.features.pairs is not None
    return state.features.pairs


def roots_of(state: SelectionState, part: Part) -> tuple[Float, NDArray[np.bool_]]:
    """Return R with R'R = D⁻¹ of groups, by the recurrences, and which of them to trust."""
    space = state.features
    roots, regularity = pairs_of(state).roots(part, space.delta, space.penalty.diagonal)
    untrusted = space.untrusted()[part.columns].any(axis=1)
    return roots, ~untrusted & (regularity > _TRUSTED_REGULARITY)


def group_bounds(state: SelectionState) -> Float:
    """Return lower bounds (n) of the leave-one-out sums of groups, at their first columns.

    They are E − Σ_t (2 ρ'α − ω_min ρ'Z'Zρ), with α = Z'g known up to ‖g − c₁r − c₂a‖·‖Zρ‖.
    """
    space, pairs = state.features, pairs_of(state)
    c1, c2, distance = approximation(state)
    c1, distance = np.atleast_1d(c1), np.atleast_1d(distance)
    bounds = np.full(state.problem.n_features, np.inf)
    for part in pairs.layout.parts(state.candidates):
        roots, is_trusted = roots_of(state, part)
        rho = joint_coefficients(roots, space.tau[:, part.columns])
        gain = 2.0 * c1[:, None] * _along(rho, space.inner, part)
        if space.anchored is not None:
            gain += 2.0 * np.atleast_1d(c2)[:, None] * _along(rho, space.anchored, part)
        W = pairs.norm_matrices(part, space.norms)
        square = np.einsum("tgb,gbc,tgc->tg", rho, W, rho)
        scale = np.sqrt(space.scale[part.columns])
        slack = _NORM_ROUNDING * np.square((np.abs(rho) * scale).sum(axis=2))
        gain += 2.0 * distance[:, None] * np.sqrt(np.maximum(square, 0.0) + slack)
        gain -= np.maximum(square - slack, 0.0) / state.statistics.largest_d**2
        values = state.loss_sum - gain.sum(axis=0)
        # Numbers near the limits of float64 may give a NaN, which bounds nothing.
        bounds[part.firsts] = np.where(is_trusted & ~np.isnan(values), values, -np.inf)
    return bounds


def _along(rho: Float, products: Float, part: Part) -> Float:
    """Return Σ_i ρ_i v·z_i (t × g) from v·z_i (t × n)."""
    values: Float = np.einsum("tgb,tgb->tg", rho, products[:, part.columns])
    return values


def group_openness(state: SelectionState, groups: NDArray[np.intp]) -> tuple[Float, Float]:
    """Return growth and slack of the bounds of groups that are still open.

    With C = D scaled to a diagonal of ones, z'D⁻¹z ≥ Σ_i z_i²/(δ_i ‖C‖): the leverages of the rows
    grow by that at least, and the loss by 2/(d_max³ ‖C‖) Σ_i ‖(r − Zρ)∘z_i‖²/δ_i, where
    ‖(r − Zρ)∘z_i‖ ≥ ‖r∘z_i‖ − Σ_k |ρ_k| ‖z_k‖₄ ‖z_i‖₄.
    """
    space, pairs = state.features, pairs_of(state)
    _, _, distance = approximation(state)
    growth, slack = np.zeros(len(groups)), np.zeros(len(groups))
    for part in pairs.layout.parts(groups):
        roots, _ = roots_of(state, part)
        rho = joint_coefficients(roots, space.tau[:, part.columns])
        W = pairs.norm_matrices(part, space.norms)
        square = np.einsum("tgb,gbc,tgc->tg", rho, W, rho)
        sizes = np.sqrt(np.maximum(square, 0.0))
        slack[part.positions] = 2.0 * (np.atleast_1d(distance) @ sizes)
        if space.spread is not None:
            delta, fourth = space.delta[part.columns], space.spread.fourth_root[part.columns]
            D = pairs.layout.matrices(part, space.delta, pairs.delta)
            scaled = np.abs(D) / np.sqrt(delta[:, :, None] * delta[:, None, :])
            norm = scaled.sum(axis=2).max(axis=1)  # at least ‖C‖
            lost = (np.abs(rho) * fourth).sum(axis=2)
            spread = space.spread.mixed_root[:, part.columns] - lost[:, :, None] * fourth
            spread = np.fmax(spread, 0.0)
            total = (spread * spread / delta).sum(axis=(0, 2))
            growth[part.positions] = total * 2.0 / (state.statistics.largest_d**3 * norm)
    return growth, slack


def score_groups(state: SelectionState, groups: NDArray[np.intp]) -> Float:
    """Return exact leave-one-out sums (t × c) of groups; the spread of z sharpens later bounds."""
    space, samples, layout = state.features, state.samples, state.layout
    alpha = space.penalty.diagonal
    # In one pass, rather than one for each part.
    state.problem.X.fetch(layout.columns(groups).tolist())
    losses = np.full((state.problem.n_targets, len(groups)), np.nan)
    samples.exact_evaluations += len(groups)
    for part in layout.parts(groups, samples.group):
        flat = part.columns.ravel()
        beta, _, shrinkage = space.coefficients(flat)
        Z = samples.each(ask(candidate_residuals, flat, beta))
        moments: GroupMoments = samples.total(partial(group_moments, width=part.width), Z)
        # P_ij + β_i'Pβ_j within groups.
        own = np.sqrt(alpha) * beta.T.reshape(*part.columns.shape, -1)
        D = moments.products + own @ own.mT + alpha * np.eye(part.width)
        tau = moments.correlations + shrinkage.reshape(-1, *part.columns.shape)
        roots, _ = inverse_roots(D, alpha)
        question = partial(
            group_losses,
            roots=roots,
            steps=steps_of(roots, tau),
            with_spread=space.spread is not None,
        )
        sums: GroupLosses = samples.total(question, Z)
        losses[:, part.positions] = sums.losses
        if space.spread is not None:
            space.spread.remember(flat, sums.mixed.reshape(len(tau), -1), sums.fourth.ravel())
    return losses
