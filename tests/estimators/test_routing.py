"""Weights and groups through scikit-learn's metadata routing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.feature_selection import SelectFromModel
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from greedyrls import GreedyRLSClassifier, GreedyRLSRanker, GreedyRLSRegressor, greedy_path

BOTH = [GreedyRLSRegressor, GreedyRLSClassifier]
M = 60


@pytest.fixture(autouse=True)
def routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def data(estimator: type) -> dict[str, Any]:
    rng = np.random.default_rng(4)
    groups = rng.permutation(np.arange(M) % 6)
    X = rng.standard_normal((M, 8)) + 0.5 * rng.standard_normal((6, 8))[groups]
    y = X[:, 2] - X[:, 5] + rng.standard_normal(M) + 0.5 * rng.standard_normal(6)[groups]
    weights = rng.choice([0.5, 1.0, 4.0], M)
    target = y if estimator is GreedyRLSRegressor else y > np.median(y)
    return {"X": X, "y": target, "sample_weight": weights, "groups": groups}


def assert_same_model(one: Any, two: Any) -> None:
    assert_array_equal(one.selected_, two.selected_)
    assert_allclose(one.coef_, two.coef_, rtol=1e-9, atol=1e-12)
    assert_allclose(one.path_.losses, two.path_.losses, rtol=1e-9)


@pytest.mark.parametrize("estimator", BOTH)
def test_directly(estimator: type) -> None:
    given = data(estimator)
    model = estimator(3, alpha=1.0, cv=GroupKFold(3)).fit(**given)
    y = given["y"] if estimator is GreedyRLSRegressor else np.where(given["y"], 1.0, -1.0)
    path = greedy_path(
        given["X"],
        y,
        3,
        cv=GroupKFold(3),
        sample_weight=given["sample_weight"],
        groups=given["groups"],
    )
    assert_array_equal(model.selected_, path.indices)
    assert_allclose(model.path_.losses, path.losses, rtol=1e-12)


@pytest.mark.parametrize("estimator", BOTH)
def test_requests(estimator: type) -> None:
    model = estimator()
    assert set(model.get_metadata_routing().fit.requests) == {"sample_weight", "groups"}
    asked = model.set_fit_request(sample_weight=True, groups=True)
    assert asked is model
    assert model.get_metadata_routing().fit.requests == {"sample_weight": True, "groups": True}
    assert clone(model).get_metadata_routing().fit.requests["groups"] is True
    assert set(model.get_metadata_routing().score.requests) == {"sample_weight"}
    assert not model.get_metadata_routing().predict.requests
    assert not model.get_metadata_routing().transform.requests


@pytest.mark.parametrize("estimator", BOTH)
def test_in_a_pipeline(estimator: type) -> None:
    given = data(estimator)
    X, y = given.pop("X"), given.pop("y")
    model = estimator(3, alpha=1.0, cv=GroupKFold(3))
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        make_pipeline(StandardScaler(), model).fit(X, y, **given)
    model.set_fit_request(sample_weight=True, groups=True)
    scaler = StandardScaler().set_fit_request(sample_weight=True)
    pipeline = make_pipeline(scaler, model).fit(X, y, **given)
    scaled = StandardScaler().fit_transform(X, sample_weight=given["sample_weight"])
    direct = estimator(3, alpha=1.0, cv=GroupKFold(3)).fit(scaled, y, **given)
    assert_same_model(pipeline[-1], direct)
    assert_array_equal(pipeline.predict(X), direct.predict(scaled))


@pytest.mark.parametrize("estimator", BOTH)
def test_other_names_and_refusals(estimator: type) -> None:
    given = data(estimator)
    model = estimator(3, alpha=1.0, cv=GroupKFold(3))
    model.set_fit_request(sample_weight=False, groups="clinic")
    scaler = StandardScaler().set_fit_request(sample_weight=True)
    pipeline = make_pipeline(scaler, model)
    pipeline.fit(
        given["X"], given["y"], sample_weight=given["sample_weight"], clinic=given["groups"]
    )
    scaled = scaler.fit_transform(given["X"], sample_weight=given["sample_weight"])
    direct = clone(model).fit(scaled, given["y"], groups=given["groups"])
    assert_same_model(pipeline[-1], direct)


@pytest.mark.parametrize("inner", ["cv", "alpha_cv"])
@pytest.mark.parametrize("estimator", BOTH)
def test_in_a_grid_search(estimator: type, inner: str) -> None:
    given = data(estimator)
    X, y = given.pop("X"), given.pop("y")
    name = "r2" if estimator is GreedyRLSRegressor else "accuracy"
    scorer = get_scorer(name).set_score_request(sample_weight=True)
    model = estimator(3, alpha=[0.1, 10.0], **{inner: GroupKFold(3)})
    model.set_fit_request(sample_weight=True, groups=True)
    grid = {"n_features_to_select": [1, 3]}
    search = GridSearchCV(model, grid, cv=GroupKFold(3), scoring=scorer, error_score="raise")
    search.fit(X, y, **given)
    best = clone(model).set_params(**search.best_params_).fit(X, y, **given)
    assert_same_model(search.best_estimator_, best)
    w, groups = given["sample_weight"], given["groups"]
    for place, size in enumerate([1, 3]):
        for fold, (train, test) in enumerate(GroupKFold(3).split(X, y, groups)):
            part = clone(model).set_params(n_features_to_select=size)
            part.fit(X[train], y[train], sample_weight=w[train], groups=groups[train])
            expected = part.score(X[test], y[test], sample_weight=w[test])
            score = search.cv_results_[f"split{fold}_test_score"][place]
            assert score == pytest.approx(expected, rel=1e-9)


@pytest.mark.skipif(
    tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 8),
    reason="scikit-learn before 1.8 does not route sample_weight to the score of any pipeline",
)
@pytest.mark.parametrize("estimator", BOTH)
def test_in_cross_validation(estimator: type) -> None:
    given = data(estimator)
    X, y = given.pop("X"), given.pop("y")
    model = estimator(3, alpha=1.0, cv=GroupKFold(2))
    model.set_fit_request(sample_weight=True, groups=True).set_score_request(sample_weight=True)
    pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
    result = cross_validate(
        pipeline, X, y, cv=GroupKFold(3), params=given, return_estimator=True, error_score="raise"
    )
    w, groups = given["sample_weight"], given["groups"]
    for fold, (train, test) in enumerate(GroupKFold(3).split(X, y, groups)):
        scaler = StandardScaler().fit(X[train])
        direct = estimator(3, alpha=1.0, cv=GroupKFold(2))
        direct.fit(scaler.transform(X[train]), y[train], w[train], groups[train])
        assert_same_model(result["estimator"][fold][-1], direct)
        expected = direct.score(scaler.transform(X[test]), y[test], w[test])
        assert result["test_score"][fold] == pytest.approx(expected, rel=1e-9)


def test_nothing_is_asked_for_and_nothing_is_given() -> None:
    given = data(GreedyRLSRegressor)
    model = GreedyRLSRegressor(3, alpha=1.0)
    pipeline = make_pipeline(StandardScaler(), model).fit(given["X"], given["y"])
    scaled = StandardScaler().fit_transform(given["X"])
    assert_same_model(pipeline[-1], clone(model).fit(scaled, given["y"]))


def test_inside_another_selector() -> None:
    given = data(GreedyRLSRegressor)
    X, y = given.pop("X"), given.pop("y")
    model = GreedyRLSRegressor(3, alpha=1.0, cv=GroupKFold(3))
    model.set_fit_request(sample_weight=True, groups=True)
    selector = SelectFromModel(model, threshold=1e-12).fit(X, y, **given)
    assert_array_equal(selector.get_support(), clone(model).fit(X, y, **given).support_)


def test_without_routing_a_pipeline_takes_names_with_underscores() -> None:
    given = data(GreedyRLSRegressor)
    X, y = given.pop("X"), given.pop("y")
    with sklearn.config_context(enable_metadata_routing=False):
        pipeline = make_pipeline(
            StandardScaler(), GreedyRLSRegressor(3, alpha=1.0, cv=GroupKFold(3))
        )
        pipeline.fit(X, y, **{f"greedyrlsregressor__{name}": given[name] for name in given})
    scaled = StandardScaler().fit_transform(X)
    direct = GreedyRLSRegressor(3, alpha=1.0, cv=GroupKFold(3)).fit(scaled, y, **given)
    assert_same_model(pipeline[-1], direct)


def ranking() -> dict[str, Any]:
    rng = np.random.default_rng(5)
    groups = rng.permutation(np.arange(M) % 12)
    X = rng.standard_normal((M, 8)) + rng.standard_normal((12, 8))[groups]
    y = np.digitize(X[:, 2] - X[:, 5] + rng.standard_normal(M), [-1.0, 0.0, 1.0])
    return {"X": X, "y": y, "sample_weight": rng.choice([0.5, 1.0, 4.0], M), "groups": groups}


def test_requests_of_the_ranker() -> None:
    model = GreedyRLSRanker()
    assert set(model.get_metadata_routing().fit.requests) == {"sample_weight", "groups"}
    assert set(model.get_metadata_routing().score.requests) == {"groups"}
    assert not model.get_metadata_routing().predict.requests


def test_queries_are_routed_to_the_fit_and_the_score_of_a_ranker() -> None:
    given = ranking()
    X, y, groups = given["X"], given["y"], given["groups"]
    model = GreedyRLSRanker(3, alpha=1.0)
    model.set_fit_request(groups=True).set_score_request(groups=True)
    # Not in a pipeline: with routing, its `score` asks for weights (scikit-learn 1.9).
    result = cross_validate(
        model,
        X,
        y,
        cv=GroupKFold(3),
        params={"groups": groups},
        return_estimator=True,
        error_score="raise",
    )
    for fold, (train, test) in enumerate(GroupKFold(3).split(X, y, groups)):
        direct = GreedyRLSRanker(3, alpha=1.0).fit(X[train], y[train], groups[train])
        assert_same_model(result["estimator"][fold], direct)
        expected = direct.score(X[test], y[test], groups[test])
        assert result["test_score"][fold] == pytest.approx(expected, rel=1e-9)


def test_a_ranker_in_a_pipeline() -> None:
    given = ranking()
    X, y = given.pop("X"), given.pop("y")
    model = GreedyRLSRanker(3, alpha=1.0).set_fit_request(sample_weight=True, groups=True)
    scaler = StandardScaler().set_fit_request(sample_weight=True)
    pipeline = make_pipeline(scaler, model).fit(X, y, **given)
    scaled = StandardScaler().fit_transform(X, sample_weight=given["sample_weight"])
    direct = GreedyRLSRanker(3, alpha=1.0).fit(scaled, y, **given)
    assert_same_model(pipeline[-1], direct)
    assert_array_equal(pipeline.predict(X), direct.predict(scaled))
