"""Compiled searches by folds that each row is in one of.

Every fold has a model of its own, as with `FoldState`; that of all rows gives them all, as with
`ManyFoldState`, which takes the steps that the compiled search leaves to it.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np

from .._base import FAR_ROUNDING, Float, native
from .._criteria import ManyFoldData, ManyFoldState
from .._features import Ranking, note_step
from .._problem import Folds, Problem
from .._rows import leftover_tile
from ._compiled_rows import FIRST_ROOM, MOST_RUNNERS_UP, STOPS, TAKEN, add_noted, in_order
from ._stepper import Stop

# What a search keeps of all candidates, m × n numbers, may take so many bytes: there is one for
# each penalty.
_KEPT_BYTES = 1 << 26
# Rows of a fold, on average, or numbers m × n up to which a step that updates them all costs less
# than one in feature space with a model for each fold.
_SMALL_FOLD = 64
_SMALL_ELEMENTS = 1 << 17
# With fewer folds, each has so many of the rows that the model of all rows loses digits where those
# of the others fit their rows exactly: each fold then has a model of its own.
_LEAST_FOLDS = 5


def can_compile_folds(problem: Problem) -> bool:
    """Whether there are compiled searches by folds, and room for what they keep."""
    m, n = problem.X.shape
    return native() is not None and 8 * m * n <= _KEPT_BYTES


def gains_by_compiled_folds(problem: Problem, folds: Folds) -> bool:
    """Whether a compiled search by folds is possible, and faster than a model for each fold."""
    count = int(np.count_nonzero(problem.has_weight))
    is_small = count * problem.n_features <= _SMALL_ELEMENTS
    is_faster = is_small or count <= _SMALL_FOLD * folds.n_splits
    return folds.n_splits >= _LEAST_FOLDS and is_faster and can_compile_folds(problem)


def compiled_fold_stepper(state: ManyFoldState, n_runners_up: int) -> CompiledFoldStepper | None:
    """Return the stepper of a search by folds, if there is compiled code for it."""
    module = native()
    is_plain = state.criterion_loss.name == "squared" and state.layout.costs is None
    if module is None or not is_plain or n_runners_up > MOST_RUNNERS_UP or state.keeps_columns:
        return None
    if not can_compile_folds(state.problem):
        return None
    return CompiledFoldStepper(module, state, n_runners_up)


class CompiledFolds:
    """What compiled searches by the same folds share: the models of all folds without features."""

    def __init__(self, module: ModuleType, data: ManyFoldData) -> None:
        self._data, self.order = data, data.order
        (self._block,) = data.samples.blocks
        start, rows = data.start, self.order.rows
        t, n = start.correlation.shape
        self.n_targets, self.n_folds = t, len(data.tests)
        self._columns: dict[int, Float] = {}
        r = self._block.r[:, rows]
        errors = data.start_errors
        self._root: Float | None = None
        weights = self._block.filled_weights()[rows]
        if data.problem.fit_intercept:
            self._root = np.sqrt(weights)
        # Of the intercept, in the model of each fold: what features have along it, over δ.
        self._along = np.zeros((self.n_folds, n))
        V = self._centred()
        delta, tau = np.empty((self.n_folds, n)), np.empty((self.n_folds, t, n))
        for q, part in enumerate(self.order.parts):
            delta[q] = start.diagonal - np.einsum("ji,ji->i", V[part], V[part])
            tau[q] = start.correlation - r[:, part] @ V[part]
            if self._root is not None:
                root, left = self._root[part], weights.sum() - weights[part].sum()
                self._along[q] = -(root @ V[part]) / left
                delta[q] -= left * np.square(self._along[q])
                tau[q] += (r[:, part] @ root)[:, None] * self._along[q]
        self._V = self._without_intercept(V) if data.is_shared else None
        self.handle = module.new_fold_rows(
            len(rows),
            self.order.starts,
            delta,
            tau,
            errors,
            np.ascontiguousarray(start.diagonal),
            FAR_ROUNDING * start.total_weight * np.square(start.means),
            np.square(errors).sum(axis=1),
        )

    def _centred(self) -> Float:
        """Return √w ∘ (x_i − mean_i) in the order of folds, (rows × n)."""
        nothing = np.empty((0, self._data.problem.n_features))
        V = np.ascontiguousarray(leftover_tile(self._block, self.order.rows, None, nothing))
        V[:, self._data.constant] = 0.0
        return V

    def _without_intercept(self, V: Float) -> Float:
        """Take from V what the intercept has of it in the model of each fold."""
        if self._root is not None:
            for q, part in enumerate(self.order.parts):
                V[part] -= self._root[part, None] * self._along[q]
        return V

    def start(self) -> Float:
        """Return what is left of all features in the models without features, (rows × n)."""
        return self._without_intercept(self._centred()) if self._V is None else self._V

    def column(self, index: int) -> Float:
        """Return the rows of a feature in the order of folds, (rows); kept for other searches."""
        if index not in self._columns:
            column = self._block.columns.fresh(np.array([index]), self.order.rows)[0]
            if self._data.start.diagonal[index] == 0.0:
                column[:] = 0.0  # what is left is rounding of its mean
            self._columns[index] = np.ascontiguousarray(column)
        return self._columns[index]


class CompiledFoldStepper:
    """The `Stepper` of a search by folds on a dense array."""

    def __init__(self, module: ModuleType, state: ManyFoldState, n_runners_up: int) -> None:
        self._module, self._state = module, state
        if "folds" not in state.data.compiled:
            state.data.compiled["folds"] = CompiledFolds(module, state.data)
        self._folds: CompiledFolds = state.data.compiled["folds"]
        self._search: object = None
        self._room = 0
        self._n_whole = state.size  # features that the general engine knows of
        self._size = 0  # features that the compiled search knows of
        self._best = np.zeros(1 + n_runners_up, dtype=np.int64)
        self._losses = np.zeros(1 + n_runners_up)
        self._sums = np.zeros((self._folds.n_targets, self._folds.n_folds))
        self.runners_up: tuple[tuple[int, float], ...] = ()

    def begin(self, last: int) -> Stop | None:
        """Add the features that the compiled search does not know of."""
        state = self._state
        if self._search is None or state.size >= self._room:
            self._start(last)
        self._n_whole = state.size
        return self._catch_up()

    def _start(self, last: int) -> None:
        """A search from the models without features, with room for all, or for twice as many."""
        state = self._state
        self._room = min(last, max(FIRST_ROOM, 2 * state.size))
        barred = (np.asarray(state.barred) > 0.0).astype(np.uint8)
        barred[state.selected] = 0
        alpha = float(state.features.penalty.diagonal)
        folds = self._folds
        self._search = self._module.new_fold_search(
            folds.handle, folds.start(), alpha, barred, self._room
        )
        self._size = 0

    def _catch_up(self) -> Stop | None:
        """Add what the state knows of; what cannot be added here ends compiled steps."""
        selected = self._state.selected
        while self._size < len(selected):
            later = selected[self._size + 1 :]
            added = self._add(selected[self._size], *in_order(later))
            if isinstance(added, Stop):
                return added
        return None

    def _add(self, index: int, ranking: Ranking, remaining: int) -> Float | Stop:
        """Add a feature to the compiled search; its Gram column, or why that is not possible."""
        state = self._state
        column = np.ascontiguousarray(state.gram.take(index, ranking, remaining))
        column[state.data.constant] = 0.0
        rows = self._folds.column(index)
        answer = self._module.fold_add(self._search, index, column, rows, self._sums)
        if answer != TAKEN:
            return STOPS[answer]
        self._size += 1
        return column

    def step(self, last: int) -> int | Stop:
        """Take a step in C."""
        state, module = self._state, self._module
        if self._size >= self._room:
            n_whole = self._n_whole
            self._start(last)
            self._n_whole = n_whole
            if (stop := self._catch_up()) is not None:
                return self._stopped(stop)
        answer = module.fold_choose(self._search, self._best, self._losses)
        if answer != TAKEN:
            return self._stopped(STOPS[answer])
        index = int(self._best[0])
        state.samples.exact_evaluations += state.problem.n_available - self._size
        column = self._add(index, self._ranking, last - self._size)
        if isinstance(column, Stop):
            return self._stopped(column)
        products = np.append(column[state.selected], state.start.diagonal[index])
        note_step(state.features, index, products)
        state.barred[index] = np.inf
        state.fold_losses = self._sums.mean(axis=0) / state.data.fold_weights
        state.largest_drift = max(state.largest_drift, module.fold_drift(self._search))
        self.runners_up = tuple(
            (int(other), float(loss) / state.loss_weight)
            for other, loss in zip(self._best[1:], self._losses[1:], strict=True)
            if other >= 0
        )
        return index

    def _stopped(self, stop: Stop) -> Stop:
        """Leave the next step to the general engine."""
        if stop is not Stop.LOST_DIGITS:
            self.settle()
        return stop

    def _ranking(self, count: int) -> list[int]:
        """The candidates of smallest loss in the last step, best first."""
        losses = np.empty(self._state.problem.n_features)
        self._module.fold_losses(self._search, losses)
        order = np.argsort(losses, kind="stable")[:count]
        ranked: list[int] = order[losses[order] < np.inf].tolist()
        return ranked

    def settle(self) -> None:
        """Let the general engine add what it does not know of."""
        add_noted(self._state, self._n_whole)
        self._n_whole = self._state.size
