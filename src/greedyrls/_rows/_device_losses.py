"""Losses of all candidates on a device, for row blocks whose vectors are NumPy arrays.

As on the host (`_row_losses`, `_fold_losses`), z of all candidates is computed a tile of rows at a
time and never kept. Tiles stay on the device; only sums over their rows come back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .._base import (
    DEVICE_TILE_ELEMENTS,
    Array,
    Float,
    as_float,
    namespace_of,
    numbers_on,
    take,
    take_rows,
    to_device,
    to_host,
)
from .._data import DeviceMatrix
from .._problem import UNDECIDED
from ._answers import Candidates
from ._blocks import RowBlock
from ._fold_blocks import FoldBlock

# A tile has some arrays of its size in float64.
_ELEMENTS = DEVICE_TILE_ELEMENTS // 4


def loo_loss_sums(
    block: RowBlock,
    X: DeviceMatrix,
    kind: str,
    shares: Float | None,
    beta: Float,
    delta: Float,
    rho: Float,
) -> Float:
    """Return Σ_j e_j ℓ_j over the rows with each of all features added, (n); shares are e."""
    location, (t, n) = X.location, rho.shape
    means = np.zeros(n) if block.means is None else block.means
    roots = None if block.root_weights is None else (block.root_weights, block.positive_root())
    chosen = numbers_on(location, np.array(block.chosen, dtype=np.intp))
    means, slopes, beta, rho = to_device(location, means, 1.0 / delta, beta, rho)
    total = location.zeros(n)
    for rows, tile in X.tiles(_ELEMENTS):
        r, y, d = to_device(location, block.r[:, rows], block.y[:, rows], block.d[rows])
        Z = _minus(tile.values, means)
        if roots is not None:
            root, positive_root = to_device(location, *(values[rows] for values in roots))
            Z *= root[:, None]
        if block.chosen:
            Z -= take(Z, chosen) @ beta
        shrunk = d[:, None] - Z * Z * slopes
        if roots is not None:
            shrunk *= positive_root[:, None]
        errors = ((r[target, :, None] - Z * rho[target, :]) / shrunk for target in range(t))
        own = None if shares is None else to_device(location, shares[rows])[0]
        total += _loss_sums(kind, errors, y, own)
    return to_host(total)[0]


def fold_loss_sums(
    block: FoldBlock, X: DeviceMatrix, kind: str, shares: Sequence[Float], candidates: Candidates
) -> Float:
    """Return Σ e ℓ of each split with each candidate added, (K × c); shares are e."""
    location = X.location
    indices, means, beta, rho, _ = candidates
    numbers = numbers_on(location, indices)
    totals = location.zeros((len(block.splits), len(indices)))
    means, beta, rho, shift = to_device(location, means, beta, rho, block.shift)
    for inside, tile in X.tiles(_ELEMENTS):
        for number, split in enumerate(block.splits):
            held_out = split.rows[0]
            first, last = np.searchsorted(held_out, (inside.start, inside.stop)).tolist()
            if first == last:
                continue
            rows = slice(first, last)
            r, y, own = to_device(
                location, split.r[0][:, rows], split.y[0][:, rows], shares[number][rows]
            )
            local = numbers_on(location, held_out[rows] - inside.start)
            values = _minus(take_rows(tile.values, local), shift)
            Z = take(values, numbers) - means[number, :]
            if split.selected:
                selected = np.array(split.selected, dtype=np.intp)
                (centre,) = to_device(location, np.concatenate(split.means))
                chosen = take(values, numbers_on(location, selected)) - centre
                Z -= chosen @ beta[number, ...]
            steps = rho[number, ...]
            errors = (r[target, :, None] - Z * steps[target, :] for target in range(steps.shape[0]))
            totals[number, :] += _loss_sums(kind, errors, y, own)
    return to_host(totals)[0]


def _minus(values: Array, centre: Array) -> Array:
    """Return values of any type minus float64 numbers; floats are not converted before."""
    is_real = namespace_of(values).isdtype(values.dtype, "real floating")
    return (values if is_real else as_float(values)) - centre


def _loss_sums(kind: str, errors: Iterable[Array], y: Array, shares: Array | None) -> Array:
    """Return Σ_j e_j ℓ_j (c) from the errors (rows × c) of each target; y is (t × rows)."""
    xp, t = namespace_of(y), y.shape[0]
    losses: Any = 0.0
    if kind in ("squared", "absolute"):
        for error in errors:
            losses = losses + (error * error if kind == "squared" else xp.abs(error))
        losses = losses / t
    elif t == 1:
        (error,) = errors
        losses = as_float(error * y[0, :, None] >= 1.0 - UNDECIDED)
    else:
        losses = as_float(~_largest_is_true(errors, y))
    return xp.sum(losses, axis=0) if shares is None else shares @ losses


def _largest_is_true(errors: Iterable[Array], y: Array) -> Array:
    """Return whether the target of the +1 has the largest prediction, by more than rounding."""
    xp = namespace_of(y)
    true: Any = 0.0
    other: Any = None
    for target, error in enumerate(errors):
        prediction = y[target, :, None] - error
        is_class = y[target, :, None] > 0.0
        true = xp.where(is_class, prediction, true)
        rest = xp.where(is_class, -np.inf, prediction)
        other = rest if other is None else xp.maximum(other, rest)
    return true - other > UNDECIDED
