"""A row block at any set of features, and what removing one of them does to its rows.

With L the Cholesky factor of A_SS, the rows of q = L⁻¹ X_S' are the scaled directions of
docs/theory.md: residuals and leverages of the model on S are sums over them. Without s the model
has r + z ρ and d + z²/δ, where z = X_S β is what is left of x_s after the others of S: with the
signs of δ and ρ turned round, the kernels for candidates that are added serve those that go.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from .._base import HALF_TILE_ELEMENTS, LEAST_SET_ROWS, Float, kernels
from .._problem import Loss
from . import tiles
from ._answers import CandidateLosses
from ._blocks import RowBlock


class Removals(NamedTuple):
    """Some of the chosen features as the others of S leave them: z = X_S β, δ and ρ."""

    beta: Float  # (|S| × c) A_SS⁻¹ e_s / (A_SS⁻¹)_ss
    delta: Float  # (c) 1 / (A_SS⁻¹)_ss
    rho: Float  # (t × c) the coefficients w_s


class FactorSums(NamedTuple):
    """Inner products over rows, added up over blocks."""

    values: Float  # (|S| × |S|) Σ q q'


class RemovalSums(NamedTuple):
    """Leave-one-out sums of squares without each of some features."""

    values: Float  # (t × c)


def _row_tiles(block: RowBlock, count: int) -> Iterator[slice]:
    """All rows, some at a time, for work with as many numbers for each."""
    height = max(LEAST_SET_ROWS, HALF_TILE_ELEMENTS // max(1, count))
    for top in range(0, block.n_rows, height):
        yield slice(top, min(block.n_rows, top + height))


def _columns(block: RowBlock, features: tuple[int, ...], rows: slice) -> Float:
    """The columns of some features, centred and weighted, (|S| × rows)."""
    parts = [columns for _, columns in block.columns.chosen(features, rows)]
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.empty((0, rows.stop - rows.start))


def factor_sums(block: RowBlock, features: tuple[int, ...], inverse: Float) -> FactorSums:
    """Σ q q' over the rows, q = L⁻¹ x: the unit matrix less its penalty, up to rounding."""
    total = np.zeros((len(features), len(features)))
    for rows in _row_tiles(block, len(features)):
        q = inverse @ _columns(block, features, rows)
        total += q @ q.T
    return FactorSums(total)


def at_set(
    block: RowBlock, features: tuple[int, ...], inverse: Float, steps: Float, kept: Sequence[int]
) -> RowBlock:
    """From the block at the empty model to the one with these features.

    inverse (|S| × |S|) is L⁻¹ and steps (|S| × t) are the coefficients on q; columns of `kept` are
    kept, as far as there is room.
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
    beta, delta, rho = removals
    r, d = block.r.copy(), block.d.copy()
    for rows in _row_tiles(block, 1):
        (z,) = _leftovers(block, beta, rows)
        r[:, rows] += rho * z
        d[rows] += z * z / delta[0]
    return replace(block, r=r, d=d, chosen=features, anchor=None)


def _leftovers(block: RowBlock, beta: Float, rows: slice) -> Float:
    """z = X_S β of some rows, (c × rows)."""
    Z = np.zeros((beta.shape[1], rows.stop - rows.start))
    for places, columns in block.columns.chosen(block.chosen, rows):
        Z += beta[places].T @ columns
    return Z


def removal_squares(block: RowBlock, removals: Removals) -> RemovalSums:
    """This block's share of the leave-one-out sums of squares without each of some features."""
    beta, delta, rho = removals
    total = np.zeros(rho.shape)
    for rows in _row_tiles(block, len(delta)):
        Z, r, d = _leftovers(block, beta, rows), block.r[:, rows], block.d[rows]
        total += kernels.loo_losses(Z, r, d, -delta, -rho, False)[0]
    return RemovalSums(total)


def _removal_errors(block: RowBlock, removals: Removals) -> Iterator[tuple[slice, Float]]:
    """Leave-one-out errors (t × rows × c) without each of some features, some rows at a time."""
    beta, delta, rho = removals
    for rows in _row_tiles(block, len(rho) * len(delta)):
        Z = _leftovers(block, beta, rows).T
        errors = tiles.loo_errors(Z, block.r[:, rows], block.d[rows], -delta, -rho)
        if block.root_weights is not None:
            errors /= block.positive_root()[rows, None]
        yield rows, errors


def removal_losses(
    block: RowBlock, loss: Loss, factors: Float | None, removals: Removals
) -> CandidateLosses:
    """Σ_j e_j ℓ_j over the rows without each of some features, as `RowBlock.candidate_losses`."""
    shares = None if factors is None else block.shares(loss, factors)
    kind = loss.name.removeprefix("balanced_")
    total = np.zeros(len(removals.delta))
    for rows, errors in _removal_errors(block, removals):
        own = None if shares is None else shares[rows]
        total += tiles.error_sums(kind, errors, block.y[:, rows], own)
    return CandidateLosses(total, block.n_rows * len(removals.delta))


def removal_predictions(block: RowBlock, removals: Removals) -> Float:
    """Leave-one-out predictions without each of some features, (t × c × rows)."""
    values = np.empty((*removals.rho.shape, block.n_rows))
    for rows, errors in _removal_errors(block, removals):
        values[:, :, rows] = block.y[:, None, rows] - errors.transpose(0, 2, 1)
    return values
