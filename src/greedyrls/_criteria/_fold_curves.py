"""Models of all sizes with any penalty, each fold left out: errors and losses.

The counterpart of `_curves` for folds. The chosen features, orthogonalised for a penalty, are steps
along q with pivot 1, by which `FoldInverses` is updated; or compiled code leaves out the folds.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from .._base import Float, native
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

    def _squares(self, penalty: float, kept: list[Float] | None = None) -> Float | None:
        """Sums of squared errors (k × t) of all models, by compiled code; NaN without a model.

        `kept` gets their errors, (k × t × rows) in the order of folds.
        """
        module, models = native(), pivots(self._chosen, penalty)
        assert module is not None
        if models is None:
            return None
        order, parts = self._data.order, [np.empty((0, len(self._r)))]
        for chain, model in zip(self._chosen.chains, models, strict=True):
            columns = model.inverse @ self._sorted[chain.positions]
            errors, sums = self._data.start_errors.copy(), np.zeros(model.steps.shape)
            of_sizes = None if kept is None else np.empty((*sums.shape, columns.shape[1]))
            steps = np.ascontiguousarray(model.steps)
            arrays = self._root, columns, steps, errors, sums, of_sizes
            if module.fold_curve(order.starts, *arrays):
                raise MemoryError("There is no memory for the rows of one fold.")
            parts.append(sums[chain.ends - 1])
            if kept is not None and of_sizes is not None:
                kept.append(of_sizes[chain.ends - 1])
        return np.concatenate(parts)

    @cached_property
    def _sorted(self) -> Float:
        """The columns in the order of folds."""
        return np.ascontiguousarray(self._columns[:, self._data.order.rows])

    @cached_property
    def _root(self) -> Float | None:
        """The step of the intercept, in the order of folds."""
        if not self._data.problem.fit_intercept:
            return None
        (block,) = self._data.samples.blocks
        weights = block.filled_weights()[self._data.order.rows]
        root: Float = np.sqrt(weights / weights.sum())
        return root

    def losses(self, penalties: Float) -> Float:
        """Return losses of each penalty and size, (G × k); infinite if rounding hides a penalty."""
        losses = np.full((len(penalties), self._chosen.n_models), np.inf)
        count = self._data.fold_weights.sum() * len(self._r)
        for number, penalty in enumerate(penalties.tolist()):
            if native() is None:
                for size, errors in self.errors(penalty):
                    losses[number, size] = np.square(errors).sum() / count
            elif (squares := self._squares(penalty)) is not None:
                losses[number] = squares.sum(axis=1) / count
        losses[~np.isfinite(losses)] = np.inf
        return losses

    def own_errors(self, penalties: Float) -> Float:
        """Return held-out errors (k × t × m) of each size with its own penalty (k).

        They are NaN where the penalty is lost in rounding.
        """
        result = np.full((len(penalties), *self._r.shape), np.nan)
        for penalty in np.unique(penalties).tolist():
            if native() is None:
                for size, errors in self.errors(penalty):
                    if penalties[size] == penalty:
                        result[size] = errors
                continue
            kept: list[Float] = []
            squares = self._squares(penalty, kept)
            if squares is None:
                continue
            (sizes,) = ((penalties == penalty) & np.isfinite(squares).all(axis=1)).nonzero()
            whole = np.repeat(self._r[None], len(sizes), axis=0)
            whole[:, :, self._data.order.rows] = np.concatenate(kept)[sizes]
            result[sizes] = whole
        return result
