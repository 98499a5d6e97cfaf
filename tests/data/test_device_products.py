"""Options that a device's own engine does not have: NumPy's engine, with products on the device.

X counts as too large for the processor (`copied_from_device=-1`), and tensors of the host as those
of a GPU (`in_host_memory=False`). On a GPU the same tests run with CUDA.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import array_api_compat
import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.model_selection import KFold

from device_paths import assert_same_path, random_problem
from greedyrls import GreedyRLSClassifier, GreedyRLSRegressor, extend_path, greedy_path
from greedyrls.assess import cross_validate_path
from internals import ArrayLocation, DeviceMatrix, DeviceProducts, host_matrix, make_problem
from tuning import Tune

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
strict = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")

Array = NDArray[Any]
_STRICT = strict.Device("device1")
_STRICT_LOCATION = ArrayLocation(
    array_api_compat.array_namespace(strict.asarray([0.0])), strict.Device("device1")
)


def on_cuda(values: Any) -> Any:
    if not torch.cuda.is_available():
        pytest.skip("PyTorch sees no CUDA device on this machine")
    return torch.tensor(values).cuda()


# X, and the options passed with it.
Case = Callable[[Array], tuple[Any, dict[str, Any]]]
CASES: dict[str, Case] = {
    "torch": lambda X: (torch.tensor(X), {}),
    "strict": lambda X: (strict.asarray(X, device=_STRICT), {}),
    "cuda": lambda X: (on_cuda(X), {}),
    "streamed torch": lambda X: (X, {"device": "cpu"}),
    "streamed strict": lambda X: (X, {"device": _STRICT_LOCATION}),
    "streamed cuda": lambda X: (on_cuda(X).cpu().numpy(), {"device": "cuda"}),
}
every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


@pytest.fixture(autouse=True)
def large_data(tune: Tune, request: pytest.FixtureRequest) -> None:
    """X is large; of streamed data about 20 rows of 12 columns fit on the device at a time."""
    tune(copied_from_device=-1, in_host_memory=False)
    if "streamed" in request.node.name:
        tune(device_free_bytes=40_000, device_resident_share=0.0)


def labelled(seed: int, m: int, n: int, n_classes: int = 2) -> tuple[Array, Array]:
    X, y = random_problem(seed, m, n)
    return X, np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))


def codes(labels: Array) -> Array:
    """Targets of ±1: one for two classes, else one for each."""
    if labels.max() == 1:
        return np.where(labels > 0, 1.0, -1.0)
    return np.where(labels[:, None] == np.arange(labels.max() + 1), 1.0, -1.0)


def assert_same(path: Any, other: Any) -> None:
    np.testing.assert_array_equal(path.indices, other.indices)
    np.testing.assert_allclose(path.losses, other.losses, rtol=1e-9)
    assert path.chosen_size == other.chosen_size
    assert path.settings.alpha == pytest.approx(other.settings.alpha)
    np.testing.assert_allclose(path.coef(), other.coef(), rtol=1e-7, atol=1e-10)


LOSSES = ["absolute", "zero_one", "balanced_zero_one", "auc"]


@every_case
@pytest.mark.parametrize("cv", ["loo", 3])
@pytest.mark.parametrize("loss", LOSSES)
def test_losses(case: Case, loss: str, cv: Any) -> None:
    X, labels = labelled(1, 70, 12)
    given, options = case(X)
    options = {"loss": loss, "cv": cv, **options}
    path = greedy_path(given, codes(labels), 5, **options)
    other = greedy_path(X, codes(labels), 5, loss=loss, cv=cv)
    assert_same(path, other)


@every_case
@pytest.mark.parametrize("cv", ["loo", 3])
@pytest.mark.parametrize("loss", ["absolute", "zero_one"])
def test_weights_and_several_targets(case: Case, loss: str, cv: Any) -> None:
    X, labels = labelled(2, 80, 12, n_classes=3)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 80)
    weights[5:9] = 0.0
    given, options = case(X.astype("float32"))
    for intercept in (True, False):
        asked = {"loss": loss, "cv": cv, "sample_weight": weights, "fit_intercept": intercept}
        path = greedy_path(given, codes(labels), 5, **asked, **options)
        assert_same(path, greedy_path(X.astype("float32"), codes(labels), 5, **asked))


OTHERS: list[Any] = [
    {"feature_groups": [0, 0, 1, 1, 1, 2, 3, 3, 4, 4, 5, 5]},
    {"feature_groups": [0, 0, 1, 1, 1, 2, 3, 3, 4, 4, 5, 5], "loss": "absolute", "cv": 3},
    {"feature_costs": np.arange(1.0, 13.0), "loss": "absolute"},
    {"cv": KFold(4, shuffle=True, random_state=1)},
    {"cv": np.arange(70) // 2},
    {"cv": 3, "alpha": [0.1, 10.0], "loss": "absolute"},
    pytest.param({"alpha": "auto", "n_features": "auto"}, marks=pytest.mark.slow),
    {"direction": "floating"},
    {"direction": "backward"},
    {"alpha": [0.1, 10.0], "alpha_rule": "all_features"},
    {"cv": 5, "refit_alpha": "cv"},
]


@every_case
@pytest.mark.parametrize("asked", OTHERS, ids=str)
def test_other_options(case: Case, asked: dict[str, Any]) -> None:
    X, y = random_problem(3, 70, 12)
    asked = {"n_features": 4, **asked}
    given, options = case(X)
    assert_same(greedy_path(given, y, **asked, **options), greedy_path(X, y, **asked))


def outliers() -> tuple[Array, Array]:
    """Classes that squared loss, which large values of feature 0 disturb, does not tell apart."""
    rng = np.random.default_rng(18)
    y = np.arange(120) % 2
    X = rng.standard_normal((120, 10))
    X[:, 0] = (2 * y - 1) * np.abs(rng.standard_normal(120)) * np.exp(5 * rng.random(120))
    return X, y


@every_case
@pytest.mark.parametrize("size", [2, pytest.param("auto", marks=pytest.mark.slow)])
@pytest.mark.parametrize("data", [outliers, lambda: labelled(4, 90, 10, 3)], ids=["0/1", "squared"])
def test_a_classifier_with_its_defaults(case: Case, data: Any, size: Any) -> None:
    """The engine of the device selects by squared loss, NumPy's by the error rate."""
    X, y = data()
    given, options = case(X)
    model = GreedyRLSClassifier(size, **options).fit(given, y)
    other = GreedyRLSClassifier(size).fit(X, y)
    if size == 2:
        assert model.path_.settings.loss == ("zero_one" if data is outliers else "squared")
    assert_same(model.path_, other.path_)
    assert model.path_.size_choice.sentence == other.path_.size_choice.sentence
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), rtol=1e-6)
    predicted = model.predict(given)
    assert type(predicted) is type(given)
    assert model.score(given, y) == other.score(X, y)


@pytest.mark.slow
@every_case
def test_a_regressor_with_its_defaults(case: Case) -> None:
    X, y = random_problem(5, 80, 10)
    given, options = case(X)
    model = GreedyRLSRegressor(**options).fit(given, y)
    assert_same(model.path_, GreedyRLSRegressor().fit(X, y).path_)


@every_case
def test_an_assessment(case: Case) -> None:
    X, y = labelled(6, 60, 8)
    given, options = case(X)
    asked: dict[str, Any] = {"cv": 3, "alpha": [1.0, 10.0], "n_random": 2}
    ours = cross_validate_path(given, y, 3, **asked, **options)
    theirs = cross_validate_path(X, y, 3, **asked)
    np.testing.assert_array_equal(np.concatenate(ours.features), np.concatenate(theirs.features))
    np.testing.assert_allclose(ours.test_losses, theirs.test_losses, rtol=1e-9)


@every_case
def test_a_path_goes_on(case: Case) -> None:
    X, y = random_problem(7, 70, 12)
    given, options = case(X)
    path = greedy_path(given, y, 2, loss="absolute", **options)
    longer = extend_path(path, given, y, 5, loss="absolute", **options)
    assert_same(longer, greedy_path(X, y, 5, loss="absolute"))


def test_a_checkpoint_goes_on_elsewhere(tmp_path: Path) -> None:
    """It has the digest of the same numbers in host memory."""
    X, y = random_problem(8, 60, 10)
    for dtype in ("float64", "float32", "int16"):
        values, file = (10 * X).astype(dtype), tmp_path / f"{dtype}.json"
        greedy_path(torch.tensor(values), y, 3, checkpoint=file)
        path = greedy_path(values, y, 5, checkpoint=file)
        assert_same(path, greedy_path(values, y, 5))
        again = greedy_path(strict.asarray(values, device=_STRICT), y, 5, checkpoint=file)
        assert_same(again, path)


@pytest.mark.parametrize("copied", [-1, 1 << 20])
def test_types_that_numpy_does_not_have(copied: int, tune: Tune) -> None:
    tune(copied_from_device=copied)
    X, y = random_problem(9, 60, 8)
    given = torch.tensor(X).bfloat16()
    path = greedy_path(given, y, 3, loss="absolute")
    assert_same(path, greedy_path(given.double().numpy(), y, 3, loss="absolute"))


def test_a_value_that_is_not_finite() -> None:
    X, y = random_problem(10, 60, 8)
    X[7, 3] = np.nan
    with pytest.raises(ValueError, match="row 7, column 3 is nan"):
        greedy_path(torch.tensor(X), y, 3, loss="absolute")


@every_case
def test_some_rows(case: Case) -> None:
    """They are a matrix of the same kind."""
    X, y = random_problem(12, 50, 8)
    given, options = case(X)
    problem = make_problem(given, y, on_device=True, **options).on_host(in_memory=False)
    V = np.random.default_rng(0).standard_normal((2, 50))
    rows = np.arange(3, 47, 4)
    for some in (slice(7, 31), rows) if not options else (slice(7, 31),):
        part = problem.X.take(some)
        assert part.device is not None
        np.testing.assert_allclose(part.columns(np.array([5, 1])), X[some][:, [5, 1]].T)
        np.testing.assert_allclose(part.part(slice(2, 5)), X[some][2:5])
        products, squares = part.sums(V[:, some], np.abs(V[0, some]), True)
        np.testing.assert_allclose(products, V[:, some] @ X[some])
        np.testing.assert_allclose(squares, np.abs(V[0, some]) @ X[some] ** 2)


def test_rows_that_are_copied_one_by_one(tune: Tune) -> None:
    X, y = random_problem(12, 40, 8)
    tune(device_copied_bytes=1)
    assert_same_path(greedy_path(X, y, 4, device="cpu"), greedy_path(torch.tensor(X), y, 4))


def test_where_x_is(tune: Tune) -> None:
    """A small X is copied; tensors in host memory are not, nor is X on the host already."""
    X, y = random_problem(11, 60, 8)
    matrix = DeviceMatrix(torch.tensor(X))
    assert isinstance(host_matrix(matrix, in_memory=False), DeviceProducts)
    assert host_matrix(matrix, in_memory=True).host_array is not None
    tune(copied_from_device=X.nbytes)
    assert host_matrix(matrix, in_memory=False).host_array is not None
    tune(copied_from_device=-1, in_host_memory=True)
    values = host_matrix(matrix, in_memory=False).host_array
    assert values is not None
    assert values.ctypes.data == matrix.values.data_ptr()
    problem = make_problem(X, y)
    assert problem.on_host(in_memory=True) is problem
