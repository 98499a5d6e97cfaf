"""Folds and penalties for rows on a Dask cluster: the answer is that of the rows in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.model_selection import KFold, LeaveOneOut, StratifiedKFold

from clusters import Array, assert_same_path, cut, problem
from greedyrls import GreedyRLSClassifier, GreedyRLSRegressor, greedy_path

pytest_plugins = ["cluster_fixture"]
pytestmark = [pytest.mark.usefixtures("client"), pytest.mark.xdist_group("dask"), pytest.mark.slow]


def targets(kind: str) -> Array:
    X, y, _ = problem()
    if kind == "two":
        return np.stack([y, X[:, 6] - X[:, 2]], axis=1)
    if kind == "two classes":
        return np.where(y > 0.4, 1.0, -1.0)
    if kind == "three classes":
        return np.where(np.digitize(y, [-1.0, 1.0])[:, None] == np.arange(3), 1.0, -1.0)
    return y


# The kind of targets, whether there are weights, and options.
CASES: dict[str, tuple[str, bool, dict[str, Any]]] = {
    "number": ("one", False, {"cv": 4, "n_runners_up": 2}),
    "splitter": ("one", True, {"cv": KFold(3)}),
    "leave-one-out": ("one", False, {"cv": LeaveOneOut()}),
    "weights": ("one", True, {"cv": 5}),
    "two targets": ("two", True, {"cv": 3}),
    "without intercept": ("one", True, {"cv": 3, "fit_intercept": False}),
    "forced": ("one", False, {"cv": 3, "forced_features": [7], "excluded_features": [0]}),
    "one error": (
        "one",
        True,
        {"cv": 4, "n_features": "auto", "max_features": 4, "size_rule": "1se", "patience": 2},
    ),
    "refit": ("one", True, {"cv": 3, "refit_alpha": "loo"}),
    "absolute": ("one", True, {"cv": 3, "loss": "absolute"}),
    "absolute, two targets": ("two", False, {"cv": 3, "loss": "absolute"}),
    "zero-one": ("two classes", True, {"cv": 3, "loss": "zero_one"}),
    "balanced": ("three classes", True, {"cv": 2, "loss": "balanced_zero_one"}),
    "joint": ("one", False, {"cv": 3, "alpha": [0.1, 10.0], "alpha_rule": "joint"}),
}


@pytest.mark.parametrize("case", CASES)
def test_the_answer_is_that_in_memory(case: str) -> None:
    kind, is_weighted, given_options = CASES[case]
    X, _, weights = problem()
    y = targets(kind)
    options: dict[str, Any] = {"n_features": 2, "alpha": 0.5, **given_options}
    own = {"sample_weight": cut(weights)} if is_weighted else {}
    found = greedy_path(cut(X), cut(y), **options, **own)
    expected = greedy_path(X, y, **options, sample_weight=weights if is_weighted else None)
    assert_same_path(found, expected)


@pytest.mark.parametrize("kind", ["far", "float32", "whole numbers", "sparse"])
def test_any_kind_of_data(kind: str) -> None:
    X, y, weights = problem()
    lazy = None
    if kind == "far":
        X = X + 1e6
    elif kind == "float32":
        X = X.astype(np.float32)
    elif kind == "whole numbers":
        X = np.round(4.0 * X).astype(np.int8)
    else:
        X[np.abs(X) < 0.8] = 0.0
        lazy = cut(X).map_blocks(sparse.csr_array)
        X = sparse.csr_array(X)
    found = greedy_path(
        cut(X) if lazy is None else lazy, cut(y), 3, cv=3, sample_weight=cut(weights)
    )
    assert_same_path(found, greedy_path(X, y, 3, cv=3, sample_weight=weights))


FOLD_IDS: dict[str, Any] = {
    "all tested": lambda m: np.arange(m) % 3,
    "some never": lambda m: np.arange(m) % 4 - 1,
    "other numbers": lambda m: np.where(np.arange(m) % 3 == 0, 70, -5),
    "unequal": lambda m: np.minimum(np.arange(m) // 3, 2),
    "small type": lambda m: (np.arange(m) % 2).astype(np.uint8),
}


@pytest.mark.parametrize("name", FOLD_IDS)
def test_fold_ids(name: str) -> None:
    X, y, weights = problem()
    loss = "absolute" if name in ("some never", "small type") else "squared"
    ids = FOLD_IDS[name](len(y))
    options: dict[str, Any] = {"alpha": 0.5, "loss": loss}
    found = greedy_path(cut(X), cut(y), 2, cv=cut(ids, 30), sample_weight=weights, **options)
    assert_same_path(found, greedy_path(X, y, 2, cv=ids, sample_weight=weights, **options))


def test_a_fold_that_a_partition_has_no_rows_of() -> None:
    X, y, _ = problem()
    ids = np.repeat([0, 1, 2], [10, 9, 27])
    found = greedy_path(cut(X), cut(y), 3, cv=cut(ids), n_runners_up=1)
    assert_same_path(found, greedy_path(X, y, 3, cv=ids, n_runners_up=1))


def test_weights_that_leave_whole_partitions_out() -> None:
    X, y, weights = problem()
    weights[:19] = 0.0
    for cv in ("loo", 3):
        found = greedy_path(cut(X), cut(y), 1, cv=cv, sample_weight=cut(weights))
        assert_same_path(found, greedy_path(X, y, 1, cv=cv, sample_weight=weights))


# Options of a choice of the penalty.
PENALTIES: dict[str, dict[str, Any]] = {
    "leave-one-out": {"alpha_cv": 2},
    "folds": {"cv": 3},
    "fold ids": {"cv": 3, "alpha_cv": "ids"},
    "one error": {"cv": 3, "alpha_cv": 2, "n_features": "auto", "size_rule": "1se"},
    "absolute": {"cv": 3, "alpha_cv": 2, "loss": "absolute"},
    "refit": {"cv": 3, "alpha_cv": 2, "refit_alpha": "same"},
    "auto": {"cv": 3, "alpha_cv": 2, "alpha": "auto", "n_features": 1},
}


@pytest.mark.parametrize("name", PENALTIES)
def test_nested_choice_of_the_penalty(name: str) -> None:
    X, y, weights = problem()
    X = X[:, :4]
    given = dict(PENALTIES[name])
    if given.get("n_features") == "auto":
        given["max_features"] = 2
    options: dict[str, Any] = {"n_features": 1, "alpha": [0.1, 30.0], **given}
    lazy, ids = dict(options), np.arange(len(y)) % 3 - 1
    if options.get("alpha_cv") == "ids":
        options["alpha_cv"], lazy["alpha_cv"] = ids, cut(ids, 11)
    found = greedy_path(cut(X), cut(y), sample_weight=cut(weights), **lazy)
    assert_same_path(found, greedy_path(X, y, sample_weight=weights, **options))


SHUFFLED: dict[str, dict[str, Any]] = {
    "numbers": {},
    "weights": {"cv": 3},
    "sorted": {"alpha_cv": 3},
    "classes": {},
}


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=pytest.mark.slow if kind != "classes" else ()) for kind in SHUFFLED],
)
def test_shuffled_folds_are_those_of_rows_in_memory(kind: str) -> None:
    """However the rows are cut: each computes its fold from its number."""
    X, y, weights = problem(n=3)
    if kind == "sorted":
        X, y = X[np.argsort(y)], np.sort(y)
    make, target = GreedyRLSRegressor, y
    if kind == "classes":
        # A class of one row is never tested.
        make, target = GreedyRLSClassifier, np.where(np.arange(46) == 30, "plum", labels())
    options: dict[str, Any] = {"alpha": [0.1, 30.0], "loss": "squared", **SHUFFLED[kind]}
    own = weights if kind == "weights" else None
    expected = make(1, **options).fit(X, target, own)
    assert "shuffled with seed 0" in expected.path_.surface.folds
    for rows in ((19, 27), 12) if kind == "numbers" else ((19, 27),):
        model = make(1, **options)
        model.fit(cut(X, rows), cut(target, rows), None if own is None else cut(own, rows))
        found, same = model.path_.surface, expected.path_.surface
        assert found.folds == same.folds
        assert_allclose(found.fold_losses, same.fold_losses, rtol=1e-9)
        assert_same_path(model.path_, expected.path_)


@pytest.mark.slow
def test_a_rare_class_keeps_the_folds_of_the_search() -> None:
    X = problem()[0]
    y = np.where(np.arange(46) % 11 == 0, "rare", "usual")
    options: dict[str, Any] = {"alpha": [0.5, 50.0], "loss": "balanced_zero_one", "cv": 5}
    expected = GreedyRLSClassifier(1, **options).fit(X, y)
    model = GreedyRLSClassifier(1, **options).fit(cut(X), cut(y))
    assert expected.path_.surface.folds == "5-fold, stratified"
    assert_same_path(model.path_, expected.path_)


@pytest.mark.slow
def test_many_folds_are_merged_for_the_penalty() -> None:
    X, y, _ = problem(n=3)
    found = greedy_path(cut(X, 23), cut(y, 23), 1, cv=11, alpha=[0.5, 50.0])
    assert_same_path(found, greedy_path(X, y, 1, cv=11, alpha=[0.5, 50.0]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("m", "cv"), [(8, "loo"), (30, 2), (30, "ids")], ids=["few rows", "two folds", "ids with -1"]
)
def test_outer_folds_that_are_not_given(m: int, cv: Any) -> None:
    X, y, _ = problem(m=m, n=2)
    ids = np.arange(m) % 14 - 1 if cv == "ids" else cv
    lazy = cut(ids, 11) if cv == "ids" else cv
    found = greedy_path(cut(X, 15), cut(y, 15), 1, cv=lazy, alpha=[0.5, 50.0])
    assert_same_path(found, greedy_path(X, y, 1, cv=ids, alpha=[0.5, 50.0]))


def test_more_folds_than_a_class_has_rows() -> None:
    X, y = problem(n=2)[0], labels()
    with pytest.warns(UserWarning, match="least populated class"):
        expected = GreedyRLSClassifier(1, alpha=1.0, cv=5).fit(X, y)
    with pytest.warns(UserWarning, match="least populated class"):
        model = GreedyRLSClassifier(1, alpha=1.0, cv=5).fit(cut(X), cut(y))
    assert_same_path(model.path_, expected.path_)


def labels() -> Array:
    """Three classes of text, one of them rare; neither sorted nor met in their order."""
    _, y, _ = problem()
    return np.array(["pear", "fig", "apple"])[np.digitize(y, [-2.5, 0.6])]


@pytest.mark.parametrize("cv", [4, KFold(3), StratifiedKFold(3)])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_stratified_folds(cv: Any, is_weighted: bool) -> None:
    X, _, weights = problem()
    y = labels()
    own = weights + 0.5 * (y == "pear") if is_weighted else None
    expected = GreedyRLSClassifier(1, alpha=1.0, cv=cv).fit(X, y, own)
    model = GreedyRLSClassifier(1, alpha=1.0, cv=cv)
    model.fit(cut(X), cut(y), None if own is None else cut(own))
    assert_same_path(model.path_, expected.path_)


@pytest.mark.parametrize("n_folds", [2, 3, 7])
def test_folds_are_those_of_scikit_learn(n_folds: int) -> None:
    """Rare classes, and classes first met late, for any number of folds."""
    generator = np.random.default_rng(n_folds)
    X = generator.normal(size=(60, 2))
    y = generator.choice(list("zyxw"), 60, p=[0.4, 0.3, 0.17, 0.13])
    expected = GreedyRLSClassifier(1, alpha=1.0, cv=n_folds).fit(X, y)
    model = GreedyRLSClassifier(1, alpha=1.0, cv=n_folds).fit(cut(X, 25), cut(y, 25))
    assert_array_equal(model.path_.indices, expected.path_.indices)
    assert_same_path(model.path_, expected.path_)


def test_stratified_outer_folds() -> None:
    X, y = problem(n=3)[0], np.where(problem()[1] > 0, "pear", "apple")
    options: dict[str, Any] = {"alpha": [0.5, 50.0], "alpha_cv": 2, "loss": "squared", "cv": 3}
    expected = GreedyRLSClassifier(1, **options).fit(X, y)
    assert_same_path(GreedyRLSClassifier(1, **options).fit(cut(X), cut(y)).path_, expected.path_)


def test_the_regressor_in_folds() -> None:
    X, _, weights = problem()
    y = targets("two")
    expected = GreedyRLSRegressor(2, alpha=1.0, cv=3).fit(X, y, weights)
    model = GreedyRLSRegressor(2, alpha=1.0, cv=3).fit(cut(X), cut(y, 20), cut(weights))
    assert_same_path(model.path_, expected.path_)
