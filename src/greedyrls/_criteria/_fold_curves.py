"""Models of all sizes with any penalty, each fold left out: errors and losses.

The counterpart of `_curves` for folds. The chosen features, orthogonalised for a penalty, are steps
along q with pivot 1, by which `FoldInverses` is updated.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .._base import Float
from .._features import Chosen, pivots
from ._choice import NumericalLimit
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

    def errors(self, penalty: float) -> Iterator[tuple[int, Float]]:
        """Yield the number of each model and its held-out errors (t × m), scaled by √w.

        Models whose penalty is lost in the rounding of the data are skipped.
        """
        models = pivots(self._chosen, penalty)
        if models is None:
            return
        first = 0
        for chain, model in zip(self._chosen.chains, models, strict=True):
            inverses, r = self._data.inverses.copy(), self._r.copy()
            ends = {int(end): first + number for number, end in enumerate(chain.ends)}
            first += len(ends)
            columns = model.inverse @ self._columns[chain.positions]
            for count, (q, step) in enumerate(zip(columns, model.steps, strict=True), 1):
                try:
                    inverses.add(q, 1.0)
                except NumericalLimit:
                    break
                r -= step[:, None] * q
                if count in ends:
                    yield ends[count], inverses.times(r)

    def losses(self, penalties: Float) -> Float:
        """Return losses of each penalty and size, (G × k); infinite if rounding hides a penalty."""
        losses = np.full((len(penalties), self._chosen.n_models), np.inf)
        count = self._data.fold_weights.sum() * len(self._r)
        for number, penalty in enumerate(penalties):
            for size, errors in self.errors(float(penalty)):
                losses[number, size] = np.square(errors).sum() / count
        losses[~np.isfinite(losses)] = np.inf
        return losses

    def own_errors(self, penalties: Float) -> Float:
        """Return held-out errors (k × t × m) of each size with its own penalty (k).

        They are NaN where the penalty is lost in rounding.
        """
        result = np.full((len(penalties), *self._r.shape), np.nan)
        for penalty in np.unique(penalties):
            for size, errors in self.errors(float(penalty)):
                if penalties[size] == penalty:
                    result[size] = errors
        return result
