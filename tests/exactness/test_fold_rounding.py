"""What was once wrong: a small reproduction each, so that it stays right."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import Ridge
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    StratifiedKFold,
    TimeSeriesSplit,
)

import literal
from greedyrls import GreedyRLSClassifier, GreedyRLSRegressor, extend_path, greedy_path
from shuffled import shuffled_splits
from tuning import Tune


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


def fold_losses(X: Any, y: Any, path: Any, folds: int, weights: Any = None) -> list[float]:
    """Held-out losses of all sizes by literal refits."""
    splits = list(KFold(folds).split(X))
    return [
        literal.criterion(
            X,
            y[:, None],
            splits,
            path.indices[: k + 1].tolist(),
            loss="squared",
            alpha=path.settings.alpha,
            fit_intercept=True,
            weights=weights,
        )
        for k in range(len(path))
    ]


def test_an_outlier_in_a_row_of_no_weight_does_not_shift_columns() -> None:
    X, y = data(60, 12)
    weights = np.ones(60)
    weights[7] = 0.0
    X[:, 11] += 1e4
    X[7, :6] = 1e9
    path = greedy_path(X, y, 4, cv=list(KFold(5).split(X)), sample_weight=weights)
    kept = weights > 0
    ridge = Ridge(alpha=1.0).fit(X[kept][:, path.indices], y[kept])
    assert_allclose(path.coef(), ridge.coef_, rtol=1e-10)
    assert_allclose(path.losses, fold_losses(X, y, path, 5, weights), rtol=1e-9)


@pytest.mark.parametrize("size", [1e4, 1e6, 1e8])
def test_held_out_rows_that_dwarf_all_others(size: float) -> None:
    X, y = data(60, 12)
    X[3] = size
    path = greedy_path(X, y, 4, cv=5)
    assert_allclose(path.losses, fold_losses(X, y, path, 5), rtol=1e-9)
    if size > 1e6:
        return  # within the folds that train on it, its leverage is 1 up to rounding
    alphas = [1.0, 30.0]
    nested = greedy_path(X, y, 3, alpha=alphas, alpha_cv=5, refit_alpha="same").surface
    splits = shuffled_splits(60, 5)
    expected = literal.nested_surface(X, y, splits, alphas, 3)
    assert_allclose(nested.losses, expected["losses"], rtol=1e-8)


@pytest.mark.parametrize("distance", [1e-4, 1e-6])
@pytest.mark.parametrize("alpha", [1e-8, 1e-12])
def test_folds_with_features_that_nearly_span_each_other(distance: float, alpha: float) -> None:
    X, y = data(60, 8)
    X[:, 1] = X[:, 0] + distance * np.random.default_rng(1).standard_normal(60)
    path = greedy_path(X, y, 8, alpha=alpha, cv=5)
    assert_allclose(path.losses, fold_losses(X, y, path, 5), rtol=1e-9)


@pytest.mark.parametrize("alpha", [1e-8, 1e-5, 1e-2])
def test_all_of_many_features_with_a_small_penalty(alpha: float) -> None:
    X, y = data(30, 300)
    path = greedy_path(X, y, 1, alpha=[alpha, 1e9], alpha_rule="all_features")
    everything = list(range(300))
    expected = literal.criterion(
        X,
        y[:, None],
        "loo",
        everything,
        loss="squared",
        alpha=alpha,
        fit_intercept=True,
        weights=None,
    )
    assert path.surface.losses[0, 0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("order", ["C", "F"])
def test_folds_read_any_memory_order(order: Any) -> None:
    X, y = data(200, 20)
    expected = greedy_path(X, y, 5, cv=7)
    path = greedy_path(np.asarray(X, order=order), y, 5, cv=7)
    assert_allclose(path.losses, expected.losses, rtol=1e-12)
    strided = greedy_path(np.repeat(X, 2, axis=1)[:, ::2], y, 5, cv=7)
    assert_allclose(strided.losses, expected.losses, rtol=1e-12)


def test_a_stratified_path_of_a_classifier_can_be_extended() -> None:
    X, y = data()
    labels = y > 0
    model = GreedyRLSClassifier(2, alpha=1.0, cv=5).fit(X, labels)
    codes = np.where(labels, 1.0, -1.0)
    longer = extend_path(model.path_, X, codes, 4, cv=StratifiedKFold(5))
    assert_array_equal(
        longer.indices, GreedyRLSClassifier(4, alpha=1.0, cv=5).fit(X, labels).selected_
    )


def test_a_feature_that_others_span_added_last_of_all() -> None:
    X, y = data(14, 3)
    X[:, 2] = X[:, 1]
    path = greedy_path(X, y, 3, alpha=1e-3, cv=4)
    assert_allclose(path.losses, fold_losses(X, y, path, 4), rtol=1e-9)


def test_folds_that_cannot_fit_in_memory_say_so(tune: Tune) -> None:
    tune(physical_bytes=1000.0)
    X, y = data()
    with pytest.raises(MemoryError, match=r"5 splits of 6 features need .* GB .*fewer folds"):
        greedy_path(X, y, 4, cv=5)
