"""What the estimators say to bad data, sizes and labels."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError

from bad_data import DATA, M, assert_unchanged, data, put
from greedyrls import GreedyRLSClassifier, GreedyRLSRegressor

# Cases that scikit-learn's validation sees first; its own words are clear enough.
SEEN_FIRST = {
    "no y": "y",
    "NaN in y": "y contains NaN",
    "inf in y": "y contains infinity",
    "NaN in two targets": "y contains NaN",
    "y in three dimensions": "dim 3",
    "no targets": "y",
    "huge y": "y has values so large",
}


@pytest.mark.parametrize("name", sorted(DATA.keys() - {"one number as y"}))
def test_a_regressor_with_bad_data(name: str) -> None:
    change, error, message = DATA[name]
    X, y = data()
    arguments = {"X": X, "y": y, "n_features": 3} | change(X, y)
    size, intercept = arguments.pop("n_features"), arguments.pop("fit_intercept", True)
    before = copy.deepcopy(arguments)
    model = GreedyRLSRegressor(size, fit_intercept=intercept)
    with pytest.raises(error, match=SEEN_FIRST.get(name, message)):
        model.fit(**arguments)
    assert_unchanged(before, arguments)


@pytest.mark.parametrize("estimator", [GreedyRLSRegressor, GreedyRLSClassifier])
@pytest.mark.parametrize(
    ("size", "error", "message"),
    [
        (0, ValueError, "at least 1, got 0"),
        (-1, ValueError, "at least 1, got -1"),
        (9, ValueError, "9 is too large.*at most 8"),
        (0.0, ValueError, r"n_features_to_select=0\.0 as a share must be in \(0, 1\]"),
        (-0.5, ValueError, r"n_features_to_select=-0\.5 as a share must be in \(0, 1\]"),
        (3.0, ValueError, r"3\.0 as a share .* for a number of features pass a whole number"),
        (np.nan, ValueError, "nan as a share must be in"),
        ("all", ValueError, r"a whole number, a share in \(0, 1\] or 'auto', got 'all'"),
        (None, TypeError, r"a whole number, a share in \(0, 1\] or 'auto', got None"),
        (True, TypeError, "n_features_to_select must be a whole number.*got True"),
        ([3], TypeError, "n_features_to_select must be a whole number"),
    ],
)
def test_bad_sizes(estimator: type, size: Any, error: type[Exception], message: str) -> None:
    X, y = data()
    with pytest.raises(error, match=message):
        estimator(size).fit(X, y > 0)


@pytest.mark.parametrize("label", [1, "a", True, 2.0])
def test_one_class(label: Any) -> None:
    X, _ = data()
    message = rf"only one class is present: every label is {label!r}\. Pass data of at least 2"
    with pytest.raises(ValueError, match=message):
        GreedyRLSClassifier().fit(X, np.full(M, label))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (lambda y: y, "continuous"),
        (lambda y: put(np.sign(y), 2, np.nan), "y contains NaN"),
        (lambda y: None, "y"),
        (lambda y: (y > 0)[:-1], "30.*29"),
        (lambda y: np.c_[y > 0, y > 1], "1d array"),
    ],
)
def test_bad_labels(labels: Any, message: str) -> None:
    X, y = data()
    with pytest.raises(ValueError, match=message):
        GreedyRLSClassifier().fit(X, labels(y))


@pytest.mark.parametrize("estimator", [GreedyRLSRegressor, GreedyRLSClassifier])
def test_a_failed_fit_leaves_the_model_as_it_was(estimator: type) -> None:
    X, y = data()
    model = estimator(3).fit(X, y > 0)
    expected = model.predict(X)
    others = np.digitize(y, [-1.0, 1.0]) + 5
    with pytest.raises(ValueError, match="row 4, column 6"):
        model.fit(put(X, (4, 6), np.nan), others)
    assert_array_equal(model.predict(X), expected)


@pytest.mark.parametrize("estimator", [GreedyRLSRegressor, GreedyRLSClassifier])
def test_a_failed_first_fit_is_no_fit(estimator: type) -> None:
    X, y = data()
    model = estimator(3)
    with pytest.raises(ValueError, match="row 4, column 6"):
        model.fit(put(X, (4, 6), np.nan), y > 0)
    for use in (model.predict, model.transform, lambda X: model.with_n_features(1)):
        with pytest.raises(NotFittedError):
            use(X)
