"""Groups of features as arrays: which columns, which pairs of columns; small systems of all groups.

Groups of the same width are worked on together, as stacks of b × b matrices. What is known of pairs
of columns within a group lies in vectors, one number for each pair i < j.
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
    """Some groups of the same width b."""

    places: NDArray[np.intp]  # (g) among the groups that were asked for
    groups: NDArray[np.intp]  # (g) their numbers
    columns: NDArray[np.intp]  # (g × b)

    @property
    def width(self) -> int:
        """b."""
        return int(self.columns.shape[1])


class GroupLayout:
    """All groups of a problem, and what each costs."""

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
                where = self._places_of_pairs(part)
                self.left[where] = part.columns[:, rows]
                self.right[where] = part.columns[:, columns]

    def __len__(self) -> int:
        return len(self.members)

    @property
    def n_pairs(self) -> int:
        """How many pairs of columns are in a group together."""
        return len(self.left)

    def columns(self, groups: NDArray[np.intp]) -> NDArray[np.intp]:
        """All columns of some groups, one group after the other."""
        found = [column for group in groups.tolist() for column in self.members[group]]
        return np.array(found, dtype=np.intp)

    def parts(self, groups: NDArray[np.intp], most: int | None = None) -> Iterator[Part]:
        """Groups of the same width together; `most` columns at a time, or a single group."""
        widths = self.widths[groups]
        for width in np.unique(widths).tolist():
            (places,) = (widths == width).nonzero()
            count = len(places) if most is None else max(1, most // width)
            for first in range(0, len(places), count):
                some = places[first : first + count]
                own = groups[some]
                members = [self.members[group] for group in own.tolist()]
                yield Part(some, own, np.array(members, dtype=np.intp).reshape(-1, width))

    def _places_of_pairs(self, part: Part) -> NDArray[np.intp]:
        count = part.width * (part.width - 1) // 2
        return self._pairs[part.groups][:, None] + np.arange(count)

    def matrices(self, part: Part, diagonal: Float, pairs: Float) -> Float:
        """Symmetric matrices (… × g × b × b) of columns (… × n) and of their pairs (… × P)."""
        width = part.width
        values = np.empty((*diagonal.shape[:-1], len(part.groups), width, width))
        places = np.arange(width)
        values[..., places, places] = diagonal[..., part.columns]
        if width > 1:
            rows, columns = np.triu_indices(width, 1)
            own = pairs[..., self._places_of_pairs(part)]
            values[..., rows, columns] = values[..., columns, rows] = own
        return values

    def put_pairs(self, part: Part, matrices: Float, pairs: Float) -> None:
        """Take the pairs (… × P) of groups from their matrices (… × g × b × b)."""
        if part.width > 1:
            rows, columns = np.triu_indices(part.width, 1)
            pairs[..., self._places_of_pairs(part)] = matrices[..., rows, columns]


def layout_of(problem: Problem) -> GroupLayout | None:
    """The groups of a problem; None where features are chosen one at a time and cost nothing."""
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
    """R with R'R = D⁻¹ of each of some symmetric matrices (… × b × b), and how regular they are.

    The inverse of the Cholesky factor, and its smallest pivot relative to the diagonal (…). No
    eigenvalue of D is smaller than `least`: where rounding says otherwise, those that are become
    so, and nothing is regular.
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
    """The same by eigenvalues, for all of them."""
    is_finite = np.asarray(np.isfinite(D).all(axis=(-1, -2)))
    values, vectors = np.linalg.eigh(np.where(is_finite[..., None, None], D, 0.0))
    roots = vectors.swapaxes(-1, -2) / np.sqrt(np.maximum(values, least))[..., None]
    roots[~is_finite] = np.nan
    largest = np.maximum(values[..., -1], least)
    is_regular = is_finite & (values[..., 0] >= least)
    return roots, np.where(is_regular, values[..., 0] / largest, 0.0)
