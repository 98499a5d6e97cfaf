"""The model of a backward search on the features that are left, and its losses without each.

With (A⁻¹)_TT = C C' of the features T of a group, the model without them has r + Q'C⁻¹w_T and
d + Σ q² with Q = C⁻¹ W_T, as for a single feature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dger

from .._base import QUARTER_TILE_ELEMENTS, Float, kernels
from .._problem import Loss
from .._rows import tiles

Rows = NDArray[np.intp]


@dataclass(slots=True)
class BackwardFit:
    """The model on the features that are left, and the rows that it is tested on.

    For leave-one-out these are all rows, scaled by the roots of their weights, with d = 1 − h; for
    a split they are the rows that it holds out, as they are.
    """

    y: Float  # (t × rows) the targets as given
    weights: Float | None  # (rows)
    shares: Float | None  # (rows) of a loss that is a mean over rows
    root: Float | None  # (rows) √w, where rows are scaled
    W: Float  # (features × rows)
    v: Float  # (features)
    w: Float  # (features × t)
    r: Float  # (t × rows)
    d: Float | None  # (rows)
    inverse: Float | None  # (features × features) A⁻¹, or with more features than rows:
    columns: Float | None  # (features × rows) X', which A⁻¹ follows from
    alpha: float
    held: Rows | None = None  # the features that W has rows of; None: all

    def part(self, rows: slice, W: Float, held: Rows) -> BackwardFit:
        """Return the model at some of the rows, with W of these."""

        def cut(vector: Float | None) -> Float | None:
            return None if vector is None else vector[..., rows]

        return replace(
            self,
            y=self.y[:, rows],
            weights=cut(self.weights),
            shares=cut(self.shares),
            root=cut(self.root),
            r=self.r[:, rows],
            d=cut(self.d),
            W=W,
            held=held,
        )

    def slots(self, positions: Rows) -> Rows:
        """Return the rows of W of some features; −1 for those that it does not have."""
        if self.held is None:
            return positions
        slots = np.full(len(self.v), -1)
        slots[self.held] = np.arange(len(self.held))
        return slots[positions]

    def holds(self, positions: Rows) -> bool:
        """Return whether W has rows of all of these features."""
        return bool((self.slots(positions) >= 0).all())

    def row_of_inverse(self, position: int) -> Float:
        """Return the row (A⁻¹)_s·, (features)."""
        if self.inverse is not None:
            kept: Float = self.inverse[position].copy()
            return kept
        assert self.columns is not None
        row: Float = self.columns @ self.W[position]
        row[position] -= 1.0
        row /= -self.alpha
        row[position] = self.v[position]
        return row

    def remove(self, position: int) -> float:
        """Remove a feature; returns the smallest share of (A⁻¹)_ii that any other one has kept."""
        slot = position if self.held is None else int(self.slots(np.array([position]))[0])
        row, column = self.row_of_inverse(position), self.W[slot].copy()
        v, w = float(self.v[position]), self.w[position].copy()
        self.r += (w / v)[:, None] * column
        if self.d is not None:
            self.d += column * column / v
        slopes = row / v
        lost = slopes * row
        lost[position] = 0.0
        kept = float(((self.v - lost) / self.v).min())
        self.v -= lost
        self.w -= slopes[:, None] * w
        on_rows = slopes if self.held is None else slopes[self.held]
        dger(-1.0, column, on_rows, a=self.W.T, overwrite_a=1)
        if self.inverse is not None:
            dger(-1.0, row, slopes, a=self.inverse.T, overwrite_a=1)
        self._drop(position, slot)
        return kept

    def _drop(self, position: int, slot: int) -> None:
        """Overwrite a removed feature, with a row of W, with the last one."""
        last, last_slot = len(self.v) - 1, len(self.W) - 1
        self.W[slot] = self.W[last_slot]
        if self.held is not None:
            self.held[slot] = self.held[last_slot]
            self.held = self.held[:last_slot]
            self.held[self.held == last] = position
        for values in (self.v, self.w, self.inverse, self.columns):
            if values is not None:
                values[position] = values[last]
        self.W, self.v, self.w = self.W[:last_slot], self.v[:last], self.w[:last]
        if self.columns is not None:
            self.columns = self.columns[:last]
        if self.inverse is not None:
            self.inverse[:, position] = self.inverse[:, last]
            # Rows must lie next to each other for the next removal.
            self.inverse = np.ascontiguousarray(self.inverse[:last, :last])

    def predictions(self) -> Float:
        """Return the predictions of the current model, (t × rows)."""
        errors = self.r if self.d is None else self.r / self.d
        return self.y - (errors if self.root is None else errors / self.root)

    def group_losses(self, loss: Loss, groups: Sequence[Rows]) -> Float:
        """Without each of some groups of features, (t × c) for squared leave-one-out, else (1 × c).

        With (A⁻¹)_TT = C C', the group T takes the orthogonal directions C⁻¹ W_T with it.
        """
        values = []
        for group in groups:
            square = np.array([self.row_of_inverse(position)[group] for position in group])
            root = np.linalg.inv(np.linalg.cholesky(0.5 * (square + square.T)))
            ones, starts = np.ones(len(group)), np.zeros(1, dtype=np.intp)
            Z, rho = (root @ self.W[self.slots(group)]).T, (root @ self.w[group]).T
            if self.d is None:
                errors = tiles.fold_errors(Z, self.r, -rho, starts)
            else:
                errors = tiles.loo_errors(Z, self.r, self.d, -ones, -rho, starts)
            values.append(self._measured(loss, errors))
        return np.concatenate(values, axis=1)

    def _measured(self, loss: Loss, errors: Float) -> Float:
        """Return losses of errors (t × rows × c)."""
        if loss.name == "squared" and self.d is not None:
            total: Float = np.square(errors).sum(axis=1)
            return total
        if self.root is not None:
            errors /= self.root[:, None]
        if loss.is_additive:
            kind = loss.name.removeprefix("balanced_")
            return tiles.error_sums(kind, errors, self.y, self.shares)[None]
        predictions = self.y[:, None, :] - errors.transpose(0, 2, 1)
        return loss.values(self.y.T, predictions, self.weights)[None]

    def losses(self, loss: Loss) -> Float:
        """Return losses without each feature of W: (t × c) for squared LOO, else (1 × c)."""
        width = max(1, QUARTER_TILE_ELEMENTS // (len(self.r) * self.r.shape[1]))
        parts = [
            self._some_losses(loss, slice(first, first + width))
            for first in range(0, len(self.W), width)
        ]
        return np.concatenate(parts, axis=1)

    def _some_losses(self, loss: Loss, part: slice) -> Float:
        features = part if self.held is None else self.held[part]
        v = self.v[features]
        rho = (self.w[features] / v[:, None]).T
        if loss.name == "squared" and self.d is not None:
            return kernels.loo_losses(self.W[part], self.r, self.d, -v, -rho, False)[0]
        if self.d is None:
            errors = tiles.fold_errors(self.W[part].T, self.r, -rho)
        else:
            errors = tiles.loo_errors(self.W[part].T, self.r, self.d, -v, -rho)
        return self._measured(loss, errors)
