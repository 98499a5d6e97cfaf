"""Gram columns of training rows from those of all rows: what folds share.

Σ_T = Σ_all − Σ_F, where F are the few rows held out. The columns of all rows are fetched once for
all folds; of each fold only its held-out rows are multiplied.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ._kernels import Float
from ._state import LooData

# Held-out rows are copied: not more of them than this share.
_LARGEST_SHARE = 0.25


class TrainingColumns:
    """X'x_b over the training rows of a fold, about their means; `whole` has all rows."""

    def __init__(self, whole: LooData, held_out: NDArray[np.intp], training: LooData) -> None:
        problem, start = whole.problem, whole.start
        rows = problem.X[held_out].astype(np.float64)
        rows -= start.means
        if problem.weights is not None:
            rows *= np.sqrt(problem.weights[held_out])[:, None]
        self._whole = whole
        self._rows = rows
        # From the means of all rows to those of the training rows.
        self._moved = training.start.means - start.means
        self._weight = training.start.total_weight

    def __call__(self, indices: Sequence[int]) -> Float:
        """The columns of some features, (c × n); a pass over X only for those that are new."""
        order = np.array(indices, dtype=np.intp)
        values = self._whole.gram.columns(indices)
        values -= self._rows[:, order].T @ self._rows
        values -= self._weight * self._moved[order, None] * self._moved
        return values


def share_columns(whole: LooData, training: LooData) -> None:
    """Let a fold take its Gram columns from those of all rows, if it holds out few."""
    given, left = whole.problem.weights, training.problem.weights
    assert left is not None
    counted = np.ones(len(left), dtype=bool) if given is None else given > 0.0
    (held_out,) = (counted & (left == 0.0)).nonzero()
    if len(held_out) <= _LARGEST_SHARE * len(left):
        training.gram.fetch = TrainingColumns(whole, held_out, training)
