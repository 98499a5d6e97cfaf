"""Pairs of columns in a group plug into feature space: their inner products, by recurrence.

Beside δ_i and ‖z_i‖² of every column, a step updates the off-diagonal entries within each group: of
D_ij = A_ij − Σ_s l_is l_js, the pivot matrix of a group, and of z_i·z_j. With folds there is one of
each for every split, D on its training rows and z_i·z_j on its held-out rows.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from .._base import Float, slices
from .._problem import GroupLayout, Part, inverse_roots
from .._rows import ArraySum, FoldBlock, FoldRows, SetSums

# Elements of X gathered at a time for products of columns within groups.
_PAIR_ELEMENTS = 1 << 20


def pair_sums(block: FoldBlock, layout: GroupLayout) -> ArraySum:
    """Sum the pairs of all groups over each set of rows, X minus its shift, in one pass."""
    values = np.zeros((len(block.sets), layout.n_pairs))
    parts = [part for part in layout.parts(layout.firsts) if part.width > 1]
    sums = [np.zeros((len(block.sets), *part.columns.shape, part.width)) for part in parts]

    for number, rows, x in block.visit() if parts else ():
        for part, total in zip(parts, sums, strict=True):
            count = max(1, _PAIR_ELEMENTS // (part.width * max(1, len(rows))))
            for some in slices(len(part.columns), count):
                columns = part.columns[some]
                own = x.columns(columns.ravel()).reshape(*columns.shape, len(rows))
                total[number, some] += (own * block.weights[rows]) @ own.swapaxes(1, 2)
    for part, total in zip(parts, sums, strict=True):
        layout.put_pairs(part, total, values)
    return ArraySum(values)


class GroupPairs:
    """Pairs i < j of columns in a group: D_ij and z_i·z_j, (P) or (K × P).

    They begin with A_ij, which is x_i·x_j on the training rows, and x_i·x_j on the held-out rows.
    """

    def __init__(self, layout: GroupLayout, on_train: Float, on_test: Float) -> None:
        self.layout = layout
        self._start = on_train, on_test
        self.delta, self.norms = on_train.copy(), on_test.copy()

    def update(self, row: Float, q_z: Float, q_q: Float | float) -> None:
        """Update all pairs after a pivot with l and q·z (… × n), or both negated, and q·q.

        z_i·z_j ← z_i·z_j − l_i (q·z_j) − l_j (q·z_i) + l_i l_j (q·q)
        """
        left, right = self.layout.left, self.layout.right
        l_i, l_j = row[..., left], row[..., right]
        both = l_i * l_j
        self.delta -= both
        both *= q_q
        both -= l_i * q_z[..., right]
        both -= l_j * q_z[..., left]
        self.norms += both

    def rebuild(self, L: Float, V: Float, overlap: Float) -> None:
        """Recompute all pairs from L and V (… × |S| × n) and q_u·q_s."""
        self.delta, self.norms = (values.copy() for values in self._start)
        # z_i·z_j = x_i·x_j − Σ_s (l_is u_sj + l_js u_si)
        u = V - 0.5 * (overlap @ L)
        for s in range(L.shape[-2]):
            self.update(L[..., s, :], u[..., s, :], 0.0)

    def roots(self, part: Part, delta: Float, least: float) -> tuple[Float, Float]:
        """Return R with R'R = D⁻¹ of groups, and their regularity; delta (… × n) is δ."""
        return inverse_roots(self.layout.matrices(part, delta, self.delta), least)

    def norm_matrices(self, part: Part, norms: Float) -> Float:
        """Return z_i·z_j within groups, (… × g × b × b); norms (… × n) are ‖z_i‖²."""
        return self.layout.matrices(part, norms, self.norms)


def joint_coefficients(roots: Float, tau: Float) -> Float:
    """Return ρ = D⁻¹τ of groups, (… × t × g × b), for τ of the same shape and R (… × g × b × b)."""
    roots = roots[..., None, :, :, :]
    steps = roots @ tau[..., None]
    rho: Float = (steps.mT @ roots)[..., 0, :]
    return rho


class FoldPairs(NamedTuple):
    """Pairs of columns in a group over the training and the test rows of each split, (K × P)."""

    layout: GroupLayout
    train: Float
    test: Float

    def centred(self, means: Float, train: SetSums, test: SetSums) -> GroupPairs:
        """Subtract from all columns their means (K × n) over the training rows."""
        left, right = self.layout.left, self.layout.right
        mean, other = means[:, left], means[:, right]
        on_test = test.x[:, left] - test.weight[:, None] * mean
        return GroupPairs(
            self.layout,
            self.train - train.weight[:, None] * mean * other,
            self.test - mean * test.x[:, right] - other * on_test,
        )


def fold_pairs(rows: FoldRows, layout: GroupLayout) -> FoldPairs:
    """Sum the pairs of each split: one pass over X, none if all groups have a single column."""
    if layout.n_pairs:
        rows.passes += 1
    sums: ArraySum = rows.total(partial(pair_sums, layout=layout))
    train, test, _ = rows.by_split(sums.values)
    return FoldPairs(layout, train, test)
