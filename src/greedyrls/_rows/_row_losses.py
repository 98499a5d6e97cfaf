"""Questions to a row block for any loss: predictions and losses with each candidate added."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._base import HALF_TILE_ELEMENTS, LEAST_TILE_ROWS, Float
from .._data import ordered_part
from .._problem import Loss
from . import tiles
from ._answers import CandidateLosses
from ._blocks import RowBlock
from ._scores import candidate_residuals
from ._zero_one import Support, wrong_sums


def loo_predictions(block: RowBlock) -> Float:
    """Return leave-one-out predictions of the current model, (t × rows)."""
    errors = block.r / block.d
    errors /= block.positive_root()
    return block.y - errors


def candidate_predictions(
    block: RowBlock, indices: NDArray[np.intp], beta: Float, delta: Float, rho: Float
) -> Float:
    """Return leave-one-out predictions with each candidate added, (t × c × rows)."""
    Z = candidate_residuals(block, indices, beta)
    errors = tiles.loo_errors(Z.T, block.r, block.d, delta, rho).transpose(0, 2, 1)
    return block.y[:, None, :] - errors / block.positive_root()


def candidate_losses(
    block: RowBlock,
    support: Support | None,
    loss: Loss,
    factors: Float | None,
    beta: Float,
    delta: Float,
    rho: Float,
    reach: Float | None,
) -> CandidateLosses:
    """Return Σ_j e_j ℓ_j over the rows with each of all features added; e is 1 without factors.

    For one target of labels ±1 and loss zero_one: reach (n) bounds how far z_i can move the
    margin of a row outside the support of i.
    """
    device = block.X.device
    if device is None and not block.X.is_in_memory:
        return block.over_chunks(
            lambda piece: candidate_losses(piece, None, loss, factors, beta, delta, rho, None)
        )
    shares = None if factors is None else loss_shares(block, loss, factors)
    if reach is not None and support is not None:
        return _wrong(block, shares, beta, delta, rho[0], reach, support)
    kind = loss.name.removeprefix("balanced_")
    if device is not None:
        from ._device_losses import loo_loss_sums  # which only data on devices need

        sums = loo_loss_sums(block, device, kind, shares, beta, delta, rho)
        return CandidateLosses(sums, device.shape[0] * device.shape[1])
    total = np.zeros(block.X.shape[1])
    height = max(LEAST_TILE_ROWS, HALF_TILE_ELEMENTS // block.X.shape[1])
    for top in range(0, len(block.d), height):
        rows = np.arange(top, min(len(block.d), top + height))
        Z = leftover_tile(block, rows, None, beta)
        errors = tiles.loo_errors(Z, block.r[:, rows], block.d[rows], delta, rho)
        if block.root_weights is not None:
            errors /= block.positive_root()[rows, None]
        row_shares = None if shares is None else shares[rows]
        total += tiles.error_sums(kind, errors, block.y[:, rows], row_shares)
    return CandidateLosses(total, block.X.shape[0] * block.X.shape[1])


def loss_shares(block: RowBlock, loss: Loss, factors: Float) -> Float:
    """Return e_j = w_j × the factor of its stratum (strata)."""
    row_factors: Float = factors[loss.strata(block.y.T)]
    return row_factors if block.weights is None else row_factors * block.weights


def leftover_tile(
    block: RowBlock, rows: NDArray[np.intp], columns: NDArray[np.intp] | None, beta: Float
) -> Float:
    """Return z of candidates (or all features) in some rows, (rows × c), in X's memory order.

    beta (|S| × c) are the coefficients of these candidates.
    """
    taken, by_rows = ordered_part(block.X, rows, columns)
    Z = taken.astype(np.float64, copy=False)
    if block.means is not None:
        Z -= block.means if columns is None else block.means[columns]
    if block.root_weights is not None:
        Z *= block.root_weights[rows, None]
    for positions, chosen in block.columns.chosen(block.chosen, rows):
        Z -= chosen.T @ beta[positions] if by_rows else (beta[positions].T @ chosen).T
    return Z


def _wrong(
    block: RowBlock,
    shares: Float | None,
    beta: Float,
    delta: Float,
    rho: Float,
    reach: Float,
    support: Support,
) -> CandidateLosses:
    """Return the weight of wrong predictions, evaluating only rows whose class may change."""
    codes, r, d = block.y[0] / block.positive_root(), block.r[0], block.d

    def look(rows: NDArray[np.intp], columns: NDArray[np.intp]) -> tiles.Flags:
        Z = leftover_tile(block, rows, columns, beta[:, columns])
        return tiles.loo_wrong(Z, codes[rows], r[rows], d[rows], delta[columns], rho[columns])

    def look_at_pairs(pairs: NDArray[np.intp], columns: NDArray[np.intp]) -> tiles.Flags:
        rows, z = support.rows[pairs], support.values[pairs]
        for positions, chosen in block.columns.chosen(block.chosen, rows):
            z -= np.einsum("sp,sp->p", beta[positions][:, columns], chosen)
        return tiles.loo_wrong(
            z[:, None], codes[rows], r[rows], d[rows], delta[columns], rho[columns], pairs=True
        )[:, 0]

    margins = tiles.loo_margins(codes, r, d)
    return CandidateLosses(*wrong_sums(margins, reach, shares, look, support, look_at_pairs))
