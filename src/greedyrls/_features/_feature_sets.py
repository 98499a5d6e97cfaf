"""Feature space at any set of chosen features, from Gram columns; losses without each feature."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base import Float, floor_at, put, stacked, to_device
from ._factors import lower_inverse
from ._feature_space import FeatureSpace, entries


def removal_squares(space: FeatureSpace, energy: Float) -> Float:
    """Return ‖r‖² without each chosen feature, (t × |S|); energy (t) is ‖r‖² with all.

    z of a chosen feature lies in the span of X_S, where r·z = w'Pβ and ‖z‖² = δ − β'Pβ.
    """
    s = space.size
    beta, delta, rho = space.model.removals(np.arange(s))
    weighted = space.penalty.square(s) @ beta
    inner = space.model.weights.T @ weighted
    norms = np.maximum(delta - np.einsum("sc,sc->c", beta, weighted), 0.0)
    squares: Float = energy[:, None] + rho * (2.0 * inner + rho * norms)
    return squares


def move_to(space: FeatureSpace, features: list[int], columns: Float, inverse: Float) -> None:
    """Move to any set, given the Gram columns of its features and L⁻¹ of their part of A."""
    while space._L.shape[0] < len(features):
        space._grow()
    s = len(features)
    space.selected = list(features)
    space._chosen[:s] = features
    rebuild(space, columns, inverse)
    if space.spread is not None:
        space.spread.forget()  # it held beside other features


def rebuild(space: FeatureSpace, columns: Float, inverse: Float | None = None) -> None:
    """Recompute everything from the chosen features' Gram columns (|S| × n): removes drift.

    `inverse` is L⁻¹ of their part of A, where the caller has it more accurately.
    """
    space.forget()
    s = space.size
    xp = space.location.xp
    chosen = space._chosen[:s]
    A, correlation = entries(space.location, chosen, columns, space.correlation)
    A = 0.5 * (A + A.T)
    space._gram[:s, :s] = A
    square = space.penalty.square(s)
    factor: Any
    if inverse is None:
        factor = np.linalg.cholesky(A + square)
        inverse = lower_inverse(factor)
    else:
        factor = (A + square) @ inverse.T
    space._inverse[:s, :s] = inverse
    weights = space._weights[:s] = inverse.T @ (inverse @ correlation.T)
    # q̃_u·q̃_s, rows and penalty together, is 1 or 0: subtract the part of the penalty.
    space._overlap[:s, :s] = np.eye(s) - inverse @ square @ inverse.T
    forward, on_pivots, back, on_beta, overlap = to_device(
        space.location,
        inverse,
        correlation @ inverse.T,
        inverse.T,
        weights.T,
        space._overlap[:s, :s],
    )
    L = forward @ space.penalty.penalised(columns)
    put(L, chosen, factor.T)
    space._L[:s, :] = L
    V = L
    if space._V is not None:
        V = space._V[:s, :] = forward @ columns
    delta = xp.maximum(space.scale - xp.sum(L * L, axis=0), space._floors[0, :])
    tau = space.correlation - on_pivots @ L
    inner = tau - on_beta @ space.penalty.pulled(slice(None), back @ L)
    # ‖x_i − Σ_s l_is q_s‖², not δ_i minus its penalty: the difference would cancel where the
    # penalty is large.
    norms = floor_at(space.diagonal - xp.sum(L * (2.0 * V - overlap @ L), axis=0), 0.0)
    space._set_rows(stacked([delta[None, :], norms[None, :], tau, inner]))
    if space.pairs is not None:
        space.pairs.rebuild(L, V, overlap)
