"""The stepper of GPUs: they take steps of a search by themselves; the host reads the results later.

After a recorded step a kernel decides what `_leave_one_out` and `_state` decide on the host:
whether no other candidate can be better, nothing ties, the pivot is accurate and its Gram column is
available. If so, it adds the feature to all arrays of |S| numbers, and two more kernels update both
spaces. In case of doubt nothing is changed, all further steps in the queue are no-ops, and the host
takes that step as usual. So no step waits for the host, and nothing has to be undone. For one
target.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .._base import (
    PARALLEL,
    REFINED_PIVOT,
    SMALLEST_D,
    SUM_ROUNDING,
    TIE,
    TIE_ROUNDING,
    TINY,
    Array,
    Layout,
    address_of,
    location_of,
    pinned_like,
    put,
    recorder_of,
    send_pinned,
    to_device,
    to_host,
)
from .._criteria import (
    DRIFT_BOUND,
    MARGIN,
    DeviceRows,
    LeaveOneOut,
    SelectionState,
    best_first,
    bound_terms,
    first_width,
    lower_bounds,
)
from .._data import fused as _fused
from .._features import DeviceFeatures
from .._rows import (
    BoundTerms,
    Chosen,
    FusedFeatures,
    RecordedStep,
    RowBlock,
    SampleStatistics,
)
from ._queue import LACKS_COLUMN, PLAIN, StepQueue
from ._stepper import Stop

# Gram columns of the first pass at least: so many take as long as one.
_FIRST_COLUMNS = 16
# Numbers that a program copies.
_COPIED = 1024

# Kinds of steps launched in this process, whose kernels are compiled and loaded.
_LAUNCHED: set[tuple[object, ...]] = set()


class HistoryRow(NamedTuple):
    """A step as the device reports it."""

    outcome: Array  # (1)
    index: Array  # (1) of the feature
    drift: Array  # (1)
    sums: Array  # (10) statistics of the model with it


class Extra(NamedTuple):
    """Further arrays of recorded steps, after those of `Sent`."""

    overlap: Array  # (capacity × capacity)
    energy: Array  # (1) of the target


_N_SUMS = len(SampleStatistics._fields)
_ROW = Layout(HistoryRow, (1,), (1,), (1,), (_N_SUMS,))


class RecordedSteps:
    """A recorded step with its admission, and the steps in the queue."""

    def __init__(
        self, step: RecordedStep, features: FusedFeatures, diagonal: Array, addresses: Array
    ) -> None:
        """`addresses` (n) are those of Gram columns; 0 if a column is not available."""
        self.step, self._features = step, features
        self._vectors = diagonal, addresses
        capacity = features.capacity
        self.most_chosen = min(capacity, int(step.room.shape[0]))
        self._extra = Layout(Extra, (capacity, capacity), (1,))
        new = features.vectors.L.new_zeros
        self._sent = new((features.sent.size + self._extra.size,))
        self._staged = pinned_like(self._sent)
        self._added = features.new_added()
        self._history = new((capacity, _ROW.size))
        self._queue = StepQueue(self._history, self._record)

    def begin(self, block: RowBlock, terms: BoundTerms, chosen: Chosen, energy: float) -> None:
        """Prepare for steps from the current model; `energy` is that of the target."""
        s = len(chosen.features)
        self._features.fill(self._staged, terms, chosen)
        extra = self._extra_of(self._staged)
        extra.overlap[:s, :s] = chosen.overlap
        extra.energy[0] = energy
        send_pinned(self._staged, self._sent)
        if s:
            indices = chosen.features.astype(np.float64)
            (sent,) = to_device(location_of(self._sent), indices)
            self._features.added.views(self._added).chosen[:s] = sent
        self.step.memory.take(block)
        self._queue.begin(s)

    def _extra_of(self, vector: Array) -> Extra:
        return self._extra.views(vector[self._features.sent.size :])

    def _record(self) -> Any:
        """Record a step, whose first run launches the kernels if they may not be loaded."""
        recorder = recorder_of(location_of(self._sent))
        assert recorder is not None
        kind = (*self.step.kind, "steps")
        is_loaded = kind in _LAUNCHED
        _LAUNCHED.add(kind)
        return recorder(self._work, (self._sent, self.step.memory.states), is_loaded, False)

    def taken(self, size: int, last: int) -> HistoryRow | Stop:
        """Return the step from a model of `size` features, or why it is left to the host.

        No step in the queue leads beyond `last` features.
        """
        report = self._queue.report(size, last)
        if report is None:
            return Stop.DONE
        row = _ROW.views(report)
        self._best = int(row.index[0])
        if row.outcome != PLAIN:
            return Stop.NEEDS_COLUMNS if row.outcome == LACKS_COLUMN else Stop.IN_DOUBT
        return row

    @property
    def best(self) -> int:
        """The best candidate of the last step that was asked for, whether it was taken or not."""
        return self._best

    def settled(self, chosen: tuple[int, ...]) -> tuple[RowBlock, Chosen]:
        """Return the block and the arrays of |S| numbers after these features were added."""
        s = len(chosen)
        (vector,) = to_host(self._sent)
        sent, overlap = self._features.sent.views(vector), self._extra_of(vector).overlap
        known = sent.inverse[:s, :s], sent.penalties[:s], sent.weights[:s], overlap[:s, :s]
        return self.step.memory.block(chosen, s), Chosen(*known, chosen)

    def _work(self, vector: Array, states: Array) -> tuple[()]:
        """Launch a step: the round, the admission of its best candidate, and all updates."""
        from ._step_kernels import admit, keep

        step, features, c = self.step, self._features, self.step.c
        diagonal, addresses = self._vectors
        step.launch(vector, states)
        fused, data, capacity = step.fused, features.vectors, features.capacity
        added = features.added.views(self._added)
        m = fused.columns.shape[1]
        with _fused.device_of(vector):
            # A single warp: all its reads of `vector` precede its writes.
            admit[(1,)](
                *features.sent.views(vector), *self._extra_of(vector), *added, *fused.packed,
                *step.reported, step.beta, data.penalty, diagonal, data.barred, addresses,
                self._history, c, capacity, _fused.power_of_two(c), _fused.power_of_two(capacity),
                _fused.AHEAD, features.height, _N_SUMS, _ROW.size, TIE, TIE_ROUNDING, MARGIN,
                REFINED_PIVOT, DRIFT_BOUND, SMALLEST_D, SUM_ROUNDING, PARALLEL, TINY,
                sys.float_info.max, num_warps=1,
            )  # fmt: skip
            keep[(-(-m // _COPIED),)](
                added.numbers, fused.packed.best, fused.columns, step.room, m, _COPIED
            )
        features.launch_follow(self._added)
        return ()


class RecordedStepper:
    """The `Stepper` of a search on a GPU: leave-one-out with squared loss, one target."""

    runners_up = ()

    def __init__(self, state: SelectionState, criterion: LeaveOneOut) -> None:
        self._state = state
        self._steps: RecordedSteps | None = None
        # Candidates of a round, and the size from which every candidate is scored.
        self._c = first_width(state, 1)
        self._end = min(criterion.bounded_sizes(state), state.problem.n_available - self._c)
        # Device addresses of Gram columns, (n); 0 if a column is not available.
        self._addresses = state.features.location.zeros(state.problem.n_features)
        self._version = -1

    def begin(self, last: int) -> Stop | None:
        """Send the current model to the device."""
        state, rows, features = self._state, self._state.samples, self._state.features
        if not isinstance(rows, DeviceRows) or not isinstance(features, DeviceFeatures):
            return Stop.NOT_AVAILABLE
        kernels = features.fused
        if kernels is None or len(state.data.constant):
            return Stop.NOT_AVAILABLE
        if state.size and not len(state.gram.waiting):
            return Stop.NEEDS_COLUMNS
        step = rows.recorded_step(kernels, self._c)
        if step is None or kernels.has_anchor != step.has_anchor:
            return Stop.NOT_AVAILABLE
        if self._steps is None or self._steps.step is not step:
            self._steps = RecordedSteps(step, kernels, features.diagonal, self._addresses)
        if state.size >= self._farthest(last):
            return Stop.DONE
        if not len(state.gram.waiting):
            # Bounds of the empty model are nearly exact, so that the best candidate is among the
            # first. The host prepares the rest during this pass.
            state.gram.fetch_likely(partial(_likely, state), max(last, _FIRST_COLUMNS))
        self._update_addresses()
        energy = float(state.target_energy[0])
        self._steps.begin(rows.blocks[0], bound_terms(state), features.chosen, energy)
        return None

    def step(self, last: int) -> int | Stop:
        """Take the next of the steps in the queue."""
        state, rows, features = self._state, self._state.samples, self._state.features
        assert self._steps is not None
        assert isinstance(rows, DeviceRows)
        assert isinstance(features, DeviceFeatures)
        taken = self._steps.taken(state.size, self._farthest(last))
        if taken is Stop.NEEDS_COLUMNS:
            # Nothing else is in doubt: with the column the device takes the step again.
            self._settle(rows, features)
            best, remaining = self._steps.best, last - state.size
            state.gram.fetch_likely(partial(_likely, state), remaining, best)
            stop = self.begin(last)
            taken = self._steps.taken(state.size, self._farthest(last)) if stop is None else stop
        if isinstance(taken, Stop):
            self._settle(rows, features)
            return taken
        feature = int(taken.index[0])
        rows.exact_evaluations += self._c
        state.gram.take(feature, lambda _: (), 1)
        features.note(feature)
        state.largest_drift = max(state.largest_drift, float(taken.drift[0]))
        state.statistics = SampleStatistics.unpacked(taken.sums)
        return feature

    def _settle(self, rows: DeviceRows, features: DeviceFeatures) -> None:
        """Tell the rows and the features of the steps that were taken."""
        assert self._steps is not None
        block, chosen = self._steps.settled(tuple(features.selected))
        rows.take_block(block)
        features.take_chosen(chosen)

    def _farthest(self, last: int) -> int:
        """Chosen features at most."""
        assert self._steps is not None
        return min(last, self._end, self._steps.most_chosen)

    def _update_addresses(self) -> None:
        """Set the addresses of all Gram columns that are available."""
        if self._version != self._state.gram.version:
            self._version = self._state.gram.version
            self._addresses[:] = 0.0
            columns = dict(self._state.gram.waiting.in_memory())
            numbers = np.array([float(address_of(column)) for column in columns.values()])
            put(self._addresses, np.array(list(columns), dtype=np.intp), numbers)


def _likely(state: SelectionState, count: int) -> list[int]:
    """Return the features of lowest bound, which are likely chosen next."""
    return best_first(lower_bounds(state), count)
