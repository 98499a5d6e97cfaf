"""Penalties that plug into feature space: P = αI, and P = α K_cc of kernel functions.

A kernel column x_i = k(·, c_i) is a feature, and w'Pw is α times the squared norm of the function
Σ w_i k(·, c_i) in the space of the kernel. All recurrences hold with A = X'X + P; but x_i·q_s is an
entry of the factor only for a diagonal P, and is stored separately otherwise (docs/theory.md,
"Kernel centres").
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base import TRUSTED_PIVOT, Float
from .._data import USE_ANOTHER, KernelMatrix, Matrix

# No penalty keeps a pivot δ_i from 0 with kernel functions: a centre with δ_i of at most A_ii times
# this is spanned by the chosen ones up to rounding, and is no candidate. The pivots of the others
# have about seven correct digits.
_SPANNED = 1e-8
# Their pivots are kept above this share of A_ii, so that features that are no candidates never
# divide by 0.
_LEAST = 1e-16
# A squared norm this far below 0, relative to its summands, is no rounding.
_NEGATIVE = 1e-9


class RidgePenalty:
    """The penalty P = αI."""

    is_diagonal = True  # then x_i·q_s = l_is

    def __init__(self, alpha: float) -> None:
        self.alpha = alpha
        self.diagonal: Any = alpha  # P_ii, for all i

    def of(self, indices: Any) -> Any:
        """Return P_ii of features."""
        return self.diagonal

    def floor(self, scale: Float) -> Any:
        """Return the least value of pivots, given all A_ii."""
        return self.diagonal

    def doubtful(self, scale: Float) -> Float:
        """Return the pivots below which most digits are lost, given all A_ii."""
        return TRUSTED_PIVOT * scale

    def spanned(self, delta: Float, scale: Float) -> NDArray[np.bool_] | None:
        """Mark features in the span of the chosen ones; None, since the penalty excludes this."""
        return None

    def matrix(self) -> Float | None:
        """Return the matrix (|S| × |S|) that α multiplies; None for the identity."""
        return None

    def square(self, size: int) -> Float:
        """Return P_SS."""
        square: Float = self.diagonal * np.eye(size)
        return square

    def note(self, index: int) -> None:
        """Add a chosen feature, for `matrix`."""

    def take_back(self, size: int) -> None:
        """Forget the chosen features after the first `size`."""

    def added(self, index: Any, column: Float) -> Float:
        """Add a chosen feature; returns A_ib of all features but itself from X'x_b, (… × n)."""
        return column

    def penalised(self, columns: Float) -> Float:
        """Return A_Si from X_S'X, (|S| × n), but for the entries of chosen features."""
        return columns

    def pulled(self, indices: Any, beta: Float) -> Float:
        """Return P_SS β − P_Si (|S| × c) of candidates."""
        pulled: Float = self.diagonal * beta
        return pulled

    def norms(self, indices: Any, beta: Float, pulled: Float) -> Float:
        """Return P_ii − 2 β'P_Si + β'P_SS β of candidates, (c)."""
        values: Float = np.add.reduce(pulled * beta, axis=0)
        values += self.diagonal
        return values


class CenterPenalty:
    """The penalty P = α k(c_i, c_b): its diagonal, and the rows of the chosen centres."""

    is_diagonal = False

    def __init__(self, X: KernelMatrix, alpha: float, capacity: int) -> None:
        self._X = X
        self.alpha = alpha
        self.diagonal: Any = alpha * X.center_diagonal  # (n)
        self._rows = np.empty((capacity, X.shape[1]))
        self._kernel = np.zeros((capacity, capacity))  # of the chosen centres with each other
        self._chosen: list[int] = []

    def of(self, indices: Any) -> Any:
        """Return P_ii of features."""
        return self.diagonal[indices]

    def floor(self, scale: Float) -> Any:
        """Return the least value of pivots, given all A_ii."""
        return _LEAST * scale

    def doubtful(self, scale: Float) -> Float:
        """Return the pivots below which most digits are lost, given all A_ii."""
        return _SPANNED * scale

    def spanned(self, delta: Float, scale: Float) -> NDArray[np.bool_] | None:
        """Mark centres in the span of the chosen ones, up to rounding, in at least one split."""
        is_spanned: NDArray[np.bool_] = np.any(np.atleast_2d(delta <= _SPANNED * scale), axis=0)
        return is_spanned

    def matrix(self) -> Float | None:
        """Return K_SS, the kernel of the chosen centres."""
        s = len(self._chosen)
        return self._kernel[:s, :s].copy()

    def square(self, size: int) -> Float:
        """Return P_SS."""
        return self.alpha * self._kernel[:size, :size]

    def note(self, index: int) -> None:
        """Add a chosen centre."""
        s = len(self._chosen)
        if s == len(self._rows):
            more = max(16, s)
            self._rows = np.pad(self._rows, ((0, more), (0, 0)))
            self._kernel = np.pad(self._kernel, (0, more))
        values = self._X.center_column(index)
        np.multiply(values, self.alpha, out=self._rows[s])
        self._kernel[s, :s] = self._kernel[:s, s] = values[self._chosen]
        self._kernel[s, s] = values[index]
        self._chosen.append(index)

    def take_back(self, size: int) -> None:
        """Forget the chosen centres after the first `size`."""
        del self._chosen[size:]

    def added(self, index: int, column: Float) -> Float:
        """Add a chosen centre; returns A_ib of all features from X'x_b, (… × n)."""
        self.note(index)
        row: Float = self._rows[len(self._chosen) - 1]
        return column + row

    def penalised(self, columns: Float) -> Float:
        """Return A_Si from X_S'X, (|S| × n)."""
        return columns + self._rows[: len(self._chosen)]

    def pulled(self, indices: Any, beta: Float) -> Float:
        """Return P_SS β − P_Si (|S| × c) of candidates."""
        s = len(self._chosen)
        pulled: Float = self.square(s) @ beta - self._rows[:s, indices]
        return pulled

    def norms(self, indices: Any, beta: Float, pulled: Float) -> Float:
        """Return P_ii − 2 β'P_Si + β'P_SS β of candidates, (c).

        It is α times the squared norm of candidates minus their projection, as functions.
        """
        s = len(self._chosen)
        diagonal, rows = self.diagonal[indices], self._rows[:s, indices]
        values: Float = diagonal + (beta * (pulled - rows)).sum(axis=0)
        if (values < 0.0).any():
            size = np.abs(beta)
            summands = size * (np.abs(self.square(s)) @ size + 2.0 * np.abs(rows))
            summands = diagonal + summands.sum(axis=0)
            if (values < -_NEGATIVE * summands).any():
                raise ValueError(
                    "The kernel is not positive semidefinite: a combination of its functions has a "
                    f"negative squared norm. {USE_ANOTHER}"
                )
            np.maximum(values, 0.0, out=values)
        return values


Penalty = RidgePenalty | CenterPenalty


def penalty_of(X: Matrix, alpha: float, capacity: int) -> Penalty:
    """Return the penalty that fits the features: that of functions for kernel columns."""
    return RidgePenalty(alpha) if X.centers is None else CenterPenalty(X.centers, alpha, capacity)
