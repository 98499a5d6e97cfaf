"""A Triton kernel that adds a feature on the held-out rows of all splits, reading rows once.

`_fold_steps` has the same computation, an operation at a time, which moves some twenty vectors over
the rows beside the chosen columns. Here a program computes z of some rows, updates r, stores the
column, and adds up ‖z‖², r·z and the new ‖r‖². For one target; partial sums are added up in a fixed
order.
"""

from __future__ import annotations

from typing import NamedTuple

from .._base import Array, Float, location_of, namespace_of
from .._data import Matrix
from .._data import fused as _fused
from ._answers import StepSums
from ._held_out import HeldOutRows

# Rows that a program computes at a time.
_ROWS = 256


class StepNumbers(NamedTuple):
    """The numbers that a step is sent, (1) each."""

    feature: Array
    size: Array  # |S|


class FusedStep:
    """The kernel for one search, with X, its held-out rows and the shift."""

    def __init__(self, X: Array, split: HeldOutRows, shift: Float) -> None:
        self._X, self._split, self._shift = X, split, shift
        count, _, self._height = split.r.shape
        tiles = -(-self._height // _ROWS)
        self._tiles = -(-tiles * count // _fused.ROW_PROGRAMS)
        self._parts = -(-tiles // self._tiles)
        # Allocated before recording, during which memory would come from a separate pool.
        self._pieces = location_of(split.r).empty((3, count, self._parts))

    def launch(self, sent: StepNumbers, means: Float, recurrences: Float, beta: Float) -> StepSums:
        """Update the rows; return sums for one target.

        recurrences (K × … × n) begin with δ, ‖z‖² and τ of all features.
        """
        pieces = self.move(sent, means, recurrences, beta)
        norms, inner, energy = namespace_of(beta).sum(pieces, axis=2)
        return StepSums(norms, inner[:, None], energy[:, None])

    def move(self, sent: StepNumbers, means: Float, recurrences: Float, beta: Float) -> Float:
        """The same, returning partial sums (3 × K × parts)."""
        from ._kernels import move

        X, split = self._X, self._split
        (buffer,) = split.columns.buffers
        with _fused.device_of(X):
            move[(self._parts, len(buffer))](
                X, X.stride(0), X.stride(1), split.rows, split.weights, split.r, buffer,
                buffer.shape[1], *sent, means, self._shift, recurrences,
                recurrences.shape[1], beta, self._pieces,
                len(buffer), self._height, means.shape[1], self._tiles, _ROWS, _fused.AHEAD,
            )  # fmt: skip
        return self._pieces


def can_fuse(X: Matrix, n_targets: int) -> bool:
    """Whether the kernel supports such steps: one target, a GPU of PyTorch, and Triton."""
    return _fused.reads(X) and n_targets == 1
