"""Device arrays: the same path as NumPy's, on PyTorch tensors and on strict arrays of the standard.

Neither needs a GPU: what runs on one is the same code. `test_gpu.py` has what needs one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.model_selection import KFold

from device_paths import assert_same_path, random_problem
from greedyrls import extend_path, greedy_path
from internals import Transfers
from tuning import Tune

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
strict = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")

Array = NDArray[Any]
MAKERS: dict[str, Callable[[Array], Any]] = {"torch": torch.tensor, "strict": strict.asarray}


@pytest.fixture(params=["host", "device"])
def features(request: pytest.FixtureRequest, tune: Tune) -> str:
    """Where vectors of n features are: on the host if they are short."""
    if request.param == "device":
        tune(device_features=1)
    return str(request.param)


OPTIONS: list[dict[str, Any]] = [
    {},
    {"fit_intercept": False},
    {"n_runners_up": 3},
    {"forced_features": [7, 3], "excluded_features": [0, 9]},
    {"block_rows": 23},
    {"search": "bounded"},
    {"search": "exhaustive", "n_runners_up": 1},
    {"patience": 2},
    {"alpha": 1e-6, "search": "bounded"},
]


@pytest.mark.usefixtures("features")
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("maker", MAKERS)
def test_same_path_as_numpy(maker: str, options: dict[str, Any]) -> None:
    make = MAKERS[maker]
    X, y = random_problem(1, 70, 40)
    assert_same_path(greedy_path(make(X), make(y), 10, **options), greedy_path(X, y, 10, **options))


@pytest.mark.usefixtures("features")
@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("targets", [1, 3])
def test_weights_and_targets(maker: str, targets: int) -> None:
    make = MAKERS[maker]
    X, Y = random_problem(2, 90, 30, targets)
    weights = np.random.default_rng(3).uniform(0.0, 2.0, 90)
    weights[:4] = 0.0
    for search in ("bounded", "exhaustive"):
        path = greedy_path(make(X), make(Y), 8, sample_weight=make(weights), search=search)
        assert_same_path(path, greedy_path(X, Y, 8, sample_weight=weights, search=search))


@pytest.mark.usefixtures("features")
@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("dtype", ["float32", "int16", "bool"])
def test_other_types_are_summed_in_float64(maker: str, dtype: str) -> None:
    X, y = random_problem(4, 300, 20)
    X = X > 0.0 if dtype == "bool" else (10 * X).astype(dtype)
    path = greedy_path(MAKERS[maker](X), MAKERS[maker](y), 6, search="bounded")
    assert_same_path(path, greedy_path(X, y, 6, search="bounded"))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_columns_that_lie_together(dtype: str) -> None:
    X, y = random_problem(5, 400, 30)
    X = X.astype(dtype)
    tensor = torch.tensor(np.ascontiguousarray(X.T)).T
    assert not tensor.is_contiguous()
    assert_same_path(greedy_path(tensor, y, 8), greedy_path(X, y, 8))


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    m=st.integers(3, 60),
    n=st.integers(2, 40),
    targets=st.integers(1, 2),
    alpha=st.sampled_from([1e-2, 1.0, 100.0]),
    fit_intercept=st.booleans(),
    weighted=st.booleans(),
    search=st.sampled_from(["bounded", "exhaustive"]),
    maker=st.sampled_from(sorted(MAKERS)),
)
def test_random_problems(
    seed: int,
    m: int,
    n: int,
    targets: int,
    alpha: float,
    fit_intercept: bool,
    weighted: bool,
    search: Any,
    maker: str,
) -> None:
    make = MAKERS[maker]
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((m, n)), rng.standard_normal((m, targets))
    options: dict[str, Any] = {"alpha": alpha, "fit_intercept": fit_intercept, "search": search}
    weights = rng.uniform(0.5, 2.0, m) if weighted else None
    k = min(n, 8, m - 1)
    there = None if weights is None else make(weights)
    path = greedy_path(make(X), make(Y), k, sample_weight=there, **options)
    other = greedy_path(X, Y, k, sample_weight=weights, **options)
    np.testing.assert_array_equal(path.indices, other.indices)
    np.testing.assert_allclose(path.losses, other.losses, rtol=1e-8)


@pytest.mark.usefixtures("features")
@pytest.mark.parametrize("maker", MAKERS)
def test_duplicate_and_constant_columns(maker: str) -> None:
    X, y = random_problem(6, 80, 12)
    X = np.column_stack([X, X[:, 2], np.full(80, 3.0), X[:, 0] + 1e5])
    path = greedy_path(MAKERS[maker](X), y, 13, search="bounded")
    np.testing.assert_array_equal(path.indices, greedy_path(X, y, 13, search="bounded").indices)


@pytest.mark.usefixtures("features")
def test_nearly_dependent_columns_are_refined() -> None:
    X, y = random_problem(7, 200, 10)
    X = np.column_stack([X, X[:, :3] + 1e-7 * np.random.default_rng(8).standard_normal((200, 3))])
    options: dict[str, Any] = {"alpha": 1e-8, "search": "bounded"}
    path = greedy_path(torch.tensor(X), y, 12, **options)
    other = greedy_path(X, y, 12, **options)
    np.testing.assert_array_equal(path.indices, other.indices)
    np.testing.assert_allclose(path.losses, other.losses, rtol=1e-6)


class Imitation:
    """Recorded work without a GPU: fixed memory that the next run overwrites."""

    made = 0

    def __init__(self, work: Callable[..., Sequence[Any]], inputs: Sequence[Any]) -> None:
        Imitation.made += 1
        self.inputs = inputs
        self.outputs = [values.clone() for values in work(*inputs)]
        self.host_input = np.full(inputs[0].shape, np.nan)
        self._work = work

    def run(self) -> Array:
        self.inputs[0].copy_(torch.from_numpy(self.host_input))
        for own, new in zip(self.outputs, self._work(*self.inputs), strict=True):
            own.copy_(new)
        return np.array(self.outputs[0].numpy())


@pytest.mark.usefixtures("features")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("m", "n", "k"), [(300, 200, 30), (2000, 150, 40), (200, 90, 80)])
def test_recorded_rounds(m: int, n: int, k: int, weighted: bool, tune: Tune) -> None:
    tune(round_recorder=Imitation)
    Imitation.made = 0
    rng = np.random.default_rng(m)
    X, y = random_problem(m, m, n)
    weights = rng.uniform(0.5, 2.0, m) if weighted else None
    options: dict[str, Any] = {"sample_weight": weights, "search": "bounded"}
    assert_same_path(greedy_path(torch.tensor(X), y, k, **options), greedy_path(X, y, k, **options))
    assert Imitation.made


def test_one_transfer_a_step() -> None:
    rng = np.random.default_rng(9)
    y = np.sign(rng.standard_normal(5000))
    X = rng.standard_normal((5000, 300)) + 0.05 * y[:, None] * rng.standard_normal(300)
    counts = []
    for k in (10, 30):
        before = Transfers.count
        path = greedy_path(torch.tensor(X), y, k)
        counts.append(Transfers.count - before)
    # A transfer a step, one for each pass, and now and then a second round.
    assert counts[1] - counts[0] <= 1.5 * 20 + path.counters.passes


def test_the_path_goes_on() -> None:
    X, y = random_problem(10, 100, 20)
    tensor = torch.tensor(X)
    path = greedy_path(tensor, y, 4)
    assert_same_path(extend_path(path, tensor, y, 9), greedy_path(X, y, 9))


def test_callback_and_automatic_size() -> None:
    X, y = random_problem(11, 100, 20)
    seen: list[int] = []
    path = greedy_path(torch.tensor(X), y, 9, callback=lambda step: seen.append(step.index))
    assert seen == path.indices.tolist()
    sized = greedy_path(torch.tensor(X), y, "auto")
    assert sized.chosen_size == greedy_path(X, y, "auto").chosen_size


def test_inputs_are_not_changed() -> None:
    X, y = random_problem(12, 100, 20)
    tensor, target = torch.tensor(X, requires_grad=True), torch.tensor(y)
    greedy_path(tensor, target, 5, search="bounded")
    np.testing.assert_array_equal(tensor.detach().numpy(), X)
    np.testing.assert_array_equal(target.numpy(), y)


@pytest.mark.parametrize("maker", MAKERS)
def test_errors_name_the_value(maker: str) -> None:
    make = MAKERS[maker]
    X, y = random_problem(13, 30, 6)
    bad = X.copy()
    bad[17, 4] = np.nan
    with pytest.raises(ValueError, match="NaN: row 17, column 4"):
        greedy_path(make(bad), make(y), 2)
    bad_y = y.copy()
    bad_y[5] = np.inf
    with pytest.raises(ValueError, match="y contains infinity: row 5"):
        greedy_path(make(X), make(bad_y), 2)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        greedy_path(make(X), make(y[:-1]), 2)
    weights = np.ones(30)
    weights[3] = -1.0
    with pytest.raises(ValueError, match=r"row 3 has -1\.0"):
        greedy_path(make(X), make(y), 2, sample_weight=make(weights))
    with pytest.raises(ValueError, match=r"2 dimensions .* shape \(30,\)"):
        greedy_path(make(y), make(y), 2)
    with pytest.raises(ValueError, match="X is empty"):
        greedy_path(make(X[:, :0]), make(y), 2)


GIVEN_SPLITS = [(np.arange(40), np.arange(40, 55)), (np.arange(10, 60), np.arange(8))]


@pytest.mark.parametrize("targets", [1, 2])
@pytest.mark.parametrize("options", [{}, {"fit_intercept": False}, {"alpha": 1e-6}], ids=str)
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize(
    "cv",
    [3, KFold(4, shuffle=True, random_state=0), np.arange(70) % 5, GIVEN_SPLITS],
    ids=["number", "shuffled", "ids", "given"],
)
@pytest.mark.parametrize("maker", MAKERS)
def test_folds_as_in_numpy(
    maker: str, cv: Any, is_weighted: bool, options: dict[str, Any], targets: int
) -> None:
    make = MAKERS[maker]
    X, y = random_problem(21, 70, 20, targets)
    X[:, 9] = X[:, 1] + 1e-4 * X[:, 9]  # nearly the same: β is refined on the training rows
    weights = np.random.default_rng(3).choice([0.0, 1.0, 2.5], 70) if is_weighted else None
    path = greedy_path(X, y, 12, cv=cv, sample_weight=weights, n_runners_up=1, **options)
    there = None if weights is None else make(weights)
    other = greedy_path(make(X), make(y), 12, cv=cv, sample_weight=there, n_runners_up=1, **options)
    np.testing.assert_array_equal(path.indices, other.indices)
    np.testing.assert_allclose(path.losses, other.losses, rtol=1e-9)
    np.testing.assert_allclose(path.fold_losses, other.fold_losses, rtol=1e-8)
    np.testing.assert_allclose(path.coef(12), other.coef(12), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("kind", ["float32", "far means", "no noise"])
def test_folds_of_hostile_data_as_in_numpy(maker: str, kind: str) -> None:
    make = MAKERS[maker]
    X, y = random_problem(22, 90, 15)
    if kind == "float32":
        X = X.astype(np.float32)
    elif kind == "far means":
        X, y = X + 1e5, y - 1e4
    else:  # the losses become so small that the rows decide
        y = X[:, :3] @ np.array([1.0, -2.0, 0.5])
    path = greedy_path(X, y, 6, cv=4, alpha=1e-3)
    other = greedy_path(make(X), make(y), 6, cv=4, alpha=1e-3)
    np.testing.assert_array_equal(path.indices, other.indices)
    np.testing.assert_allclose(path.losses, other.losses, rtol=1e-8)


CHOSEN: list[tuple[Any, dict[str, Any]]] = [
    (6, {"alpha": "auto"}),
    (6, {"alpha": [0.1, 10.0], "cv": 4}),
    (6, {"alpha": [0.1, 10.0], "alpha_rule": "joint"}),
    (6, {"alpha": 1.0, "refit_alpha": "loo"}),
    ("auto", {"alpha": 1.0, "size_rule": "1se"}),
    ("auto", {"alpha": [1.0, 50.0], "size_rule": "1se", "alpha_cv": 3}),
]


@pytest.mark.slow
@pytest.mark.usefixtures("features")
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize(("size", "options"), CHOSEN, ids=str)
@pytest.mark.parametrize("maker", MAKERS)
def test_penalties_and_sizes_are_chosen_as_in_numpy(
    maker: str, size: Any, options: dict[str, Any], is_weighted: bool
) -> None:
    make = MAKERS[maker]
    X, y = random_problem(24, 80, 14, 2)
    weights = np.random.default_rng(5).choice([0.0, 1.0, 2.0], 80) if is_weighted else None
    path = greedy_path(X, y, size, sample_weight=weights, **options)
    there = None if weights is None else make(weights)
    other = greedy_path(make(X), make(y), size, sample_weight=there, **options)
    np.testing.assert_array_equal(path.indices, other.indices)
    np.testing.assert_allclose(path.losses, other.losses, rtol=1e-9)
    assert path.chosen_size == other.chosen_size
    assert path.settings.alpha == pytest.approx(other.settings.alpha, rel=1e-9)
    k = path.chosen_size
    np.testing.assert_allclose(path.coef(k), other.coef(k), rtol=1e-6, atol=1e-9)
    if path.surface is not None:
        assert other.surface is not None
        np.testing.assert_allclose(path.surface.losses, other.surface.losses, rtol=1e-7)


def test_fold_ids_may_be_on_the_device() -> None:
    X, y = random_problem(23, 60, 8)
    ids = np.arange(60) % 3
    path = greedy_path(X, y, 4, cv=ids)
    assert_same_path(path, greedy_path(torch.tensor(X), y, 4, cv=torch.tensor(ids)))


def test_sparse_and_complex_tensors_are_refused() -> None:
    X, y = random_problem(15, 30, 6)
    with pytest.raises(TypeError, match="sparse tensor"):
        greedy_path(torch.tensor(X).to_sparse(), y, 2)
    with pytest.raises(ValueError, match="real numbers"):
        greedy_path(torch.tensor(X + 1j), y, 2)


def test_predictions_name_the_row_that_is_not_finite() -> None:
    X, y = random_problem(0, 30, 5)
    path = greedy_path(X, y, 2)
    X[[7, 9], path.indices[1]] = np.nan
    with pytest.raises(ValueError, match="row 7"):
        path.predict(torch.asarray(X))
