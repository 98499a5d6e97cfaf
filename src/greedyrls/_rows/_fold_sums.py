"""Questions to a row block for folds about the rows of each set: sums, products, refinements."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base import (
    Float,
    add_up,
    as_float,
    namespace_of,
    numbers_on,
    slices,
    stacked,
    take_rows,
    to_device,
    to_host,
    weighted_means,
)
from .._data import product
from ._answers import ArraySum, RefinedSums, RoughSums, SetSums
from ._fold_blocks import FoldBlock
from ._fused_sets import can_fuse, set_products, set_sums

# Rows of a block that are sampled for rough means, and columns at a time.
_SHIFT_ROWS = 128
_SHIFT_COLUMNS = 1024


def rough_sums(block: FoldBlock) -> RoughSums:
    """Estimate the means from a few rows; 0 for a sparse X, which is never shifted."""
    n = block.X.shape[1]
    xp = namespace_of(block.weights)
    weight, y = float(xp.sum(block.weights)), weighted_means(block.raw.T, block.weights)
    sample = _sampled_rows(block)
    if sample is None:
        return RoughSums(0.0, np.zeros(n), np.zeros(n), weight, y)
    count = int(sample.shape[0])
    x, xx = np.zeros(n), np.zeros(n)
    if block.X.location.on_device:
        x, xx, y = to_host(xp.sum(sample, axis=0), xp.var(sample, axis=0) * count, y)
    elif count:
        with np.errstate(over="ignore", invalid="ignore"):
            for columns in slices(n, _SHIFT_COLUMNS):
                values = sample[:, columns].astype(np.float64)
                x[columns] = values.sum(axis=0)
                xx[columns] = values.var(axis=0) * count
    return RoughSums(float(count), x, xx, weight, y)


def _sampled_rows(block: FoldBlock) -> Any:
    """Return some rows to estimate means, if possible of positive weight; None if X is sparse."""
    X = block.X
    if X.is_sparse:
        return None
    if X.device_array is not None:
        return as_float(X.device_array[:: max(1, X.shape[0] // _SHIFT_ROWS), :])
    if not X.is_in_memory:
        return X.part(slice(0, min(_SHIFT_ROWS, X.shape[0])))
    (rows,) = block.weights.nonzero()
    return X.part(rows[:: max(1, len(rows) // _SHIFT_ROWS)])


def fold_set_sums(block: FoldBlock) -> SetSums:
    """Return the sums over each set of rows, in one pass."""
    if can_fuse(block.X):
        return set_sums(block.X, block.all_row_sets(), block.Y, block.weights, block.shift)
    sets, n, t = len(block.sets), block.X.shape[1], block.Y.shape[1]
    zeros, xp = block.X.location.zeros, namespace_of(block.Y)
    sums = SetSums(
        zeros(sets),
        zeros((sets, n)),
        zeros((sets, n)),
        zeros((sets, t, n)),
        zeros((sets, t)),
        zeros((sets, t)),
    )

    with np.errstate(over="ignore", invalid="ignore"):
        for number, rows, x in block.visit():
            w, y = _rows_of(block.weights, rows), _rows_of(block.Y, rows)
            weighted = y * w[:, None]
            sums.weight[number] += xp.sum(w)
            sums.y[number, :] += xp.sum(weighted, axis=0)
            sums.yy[number, :] += xp.sum(weighted * y, axis=0)
            products, squares = x.sums(stacked([w[None, :], weighted.T]), w, True)
            sums.x[number, :] += products[0, :]
            sums.xy[number, :, :] += products[1:, :]
            sums.xx[number, :] += squares
    return sums


def fold_products(block: FoldBlock, order: NDArray[np.intp]) -> ArraySum:
    """Return Σ w x_b x_i over each set of rows, X minus its shift, in one pass."""
    if can_fuse(block.X):
        arguments = (block.all_row_sets(), order, block.weights, block.shift)
        return ArraySum(set_products(block.X, *arguments))
    values = block.X.location.zeros((len(order), len(block.sets), block.X.shape[1]))
    block.X.kept.take_along(order.tolist())
    for number, rows, x in block.visit():
        weighted = x.columns(order) * _rows_of(block.weights, rows)
        values[:, number, :] += product(x, weighted)
    return ArraySum(values)


def refined_sums(
    block: FoldBlock,
    split: int,
    columns: NDArray[np.intp],
    means: Float,
    target_means: Float,
    beta: Float,
    w: Float,
) -> RefinedSums:
    """Return training-row sums of the last column, given the others, which are chosen.

    beta (|S|) are its coefficients on the chosen ones, w (|S| × t) those of the model.
    """
    location = block.X.location
    rows = numbers_on(location, block.train_rows(split))
    means, target_means, beta, w = to_device(location, means, target_means, beta, w)
    parts = []
    for part, x in block.tiles_of(rows, columns):
        x = x - means
        z = x[:, -1] - x[:, :-1] @ beta
        weighted = z * take_rows(block.weights, rows[part])
        residual = take_rows(block.Y, rows[part]) - target_means
        inner = weighted[None, :] @ (residual - x[:, :-1] @ w)
        parts.append(RefinedSums(weighted @ x[:, :-1], weighted @ z, inner[0, :]))
    return add_up(parts)


def _rows_of(values: Any, rows: Any) -> Any:
    """Return rows of an array, by their numbers or as a slice."""
    return values[rows, ...] if isinstance(rows, slice) else take_rows(values, rows)
