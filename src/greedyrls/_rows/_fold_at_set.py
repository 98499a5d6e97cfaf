"""A fold block at any set of features, and the effect of removing one of them.

The counterpart of `_at_set` for splits: z = X_S β of a chosen feature, with β from the training
rows of the split, on its held-out rows, where the model without the feature has r + z ρ.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .._base import HALF_TILE_ELEMENTS, LEAST_SET_ROWS, Float
from .._problem import Loss
from . import tiles
from ._answers import ArraySum
from ._at_set import Removals
from ._fold_blocks import FoldBlock
from ._fold_losses import split_shares, split_values
from ._held_out import HeldOutRows


def training_products(
    block: FoldBlock, split: int, features: tuple[int, ...], means: Float, inverse: Float
) -> ArraySum:
    """Return Σ q q' over the training rows of a split, q = L⁻¹ (x − means), means (|S|)."""
    rows, total = block.train_rows(split), np.zeros(inverse.shape)
    for positions, x in block.tiles_of(rows, np.array(features, dtype=np.intp)):
        q = (x - means) @ inverse.T
        total += (q * block.weights[rows[positions], None]).T @ q
    return ArraySum(total)


def fold_at_set(
    block: FoldBlock, features: tuple[int, ...], means: Float, weights: Float
) -> FoldBlock:
    """Return the block at a set; means are (K × |S|), weights of the models (K × |S| × t)."""
    splits = tuple(
        split.at_set(block.column, features, own_means[None], own_weights[None])
        for split, own_means, own_weights in zip(block.splits, means, weights, strict=True)
    )
    return replace(block, splits=splits)


def energy(block: FoldBlock) -> ArraySum:
    """Return ‖r‖² on the held-out rows, (K × t)."""
    return ArraySum(
        np.array([(np.square(split.r[0]) @ split.weights[0]) for split in block.splits])
    )


def _removal_errors(
    block: FoldBlock,
    split: HeldOutRows,
    beta: Float,
    rho: Float,
    starts: NDArray[np.intp] | None,
) -> Iterator[tuple[slice, Float]]:
    """Yield errors (t × rows × c) on held-out rows without each feature, by slices of rows."""
    count = split.rows.shape[1]
    height = max(LEAST_SET_ROWS, HALF_TILE_ELEMENTS // max(1, rho.size))
    for top in range(0, count, height):
        rows = slice(top, min(count, top + height))
        Z = np.zeros((rows.stop - top, beta.shape[1]))
        for places, columns in split.chosen(block.column, rows):
            Z += columns[0].T @ beta[places]
        yield rows, tiles.fold_errors(Z, split.r[0][:, rows], -rho, starts)


def fold_removal_losses(
    block: FoldBlock, loss: Loss, factors: Float, removals: Removals
) -> ArraySum:
    """Return Σ e ℓ of each split without each feature, (K × c), for a mean over rows."""
    name = loss.name.removeprefix("balanced_")
    beta_of, _, rho_of, starts = removals
    totals = np.zeros((len(block.splits), removals.n_removals))
    shared = zip(block.splits, beta_of, rho_of, factors, strict=True)
    for number, (split, beta, rho, own) in enumerate(shared):
        shares = split_shares(loss, split, own)
        for rows, errors in _removal_errors(block, split, beta, rho, starts):
            totals[number] += tiles.error_sums(name, errors, split.y[0][:, rows], shares[rows])
    return ArraySum(totals)


def removal_values(block: FoldBlock, loss: Loss, removals: Removals) -> ArraySum:
    """Return the loss of each split without each feature, (K × c), for any loss."""
    values = []
    beta_of, _, rho_of, starts = removals
    for split, beta, rho in zip(block.splits, beta_of, rho_of, strict=True):
        predictions = np.empty((len(rho), removals.n_removals, split.rows.shape[1]))
        for rows, errors in _removal_errors(block, split, beta, rho, starts):
            predictions[:, :, rows] = split.y[0][:, None, rows] - errors.transpose(0, 2, 1)
        values.append(split_values(loss, split, predictions))
    return ArraySum(np.array(values))
