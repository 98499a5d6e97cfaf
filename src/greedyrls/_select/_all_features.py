"""The paper's rule for the penalty: the exact leave-one-out loss of the model with all features."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._base import Float, long_call
from .._criteria import LooData
from .._data import WholeArrays
from .._problem import Loss, Problem

# The numbers of features and of rows processed at a time.
_BATCH, _ROWS = 256, 1024
# Square arrays of the smaller of m and n, and arrays (t × penalties × m), held at the same time.
_SQUARES, _ERRORS = 6, 4


def all_features_losses(data: LooData, alphas: Float, loss: Loss) -> Float:
    """Return the leave-one-out loss of ridge on all features not excluded, for each penalty, (A).

    One eigendecomposition of the smaller of X'X and XX' serves all penalties: O(m·n·min(m, n)).
    """
    problem = data.problem
    kept = np.setdiff1d(np.arange(problem.n_features), problem.excluded)
    find = _by_rows if problem.n_samples <= len(kept) else _by_features
    # The cost of eigenvectors of the smaller matrix, and of as many products with them.
    short, long = sorted((problem.n_samples, len(kept)))
    with long_call(float(short) * short * long):
        residuals, shrunk = find(data, kept, alphas)
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = residuals / shrunk
    weights, used = problem.weights, np.arange(problem.n_samples)
    if weights is not None:
        used = np.flatnonzero(weights)
        errors[:, :, used] /= np.sqrt(weights[used])
    predictions = problem.Y.T[:, None, :] - errors
    values = loss.values(
        problem.Y[used], predictions[:, :, used], None if weights is None else weights[used]
    )
    return np.where(np.isfinite(values), values, np.nan)


def all_features_arrays(problem: Problem, n_penalties: int) -> WholeArrays:
    """Return the arrays that this rule needs, with the number of penalties tried."""
    m, n = problem.n_samples, problem.n_features - len(problem.excluded)
    short = min(m, n)
    n_bytes = 8 * (_SQUARES * short * short + _ERRORS * n_penalties * problem.n_targets * m)
    n_bytes += 16 * _ROWS * n if n < m else 8 * _BATCH * m
    what = f"alpha_rule='all_features' with {n_penalties} penalties ({short} × {short} products)"
    return WholeArrays(n_bytes, what, "use alpha_rule='nested' or 'joint'")


def _by_features(data: LooData, kept: NDArray[np.intp], alphas: Float) -> tuple[Float, Float]:
    """Return residuals (t × A × m) and 1 − h (A × m) from the eigenvectors of X'X."""
    problem = data.problem
    gram = data.samples.gram(kept)
    values, vectors = np.linalg.eigh(0.5 * (gram + gram.T))
    shrink = 1.0 / (_without_noise(values) + alphas[:, None])  # (A × n)
    slopes = shrink[None] * (data.start.correlation[:, kept] @ vectors)[:, None, :]
    m = problem.n_samples
    fitted = np.empty((problem.Y.shape[1], len(alphas), m))
    leverages = np.empty((len(alphas), m))
    top = 0
    for block in data.samples.blocks:
        for _, piece in block.pieces():
            for first in range(0, piece.n_rows, _ROWS):
                rows = slice(first, min(piece.n_rows, first + _ROWS))
                where = slice(top + rows.start, top + rows.stop)
                turned = piece.columns.fresh(kept, rows).T @ vectors  # (rows × n)
                fitted[:, :, where] = slopes @ turned.T
                leverages[:, where] = shrink @ np.square(turned).T
            top += piece.n_rows
    d = np.concatenate([block.d for block in data.samples.blocks])
    r = np.concatenate([block.r for block in data.samples.blocks], axis=1)
    return r[:, None, :] - fitted, d - leverages


def _by_rows(data: LooData, kept: NDArray[np.intp], alphas: Float) -> tuple[Float, Float]:
    """Return the same from the eigenvectors of XX', as sums of small numbers, not differences.

    r = V (s ∘ V'y) and 1 − h = (V ∘ V) s with s = α/(λ + α); the direction of the intercept, in
    which the fit is perfect, is left out.
    """
    problem = data.problem
    m = problem.n_samples
    kernel = np.zeros((m, m))
    width = _BATCH
    if problem.X.memory is not None:
        # A batch costs a pass, if columns do.
        width = max(_BATCH, problem.X.memory.column_bytes // (8 * m))
    for first in range(0, len(kept), width):
        batch = kept[first : first + width]
        columns = np.concatenate(
            [block.columns.once(batch) for block in data.samples.blocks], axis=1
        )
        kernel += columns.T @ columns
    data.samples.passes += 1
    if problem.fit_intercept:
        # The eigenvalue of the intercept is 0, and others may be 0, too. Made the largest one, it
        # can be identified.
        root = np.ones(m) if problem.weights is None else np.sqrt(problem.weights)
        root /= np.linalg.norm(root)
        kernel += 2.0 * (np.abs(kernel).sum(axis=1).max() + 1.0) * np.outer(root, root)
    values, vectors = np.linalg.eigh(kernel)
    if problem.fit_intercept:
        values, vectors = values[:-1], vectors[:, :-1]
    left = alphas[:, None] / (_without_noise(values) + alphas[:, None])  # (A × m)
    r = np.concatenate([block.r for block in data.samples.blocks], axis=1)
    residuals = (left[None] * (r @ vectors)[:, None, :]) @ vectors.T
    return residuals, left @ np.square(vectors).T


def _without_noise(values: Float) -> Float:
    """Set eigenvalues that are rounding to 0: a small penalty would amplify them."""
    noise = len(values) * np.finfo(np.float64).eps * values.max(initial=0.0)
    return np.where(values > noise, values, 0.0)
