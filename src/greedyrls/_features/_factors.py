"""Inverses of Cholesky factors, corrected by sums over rows where pivots have lost digits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg.lapack import dtrtri

from .._base import REFINED_PIVOT, Float


def lower_inverse(factor: Any) -> Float:
    """Return the inverses of lower triangular matrices, (… × k × k).

    `np.linalg.inv` exchanges rows. Where columns of X have unlike scales, that costs the smaller
    entries as many digits.
    """
    inverse: Float = np.empty_like(factor)
    for position in np.ndindex(factor.shape[:-2]) if inverse.size else ():
        # LAPACK stores columns, and takes the transpose as it is.
        upper, failed = dtrtri(factor[position].T)
        if failed:
            raise np.linalg.LinAlgError("a pivot is 0")
        inverse[position] = np.tril(upper.T)
    return inverse


def inverse_factor(
    A: Float, square: Float, sums: Callable[..., Float], least: float = REFINED_PIVOT
) -> Float:
    """Return L⁻¹ of A = X_S'X_S + P, (… × |S| × |S|); `square` is P, of each or of all of them.

    If a feature is nearly spanned by those before it, q from products of columns has lost twice as
    many digits. Where a pivot is a smaller share of A_ii than `least`, q'q computed on the rows, by
    `sums` of L⁻¹ and a split, corrects it.
    """
    factor = np.linalg.cholesky(A)
    inverse = lower_inverse(factor)
    pivots, whole = (np.diagonal(matrix, axis1=-2, axis2=-1) for matrix in (factor, A))
    lost = (np.square(pivots) < least * whole).any(axis=-1)
    for split in map(tuple, np.argwhere(lost).tolist()):
        first = inverse[split]
        penalty = np.broadcast_to(square, A.shape)[split]
        products = sums(first, *split) + first @ penalty @ first.T
        inverse[split] = lower_inverse(np.linalg.cholesky(products)) @ first
    return inverse
