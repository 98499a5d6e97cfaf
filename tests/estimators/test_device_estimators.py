"""Estimators on device arrays: fitted where X is, predictions where X is, NumPy attributes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from device_paths import random_problem
from greedyrls import GreedyRLSClassifier, GreedyRLSRegressor, greedy_path
from internals import numpy_of
from tuning import Tune

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
strict = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")

Array = NDArray[Any]


def on_cuda(values: Array) -> Any:
    if not torch.cuda.is_available():
        pytest.skip("PyTorch sees no CUDA device on this machine")
    return torch.tensor(values).cuda()


def on_cupy(values: Array) -> Any:
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    return cupy.asarray(values)


MAKERS: dict[str, Callable[[Array], Any]] = {
    "torch": torch.tensor,
    "strict": strict.asarray,
    "cuda": on_cuda,
    "cupy": on_cupy,
}
every_maker = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())


def assert_follows(values: Any, X: Any, expected: Array) -> None:
    assert type(values) is type(X)
    assert values.device == X.device
    np.testing.assert_allclose(numpy_of(values), expected, rtol=1e-9, atol=1e-12)


@every_maker
@pytest.mark.parametrize("targets", [1, 2])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_regressor(make: Callable[[Array], Any], targets: int, dtype: str) -> None:
    X, Y = random_problem(1, 90, 15, targets)
    X = X.astype(dtype)
    weights = np.random.default_rng(2).uniform(0.5, 2.0, 90)
    given = make(X)
    model = GreedyRLSRegressor(5, alpha=1.0).fit(given, make(Y), make(weights))
    other = GreedyRLSRegressor(5, alpha=1.0).fit(X, Y, weights)
    assert isinstance(model.coef_, np.ndarray)
    assert model.n_features_in_ == 15
    np.testing.assert_array_equal(model.selected_, other.selected_)
    np.testing.assert_allclose(model.coef_, other.coef_, rtol=1e-9)
    np.testing.assert_allclose(model.intercept_, other.intercept_, rtol=1e-9)
    assert_follows(model.predict(given), given, other.predict(X))
    assert_follows(model.transform(given), given, other.transform(X))
    assert model.score(given, make(Y)) == pytest.approx(other.score(X, Y))
    # Fitted here, it predicts there, and the other way round.
    np.testing.assert_allclose(model.predict(X), other.predict(X), rtol=1e-9)
    assert_follows(other.predict(given), given, other.predict(X))


@every_maker
@pytest.mark.parametrize("kind", ["whole numbers", "three classes", "flags", "text"])
def test_classifier(make: Callable[[Array], Any], kind: str) -> None:
    X, y = random_problem(2, 90, 15)
    labels: Array = {
        "whole numbers": (y > 0.0).astype(np.int64) + 3,
        "three classes": np.digitize(y, [-1.0, 1.0]).astype(np.int32),
        "flags": y > 0.0,
        "text": np.where(y > 0.0, "yes", "no"),
    }[kind]
    given = make(X)
    model = GreedyRLSClassifier(5, alpha=1.0).fit(given, labels if kind == "text" else make(labels))
    other = GreedyRLSClassifier(5, alpha=1.0).fit(X, labels)
    assert isinstance(model.classes_, np.ndarray)
    np.testing.assert_array_equal(model.selected_, other.selected_)
    assert_follows(model.decision_function(given), given, other.decision_function(X))
    assert_follows(model.predict_proba(given), given, other.predict_proba(X))
    predicted = model.predict(given)
    assert type(predicted) is (np.ndarray if kind == "text" else type(given))
    np.testing.assert_array_equal(numpy_of(predicted), other.predict(X))
    assert model.score(given, labels) == other.score(X, labels)
    np.testing.assert_array_equal(model.fit(given, labels).selected_, other.selected_)


@every_maker
def test_predictions_of_a_path(make: Callable[[Array], Any]) -> None:
    for targets in (1, 3):
        X, Y = random_problem(3, 60, 10, targets)
        path, given = greedy_path(X, Y, 4), make(X)
        assert_follows(path.predict(given), given, path.predict(X))
        assert_follows(path.predict(given, 2), given, path.predict(X, 2))
    with pytest.raises(ValueError, match="X has 9 features"):
        path.predict(make(X[:, 1:]))
    with pytest.raises(ValueError, match="2 dimensions"):
        path.predict(make(X[:, 0]))
    bad = X.copy()
    bad[7, path.indices[0]] = np.nan
    with pytest.raises(ValueError, match="NaN or infinity: a selected column, row 7"):
        path.predict(make(bad))


@every_maker
def test_the_model_on_other_columns(make: Callable[[Array], Any]) -> None:
    X, y = random_problem(4, 60, 10)
    model = GreedyRLSRegressor(3, alpha=1.0).fit(make(X), make(y))
    for method in (model.predict, model.transform):
        with pytest.raises(ValueError, match="X has 9 features, but GreedyRLSRegressor"):
            method(make(X[:, 1:]))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(make(X), make(y[1:]))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        GreedyRLSClassifier(3, alpha=1.0).fit(make(X), y[1:] > 0.0)
    with pytest.raises(ValueError, match=r"2 dimensions, got an array of shape \(60,\)"):
        model.fit(make(y), make(y))


CHOSEN: list[dict[str, Any]] = [
    {},
    {"cv": 3, "alpha": 1.0},
    {"alpha": [0.1, 1.0]},
    {"alpha": "auto", "alpha_rule": "joint"},
    {"alpha": 1.0, "refit_alpha": "loo"},
]


@pytest.mark.parametrize("options", CHOSEN, ids=str)
def test_what_is_chosen_is_chosen_on_the_device(options: dict[str, Any], tune: Tune) -> None:
    X, y = random_problem(5, 60, 10)
    other = GreedyRLSRegressor(3, **options).fit(X, y)
    tune(in_host_memory=False)
    model = GreedyRLSRegressor(3, **options).fit(torch.tensor(X), torch.tensor(y))
    np.testing.assert_allclose(model.coef_, other.coef_, rtol=1e-7, atol=1e-10)
    labels = np.array(["no", "yes"])[(y > np.median(y)).astype(int)]
    theirs = GreedyRLSClassifier(3, loss="squared", **options).fit(X, labels)
    ours = GreedyRLSClassifier(3, **options).fit(torch.tensor(X), labels)
    np.testing.assert_array_equal(ours.predict(torch.tensor(X)), theirs.predict(X))


@every_maker
@pytest.mark.parametrize("options", [{}, {"cv": 3}, {"alpha": 1.0, "cv": 3}], ids=str)
def test_penalties_and_folds(make: Callable[[Array], Any], options: dict[str, Any]) -> None:
    X, y = random_problem(7, 60, 10)
    model = GreedyRLSRegressor(3, **options).fit(make(X), make(y))
    other = GreedyRLSRegressor(3, **options).fit(X, y)
    np.testing.assert_allclose(model.coef_, other.coef_, rtol=1e-7, atol=1e-9)
    labels = (y > 0.0).astype(np.int64)
    classifier = GreedyRLSClassifier(3, **options).fit(make(X), make(labels))
    expected = GreedyRLSClassifier(3, **options).fit(X, labels)
    np.testing.assert_array_equal(classifier.selected_, expected.selected_)


def test_a_target_elsewhere() -> None:
    X, y = random_problem(6, 60, 10)
    other = GreedyRLSRegressor(3, alpha=1.0).fit(X, y)
    for given, target in ((X, torch.tensor(y)), (torch.tensor(X), y), (strict.asarray(X), y)):
        np.testing.assert_allclose(
            GreedyRLSRegressor(3, alpha=1.0).fit(given, target).coef_, other.coef_
        )


@every_maker
@pytest.mark.parametrize("classes", [2, 3])
def test_weights_of_classes(make: Callable[[Array], Any], classes: int) -> None:
    """In outer folds, too, where balanced weights are those of the training rows."""
    X, Y = random_problem(3, 90, 12, 1)
    y = np.digitize(Y, np.quantile(Y, [0.7, 0.9][: classes - 1]))
    weights = np.random.default_rng(2).uniform(0.5, 2.0, 90)
    model = GreedyRLSClassifier(4, alpha=[0.1, 10.0], loss="squared", class_weight="balanced")
    here = model.fit(X, y, weights).path_
    there = model.fit(make(X), make(y), make(weights)).path_
    assert there.indices.tolist() == here.indices.tolist()
    np.testing.assert_allclose(there.surface.fold_losses, here.surface.fold_losses, rtol=1e-9)
    np.testing.assert_allclose(there.coef(4), here.coef(4), rtol=1e-9)
