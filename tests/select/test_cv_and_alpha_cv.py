"""Folds of every kind for the search (cv) and for its penalty (alpha_cv), alone and together."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.model_selection import (
    GroupKFold,
    LeaveOneOut,
    StratifiedKFold,
    TimeSeriesSplit,
)

from greedyrls import GreedyRLSClassifier, GreedyRLSRegressor, extend_path, greedy_path
from tuning import Tune


def data(m: int = 60, n: int = 6) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((m, n))
    return X, X[:, 0] + rng.standard_normal(m)


@pytest.mark.parametrize("cv", [2, TimeSeriesSplit(4), [(np.arange(40), np.arange(40, 60))]])
def test_automatic_penalties_with_any_folds(cv: Any) -> None:
    X, y = data()
    model = GreedyRLSRegressor(2, cv=cv).fit(X, y)
    assert model.n_features_ == 2


def test_stratified_folds_of_many_classes() -> None:
    X, y = data()
    labels = np.digitize(y, np.quantile(y, [0.3, 0.6]))
    codes = 2.0 * (labels[:, None] == np.arange(3)) - 1.0
    path = greedy_path(X, codes, 2, loss="balanced_zero_one", cv=StratifiedKFold(3))
    model = GreedyRLSClassifier(2, alpha=1.0, loss="balanced_zero_one", cv=StratifiedKFold(3))
    assert_array_equal(model.fit(X, labels).selected_, path.indices)


def test_groups_of_outer_folds_with_a_leave_one_out_splitter() -> None:
    X, y = data()
    options: dict[str, Any] = {"alpha": [1.0, 9.0], "alpha_cv": GroupKFold(3)}
    options["groups"] = np.arange(60) % 6
    expected = greedy_path(X, y, 2, cv="loo", **options)
    assert greedy_path(X, y, 2, cv=LeaveOneOut(), **options).surface == expected.surface


def test_groups_of_outer_folds_with_fold_ids() -> None:
    X, y = data()
    groups = np.arange(60) % 6
    options: dict[str, Any] = {"alpha": [1.0, 9.0], "groups": groups}
    path = greedy_path(X, y, 2, cv=np.arange(60) % 4, alpha_cv=GroupKFold(3), **options)
    assert path.surface.folds.endswith("by groups")


@pytest.mark.parametrize("alpha_cv", [1, 99, [1, 2, 3], GroupKFold(3), [([0, 1], [1, 2])]])
def test_errors_name_alpha_cv(alpha_cv: Any) -> None:
    X, y = data()
    with pytest.raises(ValueError, match="alpha_cv"):
        greedy_path(X, y, 2, alpha=[1.0, 2.0], alpha_cv=alpha_cv)


@pytest.mark.parametrize("cv", ["loo", 5])
def test_rows_of_no_weight_at_the_end(cv: Any) -> None:
    X, y = data()
    weights = (np.arange(60) < 30).astype(float)
    model = GreedyRLSRegressor(2, cv=cv).fit(X, y, sample_weight=weights)
    kept = GreedyRLSRegressor(2, cv=cv).fit(X[:30], y[:30])
    assert_array_equal(model.selected_, kept.selected_)


def test_a_class_of_one_row_by_default() -> None:
    X, _ = data()
    GreedyRLSClassifier(2, alpha=1.0).fit(X, np.arange(60) == 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        GreedyRLSClassifier(2).fit(X, np.arange(60) == 3)


def test_a_class_missing_within_an_outer_fold() -> None:
    X, _ = data(30)
    y = -np.ones(30)
    y[::5] = 1.0
    inner, outer = np.arange(30) // 5 % 3, np.arange(30) // 15
    inner[[0, 5]], inner[[15, 20]] = 0, 1
    with pytest.raises(ValueError, match=r"class \+1|every class"):
        greedy_path(X, y, 2, loss="auc", cv=inner, alpha=[1.0, 2.0], alpha_cv=outer)


def test_a_stratified_path_of_a_classifier_can_be_extended() -> None:
    X, y = data()
    labels = y > 0
    model = GreedyRLSClassifier(2, alpha=1.0, cv=5).fit(X, labels)
    codes = np.where(labels, 1.0, -1.0)
    longer = extend_path(model.path_, X, codes, 4, cv=StratifiedKFold(5))
    assert_array_equal(
        longer.indices, GreedyRLSClassifier(4, alpha=1.0, cv=5).fit(X, labels).selected_
    )


def test_folds_that_cannot_fit_in_memory_say_so(tune: Tune) -> None:
    tune(physical_bytes=1000.0, fold_engine="models")
    X, y = data()
    with pytest.raises(MemoryError, match=r"5 splits of 6 features need .* GB .*fewer folds"):
        greedy_path(X, y, 4, cv=5)
