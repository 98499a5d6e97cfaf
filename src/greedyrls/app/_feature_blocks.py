"""Columns of the features of a table, in memory or in a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base import Float
from ..files import DataFile
from ._data_summary import Feature


def feature_blocks(
    X: Float | DataFile, features: Sequence[Feature]
) -> Iterator[tuple[slice, Float]]:
    """Yield all features in order, (m × c) at a time; those of a column stay together.

    An array is a single block. Blocks of a file take a quarter of its memory.
    """
    if not isinstance(X, DataFile):
        yield slice(0, len(features)), X
        return
    width = most_columns(X)
    is_first = [
        index == 0 or features[index - 1].column != feature.column
        for index, feature in enumerate(features)
    ]
    start = 0
    for index in (*np.flatnonzero(is_first).tolist()[1:], len(features)):
        is_last = index == len(features)
        if is_last or index - start >= width:
            yield slice(start, index), columns_of(X, np.arange(start, index))
            start = index


def most_columns(X: DataFile) -> int:
    """Return how many columns of a file take a quarter of its memory."""
    return max(1, (X.memory_limit or 0) // (32 * len(X)))


def columns_of(X: Float | DataFile, indices: NDArray[np.intp]) -> Float:
    """Return some features, (m × c); those of a file by one pass."""
    if not isinstance(X, DataFile):
        return X[:, indices]
    return X.matrix().columns(indices).T


def squares_of(X: Float | DataFile) -> Float:
    """Return the sum of squares of each feature, (n)."""
    if not isinstance(X, DataFile):
        squares: Float = np.einsum("ij,ij->j", X, X)
        return squares
    nothing: Any = np.zeros((1, len(X)))
    return X.matrix().sums(nothing, None, True)[1]
