"""The estimators beyond scikit-learn's own checks: sizes, labels, names, frames, composition."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from greedyrls import (
    GreedyKernelRLS,
    GreedyRLSClassifier,
    GreedyRLSRanker,
    GreedyRLSRegressor,
    StopReason,
    greedy_path,
)

NAMES = [f"gene {i}" for i in range(12)]
BOTH = [GreedyRLSRegressor, GreedyRLSClassifier]


def data(m: int = 50, n: int = 12, targets: tuple[int, ...] = ()) -> tuple[Any, Any]:
    rng = np.random.default_rng(21)
    X = rng.standard_normal((m, n)) + rng.standard_normal(n)
    slopes = rng.uniform(1.0, 2.0, (3, *targets))
    y = X[:, [7, 2, 5]] @ slopes + rng.standard_normal((m, *targets))
    return X, y - np.median(y, axis=0)


def target_for(estimator: type, y: Any) -> Any:
    is_number = estimator is not GreedyRLSClassifier
    return y if is_number else np.where(y > np.median(y), "high", "low")


def three_classes() -> tuple[Any, Any]:
    X, y = data(60)
    return X, np.array(["low", "middle", "high"])[np.digitize(y, np.quantile(y, [0.3, 0.6]))]


# Sizes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", BOTH)
@pytest.mark.parametrize(
    ("size", "expected"),
    [(1, 1), (5, 5), (12, 12), (np.int64(4), 4), (0.5, 6), (1.0, 12), (0.01, 1), (0.25, 3)],
)
def test_number_or_share_of_features(estimator: type, size: Any, expected: int) -> None:
    X, y = data()
    model = estimator(size).fit(X, target_for(estimator, y))
    assert model.n_features_ == len(model.selected_) == len(model.path_) == expected
    assert model.get_params()["n_features_to_select"] is size


@pytest.mark.parametrize(("share", "expected"), [(0.29, 29), (0.57, 57), (0.07, 7)])
def test_a_share_does_not_lose_a_feature_to_rounding(share: float, expected: int) -> None:
    X, y = data(30, 100)
    assert GreedyRLSRegressor(share, alpha=1.0).fit(X, y).n_features_ == expected


def test_a_share_counts_forced_and_heeds_excluded_features() -> None:
    X, y = data()
    assert GreedyRLSRegressor(0.1, forced_features=[1, 2, 3]).fit(X, y).n_features_ == 3
    assert GreedyRLSRegressor(1.0, excluded_features=[1, 2]).fit(X, y).n_features_ == 10


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 30.0])
def test_auto_is_the_minimum_of_the_held_out_loss(alpha: float) -> None:
    X, y = data(40, 30)
    model = GreedyRLSRegressor(alpha=alpha, size_rule="min").fit(X, y)
    full = greedy_path(X, y, 30, alpha=alpha)
    assert_array_equal(model.path_.indices, full.indices[: len(model.path_)])
    losses = model.path_.held_out[0]
    assert model.n_features_ == int(np.argmin(losses)) + 1
    assert len(model.path_) >= min(30, 2 * model.n_features_ + 10)
    assert_allclose(model.coef_[model.selected_], full.coef(model.n_features_), rtol=1e-9)


def test_auto_grows_until_the_held_out_loss_is_old() -> None:
    X, y = data(200, 60)
    model = GreedyRLSRegressor(alpha=0.1).fit(X, y)
    assert 3 <= model.n_features_ <= 6
    assert len(model.path_) < 40
    assert {7, 2, 5} <= set(model.selected_.tolist())
    patient = GreedyRLSRegressor(alpha=0.1, patience=2).fit(X, y)
    assert patient.path_.stop_reason is StopReason.NO_IMPROVEMENT
    few = GreedyRLSRegressor(alpha=0.1, forced_features=[7]).fit(X[:8], y[:8])
    assert len(few.path_) <= 7


def test_auto_keeps_every_forced_feature() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 30)), rng.standard_normal(40)
    forced = list(range(25))  # noise, so the loss rises from the start
    model = GreedyRLSRegressor(alpha=1e-6, forced_features=forced).fit(X, y)
    assert model.selected_[:25].tolist() == forced
    assert model.n_features_ == len(model.selected_) >= 25


@pytest.mark.parametrize("size", ["auto", 0.5, 1])
def test_everything_excluded(size: Any) -> None:
    X, y = data()
    with pytest.raises(ValueError, match="excluded"):
        GreedyRLSRegressor(size, excluded_features=range(12)).fit(X, y)


@pytest.mark.parametrize("estimator", BOTH)
def test_another_size_without_a_new_fit(estimator: type, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = data()
    y = target_for(estimator, y)
    model = estimator(8, alpha=0.3).fit(X, y)
    before = pickle.dumps(model)
    with monkeypatch.context() as patch:
        patch.setattr(estimator, "fit", None)
        others = {k: model.with_n_features(k) for k in (1, 3, np.int64(5), 8)}
    for k, other in others.items():
        assert type(other) is estimator
        anew = estimator(int(k), alpha=0.3).fit(X, y)
        assert_array_equal(other.selected_, anew.selected_)
        assert_array_equal(other.support_, anew.support_)
        assert_allclose(other.coef_, anew.coef_, rtol=1e-12)
        assert_allclose(other.intercept_, anew.intercept_, rtol=1e-12)
        assert other.score(X, y) == pytest.approx(anew.score(X, y), rel=1e-12)
        assert other.transform(X).shape == (50, k)
        assert other.n_features_ == k
        assert clone(other).get_params() == estimator(int(k), alpha=0.3).get_params()
        assert_array_equal(clone(other).fit(X, y).selected_, anew.selected_)
        # From small to large again, and nothing of it is seen in the first model.
        assert_array_equal(other.with_n_features(8).coef_, model.coef_)
        other.coef_[...] = 0.0
        other.support_[...] = False
    assert pickle.dumps(model) == before


def test_sizes_that_are_not_on_the_path() -> None:
    X, y = data()
    model = GreedyRLSRegressor(4).fit(X, y)
    for k in (5, -1):
        with pytest.raises(ValueError, match=rf"k={k} is not on the path, which has 0 to 4"):
            model.with_n_features(k)
    for k in (2.0, True, "2", None):
        with pytest.raises(TypeError, match="k must be a whole number"):
            model.with_n_features(k)
    with pytest.raises(NotFittedError):
        GreedyRLSRegressor().with_n_features(1)


def test_order_mask_and_ranking_agree() -> None:
    X, y = data()
    for model in (
        GreedyRLSRegressor(5).fit(X, y),
        GreedyRLSRegressor(9).fit(X, y).with_n_features(5),
    ):
        path = model.path_
        assert_array_equal(model.selected_, path.indices[:5])
        assert_array_equal(np.flatnonzero(model.support_), np.sort(model.selected_))
        assert_array_equal(model.get_support(), model.support_)
        assert_array_equal(model.get_support(indices=True), np.sort(model.selected_))
        assert_array_equal(model.ranking_[path.indices], np.arange(1, len(path) + 1))
        never = np.setdiff1d(np.arange(12), path.indices)
        assert_array_equal(model.ranking_[never], len(path) + 1)
        assert_array_equal(model.support_, model.ranking_ <= model.n_features_)
        assert_array_equal(model.coef_ != 0, model.support_)
        assert_array_equal(model.transform(X), X[:, model.support_])
        restored = model.inverse_transform(model.transform(X))
        assert_array_equal(restored, np.where(model.support_, X, 0.0))


# Models ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("targets", [(), (1,), (3,)])
def test_regression_is_ridge_on_the_chosen_columns(
    targets: tuple[int, ...], fit_intercept: bool, weighted: bool
) -> None:
    X, y = data(targets=targets)
    weights = np.random.default_rng(0).random(50) if weighted else None
    model = GreedyRLSRegressor(5, alpha=0.4, fit_intercept=fit_intercept).fit(X, y, weights)
    ridge = Ridge(alpha=0.4, fit_intercept=fit_intercept).fit(X[:, model.selected_], y, weights)
    assert model.coef_.shape == (*targets, 12)
    assert np.shape(model.intercept_) == targets
    assert model.predict(X).shape == y.shape
    expected = ridge.predict(X[:, model.selected_]).reshape(y.shape)
    assert_allclose(model.predict(X), expected, rtol=1e-9, atol=1e-9)
    assert_allclose(X @ model.coef_.T + model.intercept_, model.predict(X), rtol=1e-9, atol=1e-9)
    assert_allclose(model.predict(X), model.path_.predict(X), rtol=1e-9, atol=1e-9)
    assert model.score(X, y, weights) == pytest.approx(
        ridge.score(X[:, model.selected_], y, weights), rel=1e-9
    )


def test_targets_share_one_set_of_features() -> None:
    X, y = data(targets=(3,))
    model = GreedyRLSRegressor(4, alpha=1.0).fit(X, pd.DataFrame(y, columns=list("abc")))
    assert model.selected_.shape == (4,)
    path = greedy_path(X, y, 4)
    assert_array_equal(model.selected_, path.indices)
    assert_allclose(model.coef_[:, model.selected_], path.coef(), rtol=1e-12)


LABELS: dict[str, Any] = {
    "±1": [-1, 1],
    "0/1": [0, 1],
    "bool": [False, True],
    "strings": ["no", "yes"],
    "far numbers": [7, 1000],
    "floats": [0.0, 2.0],
    "objects": np.array(["no", "yes"], dtype=object),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", LABELS)
def test_two_classes_of_any_labels(name: str, weighted: bool) -> None:
    X, y = data()
    labels = np.asarray(LABELS[name])
    y = labels[(y > 0).astype(int)]
    weights = np.random.default_rng(0).integers(0, 3, 50).astype(float) if weighted else None
    model = GreedyRLSClassifier(4, alpha=0.4).fit(X, y, weights)
    assert_array_equal(model.classes_, labels)
    assert model.coef_.shape == (1, 12)
    assert model.intercept_.shape == (1,)
    chosen = X[:, model.selected_]
    ridge = RidgeClassifier(alpha=0.4).fit(chosen, y, weights)
    expected = ridge.decision_function(chosen)
    assert model.decision_function(X).shape == (50,)
    assert_allclose(model.decision_function(X), expected, rtol=1e-9, atol=1e-9)
    assert_array_equal(model.predict(X), ridge.predict(chosen))
    assert model.predict(X).dtype == model.classes_.dtype
    assert model.score(X, y) > 0.6
    # The same search as the function makes on the coded labels.
    codes = np.where(y == labels[1], 1.0, -1.0)
    path = greedy_path(X, codes, 4, alpha=0.4, sample_weight=weights)
    assert_array_equal(model.selected_, path.indices)


@pytest.mark.parametrize("weighted", [False, True])
def test_many_classes_are_one_against_the_rest(weighted: bool) -> None:
    X, y = three_classes()
    weights = np.random.default_rng(0).random(60) if weighted else None
    model = GreedyRLSClassifier(4, alpha=0.4).fit(X, y, weights)
    assert model.classes_.tolist() == ["high", "low", "middle"]
    assert model.coef_.shape == (3, 12)
    assert model.intercept_.shape == (3,)
    chosen = X[:, model.selected_]
    ridge = RidgeClassifier(alpha=0.4).fit(chosen, y, weights)
    assert_allclose(
        model.decision_function(X), ridge.decision_function(chosen), rtol=1e-9, atol=1e-9
    )
    assert_array_equal(model.predict(X), ridge.predict(chosen))
    codes = np.where(y[:, None] == model.classes_, 1.0, -1.0)
    path = greedy_path(X, codes, 4, alpha=0.4, sample_weight=weights)
    assert_array_equal(model.selected_, path.indices)


@pytest.mark.parametrize(
    "kind", [pd.Series, pd.Categorical, pl.Series, list, lambda y: pd.Series(y, dtype="category")]
)
def test_labels_from_many_places(kind: Any) -> None:
    X, y = three_classes()
    expected = GreedyRLSClassifier(4).fit(X, y)
    model = GreedyRLSClassifier(4).fit(X, kind(y))
    assert model.classes_.tolist() == expected.classes_.tolist()
    assert_array_equal(model.predict(X), expected.predict(X))


@pytest.mark.parametrize("estimator", BOTH)
def test_a_weight_of_zero_is_a_row_left_out(estimator: type) -> None:
    X, y = data()
    y = target_for(estimator, y)
    weights = (np.arange(50) % 3 > 0).astype(float)
    model = estimator(4, alpha=1.0).fit(X, y, sample_weight=weights)
    kept = estimator(4, alpha=1.0).fit(X[weights > 0], y[weights > 0])
    assert_array_equal(model.selected_, kept.selected_)
    assert_allclose(model.coef_, kept.coef_, rtol=1e-9)
    assert_allclose(model.path_.losses, kept.path_.losses, rtol=1e-9)
    assert_allclose(model.path_.standard_errors, kept.path_.standard_errors, rtol=1e-9)


# Names and frames --------------------------------------------------------------------------------


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("estimator", BOTH)
def test_frames_keep_their_names(estimator: type, frame: Any) -> None:
    X, y = data()
    y = target_for(estimator, y)
    table = frame(dict(zip(NAMES, X.T, strict=True)))
    options: dict[str, Any] = {"alpha": 1.0, "forced_features": ["gene 9"]}
    options["excluded_features"] = ["gene 7", "gene 0"]
    model = estimator(4, **options).fit(table, y)
    plain = estimator(4, alpha=1.0, forced_features=[9], excluded_features=[7, 0]).fit(X, y)
    assert model.feature_names_in_.tolist() == NAMES
    assert_array_equal(model.selected_, plain.selected_)
    assert model.selected_[0] == 9
    assert model.path_.names() == [NAMES[index] for index in plain.selected_]
    assert model.get_feature_names_out().tolist() == [NAMES[i] for i in np.sort(plain.selected_)]
    assert_array_equal(model.path_.predict(table), model.path_.predict(X))
    assert_allclose(model.coef_, plain.coef_, rtol=1e-9)
    path = greedy_path(table, y, 4, **options) if estimator is GreedyRLSRegressor else None
    assert path is None or path.names() == model.path_.names()
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table[NAMES[::-1]])


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("estimator", [*BOTH, GreedyRLSRanker, GreedyKernelRLS])
def test_frames_are_known_again_by_their_names(estimator: type, frame: Any) -> None:
    X, y = data()
    table = frame(dict(zip(NAMES, X.T, strict=True)))
    model = estimator(3, alpha=1.0).fit(table, target_for(estimator, y))
    assert model.feature_names_in_.tolist() == NAMES
    # The same frame is no reason for a warning; warnings are errors here.
    values = model.predict(table)
    if estimator is not GreedyKernelRLS:
        assert_array_equal(model.transform(table), X[:, np.sort(model.selected_)])
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table[NAMES[::-1]])
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        values_without = model.predict(X)
    if estimator is GreedyRLSClassifier:
        assert_array_equal(values_without, values)
    else:
        assert_allclose(values_without, values, rtol=1e-9, atol=1e-12)


def test_names_out_without_names() -> None:
    X, y = data()
    model = GreedyRLSRegressor(3).fit(X, y)
    expected = [f"x{index}" for index in np.sort(model.selected_)]
    assert model.get_feature_names_out().tolist() == expected
    given = model.get_feature_names_out(NAMES)
    assert given.tolist() == [NAMES[index] for index in np.sort(model.selected_)]
    with pytest.raises(ValueError, match="input_features"):
        model.get_feature_names_out(NAMES[:-1])


@pytest.mark.parametrize(("output", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_out(output: str, kind: type, frame: Any) -> None:
    X, y = data()
    table = frame(dict(zip(NAMES, X.T, strict=True)))
    model = GreedyRLSRegressor(3).set_output(transform=output)
    result = model.fit_transform(table, y)
    assert isinstance(result, kind)
    assert list(result.columns) == model.get_feature_names_out().tolist()
    assert_array_equal(result.to_numpy(), X[:, model.support_])


@pytest.mark.parametrize("estimator", BOTH)
def test_unknown_names(estimator: type) -> None:
    X, y = data()
    y = target_for(estimator, y)
    table = pd.DataFrame(X, columns=NAMES)
    with pytest.raises(ValueError, match="forced_features has 'gene 99', which is not a column"):
        estimator(3, forced_features=["gene 99"]).fit(table, y)
    with pytest.raises(ValueError, match="excluded_features has the name 'gene 1', but X has no"):
        estimator(3, excluded_features=["gene 1"]).fit(X, y)


# Composition -------------------------------------------------------------------------------------


def test_in_a_pipeline() -> None:
    X, y = data()
    table = pd.DataFrame(X, columns=NAMES)
    scaled = StandardScaler().fit_transform(X)
    whole = make_pipeline(StandardScaler(), GreedyRLSRegressor(4, alpha=1.0)).fit(table, y)
    direct = GreedyRLSRegressor(4, alpha=1.0).fit(scaled, y)
    assert_array_equal(whole[-1].selected_, direct.selected_)
    assert_allclose(whole.predict(table), direct.predict(scaled))
    names = [NAMES[index] for index in np.sort(direct.selected_)]
    assert whole.get_feature_names_out().tolist() == names
    selector = make_pipeline(StandardScaler(), GreedyRLSRegressor(4, alpha=1.0), Ridge(1.0))
    selector.fit(table, y)
    assert_allclose(selector.predict(table), whole.predict(table), rtol=1e-9)
    weights = np.arange(50.0)
    weighted = clone(whole).fit(table, y, greedyrlsregressor__sample_weight=weights)
    expected = GreedyRLSRegressor(4, alpha=1.0).fit(scaled, y, weights)
    assert_array_equal(weighted[-1].selected_, expected.selected_)


@pytest.mark.parametrize("estimator", BOTH)
def test_in_a_grid_search(estimator: type) -> None:
    X, y = data()
    y = target_for(estimator, y)
    grid = {"alpha": [0.01, 1.0, 1e5], "n_features_to_select": [1, 3, 0.5, "auto"]}
    search = GridSearchCV(estimator(), grid, cv=3, error_score="raise").fit(X, y)
    assert search.best_params_["alpha"] < 1e5
    assert search.best_params_["n_features_to_select"] != 1
    best = estimator(**search.best_params_).fit(X, y)
    assert_array_equal(search.best_estimator_.selected_, best.selected_)
    scores = cross_val_score(best, X, y, cv=3)
    assert scores.mean() == pytest.approx(search.best_score_)


@pytest.mark.parametrize("estimator", BOTH)
@pytest.mark.parametrize(
    "duplicate", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))]
)
def test_copies_and_pickles(estimator: type, duplicate: Any) -> None:
    X, y = data()
    y = target_for(estimator, y)
    model = estimator(5, n_runners_up=2).fit(pd.DataFrame(X, columns=NAMES), y)
    table = pd.DataFrame(X, columns=NAMES)
    other = duplicate(model)
    assert_array_equal(other.predict(table), model.predict(table))
    assert_array_equal(other.with_n_features(2).coef_, model.with_n_features(2).coef_)
    assert other.path_.to_json() == model.path_.to_json()
    assert other.path_.runners_up[0]


def test_parameters_are_stored_and_not_checked_before_fit() -> None:
    model = GreedyRLSRegressor("many", alpha=-1, forced_features="x", n_runners_up=-1)
    assert clone(model).get_params() == model.get_params()
    assert not [name for name in vars(model) if name.endswith("_")]


def test_a_second_fit_forgets_the_first() -> None:
    X, y = data()
    model = GreedyRLSClassifier(3).fit(pd.DataFrame(X, columns=NAMES), y > 0)
    again = model.fit(X[:, :8], np.where(y > 0, "a", "b"))
    fresh = GreedyRLSClassifier(3).fit(X[:, :8], np.where(y > 0, "a", "b"))
    assert again is model
    assert not hasattr(model, "feature_names_in_")
    assert_array_equal(model.coef_, fresh.coef_)
    assert_array_equal(model.classes_, fresh.classes_)


def test_weight_on_one_class_only() -> None:
    X = np.random.default_rng(0).standard_normal((20, 4))
    y = np.repeat(["a", "b"], [17, 3])
    with pytest.raises(ValueError, match="positive weight have the label 'a'"):
        GreedyRLSClassifier(2).fit(X, y, sample_weight=(y == "a").astype(float))


def test_text_is_named_in_the_error() -> None:
    X = pd.DataFrame({"size": [1.0, 2.0, 3.0], "level": ["1", "2", "low"]})
    with pytest.raises(ValueError, match=r"'level' has text \('low' in row 2\).*OneHotEncoder"):
        greedy_path(X, [1.0, 2.0, 3.0], 1)
    with pytest.raises(ValueError, match="for class labels use GreedyRLSClassifier"):
        greedy_path(X[["size"]], ["a", "b", "a"], 1)
    with pytest.raises(ValueError, match=r"n_features_to_select=9 is too large"):
        GreedyRLSRegressor(9, alpha=1.0).fit(X[["size"]], [1.0, 2.0, 3.0])
