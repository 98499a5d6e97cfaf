"""Speculative steps: a GPU takes steps of a search by itself; the host reads the results later.

After a recorded step a kernel decides what `_leave_one_out` and `_state` decide on the host:
whether no other candidate can be better, nothing ties, the pivot is accurate and its Gram column is
available. If so, it adds the feature to all arrays of |S| numbers, and two more kernels update both
spaces. In case of doubt nothing is changed, all further steps in the queue are no-ops, and the host
takes that step as usual. So no step waits for the host, and nothing has to be undone. For one
target.
"""

# Annotations of a kernel are interpreted by Triton: they name compile-time constants.
# mypy: disable-error-code="untyped-decorator, no-untyped-def"

from __future__ import annotations

import importlib
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from .._base import (
    PARALLEL,
    SUM_ROUNDING,
    TINY,
    Array,
    Float,
    location_of,
    note_transfer,
    recorder_of,
    split,
    to_host,
)
from .._data import fused as _fused
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

# The most steps launched at a time; half as many are queued while the host reads the others.
_MOST_STEPS = 16
# Numbers reported for each step.
_REPORTED = 14
# Numbers that a program copies.
_COPIED = 1024

tl: Any = None  # triton.language, once the kernels are created
# Kinds of steps launched in this process, whose kernels are compiled and loaded.
_LAUNCHED: set[tuple[object, ...]] = set()


class Doubts(NamedTuple):
    """The limits of a speculative step; `_choice`, `_state` and `_leave_one_out` explain them."""

    tie: float
    tie_rounding: float
    margin: float
    refined_pivot: float
    drift: float
    smallest_d: float


class Taken(NamedTuple):
    """A step that the device has taken."""

    feature: int
    loss: float
    drift: float
    statistics: SampleStatistics  # of the model with the feature


class Start(NamedTuple):
    """The state from which the steps start, on the host except for the last two."""

    terms: BoundTerms
    chosen: Chosen
    overlap: Float  # (|S| × |S|)
    features: Any  # (|S|) the chosen features
    energy: float  # of the target
    diagonal: Array  # (n)
    addresses: Array  # (n) of Gram columns; 0 if a column is not available


@cache
def _kernels() -> tuple[Any, ...]:
    """Return the kernels; Triton compiles them when they are first used."""
    global tl  # names in a kernel are looked up in its module
    triton = importlib.import_module("triton")
    tl = importlib.import_module("triton.language")

    @triton.jit
    def admit(
        sent, added, scored, reported, beta, floor, diagonal, barred, addresses, history, c,
        capacity, candidates: tl.constexpr, padded: tl.constexpr, ahead: tl.constexpr,
        height: tl.constexpr, report_width: tl.constexpr, tie: tl.constexpr,
        tie_rounding: tl.constexpr, margin: tl.constexpr, refined_pivot: tl.constexpr,
        drift_bound: tl.constexpr, smallest_d: tl.constexpr, sum_rounding: tl.constexpr,
        parallel: tl.constexpr, tiny: tl.constexpr,
    ):  # fmt: skip
        """Add the best candidate if nothing is in doubt; else stop."""
        size = tl.load(sent).to(tl.int64)
        if size < 0:
            tl.store(added, -1.0)
            return
        inverse = sent + 7
        penalties = inverse + capacity * capacity
        weights = penalties + capacity
        overlaps = weights + capacity
        v = tl.arange(0, candidates)
        best = tl.load(scored).to(tl.int64)
        losses = tl.load(scored + 1 + v, mask=v < c, other=float("inf"))
        of_best = scored + 1 + best
        loss = tl.load(of_best)
        delta = tl.load(of_best + c)
        rho = tl.load(of_best + 2 * c)
        norm = tl.load(of_best + 3 * c)
        inner = tl.load(of_best + 4 * c)
        mixed = tl.load(of_best + 5 * c)
        fourth = tl.load(of_best + 6 * c)
        sums = scored + 1 + 7 * c
        r_r = tl.load(sums) + tiny
        g_r = tl.load(sums + 1)
        g_g = tl.load(sums + 2)
        largest = tl.load(sums + 8)
        index = tl.load(reported + best).to(tl.int64)
        penalty = tl.load(floor + index)
        scale = tl.load(diagonal + index) + penalty
        drift = tl.abs(tl.load(reported + c + 1 + best) - delta) / scale
        energy = tl.load(overlaps + capacity * capacity)
        limit = loss + (tie * loss + tie_rounding * tl.sqrt(loss * energy))
        rivals = tl.sum(((v != best) & (losses <= limit)).to(tl.int32), axis=0)
        address = tl.load(addresses + index)
        beyond = 1.7976931348623157e308
        is_plain = (rivals == 0) & (tl.load(reported + c) > limit + margin * tl.load(sent + 1))
        is_plain = is_plain & (limit < beyond) & (delta >= refined_pivot * scale)
        is_plain = is_plain & (drift <= drift_bound) & (address > 0.0)
        is_plain = is_plain & (tl.load(sums + 9) >= smallest_d) & (g_r < beyond)
        is_plain = is_plain & (tl.load(sums + 6) < beyond)
        row = history + size * report_width
        tl.store(row, tl.where(is_plain, 1.0, 0.0))
        tl.store(row + 1, index.to(tl.float64))
        tl.store(row + 2, loss)
        tl.store(row + 3, drift)
        k = tl.arange(0, 16)
        tl.store(row + 4 + k, tl.load(sums + k, mask=k < 10, other=0.0), mask=k < 10)
        if is_plain:
            # Arrays of |S| numbers: `FeatureSpace.add`.
            root = tl.sqrt(delta)
            step = rho * root
            q_q = norm / delta
            a = tl.arange(0, padded)
            is_a = a < size
            factor = reported + 3 * c + 1 + best
            on_chosen = tl.load(factor + a * c, mask=is_a, other=0.0) / root
            overlap = on_chosen
            for first in range(0, size, ahead):
                for s in tl.static_range(ahead):
                    position = first + s
                    is_valid = is_a & (0 * a + position < size)
                    column = tl.load(overlaps + position * capacity + a, mask=is_valid, other=0.0)
                    share = tl.load(factor + position * c, mask=position < size, other=0.0) / root
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
            tl.store(penalties + size, penalty)
            # For vectors of n numbers: `FeatureSpace._slopes`, `_update_spread`.
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
            # Approximate g by r and the anchor: `_leave_one_out.approximation`.
            c1 = g_r / r_r
            c2 = 0.0 * c1
            square = (1.0 + sum_rounding) * g_g - c1 * g_r
            if height > 4:
                on_anchor = tl.load(reported + 2 * c + 1 + best)
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
    def keep(added, scored, columns, chosen, state, block, m, total, rows: tl.constexpr):
        """Append the feature's column to the chosen ones, and replace the block's state."""
        size = tl.load(added).to(tl.int64)
        if size < 0:
            return
        j = tl.program_id(0).to(tl.int64) * rows + tl.arange(0, rows)
        best = tl.load(scored).to(tl.int64)
        column = tl.load(columns + best * m + j, mask=j < m, other=0.0)
        tl.store(chosen + size * m + j, column, mask=j < m)
        tl.store(block + j, tl.load(state + j, mask=j < total, other=0.0), mask=j < total)

    return admit, keep


class Speculation:
    """A recorded step with its admission, and the steps in the queue."""

    def __init__(self, step: RecordedStep, features: FusedFeatures, doubts: Doubts) -> None:
        self.step, self._features, self._doubts = step, features, doubts
        capacity = features.capacity
        self._shapes = [*features.sent_shapes, (capacity, capacity), (1,)]
        new = features.vectors.L.new_zeros
        self._sent = new((sum(int(np.prod(shape)) for shape in self._shapes),))
        self._staged = np.zeros(self._sent.shape)
        self._added = features.new_added()
        self._history = new((capacity, _REPORTED))
        self._rows = np.zeros((capacity, _REPORTED))
        self._replay: Any = None
        self._vectors: tuple[Array, Array] | None = None
        self._end = 0  # |S| after all steps in the queue
        self._fetched = 0  # |S| up to which rows are on the host
        self._count = 2
        self._coming: list[tuple[int, Any, Any]] = []

    @property
    def has_anchor(self) -> bool:
        """Whether the block has an anchor."""
        return int(self.step.fused.state.shape[0]) > 2

    @property
    def most_chosen(self) -> int:
        """The largest number of chosen features."""
        return int(self.step.room.shape[0])

    def begin(self, block: RowBlock, start: Start) -> None:
        """Prepare for steps from the current model."""
        s = len(start.features)
        numbers = split(self._staged, self._shapes)
        self._features.fill(self._staged, start.terms, start.chosen)
        numbers[-2][:s, :s] = start.overlap
        numbers[-1][0] = start.energy
        chosen = np.zeros(self._features.capacity)
        chosen[:s] = start.features
        (location, added) = location_of(self._sent), split(self._added, self._features.added_shapes)
        self._sent[:] = _on_device(location, self._staged)
        added[-1][:] = _on_device(location, chosen)
        self.step.memory.take(block)
        if self._vectors is None or any(
            one is not other
            for one, other in zip(self._vectors, (start.diagonal, start.addresses), strict=True)
        ):
            self._vectors = start.diagonal, start.addresses
            self._replay = None
        self._fetched = self._end = s
        self._count = 2
        self._coming = []

    def launch(self, most: int) -> None:
        """Queue up to `most` more steps, and the transfer of their reports."""
        if self._replay is None:
            recorder = recorder_of(location_of(self._sent))
            assert recorder is not None
            kind = (*self.step.kind, "speculation")
            self._replay = recorder(
                self._work, (self._sent, self.step.memory.state), kind in _LAUNCHED, False
            )
            _LAUNCHED.add(kind)
        count = min(self._count, most)
        self._count = min(_MOST_STEPS, 2 * self._count)
        for _ in range(count):
            self._replay.start()
        begin, self._end = self._end, self._end + count
        self._coming.append((self._end, *_coming(self._history[begin : self._end])))

    def taken(self, size: int, last: int) -> Taken | None:
        """Return the step from a model of `size` features; None if it is left to the host.

        No step in the queue leads beyond `last` features.
        """
        if size >= self._fetched:
            self._wait(last)
        if size >= self._fetched:
            return None
        row = self._rows[size].tolist()
        if row[0] != 1.0:
            return None
        sums = self._rows[size, 4:10].reshape(6, 1)
        return Taken(int(row[1]), row[2], row[3], SampleStatistics(*sums, *row[10:]))

    def _wait(self, last: int) -> None:
        """Wait for the next reports, with more steps in the queue meanwhile."""
        while len(self._coming) < 2 and self._end < last:
            self.launch(last - self._end)
        if self._coming:
            end, rows, event = self._coming.pop(0)
            if event is not None:
                event.synchronize()
            note_transfer()
            self._rows[self._fetched : end] = rows
            self._fetched = end

    def finish_speculation(self, chosen: tuple[int, ...]) -> tuple[RowBlock, Chosen, Float]:
        """Return the block and the arrays of |S| numbers after these features were added."""
        s = len(chosen)
        (sent,) = to_host(self._sent)
        _, inverse, penalties, weights, overlap, _ = split(sent, self._shapes)
        return (
            self.step.memory.block(chosen),
            Chosen(inverse[:s, :s], penalties[:s], weights[:s]),
            overlap[:s, :s],
        )

    def _work(self, sent: Array, block: Array) -> tuple[()]:
        step, vectors, c = self.step, self._features.vectors, self.step.c
        assert self._vectors is not None
        diagonal, addresses = self._vectors
        step.launch(sent, block)
        fused = step.fused
        m, total = fused.columns.shape[1], block.shape[0] * block.shape[1]
        admit, keep = _kernels()
        with device_of(sent):
            # A single warp: all its reads of `sent` precede its writes.
            admit[(1,)](
                sent, self._added, fused.found, fused.more, step.beta, vectors.penalty, diagonal,
                vectors.barred, addresses, self._history, c, self._features.capacity,
                power_of_two(c), power_of_two(self._features.capacity), _fused.AHEAD,
                self._features.height, _REPORTED, *self._doubts, SUM_ROUNDING, PARALLEL, TINY,
                num_warps=1,
            )  # fmt: skip
            keep[(-(-total // _COPIED),)](
                self._added, fused.found, fused.columns, step.room, fused.state, block, m, total,
                _COPIED,
            )  # fmt: skip
        self._features.launch_follow(self._added)
        return ()


def _on_device(location: Any, values: Float) -> Array:
    """Return a copy on the device."""
    return location.xp.from_numpy(values).to(location.device)


def _coming(rows: Array) -> tuple[Float, Any]:
    """Start the transfer of rows to the host; returns them and the event to wait for."""
    import torch

    if not rows.is_cuda:
        return rows.numpy().copy(), None
    pinned = torch.empty_like(rows, device="cpu", pin_memory=True)
    pinned.copy_(rows, non_blocking=True)
    cuda: Any = torch.cuda
    event = cuda.Event()
    event.record(cuda.current_stream(rows.device))
    return pinned.numpy(), event
