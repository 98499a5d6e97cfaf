"""V X in float64 with X read once in its own type, by a Triton kernel; what all kernels share.

Converting X a tile at a time moves five times its bytes through the memory of the device; here
numbers are converted on their way to the tensor cores. Rows may be read in sets, wherever they are:
nothing of X is gathered before. Without Triton, which comes with PyTorch, nothing but time is lost.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import array_api_compat

from .._base import Array, ArrayLocation
from ._matrix import Matrix

# Launch parameters that kernels share, also those of other packages. First, for sums over rows, V X
# by tensor cores: vectors at a time (more would not fit beside their tile of X, and fewer than the
# minimum cannot be multiplied), the tile of X, its warps, and the number of tiles in flight.
MOST_VECTORS = 64
LEAST_VECTORS = 16
SUM_ROWS = 16
SUM_COLUMNS = 128
SUM_WARPS = 4
SUM_STAGES = 3
# Columns and rows of X that are gathered at a time.
GATHERED = 16
GATHERED_ROWS = 64
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


def reads(X: Matrix) -> bool:
    """Whether kernels can read X: floating-point numbers on such a GPU."""
    xp = X.location.xp
    return (
        X.device_array is not None and runs_at(X.location) and X.dtype in (xp.float32, xp.float64)
    )


def device_of(values: Array) -> AbstractContextManager[Any]:
    """Where kernels are launched."""
    import torch

    return torch.cuda.device(values.device) if values.is_cuda else nullcontext()


def positions(kind: Any, *names: str) -> list[Any]:
    """Return where a kernel finds fields of a tuple of numbers, as constants to be compiled in.

    They are to be global names of the kernel's module: Triton's cache knows of no others.
    """
    from triton.language import constexpr

    return [constexpr(kind._fields.index(name)) for name in names]


def power_of_two(count: int) -> int:
    """The least that is not smaller, and at least 2."""
    return 1 << max(1, (count - 1).bit_length())


def fused_columns(X: Array, numbers: Array) -> Array:
    """Columns of X (m × n), a tensor on a GPU, in float64 and one per row of the result."""
    import torch

    from ._sum_kernel import gather

    count, m = numbers.shape[0], X.shape[0]
    columns = X.new_empty((count, m), dtype=torch.float64)
    with device_of(X):
        gather[(-(-m // GATHERED_ROWS),)](
            X, X.stride(0), X.stride(1), numbers, columns, m, count, GATHERED, GATHERED_ROWS
        )
    return columns


def fused_sums(V: Array, X: Array, weights: Array | None) -> tuple[Array, Array]:
    """V (c × m) times X (m × n), both tensors on one GPU, and Σ w x² (n) if there are weights."""
    products, squares = fused_set_sums(V.contiguous(), X, weights)
    return products[0], squares[0]


def fused_set_sums(
    V: Array,
    X: Array,
    weights: Array | None,
    ends: Sequence[int] = (),
    order: Array | None = None,
    shift: Array | None = None,
) -> tuple[Array, Array]:
    """V (c × rows of all sets) times X over each set of rows, (sets × c × n).

    And Σ w x² (sets × n) if there are weights. Sets lie one after the other and end at `ends`; all
    rows are one set without. `order` has the numbers of the rows in X, `shift` (n) is subtracted.
    Pieces are added up in a fixed order: the same call gives the same digits.
    """
    import torch

    from ._sum_kernel import sums

    (c, m), n = V.shape, X.shape[1]
    count = max(LEAST_VECTORS, power_of_two(c))
    n_sets = max(1, len(ends))
    across = -(-n // SUM_COLUMNS)
    most = max(1, m // n_sets // LEAST_PIECE_ROWS)
    parts = max(1, min(most, SUM_PROGRAMS // (across * n_sets)))
    if n_sets == 1:  # no empty ones
        height = -(-m // (parts * SUM_ROWS)) * SUM_ROWS
        parts = -(-m // height)
    bounds = torch.tensor([0, *ends]).to(X.device, non_blocking=True) if ends else V
    products = V.new_empty((n_sets, parts, count, n))
    squares = V.new_empty((n_sets, parts, n) if weights is not None else (1, 1, 1))
    with device_of(X):
        sums[(across, parts, n_sets)](
            X, X.stride(0), X.stride(1), V if order is None else order, bounds, V,
            V if weights is None else weights, V if shift is None else shift, products, squares,
            m, n, V.stride(0), c, parts, count, SUM_ROWS, SUM_COLUMNS, weights is not None,
            bool(ends), order is not None, shift is not None, num_warps=SUM_WARPS,
            num_stages=SUM_STAGES,
        )  # fmt: skip
    return products.sum(1)[:, :c], squares.sum(1)
