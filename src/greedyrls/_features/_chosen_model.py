"""The model of the chosen features by its pivots: refined coefficients, and removals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import Float


class ChosenModel(NamedTuple):
    """A model, or one for each split: L⁻¹ of its features in the order of choice, and w."""

    inverse: Float  # (… × |S| × |S|)
    weights: Float  # (… × |S| × t)

    def corrected(self, beta: Float, wrong: Float) -> Float:
        """Refine β (|S|), one step: `wrong` is X_S'z minus P_SSβ − P_Si, which it should be."""
        return beta + self.inverse.T @ (self.inverse @ wrong)

    def removals(self, positions: NDArray[np.intp]) -> tuple[Float, Float, Float]:
        """Regress features on the other ones: β (… × |S| × c), δ (… × c) and ρ (… × t × c)."""
        on_pivots = self.inverse[..., positions]
        v = np.square(on_pivots).sum(axis=-2)
        rho: Float = self.weights.mT[..., positions]
        return self.inverse.mT @ on_pivots / v[..., None, :], 1.0 / v, rho

    def group_removals(
        self, groups: Sequence[NDArray[np.intp]]
    ) -> tuple[Float, Float, Float, NDArray[np.intp]]:
        """The same of groups of features, made orthogonal; and where each group begins.

        With M = A_SS⁻¹ and M_TT = C C', the columns of M_·T C⁻ᵀ have δ = 1 and ρ = C⁻¹ w_T.
        """
        directions, steps = [], []
        for group in groups:
            on_pivots = self.inverse[..., group]
            root = np.linalg.inv(np.linalg.cholesky(on_pivots.mT @ on_pivots))
            directions.append(self.inverse.mT @ (on_pivots @ root.mT))
            steps.append((root @ self.weights[..., group, :]).mT)
        widths = np.array([len(group) for group in groups], dtype=np.intp)
        beta, rho = np.concatenate(directions, axis=-1), np.concatenate(steps, axis=-1)
        return beta, np.ones_like(beta[..., 0, :]), rho, np.cumsum(widths) - widths
