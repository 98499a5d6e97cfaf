"""On a GPU, with PyTorch and CuPy: the path of the NumPy engine, recorded rounds, the kernel."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from greedyrls import extend_path, greedy_path
from internals import fused, numpy_of
from traps import Traps
from tuning import Tune

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


def on_torch(values: Array) -> Any:
    """On the device, in the same memory order."""
    if values.ndim == 2 and values.flags.f_contiguous:
        return torch.tensor(values.T.copy()).cuda().T
    return torch.tensor(values).cuda()


def on_cupy(values: Array) -> Any:
    """The same; CuPy keeps the order."""
    return pytest.importorskip("cupy", reason="CuPy is not installed").asarray(values)


every_library = pytest.mark.parametrize("make", [on_torch, on_cupy], ids=["torch", "cupy"])
Make = Callable[[Array], Any]


@every_library
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("place", ["host", "device", "recorded"])
def test_same_path_as_numpy(make: Make, dtype: str, order: Any, place: str, tune: Tune) -> None:
    if place == "device":
        tune(device_features=1)
    if place != "recorded":
        tune(recorded_steps=False, feature_kernels=False)
    X, y = problem(8000, 300, dtype)
    X = np.array(X, order=order)
    there = make(X)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    for options in ({}, {"sample_weight": weights}, {"fit_intercept": False}):
        assert_same(greedy_path(there, make(y), 40, **options), greedy_path(X, y, 40, **options))


@every_library
def test_several_targets(make: Make) -> None:
    X, _ = problem(3000, 200, "float32")
    Y = X[:, :3] + np.random.default_rng(1).standard_normal((3000, 3))
    assert_same(greedy_path(make(X), Y, 20), greedy_path(X, Y, 20))


@every_library
def test_the_path_goes_on(make: Make) -> None:
    X, y = problem(3000, 100, "float32")
    there = make(X)
    path = extend_path(greedy_path(there, y, 6), there, y, 15)
    assert_same(path, greedy_path(X, y, 15))
    predicted = path.predict(there)
    assert type(predicted) is type(there)
    np.testing.assert_allclose(numpy_of(predicted), path.predict(X), rtol=1e-9)


def test_recorded_rounds_change_nothing(tune: Tune) -> None:
    X, y = problem(20_000, 200, "float64")
    tensor = torch.tensor(X).cuda()
    path = greedy_path(tensor, y, 50)
    tune(recorded_steps=False)
    there = greedy_path(tensor, y, 50)
    np.testing.assert_array_equal(path.indices, there.indices)
    np.testing.assert_allclose(path.losses, there.losses, rtol=1e-12)
    tune(round_recorder=None)
    np.testing.assert_array_equal(there.losses, greedy_path(tensor, y, 50).losses)


def test_the_device_goes_on_by_itself(traps: Traps) -> None:
    X, y = problem(20_000, 900, "float32")
    taken = traps.watch("note a step of the device")
    path = greedy_path(torch.tensor(X).cuda(), y, 100)  # more than the least room for columns
    assert len(taken) >= 50
    assert_same(path, greedy_path(X, y, 100))


@every_library
@pytest.mark.parametrize("dtype", ["float16", "int16", "bool"])
def test_other_types(make: Make, dtype: str) -> None:
    X, y = problem(3000, 60, "float64")
    X = X > 0.0 if dtype == "bool" else (10 * X).astype(dtype)
    assert_same(greedy_path(make(X), y, 10), greedy_path(X, y, 10))


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("shape", [(5000, 70), (300, 4000), (17, 3)])
def test_fused_products(dtype: str, shape: tuple[int, int]) -> None:
    if not fused.has_triton():
        pytest.skip("Triton is not installed")
    generator = torch.Generator("cuda").manual_seed(0)
    X = (4 * torch.rand(shape, device="cuda", generator=generator)).to(getattr(torch, dtype))
    for matrix in (X, X.T.contiguous().T):
        for c in (1, 16, 17, 64):
            V = torch.randn(c, shape[0], device="cuda", dtype=torch.float64, generator=generator)
            weights = torch.rand(shape[0], device="cuda", dtype=torch.float64, generator=generator)
            products, squares = fused.fused_sums(V, matrix, weights)
            torch.testing.assert_close(products, V @ X.double(), rtol=1e-12, atol=1e-10)
            torch.testing.assert_close(squares, weights @ X.double() ** 2, rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("source", ["array", "pinned", "map"])
@pytest.mark.parametrize("device", ["cuda", "cupy"])
def test_streamed(device: str, source: str, order: Any, tmp_path: Path, tune: Tune) -> None:
    if device == "cupy":
        pytest.importorskip("cupy", reason="CuPy is not installed")
    X, y = problem(20_000, 300, "float32")
    tune(device_free_bytes=1 << 25)  # chunks of 1,398 rows
    given: Any = np.array(X, order=order)
    if source == "pinned":
        given = torch.from_numpy(given).pin_memory()
    elif source == "map":
        np.save(tmp_path / "X.npy", given)
        given = np.load(tmp_path / "X.npy", mmap_mode="r")
    path = greedy_path(given, y, 40, device=device)
    assert_same(path, greedy_path(X, y, 40))
    assert path.counters.passes <= 6


@pytest.mark.parametrize("order", ["C", "F"])
def test_what_fits_is_copied(order: Any) -> None:
    X, y = problem(8000, 300, "float32")
    X = np.array(X, order=order)
    path = greedy_path(X, y, 20, device="cuda")
    there = greedy_path(torch.tensor(X).cuda(), y, 20)
    np.testing.assert_array_equal(path.indices, there.indices)
    np.testing.assert_allclose(path.losses, there.losses, rtol=1e-12)


def test_a_device_that_is_not_there() -> None:
    X, y = problem(100, 10, "float32")
    with pytest.raises(ValueError, match=r"'cuda:99', but PyTorch sees \d+ CUDA devices"):
        greedy_path(X, y, 2, device="cuda:99")
    with pytest.raises(ValueError, match="X is on the device cuda:0"):
        greedy_path(torch.tensor(X).cuda(), y, 2, device="cpu")
