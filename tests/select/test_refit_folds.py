"""refit_alpha="cv": the penalty of the models by the folds of the search."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.model_selection import KFold, RepeatedKFold

from greedyrls import GreedyRLSRegressor, SelectionPath, extend_path, greedy_path
from greedyrls.assess import cross_validate_path
from penalties import assert_best_penalties
from problems import Case, fold_cases
from sweeps import EXAMPLES

PARTITIONS = ["k-fold", "shuffled", "groups", "leave one group out", "unequal"]


@pytest.mark.heavy
@settings(max_examples=max(15, min(60, EXAMPLES // 40)))
@given(case=fold_cases(folds=PARTITIONS, kinds=["normal", "scaled", "binary"]))
def test_penalties_are_the_best_by_the_folds(case: Case) -> None:
    path = greedy_path(case.X, case.y, case.n_features, refit_alpha="cv", **case.options)
    assert path.settings.refit_alpha == "cv"
    assert_best_penalties(path, case, case.splits)


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
        ({"cv": 5, "loss": "absolute"}, "loss='absolute'"),
        (
            {"cv": RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)},
            "folds .* that do not test",
        ),
        ({"cv": np.arange(60) % 4 - 1}, "folds .* that do not test every row exactly once"),
    ],
)
def test_where_it_is_not_there(options: dict[str, Any], reason: str) -> None:
    X, y = data()
    with pytest.raises(ValueError, match=f"refit_alpha='cv' is not supported with {reason}"):
        greedy_path(X, y, 3, refit_alpha="cv", **options)
