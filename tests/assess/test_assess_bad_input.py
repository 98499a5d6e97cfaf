"""Questions that cannot be answered: errors name what is wrong, and what would be right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut

from assess_checks import labels, numbers
from greedyrls.assess import cross_validate_path, permutation_null, resample_path

CALLS: dict[str, Any] = {
    "cross_validate_path": cross_validate_path,
    "permutation_null": permutation_null,
    "resample_path": resample_path,
}
SHORT: dict[str, dict[str, Any]] = {
    "cross_validate_path": {"cv": 3, "n_random": 1},
    "permutation_null": {"n_permutations": 2},
    "resample_path": {"n_resamples": 2},
}

# Options that all three have, after X, y and n_features=2.
SHARED: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "too many features": ({"n_features": 7}, ValueError, "n_features=7 is too large.*at most 6"),
    "no features": ({"n_features": 0}, ValueError, "n_features must be at least 1, got 0"),
    "half a feature": (
        {"n_features": 2.5},
        TypeError,
        "n_features must be a whole number, got 2.5",
    ),
    "other text": ({"n_features": "all"}, ValueError, "a number or 'auto', got 'all'"),
    "alpha of 0": ({"alpha": 0.0}, ValueError, "alpha must be a finite number greater than 0"),
    "alpha text": ({"alpha": "best"}, ValueError, "or 'auto', got 'best'"),
    "alpha rule": ({"alpha_rule": "best"}, ValueError, "alpha_rule must be one of .*got 'best'"),
    "refit": ({"refit_alpha": -1.0}, ValueError, "refit_alpha must be .*got -1.0"),
    "size rule": ({"size_rule": "2se"}, ValueError, "size_rule must be 'min' or '1se', got '2se'"),
    "size": ({"max_features": 0}, ValueError, "max_features must be .*got 0"),
    "patience": ({"patience": -1}, ValueError, "patience must be .*got -1"),
    "tol": ({"tol": "small"}, TypeError, "tol must be None or a number, 0 or more; got 'small'"),
    "loss": ({"loss": "mse"}, ValueError, "loss='mse' is not supported; .*Did you mean 'squared'"),
    "labels": ({"loss": "zero_one"}, ValueError, "needs labels -1 and \\+1, but y has"),
    "task": ({"task": "ranking"}, ValueError, "task must be 'auto'.*, got 'ranking'"),
    "text as numbers": (
        {"y": np.array(["a", "b"] * 11), "task": "regression"},
        ValueError,
        "y must be numeric",
    ),
    "no y": ({"y": None}, ValueError, "the target y is None"),
    "NaN in y": ({"y": np.where(np.arange(22) == 3, np.nan, 1.5)}, ValueError, "y .*NaN: row 3"),
    "short y": ({"y": np.zeros(21) + np.arange(21) / 2}, ValueError, r"\[22, 21\]"),
    "one class": ({"y": np.full(22, "a")}, ValueError, "every label is 'a'"),
    "weights": (
        {"sample_weight": np.where(np.arange(22) == 5, -1.0, 1.0)},
        ValueError,
        "row 5 has -1.0",
    ),
    "intercept": ({"fit_intercept": "yes"}, TypeError, "fit_intercept must be .*got 'yes'"),
    "forced": ({"forced_features": [9]}, ValueError, "forced_features has 9; .*0 to 5"),
    "forced name": ({"forced_features": ["p"]}, ValueError, "the name 'p', but X has no column"),
    "both": (
        {"forced_features": [1], "excluded_features": [1]},
        ValueError,
        r"\[1\] are both in forced_features and in excluded_features",
    ),
    "short groups": ({"groups": np.arange(5)}, ValueError, "groups has 5 values, .*22 rows"),
    "missing group": (
        {"groups": [None] + ["a"] * 21},
        ValueError,
        "groups has a missing value: row 0",
    ),
    "inner fold ids": (
        {"inner_cv": np.arange(22) % 3},
        TypeError,
        r"inner_cv must be a number of folds, .*or 'loo'.*new folds are made. Got array",
    ),
    "inner pairs": ({"inner_cv": [([0], [1])]}, TypeError, r"inner_cv must be .*Got \[\(\[0\]"),
    "inner None": ({"inner_cv": None}, TypeError, "inner_cv must be .*Got None"),
    "inner flag": ({"inner_cv": True}, TypeError, "inner_cv must be .*Got True"),
    "penalty fold ids": (
        {"alpha": [1.0, 2.0], "alpha_cv": np.arange(22) % 3},
        TypeError,
        "alpha_cv must be a number of folds, .*or None.*new folds are made. Got array",
    ),
    "penalty text": (
        {"alpha": [1.0, 2.0], "alpha_cv": "loo"},
        ValueError,
        "alpha_cv='loo': the selection is repeated",
    ),
    "inner groups": (
        {"inner_cv": GroupKFold(3)},
        ValueError,
        "needs groups: pass groups with one value for each",
    ),
    "no processes": ({"n_jobs": 0}, ValueError, "n_jobs must be None .*-1 for all cores; got 0"),
    "many processes": ({"n_jobs": "all"}, ValueError, "n_jobs must be .*got 'all'"),
    "NaN in X": (
        {"X": np.where(np.arange(132).reshape(22, 6) == 40, np.nan, 1.0 + np.eye(22, 6))},
        ValueError,
        "X contains NaN: row 6, column 4 is nan",
    ),
}


def ask(name: str, changes: dict[str, Any]) -> Any:
    X, y = numbers()
    given = {"X": X, "y": y, "n_features": 2, "alpha": 1.0} | SHORT[name] | changes
    return CALLS[name](given.pop("X"), given.pop("y"), given.pop("n_features"), **given)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", SHARED)
def test_what_all_refuse(name: str, call: str) -> None:
    changes, kind, message = SHARED[name]
    with pytest.raises(kind, match=message):
        ask(call, changes)


@pytest.mark.parametrize("call", ["cross_validate_path", "permutation_null"])
@pytest.mark.parametrize(
    ("measure", "kind", "message"),
    [
        ("accuracy", ValueError, "'accuracy' is not supported; .*Did you mean 'zero_one'"),
        ("zero_one", ValueError, "needs labels -1 and \\+1, but y has"),
        (3, TypeError, "got 3"),
        (lambda y_true, y_pred: "good", TypeError, "must return one number, got 'good'"),
        (lambda y_true, y_pred: np.nan, ValueError, "must return a finite number, got nan"),
    ],
)
def test_measures(measure: Any, kind: type[Exception], message: str, call: str) -> None:
    with pytest.raises(kind, match=message):
        ask(call, {"measure": measure})


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"cv": "loo"}, ValueError, "cv='loo': the whole selection is repeated .*number of folds"),
        ({"cv": LeaveOneOut()}, ValueError, r"cv=LeaveOneOut\(\): the whole selection"),
        ({"cv": 1}, ValueError, "cv=1 is too few folds; use at least 2"),
        ({"cv": 23}, ValueError, "cv=23 is more folds than the 22 samples"),
        ({"cv": None}, TypeError, "cv must be .*got None"),
        ({"cv": KFold}, TypeError, "cv is the class KFold; pass an instance"),
        ({"cv": np.arange(5)}, ValueError, "cv has 5 values, but there are 22 rows"),
        ({"cv": GroupKFold(3)}, ValueError, "needs groups: pass groups"),
        ({"cv": [([0, 1], [1, 2])]}, ValueError, "row 1 both in its training rows and in its test"),
        ({"cv": 4, "groups": np.arange(22) % 3}, ValueError, "more folds than the 3 different gr"),
        ({"n_random": -1}, ValueError, "n_random must be a whole number, 0 or more; got -1"),
        ({"n_random": 2.0}, ValueError, "n_random must be a whole number, 0 or more; got 2.0"),
        ({"n_random": None}, ValueError, "n_random must be .*got None"),
        ({"n_random": True}, ValueError, "n_random must be .*got True"),
    ],
)
def test_outer_folds_and_random_features(
    changes: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        ask("cross_validate_path", changes)


def test_outer_folds_that_leave_a_class_out() -> None:
    X, y = labels(classes=3)
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    with pytest.raises(ValueError, match="Split 0 has no training rows of class 'ant'; use fewer"):
        cross_validate_path(X, y, 2, cv=[(np.arange(9, 26), np.arange(9))], alpha=1.0)
    pairs = [(np.arange(5, 26), np.arange(5)), (np.arange(5, 26), np.arange(5))]
    with pytest.raises(ValueError, match="needs every class in each fold; fold 0 has no test"):
        cross_validate_path(X, y, 2, cv=pairs, alpha=1.0, measure="balanced_zero_one")
    with pytest.raises(ValueError, match=r"'auc' is for two classes, .* 3 targets or classes"):
        cross_validate_path(X, y, 2, cv=3, alpha=1.0, measure="auc")
    weights = np.ones(26)
    weights[:9] = 0.0
    weights[9] = 0.0
    tests = np.arange(26) % 2
    tests[y == "cat"] = 0
    with pytest.raises(ValueError, match="no training rows of class 'cat' with a positive weight"):
        cross_validate_path(X, y, 2, cv=tests, alpha=1.0, sample_weight=weights)


@pytest.mark.parametrize(
    ("call", "name", "least"),
    [("permutation_null", "n_permutations", 1), ("resample_path", "n_resamples", 2)],
)
def test_numbers_of_repeats(call: str, name: str, least: int) -> None:
    for value in (least - 1, -3, 2.0, None, "many", True):
        with pytest.raises(ValueError, match=f"{name} must be .*, {least} or more; got {value!r}"):
            ask(call, {name: value})
    ask(call, {name: least})
    ask(call, {name: np.int32(least)})


@pytest.mark.parametrize("value", ["jackknife", None, 0.5, ["bootstrap"]])
def test_ways_to_resample(value: Any) -> None:
    with pytest.raises(ValueError, match="resample must be 'subsample' or 'bootstrap', got"):
        ask("resample_path", {"resample": value})


@pytest.mark.parametrize("value", [0.0, 1.0, 1.5, -0.5, "half", None, True, np.nan])
def test_shares(value: Any) -> None:
    with pytest.raises(ValueError, match=f"share must be a number between 0 and 1, got {value!r}"):
        ask("resample_path", {"share": value})


def test_too_few_samples_for_a_penalty() -> None:
    X, y = numbers(8)
    with pytest.raises(
        ValueError, match="needs at least 4 samples, there are n_samples=3; pass a n"
    ):
        cross_validate_path(X, y, 1, cv=[([0, 1, 2], [3, 4])], alpha=[1.0, 2.0])


@pytest.mark.parametrize("value", ["bogus", 1, 100])
def test_errors_name_inner_cv(value: Any) -> None:
    with pytest.raises(ValueError, match="inner_cv"):
        ask("cross_validate_path", {"inner_cv": value})


@pytest.mark.parametrize("value", ["bogus", 1, 100, None])
def test_errors_do_not_recommend_what_is_refused(value: Any) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        ask("cross_validate_path", {"cv": value})
    assert "'loo'" not in str(caught.value)


def test_errors_name_the_measure() -> None:
    with pytest.raises(ValueError, match="measure='accuracy'"):
        ask("cross_validate_path", {"measure": "accuracy"})


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_fold_that_trains_on_a_single_sample(fit_intercept: bool) -> None:
    X, y = np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 1.0], [4.0, 3.0]]), np.arange(4.0)
    with pytest.raises(ValueError, match="fewer than 2 training samples"):
        cross_validate_path(
            X, y, 1, cv=[0, 1, 1, 1], alpha=1.0, task="regression", fit_intercept=fit_intercept
        )
