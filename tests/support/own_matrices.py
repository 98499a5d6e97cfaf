"""Kinds of X that the package does not know: the matrix protocol, as a user would implement it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from internals import DenseMatrix, Matrix

Array = NDArray[Any]


class ListedColumns(Matrix):
    """A list of columns, which is read a few rows at a time: the four verbs that a kind needs."""

    noun = "in a list of columns"

    def __init__(self, X: Array, height: int = 5) -> None:
        self._columns = [np.array(column) for column in X.T]
        self._height = height

    @property
    def shape(self) -> tuple[int, int]:
        return len(self._columns[0]), len(self._columns)

    @property
    def dtype(self) -> Any:
        return self._columns[0].dtype

    def columns(self, indices: Any, rows: Any = slice(None)) -> NDArray[np.float64]:
        taken = [self._columns[index][rows] for index in indices]
        length = len(np.arange(self.shape[0])[rows])
        return np.array(taken, dtype=np.float64).reshape(len(taken), length)

    def chunks(self) -> Iterator[tuple[slice, Matrix]]:
        m = self.shape[0]
        for top in range(0, m, self._height):
            rows = slice(top, min(m, top + self._height))
            yield rows, DenseMatrix(np.stack([column[rows] for column in self._columns], axis=1))


class ScaledIntegers(Matrix):
    """Whole numbers of 8 bits in memory, with a factor for each column."""

    noun = "of scaled integers"
    is_in_memory = True
    dtype = np.dtype(np.float64)

    def __init__(self, codes: NDArray[np.int8], factors: NDArray[np.float64]) -> None:
        self._codes, self._factors = codes, factors

    @classmethod
    def near(cls, X: Array) -> ScaledIntegers:
        """The numbers nearest to those of an array."""
        largest = np.abs(X).max(axis=0).astype(np.float64)
        # Whole numbers that fit stay what they are.
        is_whole = (largest <= 127) & (np.round(X) == X).all(axis=0)
        factors = np.where(is_whole, 1.0, np.where(largest > 0.0, largest / 127.0, 1.0))
        return cls(np.round(X / factors).astype(np.int8), factors)

    @property
    def shape(self) -> tuple[int, int]:
        return self._codes.shape[0], self._codes.shape[1]

    def columns(self, indices: Any, rows: Any = slice(None)) -> NDArray[np.float64]:
        return np.ascontiguousarray(self.part(rows, indices).T)

    def chunks(self) -> Iterator[tuple[slice, Matrix]]:
        for top in range(0, self.shape[0], 7):
            rows = slice(top, min(self.shape[0], top + 7))
            yield rows, DenseMatrix(self.part(rows))

    def part(self, rows: Any, indices: Any = None) -> Array:
        every = slice(None) if indices is None else indices
        return self._codes[rows][:, every] * self._factors[every]

    def take(self, rows: Any) -> ScaledIntegers:
        return ScaledIntegers(self._codes[rows], self._factors)


def listed(X: Array) -> tuple[Matrix, Array]:
    """A matrix for tests, and the array that it stands for."""
    return ListedColumns(X), X


def scaled(X: Array) -> tuple[Matrix, Array]:
    """The same of another kind, which rounds the array."""
    matrix = ScaledIntegers.near(X)
    return matrix, matrix.part(slice(None))


KINDS = [listed, scaled]
