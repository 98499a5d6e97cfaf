"""Standard errors of the coefficients of a model, by the jackknife: each row left out in turn.

The model without a row, or a group of rows, is exact: a rank-one change of a ridge regression, or
a solution of as many equations as there are features. Features and penalty stay, so the errors are
those of a model whose features were given in advance; a selection makes them too small.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from .._base import Float

# The model without a row is undefined if that row carries nearly all weight of a coefficient.
_LEAST_LEFT = 1e-9
# Numbers that are processed together.
_BLOCK = 1 << 20


def jackknife_errors(
    X: Float,
    Y: Float,
    penalty: Float,
    *,
    weights: Float | None = None,
    groups: NDArray[np.intp] | None = None,
    fit_intercept: bool = True,
) -> tuple[Float, Float]:
    """Return standard errors of coefficients (t × k) and intercepts (t) of a ridge regression.

    X is (m × k), Y is (m × t), and penalty (k × k) is added to the Gram matrix of X. Rows of a
    group, given by numbers (m), are left out together. Errors are NaN if the model without a row is
    undefined.
    """
    m, k = X.shape
    weights = np.ones(m) if weights is None else weights
    Z = np.hstack([X, np.ones((m, 1))]) if fit_intercept else X
    A = (Z * weights[:, None]).T @ Z
    A[:k, :k] += penalty
    right = (Z * weights[:, None]).T @ Y
    t = Y.shape[1]
    unknown = np.full((t, k), np.nan), np.full(t, np.nan)
    try:
        factor = linalg.cho_factor(A, lower=True)
    except linalg.LinAlgError:
        return unknown
    whole = linalg.cho_solve(factor, right)
    is_used = weights > 0.0
    Z, Y, weights = Z[is_used], Y[is_used], weights[is_used]
    if groups is None:
        changes = _without_rows(factor, Z, Y - Z @ whole, weights)
    else:
        changes = _without_groups(A, right, whole, Z, Y, weights, groups[is_used])
    count, total, squares = 0, np.zeros_like(whole), np.zeros_like(whole)
    for block in changes:
        count += len(block)
        total += block.sum(axis=0)
        squares += np.einsum("gct,gct->ct", block, block)
    if count < 2 or not np.isfinite(squares).all():
        return unknown
    about = np.maximum(squares - total**2 / count, 0.0)
    errors = np.sqrt((count - 1.0) / count * about)
    return errors[:k].T.copy(), errors[k] if fit_intercept else np.zeros(t)


def _without_rows(
    factor: tuple[Float, bool], Z: Float, errors: Float, weights: Float
) -> Iterator[Float]:
    """Yield the changes of the solution without each row, (rows × p × t), in blocks of rows."""
    size = max(1, _BLOCK // (Z.shape[1] * errors.shape[1]))
    for start in range(0, len(Z), size):
        rows = slice(start, start + size)
        columns = linalg.cho_solve(factor, Z[rows].T)  # (p × rows)
        left = 1.0 - weights[rows] * np.einsum("ij,ji->i", Z[rows], columns)
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = np.where(left > _LEAST_LEFT, weights[rows] / left, np.nan)
        yield -columns.T[:, :, None] * (errors[rows] * scale[:, None])[:, None, :]


def _without_groups(
    A: Float,
    right: Float,
    whole: Float,
    Z: Float,
    Y: Float,
    weights: Float,
    groups: NDArray[np.intp],
) -> Iterator[Float]:
    """Yield the change of the solution without each group, (1 × p × t)."""
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    for rows in np.split(order, starts[1:]):
        weighted = Z[rows] * weights[rows, None]
        try:
            factor = linalg.cho_factor(A - weighted.T @ Z[rows], lower=True)
        except linalg.LinAlgError:
            yield np.full((1, *whole.shape), np.nan)
            continue
        yield (linalg.cho_solve(factor, right - weighted.T @ Y[rows]) - whole)[None]
