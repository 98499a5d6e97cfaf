"""Triton kernels for a round of scores: every vector over samples is read once or twice.

`_rounds.find_plainly` has the same computation, an operation at a time, and moves some twenty
vectors of m for every candidate. Here one kernel computes z with its moments, a second the losses,
and a third the step that will most likely follow, with its sums. Each is followed by a small kernel
that adds up partial sums in a fixed order. For one target.
"""

# Annotations of a kernel are Triton's own: they say what is compiled in.
# mypy: disable-error-code="untyped-decorator, no-untyped-def"

from __future__ import annotations

import importlib
from contextlib import nullcontext
from functools import cache
from typing import Any, NamedTuple

from .._base import Array, Float
from .._data import fused as _fused
from ._blocks import RowBlock

# Numbers of z (candidates × rows) that a program computes at a time, and its minimum of rows.
_PROGRAM_ELEMENTS = 1024
_LEAST_PROGRAM_ROWS = 128
# Partial sums added up at a time.
_PIECES = 128
_SUMMED = 1024
# The largest number of candidates of a round: more would not fit into the registers.
_MOST = 16
_SUMS = 10  # number of statistics

tl: Any = None  # Triton's language, once the kernels are made
three_sums: Any = None  # shared by two of them


class FusedTerms(NamedTuple):
    """The terms that the host sends, on the device."""

    numbers: Float  # (c)
    beta: Float  # (at least |S| × c)
    penalty: Float  # (c)
    shrinkage: Float  # (1 × c)
    size: Float  # (1) |S|


class FusedState(NamedTuple):
    """The changing state of a block, vectors (m)."""

    r: Float
    d: Float
    anchor: Float | None


@cache
def _kernels() -> tuple[Any, ...]:
    """Return the kernels, which Triton compiles on first use."""
    global tl, three_sums  # names in a kernel are looked up in its module
    triton = importlib.import_module("triton")
    tl = importlib.import_module("triton.language")

    @triton.jit
    def leave(
        X, by_row, by_column, means, roots, room, r, anchor, numbers, beta, size, columns, Z,
        pieces, m, tiles, c, candidates: tl.constexpr, rows: tl.constexpr, ahead: tl.constexpr,
        has_means: tl.constexpr, has_roots: tl.constexpr, has_anchor: tl.constexpr,
    ):  # fmt: skip
        """Compute x and z of all candidates, and partial sums of ‖z‖², r·z and a·z."""
        part = tl.program_id(0)
        v = tl.arange(0, candidates)
        is_v = v < c
        index = tl.load(numbers + v, mask=is_v, other=0.0).to(tl.int64)
        chosen = tl.load(size).to(tl.int64)
        if chosen < 0:
            return  # the search waits for the host: `_speculation`
        norms = tl.zeros((candidates,), tl.float64)
        inner = tl.zeros((candidates,), tl.float64)
        along = tl.zeros((candidates,), tl.float64)
        for tile in range(0, tiles):
            j = (part * tiles + tile) * rows + tl.arange(0, rows)
            is_j = j < m
            is_there = is_v[:, None] & is_j[None, :]
            x = X + index[:, None] * by_column + j[None, :].to(tl.int64) * by_row
            z = tl.load(x, mask=is_there, other=0).to(tl.float64)
            if has_means:
                z -= tl.load(means + index, mask=is_v, other=0.0)[:, None]
            if has_roots:
                z *= tl.load(roots + j, mask=is_j, other=0.0)[None, :]
            out = v[:, None].to(tl.int64) * m + j[None, :]
            tl.store(columns + out, z, mask=is_there)
            for first in range(0, chosen, ahead):
                for s in tl.static_range(ahead):
                    place = first + s
                    is_b = is_v & (0 * v + place < chosen)
                    b = tl.load(beta + place * c + v, mask=is_b, other=0.0)
                    is_x = is_j & (0 * j + place < chosen)
                    column = tl.load(room + place * m + j, mask=is_x, other=0.0)
                    z -= b[:, None] * column[None, :]
            z = tl.where(is_there, z, 0.0)
            tl.store(Z + out, z, mask=is_there)
            norms += tl.sum(z * z, axis=1)
            inner += tl.sum(z * tl.load(r + j, mask=is_j, other=0.0)[None, :], axis=1)
            if has_anchor:
                along += tl.sum(z * tl.load(anchor + j, mask=is_j, other=0.0)[None, :], axis=1)
        place = pieces + part * 3 * candidates + v
        tl.store(place, norms)
        tl.store(place + candidates, inner)
        tl.store(place + 2 * candidates, along)

    @triton.jit
    def three_sums(pieces, parts, candidates: tl.constexpr, some: tl.constexpr):
        """Add up the partial sums of all programs in a fixed order, three for every candidate."""
        v = tl.arange(0, candidates)
        p = tl.arange(0, some)
        one = tl.zeros((some, candidates), tl.float64)
        two = tl.zeros((some, candidates), tl.float64)
        three = tl.zeros((some, candidates), tl.float64)
        for first in range(0, parts, some):
            is_p = (first + p < parts)[:, None]
            place = pieces + (first + p)[:, None] * 3 * candidates + v[None, :]
            one += tl.load(place, mask=is_p, other=0.0)
            two += tl.load(place + candidates, mask=is_p, other=0.0)
            three += tl.load(place + 2 * candidates, mask=is_p, other=0.0)
        return tl.sum(one, axis=0), tl.sum(two, axis=0), tl.sum(three, axis=0)

    @triton.jit
    def measure(
        pieces, parts, penalty, shrinkage, found, along, c,
        candidates: tl.constexpr, some: tl.constexpr,
    ):  # fmt: skip
        """Compute δ, ρ, ‖z‖², r·z and (a·z)/‖z‖² of all candidates."""
        v = tl.arange(0, candidates)
        is_v = v < c
        norm, product, on_anchor = three_sums(pieces, parts, candidates, some)
        delta = norm + tl.load(penalty + v, mask=is_v, other=1.0)
        rho = (product + tl.load(shrinkage + v, mask=is_v, other=0.0)) / delta
        place = found + 1 + v
        tl.store(place + c, delta, mask=is_v)
        tl.store(place + 2 * c, rho, mask=is_v)
        tl.store(place + 3 * c, norm, mask=is_v)
        tl.store(place + 4 * c, product, mask=is_v)
        share = on_anchor / tl.where(norm == 0.0, 1.0, norm)
        tl.store(along + v, share, mask=is_v)

    @triton.jit
    def lose(
        Z, r, d, found, size, pieces, m, tiles, c,
        candidates: tl.constexpr, rows: tl.constexpr, with_spread: tl.constexpr,
    ):  # fmt: skip
        """Compute partial sums of the leave-one-out errors, Σ r² z² and Σ z⁴."""
        if tl.load(size) < 0.0:
            return
        part = tl.program_id(0)
        v = tl.arange(0, candidates)
        is_v = v < c
        inverse = (1.0 / tl.load(found + 1 + c + v, mask=is_v, other=1.0))[:, None]
        rho = tl.load(found + 1 + 2 * c + v, mask=is_v, other=0.0)[:, None]
        losses = tl.zeros((candidates,), tl.float64)
        mixed = tl.zeros((candidates,), tl.float64)
        fourth = tl.zeros((candidates,), tl.float64)
        for tile in range(0, tiles):
            j = (part * tiles + tile) * rows + tl.arange(0, rows)
            is_j = j < m
            is_there = is_v[:, None] & is_j[None, :]
            z = tl.load(Z + v[:, None].to(tl.int64) * m + j[None, :], mask=is_there, other=0.0)
            own = tl.load(r + j, mask=is_j, other=0.0)[None, :]
            rest = tl.load(d + j, mask=is_j, other=1.0)[None, :]
            squares = z * z
            error = (z * rho - own) / (squares * inverse - rest)
            losses += tl.sum(error * error, axis=1)
            if with_spread:
                mixed += tl.sum(squares * (own * own), axis=1)
                fourth += tl.sum(squares * squares, axis=1)
        place = pieces + part * 3 * candidates + v
        tl.store(place, losses)
        tl.store(place + candidates, mixed)
        tl.store(place + 2 * candidates, fourth)

    @triton.jit
    def rank(pieces, parts, found, c, candidates: tl.constexpr, some: tl.constexpr):
        """Compute losses and spread of all candidates, and the index of the best."""
        v = tl.arange(0, candidates)
        is_v = v < c
        loss, mixed, fourth = three_sums(pieces, parts, candidates, some)
        tl.store(found + 1 + v, loss, mask=is_v)
        tl.store(found + 1 + 5 * c + v, mixed, mask=is_v)
        tl.store(found + 1 + 6 * c + v, fourth, mask=is_v)
        # NaN is no candidate; the largest number exceeds any loss.
        beyond = 1.7976931348623157e308
        best = tl.argmin(tl.where(is_v & (loss < beyond), loss, beyond), axis=0)
        tl.store(found, best.to(tl.float64))

    @triton.jit
    def advance(
        weights, r, d, anchor, Z, found, size, along, state, pieces, parts, m, tiles, c,
        rows: tl.constexpr, has_weights: tl.constexpr, has_anchor: tl.constexpr,
    ):  # fmt: skip
        """Update the block for the best candidate, and compute partial sums of the statistics."""
        if tl.load(size) < 0.0:
            return
        part = tl.program_id(0)
        best = tl.load(found).to(tl.int32)
        delta = tl.load(found + 1 + c + best)
        rho = tl.load(found + 1 + 2 * c + best)
        share = tl.load(along + best)
        r_r = tl.zeros((rows,), tl.float64)
        g_r = tl.zeros((rows,), tl.float64)
        g_g = tl.zeros((rows,), tl.float64)
        a_r = tl.zeros((rows,), tl.float64)
        a_g = tl.zeros((rows,), tl.float64)
        a_a = tl.zeros((rows,), tl.float64)
        squares = tl.zeros((rows,), tl.float64)
        weighted = tl.zeros((rows,), tl.float64)
        largest = tl.full((rows,), float("-inf"), tl.float64)
        smallest = tl.full((rows,), float("inf"), tl.float64)
        for tile in range(0, tiles):
            j = (part * tiles + tile) * rows + tl.arange(0, rows)
            is_j = j < m
            z = tl.load(Z + best.to(tl.int64) * m + j, mask=is_j, other=0.0)
            own = tl.load(r + j, mask=is_j, other=0.0) - rho * z
            rest = tl.load(d + j, mask=is_j, other=1.0) - (z * z) / delta
            tl.store(state + j, own, mask=is_j)
            tl.store(state + m + j, rest, mask=is_j)
            error = own / rest
            g = error / rest
            loss = error * error
            r_r += own * own
            g_r += loss
            g_g += g * g
            squares += loss * loss
            if has_weights:
                weighted += loss * tl.load(weights + j, mask=is_j, other=0.0)
            else:
                weighted += loss
            if has_anchor:
                a = tl.load(anchor + j, mask=is_j, other=0.0) - share * z
                tl.store(state + 2 * m + j, a, mask=is_j)
                a_r += a * own
                a_g += a * g
                a_a += a * a
            largest = tl.maximum(largest, tl.where(is_j, rest, float("-inf")))
            smallest = tl.minimum(smallest, tl.where(is_j, rest, float("inf")))
        place = pieces + part
        tl.store(place, tl.sum(r_r, axis=0))
        tl.store(place + parts, tl.sum(g_r, axis=0))
        tl.store(place + 2 * parts, tl.sum(g_g, axis=0))
        tl.store(place + 3 * parts, tl.sum(a_r, axis=0))
        tl.store(place + 4 * parts, tl.sum(a_g, axis=0))
        tl.store(place + 5 * parts, tl.sum(a_a, axis=0))
        tl.store(place + 6 * parts, tl.sum(squares, axis=0))
        tl.store(place + 7 * parts, tl.sum(weighted, axis=0))
        tl.store(place + 8 * parts, tl.max(largest, axis=0))
        tl.store(place + 9 * parts, tl.min(smallest, axis=0))

    @triton.jit
    def add_up(pieces, parts, sums, some: tl.constexpr):
        """Combine the parts of one of the statistics: eight sums, a maximum and a minimum."""
        number = tl.program_id(0)
        p = tl.arange(0, some)
        totals = tl.zeros((some,), tl.float64)
        most = tl.full((some,), float("-inf"), tl.float64)
        least = tl.full((some,), float("inf"), tl.float64)
        for first in range(0, parts, some):
            is_p = first + p < parts
            values = tl.load(pieces + number * parts + first + p, mask=is_p, other=0.0)
            totals += values
            most = tl.maximum(most, tl.where(is_p, values, float("-inf")))
            least = tl.minimum(least, tl.where(is_p, values, float("inf")))
        result = tl.where(number == 8, tl.max(most, axis=0), tl.sum(totals, axis=0))
        tl.store(sums + number, tl.where(number == 9, tl.min(least, axis=0), result))

    return leave, measure, lose, rank, advance, add_up


class FusedRound:
    """The memory and kernels of a round of c candidates of one block."""

    def __init__(
        self, block: RowBlock, room: Array, c: int, with_spread: bool, more: int = 0
    ) -> None:
        self._X = block.X.device_array
        self._block, self._room = block, room
        self._m, self._c, self._with_spread = block.X.shape[0], c, with_spread
        self._candidates = 2
        while self._candidates < c:
            self._candidates *= 2
        self._rows = max(_LEAST_PROGRAM_ROWS, _PROGRAM_ELEMENTS // self._candidates)
        tiles = -(-self._m // self._rows)
        self._tiles = -(-tiles // _fused.ROW_PROGRAMS)
        self._parts = -(-tiles // self._tiles)
        new = room.new_empty
        has_anchor = block.anchor is not None
        self.columns = new((c, self._m))
        self.Z = new((c, self._m))
        self._pieces = new((self._parts, max(_SUMS, 3 * self._candidates)))
        self._along = new((c,))
        # Followed by `more` numbers that are sent to the host together with these.
        self.found = new((1 + 7 * c + _SUMS + more,))
        self.more = self.found[1 + 7 * c + _SUMS :]
        self.state = new((3 if has_anchor else 2, self._m))

    def launch(self, state: FusedState, terms: FusedTerms) -> None:
        """Fill `found` up to `more`, laid out as `_rounds` packs it, `state`, `Z` and `columns`."""
        import torch

        X, block, Z, m, c = self._X, self._block, self.Z, self._m, self._c
        pieces, parts, tiles, found = self._pieces, self._parts, self._tiles, self.found
        candidates, rows = self._candidates, self._rows
        nothing = self._along
        means = nothing if block.means is None else block.means
        weights = nothing if block.weights is None else block.weights
        roots = nothing if block.root_weights is None else block.root_weights
        anchor = nothing if state.anchor is None else state.anchor
        flags = block.means is not None, block.weights is not None, state.anchor is not None
        leave, measure, lose, rank, advance, add_up = _kernels()
        with torch.cuda.device(X.device) if X.is_cuda else nullcontext():
            leave[(parts,)](
                X, X.stride(0), X.stride(1), means, roots, self._room, state.r, anchor,
                terms.numbers, terms.beta, terms.size, self.columns, Z, pieces, m, tiles, c,
                candidates, rows, _fused.AHEAD, *flags,
            )  # fmt: skip
            measure[(1,)](
                pieces, parts, terms.penalty, terms.shrinkage, found, self._along, c, candidates,
                _PIECES,
            )  # fmt: skip
            lose[(parts,)](
                Z, state.r, state.d, found, terms.size, pieces, m, tiles, c, candidates, rows,
                self._with_spread,
            )  # fmt: skip
            rank[(1,)](pieces, parts, found, c, candidates, _PIECES)
            advance[(parts,)](
                weights, state.r, state.d, anchor, Z, found, terms.size, self._along, self.state,
                pieces, parts, m, tiles, c, rows, *flags[1:],
            )  # fmt: skip
            add_up[(_SUMS,)](pieces, parts, found[1 + 7 * c :], _SUMMED)


def can_fuse(block: RowBlock, c: int) -> bool:
    """Whether the kernels support such rounds: one target, a GPU of PyTorch, and Triton."""
    return (
        block.X.device_array is not None
        and _fused.runs_at(block.X.location)
        and block.X.dtype in (block.X.location.xp.float32, block.X.location.xp.float64)
        and block.r.shape[0] == 1
        and c <= _MOST
    )
