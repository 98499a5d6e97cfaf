"""Groups of features with folds: functions of a row block, and feature space.

For each split the recurrences update the pivot matrices of all groups on its training rows, and
z_i·z_j of pairs on its held-out rows: with squared loss a step does not read the rows.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import Float
from .._problem import GroupLayout, Part, inverse_roots
from .._rows import Candidates, FoldBlock, FoldRows, SetSums
from ._fold_space import FoldSpace
from ._penalties import Penalty

# Elements of X gathered at a time for products of columns within groups.
_PAIR_ELEMENTS = 1 << 20


class PairSums(NamedTuple):
    """The sums Σ w x_i x_j over each set of rows, for pairs of columns in a group."""

    values: Float  # (sets × P)


def pair_sums(block: FoldBlock, layout: GroupLayout) -> PairSums:
    """Sum the pairs of all groups over each set of rows, X minus its shift, in one pass."""
    values = np.zeros((len(block.sets), layout.n_pairs))
    parts = [part for part in layout.parts(layout.firsts) if part.width > 1]
    sums = [np.zeros((len(block.sets), *part.columns.shape, part.width)) for part in parts]

    for number, rows, x in block.visit() if parts else ():
        for part, total in zip(parts, sums, strict=True):
            count = max(1, _PAIR_ELEMENTS // (part.width * max(1, len(rows))))
            for first in range(0, len(part.columns), count):
                some = slice(first, first + count)
                columns = part.columns[some]
                own = x.columns(columns.ravel()).reshape(*columns.shape, len(rows))
                total[number, some] += (own * block.weights[rows]) @ own.swapaxes(1, 2)
    for part, total in zip(parts, sums, strict=True):
        layout.put_pairs(part, total, values)
    return PairSums(values)


class FoldPairs(NamedTuple):
    """Pairs of columns in a group over the training and the test rows of each split, (K × P)."""

    layout: GroupLayout
    train: Float
    test: Float


def fold_pairs(rows: FoldRows, layout: GroupLayout) -> FoldPairs:
    """Sum the pairs of each split: one pass over X, none if all groups have a single column."""
    if layout.n_pairs:
        rows.passes += 1
    sums: PairSums = rows.total(partial(pair_sums, layout=layout))
    train, test, _ = rows.by_split(sums.values)
    return FoldPairs(layout, train, test)


class GroupFoldSpace(FoldSpace):
    """Feature space of all splits with pairs of columns in a group."""

    def __init__(
        self,
        train: SetSums,
        test: SetSums,
        penalty: Penalty,
        fit_intercept: bool,
        capacity: int,
        pairs: FoldPairs,
    ) -> None:
        super().__init__(train, test, penalty, fit_intercept, capacity)
        self.layout = pairs.layout
        left, right = self.layout.left, self.layout.right
        means = self.means[:, left], self.means[:, right]
        self.pair_delta = pairs.train - train.weight[:, None] * means[0] * means[1]
        self.pair_norms = (
            pairs.test
            - means[0] * test.x[:, right]
            - means[1] * (test.x[:, left] - test.weight[:, None] * means[0])
        )

    def _update_norms(self, row: Float, q_z: Float, q_q: Float) -> None:
        """Update δ, ‖z‖² and the pairs after a pivot with l, q·z and q·q."""
        super()._update_norms(row, q_z, q_q)
        left, right = self.layout.left, self.layout.right
        l_i, l_j = row[:, left], row[:, right]
        both = l_i * l_j
        self.pair_delta -= both
        both *= q_q
        both -= l_i * q_z[:, right]
        both -= l_j * q_z[:, left]
        self.pair_norms += both

    def group_coefficients(self, part: Part) -> Float:
        """Return ρ = D⁻¹τ of groups, (K × t × g × b)."""
        D = self.layout.matrices(part, self.delta, self.pair_delta)
        roots, _ = inverse_roots(D, self.penalty.diagonal)
        tau = self.tau[:, :, part.columns]
        steps = roots[:, None] @ tau[..., None]
        rho: Float = (steps.swapaxes(-1, -2) @ roots[:, None])[..., 0, :]
        return rho

    def candidate_losses(self, candidates: NDArray[np.intp]) -> Float:
        """Held-out sums of squares with each of some groups added, (K × t × c)."""
        values = np.empty((*self.energy.shape, len(candidates)))
        for part in self.layout.parts(candidates):
            rho = self.group_coefficients(part)
            W = self.layout.matrices(part, self.norms, self.pair_norms)
            change = (W[:, None] @ rho[..., None])[..., 0]
            change -= 2.0 * self.inner[:, :, part.columns]
            change *= rho
            values[:, :, part.positions] = self.energy[:, :, None] + change.sum(axis=-1)
        return values

    def candidates(self, indices: NDArray[np.intp]) -> Candidates:
        """All columns of some groups, which are added together."""
        columns, starts = self.layout.columns(indices), self.layout.starts(indices)
        assert starts is not None
        rho = np.empty((*self.energy.shape, len(columns)))
        for part in self.layout.parts(indices):
            positions = starts[part.positions][:, None] + np.arange(part.width)
            rho[:, :, positions] = self.group_coefficients(part)
        return Candidates(columns, self.means[:, columns], self.coefficients(columns), rho, starts)
