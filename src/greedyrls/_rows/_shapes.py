"""Largest distances of columns from their means, and the nonzero values of rare features."""

from __future__ import annotations

import numpy as np

from ._answers import ColumnShapes
from ._blocks import RowBlock
from ._zero_one import Support

# A feature is rare here, and its nonzero values are listed, if at most this share of its values is
# not 0. (`_loo_data` has a larger share, for other bounds.)
_RARE_SHARE = 1 / 64


def column_shapes(block: RowBlock) -> ColumnShapes:
    """Return the largest |x_i − mean_i|, and where rare features are not 0, in one pass."""
    X, means, weights, root_weights = block.X, block.means, block.weights, block.root_weights
    used = None if weights is None else weights > 0.0
    largest, count = X.distances(means, used)
    (rare,) = (count <= _RARE_SHARE * X.shape[0]).nonzero()
    where, owners, values = X.entries(rare)
    outside = largest.copy()
    outside[rare] = 0.0 if means is None else np.abs(means[rare])
    if means is not None:
        values -= means[owners]
    if root_weights is not None:
        values *= root_weights[where]
    return ColumnShapes(largest, outside, Support(where, owners, values))
