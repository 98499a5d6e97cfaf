"""`cross_validate_path` against a selection on the training rows alone, fold by fold."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    TimeSeriesSplit,
)

from assess_twin import Question
from conftest import EXAMPLES
from greedyrls import _procedure, _select
from greedyrls._problem import make_problem
from greedyrls._random_sets import random_orders
from greedyrls._samples import SampleSpace
from greedyrls.assess import (
    PathAssessment,
    cross_validate_path,
    permutation_null,
    resample_path,
)
from problems import two_classes

ALPHAS = [1e-2, 1.0, 100.0]
SAME = 1e-8
SHUFFLED = KFold(3, shuffle=True, random_state=4)


def numbers(m: int = 22, n: int = 6, seed: int = 0, targets: tuple[int, ...] = ()) -> Any:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n)) * rng.uniform(0.5, 2.0, n) + rng.standard_normal(n)
    y = X[:, :3] @ rng.standard_normal((3, *targets)) + 2.0 * rng.standard_normal((m, *targets))
    return X, y


def labels(m: int = 26, n: int = 6, classes: int = 2, seed: int = 0) -> Any:
    """Classes as text, all about equally frequent and in no order."""
    X, y = numbers(m, n, seed)
    names = np.array(["cat", "ant", "bee", "dog"][:classes])
    ranks = np.argsort(np.argsort(y))
    return X, names[ranks * classes // m]


def huberish(y_true: Any, y_pred: Any) -> float:
    size = np.abs(y_true - y_pred)
    return float(np.mean(np.where(size < 1.0, size**2, 2.0 * size - 1.0)))


def largest(y_true: Any, y_pred: Any) -> float:
    return float(np.abs(y_true - y_pred).max())


def assert_is_literal(question: Question, cv: Any, splits: Any, n_random: int = 1) -> Any:
    found = question.assess(cv, n_random)
    seeds = np.random.SeedSequence(0).spawn(len(splits))
    folds = [
        question.fold(np.asarray(train), np.asarray(test), n_random, seed)
        for (train, test), seed in zip(splits, seeds, strict=True)
    ]
    size = max(len(fold.path) for fold in folds)
    assert found.test_losses.shape == found.selection_losses.shape == (len(splits), size)
    assert found.random_losses.shape == (len(splits), n_random, size)
    for number, fold in enumerate(folds):
        known = len(fold.path)
        assert found.features[number].tolist() == fold.path.indices.tolist()
        assert found.alphas[number] == pytest.approx(fold.path.settings.alpha, rel=1e-9)
        assert found.chosen_sizes[number] == fold.path.chosen_size
        for name in ("test_losses", "selection_losses", "random_losses"):
            curve = getattr(found, name)[number]
            expected = getattr(fold, name)
            assert_allclose(curve[..., :known], expected, rtol=SAME, atol=1e-12, err_msg=name)
            assert np.isnan(curve[..., known:]).all()
        assert found.initial_losses[number] == pytest.approx(fold.initial_loss, rel=SAME)
    weights = question.weights
    totals = np.array([weights[test].sum() for _, test in splits])
    assert_allclose(found.shares, totals / totals.sum(), rtol=1e-12)
    return found


# One thing at a time -----------------------------------------------------------------------------

NUMBERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "a number": (3, {"alpha": 0.5}),
    "grid": (3, {"alpha": ALPHAS}),
    "grid in the scale of the data": (2, {}),
    "grid, same penalty": (3, {"alpha": ALPHAS, "refit_alpha": "same"}),
    "grid, a number for the models": (3, {"alpha": ALPHAS, "refit_alpha": 3.0}),
    "a number, refit": (3, {"alpha": 0.5, "refit_alpha": "loo"}),
    "all features": (3, {"alpha": ALPHAS, "alpha_rule": "all_features"}),
    "joint": (3, {"alpha": ALPHAS, "alpha_rule": "joint", "refit_alpha": "loo"}),
    "outer folds given": (3, {"alpha": ALPHAS, "alpha_cv": SHUFFLED}),
    "size": ("auto", {"alpha": 2.0, "patience": 2}),
    "size by one error": ("auto", {"alpha": 2.0, "size_rule": "1se", "patience": 99}),
    "size and grid": ("auto", {"alpha": ALPHAS, "patience": 2}),
    "size and grid by one error": ("auto", {"alpha": ALPHAS, "size_rule": "1se"}),
    "size, at most": ("auto", {"alpha": 0.1, "max_features": 2, "refit_alpha": "loo"}),
    "size and joint grid": ("auto", {"alpha": ALPHAS, "alpha_rule": "joint", "patience": 2}),
    "folds": (3, {"alpha": 0.5, "inner_cv": 3}),
    "splitter": (3, {"alpha": 0.5, "inner_cv": SHUFFLED}),
    "folds and grid": (3, {"alpha": ALPHAS, "inner_cv": 3}),
    "folds and size": ("auto", {"alpha": 2.0, "inner_cv": 4, "size_rule": "1se"}),
    "folds, another measure": (2, {"alpha": 0.5, "inner_cv": 3, "measure": "absolute"}),
    "absolute": (3, {"alpha": 0.5, "loss": "absolute"}),
    "absolute and grid": (2, {"alpha": ALPHAS, "loss": "absolute"}),
    "a function": (2, {"alpha": 0.5, "loss": huberish}),
    "another measure": (3, {"alpha": ALPHAS, "measure": "absolute"}),
    "a function as measure": (3, {"alpha": 0.5, "measure": largest}),
    "squared measure": (2, {"alpha": 0.5, "loss": "absolute", "measure": "squared"}),
    "no intercept": (3, {"alpha": ALPHAS, "fit_intercept": False}),
    "forced": (3, {"alpha": ALPHAS, "forced_features": [4, 0]}),
    "excluded": (3, {"alpha": ALPHAS, "excluded_features": [0, 3], "forced_features": [5]}),
    "patience": (5, {"alpha": 5.0, "patience": 1}),
    "tolerance": (5, {"alpha": 5.0, "tol": 0.05}),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_folds_are_selections_on_their_training_rows(name: str) -> None:
    n_features, options = NUMBERS[name]
    X, y = numbers()
    if list(NUMBERS).index(name) % 2:  # the other ones have no weights
        weights = np.random.default_rng(3).choice([0.0, 0.5, 1.0, 2.0], len(y))
        options = options | {"sample_weight": weights}
    splits = list(SHUFFLED.split(X))
    assert_is_literal(Question(X, y, n_features, options), SHUFFLED, splits)


LABELS: dict[str, tuple[int, Any, dict[str, Any]]] = {
    "two classes": (2, 3, {"alpha": 0.5}),
    "two classes and grid": (2, 2, {"alpha": ALPHAS}),
    "two classes by squared loss": (2, 2, {"alpha": ALPHAS, "loss": "squared"}),
    "zero_one": (2, 3, {"alpha": 0.5, "loss": "zero_one"}),
    "zero_one and grid": (2, 2, {"alpha": ALPHAS, "loss": "zero_one"}),
    "balanced": (2, 2, {"alpha": 0.5, "loss": "balanced_zero_one"}),
    "area": (2, 2, {"alpha": 0.5, "loss": "auc", "inner_cv": 3}),
    "area as measure": (2, 3, {"alpha": 0.5, "measure": "auc"}),
    "squared measure": (2, 3, {"alpha": 0.5, "measure": "squared"}),
    "size": (2, "auto", {"alpha": 0.5, "patience": 2}),
    "size by zero_one": (2, "auto", {"alpha": 0.5, "loss": "zero_one", "size_rule": "1se"}),
    "three classes": (3, 3, {"alpha": 0.5}),
    "three classes and grid": (3, 2, {"alpha": ALPHAS, "inner_cv": 3}),
    "three classes by zero_one": (3, 2, {"alpha": 0.5, "loss": "zero_one"}),
    "three classes, balanced": (3, 2, {"alpha": 0.5, "measure": "balanced_zero_one"}),
}


@pytest.mark.parametrize("name", LABELS)
def test_classes_as_text(name: str) -> None:
    classes, n_features, options = LABELS[name]
    X, y = labels(classes=classes)
    if list(LABELS).index(name) % 2:
        options = options | {"sample_weight": np.random.default_rng(3).integers(1, 4, len(y))}
    splits = list(StratifiedKFold(3).split(X, y))
    question = Question(X, y, n_features, options, is_classification=True)
    found = assert_is_literal(question, 3, splits)
    assert found.folds == "3-fold, stratified"


@pytest.mark.parametrize(
    ("classes", "seed", "options"),
    [(2, 7, {}), (3, 12, {}), (2, 18, {"inner_cv": 3, "refit_alpha": "same"})],
)
def test_the_loss_is_chosen_in_each_fold(
    classes: int, seed: int, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the penalty is chosen, too, a classification may go by wrong classes."""
    monkeypatch.setattr(_select, "_SAMPLES", 0)  # so few samples would never change it
    X, y = labels(30, classes=classes, seed=seed)
    question = Question(X, y, 2, options | {"alpha": ALPHAS}, is_classification=True)
    splits = list(StratifiedKFold(3).split(X, y))
    assert_is_literal(question, 3, splits)
    chosen = {question.select(train).settings.loss for train, _ in splits}
    assert options or chosen == {"squared", "zero_one"}


@pytest.mark.parametrize(("loss", "alpha"), [("auto", ALPHAS), ("absolute", 0.5), (largest, 0.5)])
def test_several_targets(loss: Any, alpha: Any) -> None:
    X, y = numbers(targets=(3,))
    options = {"alpha": alpha, "loss": loss}
    assert_is_literal(Question(X, y, 3, options), 3, list(KFold(3).split(X)))


@pytest.mark.heavy
@settings(max_examples=max(10, min(40, EXAMPLES // 70)))
@given(
    seed=st.integers(0, 2**32 - 1),
    n_features=st.sampled_from([1, 4, "auto"]),
    alpha=st.sampled_from([0.1, 10.0, ALPHAS]),
    rule=st.sampled_from(["nested", "joint", "all_features"]),
    refit=st.sampled_from([None, "same", "loo", 3.0]),
    size_rule=st.sampled_from(["min", "1se"]),
    inner=st.sampled_from(["loo", "loo", 3, SHUFFLED]),
    loss=st.sampled_from(["squared", "squared", "absolute", "zero_one"]),
    fit_intercept=st.booleans(),
    weighted=st.booleans(),
    is_wide=st.booleans(),
)
def test_everything_at_once(
    seed: int,
    n_features: Any,
    alpha: Any,
    rule: str,
    refit: Any,
    size_rule: str,
    inner: Any,
    loss: str,
    fit_intercept: bool,
    weighted: bool,
    is_wide: bool,
) -> None:
    rng = np.random.default_rng(seed)
    m = int(rng.integers(16, 24))
    X, y = numbers(m, 20 if is_wide else 5, seed)
    options: dict[str, Any] = {
        "alpha": alpha,
        "alpha_rule": rule,
        "refit_alpha": refit,
        "size_rule": size_rule,
        "inner_cv": inner,
        "loss": loss,
        "fit_intercept": fit_intercept,
        "max_features": 4,
        "patience": 3,
    }
    if loss == "zero_one":
        y = np.where(y > np.median(y), 1.0, -1.0)
        options["task"] = "regression"  # folds without regard to classes
    if weighted:
        options["sample_weight"] = rng.choice([0.0, 0.5, 1.0, 1.0, 2.0], m)
        options["sample_weight"][rng.integers(m)] += 1.0
    halves = KFold(2, shuffle=True, random_state=seed % 1000)
    try:
        assert_is_literal(Question(X, y, n_features, options), halves, list(halves.split(X)))
    except ValueError as error:
        # Few rows of positive weight may leave a fold empty or without a class: errors, rightly.
        assume("needs at least 2 classes" not in str(error))
        assume("leaves no" not in str(error))
        raise


def test_the_curves_are_those_of_scikit_learn() -> None:
    X, y = numbers(18, 5)
    found = cross_validate_path(X, y, 3, alpha=ALPHAS, cv=3, n_random=0)
    question = Question(X, y, 3, {"alpha": ALPHAS})
    for number, (train, test) in enumerate(KFold(3).split(X)):
        path = question.select(train)
        assert_array_equal(found.features[number], path.indices)
        for size in (1, 2, 3):
            columns = X[:, path.indices[:size]]
            ridge = Ridge(alpha=path.refit_alphas[size - 1])
            predicted = ridge.fit(columns[train], y[train]).predict(columns[test])
            expected = np.mean((predicted - y[test]) ** 2)
            assert found.test_losses[number, size - 1] == pytest.approx(expected, rel=1e-9)
            errors = []
            for row in train:
                others = train[train != row]
                left_out = ridge.fit(columns[others], y[others]).predict(columns[[row]])
                errors.append(left_out[0] - y[row])
            expected = np.mean(np.square(errors))
            assert found.selection_losses[number, size - 1] == pytest.approx(expected, rel=1e-9)


# Outer folds -------------------------------------------------------------------------------------

IDS = np.array([0, 1, 2, 1, 0, -1, 2, 0, 1, 2, -1] * 2)
HALF = np.arange(22) < 11
OUTER: dict[str, tuple[Any, Any, str]] = {
    "a number": (4, list(KFold(4).split(IDS)), "4-fold"),
    "fold ids": (
        IDS,
        [(np.flatnonzero(f != IDS), np.flatnonzero(f == IDS)) for f in range(3)],
        "fold ids (3 folds)",
    ),
    "pairs": (
        [(np.arange(10, 22), np.arange(7)), (np.arange(5, 20), np.array([2, 0, 21]))],
        [(np.arange(10, 22), np.arange(7)), (np.arange(5, 20), np.array([0, 2, 21]))],
        "2 given splits",
    ),
    "masks": ([(HALF, ~HALF)], [(np.arange(11), np.arange(11, 22))], "1 given split"),
    "a generator": (KFold(3).split(IDS), list(KFold(3).split(IDS)), "3 given splits"),
    "splitter": (SHUFFLED, list(SHUFFLED.split(IDS)), "KFold(n_splits=3, shuffle=True, random_"),
    "time": (TimeSeriesSplit(2), list(TimeSeriesSplit(2).split(IDS)), "TimeSeriesSplit("),
    "random": (
        ShuffleSplit(3, test_size=0.3, random_state=1),
        list(ShuffleSplit(3, test_size=0.3, random_state=1).split(IDS)),
        "ShuffleSplit(",
    ),
}


@pytest.mark.parametrize("name", OUTER)
def test_outer_folds_of_every_kind(name: str) -> None:
    X, y = numbers()
    cv, splits, words = OUTER[name]
    alpha = ALPHAS if name in ("masks", "fold ids", "time") else 0.5
    if name == "a generator":
        cv = iter(splits)
    found = assert_is_literal(Question(X, y, 2, {"alpha": alpha}), cv, splits)
    assert found.folds.startswith(words)
    _, error = found.estimate
    assert np.isnan(error) == (len(splits) == 1)
    assert "nan" not in found.sentence


def test_folds_are_of_the_rows_with_a_weight() -> None:
    X, y = numbers()
    weights = np.where(np.arange(22) % 3 == 1, 0.0, 1.0)
    used = np.flatnonzero(weights)
    splits = [(used[train], used[test]) for train, test in KFold(3).split(used)]
    options = {"alpha": ALPHAS, "sample_weight": weights}
    found = assert_is_literal(Question(X, y, 3, options), 3, splits)
    twin = cross_validate_path(X[used], y[used], 3, alpha=ALPHAS, cv=3, n_random=1)
    assert_allclose(found.test_losses, twin.test_losses, rtol=1e-9)
    assert_allclose(found.selection_losses, twin.selection_losses, rtol=1e-9)
    assert_allclose(found.random_losses, twin.random_losses, rtol=1e-9)
    assert found.n_samples == 22  # as given


# Groups ------------------------------------------------------------------------------------------

GROUPED: dict[str, dict[str, Any]] = {
    "a number": {"alpha": 0.5},
    "grid": {"alpha": ALPHAS},
    "grid of two classes": {"alpha": ALPHAS},
    "all features": {"alpha": ALPHAS, "alpha_rule": "all_features"},
    "inner folds": {"alpha": 0.5, "inner_cv": 3},
    "inner folds and grid": {"alpha": ALPHAS, "inner_cv": GroupKFold(3)},
    "leave one group out": {"alpha": 0.5, "inner_cv": LeaveOneGroupOut()},
}


@pytest.mark.parametrize("name", GROUPED)
def test_groups_stay_together(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    is_classification = name == "grid of two classes"
    X, y = labels() if is_classification else numbers()
    groups = np.array(list("abcdefgh"))[np.random.default_rng(2).permutation(len(y)) % 8]
    options = GROUPED[name] | {"groups": groups}
    if list(GROUPED).index(name) % 2:
        options["sample_weight"] = np.random.default_rng(3).integers(1, 4, len(y)) * 1.0
    splits = list(GroupKFold(3).split(X, y, groups))
    seen: list[set[str]] = []

    def spy(problem: Any, plan: Any, request: Any, data: Any = None) -> Any:
        rows = [np.flatnonzero((row == X).all(axis=1))[0] for row in np.asarray(problem.X)]
        own = groups[rows]
        counted = problem.has_weight
        seen.append(set(own[counted]))
        for folds in (plan.folds, request.outer):
            # Rows of the criterion are those of the selection, where it has folds.
            for split in () if folds is None else folds.splits:
                train, test = split.train[counted[split.train]], split.test[counted[split.test]]
                assert not set(own[train]) & set(own[test])
        return real(problem, plan, request, data)

    real = _procedure.select
    with monkeypatch.context() as patch:
        patch.setattr(_procedure, "select", spy)
        question = Question(X, y, 2, options, is_classification)
        question.assess(3, n_random=0)
    for (_, test), trained in zip(splits, seen, strict=True):
        assert not trained & set(groups[test])
    found = assert_is_literal(question, 3, splits)
    assert found.folds == "GroupKFold(n_splits=3)"


def test_splitters_for_groups() -> None:
    X, y = labels()
    groups = np.arange(len(y)) % 7
    for cv in (LeaveOneGroupOut(), StratifiedGroupKFold(2)):
        splits = list(cv.split(X, y, groups))
        question = Question(X, y, 2, {"alpha": 1.0, "groups": groups}, is_classification=True)
        assert_is_literal(question, cv, splits)


# Data of all kinds -------------------------------------------------------------------------------


def test_data_frames_have_names() -> None:
    X, y = numbers()
    frame = pd.DataFrame(X, columns=list("pqrstu"))
    named = {"forced_features": ["r"], "excluded_features": ["p"], "alpha": ALPHAS}
    found = assert_is_literal(Question(frame, pd.Series(y), 3, named), 3, list(KFold(3).split(X)))
    assert found.feature_names_in == tuple("pqrstu")
    assert all(order[0] == 2 and 0 not in order for order in found.features)
    assert found.stability.feature_names_in == tuple("pqrstu")
    assert found.stability.names([2, 0]) == ["r", "p"]
    plain = cross_validate_path(X, y, 3, cv=3, alpha=1.0)
    assert plain.feature_names_in is None
    assert plain.stability.names([2, 0]) == ["x2", "x0"]


@pytest.mark.parametrize(("alpha", "loss"), [(ALPHAS, "squared"), (0.5, "absolute")])
def test_types_and_memory_order_change_nothing(alpha: Any, loss: str) -> None:
    X, y = numbers()
    X = np.rint(8.0 * X)
    options: dict[str, Any] = {"cv": 2, "alpha": alpha, "loss": loss, "n_random": 2}
    expected = cross_validate_path(X, y, 2, **options)
    for other in (np.asfortranarray(X), X.astype(np.float32), X.astype(np.int8), X.tolist()):
        found = cross_validate_path(other, y, 2, **options)
        assert_array_equal(np.array(found.features), np.array(expected.features))
        assert_allclose(found.test_losses, expected.test_losses, rtol=1e-9)
        assert_allclose(found.selection_losses, expected.selection_losses, rtol=1e-9)
        assert_allclose(found.random_losses, expected.random_losses, rtol=1e-9)


def test_labels_of_all_kinds_are_the_same_question() -> None:
    X, y = labels()
    coded = np.where(y == "cat", 1.0, -1.0)
    options: dict[str, Any] = {"cv": 3, "alpha": 1.0, "n_random": 1}
    expected = cross_validate_path(X, y, 3, **options)
    assert expected.measure == "zero_one"
    for other in (coded, y == "cat", y.tolist(), y.astype(object), pd.Series(y), coded.astype(int)):
        found = cross_validate_path(X, other, 3, **options)
        assert_array_equal(np.array(found.features), np.array(expected.features))
        assert_array_equal(found.test_losses, expected.test_losses)
        assert_array_equal(found.random_losses, expected.random_losses)
    as_numbers = cross_validate_path(X, coded, 3, task="regression", **options)
    assert as_numbers.measure == "squared"
    assert as_numbers.folds == "3-fold"


# Random features ---------------------------------------------------------------------------------


def test_random_features_are_those_of_the_seed() -> None:
    X, y = numbers(40, 12)
    options: dict[str, Any] = {"cv": 4, "alpha": 1.0}
    found = cross_validate_path(X, y, 3, n_random=4, **options)
    again = cross_validate_path(X, y, 3, n_random=4, **options)
    assert_array_equal(found.random_losses, again.random_losses)
    other = cross_validate_path(X, y, 3, n_random=4, random_state=1, **options)
    assert (found.random_losses != other.random_losses).any()
    assert_array_equal(found.test_losses, other.test_losses)
    free = cross_validate_path(X, y, 3, n_random=4, random_state=None, **options)
    assert (found.random_losses != free.random_losses).any()
    # More draws begin with the same ones, and folds have draws of their own.
    more = cross_validate_path(X, y, 3, n_random=6, **options)
    assert_allclose(more.random_losses[:, :4], found.random_losses, rtol=1e-9)
    mean, error = found.random
    assert_allclose(mean, found.shares @ found.random_losses.mean(axis=1), rtol=1e-12)
    assert (error > 0.0).all()


def test_what_is_drawn_at_random() -> None:
    X, y = numbers()
    problem = make_problem(X, y, forced_features=[4, 1], excluded_features=[0])
    orders = random_orders(problem, 4, 60, np.random.default_rng(0))
    assert len(orders) == 60
    for order in orders:
        assert order[:2].tolist() == [4, 1]
        assert len(set(order.tolist())) == len(order) == 4
        assert set(order[2:].tolist()) <= {2, 3, 5}
    for place in (2, 3):
        counts = np.bincount([order[place] for order in orders], minlength=6)[[2, 3, 5]]
        assert (counts > 8).all()
    assert random_orders(problem, 1, 1, np.random.default_rng(0))[0].tolist() == [4]
    assert random_orders(problem, 4, 0, np.random.default_rng(0)) == []


@pytest.mark.parametrize("n_features", [6, 3])
def test_overlapping_draws_are_the_same_models(n_features: int) -> None:
    """Many draws from few features share their products, few draws from many do not."""
    X, y = numbers(25, 6)
    splits = list(KFold(3).split(X))
    for n_random in (1, 8):
        question = Question(X, y, n_features, {"alpha": 2.0, "forced_features": [5]})
        assert_is_literal(question, 3, splits, n_random)


def test_without_random_features() -> None:
    X, y = numbers()
    found = cross_validate_path(X, y, 3, cv=3, alpha=1.0, n_random=0)
    assert found.random_losses.shape == (3, 0, 3)
    assert all(np.isnan(part).all() and part.shape == (3,) for part in found.random)
    assert found.warnings is not None
    assert found.to_frame()["random"].isna().all()


# The result --------------------------------------------------------------------------------------


def by_hand(losses: Any, shares: Any) -> tuple[Any, Any]:
    mean = np.average(losses, axis=0, weights=shares)
    K = len(shares)
    spread = shares[:, None] * (losses - mean)
    return mean, np.sqrt(np.sum(spread**2, axis=0) * K / (K - 1))


def test_means_and_errors_over_folds() -> None:
    X, y = numbers()
    weights = np.random.default_rng(0).random(22)
    found = cross_validate_path(
        *(X, y, "auto"), cv=IDS, alpha=1.0, sample_weight=weights, patience=2, n_random=2
    )
    k = int(found.chosen_sizes.max())
    for curve, losses in (
        (found.test, found.test_losses),
        (found.selection, found.selection_losses),
        (found.random, found.random_losses.mean(axis=1)),
        (found.optimism, found.test_losses - found.selection_losses),
    ):
        for one, other in zip(curve, by_hand(losses[:, :k], found.shares), strict=True):
            assert_allclose(one[:k], other, rtol=1e-9)
    assert found.initial_loss == pytest.approx(found.shares @ found.initial_losses)
    chosen = [
        row[size - 1] for row, size in zip(found.test_losses, found.chosen_sizes, strict=True)
    ]
    assert_array_equal(found.chosen_losses, chosen)
    mean, error = by_hand(np.array(chosen)[:, None], found.shares)
    assert found.estimate == pytest.approx((mean[0], error[0]))
    assert found.is_size_chosen
    assert len(set(found.chosen_sizes.tolist())) > 1
    selections = found.stability.selections
    assert [len(order) for order in selections] == found.chosen_sizes.tolist()
    for order, features in zip(selections, found.features, strict=True):
        assert_array_equal(order, features[: len(order)])
    assert_array_equal(found.sizes, np.arange(1, found.test_losses.shape[1] + 1))


def test_words_and_frame() -> None:
    X, y = labels()
    found = cross_validate_path(X, y, 3, cv=3, alpha=1.0)
    mean, error = found.estimate
    assert f"the error rate is {mean:.4g} ± {error:.2g} (3-fold, stratified)" in found.sentence
    assert "with 3 features, as asked" in found.sentence
    own, without = found.selection[0][2], found.initial_loss
    assert f"own estimate is {own:.4g}, and without features it is {without:.4g}" in found.sentence
    assert repr(found) == (
        f"<PathAssessment of 3 sizes in 3 folds: error rate {mean:.4g} ± {error:.2g}>"
    )
    assert found.criterion == "leave-one-out, squared loss"
    both = cross_validate_path(X, y, 1, cv=3, alpha=[1.0, 2.0], n_random=0)
    assert both.criterion == "leave-one-out, squared or zero_one loss"
    by_folds = cross_validate_path(X, y, 1, cv=3, alpha=1.0, inner_cv=4, loss="auc", n_random=0)
    assert by_folds.criterion == "4-fold, stratified, auc loss"
    assert "1 − AUC" in by_folds.sentence
    assert "with 1 feature, as asked" in by_folds.sentence
    frame = found.to_frame()
    assert frame.index.name == "n_features"
    assert frame.index.tolist() == [1, 2, 3]
    for name in ("test", "selection", "random", "optimism"):
        assert_array_equal(frame[name], getattr(found, name)[0])
        assert_array_equal(frame[f"{name}_error"], getattr(found, name)[1])
    assert_array_equal(frame["stability"], found.stability.index)
    chosen = cross_validate_path(*numbers(), "auto", cv=3, alpha=1.0, n_random=0)
    low, high = chosen.chosen_sizes.min(), chosen.chosen_sizes.max()
    assert f"with {low} to {high} features, chosen in each fold" in chosen.sentence


def test_results_are_pickled_and_copied_but_not_changed() -> None:
    X, y = numbers()
    found = cross_validate_path(X, y, 3, cv=3, alpha=1.0)
    for twin in (pickle.loads(pickle.dumps(found)), copy.copy(found), copy.deepcopy(found)):
        assert isinstance(twin, PathAssessment)
        assert twin.sentence == found.sentence
        assert twin.warnings == found.warnings
        assert_array_equal(twin.random_losses, found.random_losses)
        for name in ("test_losses", "selection_losses", "random_losses", "alphas", "chosen_sizes"):
            with pytest.raises(ValueError, match="read-only"):
                getattr(twin, name)[0] = 1
    with pytest.raises(AttributeError):
        found.measure = "absolute"  # type: ignore[misc]


def test_features_are_not_changed() -> None:
    X, y = numbers()
    found = cross_validate_path(X, y, 3, cv=3, alpha=1.0, n_random=0)
    with pytest.raises(ValueError, match="read-only"):
        found.features[0][0] = 5


def test_progress_is_shown_if_asked_for() -> None:
    X, y = numbers()
    quiet = cross_validate_path(X, y, 2, cv=3, alpha=1.0)
    told = cross_validate_path(X, y, 2, cv=3, alpha=1.0, verbose=1)
    assert_array_equal(told.test_losses, quiet.test_losses)
    permutation_null(X, y, 2, alpha=1.0, n_permutations=2, verbose=1)
    resample_path(X, y, 2, alpha=1.0, n_resamples=2, verbose=1)


def test_data_are_left_as_they_were() -> None:
    X, y = numbers()
    weights = np.ones(22)
    before = X.copy(), y.copy()
    for array in (X, y, weights):
        array.flags.writeable = False
    cross_validate_path(X, y, 3, cv=3, alpha=ALPHAS, sample_weight=weights)
    cross_validate_path(X, y, 3, cv=3, alpha=1.0, loss="absolute", inner_cv=3)
    assert_array_equal(X, before[0])
    assert_array_equal(y, before[1])


# Honest ------------------------------------------------------------------------------------------


def test_noise_is_told_from_signal() -> None:
    """Many more features than samples, none of any use."""
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((50, 600)), rng.standard_normal(50)
    found = cross_validate_path(X, y, 6, cv=5, alpha=100.0, n_random=3)
    test, own = found.test[0], found.selection[0]
    assert own[-1] < 0.7 * found.initial_loss
    assert (test > 0.9 * found.initial_loss).all()
    assert found.optimism[0][-1] > 2.0 * found.optimism[1][-1]
    mean, error = found.estimate
    assert abs(mean - found.initial_loss) < 3.0 * error
    assert mean == pytest.approx(found.initial_loss, rel=0.25)
    assert_allclose(found.random[0], found.initial_loss, rtol=0.15)
    (caution,) = [words for words in found.warnings if words.startswith("Overfitted selection")]
    assert f"is {own[-1]:.4g}, the test folds say {test[-1]:.4g}" in caution
    assert any("not clearly better" in words for words in found.warnings)


def test_signal_is_told_from_noise() -> None:
    rng = np.random.default_rng(7)
    X = rng.standard_normal((120, 8))
    y = X[:, :3] @ [3.0, 2.0, 1.0] + 0.5 * rng.standard_normal(120)
    found = cross_validate_path(X, y, 3, cv=5, alpha=1.0)
    assert {tuple(sorted(order)) for order in found.features} == {(0, 1, 2)}
    assert found.test[0][2] < 0.05 * found.initial_loss
    assert found.test[0][2] < 0.1 * found.random[0][2]
    assert found.stability.index[2] == pytest.approx(1.0)
    assert not any(
        words.startswith(("Overfitted", "On test folds", "The selections"))
        for words in found.warnings
    )


def test_searches_that_end_early_leave_gaps() -> None:
    """A penalty lost in rounding ends a search; the curves go as far as every fold does."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((15, 30)), rng.standard_normal(15)
    sizes = [4, 6, 5]  # a fold trains on so many rows
    rows = [np.arange(15)[:size] for size in sizes]
    splits = [(train, np.arange(10, 15)) for train in rows]
    found = cross_validate_path(X, y, 8, cv=splits, alpha=1e-13, n_random=2)
    reached = [len(order) for order in found.features]
    assert max(reached) == found.test_losses.shape[1] < 8
    assert min(reached) < max(reached)
    for number, count in enumerate(reached):
        for losses in (found.test_losses, found.selection_losses, found.random_losses):
            assert np.isfinite(losses[number, ..., :count]).all()
            assert np.isnan(losses[number, ..., count:]).all()
    assert_array_equal(np.isnan(found.test[0]), found.sizes > min(reached))
    assert_array_equal(found.chosen_sizes, reached)
    assert np.isfinite(found.estimate).all()


def test_an_interrupt_is_the_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of a selection is no selection: nothing is returned."""
    X, y = numbers()
    advance, calls = SampleSpace.advance, iter(range(100))

    def trapped(self: Any, *args: Any, **kwargs: Any) -> Any:
        if next(calls) == 4:
            raise KeyboardInterrupt
        return advance(self, *args, **kwargs)

    monkeypatch.setattr(SampleSpace, "advance", trapped)
    with pytest.raises(KeyboardInterrupt):
        cross_validate_path(X, y, 3, cv=3, alpha=1.0)


# Processes ---------------------------------------------------------------------------------------


def test_processes_change_nothing() -> None:
    X, y = numbers()
    for options in (
        {"alpha": ALPHAS, "n_random": 2},
        {"alpha": 1.0, "loss": huberish, "measure": largest, "n_random": 0},
    ):
        one = cross_validate_path(X, y, 3, cv=5, **options)
        two = cross_validate_path(X, y, 3, cv=5, n_jobs=2, **options)
        for name in ("test_losses", "selection_losses", "random_losses", "alphas", "chosen_sizes"):
            assert_allclose(getattr(two, name), getattr(one, name), rtol=1e-12)
        assert_array_equal(np.array(two.features), np.array(one.features))
    drawn = resample_path(X, y, 2, alpha=1.0, n_resamples=5)
    again = resample_path(X, y, 2, alpha=1.0, n_resamples=5, n_jobs=2)
    assert_array_equal(np.array(drawn.selections), np.array(again.selections))


def test_folds_share_their_gram_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """X is multiplied once for each feature of interest, not once for each fold."""
    X, y = two_classes(200, 30, signal=0.3)
    columns: list[int] = []
    products = SampleSpace.products

    def counted(self: Any, indices: Any, new_anchor: bool = False) -> Any:
        columns.extend(indices)
        return products(self, indices, new_anchor)

    monkeypatch.setattr(SampleSpace, "products", counted)
    cross_validate_path(X, y, 10, cv=10, alpha=1.0, n_random=0)
    assert len(columns) == len(set(columns)) <= 30


# Known to be wrong -------------------------------------------------------------------------------


def test_functions_of_the_same_name_are_different_losses() -> None:
    X, y = numbers()
    squares = lambda y_true, y_pred: float(np.mean((y_true - y_pred) ** 2))  # noqa: E731
    thousands = lambda y_true, y_pred: 1000.0 * squares(y_true, y_pred)  # noqa: E731
    found = cross_validate_path(X, y, 2, cv=3, alpha=1.0, loss=squares, measure=thousands)
    assert_allclose(
        found.selection[0],
        1000.0 * cross_validate_path(X, y, 2, cv=3, alpha=1.0, loss=squares).selection[0],
        rtol=1e-9,
    )


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"inner_cv": 3},
        {"loss": "absolute"},
    ],
)
def test_a_missing_value_is_named_by_its_row_in_x(options: dict[str, Any]) -> None:
    X, y = numbers()
    X[15, 2] = np.nan
    with pytest.raises(ValueError, match="row 15, column 2 is nan"):
        cross_validate_path(X, y, 2, cv=2, alpha=1.0, **options)
