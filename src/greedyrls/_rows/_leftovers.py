"""z of every candidate, kept from step to step.

Computing z from scratch costs O(|S|) for each row and candidate; an update costs one product and
one difference: z_i ← z_i − (L_bi/√δ_b) z_b. This takes as much memory as X.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._base import HALF_TILE_ELEMENTS, LEAST_TILE_ROWS, QUARTER_TILE_ELEMENTS, Float
from .._problem import UNDECIDED, Loss
from . import tiles
from ._answers import CandidateLosses
from ._blocks import RowBlock
from ._row_losses import leftover_tile, loss_shares

Places = NDArray[np.intp]

# Rows processed at a time: many, so that vector operations are long.
_ROWS = 1 << 14
# The largest share of memory for features that are no longer candidates.
_DEAD_SHARE = 1 / 8


@dataclass(frozen=True, slots=True)
class _Pending:
    """A feature that was added, for which z of the others is not updated yet."""

    z: Float  # (rows)
    slopes: Float  # (n) L_bi/√δ_b


class Leftovers:
    """z of candidates in the rows of positive weight of a block, sorted by label."""

    def __init__(self, rows: Places, split: int, features: Places, Z: Float) -> None:
        self._rows = rows
        self._split = split  # the first so many rows have the label +1, the others −1
        self._features = features
        self._Z = Z  # (c × rows)
        self._pending: list[_Pending] = []

    def column(self, index: int, count: int) -> Float:
        """Return z of a candidate in all `count` rows of the block, 0 in rows of weight 0."""
        z = np.zeros(count)
        z[self._rows] = self._counted(index)
        return z

    def _counted(self, index: int) -> Float:
        """Return z of a candidate in the rows of positive weight."""
        z: Float = self._Z[int(np.flatnonzero(self._features == index)[0])].copy()
        for step in self._pending:
            z -= step.slopes[index] * step.z
        return z

    def follow(self, index: int, slopes: Float) -> None:
        """Register that a feature was added; slopes (n) are those of all features on it."""
        self._pending.append(_Pending(self._counted(index), slopes))
        self._features = np.where(self._features == index, -1, self._features)
        self._drop_dead()

    def _drop_dead(self) -> None:
        alive = np.flatnonzero(self._features >= 0)
        if len(alive) >= (1.0 - _DEAD_SHARE) * len(self._features):
            return
        for position, old in enumerate(alive.tolist()):
            if position != old:
                self._Z[position] = self._Z[old]
        self._Z = self._Z[: len(alive)]
        self._features = self._features[alive]

    def wrong_sums(
        self, margins: Float, size: Float | None, shares: Float | None, delta: Float, rho: Float
    ) -> Float:
        """Return Σ_j e_j [candidate i is wrong on row j], (n); 0 if feature i is no candidate.

        margins (rows of the block) of the current model, size |y|/√w of the codes (None for all 1)
        and shares e (None for all 1), as for `_tiles.loo_wrong`.
        """
        margins = margins[self._rows]
        size = None if size is None else size[self._rows]
        shares = None if shares is None else shares[self._rows]
        features = self._features
        curvature = (1.0 - UNDECIDED) / delta[features]
        rho = rho[features]
        sums = np.zeros(len(features))
        scratch = np.empty(QUARTER_TILE_ELEMENTS)
        ends = (0, self._split, len(self._rows))
        for sign, first, last in ((1.0, ends[0], ends[1]), (-1.0, ends[1], ends[2])):
            for top in range(first, last, _ROWS):
                rows = slice(top, min(last, top + _ROWS))
                width = max(1, QUARTER_TILE_ELEMENTS // (rows.stop - rows.start))
                row_shares = None if shares is None else shares[rows]
                is_even = row_shares is not None and bool((row_shares == row_shares[0]).all())
                for left in range(0, len(features), width):
                    part = slice(left, min(len(features), left + width))
                    Z = self._Z[part, rows]
                    slope = scratch[: Z.size].reshape(Z.shape)
                    for step in self._pending:
                        np.multiply(step.slopes[features[part], None], step.z[rows], out=slope)
                        np.subtract(Z, slope, out=Z)
                    np.multiply(Z, curvature[part, None], out=slope)
                    if size is None:
                        np.subtract(slope, sign * rho[part, None], out=slope)
                    else:
                        slope -= sign * rho[part, None] * size[rows]
                    np.multiply(slope, Z, out=slope)
                    wrong = slope >= margins[rows]
                    if row_shares is None or is_even:
                        scale = 1.0 if row_shares is None else float(row_shares[0])
                        sums[part] += scale * np.count_nonzero(wrong, axis=1)
                    else:
                        sums[part] += wrong @ row_shares
        self._pending.clear()
        total = np.zeros(len(delta))
        alive = features >= 0
        total[features[alive]] = sums[alive]
        return total


def keep_leftovers(block: RowBlock, candidates: NDArray[np.intp], beta: Float) -> Leftovers:
    """Return z of candidates with coefficients beta (|S| × c) in the rows of positive weight.

    This is for one target of labels ±1.
    """
    used, is_positive = block.filled_weights() > 0.0, block.y[0] > 0.0
    (first,), (last,) = (used & is_positive).nonzero(), (used & ~is_positive).nonzero()
    rows = np.concatenate([first, last])
    Z = np.empty((len(candidates), len(rows)))
    height = max(LEAST_TILE_ROWS, HALF_TILE_ELEMENTS // max(1, len(candidates)))
    for top in range(0, len(rows), height):
        part = slice(top, min(len(rows), top + height))
        Z[:, part] = leftover_tile(block, rows[part], candidates, beta).T
    return Leftovers(rows, len(first), candidates, Z)


def kept_losses(
    block: RowBlock, kept: Leftovers, loss: Loss, factors: Float | None, delta: Float, rho: Float
) -> CandidateLosses:
    """Return the weight of wrong predictions with each candidate added, from kept z."""
    shares = None if factors is None else loss_shares(block, loss, factors)
    codes, sizes = block.y[0], None
    if block.root_weights is not None:
        sizes = 1.0 / block.positive_root()
        codes = codes * sizes
    margins = tiles.loo_margins(codes, block.r[0], block.d)
    return CandidateLosses(kept.wrong_sums(margins, sizes, shares, delta, rho), 0)
