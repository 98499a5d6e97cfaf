"""What is left of every candidate, z, kept from step to step.

After many steps making z anew costs O(|S|) for each row and candidate; kept, one more step costs
one product and one difference: z_i ← z_i − (L_bi/√δ_b) z_b. The price is memory of the size of X.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._base import QUARTER_TILE_ELEMENTS, Float
from .._problem import UNDECIDED

Places = NDArray[np.intp]

# Rows worked on at a time: long ones for speed.
_ROWS = 1 << 14
# As many places may be taken by features that are no candidates any more.
_DEAD_SHARE = 1 / 8


@dataclass(frozen=True, slots=True)
class _Pending:
    """A feature that was added, and not yet taken out of the others."""

    z: Float  # (rows)
    slopes: Float  # (n) L_bi/√δ_b


class Leftovers:
    """z of candidates in the rows of a block that count, rows of one label after the other."""

    def __init__(self, rows: Places, split: int, features: Places, Z: Float) -> None:
        self._rows = rows
        self._split = split  # the first so many rows have the label +1, the others −1
        self._features = features
        self._Z = Z  # (c × rows)
        self._pending: list[_Pending] = []

    def column(self, index: int, count: int) -> Float:
        """z of a candidate in all `count` rows of the block; 0 in those that do not count."""
        z = np.zeros(count)
        z[self._rows] = self._own(index)
        return z

    def _own(self, index: int) -> Float:
        """z of a candidate in the rows that count."""
        z: Float = self._Z[int(np.flatnonzero(self._features == index)[0])].copy()
        for step in self._pending:
            z -= step.slopes[index] * step.z
        return z

    def follow(self, index: int, slopes: Float) -> None:
        """A feature was added; slopes (n) are those of all features on it."""
        self._pending.append(_Pending(self._own(index), slopes))
        self._features = np.where(self._features == index, -1, self._features)
        self._drop_dead()

    def _drop_dead(self) -> None:
        alive = np.flatnonzero(self._features >= 0)
        if len(alive) >= (1.0 - _DEAD_SHARE) * len(self._features):
            return
        for place, old in enumerate(alive.tolist()):
            if place != old:
                self._Z[place] = self._Z[old]
        self._Z = self._Z[: len(alive)]
        self._features = self._features[alive]

    def wrong_sums(
        self, margins: Float, size: Float | None, shares: Float | None, delta: Float, rho: Float
    ) -> Float:
        """Σ_j e_j [candidate i is wrong on row j] for all features, (n); 0 for no candidates.

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
                own = None if shares is None else shares[rows]
                is_even = own is not None and bool((own == own[0]).all())
                for left in range(0, len(features), width):
                    some = slice(left, min(len(features), left + width))
                    Z = self._Z[some, rows]
                    slope = scratch[: Z.size].reshape(Z.shape)
                    for step in self._pending:
                        np.multiply(step.slopes[features[some], None], step.z[rows], out=slope)
                        np.subtract(Z, slope, out=Z)
                    np.multiply(Z, curvature[some, None], out=slope)
                    if size is None:
                        np.subtract(slope, sign * rho[some, None], out=slope)
                    else:
                        slope -= sign * rho[some, None] * size[rows]
                    np.multiply(slope, Z, out=slope)
                    wrong = slope >= margins[rows]
                    if own is None or is_even:
                        scale = 1.0 if own is None else float(own[0])
                        sums[some] += scale * np.count_nonzero(wrong, axis=1)
                    else:
                        sums[some] += wrong @ own
        self._pending.clear()
        total = np.zeros(len(delta))
        alive = features >= 0
        total[features[alive]] = sums[alive]
        return total
