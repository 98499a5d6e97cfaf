"""`SelectionResult.from_estimator`: the result and the report of a selection in Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler

from greedyrls import (
    GreedyRLSClassifier,
    GreedyRLSRanker,
    GreedyRLSRegressor,
    SelectionResult,
)
from greedyrls.assess import cross_validate_path, permutation_null, resample_path
from greedyrls.report import make_report, write_report


def diabetes() -> tuple[pd.DataFrame, pd.Series]:
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    return X, y


def assert_same_after_json(result: SelectionResult) -> None:
    again = SelectionResult.from_json(result.to_json())
    assert again.sentence == result.sentence
    assert again.warnings == result.warnings
    assert again.model() == result.model()


def test_a_pipeline_gives_a_report_in_the_units_of_the_data(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    X, y = diabetes()
    pipeline = make_pipeline(StandardScaler(), GreedyRLSRegressor(4, n_runners_up=1)).fit(X, y)
    scaled = pd.DataFrame(pipeline[0].transform(X), columns=X.columns)
    assessment = cross_validate_path(scaled, y, 4, alpha=1.0, cv=5)
    stability = resample_path(scaled, y, 4, alpha=1.0, n_resamples=5)
    null = permutation_null(scaled, y, 4, alpha=1.0, n_permutations=5)
    result = SelectionResult.from_estimator(
        pipeline, X, y, assessment, stability, null, target="progression", source="clinic"
    )
    assert "chosen to predict progression: bmi, s5" in result.sentence
    assert result.assessment is assessment
    assert_allclose(result.model().predict(X), pipeline.predict(X))
    for k in (1, 3):
        other = make_pipeline(pipeline[0], pipeline[-1].with_n_features(k))
        assert_allclose(result.model(k).predict(X), other.predict(X))
    assert result.coefficient_errors is not None
    assert_same_after_json(result)
    write_report(result, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "clinic" in text
    assert "What predicts" in text
    assert "--assess" not in text
    assert "SHA-256" not in text
    assert "[Describe the data and the preprocessing.]" in result.methods_text()


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 3.0}])
def test_classes(class_weight: Any) -> None:
    pytest.importorskip("jinja2")
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = GreedyRLSClassifier(3, class_weight=class_weight)
    pipeline = make_pipeline(StandardScaler(), model).fit(X, y)
    result = SelectionResult.from_estimator(pipeline, X, y, target="benign")
    assert result.classes == (0, 1)
    assert result.own_rates is not None
    assert result.sigmoids is not None
    assert "run assess.cross_validate_path for an honest estimate" in result.sentence
    assert_allclose(result.model().predict_proba(X), pipeline.predict_proba(X))
    assert_same_after_json(result)
    assert make_report(result)


def test_several_classes_of_arrays() -> None:
    X, y = load_wine(return_X_y=True)
    names = np.array(["red", "white", "rosé"])[y]
    model = GreedyRLSClassifier(3, alpha=10.0).fit(StandardScaler().fit_transform(X), names)
    result = SelectionResult.from_estimator(model, StandardScaler().fit_transform(X), names)
    assert result.classes == ("red", "rosé", "white")
    assert result.data.target.n_levels == 3
    assert result.data.columns[0].name.startswith("x")
    assert_same_after_json(result)


def test_text_columns() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"city": rng.choice(["Oslo", "Riga", "Turku"], 90), "size": rng.random(90)})
    y = 2.0 * (X["city"] == "Oslo") + X["size"] + 0.1 * rng.normal(size=90)
    before = make_column_transformer((OneHotEncoder(), ["city"]), (StandardScaler(), ["size"]))
    pipeline = make_pipeline(before, GreedyRLSRegressor(2, alpha=0.1)).fit(X, y)
    result = SelectionResult.from_estimator(pipeline, X, y)
    assert result.path.names(2) == ["city=Oslo", "size"]
    assert_allclose(result.model().predict(X), pipeline.predict(X))
    assert_same_after_json(result)


def test_folds_have_no_parts_of_their_own() -> None:
    X, y = diabetes()
    model = GreedyRLSRegressor(3, alpha=1.0, cv=KFold(5)).fit(X, y)
    result = SelectionResult.from_estimator(model, X, y)
    assert result.own_predictions is None
    assert result.coefficient_errors is None
    assert_same_after_json(result)
    assert make_report(result)


def test_another_size_of_the_path() -> None:
    X, y = diabetes()
    model = GreedyRLSRegressor(5, alpha=1.0).fit(X, y).with_n_features(2)
    result = SelectionResult.from_estimator(model, X, y)
    assert result.size == 2
    assert_allclose(result.model().predict(X), model.predict(X))
    assert_same_after_json(result)


def test_no_features() -> None:
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 5)), rng.normal(size=60)
    with pytest.warns(UserWarning, match="No features were chosen"):
        model = GreedyRLSRegressor().fit(X, y)
    result = SelectionResult.from_estimator(model, X, y)
    assert "n_features_to_select=1 takes the best feature anyway" in result.sentence


def test_errors_say_what_to_do() -> None:
    X, y = diabetes()
    model = GreedyRLSRegressor(2, alpha=1.0).fit(X, y)
    with pytest.raises(ValueError, match="y has 9 rows, but the estimator was fitted to 442"):
        SelectionResult.from_estimator(model, X, y[:9])
    with pytest.raises(TypeError, match=r"permutation_null, got SelectionPath"):
        SelectionResult.from_estimator(model, X, y, model.path_)
    assessment = cross_validate_path(X, y, 2, alpha=1.0, cv=3)
    with pytest.raises(ValueError, match="two analyses of the kind PathAssessment"):
        SelectionResult.from_estimator(model, X, y, assessment, assessment)
    pair = np.column_stack([y, y])
    with pytest.raises(ValueError, match=r"one target, got an array of shape \(442, 2\)"):
        SelectionResult.from_estimator(GreedyRLSRegressor(2, alpha=1.0).fit(X, pair), X, pair)
    ranker = GreedyRLSRanker(2, alpha=1.0).fit(X, y)
    with pytest.raises(TypeError, match="not of a ranker"):
        SelectionResult.from_estimator(ranker, X, y)
    products = make_pipeline(PolynomialFeatures(2), GreedyRLSRegressor(2, alpha=1.0)).fit(X, y)
    with pytest.raises(TypeError, match="PolynomialFeatures cannot be folded"):
        SelectionResult.from_estimator(products, X, y)


def test_rare_categories_together_are_refused() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"city": ["Oslo"] * 40 + ["Riga"] * 40 + ["A", "B"] * 10})
    y = 3.0 * X["city"].isin(["A", "B"]) + 0.1 * rng.normal(size=100)
    encoder = OneHotEncoder(min_frequency=20, handle_unknown="ignore")
    pipeline = make_pipeline(encoder, GreedyRLSRegressor(1, alpha=0.1)).fit(X, y)
    with pytest.raises(TypeError, match="combines several columns or categories"):
        SelectionResult.from_estimator(pipeline, X, y)
