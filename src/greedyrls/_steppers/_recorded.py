"""Steps of a search that a GPU takes by itself, one after the other; the host hears of them later.

A recorded step is followed by a kernel that decides what the criterion and the state decide on the
host: whether no other candidate can be better, nothing ties, the pivot is to be trusted and its
Gram column is there. If all is plain it takes the feature into everything that has |S| numbers, and
two more kernels do the same in both spaces. If anything is in doubt nothing is changed, all further
steps under way do nothing, and the host takes that step as ever. So a step waits for no host, and
there is nothing to undo. For one target.
"""

# Annotations of a kernel are Triton's own: they say what is compiled in.
# mypy: disable-error-code="untyped-decorator, no-untyped-def"

from __future__ import annotations

import importlib
from functools import cache
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
    Float,
    address_of,
    location_of,
    note_transfer,
    put,
    recorder_of,
    split,
    to_host,
)
from .._criteria import (
    DRIFT_BOUND,
    MARGIN,
    DeviceRows,
    LeaveOneOut,
    SelectionState,
    bound_terms,
    first_width,
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
    device_of,
    power_of_two,
)
from ._stepper import Stop

# Steps launched at a time at most; half as many are under way while the host hears of the others.
_MOST_STEPS = 16
# Numbers told of a step.
_TOLD = 14
# Numbers that a program copies.
_COPIED = 1024

tl: Any = None  # Triton's language, once the kernels are made
# What was launched once in this process, so that its kernels are compiled and loaded.
_DONE: set[tuple[object, ...]] = set()


class Doubts(NamedTuple):
    """What a step must not exceed; `_choice`, `_state` and `_leave_one_out` say why."""

    tie: float
    tie_rounding: float
    margin: float
    refined_pivot: float
    drift: float
    smallest_d: float


class Taken(NamedTuple):
    """A step that was taken."""

    feature: int
    drift: float
    statistics: SampleStatistics  # of the model with it


class Start(NamedTuple):
    """What the steps start from, on the host but for the last two."""

    terms: BoundTerms
    chosen: Chosen
    energy: float  # of the target
    diagonal: Array  # (n)
    addresses: Array  # (n) of Gram columns; 0 of those that are not there


@cache
def _kernels() -> tuple[Any, ...]:
    """The kernels; compiled by Triton when they are first used."""
    global tl  # names in a kernel are looked up in its module
    triton = importlib.import_module("triton")
    tl = importlib.import_module("triton.language")

    @triton.jit
    def admit(
        sent, added, found, told, beta, floor, diagonal, barred, addresses, history, c, capacity,
        candidates: tl.constexpr, padded: tl.constexpr, ahead: tl.constexpr,
        height: tl.constexpr, told_numbers: tl.constexpr, tie: tl.constexpr,
        tie_rounding: tl.constexpr, margin: tl.constexpr, refined_pivot: tl.constexpr,
        drift_bound: tl.constexpr, smallest_d: tl.constexpr, sum_rounding: tl.constexpr,
        parallel: tl.constexpr, tiny: tl.constexpr,
    ):  # fmt: skip
        """Take the best candidate, if nothing is in doubt; else stop."""
        size = tl.load(sent).to(tl.int64)
        if size < 0:
            tl.store(added, -1.0)
            return
        inverse = sent + 7
        penalties = inverse + capacity * capacity
        weights = penalties + capacity
        overlaps = weights + capacity
        v = tl.arange(0, candidates)
        best = tl.load(found).to(tl.int64)
        losses = tl.load(found + 1 + v, mask=v < c, other=float("inf"))
        own = found + 1 + best
        loss = tl.load(own)
        delta = tl.load(own + c)
        rho = tl.load(own + 2 * c)
        norm = tl.load(own + 3 * c)
        inner = tl.load(own + 4 * c)
        mixed = tl.load(own + 5 * c)
        fourth = tl.load(own + 6 * c)
        sums = found + 1 + 7 * c
        r_r = tl.load(sums) + tiny
        g_r = tl.load(sums + 1)
        g_g = tl.load(sums + 2)
        largest = tl.load(sums + 8)
        index = tl.load(told + best).to(tl.int64)
        own_penalty = tl.load(floor + index)
        scale = tl.load(diagonal + index) + own_penalty
        drift = tl.abs(tl.load(told + c + 1 + best) - delta) / scale
        energy = tl.load(overlaps + capacity * capacity)
        limit = loss + (tie * loss + tie_rounding * tl.sqrt(loss * energy))
        rivals = tl.sum(((v != best) & (losses <= limit)).to(tl.int32), axis=0)
        address = tl.load(addresses + index)
        beyond = 1.7976931348623157e308
        is_plain = (rivals == 0) & (tl.load(told + c) > limit + margin * tl.load(sent + 1))
        is_plain = is_plain & (limit < beyond) & (delta >= refined_pivot * scale)
        is_plain = is_plain & (drift <= drift_bound)
        is_plain = is_plain & (tl.load(sums + 9) >= smallest_d) & (g_r < beyond)
        is_plain = is_plain & (tl.load(sums + 6) < beyond)
        row = history + size * told_numbers
        has_column = address > 0.0
        tl.store(row, tl.where(is_plain, tl.where(has_column, 1.0, 2.0), 0.0))
        is_plain = is_plain & has_column
        tl.store(row + 1, index.to(tl.float64))
        tl.store(row + 2, loss)
        tl.store(row + 3, drift)
        k = tl.arange(0, 16)
        tl.store(row + 4 + k, tl.load(sums + k, mask=k < 10, other=0.0), mask=k < 10)
        if is_plain:
            # What has |S| numbers: `FeatureSpace.add`.
            root = tl.sqrt(delta)
            step = rho * root
            q_q = norm / delta
            a = tl.arange(0, padded)
            is_a = a < size
            factor = told + 3 * c + 1 + best
            on_chosen = tl.load(factor + a * c, mask=is_a, other=0.0) / root
            overlap = on_chosen
            for first in range(0, size, ahead):
                for s in tl.static_range(ahead):
                    place = first + s
                    is_there = is_a & (0 * a + place < size)
                    column = tl.load(overlaps + place * capacity + a, mask=is_there, other=0.0)
                    share = tl.load(factor + place * c, mask=place < size, other=0.0) / root
                    overlap -= column * share
            b = tl.load(beta + a * c + best, mask=is_a, other=0.0)
            tl.store(inverse + size * capacity + a, -b / root, mask=is_a)
            tl.store(inverse + a * capacity + size, 0.0 * b, mask=is_a)
            tl.store(inverse + size * capacity + size, 1.0 / root)
            tl.store(overlaps + size * capacity + a, overlap, mask=is_a)
            tl.store(overlaps + a * capacity + size, overlap, mask=is_a)
            tl.store(overlaps + size * capacity + size, q_q)
            w = tl.load(weights + a, mask=is_a, other=0.0)
            tl.store(weights + a, w - b * rho, mask=is_a)
            tl.store(weights + size, rho)
            tl.store(penalties + size, own_penalty)
            # What vectors of n need: `FeatureSpace._slopes`, `_update_spread`.
            q_fourth = tl.sqrt(tl.sqrt(fourth)) / root
            lost = tl.abs(step) * q_fourth
            tl.store(added, size.to(tl.float64))
            tl.store(added + 1, index.to(tl.float64))
            tl.store(added + 2, root)
            tl.store(added + 3, lost)
            tl.store(added + 4, tl.sqrt(mixed / delta) + lost * q_fourth)
            tl.store(added + 5, q_fourth)
            tl.store(added + 6, address)
            slopes = added + 7
            tl.store(slopes, 1.0)
            tl.store(slopes + 1, 0.0)
            tl.store(slopes + 2, -q_q)
            tl.store(slopes + 3, 2.0)
            tl.store(slopes + 4, step)
            tl.store(slopes + 5, 0.0)
            tl.store(slopes + 6, inner / root - step * q_q)
            tl.store(slopes + 7, step)
            # How g is made of r and the anchor: `_criterion._approximation`.
            c1 = g_r / r_r
            c2 = 0.0 * c1
            square = (1.0 + sum_rounding) * g_g - c1 * g_r
            if height > 4:
                on_anchor = tl.load(told + 2 * c + 1 + best)
                along = tl.where(norm > 0.0, on_anchor / tl.where(norm > 0.0, norm, 1.0), 0.0)
                tl.store(slopes + 8, 0.0)
                tl.store(slopes + 9, along * root)
                a_r = tl.load(sums + 3)
                a_a = tl.load(sums + 5)
                slope = a_r / r_r
                across = a_a - slope * a_r
                a_g = tl.load(sums + 4) - slope * g_r
                c2 = a_g / (tl.abs(across) + parallel * a_a + tiny)
                c1 -= c2 * slope
                square += c2 * (c2 * across - 2.0 * a_g)
            left = slopes + 2 * height
            tl.store(left + a, on_chosen, mask=is_a)
            tl.store(left + capacity + a, on_chosen + overlap, mask=is_a)
            tl.store(left + 2 * capacity + size, index.to(tl.float64))
            tl.store(sent + 1, g_r)
            tl.store(sent + 2, 2.0 * c1)
            tl.store(sent + 3, 2.0 * c2)
            tl.store(sent + 4, 2.0 * tl.sqrt(tl.maximum(square, sum_rounding * g_g)))
            tl.store(sent + 5, -1.0 / (largest * largest))
            tl.store(sent + 6, 2.0 / (largest * largest * largest))
            tl.store(barred + index, float("inf"))
            tl.store(sent, (size + 1).to(tl.float64))
        else:
            tl.store(added, -1.0)
            tl.store(sent, -1.0)

    @triton.jit
    def keep(added, found, columns, room, state, own, m, total, rows: tl.constexpr):
        """The column of the feature among the chosen ones, and the block with it as the block."""
        size = tl.load(added).to(tl.int64)
        if size < 0:
            return
        j = tl.program_id(0).to(tl.int64) * rows + tl.arange(0, rows)
        best = tl.load(found).to(tl.int64)
        column = tl.load(columns + best * m + j, mask=j < m, other=0.0)
        tl.store(room + size * m + j, column, mask=j < m)
        tl.store(own + j, tl.load(state + j, mask=j < total, other=0.0), mask=j < total)

    return admit, keep


class RecordedSteps:
    """The recorded step with what follows it, and the steps that are under way."""

    def __init__(self, step: RecordedStep, features: FusedFeatures, doubts: Doubts) -> None:
        self.step, self._features, self._doubts = step, features, doubts
        capacity = features.capacity
        self._shapes = [*features.sent_shapes, (capacity, capacity), (1,)]
        new = features.vectors.L.new_zeros
        self._sent = new((sum(int(np.prod(shape)) for shape in self._shapes),))
        self._given = np.zeros(self._sent.shape)
        self._added = features.new_added()
        self._history = new((capacity, _TOLD))
        self._rows = np.zeros((capacity, _TOLD))
        self._replay: Any = None
        self._vectors: tuple[Array, Array] | None = None
        self._end = 0  # |S| after all steps that are under way
        self._known = 0  # |S| up to which rows are on the host
        self._count = 2
        self._coming: list[tuple[int, Any, Any]] = []

    @property
    def room(self) -> int:
        """Chosen features at most."""
        return min(self._features.capacity, int(self.step.room.shape[0]))

    def begin(self, block: RowBlock, start: Start) -> None:
        """Make ready for steps from here."""
        s = len(start.chosen.features)
        numbers = split(self._given, self._shapes)
        self._features.fill(self._given, start.terms, start.chosen)
        numbers[-2][:s, :s] = start.chosen.overlap
        numbers[-1][0] = start.energy
        chosen = np.zeros(self._features.capacity)
        chosen[:s] = start.chosen.features
        (location, added) = location_of(self._sent), split(self._added, self._features.added_shapes)
        self._sent[:] = _there(location, self._given)
        added[-1][:] = _there(location, chosen)
        self.step.memory.take(block)
        if self._vectors is None or any(
            one is not other
            for one, other in zip(self._vectors, (start.diagonal, start.addresses), strict=True)
        ):
            self._vectors = start.diagonal, start.addresses
            self._replay = None
        self._known = self._end = s
        self._count = 2
        self._coming = []

    def launch(self, most: int) -> None:
        """Have some more steps taken, and their rows sent."""
        if self._replay is None:
            recorder = recorder_of(location_of(self._sent))
            assert recorder is not None
            kind = (*self.step.kind, "steps")
            self._replay = recorder(
                self._work, (self._sent, self.step.memory.state), kind in _DONE, False
            )
            _DONE.add(kind)
        count = min(self._count, most)
        self._count = min(_MOST_STEPS, 2 * self._count)
        for _ in range(count):
            self._replay.start()
        begin, self._end = self._end, self._end + count
        self._coming.append((self._end, *_rows_under_way(self._history[begin : self._end])))

    def taken(self, size: int, last: int) -> Taken | Stop:
        """The step from a model of `size` features, or why it is left to the host.

        No step that is under way leads beyond `last` features.
        """
        if size >= self._known:
            self._hear(last)
        if size >= self._known:
            return Stop.DONE
        row = self._rows[size].tolist()
        if row[0] != 1.0:
            return Stop.NEEDS_COLUMNS if row[0] == 2.0 else Stop.IN_DOUBT
        sums = self._rows[size, 4:10].reshape(6, 1)
        return Taken(int(row[1]), row[3], SampleStatistics(*sums, *row[10:]))

    def _hear(self, last: int) -> None:
        """Wait for the next rows, with more steps under way meanwhile."""
        while len(self._coming) < 2 and self._end < last:
            self.launch(last - self._end)
        if self._coming:
            end, rows, event = self._coming.pop(0)
            if event is not None:
                event.synchronize()
            note_transfer()
            self._rows[self._known : end] = rows
            self._known = end

    def settled(self, chosen: tuple[int, ...]) -> tuple[RowBlock, Chosen]:
        """The block and what has |S| numbers after these features, which were all taken."""
        s = len(chosen)
        (sent,) = to_host(self._sent)
        _, inverse, penalties, weights, overlap, _ = split(sent, self._shapes)
        known = inverse[:s, :s], penalties[:s], weights[:s], overlap[:s, :s]
        return self.step.memory.block(chosen), Chosen(*known, chosen)

    def _work(self, sent: Array, own: Array) -> tuple[()]:
        step, known, c = self.step, self._features.vectors, self.step.c
        assert self._vectors is not None
        diagonal, addresses = self._vectors
        step.launch(sent, own)
        fused = step.fused
        m, total = fused.columns.shape[1], own.shape[0] * own.shape[1]
        admit, keep = _kernels()
        with device_of(sent):
            # A single warp: what it reads of `sent` is read before it is written.
            admit[(1,)](
                sent, self._added, fused.found, fused.more, step.beta, known.penalty, diagonal,
                known.barred, addresses, self._history, c, self._features.capacity,
                power_of_two(c), power_of_two(self._features.capacity), _fused.AHEAD,
                self._features.height, _TOLD, *self._doubts, SUM_ROUNDING, PARALLEL, TINY,
                num_warps=1,
            )  # fmt: skip
            keep[(-(-total // _COPIED),)](
                self._added, fused.found, fused.columns, step.room, fused.state, own, m, total,
                _COPIED,
            )  # fmt: skip
        self._features.launch_follow(self._added)
        return ()


def _there(location: Any, values: Float) -> Array:
    """A copy on the device."""
    return location.xp.from_numpy(values).to(location.device)


def _rows_under_way(rows: Array) -> tuple[Float, Any]:
    """Rows on their way to the host, and the event to wait for."""
    import torch

    if not rows.is_cuda:
        return rows.numpy().copy(), None
    pinned = torch.empty_like(rows, device="cpu", pin_memory=True)
    pinned.copy_(rows, non_blocking=True)
    cuda: Any = torch.cuda
    event = cuda.Event()
    event.record(cuda.current_stream(rows.device))
    return pinned.numpy(), event


class RecordedStepper:
    """The `Stepper` of a search on a GPU: leave-one-out with squared loss, one target."""

    def __init__(self, state: SelectionState, criterion: LeaveOneOut) -> None:
        self._state = state
        self._steps: RecordedSteps | None = None
        # Candidates of a round, and where other steps begin: those that score every candidate.
        self._c = first_width(state, 1)
        self._end = min(criterion.bounded_sizes(state), state.problem.n_available - self._c)
        # Where the device finds the Gram column of a feature, (n); 0 if there is none.
        self._addresses: Float | None = None
        self._version = -1

    def begin(self, last: int) -> Stop | None:
        """Send what steps from here need."""
        state, rows, features = self._state, self._state.samples, self._state.features
        if not isinstance(rows, DeviceRows) or not isinstance(features, DeviceFeatures):
            return Stop.NOT_AVAILABLE
        kernels = features.fused
        if kernels is None or len(state.data.constant):
            return Stop.NOT_AVAILABLE
        if not state.gram.waiting:
            return Stop.NEEDS_COLUMNS
        step = rows.recorded_step(kernels, self._c)
        if step is None or kernels.has_anchor != step.has_anchor:
            return Stop.NOT_AVAILABLE
        if self._steps is None or self._steps.step is not step:
            self._steps = RecordedSteps(step, kernels, _doubts())
        if state.size >= self._farthest(last):
            return Stop.DONE
        energy = float(state.target_energy[0])
        self._steps.begin(
            rows.blocks[0],
            Start(
                bound_terms(state),
                features.of_chosen,
                energy,
                features.diagonal,
                self._gram_addresses(),
            ),
        )
        return None

    def step(self, last: int) -> int | Stop:
        """The next of the steps that are under way."""
        state, rows, features = self._state, self._state.samples, self._state.features
        assert self._steps is not None
        assert isinstance(rows, DeviceRows)
        assert isinstance(features, DeviceFeatures)
        taken = self._steps.taken(state.size, self._farthest(last))
        if isinstance(taken, Stop):
            block, chosen = self._steps.settled(tuple(features.selected))
            rows.take_block(block)
            features.take_chosen(chosen)
            return taken
        rows.exact_evaluations += self._c
        state.gram.take(taken.feature, lambda _: (), 1)
        features.note(taken.feature)
        state.largest_drift = max(state.largest_drift, taken.drift)
        state.statistics = taken.statistics
        return taken.feature

    def _farthest(self, last: int) -> int:
        """Chosen features at most."""
        assert self._steps is not None
        return min(last, self._end, self._steps.room)

    def _gram_addresses(self) -> Float:
        gram = self._state.gram
        if self._addresses is None:
            self._addresses = self._state.features.location.zeros(self._state.problem.n_features)
        if self._version != gram.version:
            self._version = gram.version
            self._addresses[:] = 0.0
            columns = gram.waiting
            numbers = np.array([float(address_of(column)) for column in columns.values()])
            put(self._addresses, np.array(list(columns), dtype=np.intp), numbers)
        return self._addresses


def _doubts() -> Doubts:
    """When a step is not left to a device."""
    return Doubts(TIE, TIE_ROUNDING, MARGIN, REFINED_PIVOT, DRIFT_BOUND, SMALLEST_D)
