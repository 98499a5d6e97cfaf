"""`LinearModel.from_estimator`: a model that predicts what the whole pipeline predicts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestRegressor
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import SelectKBest, VarianceThreshold, f_regression
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)

from greedyrls import (
    GreedyKernelRLS,
    GreedyRLSClassifier,
    GreedyRLSRanker,
    GreedyRLSRegressor,
    LinearModel,
)
from greedyrls.export import export_model, to_sql
from sweeps import EXAMPLES

pytestmark = pytest.mark.filterwarnings("ignore:Found unknown categories:UserWarning")
NUMBERS = ["age", "income", "score", "height"]
TEXTS = ["city", "plan"]


def table(m: int = 60, seed: int = 0, is_new: bool = False, gaps: float = 0.1) -> pd.DataFrame:
    """Numbers in different units and categories, some missing; new rows have new categories."""
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {
        "age": rng.integers(18, 90, m).astype(float),
        "income": np.exp(rng.normal(10.0, 1.0, m)),
        "score": rng.normal(-3.0, 0.01, m),
        "height": rng.normal(170.0, 10.0, m),
    }
    cities = ["Oslo", "Turku", "Riga", "Bergen"] + ["Paris", "Lima"] * is_new
    columns["city"] = rng.choice(np.array(cities, dtype=object), m, p=None)
    columns["plan"] = rng.choice(np.array(["basic", "plus"], dtype=object), m)
    for values in columns.values():
        values[rng.random(m) < gaps] = np.nan
    return pd.DataFrame(columns)


def target_of(X: pd.DataFrame, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed + 1)
    y = 0.1 * X["age"].fillna(50.0) + 3.0 * (X["city"] == "Oslo") + 0.05 * X["height"].fillna(170.0)
    return y.to_numpy() - 2.0 * (X["plan"] == "plus") + rng.normal(0.0, 0.3, len(X))


SCALERS = (
    StandardScaler(),
    StandardScaler(with_mean=False),
    StandardScaler(with_std=False),
    MinMaxScaler(feature_range=(-1, 2)),
    MaxAbsScaler(),
    RobustScaler(),
    RobustScaler(with_centering=False, quantile_range=(10.0, 90.0)),
    FunctionTransformer(),
    "passthrough",
)
IMPUTERS = (
    SimpleImputer(),
    SimpleImputer(strategy="median"),
    SimpleImputer(strategy="most_frequent"),
    SimpleImputer(strategy="constant", fill_value=7.0),
)
TEXT_IMPUTERS = (
    SimpleImputer(strategy="most_frequent"),
    SimpleImputer(strategy="constant", fill_value="unknown"),
    "passthrough",
)
ENCODERS = (
    OneHotEncoder(handle_unknown="ignore"),
    OneHotEncoder(handle_unknown="ignore", drop="first", sparse_output=False),
    OneHotEncoder(handle_unknown="ignore", drop="if_binary"),
    OneHotEncoder(handle_unknown="ignore", min_frequency=15),
    OneHotEncoder(handle_unknown="infrequent_if_exist"),
)
SELECTORS = ("passthrough", VarianceThreshold())
OF_NUMBERS = (*SELECTORS, SelectKBest(f_regression, k=2), GreedyRLSRegressor(2, alpha=1.0))


@st.composite
def pipelines(draw: st.DrawFn, last: BaseEstimator, selectors: tuple[Any, ...]) -> BaseEstimator:
    """Imputers and scalers in any order, encoders, what is left over, and a selection of these."""
    numeric = [draw(st.sampled_from(IMPUTERS)), draw(st.sampled_from(SCALERS))]
    if draw(st.booleans()):
        numeric.reverse()
    numeric.append(draw(st.sampled_from(SCALERS)))
    text = [draw(st.sampled_from(TEXT_IMPUTERS)), draw(st.sampled_from(ENCODERS))]
    parts = [
        ("numbers", make_pipeline(*numeric), draw(st.sampled_from([NUMBERS, slice(0, 4), [2, 0]]))),
        ("texts", make_pipeline(*text), draw(st.sampled_from([TEXTS, ["plan", "city"], [-2]]))),
    ]
    if draw(st.booleans()):
        parts.reverse()
    weights = draw(st.sampled_from([None, {"numbers": 2.5}]))
    before = ColumnTransformer(parts, transformer_weights=weights, sparse_threshold=0.0)
    selector = draw(st.sampled_from(selectors))
    return make_pipeline(before, draw(st.sampled_from(SCALERS)), selector, last)


@given(pipelines(GreedyRLSRegressor(2, alpha=1.0), OF_NUMBERS), st.integers(0, 999))
@settings(max_examples=max(20, EXAMPLES // 8))
def test_predicts_what_the_pipeline_predicts(pipeline: Any, seed: int) -> None:
    X = table(seed=seed)
    pipeline.fit(X, target_of(X, seed))
    model = LinearModel.from_estimator(pipeline)
    new = table(40, seed + 5000, is_new=True)
    for rows in (X, new):
        expected = pipeline.predict(rows)
        assert_allclose(model.predict(rows), expected, rtol=1e-9, atol=1e-9 * np.ptp(expected))
    assert LinearModel.from_json(model.to_json()) == model


@given(pipelines(GreedyRLSClassifier(2, alpha=[1.0, 10.0]), SELECTORS), st.integers(0, 99))
@settings(max_examples=max(4, EXAMPLES // 40))
def test_classes_and_probabilities(pipeline: Any, seed: int) -> None:
    X = table(seed=seed)
    y = np.where(target_of(X, seed) > 13.0, "high", "low")
    pipeline.fit(X, y)
    model = LinearModel.from_estimator(pipeline, target="level")
    new = table(40, seed + 5000, is_new=True)
    assert_array_equal(model.predict(new), pipeline.predict(new))
    assert_allclose(model.scores(new)[:, 0], pipeline.decision_function(new), atol=1e-9)
    assert_allclose(model.predict_proba(new), pipeline.predict_proba(new), rtol=1e-7, atol=1e-12)
    again = LinearModel.from_json(model.to_json())
    assert_array_equal(again.predict_proba(new), model.predict_proba(new))


def test_the_recommended_way_can_be_exported() -> None:
    """README: put features on a common scale first."""
    X = table(gaps=0.0)[NUMBERS]
    pipeline = make_pipeline(StandardScaler(), GreedyRLSRegressor(2, alpha=1.0))
    pipeline.set_output(transform="pandas").fit(X, target_of(table(gaps=0.0)))
    names: dict[str, Any] = {}
    exec(export_model(pipeline, "python"), names)
    row = X.iloc[0].to_dict()
    assert names["predict"](row) == pytest.approx(pipeline.predict(X[:1])[0], rel=1e-9)
    assert 'FROM "data"' in to_sql(pipeline)
    # What the path alone says is in other units.
    wrong = LinearModel.from_path(pipeline[-1].path_)
    assert not np.allclose(wrong.predict(X), pipeline.predict(X), atol=1.0)


def test_a_path_is_not_an_estimator() -> None:
    X = table(gaps=0.0)[NUMBERS]
    pipeline = make_pipeline(StandardScaler(), GreedyRLSRegressor(1, alpha=1.0)).fit(X, X["age"])
    for given_ in (pipeline, pipeline[-1]):
        name = type(given_).__name__
        with pytest.raises(TypeError, match=f"SelectionPath, got {name}; use from_estimator"):
            LinearModel.from_path(given_)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_without_names(dtype: Any) -> None:
    X = table(gaps=0.0)[NUMBERS].to_numpy().astype(dtype)
    y = X[:, 0] - X[:, 3] / 10.0
    pipeline = make_pipeline(StandardScaler(), GreedyRLSRegressor(2, alpha=1.0)).fit(X, y)
    model = LinearModel.from_estimator(pipeline)
    assert {column.name for column in model.columns} == {"x0", "x3"}
    data = {f"x{place}": X[:, place] for place in range(4)}
    near = 1e-4 if dtype == np.float32 else 1e-9  # the pipeline rounds on its way
    assert_allclose(model.predict(data), pipeline.predict(X), rtol=near, atol=near)


def test_other_shapes_of_model() -> None:
    X = table(gaps=0.0)[NUMBERS]
    y = X["age"] / 10.0 + X["height"] / 7.0
    both = np.column_stack([y, -2.0 * y + X["score"]])
    several = make_pipeline(MinMaxScaler(), GreedyRLSRegressor(3, alpha=1.0)).fit(X, both)
    assert_allclose(LinearModel.from_estimator(several).predict(X), several.predict(X))
    classes = np.digitize(y, np.quantile(y, [0.3, 0.6]))
    many = make_pipeline(MinMaxScaler(), GreedyRLSClassifier(3, alpha=1.0)).fit(X, classes)
    model = LinearModel.from_estimator(many)
    assert_array_equal(model.predict(X), many.predict(X))
    assert_allclose(model.predict_proba(X), many.predict_proba(X))
    fewer = LinearModel.from_estimator(many[-1].with_n_features(2))
    assert fewer.sigmoids is None  # those were fitted for three features
    queries = np.repeat(np.arange(15), 4)
    ranker = GreedyRLSRanker(2, alpha=1.0).fit(X, np.round(y), groups=queries)
    assert_allclose(LinearModel.from_estimator(ranker).predict(X), ranker.predict(X))
    search = GridSearchCV(several, {"greedyrlsregressor__alpha": [1.0, 2.0]}, cv=2).fit(X, both)
    assert_allclose(LinearModel.from_estimator(search).predict(X), search.predict(X))
    union = FeatureUnion([("a", StandardScaler()), ("b", MinMaxScaler()), ("c", "drop")])
    wide = make_pipeline(union, GreedyRLSRegressor(6, alpha=1.0)).fit(X, y)
    model = LinearModel.from_estimator(wide)
    assert len(model.terms) <= 4  # a column that was taken twice is one term
    assert_allclose(model.predict(X), wide.predict(X))


def test_numbers_as_categories_and_missing_ones() -> None:
    """A missing value may be a category of its own, or one that was never seen."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "rooms": rng.choice([1.0, 2.0, 2.5, np.nan], 80),
            "is_new": rng.choice([True, False], 80),
            "zip": rng.choice([90210, 10115], 80),
        }
    )
    y = 2.0 * X["rooms"].isna() + X["is_new"] + 0.5 * (X["rooms"] == 2.5) + (X["zip"] == 10115)
    encoder = OneHotEncoder(handle_unknown="ignore")
    pipeline = make_pipeline(encoder, GreedyRLSRegressor(6, alpha=0.1)).fit(X, y)
    model = LinearModel.from_estimator(pipeline)
    new = pd.DataFrame({"rooms": [3.0, np.nan, 2.5], "is_new": [True, False, True]})
    new["zip"] = [10115, 90210, 1]
    for rows in (X, new):
        assert_allclose(model.predict(rows), pipeline.predict(rows), atol=1e-9)


REFUSED: dict[str, tuple[Any, str]] = {
    "PCA": (PCA(2), "PCA cannot be folded into a LinearModel: it is not a linear transformation"),
    "products": (PolynomialFeatures(), "PolynomialFeatures cannot be folded"),
    "norms": (Normalizer(), "Normalizer cannot be folded"),
    "neighbours": (KNNImputer(), "KNNImputer cannot be folded"),
    "codes": (OrdinalEncoder(), "OrdinalEncoder cannot be folded"),
    "a function": (FunctionTransformer(np.log1p), "its function 'log1p' may compute anything"),
    "clipped": (MinMaxScaler(clip=True), "with clip=True it is not linear"),
    "indicators": (SimpleImputer(add_indicator=True), "with add_indicator=True"),
    "another gap": (SimpleImputer(missing_values=-999), "takes -999 for missing"),
    "scaled codes": (make_pipeline(StandardScaler(), OneHotEncoder()), "after a step that changes"),
    "two fills": (
        make_column_transformer(
            (SimpleImputer(), ["age"]), (SimpleImputer(strategy="median"), ["age"])
        ),
        "Column 'age' is filled in with different values by two steps",
    ),
    "two readings": (
        make_column_transformer(("passthrough", ["age"]), (OneHotEncoder(), ["age"])),
        "Column 'age' is taken as numbers and as categories",
    ),
    "rest": (
        OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=3),
        "categories that are new count as infrequent ones",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_steps_are_refused_by_name(name: str) -> None:
    step, message = REFUSED[name]
    X = table(gaps=0.0)[["age", "height"]].round()
    if name == "two fills":
        X.loc[:3, "age"] = np.nan
    y = X["age"].fillna(20.0) + X["height"]
    pipeline = make_pipeline(step, GreedyRLSRegressor(2, alpha=1.0))
    if name == "two readings":
        pipeline.set_params(greedyrlsregressor__forced_features=[0, 1])
    pipeline.fit(X, y)
    with pytest.raises(TypeError, match=message) as caught:
        LinearModel.from_estimator(pipeline)
    assert "two steps" in str(caught.value) or "Leave the step out" in str(caught.value)


def test_gaps_that_an_imputer_does_not_see() -> None:
    """None in a column of objects is a category to scikit-learn, unless pandas makes it NaN."""
    X = table(gaps=0.0)
    objects = X["city"].astype(object)
    objects[:5] = None
    X = pd.DataFrame({"city": objects.astype(object), "age": X["age"]})
    encode = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder())
    pipeline = make_pipeline(
        make_column_transformer((encode, ["city"]), remainder="passthrough"),
        GreedyRLSRegressor(2, alpha=1.0),
    ).fit(X, X["age"])
    if any(value is None for value in X["city"]):
        with pytest.raises(TypeError, match="'city' still has missing values after the imputer"):
            LinearModel.from_estimator(pipeline)
    else:
        assert LinearModel.from_estimator(pipeline).terms


def test_words_are_refused() -> None:
    texts = ["good and cheap", "bad", "good", "bad and dear"] * 5
    pipeline = make_pipeline(CountVectorizer(), GreedyRLSRegressor(1, alpha=1.0))
    pipeline.fit(texts, [1.0, 0.0, 1.0, 0.0] * 5)
    with pytest.raises(TypeError, match="CountVectorizer cannot be folded into a LinearModel"):
        LinearModel.from_estimator(pipeline)


def test_other_estimators_are_refused() -> None:
    X, y = np.arange(20.0).reshape(10, 2) % 7, np.arange(10.0)
    for other in (RandomForestRegressor(2), GreedyKernelRLS(2, alpha=1.0)):
        with pytest.raises(TypeError, match=f"The estimator must be .*{type(other).__name__}"):
            LinearModel.from_estimator(other.fit(X, y))
    pipeline = make_pipeline(StandardScaler(), RandomForestRegressor(2)).fit(X, y)
    with pytest.raises(TypeError, match="The last step of the pipeline must be"):
        export_model(pipeline, "c")
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        LinearModel.from_estimator(GreedyRLSRegressor())
