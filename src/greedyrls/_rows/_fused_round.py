"""Triton kernels for a round of scores: every vector over samples is read once or twice.

`_rounds.find_plainly` has the same computation, an operation at a time, and moves some twenty
vectors of m for every candidate. Here one kernel computes z with its moments, a second the losses,
and a third the step that will most likely follow, with its sums. Each is followed by a small kernel
that adds up partial sums in a fixed order. For one target.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from .._base import Array, Float, Layout
from .._data import fused as _fused
from ._answers import SampleStatistics
from ._blocks import RowBlock

# Numbers of z (candidates × rows) that a program computes at a time, and its minimum of rows.
_PROGRAM_ELEMENTS = 1024
_LEAST_PROGRAM_ROWS = 32
# Numbers of partial sums added up at a time, and warps for this.
_PIECES = 4096
_SUM_WARPS = 8
_SUMMED = 1024
# The largest number of candidates of a round: more would not fit into the registers.
_MOST = 32
_SUMS = len(SampleStatistics._fields)  # for one target


class RoundTerms(NamedTuple):
    """The terms of a round, on the device."""

    numbers: Float  # (c) which features
    beta: Float  # (|S| × c), or padded with rows of 0
    penalty: Float  # (c)
    shrinkage: Float  # (t × c)
    size: Float  # (1) |S|


class Packed(NamedTuple):
    """The results of a round, in the vector that is fetched."""

    best: Float  # (1) index of the best candidate
    scores: Float  # (4t + 3 × c) rows of `Scores`
    statistics: Float  # (blocks × 6t + 4)


@cache
def packed_layout(n_blocks: int, t: int, c: int) -> Layout[Packed]:
    """Return the layout of the results for c candidates of t targets."""
    return Layout(Packed, (1,), (4 * t + 3, c), (n_blocks, 6 * t + 4))


class FusedRound:
    """The memory and kernels of a round of c candidates of one block."""

    def __init__(
        self,
        block: RowBlock,
        room: Array,
        c: int,
        with_spread: bool,
        more: int = 0,
        n_states: int = 1,
    ) -> None:
        """With two states, the block passed to `launch` is in the first.

        It is in the second where |S| is odd: what follows from one is written to the other.
        """
        self._X = block.X.device_array
        self._room = room
        self._m, self._c, self._with_spread = block.X.shape[0], c, with_spread
        self._candidates = _fused.power_of_two(c)
        self._rows = max(_LEAST_PROGRAM_ROWS, _PROGRAM_ELEMENTS // self._candidates)
        self._some = max(128, _PIECES // self._candidates)
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
        layout = packed_layout(1, 1, c)
        self.found = new((layout.size + more,))
        self.packed, self.more = layout.views(self.found), self.found[layout.size :]
        self.states = new((n_states, 3 if has_anchor else 2, self._m))
        self.state = self.states[0, :, :]
        self._jump = self.state.shape[0] * self._m if n_states > 1 else 0

    def launch(self, block: RowBlock, terms: RoundTerms) -> None:
        """Fill `found` up to `more`, `state`, `Z` and `columns` from a block as it is."""
        from ._kernels import add_up, advance, leave, lose, measure, rank

        X, Z, m, c = self._X, self.Z, self._m, self._c
        pieces, parts, tiles = self._pieces, self._parts, self._tiles
        best, scores, statistics = self.packed
        candidates, rows = self._candidates, self._rows
        nothing = self._along
        r, d = block.r[0, :], block.d
        means = nothing if block.means is None else block.means
        weights = nothing if block.weights is None else block.weights
        roots = nothing if block.root_weights is None else block.root_weights
        anchor = nothing if block.anchor is None else block.anchor[0, :]
        flags = block.means is not None, block.weights is not None, block.anchor is not None
        with _fused.device_of(X):
            leave[(parts,)](
                X, X.stride(0), X.stride(1), means, roots, self._room, r, anchor,
                terms.numbers, terms.beta, terms.size, self.columns, Z, pieces, self._jump, m,
                tiles, c, candidates, rows, _fused.AHEAD, *flags,
            )  # fmt: skip
            measure[(1,)](
                pieces, parts, terms.penalty, terms.shrinkage, scores, self._along, c, candidates,
                self._some, num_warps=_SUM_WARPS,
            )  # fmt: skip
            lose[(parts,)](
                Z, r, d, scores, terms.size, pieces, self._jump, m, tiles, c, candidates, rows,
                self._with_spread,
            )  # fmt: skip
            rank[(1,)](pieces, parts, best, scores, c, candidates, self._some, num_warps=_SUM_WARPS)
            advance[(parts,)](
                weights, r, d, anchor, Z, best, scores, terms.size, self._along, self.state,
                pieces, self._jump, parts, m, tiles, c, rows, *flags[1:],
            )  # fmt: skip
            add_up[(_SUMS,)](pieces, parts, statistics, _SUMMED)


def can_fuse(block: RowBlock, c: int) -> bool:
    """Whether the kernels support such rounds: one target, a GPU of PyTorch, and Triton."""
    return _fused.reads(block.X) and block.r.shape[0] == 1 and c <= _MOST
