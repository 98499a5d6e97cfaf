"""The stepper of GPUs for folds: they choose by squared loss and take the steps by themselves.

A recorded step begins with the losses of all candidates, which the step before left on the device.
A kernel decides what `EveryCandidate` decides on the host: whether nothing ties, rounding cannot
decide, the pivot is accurate and the sums of products with the feature are available. If so, the
kernels of `FusedStep` and `FusedFolds` add it; in case of doubt nothing is changed, and the host
takes that step as usual. For one target.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np

from .._base import (
    LOSS_ROUNDING,
    REFINED_PIVOT,
    TIE,
    TIE_ROUNDING,
    TRUSTED_LOSS,
    Array,
    Layout,
    address_of,
    put,
    recorder_of,
    to_device,
)
from .._criteria import FoldState, FoldSteps
from .._data import fused as _fused
from .._features import FusedFolds
from .._rows import StepNumbers
from ._queue import LACKS_COLUMN, PLAIN, StepQueue
from ._stepper import Stop

# Candidates that a program looks at, and numbers that a program copies.
_WIDTH = 1024
# Columns of sums that are kept at least: with fewer one would be missing at most steps, and each
# stop takes two more transfers.
_FEWEST_KEPT = 16
# Kinds of steps launched in this process, whose kernels are compiled and loaded.
_LAUNCHED: set[tuple[object, ...]] = set()


class FoldHistoryRow(NamedTuple):
    """A step as the device reports it."""

    outcome: Array  # (1)
    index: Array  # (1) of the feature
    energy: Array  # (K) ‖r‖² on the held-out rows
    gram: Array  # (capacity) products of the feature with the chosen ones, over all rows


class Limits(NamedTuple):
    """What a loss is compared with, as sums over rows."""

    energy: Array  # (1) of the target
    rounding: Array  # (1) of a loss made in feature space


class RecordedFoldSteps:
    """A recorded step with its admission, and the steps in the queue."""

    def __init__(self, steps: FoldSteps, folds: FusedFolds, addresses: Array) -> None:
        """`addresses` (n) are those of the columns of sums; 0 if one is not available."""
        self.folds, self._steps, self.addresses = folds, steps, addresses
        self._count, self._n = folds.shape
        capacity = folds.capacity
        self._row = Layout(FoldHistoryRow, (1,), (1,), (self._count,), (capacity,))
        new = addresses.new_zeros
        self._sent, self._counter = new((2,)), new((1,))
        self._limits, self.barred = new((len(Limits._fields),)), new((self._n,))
        programs = -(-self._n // _WIDTH)
        self._least = new((2, programs))
        self._which = self._least[0, :].int()
        self._column = new((steps.n_sets, self._n))
        self._history = new((capacity, self._row.size))
        self._queue = StepQueue(self._history, self._record)

    def begin(self, size: int, barred: Any, limits: Limits) -> None:
        """Prepare for steps from the current model of `size` features."""
        location = self._steps.location
        sent = to_device(location, barred, np.array([float(size), *limits]))
        self.barred[:] = sent[0]
        self._counter[:], self._limits[:] = sent[1][:1], sent[1][1:]
        self._queue.begin(size)

    def taken(self, size: int, last: int) -> FoldHistoryRow | Stop:
        """Return the step from a model of `size` features, or why it is left to the host."""
        report = self._queue.report(size, last)
        if report is None:
            return Stop.DONE
        row = self._row.views(report)
        if row.outcome != PLAIN:
            return Stop.NEEDS_COLUMNS if row.outcome == LACKS_COLUMN else Stop.IN_DOUBT
        return row

    def _record(self) -> Any:
        """Record a step, whose first run launches the kernels if they may not be loaded."""
        recorder = recorder_of(self._steps.location)
        assert recorder is not None
        kind = (*self.folds.shape, self.folds.capacity, self._steps.kind)
        is_loaded = kind in _LAUNCHED
        _LAUNCHED.add(kind)
        return recorder(self._work, (self._sent, self._column), is_loaded, False)

    def _work(self, vector: Array, column: Array) -> tuple[()]:
        """Launch a step: the admission of the best candidate, and all updates."""
        from ._fold_step_kernels import admit, bring, note, survey

        sent = StepNumbers(vector[:1], vector[1:])
        report, capacity = self.folds.report, self.folds.capacity
        least, second = self._least[0, :], self._least[1, :]
        programs, total = least.shape[0], column.shape[0] * column.shape[1]
        with _fused.device_of(vector):
            survey[(programs,)](
                report.losses, self.barred, least, second, self._which, self._n, _WIDTH
            )
            admit[(1,)](
                self._counter, least, second, self._which, report.pivots, self._limits,
                self.barred, self.addresses, *sent, self._history, programs, self._row.size,
                _fused.power_of_two(programs), TIE, TIE_ROUNDING, REFINED_PIVOT, TRUSTED_LOSS,
                sys.float_info.max,
            )  # fmt: skip
            bring[(-(-total // _WIDTH),)](*sent, self.addresses, column, total, _WIDTH)
        self._steps.launch(vector, column)
        with _fused.device_of(vector):
            note[(1,)](
                sent.size, report.energy, report.gram, self._history, self._count, capacity,
                self._row.size, 2, _fused.power_of_two(capacity),
                _fused.power_of_two(self._count),
            )  # fmt: skip
        return ()


class RecordedFoldStepper:
    """The `Stepper` of a search by folds on a GPU: squared loss, one target."""

    runners_up = ()

    def __init__(self, state: FoldState) -> None:
        self._state = state
        self._steps: RecordedFoldSteps | None = None
        self._version = -1

    def begin(self, last: int) -> Stop | None:
        """Send what candidates are left to the device."""
        state, steps = self._state, self._state.steps
        if steps is None or steps.folds is None or recorder_of(steps.location) is None:
            return Stop.NOT_AVAILABLE
        if state.gram.waiting.limit < _FEWEST_KEPT:
            return Stop.NOT_AVAILABLE
        if not state.size:
            return Stop.NEEDS_COLUMNS  # and the kernels are compiled by the host's step
        if self._steps is None or self._steps.folds is not steps.folds:
            addresses = steps.location.zeros(state.problem.n_features)
            self._steps, self._version = RecordedFoldSteps(steps, steps.folds, addresses), -1
        if state.size >= self._farthest(last):
            return Stop.DONE
        if self._version != state.gram.version:
            self._version = state.gram.version
            columns = dict(state.gram.waiting.in_memory())
            numbers = np.array([float(address_of(column)) for column in columns.values()])
            addresses = self._steps.addresses
            addresses[:] = 0.0
            put(addresses, np.array(list(columns), dtype=np.intp), numbers)
        rounding = LOSS_ROUNDING * state.initial_loss * state.loss_weight
        limits = Limits(float(state.target_energy[0]), rounding)
        self._steps.begin(state.size, state.barred, limits)
        return None

    def step(self, last: int) -> int | Stop:
        """Take the next of the steps in the queue."""
        state = self._state
        assert self._steps is not None
        assert state.steps is not None
        taken = self._steps.taken(state.size, self._farthest(last))
        if isinstance(taken, Stop):
            state.steps.fetch_report()
            return taken
        feature = int(taken.index[0])
        state.gram.take(feature, lambda _: (), 1)
        state.note_step(feature, taken.energy[:, None], taken.gram)
        return feature

    def _farthest(self, last: int) -> int:
        """Chosen features at most."""
        assert self._steps is not None
        return min(last, self._steps.folds.capacity, self._state.problem.n_available)


def suits_folds(state: FoldState, n_runners_up: int) -> bool:
    """Whether a GPU may choose for such a search."""
    is_plain = state.criterion_loss.name == "squared" and state.layout.costs is None
    return is_plain and not n_runners_up
