"""Models of all sizes with any penalty, each fold left out: errors and losses.

The counterpart of `_curves` for folds. The chosen features made orthogonal for a penalty are steps
along q with pivot 1, and `FoldInverses` follows them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ._choice import NumericalLimit
from ._curves import Chosen, pivots
from ._kernels import Float
from ._many_folds import ManyFoldData


class FoldCurve:
    """Held-out squared losses of models on the chosen features, by size, for any penalty."""

    def __init__(self, data: ManyFoldData, chosen: Chosen) -> None:
        self._data = data
        self._chosen = chosen
        (block,) = data.samples.blocks
        parts = [part for _, part in block.columns.chosen(chosen.indices)]
        self._columns = np.concatenate(parts) if parts else np.empty((0, block.n_rows))
        self._r = block.r

    def errors(self, penalty: float) -> Iterator[Float]:
        """Held-out errors (t × m), scaled by √w, with 1, 2, … features.

        They end where the penalty is lost in the rounding of the data.
        """
        model = pivots(self._chosen, penalty)
        if model is None:
            return
        inverses, r = self._data.inverses.copy(), self._r.copy()
        for q, step in zip(model.inverse @ self._columns, model.steps, strict=True):
            try:
                inverses.add(q, 1.0)
            except NumericalLimit:
                return
            r -= step[:, None] * q
            yield inverses.times(r)

    def losses(self, penalties: Float) -> Float:
        """Of each penalty and size, (G × k); infinite where a penalty is lost in rounding."""
        losses = np.full((len(penalties), len(self._chosen.indices)), np.inf)
        count = self._data.fold_weights.sum() * len(self._r)
        for place, penalty in enumerate(penalties):
            for size, errors in enumerate(self.errors(float(penalty))):
                losses[place, size] = np.square(errors).sum() / count
        losses[~np.isfinite(losses)] = np.inf
        return losses

    def own_errors(self, penalties: Float) -> Float:
        """Held-out errors of each size with its own penalty (k), (k × t × m).

        Not a number where that is lost in rounding.
        """
        found = np.full((len(penalties), *self._r.shape), np.nan)
        for penalty in np.unique(penalties):
            for size, errors in enumerate(self.errors(float(penalty))):
                if penalties[size] == penalty:
                    found[size] = errors
        return found
