"""Feature space at any set of chosen features: from Gram columns; losses without each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base import ArrayLocation, Float, floor_at, put, stacked, to_device
from .._rows import UNKNOWN


class FeatureSets(ABC):
    """What feature space needs to go to any set; its letters are those of `_features`."""

    location: ArrayLocation
    diagonal: Float  # (n)
    correlation: Float  # (t × n)
    penalty: Float  # (n)
    selected: list[int]
    mixed_root: Float
    fourth_root: Float
    _floor: Float
    _L: Float
    _inverse: Float
    _overlap: Float
    _gram: Float
    _weights: Float
    _penalties: Float
    _chosen: NDArray[np.intp]

    @property
    def size(self) -> int:
        """|S|."""
        return len(self.selected)

    @abstractmethod
    def _of_chosen(self, values: Float) -> Float:
        """The chosen features' part of vectors of n, on the host."""

    @abstractmethod
    def _set_rows(self, rows: Float) -> None:
        """Take all that a step changes."""

    @abstractmethod
    def _grow(self) -> None:
        """Room for more chosen features."""

    def removals(self, places: NDArray[np.intp]) -> tuple[Float, Float, Float]:
        """Of some chosen features what the others leave of them: β (|S| × c), δ (c), ρ (t × c)."""
        s = self.size
        inverse = self._inverse[:s, :s]
        columns = inverse.T @ inverse[:, places]
        v = np.einsum("sc,sc->c", inverse[:, places], inverse[:, places])
        return columns / v, 1.0 / v, self._weights[:s].T[:, places]

    def removal_squares(self, energy: Float) -> Float:
        """‖r‖² without each of the chosen features, (t × |S|); energy (t) is ‖r‖² with all.

        z of a chosen feature lies in the span of X_S, where r·z = w'Pβ and ‖z‖² = δ − β'Pβ.
        """
        s = self.size
        beta, delta, rho = self.removals(np.arange(s))
        weighted = self._penalties[:s, None] * beta
        inner = self._weights[:s].T @ weighted
        norms = np.maximum(delta - np.einsum("sc,sc->c", beta, weighted), 0.0)
        squares: Float = energy[:, None] + rho * (2.0 * inner + rho * norms)
        return squares

    def move_to(self, features: list[int], columns: Float, inverse: Float) -> None:
        """Go to any set, with the Gram columns of its features and L⁻¹ of their part of A."""
        while self._L.shape[0] < len(features):
            self._grow()
        s = len(features)
        self.selected = list(features)
        self._chosen[:s] = features
        self._penalties[:s] = self.penalty[features]
        self.rebuild(columns, inverse)
        # What was seen of candidates was seen beside other features.
        self.mixed_root = 0.0 * self.mixed_root
        self.fourth_root = 0.0 * self.fourth_root + UNKNOWN

    def rebuild(self, columns: Float, inverse: Float | None = None) -> None:
        """Everything anew from the chosen features' Gram columns (|S| × n): drift is gone.

        `inverse` is L⁻¹ of their part of A, where it is known better than from these.
        """
        s = self.size
        xp = self.location.xp
        A = self._of_chosen(columns)
        A = 0.5 * (A + A.T)
        self._gram[:s, :s] = A
        penalties = self._penalties[:s]
        factor: Any
        if inverse is None:
            factor = np.linalg.cholesky(A + np.diag(penalties))
            inverse = np.tril(np.linalg.inv(factor))
        else:
            factor = np.tril(np.linalg.inv(inverse))
        self._inverse[:s, :s] = inverse
        correlation = self._of_chosen(self.correlation)
        weights = self._weights[:s] = inverse.T @ (inverse @ correlation.T)
        # q̃_u·q̃_s is 1 or 0; what is not of the rows is of the penalty.
        overlap = self._overlap[:s, :s] = np.eye(s) - (inverse * penalties) @ inverse.T
        there, on_pivots, back, shrunk, both = to_device(
            self.location,
            inverse,
            correlation @ inverse.T,
            inverse.T,
            weights.T * penalties,
            2.0 * np.eye(s) - overlap,
        )
        L = there @ columns
        put(L, np.array(self.selected, dtype=np.intp), factor.T)
        self._L[:s, :] = L
        beta = back @ L
        delta = xp.maximum(self.diagonal + self._floor - xp.sum(L * L, axis=0), self._floor)
        tau = self.correlation - on_pivots @ L
        inner = tau - shrunk @ beta
        # ‖x_i − Σ_s l_is q_s‖², not δ_i less its penalty: that would be lost where the penalty is
        # large.
        norms = floor_at(self.diagonal - xp.sum(L * (both @ L), axis=0), 0.0)
        self._set_rows(stacked([delta[None, :], norms[None, :], tau, inner]))
