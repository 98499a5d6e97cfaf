"""Rows of a backward search: centred and weighted columns of all features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .._base import NO_DIGITS, Float, weighted_means
from .._data import columns_once
from .._problem import Problem

Rows = NDArray[np.intp]


class BackwardRows:
    """Rows of a problem, minus their means and scaled by the roots of their weights."""

    def __init__(self, problem: Problem, rows: Rows) -> None:
        weights = problem.weights
        self._X = problem.here
        self.rows = rows if weights is None else rows[weights[rows] > 0.0]
        self.weights = None if weights is None else weights[self.rows]
        self.root = None if self.weights is None else np.sqrt(self.weights)
        self._is_centred = problem.fit_intercept
        Y = problem.Y[self.rows].T
        self.target_means = np.zeros(len(Y))
        if self._is_centred:
            self.target_means = weighted_means(Y, self.weights)
        self.y = self._scaled(Y - self.target_means[:, None])

    @property
    def unit(self) -> Float | None:
        """The constant column, scaled like the rows, of length 1; None without an intercept."""
        if not self._is_centred:
            return None
        root = np.ones(len(self.rows)) if self.root is None else self.root
        result: Float = root / np.linalg.norm(root)
        return result

    def _scaled(self, values: Float) -> Float:
        return values if self.root is None else values * self.root

    def columns(self, features: Sequence[int]) -> tuple[Float, Float]:
        """Return columns (features × rows) and the means that were subtracted from them."""
        X = columns_once(self._X, np.array(features, dtype=np.intp), self.rows)
        means = np.zeros(len(X))
        if self._is_centred:
            raw = np.einsum("ij,ij->i", X, X)
            for _ in range(2):  # far from the origin a mean is rounded to its own size
                rest = np.average(X, axis=1, weights=self.weights)
                X -= rest[:, None]
                means += rest
            X[np.einsum("ij,ij->i", X, X) <= NO_DIGITS * raw] = 0.0
        if self.root is not None:
            X *= self.root
        return X, means

    def others(self, features: Sequence[int], rows: Rows, means: Float) -> Float:
        """Return columns of other rows, not scaled, minus `means`."""
        X = columns_once(self._X, np.array(features, dtype=np.intp), rows)
        X -= means[:, None]
        return X


def n_at_start(problem: Problem) -> int:
    """Return the number of features that a backward search starts from."""
    return problem.n_features - len(set(problem.excluded))
