"""`n_jobs` and `random_state` of all estimators: threads change nothing, seeds change the folds."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone

from greedyrls import (
    GreedyKernelRLS,
    GreedyKernelRLSClassifier,
    GreedyRLSClassifier,
    GreedyRLSRanker,
    GreedyRLSRegressor,
)

ESTIMATORS = (
    GreedyRLSRegressor,
    GreedyRLSClassifier,
    GreedyRLSRanker,
    GreedyKernelRLS,
    GreedyKernelRLSClassifier,
)


def data(m: int = 105, n: int = 200, seed: int = 0) -> tuple[Any, Any]:
    """Large enough for searches that take their steps together."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    return X, X[:, :4].sum(axis=1) + rng.standard_normal(m)


def labels(y: Any) -> Any:
    return np.where(y > 0.5, "high", "low")


CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "the default": (GreedyRLSRegressor, {}),
    "a size": (GreedyRLSRegressor, {"n_features_to_select": 5}),
    "one penalty": (GreedyRLSRegressor, {"alpha": 10.0}),
    "neither is chosen": (GreedyRLSRegressor, {"n_features_to_select": 4, "alpha": 10.0}),
    "folds": (GreedyRLSRegressor, {"cv": 4, "max_features": 5, "alpha": [1.0, 10.0]}),
    "another loss": (GreedyRLSRegressor, {"loss": "absolute", "max_features": 6}),
    "there and back": (GreedyRLSRegressor, {"direction": "floating", "max_features": 8}),
    "classes": (GreedyRLSClassifier, {"alpha": [1.0, 10.0], "max_features": 8}),
    "balanced classes": (
        GreedyRLSClassifier,
        {"class_weight": "balanced", "n_features_to_select": 3, "alpha": [1.0, 10.0]},
    ),
}


SLOW = ("the default", "folds", "another loss", "there and back", "classes")


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in CASES],
)
def test_threads_change_nothing(name: str) -> None:
    make, options = CASES[name]
    X, y = data()
    y = labels(y) if make is GreedyRLSClassifier else y
    one, three = (make(**options, n_jobs=n_jobs).fit(X, y) for n_jobs in (None, 3))
    assert_array_equal(three.selected_, one.selected_)
    assert three.alpha_ == pytest.approx(one.alpha_, rel=1e-9)
    assert three.path_.sentence == one.path_.sentence
    assert_allclose(three.path_.losses, one.path_.losses, rtol=1e-9)
    assert_allclose(three.coef_, one.coef_, rtol=1e-7, atol=1e-12)
    if one.path_.surface is not None:
        assert_allclose(three.path_.surface.losses, one.path_.surface.losses, rtol=1e-9)


@pytest.mark.slow
def test_threads_with_sparse_data_and_weights() -> None:
    X, y = data()
    X = sparse.csr_array(np.where(np.abs(X) > 1.0, X, 0.0))
    weights = np.arange(len(y)) % 3 + 1.0
    one, two = (
        GreedyRLSRegressor(4, alpha=[1.0, 10.0], n_jobs=jobs).fit(X, y, weights) for jobs in (1, 2)
    )
    assert_array_equal(one.selected_, two.selected_)


@pytest.mark.slow
def test_threads_of_a_ranker() -> None:
    X, y = data(n=30)
    queries = np.arange(len(y)) // 6
    one, two = (
        GreedyRLSRanker(3, alpha=[1.0, 10.0], n_jobs=jobs).fit(X, y, groups=queries)
        for jobs in (1, -1)
    )
    assert_array_equal(one.selected_, two.selected_)
    assert_allclose(one.path_.losses, two.path_.losses, rtol=1e-9)


@pytest.mark.parametrize("make", [GreedyKernelRLS, GreedyKernelRLSClassifier])
def test_threads_over_the_widths_of_a_kernel(make: Any) -> None:
    X, y = data(60, 3)
    y = labels(y) if make is GreedyKernelRLSClassifier else y
    widths = [0.03, 0.3, 3.0]
    one, two = (make(5, gamma=widths, alpha=0.1, n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    assert_array_equal(one.center_indices_, two.center_indices_)
    assert_allclose(one.gamma_losses_, two.gamma_losses_, rtol=1e-12)
    assert one.gamma_ == two.gamma_
    assert one.n_kernel_evaluations_ == two.n_kernel_evaluations_


def test_threads_and_a_checkpoint(tmp_path: Path) -> None:
    """What one thread has written, others go on from."""
    X, y = data()
    file = tmp_path / "begun.json"
    options: dict[str, Any] = {"alpha": [1.0, 10.0], "checkpoint": file}
    one = GreedyRLSRegressor(3, n_jobs=2, **options).fit(X, y)
    assert_array_equal(GreedyRLSRegressor(3, **options).fit(X, y).selected_, one.selected_)


def test_filters_of_warnings_are_left_as_they_were() -> None:
    X, y = data()
    before = list(warnings.filters)
    GreedyRLSRegressor(n_jobs=3, max_features=5).fit(X, y)
    assert warnings.filters == before


def test_an_error_in_a_thread_is_an_error() -> None:
    X, y = data()
    X[7, 3] = np.nan
    with pytest.raises(ValueError, match="row 7, column 3"):
        GreedyRLSRegressor(n_jobs=2).fit(X, y)


@pytest.mark.parametrize("make", ESTIMATORS)
@pytest.mark.parametrize("n_jobs", [0, 1.5, "all", True])
def test_what_is_no_number_of_threads(make: Any, n_jobs: Any) -> None:
    X, y = data(30, 4)
    y = labels(y) if "Classifier" in make.__name__ else y
    with pytest.raises(ValueError, match="n_jobs must be None or a whole number other than 0"):
        make(n_jobs=n_jobs).fit(X, y)


@pytest.mark.parametrize("make", ESTIMATORS)
def test_parameters_are_those_of_scikit_learn(make: Any) -> None:
    model = make(n_jobs=2, random_state=7)
    assert {"n_jobs", "random_state"} <= set(model.get_params())
    assert clone(model).get_params() == model.get_params()
    assert model.set_params(n_jobs=-1).n_jobs == -1


@pytest.mark.parametrize("make", ESTIMATORS)
def test_seeds_change_the_outer_folds(make: Any) -> None:
    """And nothing else does: the default is 0."""
    X, y = data(40, 4)
    y = labels(y) if "Classifier" in make.__name__ else y
    size = {"n_centers": 2} if "Kernel" in make.__name__ else {"n_features_to_select": 2}
    surfaces = [
        make(**size, alpha=[0.1, 10.0], **seed).fit(X, y).path_.surface.losses
        for seed in ({}, {"random_state": 0}, {"random_state": 1})
    ]
    assert_array_equal(surfaces[0], surfaces[1])
    assert not np.array_equal(surfaces[0], surfaces[2])


@pytest.mark.parametrize("make", ESTIMATORS)
def test_a_misspelt_parameter_names_the_class(make: Any) -> None:
    with pytest.raises(TypeError, match=rf"^{make.__name__}\.__init__\(\) got an unexpected"):
        make(n_job=2)


def test_subclasses_are_named_too() -> None:
    class Mine(GreedyRLSRegressor):
        """A user's own."""

    with pytest.raises(TypeError, match=r"Mine\.__init__\(\) got an unexpected"):
        Mine(alphas=1.0)  # type: ignore[call-arg]
    assert Mine(3).get_params()["n_features_to_select"] == 3
    assert clone(Mine(3, n_jobs=2)).n_jobs == 2
