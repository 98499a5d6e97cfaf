"""Triton kernels for the recurrences of all splits, in place of ninety small operations.

`FoldSpace.move` has the same computation. A first kernel computes β of the feature, a second
updates the numbers of all candidates, a third adds up their losses over the splits. For one target
and P = αI.
"""

from __future__ import annotations

from typing import NamedTuple

from .._base import Array, Float, Layout
from .._data import fused as _fused
from .._rows import StepNumbers
from ._fold_space import FoldSpace

# Features that a program updates.
_WIDTH = 128


class AddedNumbers(NamedTuple):
    """Numbers of the feature that is added, in one split."""

    root: float  # √δ
    rho: float
    mean: float  # over the training rows
    test_x: float  # Σ x over the held-out rows


class StepReport(NamedTuple):
    """The results of a step that are sent to the host."""

    energy: Float  # (K × t) ‖r‖² on the held-out rows
    pivots: Float  # (n) δ divided by A_ii, the smallest of all splits
    losses: Float  # (t × n) held-out sums of squares with each candidate added
    gram: Float  # (capacity) of the last feature with the chosen ones, over all rows


def report_layout(space: FoldSpace) -> Layout[StepReport]:
    """Return the layout of what a step reports."""
    count, t, n = space.tau.shape
    return Layout(StepReport, (count, t), (n,), (t, n), (space.capacity,))


class FusedFolds:
    """The kernels for the recurrences of one search."""

    def __init__(self, space: FoldSpace, order: Array) -> None:
        """`order` (capacity) are the chosen features, to which each step appends one."""
        self._space, self._order = space, order
        self._count, _, self._n = space.tau.shape
        self.shape, self.capacity = (self._count, self._n), space.capacity
        capacity, location = space.capacity, space.location
        self._padded = _fused.power_of_two(capacity)
        self._programs = -(-self._n // _WIDTH)
        # Allocated before recording, during which memory would come from a separate pool.
        self.beta = location.zeros((self._count, capacity))
        self._left = location.zeros((self._count, 2, capacity))
        self._numbers = location.zeros((self._count, len(AddedNumbers._fields)))
        self._floor = location.full(1, space.penalty.diagonal)
        layout = report_layout(space)
        self.packed = location.zeros(layout.size)
        self.report = layout.views(self.packed)

    def lean(self, sent: StepNumbers) -> Float:
        """Compute β of a feature, (K × capacity)."""
        from ._fold_kernels import lean

        space = self._space
        with _fused.device_of(self.packed):
            lean[(self._count,)](
                sent.feature, sent.size, space._L, space._V, space._inverse, space._overlap,
                space.means, space._test_x, space.rows, self.beta, self._left,
                self._numbers, self._n, space.capacity, self._padded, _fused.AHEAD,
            )  # fmt: skip
        return self.beta

    def follow(self, sent: StepNumbers, sums: Float, pieces: Float) -> Array:
        """Update everything; returns the packed report.

        sums (2K + 1 × n) are products with the feature over training, held-out and all rows,
        pieces (3 × K × parts) partial sums of what `StepSums` has.
        """
        from ._fold_kernels import follow, report

        space, n, capacity = self._space, self._n, self._space.capacity
        parts = pieces.shape[2]
        with _fused.device_of(self.packed):
            follow[(self._programs, self._count)](
                sent.feature, sent.size, sums, space._L, space._V, space._inverse, space._overlap,
                space._weights, space.means, space._train_weight, space._test_weight,
                space._test_x, self._floor, space.rows, space.energy, self.beta, self._left,
                self._numbers, pieces, n, capacity, self._count, parts, _WIDTH, self._padded,
                _fused.power_of_two(parts), _fused.AHEAD,
            )  # fmt: skip
            report[(self._programs,)](
                sent.feature, sent.size, sums, self._order, space.scale, space.rows, space.energy,
                *self.report, n, capacity, self._count,
                _WIDTH, self._padded, _fused.power_of_two(self._count), _fused.AHEAD,
            )  # fmt: skip
        return self.packed


def can_follow(space: FoldSpace) -> bool:
    """Whether the kernels support such recurrences, on a GPU where others run."""
    return space.tau.shape[1] == 1 and space.penalty.is_diagonal and space.pairs is None
