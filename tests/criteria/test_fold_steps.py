"""Steps of folds on a device: the kernel against plain operations, recorded steps, room that grows.

The kernel runs on a GPU where there is one, elsewhere in Triton's interpreter (conftest.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.model_selection import KFold

from device_paths import assert_same_path, random_problem
from greedyrls import SelectionPath, extend_path, greedy_path
from internals import (
    DeviceMatrix,
    FoldBlock,
    FoldData,
    FoldState,
    FusedStep,
    Transfers,
    fold_products,
    fold_set_sums,
    make_folds,
    make_loss,
    make_problem,
)
from traps import Traps
from tuning import Tune

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

HAS_GPU = torch.cuda.is_available()
DEVICE = "cuda" if HAS_GPU else "cpu"
# On the processor kernels run in Triton's interpreter, which conftest.py turns on.
CAN_FUSE = find_spec("triton") is not None

Array = NDArray[Any]
_RECURRENCES = ("delta", "tau", "norms", "inner", "_L", "_V", "_inverse", "_overlap", "_weights")


class Unrecorded:
    """Runs work as `Replay` does, without a GPU."""

    made = 0

    def __init__(self, work: Callable[..., Sequence[Any]], inputs: Sequence[Any]) -> None:
        self._work, self.inputs = work, inputs
        self.host_input = inputs[0].numpy()
        Unrecorded.made += 1

    def run(self) -> Any:
        return self._work(*self.inputs)[0].numpy()


def assert_same(path: SelectionPath, other: SelectionPath) -> None:
    assert_same_path(path, other)
    assert path.fold_losses is not None
    assert other.fold_losses is not None
    np.testing.assert_allclose(path.fold_losses, other.fold_losses, rtol=1e-8)


@pytest.fixture
def recorder(tune: Tune) -> type[Unrecorded]:
    """Something that records, without a GPU."""
    Unrecorded.made = 0
    tune(fold_step_recorder=Unrecorded)
    return Unrecorded


OPTIONS: list[dict[str, Any]] = [
    {},
    {"n_runners_up": 3},
    {"forced_features": [7, 3], "excluded_features": [0, 9]},
    {"patience": 3},
    {"fit_intercept": False},
    {"alpha": 1e-7},
]


@pytest.mark.parametrize("targets", [1, 2])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_recorded_steps_are_those_of_numpy(
    options: dict[str, Any], targets: int, recorder: type[Unrecorded]
) -> None:
    X, y = random_problem(31, 90, 30, targets)
    X[:, 9] = X[:, 1] + 1e-4 * X[:, 9]  # nearly the same: β comes from the host
    path = greedy_path(torch.tensor(X), torch.tensor(y), 12, cv=4, **options)
    assert recorder.made == 1
    assert_same(path, greedy_path(X, y, 12, cv=4, **options))


def test_room_grows(recorder: type[Unrecorded]) -> None:
    X, y = random_problem(32, 60, 40)
    given = greedy_path(X, y, 40, cv=5)
    problem = make_problem(torch.tensor(X), torch.tensor(y), on_device=True)
    folds = make_folds(5, 60, y=None, labels=None, groups=None, weights=None)
    assert folds is not None
    state = FoldState(FoldData(problem, folds), 1.0, make_loss("squared"), 3)
    losses = []
    for index in given.indices.tolist():
        state.add(index, None, lambda count: [], 1)
        losses.append(state.loss)
    np.testing.assert_allclose(losses, given.losses, rtol=1e-9)
    assert recorder.made == 4  # for 3, 19, 38 and 76 features


def test_a_device_that_is_nearly_full(tune: Tune) -> None:
    """The recurrences are then on the host."""
    tune(device_free_bytes=1000)
    X, y = random_problem(33, 60, 12)
    assert_same(greedy_path(torch.tensor(X), y, 6, cv=3), greedy_path(X, y, 6, cv=3))


def test_one_transfer_for_each_step() -> None:
    X, y = random_problem(34, 80, 20)
    tensor = torch.tensor(X, device=DEVICE)
    before = Transfers.count
    greedy_path(tensor, torch.tensor(y, device=DEVICE), 15, cv=5)
    assert Transfers.count - before <= 15 + 5


def test_the_path_goes_on() -> None:
    X, y = random_problem(35, 80, 20)
    tensor = torch.tensor(X, device=DEVICE)
    path = extend_path(greedy_path(tensor, y, 5, cv=5), tensor, y, 12, cv=5)
    assert_same(path, greedy_path(X, y, 12, cv=5))


@pytest.mark.skipif(not HAS_GPU, reason="PyTorch sees no CUDA device on this machine")
@pytest.mark.parametrize("cv", [10, KFold(10, shuffle=True, random_state=0)], ids=str)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("targets", [1, 2])
def test_recorded_on_a_gpu(dtype: str, cv: Any, targets: int, tune: Tune) -> None:
    X, y = random_problem(36, 5000, 150, targets)
    X = X.astype(dtype)
    tensor = torch.tensor(X, device=DEVICE)
    path = greedy_path(tensor, y, 40, cv=cv)
    assert_same(path, greedy_path(X, y, 40, cv=cv))
    tune(fold_step_recorder=None)
    np.testing.assert_array_equal(path.losses, greedy_path(tensor, y, 40, cv=cv).losses)


class Done(Unrecorded):
    """What is recorded and started, done at once."""

    def __init__(
        self, work: Any, inputs: Sequence[Any], is_loaded: bool = True, is_sent: bool = True
    ) -> None:
        super().__init__(work, inputs)

    def start(self) -> None:
        self._work(*self.inputs)


@pytest.mark.skipif(not CAN_FUSE, reason="Triton is not installed")
@pytest.mark.parametrize("kind", ["plain", "doubt", "columns", "forced", "scattered"])
def test_a_gpu_chooses_by_itself(kind: str, tune: Tune, traps: Traps) -> None:
    if not HAS_GPU:
        tune(kernels_on_processor=True, launched_steps=2)
        tune(fold_step_recorder=Done, fold_queue_recorder=Done)
    # With few rows few columns are kept, and some are missing.
    X, y = random_problem(37, 200 if kind == "columns" else 500, 30)
    options: dict[str, Any] = {"cv": 3}
    if kind == "doubt":  # two columns tie, and one nearly is another
        X[:, 9] = X[:, 1] + 1e-4 * X[:, 9]
        X[:, 4] = X[:, 2]
        options["alpha"] = 1e-6
    elif kind == "forced":
        options |= {"forced_features": [7, 3], "excluded_features": [0, 9]}
    elif kind == "scattered":
        options["cv"] = KFold(4, shuffle=True, random_state=0)
    taken = traps.watch("note a step of folds of the device")
    path = greedy_path(
        torch.tensor(X, device=DEVICE), torch.tensor(y, device=DEVICE), 12, **options
    )
    assert len(taken) >= {"columns": 2, "doubt": 3}.get(kind, 8)
    assert_same(path, greedy_path(X, y, 12, **options))


@pytest.mark.slow
@pytest.mark.skipif(not CAN_FUSE, reason="Triton is not installed")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("m", [47, 1400])
@pytest.mark.parametrize("shuffled", [False, True])
def test_the_kernel_moves_rows_as_plain_operations_do(
    dtype: str, m: int, shuffled: bool, tune: Tune
) -> None:
    rng = np.random.default_rng(m)
    X, y = random_problem(m, m, 12)
    X[:, 3] += 1e4  # far out: it has a shift
    weights = rng.choice([0.0, 1.0, 2.5], m)
    ids = rng.integers(0, 3, m) if shuffled else np.arange(m) * 3 // m
    there = torch.tensor(X.astype(dtype), device=DEVICE)
    if shuffled:
        there = there.T.contiguous().T
    problem = make_problem(there, y, sample_weight=weights, on_device=True)
    folds = make_folds(ids, m, y=None, labels=None, groups=None, weights=weights)
    assert folds is not None
    data = FoldData(problem, folds)
    answers = []
    for is_fused in (True, False):
        tune(fold_step_kernels=is_fused, fold_step_recorder=None)
        state = FoldState(data, 0.5, make_loss("squared"), 11)
        steps: Any = state.steps
        assert isinstance(steps._fused, FusedStep) is is_fused
        assert (steps.folds is not None) is is_fused
        for index in (3, 0, 7, 11, 2, 5, 1, 4, 6, 8, 9):
            state.add(index, None, lambda count: [], 1)
        (split,) = state.samples.blocks[0].splits
        space = [getattr(state.features, name) for name in _RECURRENCES]
        answers.append((*steps.report, split.r, split.columns.buffers[0], *space))
    close = {"rtol": 1e-10, "atol": 1e-10}
    for one, other in zip(*answers, strict=True):
        torch.testing.assert_close(torch.as_tensor(one), torch.as_tensor(other), **close)


@pytest.mark.skipif(not CAN_FUSE, reason="Triton is not installed")
@pytest.mark.parametrize(("m", "n"), [(37, 5), (700, 140)])
@pytest.mark.parametrize("kind", ["plain", "shuffled", "overlapping"])
def test_the_kernel_sums_over_sets(m: int, n: int, kind: str, tune: Tune) -> None:
    if kind == "overlapping":
        tune(fold_sum_elements=500)  # not all sets at a time
    rng = np.random.default_rng(m)
    given = torch.tensor(rng.standard_normal((m, n)).astype(np.float32), device=DEVICE)
    X = DeviceMatrix(given.T.contiguous().T if kind == "shuffled" else given)
    Y, weights = (torch.tensor(rng.standard_normal(size), device=DEVICE) for size in ((m, 2), m))
    rows: list[Any] = list(np.array_split(np.arange(m), 3))
    if kind == "shuffled":
        rows = [np.sort(own) for own in np.array_split(rng.permutation(m), 3)]
    elif kind == "overlapping":
        rows = [*rows, rng.permutation(m)[: m // 2], None]
    block = FoldBlock.from_rows(X, Y, weights, tuple(rows), ())
    block = block.begin(rng.standard_normal(n), np.array([0.5, -1.0]))
    answers = []
    for fuse in (True, False):
        tune(fold_sum_kernels=fuse)
        products = fold_products(block, np.array([0, n - 1, *range(1, min(n - 1, 70))]))
        answers.append((*fold_set_sums(block), products.values))
    for one, other in zip(*answers, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-10)
