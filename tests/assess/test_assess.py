"""`cross_validate_path` against a selection on the training rows alone, fold by fold."""

from __future__ import annotations

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
    TimeSeriesSplit,
)

from assess_checks import ALPHAS, assert_is_literal, labels, numbers
from assess_twin import Question
from greedyrls.assess import (
    cross_validate_path,
)
from internals import make_problem, random_orders
from literal import huberish, largest
from shuffled import shuffled_splits
from sweeps import EXAMPLES
from traps import trapped
from tuning import Tune

IDS = np.array([0, 1, 2, 1, 0, -1, 2, 0, 1, 2, -1] * 2)
SHUFFLED = KFold(3, shuffle=True, random_state=4)


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
    "balanced classes": (2, 3, {"alpha": 0.5, "class_weight": "balanced"}),
    "balanced classes and grid": (2, 2, {"alpha": ALPHAS, "class_weight": "balanced"}),
    "weighted classes": (2, 2, {"alpha": ALPHAS, "class_weight": {"ant": 3}, "measure": "squared"}),
    "three balanced classes": (3, 2, {"alpha": 0.5, "class_weight": "balanced", "inner_cv": 3}),
    "three classes, balanced": (3, 2, {"alpha": 0.5, "measure": "balanced_zero_one"}),
}


@pytest.mark.parametrize("name", LABELS)
def test_classes_as_text(name: str) -> None:
    classes, n_features, options = LABELS[name]
    X, y = labels(classes=classes)
    if list(LABELS).index(name) % 2:
        options = options | {"sample_weight": np.random.default_rng(3).integers(1, 4, len(y))}
    splits = shuffled_splits(len(y), 3, labels=y)
    question = Question(X, y, n_features, options, is_classification=True)
    found = assert_is_literal(question, 3, splits)
    assert found.folds == "3-fold, stratified, shuffled with seed 0"


@pytest.mark.parametrize(
    ("classes", "seed", "options"),
    [(2, 7, {}), (3, 13, {}), (2, 18, {"inner_cv": 3, "refit_alpha": "same"})],
)
def test_the_loss_is_chosen_in_each_fold(
    classes: int, seed: int, options: dict[str, Any], tune: Tune
) -> None:
    """Where the penalty is chosen, too, a classification may go by wrong classes."""
    tune(loss_choice_samples=0)  # so few samples would never change it
    X, y = labels(30, classes=classes, seed=seed)
    question = Question(X, y, 2, options | {"alpha": ALPHAS}, is_classification=True)
    splits = shuffled_splits(len(y), 3, labels=y)
    assert_is_literal(question, 3, splits)
    chosen = {question.select(train).settings.loss for train, _ in splits}
    assert options or chosen == {"squared", "zero_one"}


@pytest.mark.parametrize(("loss", "alpha"), [("auto", ALPHAS), ("absolute", 0.5), (largest, 0.5)])
def test_several_targets(loss: Any, alpha: Any) -> None:
    X, y = numbers(targets=(3,))
    options = {"alpha": alpha, "loss": loss}
    assert_is_literal(Question(X, y, 3, options), 3, shuffled_splits(len(X), 3))


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
    for number, (train, test) in enumerate(shuffled_splits(len(X), 3)):
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

HALF = np.arange(22) < 11
OUTER: dict[str, tuple[Any, Any, str]] = {
    "a number": (4, shuffled_splits(22, 4), "4-fold, shuffled with seed 0"),
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
    "splitter": (SHUFFLED, list(SHUFFLED.split(IDS)), "3-fold, shuffled with seed "),
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
    assert found.estimate[1] > 0.0  # a single fold has one, too: that of its samples
    assert np.isnan(found.optimism.error).all() == (len(splits) == 1)
    assert "nan" not in found.sentence


def test_folds_are_of_the_rows_with_a_weight() -> None:
    X, y = numbers()
    weights = np.where(np.arange(22) % 3 == 1, 0.0, 1.0)
    used = np.flatnonzero(weights)
    splits = [(used[train], used[test]) for train, test in shuffled_splits(len(used), 3)]
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
def test_groups_stay_together(name: str) -> None:
    is_classification = name == "grid of two classes"
    X, y = labels() if is_classification else numbers()
    groups = np.array(list("abcdefgh"))[np.random.default_rng(2).permutation(len(y)) % 8]
    options = GROUPED[name] | {"groups": groups}
    if list(GROUPED).index(name) % 2:
        options["sample_weight"] = np.random.default_rng(3).integers(1, 4, len(y)) * 1.0
    splits = list(GroupKFold(3).split(X, y, groups))
    seen: list[set[str]] = []

    def spy(select: Any, request: Any, data: Any = None) -> Any:
        problem, plan = request.problem, request.plan
        rows = [np.flatnonzero((row == X).all(axis=1))[0] for row in problem.X.part(slice(None))]
        own = groups[rows]
        counted = problem.has_weight
        seen.append(set(own[counted]))
        for folds in (plan.folds, request.outer):
            # Rows of the criterion are those of the selection, where it has folds.
            for split in () if folds is None else folds.splits:
                train, test = split.train[counted[split.train]], split.test[counted[split.test]]
                assert not set(own[train]) & set(own[test])
        return select(request, data)

    with trapped() as traps:
        traps.around("select in a fold", spy)
        question = Question(X, y, 2, options, is_classification)
        question.assess(3, n_random=0)
    for (_, test), trained in zip(splits, seen, strict=True):
        assert not trained & set(groups[test])
    found = assert_is_literal(question, 3, splits)
    assert found.folds == "3-fold by groups"


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
    found = assert_is_literal(
        Question(frame, pd.Series(y), 3, named), 3, shuffled_splits(len(X), 3)
    )
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
    assert as_numbers.folds == "3-fold, shuffled with seed 0"


# Random features ---------------------------------------------------------------------------------


def test_random_features_are_those_of_the_seed() -> None:
    X, y = numbers(40, 12)
    options: dict[str, Any] = {"cv": KFold(4), "alpha": 1.0}
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
    splits = shuffled_splits(len(X), 3)
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
