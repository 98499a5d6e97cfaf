"""Feature space of one model at any set of chosen features, and losses without each feature."""

from __future__ import annotations

import numpy as np

from .._base import Float
from ._factors import lower_inverse
from ._feature_space import FeatureSpace
from ._recurrences import entries


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
    rebuild(space, features, columns, inverse)
    if space.spread is not None:
        space.spread.forget()  # it held beside other features


def rebuild(
    space: FeatureSpace, features: list[int], columns: Float, inverse: Float | None = None
) -> None:
    """Recompute everything from the Gram columns of features (|S| × n): removes drift.

    `inverse` is L⁻¹ of their part of A, where the caller has it more accurately.
    """
    space.forget()
    s, order = len(features), np.array(features, dtype=np.intp)
    (gram,) = entries(space.location, order, columns)
    gram = 0.5 * (gram + gram.T)
    if inverse is None:
        inverse = lower_inverse(np.linalg.cholesky(gram + space.penalty.square(s)))
    space.place(features, (columns, columns), gram, inverse)
    space._chosen[:s], space._gram[:s, :s] = order, gram
