"""Questions about groups of features to a row block: their products, losses and errors.

A group of b columns has Z (b × rows), their residuals after the chosen features. With D the pivot
matrix of the group and R'R = D⁻¹, Q = R Z are the directions that adding the group adds:
r ← r − Σ_k t_k q_k and h ← h + Σ_k q_k², as for a single feature.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import HALF_TILE_ELEMENTS, LEAST_TILE_ROWS, TILE_ELEMENTS, Float, slices
from .._problem import GroupLayout, Part
from ._answers import ArraySum
from ._blocks import RowBlock
from ._row_losses import leftover_tile


class GroupMoments(NamedTuple):
    """Moments of Z of several groups of the same width."""

    products: Float  # (g × b × b) Z Z'
    correlations: Float  # (t × g × b) r·z


class GroupLosses(NamedTuple):
    """Leave-one-out sums of groups of the same width, and moments of the spread of z."""

    losses: Float  # (t × g) Σ of squared LOO errors
    mixed: Float  # (t × g × b) Σ r² z²
    fourth: Float  # (g × b) Σ z⁴


class Directions(NamedTuple):
    """The directions and steps of adding each of several groups of the same width."""

    columns: NDArray[np.intp]  # (g × b)
    roots: Float  # (g × b × b) R
    steps: Float  # (t × g × b) R τ


def group_moments(block: RowBlock, Z: Float, width: int) -> GroupMoments:
    """Return Z Z' and r·z of groups, from their concatenated z (g·b × rows)."""
    z = Z.reshape(-1, width, Z.shape[1])
    return GroupMoments(z @ z.swapaxes(1, 2), (block.r @ Z.T).reshape(len(block.r), -1, width))


def group_losses(
    block: RowBlock, Z: Float, roots: Float, steps: Float, with_spread: bool
) -> GroupLosses:
    """Return this block's part of the leave-one-out sums with each group added."""
    t, (g, width) = len(block.r), roots.shape[:2]
    z = Z.reshape(g, width, Z.shape[1])
    losses, mixed, fourth = np.zeros((t, g)), np.zeros((t, g * width)), np.zeros(g * width)
    height = max(256, TILE_ELEMENTS // (4 * g * width))
    for rows in slices(block.n_rows, height):
        r = block.r[:, rows]
        if with_spread:
            squares = np.square(Z[:, rows])
            mixed += (r * r) @ squares.T
            fourth += np.einsum("cj,cj->c", squares, squares)
        errors = _errors(z[:, :, rows], r, block.d[rows], roots, steps)
        losses += np.einsum("tgj,tgj->tg", errors, errors)
    return GroupLosses(losses, mixed.reshape(t, g, width), fourth.reshape(g, width))


def _errors(z: Float, r: Float, d: Float, roots: Float, steps: Float) -> Float:
    """Return leave-one-out errors (t × g × rows) with each group added; z (g × b × rows)."""
    q = roots @ z
    errors = r[:, None, :] - (steps[:, :, None, :] @ q)[:, :, 0, :]
    q *= q
    errors /= d - q.sum(axis=1)
    return errors


def pair_products(block: RowBlock, layout: GroupLayout) -> ArraySum:
    """Return x_i·x_j of all pairs of columns in a group, centred and weighted, in one pass."""
    if not block.X.is_in_memory:
        return block.over_chunks(partial(pair_products, layout=layout))
    pairs = np.zeros(layout.n_pairs)
    parts = [part for part in layout.parts(layout.firsts) if part.width > 1]
    wide = np.concatenate([part.columns.ravel() for part in parts])
    position = np.empty(layout.n_features, dtype=np.intp)
    position[wide] = np.arange(len(wide))
    sums = [np.zeros((*part.columns.shape, part.width)) for part in parts]
    height = max(LEAST_TILE_ROWS, 4 * HALF_TILE_ELEMENTS // max(1, len(wide)))
    nothing = np.empty((0, len(wide)))
    for top in range(0, block.n_rows, height):
        rows = np.arange(top, min(block.n_rows, top + height))
        X = np.ascontiguousarray(leftover_tile(block, rows, wide, nothing).T)
        for part, total in zip(parts, sums, strict=True):
            x = X[position[part.columns]]
            total += x @ x.swapaxes(1, 2)
    for part, total in zip(parts, sums, strict=True):
        layout.put_pairs(part, total, pairs)
    return ArraySum(pairs)


def group_errors(
    block: RowBlock, rows: slice, groups: Sequence[Directions], betas: Sequence[Float]
) -> Float:
    """Return leave-one-out errors (t × rows × G) with each group of all parts added.

    betas are the coefficients (|S| × g·b) of the columns of each part on the chosen features.
    """
    parts = []
    numbers = np.arange(rows.start, rows.stop)
    for (columns, roots, steps), beta in zip(groups, betas, strict=True):
        z = np.ascontiguousarray(leftover_tile(block, numbers, columns.ravel(), beta).T)
        z = z.reshape(*columns.shape, len(numbers))
        parts.append(_errors(z, block.r[:, rows], block.d[rows], roots, steps))
    return np.concatenate(parts, axis=1).transpose(0, 2, 1)


def directions(part: Part, roots: Float, tau: Float) -> Directions:
    """Return the directions and steps of the groups of a part, from τ (t × n) of all columns."""
    return Directions(part.columns, roots, steps_of(roots, tau[:, part.columns]))


def steps_of(roots: Float, tau: Float) -> Float:
    """Return R τ (t × g × b) for τ (t × g × b)."""
    values: Float = (roots @ tau[..., None])[..., 0]
    return values
