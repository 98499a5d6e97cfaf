"""How far the values of columns are from their means, and where rare features are not 0."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base import Float, kernels
from .._data import DeviceMatrix, FileMatrix, Matrix, SparseMatrix, entries_of
from . import tiles
from ._answers import ColumnShapes
from ._zero_one import Support

# Elements of X looked at at a time: temporaries stay in the cache.
_ELEMENTS = 1 << 17
# A feature is rare if it is not 0 in at most this share of the rows.
_RARE_SHARE = 1 / 64


def column_shapes(
    X: Matrix, means: Float | None, weights: Float | None, root_weights: Float | None
) -> ColumnShapes:
    """Of all columns, in one pass."""
    used = None if weights is None else weights > 0.0
    if isinstance(X, SparseMatrix):
        largest, count = X.distances(means, used), X.counts()
    elif isinstance(X, FileMatrix | DeviceMatrix):
        raise TypeError("a file or a device is not looked at for its shapes")
    else:
        largest, count = _distances(X, means, used)
    (rare,) = (count <= _RARE_SHARE * X.shape[0]).nonzero()
    where, owners, values = entries_of(X, rare)
    outside = largest.copy()
    outside[rare] = 0.0 if means is None else np.abs(means[rare])
    if means is not None:
        values -= means[owners]
    if root_weights is not None:
        values *= root_weights[where]
    return ColumnShapes(largest, outside, Support(where, owners, values))


def _distances(
    X: NDArray[Any], means: Float | None, used: NDArray[np.bool_] | None
) -> tuple[Float, Float]:
    """The largest |x_i − mean_i|, (n), and how many x_i are not 0, (n)."""
    largest, count = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for rows, columns in kernels.tiles(X, _ELEMENTS):
        tile = X[rows, columns].astype(np.float64)
        count[columns] += tiles.weighted_count(tile != 0.0, None)
        if means is not None:
            tile -= means[columns]
        if used is not None:
            tile = tile[used[rows]]
        np.abs(tile, out=tile)
        largest[columns] = np.maximum(largest[columns], tile.max(axis=0, initial=0.0))
    return largest, count
