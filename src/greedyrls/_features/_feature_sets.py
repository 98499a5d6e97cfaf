"""Feature space at any set of chosen features, from Gram columns; losses without each feature."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base import ArrayLocation, Float, floor_at, put, stacked, to_device
from .._rows import UNKNOWN
from ._chosen_model import ChosenModel
from ._group_pairs import GroupPairs
from ._penalties import Penalty


class FeatureSets(ABC):
    """Moves of feature space to any set of features; the symbols are those of `FeatureSpace`."""

    location: ArrayLocation
    diagonal: Float  # (n)
    correlation: Float  # (t × n)
    penalty: Penalty
    pairs: GroupPairs | None
    scale: Float  # (n) A_ii
    selected: list[int]
    mixed_root: Float
    fourth_root: Float
    _floors: Float
    _L: Float
    _V: Float | None
    _inverse: Float
    _overlap: Float
    _gram: Float
    _weights: Float
    _chosen: NDArray[np.intp]

    @abstractmethod
    def _of_chosen(self, values: Float) -> Float:
        """Return the chosen features' entries of vectors (n), on the host."""

    @abstractmethod
    def _set_rows(self, rows: Float) -> None:
        """Set all vectors that a step changes."""

    @abstractmethod
    def _grow(self) -> None:
        """Enlarge all arrays for more chosen features."""

    @property
    @abstractmethod
    def model(self) -> ChosenModel:
        """The model of the chosen features."""

    def removal_squares(self, energy: Float) -> Float:
        """Return ‖r‖² without each chosen feature, (t × |S|); energy (t) is ‖r‖² with all.

        z of a chosen feature lies in the span of X_S, where r·z = w'Pβ and ‖z‖² = δ − β'Pβ.
        """
        s = len(self.selected)
        beta, delta, rho = self.model.removals(np.arange(s))
        weighted = self.penalty.square(s) @ beta
        inner = self._weights[:s].T @ weighted
        norms = np.maximum(delta - np.einsum("sc,sc->c", beta, weighted), 0.0)
        squares: Float = energy[:, None] + rho * (2.0 * inner + rho * norms)
        return squares

    def move_to(self, features: list[int], columns: Float, inverse: Float) -> None:
        """Move to any set, given the Gram columns of its features and L⁻¹ of their part of A."""
        while self._L.shape[0] < len(features):
            self._grow()
        s = len(features)
        self.selected = list(features)
        self._chosen[:s] = features
        self.rebuild(columns, inverse)
        # The bounds of the candidates' spread held beside other features.
        self.mixed_root = 0.0 * self.mixed_root
        self.fourth_root = 0.0 * self.fourth_root + UNKNOWN

    def rebuild(self, columns: Float, inverse: Float | None = None) -> None:
        """Recompute everything from the chosen features' Gram columns (|S| × n): removes drift.

        `inverse` is L⁻¹ of their part of A, where the caller has it more accurately.
        """
        s = len(self.selected)
        xp = self.location.xp
        A = self._of_chosen(columns)
        A = 0.5 * (A + A.T)
        self._gram[:s, :s] = A
        square = self.penalty.square(s)
        factor: Any
        if inverse is None:
            factor = np.linalg.cholesky(A + square)
            inverse = np.tril(np.linalg.inv(factor))
        else:
            factor = np.tril(np.linalg.inv(inverse))
        self._inverse[:s, :s] = inverse
        correlation = self._of_chosen(self.correlation)
        weights = self._weights[:s] = inverse.T @ (inverse @ correlation.T)
        # q̃_u·q̃_s, rows and penalty together, is 1 or 0: subtract the part of the penalty.
        self._overlap[:s, :s] = np.eye(s) - inverse @ square @ inverse.T
        forward, on_pivots, back, on_beta, overlap = to_device(
            self.location,
            inverse,
            correlation @ inverse.T,
            inverse.T,
            weights.T,
            self._overlap[:s, :s],
        )
        L = forward @ self.penalty.penalised(columns)
        put(L, np.array(self.selected, dtype=np.intp), factor.T)
        self._L[:s, :] = L
        V = L
        if self._V is not None:
            V = self._V[:s, :] = forward @ columns
        delta = xp.maximum(self.scale - xp.sum(L * L, axis=0), self._floors[0, :])
        tau = self.correlation - on_pivots @ L
        inner = tau - on_beta @ self.penalty.pulled(slice(None), back @ L)
        # ‖x_i − Σ_s l_is q_s‖², not δ_i minus its penalty: the difference would cancel where the
        # penalty is large.
        norms = floor_at(self.diagonal - xp.sum(L * (2.0 * V - overlap @ L), axis=0), 0.0)
        self._set_rows(stacked([delta[None, :], norms[None, :], tau, inner]))
        if self.pairs is not None:
            self.pairs.rebuild(L, V, overlap)
