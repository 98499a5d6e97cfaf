"""Questions to a row block for folds about the held-out rows: losses now and with candidates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from .._base import Float, namespace_of, stacked
from .._problem import Loss
from . import tiles
from ._answers import ArraySum, Candidates, StepSums
from ._fold_blocks import FoldBlock
from ._held_out import HeldOutRows

# Yields held-out errors (t × rows × c) of some models: the number of a split, its rows, the errors.
FoldErrors = Callable[[FoldBlock], Iterator[tuple[int, slice, Float]]]


def fold_leftovers(
    block: FoldBlock, index: int, means: Float, beta: Float
) -> list[tuple[Float, Float]]:
    """Return the held-out rows of a feature minus its means (K), and z, (G × R) each."""
    whole = block.column(index)
    leftovers = []
    for split, (mean, split_beta) in block.shared_out(means, beta):
        column = split.of(whole) - mean[:, None]
        leftovers.append((column, split.leftover(block.column, column, split_beta)))
    return leftovers


def step_sums(block: FoldBlock, leftovers: list[tuple[Float, Float]], rho: Float) -> StepSums:
    """Return sums over the held-out rows for a feature with these leftovers and rho (K × t)."""
    parts = [
        split.sums(z, split_rho)
        for (split, (split_rho,)), (_, z) in zip(block.shared_out(rho), leftovers, strict=True)
    ]
    if len(parts) == 1:
        return parts[0]
    return StepSums(*(np.concatenate(values) for values in zip(*parts, strict=True)))


def fold_stratum_weights(block: FoldBlock, loss: Loss) -> ArraySum:
    """Return the weight of held-out rows of each split and stratum of a loss, (K × strata)."""
    count = loss.n_strata(block.raw.shape[1])
    sums = [
        np.bincount(loss.strata(split.y[0].T), split.weights[0], minlength=count)
        for split in block.splits
    ]
    return ArraySum(np.array(sums, dtype=np.float64))


def split_losses(block: FoldBlock, loss: Loss) -> ArraySum:
    """Return Σ w ℓ of the current models on held-out rows of each stratum, (K × strata)."""
    count = loss.n_strata(block.raw.shape[1])
    values = np.zeros((len(block.splits), count))
    for number, split in enumerate(block.splits):
        (used,) = split.weights[0].nonzero()
        Y, predictions = split.y[0, :, used], (split.y - split.r)[0][:, None, used]
        weighted = loss.sample_losses(Y, predictions)[0] * split.weights[0, used]
        values[number] = np.bincount(loss.strata(Y), weighted, minlength=count)
    return ArraySum(values)


def split_values(loss: Loss, split: HeldOutRows, predictions: Float) -> Float:
    """Return a loss of all rows of a split together, (c), from predictions (t × c × rows)."""
    (used,) = split.weights[0].nonzero()
    return loss.values(split.y[0, :, used], predictions[:, :, used], split.weights[0, used])


def _shares_of_splits(block: FoldBlock, loss: Loss, factors: Float) -> list[Float]:
    """Return e_j = w_j × the factor of its stratum, (K × strata), of the rows of each split."""
    return [
        split.weights[0] * of_split[loss.strata(split.y[0].T)]
        for split, of_split in zip(block.splits, factors, strict=True)
    ]


def squared_losses(block: FoldBlock, candidates: Candidates) -> ArraySum:
    """Return Σ w (r − z ρ)² of each split with each candidate added, averaged over targets.

    The result is (K × c). This is for a few candidates on a device.
    """
    indices, *terms, _ = candidates
    columns = [block.column(index) for index in indices.tolist()]
    parts = []
    for split, (means, beta, rho) in block.shared_out(*terms):
        xp = namespace_of(split.r)
        x = xp.stack([split.of(column) for column in columns], axis=1) - means[:, :, None]
        for positions, chosen in split.chosen(block.column):
            x = x - xp.permute_dims(beta[:, positions, :], (0, 2, 1)) @ chosen
        errors = split.r[:, :, None, :] - rho[..., None] * x[:, None, :, :]
        weighted = errors * errors * split.weights[:, None, None, :]
        parts.append(xp.sum(weighted, axis=(1, 3)) / block.raw.shape[1])
    return ArraySum(stacked(parts))


def fold_candidate_losses(
    block: FoldBlock, loss: Loss, factors: Float, candidates: Candidates
) -> ArraySum:
    """Return Σ e ℓ of each split with each candidate added, (K × c), tile by tile."""
    if block.X.device is None or candidates.starts is not None:
        errors = partial(fold_candidate_errors, candidates=candidates)
        return fold_losses_with(block, errors, candidates.n_candidates, loss, factors)
    from ._device_losses import fold_loss_sums  # which only data on devices need

    shares = _shares_of_splits(block, loss, factors)
    name = loss.name.removeprefix("balanced_")
    return ArraySum(fold_loss_sums(block, block.X.device, name, shares, candidates))


def fold_candidate_errors(
    block: FoldBlock, candidates: Candidates
) -> Iterator[tuple[int, slice, Float]]:
    """Yield held-out errors with each candidate added, a few rows of a split at a time."""
    indices, means, beta, rho, starts = candidates
    for number, part, x in block.tiles_of_splits(indices):
        split = block.splits[number]
        x -= means[number]
        for positions, columns in split.chosen(block.column, part):
            x -= columns[0].T @ beta[number][positions]
        yield number, part, tiles.fold_errors(x, split.r[0][:, part], rho[number], starts)


def fold_losses_with(
    block: FoldBlock, errors: FoldErrors, n_models: int, loss: Loss, factors: Float
) -> ArraySum:
    """Return Σ e ℓ of each split for each of some models, (K × c), for a mean over rows."""
    shares = _shares_of_splits(block, loss, factors)
    name = loss.name.removeprefix("balanced_")
    totals = np.zeros((len(block.splits), n_models))
    for number, part, values in errors(block):
        y = block.splits[number].y[0][:, part]
        totals[number] += tiles.error_sums(name, values, y, shares[number][part])
    return ArraySum(totals)


def fold_values_with(block: FoldBlock, errors: FoldErrors, n_models: int, loss: Loss) -> ArraySum:
    """Return the loss of each split for each of some models, (K × c), for any loss."""
    shapes = [(split.y.shape[1], n_models, split.y.shape[2]) for split in block.splits]
    predictions = [np.empty(shape) for shape in shapes]
    for number, part, values in errors(block):
        y = block.splits[number].y[0][:, None, part]
        predictions[number][:, :, part] = y - values.transpose(0, 2, 1)
    pairs = zip(block.splits, predictions, strict=True)
    return ArraySum(np.array([split_values(loss, *pair) for pair in pairs]))
