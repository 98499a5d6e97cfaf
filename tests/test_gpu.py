"""On a GPU: the path of the NumPy engine, recorded rounds, the fused kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import greedyrls._rounds as rounds
import greedyrls._samples as samples
from greedyrls import _fused, greedy_path

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytestmark = pytest.mark.skipif(
    not torch.cuda.is_available(), reason="PyTorch sees no CUDA device on this machine"
)

Array = NDArray[Any]


def problem(m: int, n: int, dtype: str) -> tuple[Array, Array]:
    rng = np.random.default_rng(m + n)
    y = np.sign(rng.standard_normal(m))
    X = rng.standard_normal((m, n)) + 0.05 * y[:, None] * rng.standard_normal(n) + 0.3
    return X.astype(dtype), y


def assert_same(path: Any, other: Any) -> None:
    np.testing.assert_array_equal(path.indices, other.indices)
    np.testing.assert_allclose(path.losses, other.losses, rtol=1e-9)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("place", ["host", "device"])
def test_tensors(dtype: str, order: str, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if place == "device":
        monkeypatch.setattr(samples, "DEVICE_FEATURES", 1)
    X, y = problem(8000, 300, dtype)
    tensor = torch.tensor(X).cuda() if order == "C" else torch.tensor(X.T.copy()).cuda().T
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    for options in ({}, {"sample_weight": weights}, {"fit_intercept": False}):
        assert_same(
            greedy_path(tensor, torch.tensor(y).cuda(), 40, **options),
            greedy_path(X, y, 40, **options),
        )


def test_several_targets() -> None:
    X, _ = problem(3000, 200, "float32")
    Y = X[:, :3] + np.random.default_rng(1).standard_normal((3000, 3))
    assert_same(greedy_path(torch.tensor(X).cuda(), Y, 20), greedy_path(X, Y, 20))


def test_recorded_rounds_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = problem(20_000, 200, "float64")
    tensor = torch.tensor(X).cuda()
    path = greedy_path(tensor, y, 50)
    monkeypatch.setattr(rounds, "recorder_of", lambda place: None)
    np.testing.assert_array_equal(path.losses, greedy_path(tensor, y, 50).losses)


@pytest.mark.parametrize("dtype", ["float16", "int16", "bool"])
def test_other_types(dtype: str) -> None:
    X, y = problem(3000, 60, "float64")
    X = X > 0.0 if dtype == "bool" else (10 * X).astype(dtype)
    assert_same(greedy_path(torch.tensor(X).cuda(), y, 10), greedy_path(X, y, 10))


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("shape", [(5000, 70), (300, 4000), (17, 3)])
def test_fused_products(dtype: str, shape: tuple[int, int]) -> None:
    if not _fused.is_there():
        pytest.skip("Triton is not installed")
    generator = torch.Generator("cuda").manual_seed(0)
    X = (4 * torch.rand(shape, device="cuda", generator=generator)).to(getattr(torch, dtype))
    for matrix in (X, X.T.contiguous().T):
        for c in (1, 16, 17, 64):
            V = torch.randn(c, shape[0], device="cuda", dtype=torch.float64, generator=generator)
            weights = torch.rand(shape[0], device="cuda", dtype=torch.float64, generator=generator)
            products, squares = _fused.fused_sums(V, matrix, weights)
            torch.testing.assert_close(products, V @ X.double(), rtol=1e-12, atol=1e-10)
            torch.testing.assert_close(squares, weights @ X.double() ** 2, rtol=1e-12, atol=1e-10)


def test_cupy_arrays() -> None:
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    for dtype in ("float64", "float32"):
        X, y = problem(4000, 150, dtype)
        assert_same(greedy_path(cupy.asarray(X), cupy.asarray(y), 20), greedy_path(X, y, 20))
