"""A fold block at any set of features, and the effect of removing one of them.

The counterpart of `_at_set` for splits: z = X_S β of a chosen feature, with β from the training
rows of the split, on its held-out rows, where the model without the feature has r + z ρ.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from .._base import HALF_TILE_ELEMENTS, LEAST_SET_ROWS, Float, slices
from . import tiles
from ._answers import ArraySum
from ._at_set import Removals
from ._fold_blocks import FoldBlock


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


def fold_removal_errors(block: FoldBlock, removals: Removals) -> Iterator[tuple[int, slice, Float]]:
    """Yield held-out errors without each feature, a few rows of a split at a time."""
    beta_of, _, rho_of, starts = removals
    for number, (split, beta, rho) in enumerate(zip(block.splits, beta_of, rho_of, strict=True)):
        count = split.rows.shape[1]
        height = max(LEAST_SET_ROWS, HALF_TILE_ELEMENTS // max(1, rho.size))
        for rows in slices(count, height):
            Z = np.zeros((rows.stop - rows.start, beta.shape[1]))
            for positions, columns in split.chosen(block.column, rows):
                Z += columns[0].T @ beta[positions]
            yield number, rows, tiles.fold_errors(Z, split.r[0][:, rows], -rho, starts)
