"""What was once wrong: a small reproduction each, so that it stays right."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.linear_model import Ridge
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold, LeaveOneOut, StratifiedKFold, TimeSeriesSplit

from greedyrls import GreedyRLSClassifier, GreedyRLSRegressor, greedy_path


def data(m: int = 60, n: int = 6) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((m, n))
    return X, X[:, 0] + rng.standard_normal(m)


def test_a_constant_column_has_an_area_of_one_half() -> None:
    rng = np.random.default_rng(47)
    y = rng.permutation(np.repeat([-1.0, 1.0], 7))
    ids = rng.permutation(np.arange(14) % 3)
    weights = rng.integers(1, 4, 14).astype(float)
    X = np.column_stack([np.ones(14), rng.standard_normal(14)])
    path = greedy_path(X, y, 2, loss="auc", cv=ids, sample_weight=weights)
    assert path.initial_loss == pytest.approx(0.5)
    assert path.indices.tolist() == [1, 0]


def test_an_outlier_leaves_the_order_of_the_others() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal(60)
    y = np.where(x + 0.5 * rng.standard_normal(60) > 0, 1.0, -1.0)
    x[3], y[3] = 1e12, 1.0
    ids = np.where(np.arange(60) < 30, 0, -1)
    path = greedy_path(x[:, None], y, 1, loss="auc", cv=ids, alpha=1e-3)
    ridge = Ridge(alpha=1e-3).fit(x[30:, None], y[30:])
    area = roc_auc_score(y[:30], ridge.predict(x[:30, None]))
    assert path.losses[0] == pytest.approx(1.0 - area)


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
    assert path.surface.folds.startswith("GroupKFold")


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
