"""Feature space of several searches that run in lockstep ("lanes"), one for each penalty.

The interpreter's overhead of an operation on all lanes is that of one lane.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._base import TRUSTED_PIVOT, Array, Float
from ._stacked_space import StackedSpace, StepPivots

Indices = NDArray[np.intp]


class LaneSpace(StackedSpace):
    """The part of the searches' state that has no rows."""

    def __init__(self, diagonal: Float, correlation: Float, alphas: Float, capacity: int) -> None:
        lanes, (t, n) = len(alphas), correlation.shape
        self.alphas = alphas
        self.size = 0
        self.diagonal = diagonal
        self.delta = diagonal + alphas[:, None]  # (P × n)
        self.tau = np.repeat(correlation[None], lanes, axis=0)  # (P × t × n)
        self.norms = np.repeat(diagonal[None], lanes, axis=0)
        self.inner = self.tau.copy()
        self.selected = np.empty((lanes, capacity), dtype=np.intp)
        self.gram = np.zeros((lanes, capacity, capacity))  # X_S'X_S
        self._doubtful = TRUSTED_PIVOT * self.delta
        self._floor = alphas[:, None]
        super().__init__((lanes, t, n), capacity, False)

    def _at(self, values: Float, index: Array | int) -> Float:
        """Take the elements of the features that are added, one for each lane."""
        taken: Float = values[np.arange(len(values)), ..., index]
        return taken

    def _put_at(self, values: Float, index: Array | int, numbers: Float) -> None:
        """Set the elements of the features that are added, one for each lane."""
        values[np.arange(len(values)), ..., index] = numbers

    def grow(self, capacity: int) -> None:
        """Enlarge all arrays for `capacity` features."""
        if (more := capacity - self.capacity) > 0:
            self.selected = np.pad(self.selected, ((0, 0), (0, more)))
            self.gram = self._enlarged(self.gram, (more, more))
        super().grow(capacity)

    def keep(self, lanes: Indices) -> None:
        """Drop all lanes but these."""
        for name, values in vars(self).items():
            if isinstance(values, np.ndarray) and name != "diagonal":
                setattr(self, name, values[lanes])

    def untrusted(self) -> NDArray[np.bool_]:
        """Return a mask (P × n) of the candidates whose pivot is mostly rounding."""
        return self.delta < self._doubtful

    def coefficients(self, lane: int, indices: Indices) -> tuple[Float, Float, Float]:
        """Return β (|S| × c) of candidates, P_ii + β'Pβ (c) and w'Pβ (t × c)."""
        s, alpha = self.size, self.alphas[lane]
        beta = self._inverse[lane, :s, :s].T @ self._L[lane, :s].take(indices, axis=1)
        penalty = alpha + alpha * np.add.reduce(beta * beta, axis=0)
        shrinkage = alpha * (self._weights[lane, :s].T @ beta)
        return beta, penalty, shrinkage

    def add(self, indices: Indices, columns: Float, betas: Float, pivots: StepPivots) -> Float:
        """Add a feature to each lane, measured in the data; returns the drift of each pivot, (P).

        columns (P × n) are X'x_b, betas (P × |S|) the coefficients on the lane's chosen features.
        """
        s = self.size
        scale = self.diagonal[indices] + self.alphas
        drift: Float = np.abs(self._at(self.delta, indices) - pivots.delta) / scale
        self.advance(indices, s, betas, columns, columns, pivots)
        self.selected[:, s] = indices
        products = np.take_along_axis(columns, self.selected[:, : s + 1], axis=1)
        self.gram[:, s, : s + 1] = self.gram[:, : s + 1, s] = products
        self.gram[:, s, s] = self.diagonal[indices]
        self.size += 1
        return drift
