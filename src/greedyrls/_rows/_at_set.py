"""A row block at any set of features, and the effect of removing one of them.

With L the Cholesky factor of A_SS, the rows of q = L⁻¹ X_S' are the scaled directions of
docs/theory.md: residuals and leverages of the model on S are sums over them. Without s the model
has r + z ρ and d + z²/δ, where z = X_S β is the residual of x_s after the others of S: with the
signs of δ and ρ reversed, the kernels for candidates to add also serve features to remove.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import HALF_TILE_ELEMENTS, LEAST_SET_ROWS, Float, kernels, slices
from . import tiles
from ._answers import ArraySum
from ._blocks import RowBlock


class Removals(NamedTuple):
    """Chosen features that may be removed: z = X_S β, δ and ρ given the others of S.

    With splits, arrays have a leading axis for the models of all of them.
    """

    beta: Float  # (… × |S| × c) A_SS⁻¹ e_s / (A_SS⁻¹)_ss
    delta: Float  # (… × c) 1 / (A_SS⁻¹)_ss
    rho: Float  # (… × t × c) the coefficients w_s
    starts: NDArray[np.intp] | None = None  # where groups of orthogonal columns begin, if there are

    @property
    def n_removals(self) -> int:
        """The number of removals."""
        return self.delta.shape[-1] if self.starts is None else len(self.starts)


def _row_tiles(block: RowBlock, count: int) -> Iterator[slice]:
    """Yield slices of rows, sized for work with `count` numbers for each row."""
    height = max(LEAST_SET_ROWS, HALF_TILE_ELEMENTS // max(1, count))
    yield from slices(block.n_rows, height)


def _columns(block: RowBlock, features: tuple[int, ...], rows: slice) -> Float:
    """Return the columns of features, centred and weighted, (|S| × rows)."""
    parts = [columns for _, columns in block.columns.chosen(features, rows)]
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.empty((0, rows.stop - rows.start))


def factor_sums(block: RowBlock, features: tuple[int, ...], inverse: Float) -> ArraySum:
    """Return Σ q q' over the rows, q = L⁻¹ x: the identity minus its penalty, up to rounding."""
    total = np.zeros((len(features), len(features)))
    for rows in _row_tiles(block, len(features)):
        q = inverse @ _columns(block, features, rows)
        total += q @ q.T
    return ArraySum(total)


def with_rows(block: RowBlock, features: tuple[int, ...], r: Float, d: Float) -> RowBlock:
    """Return the block with these features, whose r and d are known; the last one may be new."""
    block.columns.keep(features[-1])
    return replace(block, r=r, d=d, chosen=features, anchor=None)


def at_set(
    block: RowBlock, features: tuple[int, ...], inverse: Float, steps: Float, kept: Sequence[int]
) -> RowBlock:
    """Return the block with these features, from the block at the empty model.

    inverse (|S| × |S|) is L⁻¹ and steps (|S| × t) are the coefficients on q; columns of `kept` are
    kept as far as memory allows.
    """
    for index in kept:
        block.columns.keep(index)
    r, d = np.empty_like(block.r), np.empty_like(block.d)
    for rows in _row_tiles(block, len(features)):
        q = inverse @ _columns(block, features, rows)
        r[:, rows] = block.r[:, rows] - steps.T @ q
        d[rows] = block.d[rows] - np.einsum("sj,sj->j", q, q)
    return replace(block, r=r, d=d, chosen=features, anchor=None)


def without(block: RowBlock, features: tuple[int, ...], removals: Removals) -> RowBlock:
    """The block less one feature, which leaves these: O(m·|S|), where `at_set` is O(m·|S|²)."""
    beta, delta, rho, _ = removals
    r, d = block.r.copy(), block.d.copy()
    for rows in _row_tiles(block, 1):
        (z,) = removed_columns(block, beta, rows)
        r[:, rows] += rho * z
        d[rows] += z * z / delta[0]
    return replace(block, r=r, d=d, chosen=features, anchor=None)


def removed_columns(block: RowBlock, beta: Float, rows: slice | NDArray[np.intp]) -> Float:
    """Return z = X_S β of chosen features in some rows, (c × rows)."""
    Z = np.zeros((beta.shape[1], len(block.d[rows])))
    for positions, columns in block.columns.chosen(block.chosen, rows):
        Z += beta[positions].T @ columns
    return Z


def removal_squares(block: RowBlock, removals: Removals) -> ArraySum:
    """This block's share of the leave-one-out sums of squares without each of some features."""
    beta, delta, rho, starts = removals
    total = np.zeros((len(rho), removals.n_removals))
    for rows in _row_tiles(block, len(delta)):
        Z, r, d = removed_columns(block, beta, rows), block.r[:, rows], block.d[rows]
        if starts is None:
            total += kernels.loo_losses(Z, r, d, -delta, -rho, False)[0]
        else:
            errors = tiles.loo_errors(Z.T, r, d, -delta, -rho, starts)
            total += np.square(errors, out=errors).sum(axis=1)
    return ArraySum(total)


def removal_errors(block: RowBlock, rows: slice, removals: Removals) -> Float:
    """Return leave-one-out errors (t × rows × c) without each of some features."""
    beta, delta, rho, starts = removals
    Z = removed_columns(block, beta, rows).T
    return tiles.loo_errors(Z, block.r[:, rows], block.d[rows], -delta, -rho, starts)
