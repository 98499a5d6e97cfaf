"""Numerical kernels on plain arrays: no validation, no state, no copy of X larger than a tile.

X is read in its own memory order and type, a tile at a time where it must be converted, so that
C- and Fortran-ordered data of any real type are read without a transposed or converted copy.
Sample vectors are stored one per *row*, shape ``(count, m)``, so each of them is contiguous.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ._blas import LONG_CALL, n_threads
from ._namespaces import Float as Float
from ._namespaces import inner, namespace_of, row_dots
from ._native import native
from ._parts import slices
from ._sizes import DEVICE_ELEMENTS, TILE_ELEMENTS
from ._tolerances import TINY

# Values that differ by no more than this, relative to their size, differ by rounding only.
_SAME_VALUE = 8.0 * float(np.finfo(np.float64).eps)
# The start reads every tile twice with little arithmetic: a quarter of the second-level cache is
# best. Temporaries are no reason here, as they are for `QUARTER_TILE_ELEMENTS`.
START_ELEMENTS = 1 << 16
# Columns of X that are copied at a time where it lies at an odd address.
_COPIED_COLUMNS = 1 << 10
# As many rows as a sum of bytes can count.
_BYTE = 255


def weighted_means(values: Float, weights: Float | None) -> Float:
    """Return the weighted means of the rows of `values` (t × m), with weights (m).

    Deviations from one of the values are averaged, so that equal numbers have exactly that number
    as their mean: the residual of a target that does not vary must be 0, not rounding.
    """
    xp = namespace_of(values)
    if weights is None:
        first = values[:, :1]
        deviations = xp.sum(values - first, axis=1) / values.shape[1]
    else:
        heaviest = int(xp.argmax(weights))
        first = values[:, heaviest : heaviest + 1]
        share = weights / (xp.sum(weights) + TINY)
        deviations = inner(values - first, share[None, :])[:, 0]
    means: Float = first[:, 0] + deviations
    return means


def without_rounding(Y: Float, weights: Float | None) -> Float:
    """Return Y (m × t) with targets that vary by no more than rounding made constant.

    After centring, such a target would be noise, and features would be selected for the noise.
    """
    xp = namespace_of(Y)
    lowest, highest = xp.min(Y, axis=0), xp.max(Y, axis=0)
    if weights is not None:  # rows without weight may have any target
        counts = (weights > 0.0)[:, None]
        lowest = xp.min(xp.where(counts, Y, highest[None, :]), axis=0)
        highest = xp.max(xp.where(counts, Y, lowest[None, :]), axis=0)
    with np.errstate(over="ignore"):
        spread = highest - lowest
    rounding = _SAME_VALUE * xp.maximum(xp.abs(lowest), xp.abs(highest))
    is_flat = (spread > 0.0) & (spread <= rounding)
    if not bool(xp.any(is_flat)):
        return Y
    flattened: Float = xp.where(is_flat[None, :], lowest[None, :], Y)
    return flattened


def tiles(X: NDArray[np.generic], elements: int) -> Iterator[tuple[slice, slice]]:
    """Cut X into (rows, columns) tiles that follow its memory order."""
    m, n = X.shape
    if abs(X.strides[0]) >= abs(X.strides[1]):  # C order
        width = min(n, elements)
        height = max(1, elements // max(1, width))
    else:
        height = min(m, elements)
        width = max(1, elements // max(1, height))
    for rows in slices(m, height):
        for columns in slices(n, width):
            yield rows, columns


def _is_blas_ready(X: NDArray[np.generic]) -> bool:
    """Whether BLAS can multiply X as it is; otherwise NumPy would copy all of it."""
    if X.dtype != np.float64 or not X.dtype.isnative:
        return False
    item = X.dtype.itemsize
    rows, columns = X.strides
    m, n = X.shape
    return (columns == item and rows >= n * item) or (rows == item and columns >= m * item)


def _multiplied(
    V: Float, X: NDArray[np.generic], weights: Float | None, squares: Float | None
) -> Float | None:
    """Multiply V by X in compiled code, if it is there and faster than BLAS.

    BLAS copies X into another order first, which takes as long as the product with some vectors.
    `squares` are filled with the weighted sums of squares of the columns of X, in the same pass.
    """
    module = native()
    if module is None or not module.multiplies() or not has_rows(X):
        return None
    if V.dtype != np.float64 or 0 in V.shape or 0 in X.shape:
        return None
    V = np.ascontiguousarray(V)
    weights = None if weights is None else np.ascontiguousarray(weights)
    # A view, as arrays may name their byte order ("<f8"), which compiled code would refuse.
    values = X.view(np.float64)
    result = np.empty((V.shape[0], X.shape[1]))
    if X.flags.aligned:
        module.multiply(V, values, result, weights, squares, n_threads())
        return result
    # As arrays that were sent by another process may be: the same sums of copies.
    for part in slices(X.shape[1], _COPIED_COLUMNS):
        copy = values[:, part].copy()
        sums = np.empty((V.shape[0], copy.shape[1]))
        module.multiply(V, copy, sums, weights, None if squares is None else squares[part], 1)
        result[:, part] = sums
    return result


def _by_columns(
    V: Float, X: NDArray[np.generic], weights: Float | None, squares: Float | None
) -> Float | None:
    """Do the same for X whose columns are contiguous, if V has so few rows that it pays."""
    module = native()
    if module is None or not 1 < V.shape[0] <= module.most_dots() or not has_rows(X.T):
        return None
    if min(X.shape) < 2 or not X.flags.aligned:
        return None  # NumPy passes other strides than its own of a single row or column
    if V.dtype != np.float64 or V.shape[0] * X.size >= LONG_CALL:
        return None  # long products have several threads of BLAS
    result = np.empty((V.shape[0], X.shape[1]))
    weights = None if weights is None else np.ascontiguousarray(weights)
    V, values = np.ascontiguousarray(V), X.view(np.float64)
    module.column_product(V, values, result, weights, squares, n_threads())
    return result


def has_rows(X: NDArray[np.generic]) -> bool:
    """Whether X is an array of float64 whose rows are contiguous."""
    if X.dtype != np.float64 or not X.dtype.isnative:
        return False
    item, (rows, columns) = X.itemsize, X.strides
    return columns == item and rows >= X.shape[1] * item and rows % item == 0


def product(V: Float, X: NDArray[np.generic]) -> Float:
    """Multiply V (c × m) by X (m × n) in float64, reading X once."""
    if (found := _multiplied(V, X, None, None)) is not None:
        return found
    if _is_blas_ready(X):
        if (found := _by_columns(V, X, None, None)) is not None:
            return found
        result: Float = np.matmul(V, X)
        return result
    result = np.zeros((V.shape[0], X.shape[1]))
    for rows, columns in tiles(X, TILE_ELEMENTS):
        result[:, columns] += V[:, rows] @ X[rows, columns].astype(np.float64)
    return result


def start_sums(V: Float, X: NDArray[np.generic], weights: Float | None) -> tuple[Float, Float]:
    """Return V X and the weighted sums of squares of the columns of X, in one pass."""
    squares = np.zeros(X.shape[1])
    if (found := _multiplied(V, X, weights, squares)) is not None:
        return found, squares
    if (found := _by_columns(V, X, weights, squares)) is not None:
        return found, squares
    products = np.zeros((V.shape[0], X.shape[1]))
    # At least a few rows (or columns) at a time, or a long row would be a tile of its own.
    elements = max(START_ELEMENTS, min(16 * max(X.shape), TILE_ELEMENTS))
    for rows, columns in tiles(X, elements):
        tile = X[rows, columns].astype(np.float64, copy=False)
        products[:, columns] += V[:, rows] @ tile
        if weights is None:
            squares[columns] += np.einsum("ij,ij->j", tile, tile)
        else:
            squares[columns] += weights[rows] @ (tile * tile)
    return products, squares


def gather(X: NDArray[np.generic], indices: NDArray[np.intp]) -> Float:
    """Return columns of X as float64, one per row of the result."""
    # The result of advanced indexing is in Fortran order: transposed, each column is a row.
    return np.ascontiguousarray(X[:, indices].T, dtype=np.float64)


def first_non_finite(X: NDArray[np.generic]) -> tuple[int, int] | None:
    """Return row and column of the first NaN or infinite value in memory order, or None."""
    for rows, columns in tiles(X, TILE_ELEMENTS):
        bad = ~np.isfinite(X[rows, columns].astype(np.float64))
        if bad.any():
            row, column = np.argwhere(bad)[0]
            return rows.start + int(row), columns.start + int(column)
    return None


def count_flags(flags: NDArray[np.bool_]) -> Float:
    """Count the flags that are set in each column (rows × c), (c)."""
    counts = np.zeros(flags.shape[1])
    octets = flags.view(np.uint8)  # sums of bytes are fast
    for top in range(0, len(octets), _BYTE):
        counts += np.add.reduce(octets[top : top + _BYTE], axis=0, dtype=np.uint8)
    return counts


def loo_losses(
    Z: Float, r: Float, d: Float, delta: Float, rho: Float, with_spread: bool = True
) -> tuple[Float, Float, Float]:
    """Return sums of squared leave-one-out errors with each candidate, and two moments of z.

    Parameters: Z (c × m) what is left of the candidates, r (t × m) residuals, d (m) = 1 − h,
    delta (c), rho (t × c). Result: Σ_j ((r_tj − z_j ρ_t) / (1 − h_j − z_j²/δ))² (t × c),
    Σ_j r_tj² z_j² (t × c) and Σ_j z_j⁴ (c); zeros for these without `with_spread`.
    """
    inverse = (1.0 / delta)[:, None]
    c, m = Z.shape
    # A tile stays in the cache; on a device it fits beside X.
    elements = TILE_ELEMENTS // 4 if isinstance(Z, np.ndarray) else DEVICE_ELEMENTS
    height = max(1024, elements // max(1, c))
    total: tuple[Float, Float, Float] | None = None
    for rows in slices(m, height):
        sums = _tile_losses(Z[:, rows], r[:, rows], d[rows], inverse, rho, with_spread)
        total = sums if total is None else _added(total, sums)
    assert total is not None
    return total


def _added(
    one: tuple[Float, Float, Float], other: tuple[Float, Float, Float]
) -> tuple[Float, Float, Float]:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]


def _tile_losses(
    Z: Float, r: Float, d: Float, inverse: Float, rho: Float, with_spread: bool
) -> tuple[Float, Float, Float]:
    """Compute `loo_losses` for a tile of rows; inverse (c × 1) is 1/δ."""
    xp = namespace_of(Z)
    shrunk = Z * Z
    if with_spread:
        fourth, mixed = row_dots(shrunk, shrunk), inner(r * r, shrunk)
    else:
        fourth, mixed = 0.0 * inverse[:, 0], 0.0 * rho
    # Both numerator and denominator are negated, so that they can be computed in place.
    shrunk *= inverse
    shrunk -= d
    losses = []
    for target in range(r.shape[0]):
        error = Z * rho[target, :, None]
        error -= r[target, :]
        error /= shrunk
        losses.append(row_dots(error, error))
    return losses[0][None, :] if len(losses) == 1 else xp.stack(losses), mixed, fourth
