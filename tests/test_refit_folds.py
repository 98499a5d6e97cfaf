"""refit_alpha="cv": the penalty of the models by the folds of the search."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.model_selection import KFold, RepeatedKFold

from conftest import EXAMPLES
from greedyrls import GreedyRLSRegressor, SelectionPath, extend_path, greedy_path
from greedyrls._alphas import penalty_scale, refit_grid
from greedyrls.assess import cross_validate_path
from literal import criterion
from penalties import diagonal
from problems import Case, fold_cases

PARTITIONS = ["k-fold", "shuffled", "groups", "leave one group out", "unequal"]


@pytest.mark.heavy
@settings(max_examples=max(15, min(60, EXAMPLES // 40)))
@given(case=fold_cases(folds=PARTITIONS, kinds=["normal", "scaled", "binary"]))
def test_penalties_are_the_best_by_the_folds(case: Case) -> None:
    path = greedy_path(case.X, case.y, case.n_features, refit_alpha="cv", **case.options)
    intercept = case.options["fit_intercept"]
    weights = case.options.get("sample_weight", np.ones(len(case.X)))
    kept = np.setdiff1d(np.arange(case.X.shape[1]), case.options.get("excluded_features", []))
    grid = refit_grid(penalty_scale(diagonal(case.X[:, kept], weights, intercept)), is_fine=True)
    assert path.refit_alphas is not None
    assert path.settings.refit_alpha == "cv"
    for k in range(1, len(path) + 1):
        losses = [
            criterion(
                *(case.X, case.y, case.splits, path.features(k)),
                loss="squared",
                alpha=float(alpha),
                fit_intercept=intercept,
                weights=weights,
            )
            for alpha in grid
        ]
        (place,) = np.flatnonzero(np.isclose(grid, path.refit_alphas[k - 1], rtol=1e-6, atol=0))
        assert losses[place] <= min(losses) * (1 + 1e-9)


def data(seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 10))
    return X, X[:, 2] - X[:, 5] + rng.standard_normal(60)


def test_a_path_is_extended_and_written() -> None:
    X, y = data()
    whole = greedy_path(X, y, 5, cv=6, refit_alpha="cv")
    longer = extend_path(whole.truncated(2), X, y, 5, cv=6)
    assert_allclose(longer.refit_alphas, whole.refit_alphas)
    assert SelectionPath.from_json(whole.to_json()) == whole


def test_sparse_data() -> None:
    X, y = data(1)
    X[np.abs(X) < 0.7] = 0.0
    path = greedy_path(X, y, 4, cv=6, refit_alpha="cv")
    other = greedy_path(sparse.csr_array(X), y, 4, cv=6, refit_alpha="cv")
    assert_array_equal(other.indices, path.indices)
    assert_allclose(other.refit_alphas, path.refit_alphas)


def test_the_estimators_and_their_assessment_take_it() -> None:
    X, y = data(2)
    model = GreedyRLSRegressor(3, alpha=[0.1, 10.0], cv=5, refit_alpha="cv").fit(X, y)
    assert model.path_.refit_alphas is not None
    found = cross_validate_path(
        X, y, 3, cv=KFold(3), inner_cv=4, alpha=1.0, refit_alpha="cv", n_random=2, random_state=0
    )
    assert np.isfinite(found.test_losses).all()
    assert np.isfinite(found.random_losses).all()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({}, "leave-one-out"),
        ({"cv": 5, "loss": "absolute"}, "loss 'absolute'"),
        (
            {"cv": RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)},
            "folds .* that do not test",
        ),
        ({"cv": np.arange(60) % 4 - 1}, "folds .* that do not test every row exactly once"),
    ],
)
def test_where_it_is_not_there(options: dict[str, Any], reason: str) -> None:
    X, y = data()
    with pytest.raises(ValueError, match=f"refit_alpha='cv' is not there for {reason}"):
        greedy_path(X, y, 3, refit_alpha="cv", **options)
