"""A round of scores on a device, together with the step that will most likely follow.

One transfer sends the candidates and their coefficients to the device, another returns everything
that the driver needs for a decision: losses, pivots, and the statistics of the model with the best
of these candidates, which is added speculatively. If another one is chosen, the result is
discarded: blocks are immutable, and only a little time of the device is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import (
    Array,
    Executor,
    Float,
    Layout,
    Replay,
    SerialExecutor,
    add_up,
    as_float,
    ask,
    flattened,
    recorder_of,
    split,
    stacked,
    take,
    to_device,
    to_host,
    whole_numbers,
)
from ._answers import SampleStatistics, Scores
from ._blocks import RowBlock
from ._fused_features import BoundTerms, Chosen, FusedFeatures, Reported
from ._fused_round import FusedRound, RoundTerms, can_fuse, packed_layout
from ._row_sums import sample_statistics
from ._scores import anchor_products, centred_columns, make_scores, row_of, without_chosen

# Recorded work without Triton kernels reads the whole buffer of chosen columns: if it has more
# numbers than this, reading them takes longer than launching the operations.
_RECORDED_ELEMENTS = 1 << 27
# With fewer numbers than this in X, a step is faster on the host.
_RECORDED_STEP_ELEMENTS = 1 << 15
# Kinds of work that ran once in this process without recording: their kernels are loaded.
_DONE: set[tuple[object, ...]] = set()


class Round(NamedTuple):
    """The results of a round."""

    scores: Scores
    best: int  # index of the best candidate
    pieces: list[Float]  # its z, a piece for each block
    moved: list[RowBlock]  # the blocks with it added
    column: Float | None  # its column, if there is one block
    statistics: SampleStatistics  # of these blocks


class _DeviceRound(NamedTuple):
    """The results of a round on the device."""

    packed: Array  # all numbers for the host, in a vector; on the host after recorded work
    columns: list[Any]  # of all candidates, (c × rows) for each block
    Z: list[Any]  # z of all candidates, likewise
    moved: list[RowBlock]


def find(
    executor: Executor, blocks: Sequence[RowBlock], terms: RoundTerms, with_spread: bool
) -> _DeviceRound:
    """Compute a round on the device."""
    buffer = _chosen_buffer(blocks, terms.numbers.shape[0])
    if buffer is not None:
        fused = FusedRound(blocks[0], buffer, terms.numbers.shape[0], with_spread)
        fused.launch(blocks[0], terms)
        moved = _with_state(blocks[0], fused.state)
        return _DeviceRound(fused.found, [fused.columns], [fused.Z], [moved])
    return find_plainly(executor, blocks, terms, with_spread)


def can_find_lowest(blocks: Sequence[RowBlock]) -> bool:
    """Whether a device can find the candidates of lowest bound by itself and score them."""
    X = blocks[0].X
    is_there = len(blocks) == 1 and can_fuse(blocks[0], 1)
    return is_there and X.shape[0] * X.shape[1] >= _RECORDED_STEP_ELEMENTS


def _chosen_buffer(blocks: Sequence[RowBlock], c: int) -> Float | None:
    """Return the buffer of chosen columns if Triton kernels can compute such a round, else None."""
    block = blocks[0]
    can_launch = len(blocks) == 1 and can_fuse(block, c)
    return block.columns.room if can_launch and block.columns.begins_with(block.chosen) else None


def find_plainly(
    executor: Executor, blocks: Sequence[RowBlock], terms: RoundTerms, with_spread: bool
) -> _DeviceRound:
    """Compute a round an operation at a time."""
    xp = blocks[0].X.location.xp
    indices = whole_numbers(terms.numbers)
    columns = executor.each(ask(centred_columns, indices), blocks)
    Z = executor.each(ask(without_chosen, terms.beta), blocks, columns)
    scores = make_scores(executor, blocks, Z, terms.penalty, terms.shrinkage, with_spread)
    losses = scores.losses
    best = xp.argmin(
        losses[0, :] if losses.shape[0] == 1 else xp.sum(losses, axis=0), axis=0, keepdims=True
    )

    def chosen(values: Float) -> Array:
        return take(values, best)[..., 0]

    pieces = executor.each(ask(row_of, best), blocks, Z)
    along = None
    if blocks[0].anchor is not None:
        norm = chosen(scores.norms)
        along = executor.total(anchor_products, blocks, pieces).values / (
            norm + as_float(norm == 0.0)
        )
    question = ask(RowBlock.moved, chosen(scores.delta), chosen(scores.rho), along)
    moved = executor.each(question, blocks, pieces)
    statistics = executor.each(sample_statistics, moved)
    packed = flattened(
        xp.astype(best, xp.float64), *scores, *(sums for answer in statistics for sums in answer)
    )
    return _DeviceRound(packed, columns, Z, moved)


class Rounds:
    """The rounds of one search; similar ones are recorded and replayed."""

    def __init__(self) -> None:
        self._key: tuple[object, ...] = ()
        self._recorded: _Recorded | None = None
        self._held: list[Float] | None = None  # z of the last recorded round
        self._step_key: tuple[object, ...] = ()
        self._step: RecordedStep | None = None

    def score(
        self,
        executor: Executor,
        blocks: list[RowBlock],
        indices: NDArray[np.intp],
        beta: Float,
        penalty: Float,
        shrinkage: Float,
        with_spread: bool,
    ) -> tuple[Round, list[RowBlock]]:
        """Compute a round; also return the blocks, which may have been moved in memory."""
        terms = RoundTerms(
            indices.astype(np.float64), beta, penalty, shrinkage, np.array([float(len(beta))])
        )
        recorded = self._recording(blocks, terms, with_spread)
        if recorded is None:
            moved = to_device(blocks[0].X.location, *terms)
            results = find(executor, blocks, RoundTerms(*moved), with_spread)
        else:
            blocks, results = recorded.run(blocks[0], terms)
        answer = _unpacked(results, len(blocks), *shrinkage.shape)
        self._held = None if recorded is None else answer.pieces
        return answer, blocks

    def _recording(
        self, blocks: list[RowBlock], terms: RoundTerms, with_spread: bool
    ) -> _Recorded | None:
        """Return the recorded round for such terms, or None if recording is not worthwhile."""
        if self._step is not None:
            return None  # whole steps are recorded: this is a rare second round
        block = blocks[0]
        recorder = recorder_of(block.X.location) if len(blocks) == 1 else None
        buffer = None if recorder is None else block.columns.room
        if recorder is None or buffer is None or not block.columns.begins_with(block.chosen):
            return None
        is_plain = not can_fuse(block, len(terms.numbers))
        if is_plain and buffer.shape[0] * buffer.shape[1] > _RECORDED_ELEMENTS:
            return None
        kind = (block.anchor is None, with_spread, block.weights is None, block.r.shape[0] == 1)
        key = (id(buffer), len(terms.numbers), *kind)
        if key != self._key:
            if self._recorded is not None and len(terms.numbers) != self._key[1]:
                return None  # a second round of a step, which is rare
            self._key, self._recorded = key, None
        if self._recorded is None:
            self._recorded = _Recorded(recorder, block, buffer, terms, with_spread)
        return self._recorded

    def step(self, blocks: list[RowBlock], features: FusedFeatures, c: int) -> RecordedStep | None:
        """Return the recorded step for such blocks, or None if it is not possible."""
        block = blocks[0]
        buffer = _chosen_buffer(blocks, c)
        if buffer is None or len(block.chosen) >= buffer.shape[0]:
            return None
        key = (id(buffer), c, id(features), block.anchor is None)
        if key != self._step_key:
            self._step_key, self._step = key, RecordedStep(block, buffer, features, c)
        return self._step

    def holds(self, pieces: list[Float]) -> bool:
        """Whether the next recorded round overwrites these arrays."""
        return pieces is self._held


class _Memory:
    """Fixed memory of recorded rounds for the state of one block, before and after."""

    def __init__(self, block: RowBlock) -> None:
        self._block = block
        self.state = _state_of(block)
        self._current = _with_state(block, self.state)

    def set_results(self, state: Float, columns: Float, Z: Float) -> None:
        """Store the recorded results, with views of the rows that are created once."""
        self._state_after = state
        self._moved = _with_state(self._block, state)
        self._columns = [[columns[index, :] for index in range(columns.shape[0])]]
        self._Z = [[Z[index, :] for index in range(columns.shape[0])]]

    def take(self, block: RowBlock) -> None:
        """Copy r, d and anchor of a block to the fixed memory."""
        if _is_same(block, self._moved):
            self.state[...] = self._state_after
        elif not _is_same(block, self._current):
            self.state[...] = _state_of(block)

    def block(self, chosen: tuple[int, ...]) -> RowBlock:
        """Return the block in the fixed memory."""
        return replace(self._current, chosen=chosen)

    def answer(self, packed: Float, chosen: tuple[int, ...]) -> tuple[list[RowBlock], _DeviceRound]:
        """Return the current block and the results of the round."""
        moved = replace(self._moved, chosen=chosen)
        results = _DeviceRound(packed, self._columns, self._Z, [moved])
        return [self.block(chosen)], results


class StepMemory:
    """Fixed memory of recorded steps for two states of one block: before a step, and after it.

    States with an even number of chosen features are in the first, so that nothing is copied.
    """

    def __init__(self, block: RowBlock, fused: FusedRound) -> None:
        self.states = fused.states
        self._blocks = [_with_state(block, self.states[number, :, :]) for number in range(2)]
        rows = range(fused.columns.shape[0])
        self._columns = [[fused.columns[index, :] for index in rows]]
        self._Z = [[fused.Z[index, :] for index in rows]]

    def take(self, block: RowBlock) -> None:
        """Copy r, d and anchor of a block to the fixed memory, if they are elsewhere."""
        number = len(block.chosen) % 2
        if not _is_same(block, self._blocks[number]):
            self.states[number, :, :] = _state_of(block)

    def block(self, chosen: tuple[int, ...], size: int) -> RowBlock:
        """Return the block in the memory for `size` features."""
        return replace(self._blocks[size % 2], chosen=chosen)

    def answer(self, packed: Float, chosen: tuple[int, ...]) -> tuple[list[RowBlock], _DeviceRound]:
        """Return the current block and the results of the round."""
        size = len(chosen)
        moved = self.block(chosen, size + 1)
        return [self.block(chosen, size)], _DeviceRound(packed, self._columns, self._Z, [moved])


class _Recorded:
    """A recorded round of one block."""

    def __init__(
        self,
        recorder: type[Replay],
        block: RowBlock,
        buffer: Float,
        terms: RoundTerms,
        with_spread: bool,
    ) -> None:
        t, c = terms.shrinkage.shape
        layout = Layout(RoundTerms, (c,), (buffer.shape[0], c), (c,), (t, c), (1,))
        sent = block.X.location.zeros(layout.size)
        self._memory = _Memory(block)
        # Allocated before recording, during which memory would come from a separate pool.
        fused = None
        if can_fuse(block, c):
            fused = FusedRound(block, buffer, c, with_spread)

        def work(sent: Array, state: Array) -> tuple[Array, ...]:
            now, received = _with_state(block, state), layout.views(sent)
            if fused is not None:
                fused.launch(now, received)
                return (fused.found,)
            results = find_plainly(SerialExecutor(), [now], received, with_spread)
            return results.packed, _state_of(results.moved[0]), results.columns[0], results.Z[0]

        kind = (t, c, *buffer.shape, *_kind_of(block), with_spread)
        if kind not in _DONE:
            _DONE.add(kind)
            work(sent, self._memory.state)
        self._replay = recorder(work, (sent, self._memory.state))
        if fused is None:
            self._memory.set_results(*self._replay.outputs[1:])
        else:
            self._memory.set_results(fused.state, fused.columns, fused.Z)
        self._host_terms = layout.views(self._replay.host_input)
        # The recorded work uses this memory, which must not be freed.
        self._kept = fused, buffer, block

    def run(self, block: RowBlock, terms: RoundTerms) -> tuple[list[RowBlock], _DeviceRound]:
        """Run the recorded round for a block."""
        for target, term in zip(self._host_terms, terms, strict=True):
            target[: len(term)] = term
        self._host_terms.beta[len(terms.beta) :] = 0.0
        self._memory.take(block)
        return self._memory.answer(self._replay.run(), block.chosen)


class RecordedStep:
    """A recorded round of one block that also computes the bounds of all candidates."""

    def __init__(self, block: RowBlock, room: Float, features: FusedFeatures, c: int) -> None:
        self._block, self._features = block, features
        self.room, self.c = room, c
        with_spread = features.vectors.spread is not None
        report = features.report(c)
        self.fused = FusedRound(block, room, c, with_spread, report.size, n_states=2)
        self.memory = StepMemory(block, self.fused)
        self._report, self.reported = report, report.views(self.fused.more)
        self._for_terms = features.memory(c)
        self.beta = self._for_terms.beta  # (at least |S| × c) coefficients of the candidates
        self.has_anchor = block.anchor is not None
        flags = features.has_anchor, with_spread
        self.kind = (c, room.shape, features.capacity, *_kind_of(block), *flags)
        self._replay: Replay | None = None

    def launch(self, sent: Array, states: Array) -> tuple[Array]:
        """Launch all kernels."""
        fused, features = self.fused, self._features
        terms = features.launch(sent, self._for_terms, self.reported, self.c)
        fused.launch(_with_state(self._block, states[0, :, :]), terms)
        features.remember(terms, fused.packed.scores)
        return (fused.found,)

    def score_lowest(
        self, block: RowBlock, terms: BoundTerms, chosen: Chosen
    ) -> tuple[Round, Reported, list[RowBlock]]:
        """The round for a block, and the block as it is, which may have been moved in memory."""
        if self._replay is None:
            location = block.X.location
            recorder = recorder_of(location)
            assert recorder is not None
            inputs = location.zeros(self._features.sent.size), self.memory.states
            # Most steps are speculative: this may be the only one that is not.
            self._replay = recorder(self.launch, inputs, False)
        self._features.fill(self._replay.host_input, terms, chosen)
        self.memory.take(block)
        packed = self._replay.run()
        reported = self._report.views(packed[-self._report.size :])
        reported = reported._replace(
            indices=reported.indices.astype(np.intp),
            beyond=float(reported.beyond[0]),
            factor=reported.factor[: len(block.chosen)],
        )
        blocks, results = self.memory.answer(packed, block.chosen)
        return _unpacked(results, 1, 1, self.c), reported, blocks


def _kind_of(block: RowBlock) -> tuple[object, ...]:
    """Return the properties of a block that its kernels depend on."""
    flags = block.anchor is None, block.weights is None, block.means is None
    return (*block.X.shape, block.X.dtype, *flags)


def _state_of(block: RowBlock) -> Float:
    """Return the changing state of a block as one matrix, (t + 1 [+ t] × m)."""
    parts = [block.r, block.d[None, :]]
    return stacked(parts if block.anchor is None else [*parts, block.anchor])


def _is_same(one: RowBlock, other: RowBlock) -> bool:
    """Whether two blocks share the memory of their state; a new anchor leaves r unchanged."""
    return one.r is other.r and one.d is other.d and one.anchor is other.anchor


def _with_state(block: RowBlock, state: Float) -> RowBlock:
    """Return the block with its state in a matrix, as made by `_state_of`."""
    t = block.r.shape[0]
    anchor = None if block.anchor is None else state[t + 1 :, :]
    return replace(block, r=state[:t, :], d=state[t, :], anchor=anchor)


def _unpacked(results: _DeviceRound, n_blocks: int, t: int, c: int) -> Round:
    """Fetch the results of a round in one vector, and unpack it."""
    (vector,) = to_host(results.packed)
    packed = packed_layout(n_blocks, t, c).views(vector)
    shapes = [(t, c), (c,), (t, c), (c,), (t, c), (t, c), (c,)]
    scores = Scores(*split(packed.scores.reshape(-1), shapes))
    answers = map(SampleStatistics.unpacked, packed.statistics)
    best = int(packed.best[0])
    pieces = [_row(Z, best) for Z in results.Z]
    column = _row(results.columns[0], best) if n_blocks == 1 else None
    return Round(scores, best, pieces, results.moved, column, add_up(answers))


def _row(rows: Any, index: int) -> Float:
    """Return a row of a matrix or of a list of rows."""
    row: Float = rows[index] if isinstance(rows, list) else rows[index, :]
    return row


def fetched_statistics(answer: SampleStatistics) -> SampleStatistics:
    """Move statistics to the host in one transfer."""
    return SampleStatistics._make(to_host(*answer))
