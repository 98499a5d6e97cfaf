"""Feature space with groups: inner products of pairs of columns in a group, by recurrence.

Beside δ_i and ‖z_i‖² of every column, the recurrences update the off-diagonal entries within each
group: of D_ij = A_ij − Σ_s l_is l_js, the pivot matrix of a group, and of z_i·z_j.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._base import Float
from .._problem import GroupLayout, Part, inverse_roots
from ._feature_space import FeatureSpace
from ._penalties import Penalty

# A pivot within a group this much smaller than that of its column alone has too few digits left for
# a bound. (`TRUSTED_PIVOT` compares the pivot of a column with the column before any step.)
_TRUSTED_REGULARITY = 1e-9


class GroupSpace(FeatureSpace):
    """Feature space of columns in groups; `products` (P) are x_i·x_j of pairs in a group."""

    def __init__(
        self,
        diagonal: Float,
        correlation: Float,
        penalty: Penalty,
        capacity: int,
        layout: GroupLayout,
        products: Float,
    ) -> None:
        super().__init__(diagonal, correlation, penalty, capacity)
        self.layout = layout
        self._pair_products = products
        self.pair_delta = products.copy()
        self.pair_norms = products.copy()

    def _update_candidates(self, products: Float, slopes: Float) -> None:
        """Update all rows and all pairs after a pivot with −l and −q·z in `products`."""
        super()._update_candidates(products, slopes)
        left, right = products[:, self.layout.left], products[:, self.layout.right]
        both = left[0] * right[0]
        q_q = -slopes[1, 0]
        self.pair_delta -= both
        # z_i·z_j ← z_i·z_j − l_i (q·z_j) − l_j (q·z_i) + l_i l_j (q·q)
        both *= q_q
        both -= left[0] * right[1]
        both -= left[1] * right[0]
        self.pair_norms += both

    def rebuild(self, columns: Float, inverse: Float | None = None) -> None:
        """Recompute everything, including pairs, from the chosen features' Gram columns."""
        super().rebuild(columns, inverse)
        s = self.size
        beta = self._inverse[:s, :s].T @ self._L[:s]
        beta *= np.sqrt(self.penalty.diagonal)
        self.pair_delta = self._pair_products.copy()
        for part in self.layout.parts(self.layout.firsts):
            self._subtract(self.pair_delta, part, self._L[:s])
        self.pair_norms = self.pair_delta.copy()
        for part in self.layout.parts(self.layout.firsts):
            self._subtract(self.pair_norms, part, beta)

    def _subtract(self, pairs: Float, part: Part, rows: Float) -> None:
        """Subtract Σ_s v_si v_sj from the pairs of groups, for vectors v (|S| × n)."""
        if part.width > 1:
            vectors = rows[:, part.columns].transpose(1, 2, 0)
            current = self.layout.matrices(part, np.zeros(rows.shape[1]), pairs)
            self.layout.put_pairs(part, current - vectors @ vectors.swapaxes(1, 2), pairs)

    def roots(self, part: Part) -> tuple[Float, NDArray[np.bool_]]:
        """Return R with R'R = D⁻¹ of groups, by the recurrences, and which of them to trust."""
        D = self.layout.matrices(part, self.delta, self.pair_delta)
        roots, regularity = inverse_roots(D, self.penalty.diagonal)
        untrusted = self.untrusted()[part.columns].any(axis=1)
        return roots, ~untrusted & (regularity > _TRUSTED_REGULARITY)

    def norm_matrices(self, part: Part) -> Float:
        """Return z_i·z_j within groups, (g × b × b)."""
        return self.layout.matrices(part, self.norms, self.pair_norms)

    def penalty_matrices(self, part: Part, beta: Float) -> Float:
        """Return P_ij + β_i'Pβ_j within groups (g × b × b), for β (|S| × g·b) of their columns."""
        s, width = self.size, part.width
        scaled = np.sqrt(self.penalty.diagonal) * beta
        own = scaled.T.reshape(len(part.columns), width, s)
        values: Float = own @ own.swapaxes(1, 2)
        places = np.arange(width)
        values[:, places, places] += self.penalty.diagonal
        return values
