"""A Triton kernel that adds a feature on the held-out rows of all splits, reading rows once.

`_fold_steps` has the same computation, an operation at a time, which moves some twenty vectors over
the rows beside the chosen columns. Here a program computes z of some rows, updates r, stores the
column, and adds up ‖z‖², r·z and the new ‖r‖². For one target; partial sums are added up in a fixed
order.
"""

# Annotations of a kernel are Triton's own: they say what is compiled in.
# mypy: disable-error-code="untyped-decorator, no-untyped-def"

from __future__ import annotations

import importlib
from contextlib import nullcontext
from functools import cache
from typing import Any

import array_api_compat

from .._base import Array, Float, location_of, namespace_of
from .._data import Matrix
from .._data import fused as _fused
from ._held_out import HeldOutRows

# Rows that a program computes at a time.
_ROWS = 256

tl: Any = None  # Triton's language, once the kernel is made


@cache
def _kernel() -> Any:
    """Return the kernel, which Triton compiles on first use."""
    global tl  # names in a kernel are looked up in its module
    triton = importlib.import_module("triton")
    tl = importlib.import_module("triton.language")

    @triton.jit
    def move(
        X, by_row, by_column, numbers, weights, r, room, capacity, sent, means, shift, delta, tau,
        beta, pieces, splits, height, n, tiles, rows: tl.constexpr, ahead: tl.constexpr,
    ):  # fmt: skip
        """Compute z, r and sums of some rows of a split; `sent` has the feature and |S|."""
        part = tl.program_id(0)
        split = tl.program_id(1).to(tl.int64)
        index = tl.load(sent).to(tl.int64)
        chosen = tl.load(sent + 1).to(tl.int64)
        own = split * n + index
        mean = tl.load(means + own)
        away = tl.load(shift + index)
        rho = tl.load(tau + own) / tl.load(delta + own)
        norms = tl.zeros((rows,), tl.float64)
        inner = tl.zeros((rows,), tl.float64)
        energy = tl.zeros((rows,), tl.float64)
        for tile in range(0, tiles):
            j = (part * tiles + tile) * rows + tl.arange(0, rows)
            is_j = j < height
            at = split * height + j
            row = tl.load(numbers + at, mask=is_j, other=0)
            x = tl.load(X + row * by_row + index * by_column, mask=is_j, other=0).to(tl.float64)
            x = (x - away) - mean
            columns = room + split * capacity * height + j
            tl.store(columns + chosen * height, x, mask=is_j)
            z = x
            for first in range(0, chosen, ahead):
                for s in tl.static_range(ahead):
                    place = first + s
                    is_there = place < chosen
                    b = tl.load(beta + split * capacity + place, mask=is_there, other=0.0)
                    is_x = is_j & (0 * j + place < chosen)
                    z -= b * tl.load(columns + place * height, mask=is_x, other=0.0)
            w = tl.load(weights + at, mask=is_j, other=0.0)
            before = tl.load(r + at, mask=is_j, other=0.0)
            after = before - rho * z
            tl.store(r + at, after, mask=is_j)
            z = tl.where(is_j, z, 0.0)
            after = tl.where(is_j, after, 0.0)
            norms += w * z * z
            inner += w * z * before
            energy += w * after * after
        place = pieces + split * tl.num_programs(0) + part
        step = splits * tl.num_programs(0)
        tl.store(place, tl.sum(norms, axis=0))
        tl.store(place + step, tl.sum(inner, axis=0))
        tl.store(place + 2 * step, tl.sum(energy, axis=0))

    return move


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

    def launch(
        self, sent: Float, means: Float, delta: Float, tau: Float, beta: Float
    ) -> tuple[Float, Float, Float]:
        """Update the rows; return ‖z‖² (K), r·z and ‖r‖² after the step (K × 1)."""
        import torch

        X, split = self._X, self._split
        (buffer,) = split.buffers
        with torch.cuda.device(X.device) if X.is_cuda else nullcontext():
            _kernel()[(self._parts, len(buffer))](
                X, X.stride(0), X.stride(1), split.rows, split.weights, split.r, buffer,
                buffer.shape[1], sent, means, self._shift, delta, tau, beta, self._pieces,
                len(buffer), self._height, means.shape[1], self._tiles, _ROWS, _fused.AHEAD,
            )  # fmt: skip
        norms, inner, energy = namespace_of(sent).sum(self._pieces, axis=2)
        return norms, inner[:, None], energy[:, None]


def can_fuse(X: Matrix, n_targets: int) -> bool:
    """Whether the kernel supports such steps: one target, a GPU of PyTorch, and Triton."""
    return (
        X.device_array is not None
        and array_api_compat.is_torch_namespace(X.location.xp)
        and X.device_array.is_cuda
        and X.dtype in (X.location.xp.float32, X.location.xp.float64)
        and n_targets == 1
        and _fused.has_triton()
    )
