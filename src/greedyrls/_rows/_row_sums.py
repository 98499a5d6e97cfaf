"""Questions to a row block about all of its features: sums of a start, products, counts.

A question is a function of a block; the answers of all blocks are added up.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base import (
    Float,
    add_up,
    as_float,
    extremes,
    inner,
    namespace_of,
    row_dots,
    stacked,
    to_device,
    weighted_means,
)
from .._data import Matrix, column_numbers, nonzero_counts, product
from .._problem import Loss
from ._answers import ArraySum, Products, RawSums, SampleStatistics, TargetSums
from ._blocks import RowBlock

# Elements of dense vectors that a sparse X is multiplied by at a time.
_SPARSE_ELEMENTS = 1 << 22


def target_sums(block: RowBlock) -> TargetSums:
    """Return Σ w, the means of the targets and other sums of the weights."""
    xp, rows, w = namespace_of(block.r), block.n_rows, block.weights
    means = weighted_means(block.r, w)
    if w is None:
        return TargetSums(float(rows), means, float(rows), float(rows), 1.0)
    count = xp.sum(as_float(w > 0.0))
    return TargetSums(xp.sum(w), means, xp.sum(w * w), count, xp.max(w))


def start_sums(block: RowBlock, target_means: Float) -> RawSums:
    """Return the sums that feature space starts from, in one pass."""
    location = block.X.location
    weights = location.ones(block.n_rows) if block.weights is None else block.weights
    (means,) = to_device(location, target_means)
    vectors = stacked([(block.r - means[:, None]) * weights, weights[None, :]])
    return RawSums(*block.X.sums(vectors, block.weights, True))


def row_products(block: RowBlock, indices: Sequence[int], with_anchor: bool) -> Products:
    """Return v'X in one pass, where v are columns of X, then the anchor if `with_anchor`.

    Columns are gathered a few rows at a time, just before those rows are multiplied, so that
    they are in the cache, and B whole columns of X are never copied.
    """
    order = np.array(indices, dtype=np.intp)
    if block.X.passes_dominate:
        block.X.kept.take_along(indices)  # they are likely scored next
    question = partial(_tile_products, block, column_numbers(block.X, order), with_anchor)
    return add_up(block.X.map_tiles(question, len(order) + block.r.shape[0]))


def gram_products(block: RowBlock, features: NDArray[np.intp], width: int) -> Products:
    """Return x'X of all of some features with each other, in one pass, `width` at a time."""
    if not block.X.is_in_memory:
        return block.over_chunks(partial(gram_products, features=features, width=width))
    parts = [
        row_products(block, features[first : first + width].tolist(), False)
        for first in range(0, len(features), width)
    ]
    values = np.concatenate([part.values[:, features] for part in parts])
    return Products(values, np.concatenate([part.sums for part in parts]))


def _tile_products(
    block: RowBlock, numbers: Any, with_anchor: bool, rows: slice, tile: Matrix
) -> Products:
    """Compute `products` of a tile of rows in memory."""
    values: list[Float] = []
    sums: list[Float] = []
    count = int(numbers.shape[0])
    most = max(1, count)
    if tile.is_sparse:
        most = max(1, _SPARSE_ELEMENTS // max(1, tile.shape[0]))
    for first in range(0, max(count, 1), most):
        part = numbers[first : min(count, first + most)]
        vectors = [block.columns.of_tile(tile, part, rows)] if count else []
        if with_anchor and block.anchor is not None and first + most >= count:
            vectors.append(block.anchor[:, rows])
        V = stacked(vectors)
        if block.root_weights is not None:
            V = V * block.root_weights[rows]
        values.append(product(tile, V))
        sums.append(namespace_of(V).sum(V, axis=1))
    if len(values) == 1:
        return Products(values[0], sums[0])
    return Products(np.concatenate(values), np.concatenate(sums))


def entry_counts(block: RowBlock) -> ArraySum:
    """Count the nonzero values of each column of a sparse X, (n)."""
    return ArraySum(nonzero_counts(block.X))


def fetch_columns(block: RowBlock, indices: NDArray[np.intp]) -> None:
    """Fetch columns that will be needed, in a single pass if they cost one."""
    block.X.fetch(indices.tolist())


def stratum_weights(block: RowBlock, loss: Loss) -> ArraySum:
    """Return the total weight of the rows in each stratum of a loss."""
    count, weights = loss.n_strata(len(block.y)), block.filled_weights()
    sums: Float = np.bincount(loss.strata(block.y.T), weights, minlength=count).astype(float)
    return ArraySum(sums)


def sample_statistics(block: RowBlock) -> SampleStatistics:
    """Return this block's part of the sums of r and h that the driver needs."""
    r, d, anchor, weights = block.r, block.d, block.anchor, block.weights
    xp = namespace_of(r)
    t = r.shape[0]
    error = r / d
    g = error / d
    losses = error * error
    if t > 1:
        losses = xp.sum(losses, axis=0)[None, :] / t
    sums = [row_dots(r, r), row_dots(error, error), row_dots(g, g)]
    if anchor is not None:
        sums += [row_dots(anchor, r), row_dots(anchor, g), row_dots(anchor, anchor)]
    squares = row_dots(losses, losses)[0]
    if weights is None:
        weighted = sums[1][0] if t == 1 else xp.sum(sums[1]) / t
    else:
        weighted = inner(losses, weights[None, :])[0, 0]
    of_anchor = sums[3:]
    if anchor is None:
        none = 0.0 * r[:, 0]
        of_anchor = [none, none, none]
    return SampleStatistics._make([*sums[:3], *of_anchor, squares, weighted, *extremes(d)])
