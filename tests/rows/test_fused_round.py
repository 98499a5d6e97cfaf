"""The kernels of a round against the same round made an operation at a time.

On a GPU where there is one, elsewhere in Triton's interpreter (conftest.py).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from internals import (
    DeviceMatrix,
    FusedRound,
    RoundTerms,
    RowBlock,
    SerialExecutor,
    _state_of,
    find_plainly,
)

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("triton", reason="Triton is not installed")

HAS_GPU = torch.cuda.is_available()


def a_block(
    m: int, n: int, dtype: str, weighted: bool, anchored: bool, centred: bool, chosen: list[int]
) -> RowBlock:
    """Rows some steps after the start."""
    rng = np.random.default_rng(m)
    device = "cuda" if HAS_GPU else "cpu"
    X = torch.tensor((rng.standard_normal((m, n)) + 0.5).astype(dtype), device=device)
    Y = torch.tensor(rng.standard_normal((m, 1)), device=device)
    weights = torch.tensor(rng.uniform(0.5, 2.0, m), device=device) if weighted else None
    block = RowBlock.from_rows(DeviceMatrix(X), Y, weights)
    means = rng.standard_normal(n) if centred else None
    block = block.begin(np.zeros(1), means, float(m) if centred else None, 1e6)
    block = replace(block, d=torch.tensor(rng.uniform(0.5, 0.9, m), device=device))
    if anchored:
        block = block.anchored()
    for index in chosen:
        block = block.chose(index)
    return block


@pytest.mark.parametrize("c", [1, 3, 8])
@pytest.mark.parametrize("m", [40, 700])
@pytest.mark.parametrize(
    ("dtype", "weighted", "anchored", "centred", "with_spread"),
    [("float64", False, False, True, False), ("float32", True, True, False, True)],
)
def test_kernels_find_the_same(
    c: int, m: int, dtype: str, weighted: bool, anchored: bool, centred: bool, with_spread: bool
) -> None:
    n = 30
    for chosen in ([], list(range(10, 21))):
        block = a_block(m, n, dtype, weighted, anchored, centred, chosen)
        rng = np.random.default_rng(c)
        beta = rng.standard_normal((len(chosen), c))
        values = (
            rng.permutation(10)[:c].astype(float),
            beta,
            rng.uniform(m, 2 * m, c),
            rng.standard_normal((1, c)),
            np.array([float(len(chosen))]),
        )
        assert_same_round(block, values, with_spread)


def assert_same_round(block: RowBlock, values: tuple[Any, ...], with_spread: bool) -> Any:
    """Compare the kernels with single operations; returns the state of the rows after the round."""
    terms = RoundTerms(*(torch.tensor(value, device=block.r.device) for value in values))
    room: Any = block.columns.room
    fused = FusedRound(block, room, len(values[0]), with_spread)
    fused.launch(block, terms)
    plain = find_plainly(SerialExecutor(), [block], terms, with_spread)
    close = {"rtol": 1e-12, "atol": 1e-12}
    torch.testing.assert_close(fused.found, plain.packed, **close)
    torch.testing.assert_close(fused.Z, plain.Z[0], **close)
    torch.testing.assert_close(fused.state, _state_of(plain.moved[0]), **close)
    torch.testing.assert_close(fused.columns, plain.columns[0], **close)
    return fused.state


def test_a_candidate_without_anything_left_moves_no_anchor() -> None:
    block = a_block(40, 30, "float32", True, True, False, [10])
    values = np.array([10.0]), np.ones((1, 1)), np.ones(1), np.zeros((1, 1)), np.array([1.0])
    state = assert_same_round(block, values, True)
    assert torch.isfinite(state).all()
