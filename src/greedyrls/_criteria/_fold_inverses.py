"""Many folds left out by one factor: M_q = (I − H_qq)⁻¹ for every fold q.

With H the hat matrix of the model of all rows, the errors on a fold that is left out are M_q r_q
(docs/theory.md, "Many folds"). A feature that is added changes H by z z'/δ and every M_q by a
matrix of rank one. Folds are independent of each other, and none needs a model of its own.

Folds of few rows store M_q itself, all folds of the same size in one array. A large fold stores the
columns q_s = z_s/√δ_s of its rows: M_q = I + Q (I − Q'Q)⁻¹ Q'. Memory is therefore at most m times
`DENSE_ROWS` numbers for the former, and m times the number of chosen features for the latter.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from .._base import HALF_TILE_ELEMENTS, Float, slices
from ._choice import NumericalLimit

Rows = NDArray[np.intp]
# A function of rows and candidates (None: all) that returns their z, (rows × c).
Tile = Callable[[Rows, Rows | None], Float]

# Larger folds are stored as columns, with which a product costs less than with M_q.
DENSE_ROWS = 64
# The least number of columns of z in a tile.
_LEAST_COLUMNS = 16
# The least share of a pivot outside a fold: with less, the fold's errors are mostly rounding.
_NOTHING_LEFT = 1e-12
# M_q is recomputed where the rounding of its updates may have grown to this share of it.
_INVERSE_DRIFT = 1e-12
_EPS = float(np.finfo(np.float64).eps)


class _SmallFolds:
    """Folds of the same number of rows: rows (K × s), M (K × s × s)."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        count, size = rows.shape
        self.inverse = np.empty((count, size, size))
        self.inverse[:] = np.eye(size)
        # A bound of the rounding of M that the steps have accumulated, in units of eps.
        self.growth = np.zeros(count)

    def copy(self) -> _SmallFolds:
        """Return a copy for another search."""
        other = copy.copy(self)
        other.inverse, other.growth = self.inverse.copy(), self.growth.copy()
        return other

    def times(self, V: Float, folds: slice) -> Float:
        """Return M_q V_q of folds, (K × s × c)."""
        product: Float = self.inverse[folds] @ V
        return product

    def add(self, z: Float, u: Float, delta: float, left: Float) -> None:
        """Update M for a step along z (K × s), with u = M z and left (K) = δ − z·u."""
        self.inverse += (u / left[:, None])[:, :, None] * u[:, None, :]
        self.growth += delta / left

    def drifted(self) -> Rows:
        """Return positions of folds whose M must be recomputed."""
        (positions,) = (self.growth * _EPS > _INVERSE_DRIFT).nonzero()
        return positions

    def renew(self, position: int, columns: Float) -> None:
        """Recompute M of one fold from the columns q (s × k)."""
        gap = np.eye(len(columns)) - columns @ columns.T
        inverse = np.linalg.inv(np.linalg.cholesky(gap))
        self.inverse[position] = inverse.T @ inverse
        # The rounding of a product with it does not depend on the number of steps before.
        self.growth[position] = 0.0


class _LargeFold:
    """A fold of many rows: rows (1 × s), Q (k × s) and (I − Q'Q)⁻¹ (k × k)."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self._columns = np.empty((0, rows.shape[1]))
        self._count = 0
        self._middle = np.empty((0, 0))

    def copy(self) -> _LargeFold:
        """Return a copy for another search."""
        other = copy.copy(self)
        other._columns = self._columns.copy()
        return other

    def times(self, V: Float, folds: slice) -> Float:
        """Return M_q V_q, (1 × s × c)."""
        Q = self._columns[: self._count]
        product: Float = V + (Q.T @ (self._middle @ (Q @ V[0])))[None]
        return product

    def add(self, z: Float, u: Float, delta: float, left: Float) -> None:
        """Append the column of a step along z (1 × s)."""
        if self._count == len(self._columns):
            empty = np.empty((max(16, self._count), z.shape[1]))
            self._columns = np.concatenate([self._columns, empty])
        self._columns[self._count] = z[0] / np.sqrt(delta)
        self._count += 1
        Q = self._columns[: self._count]
        inverse = np.linalg.inv(np.linalg.cholesky(np.eye(self._count) - Q @ Q.T))
        self._middle = inverse.T @ inverse


class FoldInverses:
    """The matrices M_q of all folds, which are disjoint sets of rows."""

    def __init__(self, folds: Sequence[Rows]) -> None:
        self.n_folds = len(folds)
        sizes = np.array([len(fold) for fold in folds])
        self._batches: list[_SmallFolds | _LargeFold] = []
        self._numbers: list[Rows] = []  # the numbers of each batch's folds
        for size in np.unique(sizes).tolist():
            (numbers,) = (sizes == size).nonzero()
            if size <= DENSE_ROWS:
                self._batches.append(_SmallFolds(np.array([folds[one] for one in numbers])))
                self._numbers.append(numbers)
                continue
            for one in numbers:
                self._batches.append(_LargeFold(folds[one][None]))
                self._numbers.append(np.array([one]))

    def copy(self) -> FoldInverses:
        """Return a copy for another search."""
        other = copy.copy(self)
        other._batches = [batch.copy() for batch in self._batches]
        return other

    def add(self, z: Float, delta: float) -> None:
        """Update all folds for a step along z (m) with pivot δ."""
        steps = []
        for batch in self._batches:
            part = z[batch.rows]
            u = batch.times(part[:, :, None], slice(None))[:, :, 0]
            left = delta - (part * u).sum(axis=1)
            if not (left > _NOTHING_LEFT * delta).all():
                raise _limit()
            steps.append((part, u, left))
        for batch, (part, u, left) in zip(self._batches, steps, strict=True):
            try:
                batch.add(part, u, delta, left)
            except np.linalg.LinAlgError as error:
                raise _limit() from error

    def renew(self, columns: Callable[[Rows], Float]) -> int:
        """Recompute M of folds where rounding may have grown; returns their number.

        `columns` returns q_s of all steps in the rows that it is called with, (rows × k).
        """
        count = 0
        for batch in self._batches:
            if isinstance(batch, _LargeFold):
                continue  # its middle matrix is recomputed at every step
            for position in batch.drifted():
                count += 1
                try:
                    batch.renew(int(position), columns(batch.rows[position]))
                except np.linalg.LinAlgError as error:
                    raise _limit() from error
        return count

    def times(self, R: Float) -> Float:
        """Return M_q R_q of vectors R (t × m); rows of no fold are unchanged."""
        errors = R.copy()
        for batch in self._batches:
            part = np.moveaxis(R[:, batch.rows], 0, 2)  # (K × s × t)
            errors[:, batch.rows] = np.moveaxis(batch.times(part, slice(None)), 2, 0)
        return errors

    def sums(self, squares: Float) -> Float:
        """Sum vectors (t × m) over the rows of each fold, (t × K)."""
        totals = np.empty((len(squares), self.n_folds))
        for batch, numbers in zip(self._batches, self._numbers, strict=True):
            totals[:, numbers] = squares[:, batch.rows].sum(axis=2)
        return totals

    def _products(self, tile: Tile, n_columns: int) -> Iterator[tuple[Rows, slice, Float, Float]]:
        """Yield rows of folds (K × s), columns, U = M_q Z (K × s × c) and z'M_q z (K × c)."""
        for batch in self._batches:
            count, size = batch.rows.shape
            width = min(n_columns, max(_LEAST_COLUMNS, HALF_TILE_ELEMENTS // size))
            height = max(1, HALF_TILE_ELEMENTS // (size * width))
            for folds in slices(count, height):
                rows = batch.rows[folds]
                for columns in slices(n_columns, width):
                    is_whole = width == n_columns
                    taken = None if is_whole else np.arange(columns.start, columns.stop)
                    Z = tile(rows.ravel(), taken).reshape(*rows.shape, -1)
                    U = batch.times(Z, folds)
                    yield rows, columns, U, np.einsum("ksc,ksc->kc", Z, U)

    def most_inside(self, tile: Tile, n_columns: int) -> Float:
        """Return the largest z'M_q z of any fold for all columns, (n)."""
        most = np.zeros(n_columns)
        for _, columns, _, inside in self._products(tile, n_columns):
            most[columns] = np.maximum(most[columns], inside.max(axis=0))
        return most

    def errors(
        self, tile: Tile, R: Float, E: Float, delta: Float, tau: Float
    ) -> Iterator[tuple[Rows, slice, Float]]:
        """Yield held-out errors (t × rows × c) with each candidate added, with rows and columns.

        R and E (t × m) are the residuals and the held-out errors of the current model; delta (c)
        and tau (t × c) are those of the candidates. Errors are NaN for a candidate of which too
        little is left outside a fold. With the signs of δ and ρ = τ/δ reversed, candidates are
        chosen features that are removed.
        """
        for rows, columns, U, inside in self._products(tile, len(delta)):
            left = delta[columns] - inside  # of pivots outside each fold, (K × c)
            left[~(left / delta[columns] > _NOTHING_LEFT)] = np.nan
            errors = np.empty((len(R), *U.shape))
            for target in range(len(R)):
                step = (R[target, rows][:, None] @ U)[:, 0] - tau[target, columns]
                step /= left
                np.multiply(step[:, None, :], U, out=errors[target])
                errors[target] += E[target, rows][:, :, None]
            yield rows.ravel(), columns, errors.reshape(len(R), rows.size, -1)


def _limit() -> NumericalLimit:
    return NumericalLimit("without one of the folds the model is not determined up to rounding")
