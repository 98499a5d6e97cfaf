"""Compiled losses of models of all sizes on chosen features, for any penalty."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

import numpy as np

from .._base import LEAST_SET_ROWS, TILE_ELEMENTS, Float
from .._criteria import CurveSums, FoldCurve, LooCurve, LooData, ManyFoldData
from .._features import Chosen, Models, pivots, take_positions
from .._problem import Loss
from .._rows import RowBlock
from ._compiled_folds import FoldOrder
from ._compiled_rows import TAKEN
from ._native import native

_NO_MEMORY = "There is no memory for the errors of models of all sizes."


class _CompiledFoldCurve(FoldCurve):
    """A `FoldCurve` whose folds are left out in C."""

    def __init__(self, module: ModuleType, data: ManyFoldData, chosen: Chosen) -> None:
        super().__init__(data, chosen)
        self._module = module
        if "curve" not in data.compiled:
            order = FoldOrder(data)
            errors = data.inverses.times(self._r)[:, order.rows]
            data.compiled["curve"] = order, np.ascontiguousarray(errors)
        self._order: FoldOrder
        self._order, self._start = data.compiled["curve"]
        rows = self._order.rows
        self._sorted = np.ascontiguousarray(self._columns[:, rows])
        self._root: Float | None = None
        if data.problem.fit_intercept:
            weights = data.samples.blocks[0].filled_weights()[rows]
            self._root = np.sqrt(weights / weights.sum())

    def _sums(self, penalty: float, kept: list[Float] | None = None) -> Float | None:
        """Sums of squared errors (k × t) of all models; `kept` gets their errors (k × t × rows)."""
        models = pivots(self._chosen, penalty)
        if models is None:
            return None
        parts = []
        for chain, model in zip(self._chosen.chains, models, strict=True):
            columns = model.inverse @ self._sorted[chain.positions]
            errors, sums = self._start.copy(), np.zeros(model.steps.shape)
            of_sizes = None if kept is None else np.empty((*sums.shape, columns.shape[1]))
            arrays = self._root, columns, np.ascontiguousarray(model.steps), errors, sums, of_sizes
            if self._module.fold_curve(self._order.starts, *arrays) != TAKEN:
                raise MemoryError(_NO_MEMORY)
            parts.append(sums[chain.ends - 1])
            if kept is not None and of_sizes is not None:
                kept.append(of_sizes[chain.ends - 1])
        return np.concatenate(parts)

    def losses(self, penalties: Float) -> Float:
        """Return losses of each penalty and size, (G × k); infinite if rounding hides a penalty."""
        losses = np.full((len(penalties), self._chosen.n_models), np.inf)
        count = self._data.fold_weights.sum() * len(self._r)
        for number, penalty in enumerate(penalties):
            sums = self._sums(float(penalty))
            if sums is not None:
                losses[number] = sums.sum(axis=1) / count
        losses[~np.isfinite(losses)] = np.inf
        return losses

    def own_errors(self, penalties: Float) -> Float:
        """Return held-out errors (k × t × m) of each size with its own penalty (k)."""
        result = np.full((len(penalties), *self._r.shape), np.nan)
        for penalty in np.unique(penalties):
            parts: list[Float] = []
            sums = self._sums(float(penalty), parts)
            if sums is None:
                continue
            (sizes,) = ((penalties == penalty) & np.isfinite(sums).all(axis=1)).nonzero()
            result[sizes] = self._r
            result[sizes[:, None, None], np.arange(len(self._r))[:, None], self._order.rows] = (
                np.concatenate(parts)[sizes]
            )
        return result


def fold_curve(data: ManyFoldData, chosen: Chosen) -> FoldCurve:
    """Return the held-out losses of models on chosen features, by folds."""
    module = native()
    if module is None or not chosen.indices:
        return FoldCurve(data, chosen)
    return _CompiledFoldCurve(module, data, chosen)


def _squared_sums(block: RowBlock, chosen: Chosen, models: Sequence[Models]) -> CurveSums:
    """Return sums of squared leave-one-out errors of each penalty and size."""
    module = native()
    assert module is not None
    total = np.zeros((len(models), chosen.n_models))
    count = len(chosen.indices)
    height = max(LEAST_SET_ROWS, TILE_ELEMENTS // max(1, count))
    for first in range(0, block.n_rows, height):
        rows = slice(first, min(block.n_rows, first + height))
        parts = [part for _, part in block.columns.chosen(chosen.indices, rows)]
        columns = np.concatenate(parts)
        r, d = np.ascontiguousarray(block.r[:, rows]), np.ascontiguousarray(block.d[rows])
        for number, of_penalty in enumerate(models):
            done = 0
            for chain, model in zip(chosen.chains, of_penalty, strict=True):
                q = model.inverse @ take_positions(columns, chain, count)
                sums, steps = np.zeros(len(q)), np.ascontiguousarray(model.steps)
                if module.loo_curve(q, steps, r, d, sums) != TAKEN:
                    raise MemoryError(_NO_MEMORY)
                total[number, done : done + len(chain.ends)] += sums[chain.ends - 1]
                done += len(chain.ends)
    return CurveSums(total)


class _CompiledLooCurve(LooCurve):
    """A `LooCurve` whose squared errors are added up in C."""

    _squared_sums = staticmethod(_squared_sums)


def loo_curve(data: LooData, chosen: Chosen, loss: Loss) -> LooCurve:
    """Return the leave-one-out losses of models on chosen features."""
    X = data.problem.X
    is_here = X.remote is None and not X.location.on_device
    kind = _CompiledLooCurve if native() is not None and is_here and chosen.indices else LooCurve
    return kind(data.samples, data.problem, chosen, loss)
