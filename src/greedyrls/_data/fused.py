"""A Triton kernel for V X in float64 that reads X once in its own type.

Converting X a tile at a time moves five times its bytes through the memory of the device; here
numbers are converted on their way to the tensor cores. Triton comes with PyTorch; without it, the
results are the same but slower.
"""

# Annotations of a kernel are Triton's own: they say what is compiled in.
# mypy: disable-error-code="untyped-decorator, no-untyped-def"

from __future__ import annotations

import importlib
import importlib.util
from functools import cache
from typing import Any

import array_api_compat

from .._base import Array, ArrayLocation

# Launch parameters that kernels share, also those of other packages. First, for sums over rows, V X
# by tensor cores: vectors at a time (more would not fit beside their tile of X, and fewer than the
# minimum cannot be multiplied), the tile of X, its warps, and the number of tiles in flight.
MOST_VECTORS = 64
LEAST_VECTORS = 16
SUM_ROWS = 16
SUM_COLUMNS = 128
SUM_WARPS = 4
SUM_STAGES = 3
# Programs that keep a large device busy: eight on each of 132 multiprocessors.
SUM_PROGRAMS = 1056
# The least number of rows of a program: each has its own sums, which are added up afterwards.
LEAST_PIECE_ROWS = 256
# Programs of kernels that read vectors over rows: with a million rows twice as many are faster (130
# instead of 144 µs).
ROW_PROGRAMS = 2112
# Chosen columns (or rows of the factor) that are loaded concurrently: one by one, each load would
# wait for memory.
AHEAD = 8

tl: Any = None  # Triton's language, once the kernel is made


@cache
def has_triton() -> bool:
    """Whether Triton can be imported."""
    return importlib.util.find_spec("triton") is not None


def runs_at(location: ArrayLocation) -> bool:
    """Whether kernels can be launched at a location: a GPU of PyTorch, with Triton."""
    return (
        array_api_compat.is_torch_namespace(location.xp)
        and location.device.type == "cuda"
        and has_triton()
    )


@cache
def _kernel() -> Any:
    """Return the kernel, which Triton compiles on first use."""
    global tl  # names in a kernel are looked up in its module
    triton = importlib.import_module("triton")
    tl = importlib.import_module("triton.language")

    @triton.jit
    def sums(
        X, V, W, products, squares, m, n, height, by_row, by_column, by_vector,
        given, count: tl.constexpr, rows: tl.constexpr, columns: tl.constexpr,
        with_squares: tl.constexpr,
    ):  # fmt: skip
        part = tl.program_id(1)
        i = tl.program_id(0) * columns + tl.arange(0, columns)
        v = tl.arange(0, count)
        j = tl.arange(0, rows)
        end = tl.minimum(part * height + height, m)
        total = tl.zeros((count, columns), tl.float64)
        total_squares = tl.zeros((16, columns), tl.float64)
        for top in range(part * height, end, rows):
            row = top + j
            is_row = row < end
            x = tl.load(
                X + row[:, None].to(tl.int64) * by_row + i[None, :].to(tl.int64) * by_column,
                mask=is_row[:, None] & (i < n)[None, :],
                other=0,
            ).to(tl.float64)
            y = tl.load(
                V + v[:, None].to(tl.int64) * by_vector + row[None, :],
                mask=is_row[None, :] & (v < given)[:, None],
                other=0.0,
            )
            total = tl.dot(y, x, total, out_dtype=tl.float64)
            if with_squares:
                w = tl.load(W + row, mask=is_row, other=0.0)
                first = tl.where((tl.arange(0, 16) == 0)[:, None], w[None, :], 0.0)
                total_squares = tl.dot(first, x * x, total_squares, out_dtype=tl.float64)
        place = products + part.to(tl.int64) * count * n
        tl.store(place + v[:, None].to(tl.int64) * n + i[None, :], total, mask=(i < n)[None, :])
        if with_squares:
            own = tl.sum(total_squares, axis=0)
            tl.store(squares + part.to(tl.int64) * n + i, own, mask=i < n)

    return sums


def fused_sums(V: Array, X: Array, weights: Array | None) -> tuple[Array, Array]:
    """Multiply V (c × m) by X (m × n), both on one GPU; with weights, also return Σ w x² (n).

    Partial sums are added up in a fixed order, so that results are reproducible.
    """
    import torch

    m, n = X.shape
    c = V.shape[0]
    count = LEAST_VECTORS
    while count < c:
        count *= 2
    V = V.contiguous()
    across = -(-n // SUM_COLUMNS)
    parts = max(1, min(m // LEAST_PIECE_ROWS, SUM_PROGRAMS // across))
    height = -(-m // (parts * SUM_ROWS)) * SUM_ROWS
    parts = -(-m // height)
    products = V.new_empty((parts, count, n))
    squares = V.new_empty((parts, n) if weights is not None else (1, 1))
    with torch.cuda.device(X.device):
        _kernel()[(across, parts)](
            X, V, V if weights is None else weights, products, squares, m, n, height,
            X.stride(0), X.stride(1), V.stride(0), c, count, SUM_ROWS, SUM_COLUMNS,
            weights is not None, num_warps=SUM_WARPS, num_stages=SUM_STAGES,
        )  # fmt: skip
    return products.sum(0)[:c], squares.sum(0)
