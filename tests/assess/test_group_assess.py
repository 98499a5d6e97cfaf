"""Assessments of selections among groups: the whole selection, anew on other rows."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge

from greedyrls import greedy_path
from greedyrls.assess import cross_validate_path, permutation_null, resample_path
from problems import two_classes

GROUPS = {"a": [0, 1, 2], "b": [5, 9], "c": [3, 7]}
FOLDS = np.arange(90) % 3


@pytest.fixture(scope="module", name="data")
def make_data() -> tuple[np.ndarray, np.ndarray]:
    X, _ = two_classes(90, 10, seed=2)
    return X, X[:, [0, 5, 8]].sum(axis=1) + np.random.default_rng(3).standard_normal(90)


@pytest.mark.parametrize("inner", ["loo", 5])
def test_folds(data: tuple[np.ndarray, np.ndarray], inner: str | int) -> None:
    X, y = data
    options = {"feature_groups": GROUPS, "alpha": 2.0}
    found = cross_validate_path(
        X, y, 3, cv=FOLDS, inner_cv=inner, task="regression", n_random=2, **options
    )
    assert found.n_available == 6
    for fold in range(3):
        train, test = fold != FOLDS, fold == FOLDS
        path = greedy_path(X[train], y[train], 3, cv=inner, **options)
        assert found.features[fold].tolist() == [step.index for step in path.steps]
        errors = [np.mean((path.predict(X[test], k) - y[test]) ** 2) for k in (1, 2, 3)]
        assert_allclose(found.test_losses[fold], errors, rtol=1e-8)
        assert_allclose(found.selection_losses[fold], path.losses, rtol=1e-8)
    assert found.random_losses.shape == (3, 2, 3)
    assert np.isfinite(found.random_losses).all()


def test_random_groups_are_whole(data: tuple[np.ndarray, np.ndarray]) -> None:
    """With all groups drawn the model has all columns, in whatever order."""
    X, y = data
    found = cross_validate_path(
        X, y, 6, cv=FOLDS, alpha=2.0, feature_groups=GROUPS, task="regression", n_random=1
    )
    for fold in range(3):
        train, test = fold != FOLDS, fold == FOLDS
        model = Ridge(alpha=2.0).fit(X[train], y[train])
        error = np.mean((model.predict(X[test]) - y[test]) ** 2)
        assert found.random_losses[fold, 0, -1] == pytest.approx(error, rel=1e-8)
        assert found.test_losses[fold, -1] == pytest.approx(error, rel=1e-8)


def test_resamples_and_permutations(data: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = data
    options = {"feature_groups": GROUPS, "alpha": 2.0, "task": "regression"}
    stability = resample_path(X, y, 2, n_resamples=6, forced_features=[9], **options)
    assert stability.n_available == 6
    assert stability.forced == (5,)
    assert all(order[0] == 5 and len(order) == 2 for order in stability.selections)
    assert stability.names([0, 5, 8]) == ["a", "b", "x8"]
    assert np.isfinite(stability.index[1])
    null = permutation_null(X, y, 2, n_permutations=5, **options)
    assert null.chosen_p_value == pytest.approx(1 / 6)


def test_a_budget(data: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = data
    costs = np.linspace(1.0, 2.0, 10)
    found = cross_validate_path(
        X, y, None, cv=FOLDS, alpha=2.0, feature_costs=costs, budget=4.0, task="regression"
    )
    for features, size in zip(found.features, found.chosen_sizes, strict=True):
        assert costs[features].sum() <= 4.0
        assert size == len(features)
