"""The stepper of the processor: steps in C, without the interpreter and its lock.

The search in C has arrays of its own, and the state is moved only as far as others read it. Where C
stops, the general engine adds the features that it does not know of yet, and takes the next step.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np

from .._base import Float, native
from .._criteria import (
    EveryCandidate,
    LeaveOneOut,
    LossState,
    ManyFoldState,
    SelectionState,
)
from .._features import note_step
from .._problem import Loss, make_loss
from .._rows import SampleStatistics
from ._compiled_folds import compiled_fold_stepper
from ._compiled_rows import MOST_RUNNERS_UP, add_noted, can_compile, rows_of
from ._compiled_search import Batch, CompiledSearch
from ._stepper import Stepper, Stop


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

    def __init__(
        self, module: ModuleType, state: SelectionState, loss: Loss, n_runners_up: int
    ) -> None:
        self._module, self._state = module, state
        self._rows = rows_of(module, state.data, loss, self._keeps_z)
        self._search = self._make_search(n_runners_up)
        self._n_whole = state.size  # features that the general engine knows of
        self._batch: Batch | None = None
        self._n_left = 0  # steps of the batch that were not asked for yet
        self._measured: list[tuple[float, float]] = []  # losses and errors of the batch
        self._evaluations = self._passes = 0  # as far as they were counted
        self.runners_up: tuple[tuple[int, float], ...] = ()

    def _make_search(self, n_runners_up: int) -> CompiledSearch:
        state = self._state
        return CompiledSearch(state.data, self._rows, state.features.penalty.alpha, n_runners_up)

    def begin(self, last: int) -> Stop | None:
        """Add the features that the compiled search does not know of."""
        state = self._state
        self._n_whole = state.size
        return self._search.follow(state.features.selected, last)

    def step(self, last: int) -> int | Stop:
        """Return the next of the steps that C has taken, which are more if there is none."""
        if not self._n_left:
            taken = self._search.take(last, last)
            self._count()
            if isinstance(taken, Stop):
                if taken is not Stop.LOST_DIGITS:
                    self.settle()
                return taken
            self._batch, self._n_left = taken, len(taken.best)
            if isinstance(self._state, LossState):
                losses, errors, _ = self._search.measured(taken)
                self._measured = list(zip(losses.tolist(), errors.tolist(), strict=True))
        assert self._batch is not None
        index = self._note(self._batch, len(self._batch.best) - self._n_left)
        self._n_left -= 1
        return index

    def _count(self) -> None:
        """Count passes over X and evaluations since the last time."""
        search, samples = self._search, self._state.samples
        samples.passes += search.own_passes - self._passes
        samples.exact_evaluations += search.exact_evaluations - self._evaluations
        self._passes, self._evaluations = search.own_passes, search.exact_evaluations
        self._state.largest_drift = max(self._state.largest_drift, search.largest_drift)

    def _note(self, batch: Batch, position: int) -> int:
        """Let the state know of a feature: what others read of it."""
        state = self._state
        index = int(batch.best[position, 0])
        note_step(state.features, index, batch.products[position, : state.size + 1])
        state.barred[index] = np.inf
        self._note_model(batch.sums[position])
        if isinstance(state, LossState):
            state.remember(self._measured[position])
        others, losses = batch.best[position, 1:].tolist(), batch.losses[position, 1:].tolist()
        pairs = zip(others, losses, strict=True)
        self.runners_up = tuple((other, loss) for other, loss in pairs if other >= 0)
        return index

    def _note_model(self, sums: Float) -> None:
        """Let the state know the sums of a model."""
        self._state.statistics = SampleStatistics.unpacked(sums)

    def settle(self) -> None:
        """Let the general engine add what it does not know of."""
        add_noted(self._state, self._n_whole)
        self._n_whole = self._state.size
