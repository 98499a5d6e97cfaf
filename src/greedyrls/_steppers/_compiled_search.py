"""Forward searches in C: what they need of the interpreter, and the steps that they have taken."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import Float, n_threads, native
from .._criteria import LooData, losses_of, moments_of_set
from .._features import Ranking
from .._problem import Loss
from .._rows import SampleStatistics
from ..path import Moments
from ._compiled_rows import (
    FIRST_ROOM,
    LOSSES,
    MOST_RUNNERS_UP,
    N_COUNTERS,
    NEEDS_ANCHOR,
    NEEDS_COLUMN,
    ROOM_BYTES,
    STOPS,
    TAKEN,
    CompiledRows,
    can_compile,
    in_order,
    passes_of,
    rows_of,
    steps_ahead,
)
from ._stepper import Stop


class Batch(NamedTuple):
    """Steps that C has taken at a time: a row of each array for each step."""

    best: NDArray[np.int64]  # (c × width) features, followed by their runners-up or −1
    losses: Float  # (c × width)
    sums: Float  # (c × 6t + 4) of the models, as `SampleStatistics` has them
    products: Float  # (c × |S|) of the feature with the chosen ones and itself
    r: Float | None  # (c × t × m) of the rows that count, for losses other than the squared one
    d: Float | None  # (c × m)


class CompiledSearch:
    """A forward search in C; the general engine, which can doubt, is its slow twin."""

    rebuilds = 0  # of feature space: lost digits end the search instead
    _most_ahead = 16  # steps that are taken at a time at most

    def __init__(
        self,
        data: LooData,
        rows: CompiledRows,
        alpha: float,
        n_runners_up: int | None = 0,
    ) -> None:
        """`n_runners_up` is None if only the chosen features are wanted, not the steps."""
        self.data, self.rows, self._alpha = data, rows, alpha
        self._is_followed, self._width = n_runners_up is not None, 1 + (n_runners_up or 0)
        module = native()
        assert module is not None
        self._module = module
        self.handle: object = None
        self.indices: list[int] = []
        self._room = 0
        self._answer = TAKEN  # why C took no more steps
        self._wanted = -1  # the feature that it waits for
        self._evaluations_before = self._c_passes_before = 0  # of searches that began again
        self._c_passes = 0
        self._data_passes = data.passes
        self.exact_evaluations = 0
        self.largest_drift = 0.0

    @property
    def own_passes(self) -> int:
        """The number of passes over X that C has made."""
        return self._c_passes_before + self._c_passes

    @property
    def passes(self) -> int:
        """The number of passes over X since the search was made."""
        return self.own_passes + self.data.passes - self._data_passes

    def restart(self) -> None:
        """Forget all features; the next ones come with `follow`."""
        self.handle, self.indices, self._answer = None, [], TAKEN

    def follow(self, selected: Sequence[int], last: int) -> Stop | None:
        """Add the features after those that are known; why that is not possible, if so."""
        if self.handle is None or len(selected) >= self._room:
            self._start(max(last, len(selected)), len(selected))
        self._answer = TAKEN
        while len(self.indices) < len(selected):
            index = selected[len(self.indices)]
            answer = self._module.add(self.handle, index)
            if answer == NEEDS_COLUMN:
                self._fetch(index, *in_order(list(selected[len(self.indices) + 1 :])))
            elif answer == TAKEN:
                self.indices.append(index)
            else:
                return Stop.LOST_DIGITS if STOPS[answer] is Stop.LOST_DIGITS else Stop.NOT_AVAILABLE
        return None

    def _start(self, last: int, size: int) -> None:
        """Begin without features, with room for all, or for twice as many as there are."""
        rows, n = self.rows, self.rows.n_features
        room = min(last, max(ROOM_BYTES // (16 * n), FIRST_ROOM, 2 * size))
        barred = np.zeros(n, dtype=np.uint8)
        barred[list(self.data.problem.excluded)] = 1
        handle = self._module.new_search(
            rows.handle,
            self._alpha,
            LOSSES[rows.loss.name],
            rows.initial_loss,
            barred,
            room,
            rows.keeps_z,
        )
        self.handle, self.indices, self._room = handle, [], room
        self._evaluations_before = self.exact_evaluations
        self._c_passes_before += self._c_passes
        self._c_passes = 0

    def reach(self, size: int, last: int) -> bool:
        """Search to a size, of at most `last`; False if the general engine is needed for a step."""
        while len(self.indices) < size:
            if isinstance(self.take(size, last), Stop):
                return False
        return True

    def take(self, size: int, last: int) -> Batch | Stop:
        """Take some steps, to at most a size; or why there are none.

        In the end, `last` features are wanted.
        """
        if self.handle is None or len(self.indices) == self._room:
            stop = self._grow(last)
            if stop is not None:
                return stop
        while True:
            answer, self._answer = self._answer, TAKEN
            remaining = last - len(self.indices)
            if answer == NEEDS_COLUMN:
                self._fetch(self._wanted, self._ranking_after(self._wanted, remaining), remaining)
            elif answer == NEEDS_ANCHOR:
                self._set_anchor(remaining)
            elif answer != TAKEN:
                self._answer = answer
                return STOPS[answer]
            batch = self._run(size, last)
            if batch is not None:
                return batch

    def _grow(self, last: int) -> Stop | None:
        """Begin again with more room; after an interrupt or a stop the search is as it was."""
        earlier = self.handle, self.indices, self._room
        try:
            return self.follow(self.indices, last)
        finally:
            if self.indices != earlier[1]:
                self.handle, self.indices, self._room = earlier

    def _run(self, size: int, last: int) -> Batch | None:
        """Let C take a few steps, so that an interrupt is noticed; None if it takes none."""
        rows, n_chosen, t = self.rows, len(self.indices), self.rows.n_targets
        ahead = steps_ahead(rows, self._most_ahead)
        count = min(size - n_chosen, self._room - n_chosen, ahead)
        best = np.zeros((count, self._width), dtype=np.int64)
        losses, sums = np.empty((count, self._width)), np.empty((count, 6 * t + N_COUNTERS + 4))
        products = np.empty((count, min(self._room, rows.n_features)))
        r = d = None
        if self._is_followed and rows.loss.name != "squared":
            r, d = np.empty((count, t, rows.n_rows)), np.empty((count, rows.n_rows))
        # If nobody follows the steps, other searches keep the cores busy.
        threads = n_threads() if self._is_followed else 1
        logs = best, losses, sums, products, r, d
        taken, self._answer = steps_in_c(self._module, self.handle, *logs, last - n_chosen, threads)
        if taken < count:
            self._wanted = int(best[taken, 0])
        if not rows.keeps_z:
            self._c_passes = passes_of(self._module, self.handle)
        if not taken:
            return None
        self._note(sums[taken - 1, -N_COUNTERS:])
        self.indices += best[:taken, 0].tolist()
        if not (rows.keeps_z or rows.fetches):
            for index in best[:taken, 0].tolist():
                self._have(index, last - n_chosen)
        return Batch(
            best[:taken],
            losses[:taken],
            sums[:taken, :-N_COUNTERS],
            products[:taken],
            None if r is None else r[:taken],
            None if d is None else d[:taken],
        )

    def _have(self, index: int, remaining: int) -> None:
        """Note that the Gram column of a feature, which is there, was used."""
        self.rows.gram.take(index, self._ranking, remaining)

    def _fetch(self, index: int, ranking: Ranking, remaining: int) -> None:
        """Let C have a Gram column, computed with those that are likely needed next."""
        self.rows.gram.take(index, ranking, remaining)

    def _set_anchor(self, remaining: int) -> None:
        """Let C have X'a of an anchor, by a pass over X."""
        anchor = np.empty((self.rows.n_targets, self.rows.n_rows))
        self._module.read(self.handle, "g", anchor)
        along = self._along(self._wanted, remaining)
        self._module.set_anchor(self.handle, self.rows.anchor_products(anchor, along))

    def _ranking(self, count: int) -> list[int]:
        order = np.empty(count, dtype=np.int64)
        found = self._module.lowest(self.handle, order)
        ranked: list[int] = order[:found].tolist()
        return ranked

    def _ranking_after(self, wanted: int, remaining: int, n_others: int = 0) -> Ranking:
        """What is likely chosen after a feature whose Gram column a pass fetches, with others."""
        if self.rows.likely_ahead(1) == 0:
            return self._ranking
        ahead = min(self.rows.likely_ahead(1 + n_others), remaining - 1)
        order = np.empty(max(0, ahead), dtype=np.int64)
        found = self._module.likely(self.handle, wanted, order)
        return in_order(order[:found].tolist())[0]

    def _along(self, best: int, remaining: int) -> list[int]:
        """Features whose Gram columns come with an anchor: the best one so far, if it has none."""
        rows = self.rows
        if rows.likely_ahead(1) == 0 or best < 0 or best in rows.gram:
            return []
        ranking = self._ranking_after(best, remaining, rows.n_targets)
        return rows.gram.batch(ranking, remaining, best)

    def measured(self, batch: Batch) -> tuple[Float, Float, Float]:
        """Return losses of the models of a batch, standard errors, and losses of candidates."""
        if batch.r is None or batch.d is None:
            losses, errors = self.data.losses_and_errors(SampleStatistics.of_models(batch.sums))
            # Those of candidates are sums over rows and targets.
            weight = self.data.start.total_weight * self.rows.n_targets
            return losses, errors, batch.losses / weight
        r, d = self.rows.of_all_rows(batch.r, batch.d)
        return *losses_of(self.data, self.rows.loss, r, d), batch.losses

    def _note(self, counters: Float) -> None:
        self.exact_evaluations = self._evaluations_before + int(counters[0])
        self.largest_drift = max(self.largest_drift, float(counters[1]))

    def gram(self) -> Float:
        """Return X_S'X_S of the chosen features; C has more of them after an interrupt."""
        count, size = len(self.indices), np.zeros(1)
        if self.handle is not None:
            self._module.read(self.handle, "size", size)
        gram = np.empty((int(size[0]), int(size[0])))
        if len(gram):
            self._module.read(self.handle, "gram", gram)
        return gram[:count, :count].copy()

    def moments(self) -> Moments:
        """Return the moments of the chosen features and the targets over all rows."""
        return moments_of_set(self.data.start, self.indices, self.gram(), None)


def steps_in_c(module: ModuleType, *arguments: Any) -> tuple[int, int]:
    """Let C take steps; returns how many it took, and why not more."""
    answer: tuple[int, int] = module.steps(*arguments)
    return answer


def compiled_search(
    data: LooData, loss: Loss, alpha: float, n_runners_up: int | None
) -> CompiledSearch | None:
    """Return a search in C, if there is code for it.

    `n_runners_up` is None if only the chosen features are wanted, not the steps.
    """
    module = native()
    if module is None or (n_runners_up or 0) > MOST_RUNNERS_UP or not can_compile(data, loss):
        return None
    return CompiledSearch(data, rows_of(module, data, loss), alpha, n_runners_up)
