"""Feature space of several searches that run in lockstep, one for each penalty.

The recurrences of `_features` with a leading axis for the searches ("lanes"): the interpreter's
overhead of an operation on all lanes is that of one lane.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import TRUSTED_PIVOT, Float

Indices = NDArray[np.intp]


class LanePivots(NamedTuple):
    """Statistics of the features that the lanes add, measured in the data; first axis: lanes."""

    delta: Float  # (P)
    rho: Float  # (P × t)
    norm: Float  # (P) ‖z‖²
    inner: Float  # (P × t) r·z


class LaneSpace:
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
        self._L = np.empty((lanes, capacity, n))
        self._inverse = np.zeros((lanes, capacity, capacity))
        self._overlap = np.zeros((lanes, capacity, capacity))
        self._weights = np.zeros((lanes, capacity, t))

    def grow(self, capacity: int) -> None:
        """Enlarge all arrays for `capacity` features."""
        more = capacity - self.selected.shape[1]
        if more <= 0:
            return
        self.selected = np.pad(self.selected, ((0, 0), (0, more)))
        self._L = np.pad(self._L, ((0, 0), (0, more), (0, 0)))
        self._weights = np.pad(self._weights, ((0, 0), (0, more), (0, 0)))
        for name in ("gram", "_inverse", "_overlap"):
            setattr(self, name, np.pad(getattr(self, name), ((0, 0), (0, more), (0, more))))

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

    def add(
        self, indices: Indices, columns: Float, betas: list[Float], pivots: LanePivots
    ) -> Float:
        """Add a feature to each lane; returns the drift of each pivot, (P).

        columns (P × n) are X'x_b, betas the coefficients (|S|) on the lane's chosen features.
        """
        s, lanes = self.size, np.arange(len(indices))
        delta, rho, norm, inner = pivots
        scale = self.diagonal[indices] + self.alphas
        drift: Float = np.abs(self.delta[lanes, indices] - delta) / scale
        root = np.sqrt(delta)[:, None]
        L = self._L[:, :s]
        on_chosen = L[lanes, :, indices]  # (P × s)
        overlap = on_chosen - (self._overlap[:, :s, :s] @ on_chosen[:, :, None])[:, :, 0]
        overlap /= root
        both = np.stack((on_chosen, overlap), axis=1) @ L  # (P × 2 × n)
        row = self._L[:, s]
        np.subtract(columns, both[:, 0], out=row)
        row /= root
        q_z = row - both[:, 1]
        row[lanes, indices] = root[:, 0]
        q_q = (norm / delta)[:, None]
        q_r = inner / root
        step = rho * root

        squares = row * row
        self.delta -= squares
        np.maximum(self.delta, self.alphas[:, None], out=self.delta)
        squares *= q_q
        squares -= (2.0 * row) * q_z
        self.norms += squares
        np.maximum(self.norms, 0.0, out=self.norms)
        self.tau -= step[:, :, None] * row[:, None, :]
        self.inner += (step * q_q - q_r)[:, :, None] * row[:, None, :]
        self.inner -= step[:, :, None] * q_z[:, None, :]

        self.selected[:, s] = indices
        for lane, beta in enumerate(betas):
            self._inverse[lane, s, :s] = beta / -root[lane]
            self._weights[lane, :s] -= beta[:, None] * rho[lane]
            chosen = columns[lane, self.selected[lane, : s + 1]]
            self.gram[lane, s, : s + 1] = self.gram[lane, : s + 1, s] = chosen
        self.gram[:, s, s] = self.diagonal[indices]
        self._inverse[:, s, s] = 1.0 / root[:, 0]
        self._overlap[:, s, :s] = self._overlap[:, :s, s] = overlap
        self._overlap[:, s, s] = q_q[:, 0]
        self._weights[:, s] = rho
        self.size += 1
        return drift
