"""Columns of the features of a table, in memory or in a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from .._base import Float
from .._data import Matrix, matrix_of
from ..files import DataFile
from ._data_summary import Feature

Values = Float | DataFile  # (m × n)


def features_of(X: Values) -> Matrix:
    """Return the features as a matrix."""
    return matrix_of(X, None, np.asarray)


def feature_blocks(X: Values, features: Sequence[Feature]) -> Iterator[tuple[slice, Float]]:
    """Yield all features in order, (m × c) at a time; those of a column stay together.

    An array is a single block. Blocks of a file take a quarter of its memory.
    """
    matrix = features_of(X)
    if matrix.is_in_memory:
        yield slice(0, len(features)), matrix.part(slice(None))
        return
    width = most_columns(matrix)
    is_first = [
        index == 0 or features[index - 1].column != feature.column
        for index, feature in enumerate(features)
    ]
    start = 0
    for index in (*np.flatnonzero(is_first).tolist()[1:], len(features)):
        is_last = index == len(features)
        if is_last or index - start >= width:
            yield slice(start, index), matrix.columns(np.arange(start, index)).T
            start = index


def most_columns(matrix: Matrix) -> int:
    """Return how many columns take a quarter of the memory that X may take."""
    m, n = matrix.shape
    return n if matrix.memory_limit is None else max(1, matrix.memory_limit // (32 * m))


def columns_of(X: Values, indices: NDArray[np.intp]) -> Float:
    """Return some features, (m × c); those of a file by one pass."""
    return features_of(X).columns(indices).T


def squares_of(X: Values) -> Float:
    """Return the sum of squares of each feature, (n)."""
    matrix = features_of(X)
    return matrix.sums(np.zeros((1, matrix.shape[0])), None, True)[1]
