"""Bad input gets an error that names what is wrong, and leaves everything as it was."""

from __future__ import annotations

import copy
import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.model_selection import GroupKFold, LeaveOneOut

from bad_data import DATA, NAMES, Arguments, M, assert_unchanged, data, frame
from greedyrls import GreedyRLSClassifier, GreedyRLSRegressor, greedy_path

OPTIONS: dict[str, tuple[Arguments, type[Exception], str]] = {
    **{
        f"alpha={alpha!r}": (
            {"alpha": alpha},
            ValueError,
            r"alpha must be a finite number greater than 0, got .*use a small value",
        )
        for alpha in (0, 0.0, -1.0, -1e-300, np.nan, np.inf, -np.inf, np.float32(-1))
    },
    "alpha too long for a float": ({"alpha": 10**400}, ValueError, "alpha must be a finite number"),
    **{
        f"alpha={alpha!r}": (
            {"alpha": alpha},
            TypeError,
            "alpha must be a number greater than 0, got",
        )
        for alpha in (True, np.True_, None, 1j)
    },
    **{
        f"alpha={alpha!r}": (
            {"alpha": alpha},
            ValueError,
            rf"alpha must be a number greater than 0, a list of .*or 'auto', got {alpha!r}",
        )
        for alpha in ("1", "loo", "")
    },
    "k = 0": ({"n_features": 0}, ValueError, "n_features must be at least 1, got 0"),
    "k < 0": ({"n_features": -2}, ValueError, "n_features must be at least 1, got -2"),
    "k > n": ({"n_features": 9}, ValueError, "n_features=9 .* 8 features. Ask for at most 8"),
    "k > what is left": (
        {"n_features": 7, "excluded_features": [1, 2]},
        ValueError,
        "8 features and 2 of them are excluded. Ask for at most 6",
    ),
    "nothing is left": (
        {"n_features": 1, "excluded_features": [True] * 8},
        ValueError,
        "excluded",
    ),
    **{
        f"k={k!r}": ({"n_features": k}, TypeError, "n_features must be a whole number, got")
        for k in (3.0, np.float64(3), True, None, [3], np.nan)
    },
    "k in words": (
        {"n_features": "3"},
        ValueError,
        "n_features must be a number or 'auto', got '3'",
    ),
    "k < forced": (
        {"n_features": 1, "forced_features": [1, 2]},
        ValueError,
        "n_features=1 counts all features, also the 2 forced ones; ask for at least 2",
    ),
    "forced and excluded": (
        {"forced_features": [4, 1, 2], "excluded_features": [2, 1]},
        ValueError,
        r"Features \[1, 2\] are both in forced_features and in excluded_features; take them out",
    ),
    "more runners-up than none": ({"n_runners_up": -1}, ValueError, "n_runners_up .*got -1"),
    "half a runner-up": ({"n_runners_up": 0.5}, ValueError, r"n_runners_up .*got 0\.5"),
    "no patience": ({"patience": 0}, ValueError, "patience must be None or a whole .*got 0"),
    "empty blocks": ({"block_rows": 0}, ValueError, "block_rows must be None or .*got 0"),
    "unknown search": ({"search": "fast"}, ValueError, "'bounded' or 'exhaustive', got 'fast'"),
    "tolerance below 0": ({"tol": -0.5}, ValueError, r"tol must be None or .*got -0\.5"),
    "tolerance is NaN": ({"tol": np.nan}, ValueError, "tol must be None or .*got nan"),
    "tolerance in words": ({"tol": "low"}, TypeError, "tol must be None or .*got 'low'"),
    "most features of a number": (
        {"max_features": 1},
        ValueError,
        "n_features=3 is more than max_features=1",
    ),
    "no features at most": (
        {"n_features": "auto", "max_features": 0},
        ValueError,
        "max_features must be None or a whole number, 1 or more; got 0",
    ),
    "unknown size rule": (
        {"size_rule": "2se"},
        ValueError,
        "size_rule must be 'min' or '1se', got '2se'",
    ),
    "unknown alpha rule": (
        {"alpha_rule": "best"},
        ValueError,
        "alpha_rule must be one of 'nested', 'joint', 'all_features', got 'best'",
    ),
    "unknown refit": (
        {"refit_alpha": "best"},
        ValueError,
        "refit_alpha must be 'same', 'loo', 'cv' or a number greater than 0, got 'best'",
    ),
    **{
        f"refit_alpha={value!r}": (
            {"refit_alpha": value},
            error,
            rf"^refit_alpha must be a .*number greater than 0, got {re.escape(repr(value))}",
        )
        for value, error in (
            (0, ValueError),
            (-1.0, ValueError),
            (np.nan, ValueError),
            (True, TypeError),
            ([1.0], TypeError),
        )
    },
    "empty grid": ({"alpha": []}, ValueError, "grid of alpha is empty.*alpha='auto'"),
    "empty array of alpha": ({"alpha": np.empty(0)}, ValueError, "grid of alpha is empty"),
    "grid with 0": ({"alpha": [0.0, 1.0]}, ValueError, r"alpha must be a finite .*got 0\.0"),
    "grid below 0": ({"alpha": [1.0, -2.0]}, ValueError, r"alpha must be .*got -2\.0"),
    "grid with NaN": ({"alpha": [1.0, np.nan]}, ValueError, "alpha must be .*got nan"),
    "grid of words": ({"alpha": [1.0, "2"]}, TypeError, "alpha must be .*got '2'"),
    "grid in two dimensions": (
        {"alpha": np.ones((3, 2))},
        ValueError,
        "grid of alpha must have one dimension, got ",
    ),
    "outer leave-one-out": (
        {"alpha": [1.0, 2.0], "alpha_cv": "loo"},
        ValueError,
        "alpha_cv='loo': .*repeated .*use a number of folds",
    ),
    "outer leave-one-out splitter": (
        {"alpha": [1.0, 2.0], "alpha_cv": LeaveOneOut()},
        ValueError,
        r"alpha_cv=LeaveOneOut\(\): .*use a number of folds",
    ),
    "outer folds without groups": (
        {"alpha": [1.0, 2.0], "alpha_cv": GroupKFold(3)},
        ValueError,
        r"GroupKFold\(n_splits=3.*needs groups: pass groups",
    ),
    "unknown loss": (
        {"loss": "mse"},
        ValueError,
        "loss='mse' is not supported; use one of 'squared'.*or a function",
    ),
    "no loss": ({"loss": None}, TypeError, "loss must be one of .*got None"),
    "unknown cv": (
        {"cv": "kfold"},
        ValueError,
        "cv='kfold' is not supported; cv must be 'loo', a num",
    ),
    "no cv": ({"cv": None}, TypeError, "cv must be 'loo', a number of folds.*got None"),
    "one fold": ({"cv": 1}, ValueError, "cv=1 is too few folds; use at least 2"),
    "short fold ids": (
        {"cv": np.arange(M - 1) % 3},
        ValueError,
        "cv has 29 values, but there are 30 rows; give one for each",
    ),
    "one fold id": (
        {"cv": np.zeros(M, int)},
        ValueError,
        "Every fold id in cv is 0: only one",
    ),
    "nothing to train on": (
        {"cv": [(list(range(20)), list(range(20, M))), ([], list(range(M)))]},
        ValueError,
        "Split 1 leaves no training rows; use fewer folds, or other ones",
    ),
    "nothing of weight to train on": (
        {"cv": np.arange(M) % 2, "sample_weight": np.arange(M) % 2},
        ValueError,
        "Split 0 leaves no test rows with a positive weight|no training rows with a positive",
    ),
    "a row to train and test on": (
        {"cv": [(list(range(20)), list(range(19, M)))]},
        ValueError,
        "Split 0 of cv has row 19 both in its training rows and in its test rows",
    ),
    "no groups": ({"cv": GroupKFold(3)}, ValueError, "GroupKFold.*needs groups: pass groups with"),
    "short groups": (
        {"cv": 3, "groups": np.arange(M - 1) % 5},
        ValueError,
        "groups has 29 values, but there are 30 rows",
    ),
    "groups with leave-one-out": (
        {"groups": np.arange(M) % 5},
        ValueError,
        "groups are not used by leave-one-out; pass cv=GroupKFold",
    ),
    "groups with fold ids": (
        {"cv": np.arange(M) % 3, "groups": np.arange(M) % 5},
        ValueError,
        "groups cannot be used together with fold ids",
    ),
    "numbers for classes": (
        {"loss": "zero_one"},
        ValueError,
        "loss='zero_one' needs labels -1",
    ),
    "intercept in words": ({"fit_intercept": "no"}, TypeError, "fit_intercept must be .*got 'no'"),
    "no callback": ({"callback": 3}, TypeError, "callback must be callable.*got 3"),
}
for argument in ("forced_features", "excluded_features"):
    OPTIONS |= {
        f"{argument}: {name}": ({argument: value}, error, message.replace("ARG", argument))
        for name, (value, error, message) in {
            "a name without a frame": (["b"], ValueError, "ARG has the name 'b', but X has no col"),
            "repeated": ([3, 1, 3], ValueError, "ARG names feature 3 more than once"),
            "too large": ([2, 8], ValueError, "ARG has 8; features of X are numbered 0 to 7"),
            "negative": ([-1], ValueError, "ARG has -1; features of X are numbered 0 to 7"),
            "a string": ("abc", TypeError, "ARG must be a list of features, got the string 'abc'"),
            "a number": (3, TypeError, "ARG must be a list of features, got 3"),
            "fractions": ([1.0], TypeError, r"ARG must hold column numbers or names, got 1\.0"),
            "nothing": ([None], TypeError, "ARG must hold column numbers or names, got None"),
            "a short mask": ([True] * 7, ValueError, "ARG is a mask of length 7; X has 8 features"),
            "a long mask": (np.ones(9, bool), ValueError, "ARG is a mask of length 9; X has 8"),
        }.items()
    }


@pytest.mark.parametrize("name", DATA)
def test_bad_data(name: str) -> None:
    change, error, message = DATA[name]
    X, y = data()
    arguments = {"X": X, "y": y, "n_features": 3} | change(X, y)
    before = copy.deepcopy(arguments)
    with pytest.raises(error, match=message):
        greedy_path(**arguments)
    assert_unchanged(before, arguments)


@pytest.mark.parametrize("name", OPTIONS)
def test_bad_options(name: str) -> None:
    options, error, message = OPTIONS[name]
    X, y = data()
    arguments = {"X": X, "y": y, "n_features": 3} | options
    before = copy.deepcopy(arguments)
    with pytest.raises(error, match=message):
        greedy_path(**arguments)
    assert_unchanged(before, arguments)


@pytest.mark.parametrize("table", [frame, lambda X: pl.DataFrame(X, schema=NAMES)])
def test_bad_names(table: Any) -> None:
    X, y = data()
    with pytest.raises(ValueError, match="forced_features has 'z', which is not a column of X"):
        greedy_path(table(X), y, 3, forced_features=["a", "z"])
    with pytest.raises(ValueError, match=r"Features \['b'\] are both in forced"):
        greedy_path(table(X), y, 3, forced_features=["a", "b"], excluded_features=[1])
    with pytest.raises(ValueError, match="forced_features names feature 1 more than once"):
        greedy_path(table(X), y, 3, forced_features=["b", 1])


def test_a_name_that_several_columns_have() -> None:
    X, y = data()
    twice = pd.DataFrame(X, columns=[*"abcdefg", "a"])
    with pytest.raises(ValueError, match=r"(several|unique) column(.|\n)*'a'|'a'.*several columns"):
        greedy_path(twice, y, 3, forced_features=["a"])


# Estimators --------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [GreedyRLSRegressor, GreedyRLSClassifier])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": []}, "grid of alpha is empty"),
        ({"alpha_rule": "best"}, "alpha_rule must be one of"),
        ({"size_rule": "2se"}, "size_rule must be 'min' or '1se'"),
        ({"refit_alpha": "best"}, "refit_alpha must be 'same'"),
        ({"cv": "kfold"}, "cv='kfold' is not supported"),
        ({"loss": "mse"}, "loss='mse' is not supported"),
        ({"alpha_cv": "loo"}, "alpha_cv='loo'"),
        ({"tol": -1.0}, "tol must be None"),
        ({"patience": 0}, "patience must be None"),
        (
            {"n_features_to_select": 3, "max_features": 2},
            "n_features_to_select=3 is more than max_features=2",
        ),
    ],
)
def test_estimators_with_bad_options(
    estimator: type, options: dict[str, Any], message: str
) -> None:
    X, y = data()
    model = estimator(**options)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y > 0)
    assert not hasattr(model, "path_")
