"""Groups of features as arrays: their columns, pairs of columns, and small linear systems.

Groups of the same width are processed together, as stacks of b × b matrices. Values for pairs of
columns within a group are stored in vectors, one number for each pair i < j.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import Float, batches
from ._problem import Problem


class Part(NamedTuple):
    """Some candidates of the same width b."""

    positions: NDArray[np.intp]  # (g) among the candidates that were asked for
    columns: NDArray[np.intp]  # (g × b)

    @property
    def firsts(self) -> NDArray[np.intp]:
        """The first column of each candidate, by which it goes."""
        return self.columns[:, 0]

    @property
    def width(self) -> int:
        """The number of columns of each candidate."""
        return int(self.columns.shape[1])


class GroupLayout:
    """The candidates of a problem: groups of columns, or single ones; and what each costs.

    A candidate goes by its first column, so that a feature on its own goes by itself. `costs` (n)
    holds the cost of each candidate at its first column.
    """

    def __init__(
        self,
        n_features: int,
        members: tuple[tuple[int, ...], ...] | None = None,
        costs: Float | None = None,
    ) -> None:
        self.n_features = n_features
        self.is_single = members is None
        self.costs = costs
        self.left = self.right = np.empty(0, dtype=np.intp)
        if members is None:
            return
        self.groups = members
        self._widths = np.zeros(n_features, dtype=np.intp)  # 0 for columns that are not first
        self._owner = np.empty(n_features, dtype=np.intp)  # the first column of each one's group
        self._members = {group[0]: group for group in members}
        for group in members:
            self._widths[group[0]] = len(group)
            self._owner[list(group)] = group[0]
        # Pairs of a group begin at _pairs[its first column], in the order of np.triu_indices(b, 1).
        counts = self._widths * (self._widths - 1) // 2
        self._pairs = np.cumsum(counts) - counts
        self.left = np.empty(int(counts.sum()), dtype=np.intp)
        self.right = np.empty_like(self.left)
        for part in self.parts(self.firsts):
            if part.width > 1:
                rows, columns = np.triu_indices(part.width, 1)
                positions = self._positions_of_pairs(part)
                self.left[positions] = part.columns[:, rows]
                self.right[positions] = part.columns[:, columns]

    @property
    def firsts(self) -> NDArray[np.intp]:
        """The first columns of all candidates, in ascending order."""
        return np.arange(self.n_features) if self.is_single else np.flatnonzero(self._widths)

    @property
    def others(self) -> NDArray[np.intp]:
        """Columns that come with the first column of their group, and are no candidates."""
        if self.is_single:
            return np.empty(0, dtype=np.intp)
        others: NDArray[np.intp] = np.flatnonzero(self._widths == 0)
        return others

    @property
    def n_pairs(self) -> int:
        """The number of pairs of columns in the same group."""
        return len(self.left)

    def members(self, first: int) -> tuple[int, ...]:
        """The columns of a candidate."""
        return (first,) if self.is_single else self._members[first]

    def entries(self, columns: Sequence[int]) -> list[int]:
        """The candidates that some columns make up, in the order of their first appearance."""
        if self.is_single:
            return list(columns)
        return list(dict.fromkeys(self._owner[list(columns)].tolist()))

    def widths(self, firsts: NDArray[np.intp]) -> NDArray[np.intp]:
        """How many columns some candidates have."""
        return np.ones(len(firsts), dtype=np.intp) if self.is_single else self._widths[firsts]

    def columns(self, firsts: NDArray[np.intp]) -> NDArray[np.intp]:
        """All columns of some candidates, one candidate after the other."""
        if self.is_single:
            return firsts
        columns = [column for first in firsts.tolist() for column in self._members[first]]
        return np.array(columns, dtype=np.intp)

    def starts(self, firsts: NDArray[np.intp]) -> NDArray[np.intp] | None:
        """Where each candidate begins among `columns`; None where each is a single column."""
        if self.is_single:
            return None
        widths = self._widths[firsts]
        starts: NDArray[np.intp] = np.cumsum(widths) - widths
        return starts

    def parts(self, firsts: NDArray[np.intp], most: int | None = None) -> Iterator[Part]:
        """Candidates of the same width together; `most` columns at a time, or one candidate."""
        widths = self.widths(firsts)
        for width in np.unique(widths).tolist():
            (positions,) = (widths == width).nonzero()
            count = len(positions) if most is None else max(1, most // width)
            for batch in batches(positions, count):
                columns = self.columns(firsts[batch]).reshape(-1, width)
                yield Part(batch, columns)

    def _positions_of_pairs(self, part: Part) -> NDArray[np.intp]:
        count = part.width * (part.width - 1) // 2
        positions: NDArray[np.intp] = self._pairs[part.firsts][:, None] + np.arange(count)
        return positions

    def matrices(self, part: Part, diagonal: Float, pairs: Float) -> Float:
        """Return symmetric matrices (… × g × b × b) from diagonals (… × n) and pairs (… × P)."""
        width = part.width
        values = np.empty((*diagonal.shape[:-1], len(part.columns), width, width))
        steps = np.arange(width)
        values[..., steps, steps] = diagonal[..., part.columns]
        if width > 1:
            rows, columns = np.triu_indices(width, 1)
            own = pairs[..., self._positions_of_pairs(part)]
            values[..., rows, columns] = values[..., columns, rows] = own
        return values

    def put_pairs(self, part: Part, matrices: Float, pairs: Float) -> None:
        """Store the off-diagonal values of matrices (… × g × b × b) in `pairs` (… × P)."""
        if part.width > 1:
            rows, columns = np.triu_indices(part.width, 1)
            pairs[..., self._positions_of_pairs(part)] = matrices[..., rows, columns]


def layout_of(problem: Problem) -> GroupLayout:
    """The candidates of a problem."""
    n, each, costs = problem.n_features, problem.costs, problem.costs
    if each is not None and problem.groups is not None:
        costs = np.ones(n)
        for group in problem.groups:
            costs[group[0]] = math.fsum(each[list(group)].tolist())
    return GroupLayout(n, problem.groups, costs)


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
