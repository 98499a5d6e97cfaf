"""A round of scores on a device, with the step that will most likely follow.

One transfer takes the candidates and their coefficients to the device, another brings everything
back that the driver decides by: losses, pivots, and the statistics of the model with the best of
these candidates, which is added before anybody has asked. Should another one be chosen, blocks are
values, and nothing is lost but a little time of the device.
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
from ._fused_round import FusedRound, FusedState, FusedTerms, can_fuse

# Recorded work that is not made of kernels reads all of the room for chosen columns: with more
# numbers in it than this, reading them takes longer than launching.
_RECORDED_ELEMENTS = 1 << 27
# With fewer numbers than this in X a step is a matter for the host.
_RECORDED_STEP_ELEMENTS = 1 << 15
# What was done once in this process without recording, so that all kernels are compiled and loaded.
_DONE: set[tuple[object, ...]] = set()


class Round(NamedTuple):
    """What a round found."""

    scores: Scores
    place: int  # of the best candidate
    pieces: list[Float]  # its z, a piece for each block
    moved: list[RowBlock]  # the blocks with it
    column: Float | None  # its column, if there is one block
    statistics: SampleStatistics  # of these blocks


class _Terms(NamedTuple):
    """What is sent to the device, one after the other in a vector."""

    numbers: Float  # (c) which features
    beta: Float  # (|S| × c), or more rows that are 0
    penalty: Float  # (c)
    shrinkage: Float  # (t × c)
    size: Float  # (1) |S|


class _Found(NamedTuple):
    """What is left on the device."""

    packed: Array  # all that the host asks for, in a row; on the host after recorded work
    columns: list[Any]  # of all candidates, (c × rows) for each block
    Z: list[Any]  # what is left of them
    moved: list[RowBlock]


def find(
    executor: Executor, blocks: Sequence[RowBlock], terms: _Terms, with_spread: bool
) -> _Found:
    """The round itself, all of it on the device."""
    room = _room_of(blocks, terms.numbers.shape[0])
    if room is not None:
        fused = FusedRound(blocks[0], room, terms.numbers.shape[0], with_spread)
        return _launched(fused, blocks[0], terms)
    return find_plainly(executor, blocks, terms, with_spread)


def can_find_lowest(blocks: Sequence[RowBlock]) -> bool:
    """Whether a device can find the candidates of lowest bound by itself and score them."""
    X = blocks[0].X
    is_there = len(blocks) == 1 and can_fuse(blocks[0], 1)
    return is_there and X.shape[0] * X.shape[1] >= _RECORDED_STEP_ELEMENTS


def _room_of(blocks: Sequence[RowBlock], c: int) -> Float | None:
    """The columns of the chosen features, where kernels can make such a round of them."""
    block = blocks[0]
    if len(blocks) > 1:
        return None
    if not can_fuse(block, c) or not block.columns.begins_with(block.chosen):
        return None
    return block.columns.room


def _launched(fused: FusedRound, block: RowBlock, terms: _Terms) -> _Found:
    """A round by kernels; what it found is in their memory."""
    anchor = None if block.anchor is None else block.anchor[0, :]
    fused.launch(FusedState(block.r[0, :], block.d, anchor), FusedTerms(*terms))
    moved = [_with_state(block, fused.state)]
    return _Found(fused.found, [fused.columns], [fused.Z], moved)


def find_plainly(
    executor: Executor, blocks: Sequence[RowBlock], terms: _Terms, with_spread: bool
) -> _Found:
    """The same, an operation at a time."""
    xp = blocks[0].X.place.xp
    indices = whole_numbers(terms.numbers)
    columns = executor.each(ask(RowBlock.gathered, indices), blocks)
    Z = executor.each(ask(RowBlock.without_chosen, terms.beta), blocks, columns)
    scores = make_scores(executor, blocks, Z, terms.penalty, terms.shrinkage, with_spread)
    losses = scores.losses
    best = xp.argmin(
        losses[0, :] if losses.shape[0] == 1 else xp.sum(losses, axis=0), axis=0, keepdims=True
    )

    def chosen(values: Float) -> Array:
        return take(values, best)[..., 0]

    pieces = executor.each(ask(RowBlock.row, best), blocks, Z)
    along = None
    if blocks[0].anchor is not None:
        norm = chosen(scores.norms)
        along = executor.total(ask(RowBlock.along), blocks, pieces).values / (
            norm + as_float(norm == 0.0)
        )
    question = ask(RowBlock.moved, chosen(scores.delta), chosen(scores.rho), along)
    moved = executor.each(question, blocks, pieces)
    statistics = executor.each(ask(RowBlock.statistics), moved)
    packed = flattened(
        xp.astype(best, xp.float64), *scores, *(sums for answer in statistics for sums in answer)
    )
    return _Found(packed, columns, Z, moved)


def make_scores(
    executor: Executor,
    blocks: Sequence[RowBlock],
    Z: list[Float],
    penalty: Float,
    shrinkage: Float,
    with_spread: bool,
) -> Scores:
    """Candidates from their z, where the blocks are."""
    norms, correlations = executor.total(ask(RowBlock.moments), blocks, Z)
    delta = norms + penalty
    rho = (correlations + shrinkage) / delta
    losses, mixed, fourth = executor.total(ask(RowBlock.losses, delta, rho, with_spread), blocks, Z)
    return Scores(losses, delta, rho, norms, correlations, mixed, fourth)


class Rounds:
    """Rounds of one search; those that are like many before are recorded."""

    def __init__(self) -> None:
        self._key: tuple[object, ...] = ()
        self._recorded: _Recorded | None = None
        self._held: list[Float] | None = None  # what the last recorded round found
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
        """A round, and the blocks as they are, which may have been moved in memory."""
        terms = _Terms(
            indices.astype(np.float64), beta, penalty, shrinkage, np.array([float(len(beta))])
        )
        recorded = self._recording(blocks, terms, with_spread)
        if recorded is None:
            moved = to_device(blocks[0].X.place, *terms)
            found = find(executor, blocks, _Terms(*moved), with_spread)
        else:
            blocks, found = recorded.run(blocks[0], terms)
        answer = _unpacked(found, len(blocks), *shrinkage.shape)
        self._held = None if recorded is None else answer.pieces
        return answer, blocks

    def _recording(
        self, blocks: list[RowBlock], terms: _Terms, with_spread: bool
    ) -> _Recorded | None:
        """The recorded round for such terms, if there is one or it is worth making."""
        if self._step is not None:
            return None  # whole steps are recorded: it is a second round, seldom enough
        block = blocks[0]
        recorder = recorder_of(block.X.place) if len(blocks) == 1 else None
        room = None if recorder is None else block.columns.room
        if recorder is None or room is None or not block.columns.begins_with(block.chosen):
            return None
        is_plain = not can_fuse(block, len(terms.numbers))
        if is_plain and room.shape[0] * room.shape[1] > _RECORDED_ELEMENTS:
            return None
        kind = (block.anchor is None, with_spread, block.weights is None, block.r.shape[0] == 1)
        key = (id(room), len(terms.numbers), *kind)
        if key != self._key:
            if self._recorded is not None and len(terms.numbers) != self._key[1]:
                return None  # a second round of a step: seldom enough
            self._key, self._recorded = key, None
        if self._recorded is None:
            self._recorded = _Recorded(recorder, block, room, terms, with_spread)
        return self._recorded

    def step(self, blocks: list[RowBlock], features: FusedFeatures, c: int) -> RecordedStep | None:
        """The recorded step for such blocks, if there can be one."""
        block = blocks[0]
        room = _room_of(blocks, c)
        if room is None or len(block.chosen) >= room.shape[0]:
            return None
        key = (id(room), c, id(features), block.anchor is None)
        if key != self._step_key:
            self._step_key, self._step = key, RecordedStep(block, room, features, c)
        return self._step

    def holds(self, pieces: list[Float]) -> bool:
        """Whether the next recorded round overwrites these."""
        return pieces is self._held


class _Memory:
    """Where recorded rounds of one block have what changes in it, before and after."""

    def __init__(self, block: RowBlock) -> None:
        self._block = block
        self.own = _state_of(block)
        self._current = _with_state(block, self.own)

    def found(self, state: Float, columns: Float, Z: Float) -> None:
        """Take what was recorded: a row for each candidate, made once."""
        self._state = state
        self._moved = _with_state(self._block, state)
        self._columns = [[columns[place, :] for place in range(columns.shape[0])]]
        self._Z = [[Z[place, :] for place in range(columns.shape[0])]]

    def take(self, block: RowBlock) -> None:
        """Copy r, d and anchor of a block to where the record has them."""
        if _is_same(block, self._moved):
            self.own[...] = self._state
        elif not _is_same(block, self._current):
            self.own[...] = _state_of(block)

    def block(self, chosen: tuple[int, ...]) -> RowBlock:
        """The block as the record has it."""
        return replace(self._current, chosen=chosen)

    def answer(self, packed: Float, chosen: tuple[int, ...]) -> tuple[list[RowBlock], _Found]:
        """The block as it is now, and what the round found."""
        moved = replace(self._moved, chosen=chosen)
        found = _Found(packed, self._columns, self._Z, [moved])
        return [self.block(chosen)], found


class _Recorded:
    """A round of one block, recorded."""

    def __init__(
        self,
        recorder: type[Replay],
        block: RowBlock,
        room: Float,
        terms: _Terms,
        with_spread: bool,
    ) -> None:
        t, c = terms.shrinkage.shape
        shapes = [(c,), (room.shape[0], c), (c,), (t, c), (1,)]
        sent = block.X.place.zeros(sum(int(np.prod(shape)) for shape in shapes))
        self._memory = _Memory(block)
        # Memory is taken before recording: from then on it would come from a pool of its own.
        fused = None
        if can_fuse(block, c):
            fused = FusedRound(block, room, c, with_spread)

        def work(sent: Array, own: Array) -> tuple[Array, ...]:
            now, received = _with_state(block, own), _Terms(*split(sent, shapes))
            if fused is not None:
                return (_launched(fused, now, received).packed,)
            found = find_plainly(SerialExecutor(), [now], received, with_spread)
            return found.packed, _state_of(found.moved[0]), found.columns[0], found.Z[0]

        kind = (*shapes, *_kind_of(block), with_spread)
        if kind not in _DONE:
            _DONE.add(kind)
            work(sent, self._memory.own)
        self._replay = recorder(work, (sent, self._memory.own))
        if fused is None:
            self._memory.found(*self._replay.outputs[1:])
        else:
            self._memory.found(fused.state, fused.columns, fused.Z)
        self._given = _Terms(*split(self._replay.given, shapes))
        # What is recorded goes on using all of this, and must be the only one to do so.
        self._kept = fused, room, block

    def run(self, block: RowBlock, terms: _Terms) -> tuple[list[RowBlock], _Found]:
        """The round for a block."""
        for room, term in zip(self._given, terms, strict=True):
            room[: len(term)] = term
        self._given.beta[len(terms.beta) :] = 0.0
        self._memory.take(block)
        return self._memory.answer(self._replay.run(), block.chosen)


class RecordedStep:
    """A round of one block for the candidates of lowest bound, with these bounds, recorded."""

    def __init__(self, block: RowBlock, room: Float, features: FusedFeatures, c: int) -> None:
        self._block, self._features = block, features
        self.room, self.c = room, c
        with_spread = features.vectors.spread is not None
        self.memory = _Memory(block)
        self.fused = FusedRound(block, room, c, with_spread, features.told_size(c))
        self.memory.found(self.fused.state, self.fused.columns, self.fused.Z)
        self._for_terms = features.memory(c)
        flags = features.has_anchor, with_spread
        self.kind = (c, room.shape, features.sent_size, *_kind_of(block), *flags)
        self._replay: Replay | None = None

    @property
    def has_anchor(self) -> bool:
        """Whether the block has one."""
        return self._block.anchor is not None

    @property
    def beta(self) -> Array:
        """Where coefficients of the candidates are left, (at least |S| × c)."""
        return self._for_terms[2]

    def launch(self, sent: Array, own: Array) -> tuple[Array]:
        """All kernels."""
        fused, features = self.fused, self._features
        terms = features.launch(sent, self._for_terms, fused.more, self.c)
        _launched(fused, _with_state(self._block, own), _Terms(*terms))
        features.remember(sent, fused.more, fused.found, self.c)
        return (fused.found,)

    def score_lowest(
        self, block: RowBlock, terms: BoundTerms, chosen: Chosen
    ) -> tuple[Round, Reported, list[RowBlock]]:
        """The round for a block, and the block as it is, which may have been moved in memory."""
        if self._replay is None:
            place = block.X.place
            recorder = recorder_of(place)
            assert recorder is not None
            inputs = place.zeros(self._features.sent_size), self.memory.own
            # Most steps are taken by the device itself: this may be the only other one.
            self._replay = recorder(self.launch, inputs, False)
        self._features.fill(self._replay.given, terms, chosen)
        self.memory.take(block)
        packed = self._replay.run()
        told = packed[-self.fused.more.shape[0] :]
        known = self._features.unpacked(told, self.c, len(block.chosen))
        blocks, found = self.memory.answer(packed, block.chosen)
        return _unpacked(found, 1, 1, self.c), known, blocks


def _kind_of(block: RowBlock) -> tuple[object, ...]:
    """What kernels for a block depend on."""
    flags = block.anchor is None, block.weights is None, block.means is None
    return (*block.X.shape, block.X.dtype, *flags)


def _state_of(block: RowBlock) -> Float:
    """All that changes in a block as one matrix, (t + 1 [+ t] × m)."""
    parts = [block.r, block.d[None, :]]
    return stacked(parts if block.anchor is None else [*parts, block.anchor])


def _is_same(one: RowBlock, other: RowBlock) -> bool:
    """Whether all that changes is the very same memory; a new anchor comes to r as it is."""
    return one.r is other.r and one.d is other.d and one.anchor is other.anchor


def _with_state(block: RowBlock, state: Float) -> RowBlock:
    """The block with that matrix for its own."""
    t = block.r.shape[0]
    anchor = None if block.anchor is None else state[t + 1 :, :]
    return replace(block, r=state[:t, :], d=state[t, :], anchor=anchor)


def _unpacked(found: _Found, n_blocks: int, t: int, c: int) -> Round:
    """On the host, from the one vector that is fetched."""
    (packed,) = to_host(found.packed)
    if t == 1:
        # losses, δ, ρ, ‖z‖², r·z, Σ r² z², Σ z⁴
        end = 1 + 7 * c
        table = packed[1:end].reshape(7, c)
        scores = Scores(table[:1], table[1], table[2:3], table[3], table[4:5], table[5:6], table[6])
    else:
        shapes = [(t, c), (c,), (t, c), (c,), (t, c), (t, c), (c,)]
        end = 1 + (4 * t + 3) * c
        scores = Scores(*split(packed[1:end], shapes))
    answers = []
    for _ in range(n_blocks):
        sums = packed[end : end + 6 * t].reshape(6, t)
        answers.append(SampleStatistics(*sums, *packed[end + 6 * t : end + 6 * t + 4].tolist()))
        end += 6 * t + 4
    place = int(packed[0])
    pieces = [_row(Z, place) for Z in found.Z]
    column = _row(found.columns[0], place) if n_blocks == 1 else None
    return Round(scores, place, pieces, found.moved, column, add_up(answers))


def _row(rows: Any, place: int) -> Float:
    """One of the rows of a matrix, or of a list of them."""
    row: Float = rows[place] if isinstance(rows, list) else rows[place, :]
    return row


def fetched_statistics(answer: SampleStatistics) -> SampleStatistics:
    """On the host, in one transfer."""
    return SampleStatistics._make(to_host(*answer))
