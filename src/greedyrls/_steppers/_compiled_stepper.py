"""The stepper of the processor: steps in C, without the interpreter and its lock.

It has arrays of its own, and the state is moved only as far as others read it. Where it stops, the
general engine adds the features that it does not know of yet, and takes the next step.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np

from .._base import Float, n_threads, native
from .._criteria import (
    EveryCandidate,
    LeaveOneOut,
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
    LOST,
    MOST_RUNNERS_UP,
    N_COUNTERS,
    NEEDS_ANCHOR,
    NEEDS_COLUMN,
    ROOM_BYTES,
    STOPS,
    TAKEN,
    CompiledRows,
    add_noted,
    can_compile,
    in_order,
    passes_of,
    rows_of,
    steps_ahead,
)
from ._stepper import Stepper, Stop


class _Log:
    """What C writes of steps that are taken at a time: a row of each array for each step."""

    def __init__(
        self, rows: CompiledRows, count: int, capacity: int, width: int, keeps_rows: bool
    ) -> None:
        t, m = rows.n_targets, rows.n_rows
        self.best = np.zeros((count, width), dtype=np.int64)
        self.losses = np.zeros((count, width))
        self.sums = np.zeros((count, 6 * t + N_COUNTERS + 4))
        self.products = np.zeros((count, capacity))
        self.r = np.zeros((count, t, m)) if keeps_rows else None
        self.d = np.zeros((count, m)) if keeps_rows else None
        self.taken = self.given = 0
        self.answer = TAKEN  # why there were not more

    def run(self, module: ModuleType, search: object, n_more: int) -> None:
        """Take steps; `n_more` features are still to be added."""
        arrays = self.best, self.losses, self.sums, self.products, self.r, self.d
        self.given = 0
        self.taken, self.answer = module.steps(search, *arrays, n_more, n_threads())


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


class CompiledStepper:
    """The `Stepper` of a leave-one-out search on a dense array."""

    _keeps_z: bool | None = None  # whether z of all candidates is kept; None: if X is small
    _most_ahead = 16  # steps that are taken at a time at most

    def __init__(
        self, module: ModuleType, state: SelectionState, loss: Loss, n_runners_up: int
    ) -> None:
        self._module, self._state, self._loss = module, state, loss
        self._rows = rows_of(module, state.data, loss, lambda: state, self._keeps_z)
        self._search: object = None
        self._room = 0
        self._n_whole = state.size  # features that the general engine knows of
        self._size = 0  # features that the compiled search knows of
        self._width = 1 + n_runners_up
        self._log: _Log
        self._evaluations = self._passes = 0
        self._measured: list[tuple[float, float]] = []  # losses and errors of the steps in the log
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
                return Stop.LOST_DIGITS if answer == LOST else Stop.NOT_AVAILABLE
        return None

    def _start(self, last: int) -> None:
        """A search from the model without features, with room for all, or for twice as many."""
        state, rows = self._state, self._rows
        room = max(ROOM_BYTES // (16 * rows.n_features), FIRST_ROOM, 2 * state.size)
        self._room = min(last, room)
        barred = (np.asarray(state.barred) > 0.0).astype(np.uint8)
        barred[state.features.selected] = 0
        self._search = self._module.new_search(
            rows.handle,
            state.features.penalty.alpha,
            LOSSES[self._loss.name],
            rows.initial_loss,
            barred,
            self._room,
            rows.keeps_z,
        )
        self._size = self._evaluations = self._passes = 0
        capacity = min(self._room, rows.n_features)
        ahead = steps_ahead(rows, self._most_ahead)
        keeps_rows = isinstance(state, LossState)
        self._log = _Log(rows, ahead, capacity, self._width, keeps_rows)

    def step(self, last: int) -> int | Stop:
        """Return the next of the steps that C has taken, which are more if there is none."""
        while self._log.given == self._log.taken:
            stop = self._take_more(last)
            if stop is not None:
                if stop is not Stop.LOST_DIGITS:
                    self.settle()
                return stop
        index = self._note(self._log.given)
        self._log.given += 1
        if not (self._rows.keeps_z or self._rows.fetches):
            self._take(index, self._ranking, last - self._size)  # it is there
        self._size += 1
        return index

    def _take_more(self, last: int) -> Stop | None:
        """Give C what it needs, and let it take steps; why it cannot, if so."""
        module, answer = self._module, self._log.answer
        if self._size >= self._room:
            self._grow(last)
        elif answer == NEEDS_COLUMN:
            wanted, remaining = int(self._log.best[self._log.taken, 0]), last - self._size
            self._fetch(wanted, self._ranking_after(wanted, remaining), remaining)
        elif answer == NEEDS_ANCHOR:
            anchor = np.empty((self._rows.n_targets, self._rows.n_rows))
            module.read(self._search, "g", anchor)
            along = self._along(int(self._log.best[self._log.taken, 0]), last - self._size)
            module.set_anchor(self._search, self._rows.anchor_products(anchor, along))
        elif answer != TAKEN:
            self._log.answer = TAKEN
            return STOPS[answer]
        log = self._log
        log.run(module, self._search, last - self._size)
        self._count_passes()
        if isinstance(self._state, LossState) and log.r is not None and log.d is not None:
            r, d = log.r[: log.taken], log.d[: log.taken]
            self._measured = self._state.measured(*self._of_all_rows(r, d))
        return None

    def _count_passes(self) -> None:
        """Count the passes over X that C has made."""
        if not self._rows.keeps_z:
            passes = passes_of(self._module, self._search)
            self._state.samples.passes += passes - self._passes
            self._passes = passes

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

    def _ranking_after(self, wanted: int, remaining: int, n_others: int = 0) -> Ranking:
        """What is likely chosen after a feature whose Gram column a pass fetches, with others."""
        ahead = min(self._rows.likely_ahead(1 + n_others), remaining - 1)
        if self._rows.likely_ahead(1) == 0:
            return self._ranking
        order = np.empty(max(0, ahead), dtype=np.int64)
        found = self._module.likely(self._search, wanted, order)
        return in_order(order[:found].tolist())[0]

    def _along(self, best: int, remaining: int) -> list[int]:
        """Features whose Gram columns come with an anchor: the best one so far, if it has none."""
        rows = self._rows
        if rows.likely_ahead(1) == 0 or best < 0 or best in rows.gram:
            return []
        ranking = self._ranking_after(best, remaining, rows.n_targets)
        return rows.gram.batch(ranking, remaining, best)

    def _note(self, place: int) -> int:
        """Let the state know of a feature: what others read of it."""
        state, log = self._state, self._log
        index = int(log.best[place, 0])
        note_step(state.features, index, log.products[place, : self._size + 1])
        state.barred[index] = np.inf
        self._note_model(log.sums[place].copy())
        if isinstance(state, LossState):
            state.remember(self._measured[place])
        if self._width > 1:
            others, losses = log.best[place, 1:].tolist(), log.losses[place, 1:].tolist()
            pairs = zip(others, losses, strict=True)
            self.runners_up = tuple((other, loss) for other, loss in pairs if other >= 0)
        return index

    def _note_model(self, sums: Float) -> None:
        """Let the state know the sums of a model, and what was counted so far."""
        state = self._state
        state.statistics = SampleStatistics.unpacked(sums[:-N_COUNTERS])
        evaluations, drift = sums[-N_COUNTERS:].tolist()
        state.samples.exact_evaluations += int(evaluations) - self._evaluations
        self._evaluations = int(evaluations)
        state.largest_drift = max(state.largest_drift, drift)

    def _of_all_rows(self, r: Float, d: Float) -> tuple[Float, Float]:
        """Return r (c × t × m) and d (c × m) of all rows, those without weight included."""
        rows = self._rows
        if rows.used is None:
            return r, d
        (block,) = self._state.data.samples.blocks
        all_r, all_d = np.zeros((len(r), *block.r.shape)), np.tile(block.d, (len(d), 1))
        all_r[..., rows.used], all_d[:, rows.used] = r, d
        return all_r, all_d

    def settle(self) -> None:
        """Let the general engine add what it does not know of."""
        add_noted(self._state, self._n_whole)
        self._n_whole = self._state.size
