"""Gram columns of training rows from those of all rows, which folds share.

Σ_T = Σ_all − Σ_F, where F are the few rows held out. The columns of all rows are fetched once for
all folds; each fold multiplies only its held-out rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .._base import DWARFED, Float
from .._data import Matrix, product
from ._loo_data import LooData

# If more than this share of the rows is held out, a pass over the training rows costs no more.
_LARGEST_SHARE = 0.5
# Rows multiplied at a time.
_ROWS = 128


class TrainingColumns:
    """A function that returns X'x_b over a fold's training rows, about their means."""

    def __init__(self, whole: LooData, held_out: NDArray[np.intp], training: LooData) -> None:
        self._whole = whole
        self._held_out = held_out
        # From the means of all rows to those of the training rows.
        self._moved = training.start.means - whole.start.means
        self._weight = training.start.total_weight
        X = whole.problem.X
        self._sparse = X.take(held_out) if X.is_sparse else None

    def __call__(self, indices: Sequence[int]) -> Float:
        """Return the columns of features, (c × n); a pass over X only for those that are new."""
        order = np.array(indices, dtype=np.intp)
        values = self._whole.gram.columns(indices)
        if self._sparse is not None:
            values -= self._sparse_products(self._sparse, order)
            values -= self._weight * self._moved[order, None] * self._moved
            return values
        for first in range(0, len(self._held_out), _ROWS):
            rows = self._rows(self._held_out[first : first + _ROWS])
            values -= rows[:, order].T @ rows
        values -= self._weight * self._moved[order, None] * self._moved
        return values

    def _sparse_products(self, X: Matrix, order: NDArray[np.intp]) -> Float:
        """Return Σ w (x_b − mean_b)(x_i − mean_i) over the rows held out without centring X."""
        means, weights = self._whole.start.means, self._whole.problem.weights
        V = X.columns(order) - means[order, None]
        if weights is not None:
            V *= weights[self._held_out]
        values: Float = product(X, V) - V.sum(axis=1)[:, None] * means
        return values

    def _rows(self, numbers: NDArray[np.intp]) -> Float:
        """Return rows minus the means of all rows, scaled by √w."""
        problem = self._whole.problem
        rows = problem.X.part(numbers).astype(np.float64)
        rows -= self._whole.start.means
        if problem.weights is not None:
            rows *= np.sqrt(problem.weights[numbers])[:, None]
        return rows


def _same_weights(whole: LooData, training: LooData, rows: NDArray[np.bool_]) -> bool:
    """Return whether rows have the same weights in both."""
    one, other = whole.problem.weights, training.problem.weights
    ones = np.ones(len(rows))
    one, other = ones if one is None else one, ones if other is None else other
    return np.array_equal(one[rows], other[rows])


def share_columns(whole: LooData, training: LooData) -> None:
    """Let a fold derive its Gram columns from those of all rows, if it holds out few."""
    X = whole.problem.X
    if not X.is_in_memory or X.location.on_device:
        return  # held-out rows are scattered over the file or cluster: as expensive as a pass
    left = training.problem.has_weight
    if not _same_weights(whole, training, left):
        return  # balanced classes have other weights among the training rows
    (held_out,) = (whole.problem.has_weight & ~left).nonzero()
    # If the rows held out dwarf the others, the difference would lose their digits. A feature that
    # does not vary in the others has none to lose.
    varies = training.start.diagonal > 0.0
    dwarfed = whole.start.diagonal > DWARFED * training.start.diagonal
    if len(held_out) <= _LARGEST_SHARE * len(left) and not (varies & dwarfed).any():
        training.gram.fetch = TrainingColumns(whole, held_out, training)
