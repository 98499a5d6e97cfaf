"""Groups of features as arrays: their columns, pairs of columns, and small linear systems.

Groups of the same width are processed together, as stacks of b × b matrices. Values for pairs of
columns within a group are stored in vectors, one number for each pair i < j.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import Float
from ._problem import Problem


class Part(NamedTuple):
    """Several groups of the same width b."""

    positions: NDArray[np.intp]  # (g) among the requested groups
    groups: NDArray[np.intp]  # (g) their numbers
    columns: NDArray[np.intp]  # (g × b)

    @property
    def width(self) -> int:
        """The number of columns b of each group."""
        return int(self.columns.shape[1])


class GroupLayout:
    """All groups of a problem and their costs."""

    def __init__(self, members: tuple[tuple[int, ...], ...], costs: Float | None = None) -> None:
        self.members = members
        self.costs = costs
        self.widths = np.array([len(group) for group in members], dtype=np.intp)
        self.firsts = np.array([group[0] for group in members], dtype=np.intp)
        n = int(self.widths.sum())
        self.owner = np.empty(n, dtype=np.intp)  # the group of each column
        for number, group in enumerate(members):
            self.owner[list(group)] = number
        # Pairs of group g begin at _pairs[g], in the order of np.triu_indices(b, 1).
        counts = self.widths * (self.widths - 1) // 2
        self._pairs = np.concatenate(([0], np.cumsum(counts)))
        self.left = np.empty(int(counts.sum()), dtype=np.intp)
        self.right = np.empty_like(self.left)
        for part in self.parts(np.arange(len(members))):
            if part.width > 1:
                rows, columns = np.triu_indices(part.width, 1)
                where = self._pair_indices(part)
                self.left[where] = part.columns[:, rows]
                self.right[where] = part.columns[:, columns]

    def __len__(self) -> int:
        return len(self.members)

    @property
    def n_pairs(self) -> int:
        """The number of pairs of columns in the same group."""
        return len(self.left)

    def columns(self, groups: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the columns of the given groups, one group after the other."""
        listed = [column for group in groups.tolist() for column in self.members[group]]
        return np.array(listed, dtype=np.intp)

    def parts(self, groups: NDArray[np.intp], most: int | None = None) -> Iterator[Part]:
        """Yield groups of the same width together, up to `most` columns or one group at a time."""
        widths = self.widths[groups]
        for width in np.unique(widths).tolist():
            (positions,) = (widths == width).nonzero()
            count = len(positions) if most is None else max(1, most // width)
            for first in range(0, len(positions), count):
                part = positions[first : first + count]
                chosen = groups[part]
                members = [self.members[group] for group in chosen.tolist()]
                yield Part(part, chosen, np.array(members, dtype=np.intp).reshape(-1, width))

    def _pair_indices(self, part: Part) -> NDArray[np.intp]:
        count = part.width * (part.width - 1) // 2
        return self._pairs[part.groups][:, None] + np.arange(count)

    def matrices(self, part: Part, diagonal: Float, pairs: Float) -> Float:
        """Return symmetric matrices (… × g × b × b) from diagonals (… × n) and pairs (… × P)."""
        width = part.width
        values = np.empty((*diagonal.shape[:-1], len(part.groups), width, width))
        diagonal_indices = np.arange(width)
        values[..., diagonal_indices, diagonal_indices] = diagonal[..., part.columns]
        if width > 1:
            rows, columns = np.triu_indices(width, 1)
            off_diagonal = pairs[..., self._pair_indices(part)]
            values[..., rows, columns] = values[..., columns, rows] = off_diagonal
        return values

    def put_pairs(self, part: Part, matrices: Float, pairs: Float) -> None:
        """Store the off-diagonal values of matrices (… × g × b × b) in `pairs` (… × P)."""
        if part.width > 1:
            rows, columns = np.triu_indices(part.width, 1)
            pairs[..., self._pair_indices(part)] = matrices[..., rows, columns]


def layout_of(problem: Problem) -> GroupLayout | None:
    """Return the groups of a problem; None if it has neither groups nor costs."""
    if problem.groups is None and problem.costs is None:
        return None
    members = problem.groups
    if members is None:
        members = tuple((column,) for column in range(problem.n_features))
    costs = None
    if problem.costs is not None:
        costs = np.array([math.fsum(problem.costs[list(group)].tolist()) for group in members])
    return GroupLayout(members, costs)


def inverse_roots(D: Float, least: float) -> tuple[Float, Float]:
    """Return R with R'R = D⁻¹ for symmetric matrices D (… × b × b), and their regularity.

    R is the inverse of the Cholesky factor, and the regularity (…) is its smallest pivot relative
    to the diagonal. No eigenvalue of D is smaller than `least` except by rounding: such ones are
    raised to `least`, and the regularity is 0.
    """
    if D.shape[-1] == 1:
        return 1.0 / np.sqrt(np.maximum(D, least)), np.ones(D.shape[:-2])
    try:
        factor = np.linalg.cholesky(D)
    except np.linalg.LinAlgError:
        return _clipped_roots(D, least)
    pivots = np.square(np.einsum("...bb->...b", factor)) / np.einsum("...bb->...b", D)
    return np.tril(np.linalg.inv(factor)), pivots.min(axis=-1)


def _clipped_roots(D: Float, least: float) -> tuple[Float, Float]:
    """Compute `inverse_roots` by eigenvalues, which are clipped."""
    is_finite = np.asarray(np.isfinite(D).all(axis=(-1, -2)))
    values, vectors = np.linalg.eigh(np.where(is_finite[..., None, None], D, 0.0))
    roots = vectors.swapaxes(-1, -2) / np.sqrt(np.maximum(values, least))[..., None]
    roots[~is_finite] = np.nan
    largest = np.maximum(values[..., -1], least)
    is_regular = is_finite & (values[..., 0] >= least)
    return roots, np.where(is_regular, values[..., 0] / largest, 0.0)
