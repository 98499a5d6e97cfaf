"""Compiled steps for searches that also remove features.

A compiled search adds features, and removes the worst one if nothing is in doubt. At any other set
another one starts, which takes less time than a move of the general engine where there are few rows
and features; elsewhere the general engine moves, and compiled steps follow when starting again is
worth it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from types import ModuleType
from typing import NamedTuple

import numpy as np

from .._base import LIKELY_ADDED, SMALLEST_D, Float, native
from .._criteria import (
    Criterion,
    LeaveOneOut,
    SelectionState,
    State,
    is_loss_known,
    open_candidates,
    place_noted,
)
from .._features import Ranking, note_set
from .._problem import Loss, make_loss
from ._compiled_rows import (
    DONE,
    MOST_RUNNERS_UP,
    N_COUNTERS,
    STOPS,
    TAKEN,
    CompiledRows,
    can_compile,
)
from ._compiled_search import Batch, CompiledSearch
from ._compiled_stepper import CompiledStepper
from ._stepper import Stepping, check_digits

# To start at a set takes about so many nanoseconds for each row, for which there are arrays, for
# each number of the chosen columns, which are gathered, and for each product of two of m or n.
_ALLOCATED, _GATHERED, _MULTIPLIED = 400.0, 8.0, 0.25
# Up to here that is no slower than a move of the general engine with the step that follows.
_QUICK_START = 8e5
# What a compiled step saves at least.
_SAVED = 1e5


class Removed(NamedTuple):
    """What came of looking for a removal."""

    feature: int | None  # None: no loss is small enough
    runners_up: tuple[tuple[int, float], ...] = ()


class _MovingSearch(CompiledSearch):
    """A search in C whose Gram columns are kept by the state, which may move to any set of them."""

    _most_ahead = 1  # after a step the search may move elsewhere

    def __init__(self, state: SelectionState, rows: CompiledRows, n_runners_up: int) -> None:
        super().__init__(state.data, rows, state.features.penalty.alpha, n_runners_up)
        self._state = state

    def _have(self, index: int, remaining: int) -> None:
        self._state.gram_column(index, self._ranking, max(remaining, LIKELY_ADDED))

    def _fetch(self, index: int, ranking: Ranking, remaining: int) -> None:
        column = self._state.gram_column(index, ranking, max(remaining, LIKELY_ADDED))
        self.rows.know(index, column)

    def sums(self) -> Float:
        """Return the sums of the current model, (6t + 4); counts what was counted on the way."""
        sums, counters = np.empty(6 * self.rows.n_targets + 4), np.empty(N_COUNTERS)
        self._module.read(self.handle, "sums", sums)
        self._module.read(self.handle, "counters", counters)
        self._note(counters)
        return sums

    def residuals(self) -> tuple[Float, Float]:
        """Return r (t × m) and d (m) of the current model."""
        r, d = np.empty((1, self.rows.n_targets, self.rows.n_rows)), np.empty((1, self.rows.n_rows))
        self._module.read(self.handle, "r", r)
        self._module.read(self.handle, "d", d)
        (r,), (d,) = self.rows.of_all_rows(r, d)
        return r, d


class MovingStepper(CompiledStepper):
    """Compiled steps that the general engine does not follow, since it moves to any set at once.

    The state knows the chosen features and the loss after a step, and the model after `complete`.
    """

    _keeps_z = False  # to start again would take a pass over all candidates for each feature
    _search: _MovingSearch
    _n_behind: int | None = 0  # features since the state knew the model; None at another set
    _is_ahead = False  # whether it does not know what is left of the candidates

    def __init__(
        self, module: ModuleType, state: SelectionState, loss: Loss, n_runners_up: int
    ) -> None:
        super().__init__(module, state, loss, n_runners_up)
        self._rows.share_gram(state.data.gram)
        self._gone = np.zeros(1 + n_runners_up, dtype=np.int64)
        self._without = np.zeros(1 + n_runners_up)

    def _make_search(self, n_runners_up: int) -> _MovingSearch:
        return _MovingSearch(self._state, self._rows, n_runners_up)

    def _note(self, batch: Batch, position: int) -> int:
        index = super()._note(batch, position)
        self._n_behind = None if self._n_behind is None else self._n_behind + 1
        self._is_ahead = True
        return index

    def settle(self) -> None:
        """Let the general engine move to the current set."""
        if self._is_ahead:
            self._state.move_to(list(self._state.selected))
        self._n_behind, self._is_ahead = 0, False

    @property
    def state(self) -> SelectionState:
        """The state that is moved."""
        return self._state

    @property
    def size(self) -> int:
        """The number of features of the search."""
        return len(self._search.indices)

    @property
    def cost(self) -> float:
        """Roughly the nanoseconds to start at the current set."""
        m, n, s = self._rows.n_rows, self._rows.n_features, self._state.size
        return _ALLOCATED * m + s * (_GATHERED * m + _MULTIPLIED * s * (m + n))

    def complete(self) -> None:
        """Let the state know the model, so that removals can be evaluated."""
        if self._n_behind != 0:
            if self._n_behind is None:
                note_set(self._state.features, list(self._state.selected), self._search.gram())
            r, d = self._search.residuals()
            place_noted(self._state, r, d, self._n_behind == 1)
            self._n_behind = 0

    def move_to(self, features: Sequence[int], last: int) -> bool:
        """Start at another set; False if the general engine is to move there."""
        if self.cost > _QUICK_START:
            return False
        state, before = self._state, list(self._state.selected)
        state.features.selected[:] = features
        open_candidates(state)
        self._search.restart()
        stop = self.begin(last)
        if stop is None:
            self._note_set()
            if state.statistics.smallest_d >= SMALLEST_D:
                return True
        else:
            check_digits(stop)
        state.features.selected[:] = before
        return False

    def _note_set(self) -> None:
        """Let the state know the loss at another set."""
        self._note_model(self._search.sums())
        self._count()
        self._n_behind, self._is_ahead = None, True

    def remove(self, protected: Collection[int], below: float) -> Removed | None:
        """Remove the worst feature if the loss is then below `below`; None if that is in doubt."""
        state, selected = self._state, self._state.selected
        answer = self._module.remove_worst(
            self._search.handle,
            bytes([index in protected for index in selected]),
            below * state.loss_weight,
            state.data.statistics.largest_d,
            self._gone,
            self._without,
        )
        if answer == DONE:
            return Removed(None)
        if answer != TAKEN:
            check_digits(STOPS[answer])
            return None
        index, *others = self._gone.tolist()
        selected.remove(index)
        self._search.indices.remove(index)
        open_candidates(state)
        self._note_set()
        losses = self._without[1:].tolist()
        runners_up = zip(others, losses, strict=True)
        return Removed(index, tuple(pair for pair in runners_up if pair[0] >= 0))

    def leave(self) -> None:
        """The general engine moves to another set, from the current model."""
        self._search.restart()
        self._n_behind, self._is_ahead = 0, False


class Moves:
    """Asks for compiled steps and moves; what it does not take is left to the general engine."""

    def __init__(self, stepper: MovingStepper) -> None:
        self._stepper = stepper
        self._stepping = Stepping(stepper, lambda: is_loss_known(stepper.state))

    def step(self, last: int) -> int | None:
        """The feature that was added; None if the criterion is to take this step."""
        return self._stepping.step(last)

    @property
    def runners_up(self) -> tuple[tuple[int, float], ...]:
        """The next best candidates of the last step."""
        return self._stepping.runners_up

    def complete(self) -> None:
        """Let the state know the current model."""
        if self._stepping.is_under_way:
            self._stepper.complete()

    def check(self) -> None:
        """Raise an error if the general engine has led to a model whose loss has lost digits."""
        self._stepping.check()

    def remove(self, protected: Collection[int], below: float) -> Removed | None:
        """Remove the worst feature if the loss is then below `below`.

        None if the general engine is to decide, and to move.
        """
        if not self._stepping.is_under_way or self._stepper.size < 2:
            return None
        return self._stepper.remove(protected, below)

    def move_to(self, features: Sequence[int], last: int) -> bool:
        """Move to another set; False if the general engine is to do so, from the current model."""
        if self._stepping.is_under_way and self._stepper.move_to(features, last):
            return True
        self._stepper.leave()
        self._stepping.pause(int(self._stepper.cost / _SAVED))
        return False


def moves_for(state: State, criterion: Criterion, n_runners_up: int) -> Moves | None:
    """Return compiled steps and moves of a search that adds and removes features, if there are."""
    module, loss = native(), make_loss("squared")
    if (
        module is None
        or type(state) is not SelectionState
        or not (isinstance(criterion, LeaveOneOut) and criterion.is_free)
        or n_runners_up > MOST_RUNNERS_UP
        or state.problem.is_grouped
        or state.problem.X.location.on_device
        or state.problem.X.centers is not None
        or not can_compile(state.data, loss)
    ):
        return None
    return Moves(MovingStepper(module, state, loss, n_runners_up))
