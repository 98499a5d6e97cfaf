"""Questions to a row block for any loss: predictions and losses of models that differ a little.

Such a model is the current one with a feature or group added, or with one removed. What is known of
it are its leave-one-out errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from .._base import HALF_TILE_ELEMENTS, LEAST_TILE_ROWS, Float, slices
from .._data import ordered_part
from .._problem import Loss
from . import tiles
from ._answers import ArraySum
from ._blocks import RowBlock
from ._zero_one import Support, wrong_sums

# Returns the leave-one-out errors (t × rows × c) of some models in rows of a block, scaled by √w.
Errors = Callable[[RowBlock, slice], Float]


def loo_predictions(block: RowBlock) -> Float:
    """Return leave-one-out predictions of the current model, (t × rows)."""
    errors = block.r / block.d
    errors /= block.positive_root()
    return block.y - errors


def _tiles(block: RowBlock, errors: Errors, width: int) -> Iterator[tuple[slice, Float]]:
    """Yield errors of models, not scaled by √w, for slices of rows; a model has `width` numbers."""
    height = max(LEAST_TILE_ROWS, HALF_TILE_ELEMENTS // max(1, width))
    for rows in slices(block.n_rows, height):
        values = errors(block, rows)
        if block.root_weights is not None:
            values /= block.positive_root()[rows, None]
        yield rows, values


def losses_with(
    block: RowBlock, errors: Errors, n_models: int, width: int, loss: Loss, factors: Float | None
) -> ArraySum:
    """Return Σ_j e_j ℓ_j over the rows for each of some models; e is 1 without factors.

    `width` is the number of columns that their errors are computed from.
    """
    shares = None if factors is None else loss_shares(block, loss, factors)
    kind = loss.name.removeprefix("balanced_")
    total = np.zeros(n_models)
    for rows, values in _tiles(block, errors, width):
        row_shares = None if shares is None else shares[rows]
        total += tiles.error_sums(kind, values, block.y[:, rows], row_shares)
    return ArraySum(total)


def predictions_with(block: RowBlock, errors: Errors, n_models: int, width: int) -> Float:
    """Return leave-one-out predictions of each of some models, (t × c × rows)."""
    predictions = np.empty((len(block.r), n_models, block.n_rows))
    for rows, values in _tiles(block, errors, width):
        predictions[:, :, rows] = block.y[:, None, rows] - values.transpose(0, 2, 1)
    return predictions


def candidate_errors(
    block: RowBlock,
    rows: slice,
    indices: NDArray[np.intp] | None,
    beta: Float,
    delta: Float,
    rho: Float,
) -> Float:
    """Return leave-one-out errors (t × rows × c) with each candidate (or any feature) added."""
    Z = leftover_tile(block, np.arange(rows.start, rows.stop), indices, beta)
    return tiles.loo_errors(Z, block.r[:, rows], block.d[rows], delta, rho)


def candidate_losses(
    block: RowBlock,
    support: Support | None,
    loss: Loss,
    factors: Float | None,
    beta: Float,
    delta: Float,
    rho: Float,
    reach: Float | None,
) -> ArraySum:
    """Return Σ_j e_j ℓ_j over the rows with each of all features added; e is 1 without factors.

    For one target of labels ±1 and loss zero_one: reach (n) bounds how far z_i can move the
    margin of a row outside the support of i.
    """
    device = block.X.device
    if device is None and not block.X.is_in_memory:
        return block.over_chunks(
            lambda piece: candidate_losses(piece, None, loss, factors, beta, delta, rho, None)
        )
    if device is None and (reach is None or support is None):
        errors = partial(candidate_errors, indices=None, beta=beta, delta=delta, rho=rho)
        return losses_with(block, errors, block.X.shape[1], block.X.shape[1], loss, factors)
    shares = None if factors is None else loss_shares(block, loss, factors)
    if reach is not None and support is not None:
        return _wrong(block, shares, beta, delta, rho[0], reach, support)
    from ._device_losses import loo_loss_sums  # which only data on devices need

    assert device is not None
    kind = loss.name.removeprefix("balanced_")
    return ArraySum(loo_loss_sums(block, device, kind, shares, beta, delta, rho))


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
) -> ArraySum:
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
    return ArraySum(wrong_sums(margins, reach, shares, look, support, look_at_pairs))
