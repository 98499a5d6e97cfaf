"""Feature space with the penalty of kernel functions: P = α K_cc, not a diagonal matrix.

A feature is a kernel column x_i = k(·, c_i), and w'Pw is α times the squared norm of the function
Σ w_i k(·, c_i) in the space of the kernel. All recurrences hold with A = X'X + P; but x_i·q_s is an
entry of the factor only for a diagonal P. Here it is stored separately as V_si (docs/theory.md,
"Kernel centres").
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base import Float, stacked
from .._data import USE_ANOTHER, KernelMatrix
from ._feature_space import Coefficients, FeatureSpace

# No penalty keeps a pivot δ_i from 0 here: a centre with δ_i of at most A_ii times this is spanned
# by the chosen ones up to rounding, and is no candidate. The pivots of the others have about seven
# correct digits.
SPANNED = 1e-8
# Pivots are kept above this share of A_ii, so that features that are no candidates never divide by
# 0.
LEAST = 1e-16
# A squared norm this far below 0, relative to its summands, is no rounding.
_NEGATIVE = 1e-9


class CenterPenalty:
    """The penalty P = α k(c_i, c_b): its diagonal, and the rows of the chosen centres."""

    def __init__(self, X: KernelMatrix, alpha: float, capacity: int) -> None:
        self._X = X
        self._alpha = alpha
        self.diagonal = alpha * X.center_diagonal  # (n)
        self._rows = np.empty((capacity, X.shape[1]))
        self._kernel = np.zeros((capacity, capacity))  # of the chosen centres with each other
        self._chosen: list[int] = []

    @property
    def rows(self) -> Float:
        """P_Si of all centres, (|S| × n)."""
        return self._rows[: len(self._chosen)]

    @property
    def square(self) -> Float:
        """The penalty P_SS of the chosen centres."""
        return self._alpha * self.kernel

    @property
    def kernel(self) -> Float:
        """The kernel K_SS of the chosen centres."""
        s = len(self._chosen)
        return self._kernel[:s, :s]

    def add(self, index: int) -> Float:
        """Add a chosen centre and return its row, (n)."""
        s = len(self._chosen)
        if s == len(self._rows):
            more = max(16, s)
            self._rows = np.pad(self._rows, ((0, more), (0, 0)))
            self._kernel = np.pad(self._kernel, (0, more))
        values = self._X.center_column(index)
        values[index] = self._X.center_diagonal[index]
        row: Float = self._rows[s]
        np.multiply(values, self._alpha, out=row)
        self._kernel[s, :s] = self._kernel[:s, s] = values[self._chosen]
        self._kernel[s, s] = values[index]
        self._chosen.append(index)
        return row

    def without(self, beta: Float, rows: Float) -> Float:
        """Return P_SS β − P_Si (|S| × c) of candidates, with P_Si in `rows`."""
        pulled: Float = self.square @ beta - rows
        return pulled

    def norms(self, diagonal: Float, beta: Float, rows: Float, pulled: Float) -> Float:
        """Return α times the squared norm of candidates minus their projection, as functions, (c).

        It is P_ii − 2 β'P_Si + β'P_SS β, with P_ii in `diagonal` (c).
        """
        values: Float = diagonal + (beta * (pulled - rows)).sum(axis=0)
        if (values < 0.0).any():
            size = np.abs(beta)
            summands = size * (np.abs(self.square) @ size + 2.0 * np.abs(rows))
            summands = diagonal + summands.sum(axis=0)
            if (values < -_NEGATIVE * summands).any():
                raise ValueError(
                    "The kernel is not positive semidefinite: a combination of its functions has a "
                    f"negative squared norm. {USE_ANOTHER}"
                )
            np.maximum(values, 0.0, out=values)
        return values


class KernelSpace(FeatureSpace):
    """The part of the state of a search for centres that has no rows."""

    def __init__(
        self, diagonal: Float, correlation: Float, X: KernelMatrix, alpha: float, capacity: int
    ) -> None:
        self._centers = CenterPenalty(X, alpha, capacity)
        super().__init__(diagonal, correlation, self._centers.diagonal, capacity)
        scale = diagonal + self._centers.diagonal
        self._floors = stacked([LEAST * scale[None, :], np.zeros((1, len(scale)))])
        self._doubtful = SPANNED * scale
        self._V = np.empty((capacity, len(scale)))  # x_i·q_s, a chosen centre per row

    def terms(self, indices: NDArray[np.intp], beta: Float) -> Coefficients:
        """Return β (|S| × c) with its penalty terms."""
        rows = self._centers.rows[:, indices]
        pulled = self._centers.without(beta, rows)
        penalty = self._centers.norms(self.penalty[indices], beta, rows, pulled)
        return Coefficients(beta, penalty, self._weights[: self.size].T @ pulled)

    def corrected(self, index: int, beta: Float, products: Float) -> Float:
        """Refine β, one step; products (|S|) are X_S'z, which should be P_SSβ − P_Si."""
        inverse = self._inverse[: self.size, : self.size]
        wrong = products - self._centers.without(beta, self._centers.rows[:, index])
        return beta + inverse.T @ (inverse @ wrong)

    def penalty_matrix(self) -> Float | None:
        """Return K_SS, the kernel of the chosen centres."""
        return self._centers.kernel.copy()

    def spanned(self) -> NDArray[np.bool_] | None:
        """Mark centres in the span of the chosen ones, up to rounding."""
        is_spanned: NDArray[np.bool_] = self.delta <= self._doubtful
        return is_spanned

    def _overlap_with(self, index: int, on_chosen: Float, root: float) -> Float:
        s = self.size
        overlap: Float = self._V[:s, index] / root - self._overlap[:s, :s] @ on_chosen
        return overlap

    def _pivot_products(self, index: int, left: Float, column: Float, root: float) -> Float:
        """Return −l from A, and −q·z_i = −V_i + Σ_s (q·q_s) l_is from the rows alone, (2 × n)."""
        s = self.size
        on_chosen, both = left
        products: Float = np.stack((on_chosen, both - on_chosen)) @ self._L[:s]
        v = self._V[s] = (column - (on_chosen * root) @ self._V[:s]) / root
        products[0] -= (column + self._centers.add(index)) / root
        products[1] -= v
        return products

    def rebuild(self, columns: Float, inverse: Float | None = None) -> None:
        """Recompute everything from the chosen centres' Gram columns (|S| × n)."""
        s, centers = self.size, self._centers
        gram = columns[:, self.selected]
        gram = 0.5 * (gram + gram.T)
        self._gram[:s, :s] = gram
        factor: Any = np.linalg.cholesky(gram + centers.square)
        if inverse is None:
            inverse = np.tril(np.linalg.inv(factor))
        self._inverse[:s, :s] = inverse
        on_pivots = self.correlation[:, self.selected] @ inverse.T
        weights = self._weights[:s] = inverse.T @ on_pivots.T
        self._overlap[:s, :s] = inverse @ gram @ inverse.T
        self._V[:s] = inverse @ columns
        L = inverse @ (columns + centers.rows)
        L[:, self.selected] = factor.T
        self._L[:s] = L
        beta = inverse.T @ L
        pulled = centers.without(beta, centers.rows)
        delta = np.maximum(self.diagonal + self.penalty - (L * L).sum(axis=0), self._floors[0])
        tau = self.correlation - on_pivots @ L
        left = centers.norms(self.penalty, beta, centers.rows, pulled)
        norms = np.maximum(delta - left, 0.0)
        inner = tau - weights.T @ pulled
        self._set_rows(stacked([delta[None, :], norms[None, :], tau, inner]))

    def _grow(self) -> None:
        more = max(16, len(self._V))
        self._V = np.pad(self._V, ((0, more), (0, 0)))
        super()._grow()
