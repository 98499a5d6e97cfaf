"""Questions to a row block about a few candidates: z, its moments and leave-one-out sums."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base import Executor, Float, ask, inner, kernels, row_dots, slices, take_rows
from ._answers import ArraySum, Losses, Moments, Scores, SupportSums
from ._blocks import RowBlock

# Rows of chosen columns that are copied at a time from the columns kept for a file.
_COPIED_ROWS = 1 << 15


def candidate_residuals(block: RowBlock, indices: NDArray[np.intp], beta: Float) -> Float:
    """Return z_i = x_i − X_S β_i of the candidates, (c × rows)."""
    Z = centred_columns(block, indices)
    for rows in _row_tiles(block):
        for positions, columns in block.columns.chosen(block.chosen, rows):
            Z[:, rows] -= beta[positions].T @ columns
    return Z


def without_chosen(block: RowBlock, columns: Float, beta: Float) -> Float:
    """Return x_i − X_S β_i; beta may be padded with rows of 0 to the capacity."""
    buffer = block.columns.room
    if buffer is not None and beta.shape[0] == buffer.shape[0]:
        return columns - beta.T @ buffer
    for positions, chosen in block.columns.chosen(block.chosen):
        columns = columns - beta[positions, :].T @ chosen
    return columns


def _row_tiles(block: RowBlock) -> Iterator[slice]:
    """Yield all rows at once, or slices of rows if columns of chosen features are copies."""
    if not block.X.keeps_columns:
        yield slice(None)
        return
    yield from slices(len(block.d), _COPIED_ROWS)


def centred_columns(block: RowBlock, indices: NDArray[np.intp]) -> Float:
    """Return x_i of the candidates, centred, (c × rows)."""
    return block.columns.fresh(indices)


def fresh_moments(block: RowBlock, indices: NDArray[np.intp]) -> Moments:
    """Return ‖x‖² and r·x of the candidates."""
    return candidate_moments(block, centred_columns(block, indices))


def row_of(block: RowBlock, Z: Float, index: Any) -> Float:
    """Return z of one candidate; the index is an int or a device vector of length 1."""
    z: Float = Z[index, :] if isinstance(index, int) else take_rows(Z, index)[0, :]
    return z


def candidate_moments(block: RowBlock, Z: Float) -> Moments:
    """Return ‖z‖² and r·z of the candidates."""
    return Moments(row_dots(Z, Z), inner(block.r, Z))


def loo_losses(
    block: RowBlock,
    Z: Float,
    moments: Moments,
    penalty: Float,
    shrinkage: Float,
    with_spread: bool,
) -> Losses:
    """Return this block's part of the leave-one-out sums with each candidate added.

    `moments` are those of all blocks.
    """
    delta, rho = _pivots(moments, penalty, shrinkage)
    return Losses(*kernels.loo_losses(Z, block.r, block.d, delta, rho, with_spread))


def support_sums(
    block: RowBlock, indices: NDArray[np.intp], beta: Float, delta: Float, rho: Float
) -> SupportSums:
    """Return sums over nonzero values of rare candidates with coefficients beta (|S| × c)."""
    rows, owners, z = block.X.entries(indices)
    owner = np.searchsorted(indices, owners)
    if block.means is not None:
        z -= block.means[owners]
    if block.root_weights is not None:
        z *= block.root_weights[rows]
    for positions, chosen in block.columns.chosen(block.chosen, rows):
        z -= np.einsum("sp,sp->p", beta[positions][:, owner], chosen)
    d, r, count = block.d[rows], block.r[:, rows], len(indices)

    def sums(values: Float) -> Float:
        return np.array([np.bincount(owner, value, count) for value in values])

    errors = r - rho[:, owner] * z
    errors /= d - z * z / delta[owner]
    return SupportSums(
        sums(np.square(errors)),
        sums(np.square(r / d)),
        sums(r * z),
        sums((z * z)[None])[0],
    )


def chosen_products(block: RowBlock, z: Float) -> ArraySum:
    """Return X_S'z."""
    values = block.X.location.zeros(len(block.chosen))
    for rows in _row_tiles(block):
        for positions, columns in block.columns.chosen(block.chosen, rows):
            values[positions] += inner(columns, z[None, rows])[:, 0]
    return ArraySum(values)


def anchor_products(block: RowBlock, z: Float) -> ArraySum:
    """Return the inner product a·z of the anchor."""
    return ArraySum(inner(block.anchor, z[None, :])[:, 0])


def make_scores(
    executor: Executor,
    blocks: Sequence[RowBlock],
    Z: list[Float],
    penalty: Float,
    shrinkage: Float,
    with_spread: bool,
) -> Scores:
    """Candidates from their z, where the blocks are."""
    question = ask(loo_losses, penalty, shrinkage, with_spread)
    moments, losses = executor.totals(candidate_moments, question, blocks, Z)
    (norms, correlations), (sums, mixed, fourth) = moments, losses
    delta, rho = _pivots(moments, penalty, shrinkage)
    return Scores(sums, delta, rho, norms, correlations, mixed, fourth)


def _pivots(moments: Moments, penalty: Float, shrinkage: Float) -> tuple[Float, Float]:
    """Return δ (c) and ρ (t × c) of candidates."""
    delta = moments.norms + penalty
    return delta, (moments.correlations + shrinkage) / delta
