"""Compiled searches that nothing follows: features in an outer fold, without steps or a path."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .._base import Float, native
from .._criteria import LooData, SelectionState
from .._features import Ranking
from .._problem import Loss
from ._compiled_rows import (
    FIRST_ROOM,
    LOSSES,
    N_COUNTERS,
    NEEDS_COLUMN,
    ROOM_BYTES,
    TAKEN,
    CompiledRows,
    can_compile,
    passes_of,
    rows_of,
    steps_ahead,
)


class CompiledSearch:
    """A forward search in C; the general engine, which can doubt, is its slow twin."""

    def __init__(self, rows: CompiledRows, excluded: Sequence[int], alpha: float) -> None:
        self._module, self._rows, self._alpha = native(), rows, alpha
        self._excluded = list(excluded)
        self._room = 0
        self.indices: list[int] = []
        self.exact_evaluations = self.passes = 0
        self._passes_before = 0  # a search that began again
        self.handle: object = None

    def reach(self, size: int, last: int) -> bool:
        """Search to a size, of at most `last`; False if the general engine is needed for a step."""
        while len(self.indices) < size:
            if len(self.indices) == self._room:
                self._start(last)
            elif not self._advance(size, last):
                return False
        return True

    def _start(self, last: int) -> None:
        """Begin with more room, and search again what was found."""
        rows, n = self._rows, self._rows.n_features
        room = max(ROOM_BYTES // (16 * n), FIRST_ROOM, 2 * len(self.indices))
        self._room = min(last, room)
        barred = np.zeros(n, dtype=np.uint8)
        barred[self._excluded] = 1
        assert self._module is not None
        self.handle = self._module.new_search(
            rows.handle,
            self._alpha,
            LOSSES[rows.loss.name],
            rows.initial_loss,
            barred,
            self._room,
            rows.keeps_z,
        )
        self.indices, self._passes_before = [], self.passes

    def _advance(self, size: int, last: int) -> bool:
        """Take steps, a few at a time so that an interrupt is noticed; False if there are none."""
        rows, taken = self._rows, len(self.indices)
        count = min(size - taken, self._room - taken, steps_ahead(rows, self._room))
        best, losses = np.zeros((count, 1), dtype=np.int64), np.empty((count, 1))
        sums = np.empty((count, 6 * rows.n_targets + N_COUNTERS + 4))
        products = np.empty((count, min(self._room, rows.n_features)))
        assert self._module is not None
        # One thread: other searches keep the cores busy.
        found, answer = self._module.steps(
            self.handle, best, losses, sums, products, None, None, last - taken, 1
        )
        if not rows.keeps_z:
            self.passes = self._passes_before + passes_of(self._module, self.handle)
        if found:
            self.exact_evaluations = int(sums[found - 1, -N_COUNTERS])
        self.indices += best[:found, 0].tolist()
        if not (rows.keeps_z or rows.fetches):
            for index in best[:found, 0].tolist():
                rows.gram.take(index, self._ranking, last - taken)  # it is there
        if answer == NEEDS_COLUMN:
            rows.gram.take(int(best[found, 0]), self._ranking, last - len(self.indices))
            return True
        return bool(answer == TAKEN)

    @property
    def _ranking(self) -> Ranking:
        def ranking(count: int) -> list[int]:
            order = np.empty(count, dtype=np.int64)
            assert self._module is not None
            found = self._module.lowest(self.handle, order)
            ranked: list[int] = order[:found].tolist()
            return ranked

        return ranking

    def gram(self) -> Float:
        """Return X_S'X_S of the chosen features."""
        gram = np.empty((len(self.indices), len(self.indices)))
        assert self._module is not None
        self._module.read(self.handle, "gram", gram)
        return gram


def compiled_search(
    data: LooData, loss: Loss, alpha: float, state: Callable[[], SelectionState]
) -> CompiledSearch | None:
    """Return a search in C, if it never needs a pass over X; `state` makes that of a search."""
    module = native()
    if module is None or not can_compile(data, loss):
        return None
    rows = rows_of(module, data, loss, state)
    if not (rows.keeps_z or rows.is_packed):
        return None
    return CompiledSearch(rows, data.problem.excluded, alpha)
