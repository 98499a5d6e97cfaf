"""X in host memory, computed with on a device: copied there, or streamed chunk by chunk.

The processor is the device here (PyTorch's, and that of array-api-strict); on a GPU the same tests
run with CUDA. A device is made small by saying that it has little memory left.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import array_api_compat
import numpy as np
import pytest
from numpy.typing import NDArray

from device_paths import assert_same_path, random_problem
from greedyrls import GreedyRLSClassifier, GreedyRLSRegressor, extend_path, greedy_path
from internals import ArrayLocation, Transfers
from tuning import Tune

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
strict = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")

Array = NDArray[Any]
_STRICT = ArrayLocation(
    array_api_compat.array_namespace(strict.asarray([0.0])), strict.Device("CPU_DEVICE")
)
DEVICES = [
    pytest.param("cpu", id="torch"),
    pytest.param(_STRICT, id="strict"),
    pytest.param(
        "cuda",
        id="cuda",
        marks=pytest.mark.skipif(
            not torch.cuda.is_available(), reason="PyTorch sees no CUDA device on this machine"
        ),
    ),
]


@pytest.fixture
def little_memory(tune: Tune) -> None:
    """A device with so little memory that X is streamed, about 20 rows of 40 float64 at a time."""
    tune(device_free_bytes=131_072, device_resident_share=0.0)


@pytest.fixture(params=["passes", "gathers"])
def columns(request: pytest.FixtureRequest, tune: Tune) -> str:
    """How columns of X in C order come: along with a pass, or gathered on the host."""
    tune(stream_gather_cost=10 if request.param == "passes" else 0)
    return str(request.param)


@pytest.mark.parametrize("device", DEVICES)
def test_an_array_that_fits_is_copied(device: Any) -> None:
    X, y = random_problem(1, 70, 40)
    for matrix in (X, np.asfortranarray(X), X.astype("float32")):
        path = greedy_path(matrix, y, 8, device=device)
        assert_same_path(path, greedy_path(matrix, y, 8))


OPTIONS: list[dict[str, Any]] = [
    {},
    {"fit_intercept": False},
    {"n_runners_up": 3},
    {"forced_features": [7, 3], "excluded_features": [0, 9]},
    {"block_rows": 7},
    {"search": "bounded"},
    {"search": "exhaustive", "n_runners_up": 1},
    {"alpha": 1e-6, "search": "bounded"},
]


@pytest.mark.slow
@pytest.mark.usefixtures("little_memory", "columns")
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("device", DEVICES)
def test_streamed(device: Any, options: dict[str, Any]) -> None:
    X, y = random_problem(1, 70, 40)
    path = greedy_path(X, y, 10, device=device, **options)
    assert_same_path(path, greedy_path(X, y, 10, **options))


@pytest.mark.usefixtures("little_memory", "columns")
@pytest.mark.parametrize("order", ["C", "F", "strided"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int16"])
@pytest.mark.parametrize("device", DEVICES)
def test_types_and_memory_orders(device: Any, dtype: str, order: str) -> None:
    X, y = random_problem(2, 90, 30)
    X = (10 * X).astype(dtype)
    given = np.array(X, order="F" if order == "F" else "C")
    if order == "strided":
        given = np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3]
    path = greedy_path(given, y, 8, device=device)
    assert_same_path(path, greedy_path(X, y, 8))


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("features", ["host", "device"])
@pytest.mark.parametrize("targets", [1, 3])
@pytest.mark.parametrize("device", DEVICES)
def test_weights_and_targets(device: Any, targets: int, features: str, tune: Tune) -> None:
    if features == "device":
        tune(device_features=1)
    X, Y = random_problem(3, 90, 30, targets)
    weights = np.random.default_rng(3).uniform(0.0, 2.0, 90)
    weights[:4] = 0.0
    path = greedy_path(X, Y, 8, sample_weight=weights, device=device)
    assert_same_path(path, greedy_path(X, Y, 8, sample_weight=weights))


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("device", DEVICES)
def test_memory_maps(device: Any, tmp_path: Path) -> None:
    X, y = random_problem(4, 80, 25)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert_same_path(greedy_path(mapped, y, 6, device=device), greedy_path(X, y, 6))


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("device", ["cpu:0", *DEVICES])
def test_tensors_of_the_host(device: Any) -> None:
    X, y = random_problem(5, 80, 25)
    given = torch.tensor(X, requires_grad=True)
    assert_same_path(greedy_path(given, torch.tensor(y), 6, device=device), greedy_path(X, y, 6))


@pytest.mark.usefixtures("little_memory")
def test_data_frames() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    X, y = random_problem(16, 60, 5)
    frame = pandas.DataFrame(X, columns=list("abcde"))
    path = greedy_path(frame, y, 3, forced_features=["d"], device="cpu")
    assert path.names() == greedy_path(frame, y, 3, forced_features=["d"]).names()


@pytest.mark.usefixtures("little_memory", "columns")
@pytest.mark.parametrize("room", [1, 3])
def test_little_room_for_columns(room: int, tune: Tune) -> None:
    X, y = random_problem(6, 80, 25)
    tune(stream_column_share=(room + 0.5) * 8 * 80 / 131_072)
    path = greedy_path(X, y, 12, device="cpu", search="bounded")
    assert_same_path(path, greedy_path(X, y, 12, search="bounded"))


@pytest.mark.usefixtures("little_memory")
def test_a_column_that_dwarfs_its_spread() -> None:
    X, y = random_problem(7, 80, 12)
    X = np.column_stack([X, X[:, 2], np.full(80, 3.0), X[:, 0] + 1e6])
    path = greedy_path(X, y, 10, device="cpu", search="bounded")
    np.testing.assert_array_equal(path.indices, greedy_path(X, y, 10, search="bounded").indices)


@pytest.mark.usefixtures("little_memory")
def test_few_passes_and_few_transfers(tune: Tune) -> None:
    rng = np.random.default_rng(9)
    y = np.sign(rng.standard_normal(3000))
    X = rng.standard_normal((3000, 150)) + 0.05 * y[:, None] * rng.standard_normal(150)
    tune(device_free_bytes=1 << 24)
    before = Transfers.count
    path = greedy_path(X, y, 30, device="cpu")
    assert_same_path(path, greedy_path(X, y, 30))
    # The start, the first candidates with their Gram columns, and what the bounds missed.
    assert path.counters.passes <= 5
    # Scores of a round, and which candidates it has.
    assert Transfers.count - before <= 3 * 30 + 10 * path.counters.passes


@pytest.mark.usefixtures("little_memory")
def test_the_path_goes_on() -> None:
    X, y = random_problem(10, 100, 20)
    path = greedy_path(X, y, 4, device="cpu")
    longer = extend_path(path, X, y, 9, device="cpu")
    assert_same_path(longer, greedy_path(X, y, 9))
    assert longer.counters.passes > path.counters.passes


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("device", DEVICES)
def test_values_that_are_not_finite(device: Any) -> None:
    X, y = random_problem(13, 90, 6)
    X[57, 4] = np.nan
    with pytest.raises(ValueError, match="NaN: row 57, column 4"):
        greedy_path(X, y, 2, device=device)


@pytest.mark.usefixtures("little_memory")
def test_estimators() -> None:
    X, y = random_problem(14, 90, 12)
    ours = GreedyRLSRegressor(4, alpha=1.0, device="cpu").fit(X, y)
    theirs = GreedyRLSRegressor(4, alpha=1.0).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9)
    labels = np.where(y > 0.0, "yes", "no")
    classifier = GreedyRLSClassifier(4, alpha=1.0, device="cpu").fit(X, labels)
    np.testing.assert_array_equal(
        classifier.predict(X), GreedyRLSClassifier(4, alpha=1.0).fit(X, labels).predict(X)
    )


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize(
    "options",
    [
        {"n_features": 5, "alpha": [0.1, 10.0], "alpha_rule": "joint"},
        {"n_features": 5, "alpha": "auto", "alpha_rule": "joint"},
        {"n_features": 5, "refit_alpha": "loo"},
        {"n_features": "auto", "size_rule": "1se"},
    ],
    ids=str,
)
def test_penalties_and_sizes(options: dict[str, Any]) -> None:
    X, y = random_problem(17, 90, 12)
    path, other = greedy_path(X, y, device="cpu", **options), greedy_path(X, y, **options)
    assert_same_path(path, other)
    assert path.chosen_size == other.chosen_size
    np.testing.assert_allclose(path.coef(), other.coef(), rtol=1e-7)


def test_what_is_refused(tmp_path: Path) -> None:
    from scipy import sparse

    X, y = random_problem(15, 30, 6)
    with pytest.raises(ValueError, match=r"device='gpu' is not a PyTorch device.*'cuda:1'"):
        greedy_path(X, y, 2, device="gpu")
    with pytest.raises(TypeError, match="got 3"):
        greedy_path(X, y, 2, device=3)
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match="PyTorch sees 0 CUDA devices"):
            greedy_path(X, y, 2, device="cuda")
    with pytest.raises(TypeError, match=r"dense data in memory.*csr"):
        greedy_path(sparse.csr_array(X), y, 2, device="cpu")
    with pytest.raises(ValueError, match="not both"):
        greedy_path(X, y, 2, device="cpu", memory_limit="1GB")
    with pytest.raises(ValueError, match="X is on the device"):
        greedy_path(strict.asarray(X), y, 2, device="cpu")
    with pytest.raises(TypeError, match=r"longdouble|float128"):
        greedy_path(X.astype(np.longdouble), y, 2, device="cpu")
    with pytest.raises(TypeError, match="bfloat16"):
        greedy_path(torch.tensor(X).bfloat16(), y, 2, device=_STRICT)
    with pytest.raises(ValueError, match="NaN"):
        greedy_path(np.full((4, 2), np.nan), y[:4], 1, device="cpu")
    pytest.importorskip("cupy", reason="CuPy is not installed")
    with pytest.raises(ValueError, match="'cupy:' and a number"):
        greedy_path(X, y, 2, device="cupy:first")
