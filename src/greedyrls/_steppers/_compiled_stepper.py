"""The stepper of the processor: steps in C, without the interpreter and its lock.

It has arrays of its own, and the state is moved only as far as others read it. Where it stops, the
general engine adds the features that it does not know of yet, and takes the next step.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np

from .._base import Float, native
from .._criteria import (
    EveryCandidate,
    LeaveOneOut,
    LooData,
    LossState,
    ManyFoldState,
    SelectionState,
)
from .._features import Ranking, note_step
from .._problem import Loss, make_loss
from .._rows import SampleStatistics
from ._compiled_folds import compiled_fold_stepper
from ._compiled_rows import (
    FIRST_ROOM,
    LOSSES,
    MOST_RUNNERS_UP,
    NEEDS_ANCHOR,
    NEEDS_COLUMN,
    STOPS,
    TAKEN,
    CompiledRows,
    add_noted,
    can_compile,
    in_order,
)
from ._stepper import Stepper, Stop

# Bytes that a search may take for more features than it has room for at first.
_ROOM_BYTES = 1 << 24


def compiled_stepper(state: SelectionState, criterion: object, n_runners_up: int) -> Stepper | None:
    """Return the stepper of a search, if there is compiled code for it."""
    if isinstance(state, ManyFoldState):
        return compiled_fold_stepper(state, n_runners_up)
    module = native()
    if module is None or n_runners_up > MOST_RUNNERS_UP or state.keeps_columns:
        return None
    if isinstance(criterion, LeaveOneOut) and criterion.is_free:
        loss = make_loss("squared")
    elif isinstance(criterion, EveryCandidate) and isinstance(state, LossState):
        loss = state.criterion_loss
    else:
        return None
    if not can_compile(state.data, loss):
        return None
    return CompiledStepper(module, state, loss, n_runners_up)


def _rows_of(
    module: ModuleType, state: SelectionState, loss: Loss, keeps_z: bool | None
) -> CompiledRows:
    """Return what all searches of a kind on the same data share, made by the first."""
    data: LooData = state.data
    kind = loss.name, keeps_z
    if kind not in data.compiled:
        data.compiled[kind] = CompiledRows(module, data, state, loss, keeps_z)
    rows: CompiledRows = data.compiled[kind]
    return rows


class CompiledStepper:
    """The `Stepper` of a leave-one-out search on a dense array."""

    _keeps_z: bool | None = None  # whether z of all candidates is kept; None: if X is small

    def __init__(
        self, module: ModuleType, state: SelectionState, loss: Loss, n_runners_up: int
    ) -> None:
        self._module, self._state, self._loss = module, state, loss
        self._rows = _rows_of(module, state, loss, self._keeps_z)
        self._search: object = None
        self._room = 0
        self._n_whole = state.size  # features that the general engine knows of
        self._size = 0  # features that the compiled search knows of
        self._best = np.zeros(1 + n_runners_up, dtype=np.int64)
        self._losses = np.zeros(1 + n_runners_up)
        self._counters = np.zeros(4)
        self._sums = np.zeros(6 * self._rows.n_targets + 4)
        self._evaluations = 0
        self.runners_up: tuple[tuple[int, float], ...] = ()

    def begin(self, last: int) -> Stop | None:
        """Add the features that the compiled search does not know of."""
        state = self._state
        if self._search is None or state.size >= self._room:
            self._start(last)
        self._n_whole = state.size
        selected = state.features.selected
        while self._size < len(selected):
            index = selected[self._size]
            answer = self._module.add(self._search, index)
            if answer == NEEDS_COLUMN:
                self._fetch(index, *in_order(selected[self._size + 1 :]))
            elif answer == TAKEN:
                self._size += 1
            else:
                return Stop.NOT_AVAILABLE
        return None

    def _start(self, last: int) -> None:
        """A search from the model without features, with room for all, or for twice as many."""
        state, rows = self._state, self._rows
        room = max(_ROOM_BYTES // (16 * rows.n_features), FIRST_ROOM, 2 * state.size)
        self._room = min(last, room)
        barred = (np.asarray(state.barred) > 0.0).astype(np.uint8)
        barred[state.features.selected] = 0
        initial = state.initial_loss if isinstance(state, LossState) else 0.0
        self._search = self._module.new_search(
            rows.handle,
            float(state.features.penalty.diagonal),
            LOSSES[self._loss.name],
            initial,
            barred,
            self._room,
            rows.keeps_z,
        )
        self._size = self._evaluations = 0

    def step(self, last: int) -> int | Stop:
        """Take a step in C."""
        module = self._module
        if self._size >= self._room:
            self._grow(last)
        while (answer := module.step(self._search, self._best, self._losses)) != TAKEN:
            if answer == NEEDS_COLUMN:
                self._fetch(int(self._best[0]), self._ranking, last - self._size)
            elif answer == NEEDS_ANCHOR:
                anchor = np.empty((self._rows.n_targets, self._rows.n_rows))
                module.read(self._search, "g", anchor)
                module.set_anchor(self._search, self._rows.anchor_products(anchor))
            else:
                self.settle()
                return STOPS[answer]
        index = int(self._best[0])
        if not self._rows.keeps_z:
            self._take(index, self._ranking, last - self._size)  # it is there
        self._note(index)
        self._size += 1
        return index

    def _take(self, index: int, ranking: Ranking, remaining: int) -> None:
        """Have the Gram column of a feature, computed with those that are likely needed next."""
        self._rows.gram.take(index, ranking, remaining)

    def _fetch(self, index: int, ranking: Ranking, remaining: int) -> None:
        """Let the compiled search have a Gram column that it does not know."""
        self._take(index, ranking, remaining)

    def _grow(self, last: int) -> None:
        """Start again with more room, and add what was chosen."""
        n_whole = self._n_whole
        self.begin(last)
        self._n_whole = n_whole

    def _ranking(self, count: int) -> list[int]:
        order = np.empty(count, dtype=np.int64)
        found = self._module.lowest(self._search, order)
        ranked: list[int] = order[:found].tolist()
        return ranked

    def _note(self, index: int) -> None:
        """Let the state know of a feature: what others read of it."""
        state, module = self._state, self._module
        products = np.empty(self._size + 1)
        module.read(self._search, "products", products)
        note_step(state.features, index, products)
        state.barred[index] = np.inf
        self._note_model()
        self.runners_up = tuple(
            (int(other), float(loss))
            for other, loss in zip(self._best[1:], self._losses[1:], strict=True)
            if other >= 0
        )

    def _note_model(self) -> None:
        """Let the state know the loss of the current model, and counters."""
        state, module = self._state, self._module
        module.read(self._search, "sums", self._sums)
        module.read(self._search, "counters", self._counters)
        state.statistics = SampleStatistics.unpacked(self._sums.copy())
        evaluations = int(self._counters[1])
        state.samples.exact_evaluations += evaluations - self._evaluations
        self._evaluations = evaluations
        state.largest_drift = max(state.largest_drift, float(self._counters[2]))
        if isinstance(state, LossState):
            state.set_rows(*self._residuals())

    def _residuals(self) -> tuple[Float, Float]:
        """Return r and d of all rows, those without weight included."""
        rows = self._rows
        r, d = np.empty((rows.n_targets, rows.n_rows)), np.empty(rows.n_rows)
        self._module.read(self._search, "r", r)
        self._module.read(self._search, "d", d)
        if rows.used is None:
            return r, d
        (block,) = self._state.data.samples.blocks
        all_r, all_d = np.zeros_like(block.r), block.d.copy()
        all_r[:, rows.used], all_d[rows.used] = r, d
        return all_r, all_d

    def settle(self) -> None:
        """Let the general engine add what it does not know of."""
        add_noted(self._state, self._n_whole)
        self._n_whole = self._state.size
