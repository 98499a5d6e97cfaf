"""The selection from a prepared table: its folds, and that it is the library's own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

from greedyrls import GreedyRLSClassifier, GreedyRLSRegressor, SelectionPath
from greedyrls.assess import cross_validate_path, permutation_null, resample_path
from internals import (
    Column,
    Prepared,
    Question,
    assess,
    choose,
    feature_names,
    make_targets,
    model_curve,
    permute,
    provisional,
    resample,
)
from literal import loss_value, ridge_predict
from small_tables import numbers, plain_table, prepared_of, regression, signal, texts

SEED = 4


def classification(m: int = 48, classes: int = 2) -> dict[str, Column]:
    columns = plain_table(m)
    _, y = signal(m)
    edges = [0.0] if classes == 2 else [-2.0, 2.0]
    columns["y"] = texts(f"c{place}" for place in np.digitize(y, edges))
    return columns


# The selection.


def by_hand(prepared: Prepared, question: Question, **options: Any) -> SelectionPath:
    make = GreedyRLSRegressor if prepared.task == "regression" else GreedyRLSClassifier
    model = make(
        question.n_features,
        alpha=question.alpha,
        loss=question.loss,
        fit_intercept=question.fit_intercept,
        size_rule=question.size_rule,
        max_features=question.max_features,
        n_runners_up=3,
        **options,
    )
    model.fit(prepared.X, prepared.y, prepared.weights, prepared.groups)
    path: SelectionPath = model.path_
    return path


def assert_same_path(path: SelectionPath, other: SelectionPath) -> None:
    assert_array_equal(path.indices, other.indices)
    assert_array_equal(path.losses, other.losses)
    assert_array_equal(path.standard_errors, other.standard_errors)
    assert path.runners_up == other.runners_up
    assert path.chosen_size == other.chosen_size
    assert path.refit_alphas == other.refit_alphas
    assert path.settings.alpha == other.settings.alpha
    assert path.settings.cv == other.settings.cv
    assert path.settings.loss == other.settings.loss
    assert path.sentence == other.sentence


def shuffled(count: int, kind: Any = KFold) -> Any:
    return kind(count, shuffle=True, random_state=SEED)


@pytest.mark.parametrize(
    ("question", "options"),
    [
        (Question(3, 0.5), {}),
        (Question(seed=SEED), {"alpha_cv": shuffled(5)}),
        (Question("auto", [0.1, 10.0], seed=SEED, max_features=3), {"alpha_cv": shuffled(5)}),
        (Question(4, 0.5, folds=6, seed=SEED), {"cv": shuffled(6)}),
        (
            Question(3, "auto", folds=4, seed=SEED, size_rule="1se"),
            {"cv": shuffled(4), "alpha_cv": shuffled(5)},
        ),
        (Question("auto", 0.5, loss="absolute", fit_intercept=False), {}),
    ],
)
def test_a_regression_is_that_of_the_estimator(question: Question, options: Any) -> None:
    prepared = prepared_of(regression(), is_centred=question.fit_intercept)
    path = choose(prepared, question)
    assert_same_path(path, by_hand(prepared, question, **options))
    assert path.settings.feature_names_in == feature_names(prepared)
    assert path.names() == [prepared.features[index].name for index in path.indices]


@pytest.mark.parametrize(
    ("classes", "loss"),
    [
        *((2, loss) for loss in ("auto", "squared", "zero_one", "balanced_zero_one", "auc")),
        *((3, loss) for loss in ("auto", "squared", "zero_one", "balanced_zero_one")),
    ],
)
def test_a_classification_is_that_of_the_estimator(classes: int, loss: str) -> None:
    prepared = prepared_of(classification(classes=classes))
    question = Question(3, [0.1, 10.0], loss=loss, seed=SEED)
    hand = by_hand(prepared, question, alpha_cv=shuffled(5, StratifiedKFold))
    assert_same_path(choose(prepared, question), hand)


def test_weights_groups_and_forced_features_are_handed_on() -> None:
    columns = regression(
        w=numbers([1.0, 2.0, 0.5] * 16),
        site=texts(f"s{(row * 7) % 9}" for row in range(48)),
    )
    prepared = prepared_of(columns, weights="w", groups="site", forced=("x4",))
    question = Question(3, "auto", seed=SEED)
    # Nine groups: 5 folds leave 7 to train on.
    folds = {"cv": shuffled(7, GroupKFold), "alpha_cv": shuffled(5, GroupKFold)}
    hand = by_hand(prepared, question, forced_features=[4], **folds)
    path = choose(prepared, question)
    assert_same_path(path, hand)
    assert path.settings.weighted
    assert path.indices[0] == 4


def test_the_seed_shuffles_the_folds() -> None:
    prepared = prepared_of(regression())
    paths = [choose(prepared, Question(3, 0.5, folds=5, seed=seed)) for seed in (0, 0, 1)]
    assert paths[0].losses.tolist() == paths[1].losses.tolist()
    assert paths[0].losses.tolist() != paths[2].losses.tolist()


def test_a_provisional_question_has_a_middling_penalty() -> None:
    prepared = prepared_of(regression())
    given = Question(3, [5.0, 0.1, 700.0], folds=4, loss="absolute", seed=SEED)
    assert provisional(given, prepared) == replace(given, alpha=5.0)
    found = provisional(Question(), prepared).alpha
    assert isinstance(found, float)
    # In the scale of the data: rows times variance.
    assert 1e-4 * 48 < found < 10 * 48
    tiny = prepared_of(regression(), is_standardised=False)
    tiny.X[...] *= 1e-3
    assert_allclose(provisional(Question(), tiny).alpha, 1e-6 * found, rtol=0.7)


# Curves of the models.


def literal_curve(prepared: Prepared, path: SelectionPath, loss: str) -> tuple[Any, Any]:
    """Every model of the path refitted with each row left out, by scikit-learn."""
    Y = np.asarray(make_targets(prepared.y, prepared.task).values, dtype=np.float64)
    Y = Y[:, None] if Y.ndim == 1 else Y
    m = len(Y)
    weights = np.ones(m) if prepared.weights is None else prepared.weights
    rows = np.flatnonzero(weights)
    means, errors = [], []
    assert path.refit_alphas is not None
    for k, penalty in enumerate(path.refit_alphas, 1):
        Z = prepared.X[:, path.indices[:k]]
        held_out = np.full_like(Y, np.nan)
        for row in rows:
            kept = np.setdiff1d(np.arange(m), row)
            ridge = Ridge(penalty, fit_intercept=path.settings.fit_intercept, solver="cholesky")
            ridge.fit(Z[kept], Y[kept], sample_weight=weights[kept])
            held_out[row] = ridge.predict(Z[[row]])[0]
        if loss == "squared":
            own = np.square(Y - held_out).mean(axis=1)
        elif loss == "absolute":
            own = np.abs(Y - held_out).mean(axis=1)
        elif Y.shape[1] == 1:
            own = ((held_out[:, 0] > 0.0) != (Y[:, 0] > 0.0)).astype(float)
        else:
            own = (held_out.argmax(axis=1) != Y.argmax(axis=1)).astype(float)
        share = weights[rows] / weights[rows].sum()
        mean = share @ own[rows]
        spread = np.sum(np.square(share * (own[rows] - mean))) * len(rows) / (len(rows) - 1)
        means.append(mean)
        errors.append(np.sqrt(spread))
    return np.array(means), np.array(errors)


@pytest.mark.parametrize(
    ("task", "loss"),
    [
        ("regression", "squared"),
        ("regression", "absolute"),
        (2, "squared"),
        (3, "squared"),
        (2, "zero_one"),
        (3, "zero_one"),
    ],
)
@pytest.mark.parametrize("is_weighted", [False, True])
def test_model_curves_are_literal_refits(task: Any, loss: str, is_weighted: bool) -> None:
    columns = regression(25) if task == "regression" else classification(25, task)
    columns["w"] = numbers([1.0, 2.5, 0.5, 1.0, 0.0] * 5)
    roles: dict[str, Any] = {"weights": "w"} if is_weighted else {"dropped": ("w",)}
    prepared = prepared_of(columns, **roles)
    question = Question(3, [0.5, 50.0], loss=loss, seed=SEED)
    path = choose(prepared, question)
    assert path.refit_alphas is not None
    curve = model_curve(prepared, question, path)
    assert curve is not None
    means, errors = literal_curve(prepared, path, loss)
    assert_allclose(curve.mean, means, rtol=1e-8)
    assert_allclose(curve.error, errors, rtol=1e-8)


def test_model_curves_without_an_intercept() -> None:
    prepared = prepared_of(regression(25), is_centred=False)
    question = Question(3, [0.5, 50.0], fit_intercept=False, seed=SEED)
    path = choose(prepared, question)
    curve = model_curve(prepared, question, path)
    assert curve is not None
    means, errors = literal_curve(prepared, path, "squared")
    assert_allclose(curve.mean, means, rtol=1e-8)
    assert_allclose(curve.error, errors, rtol=1e-8)


def literal_fold_losses(
    prepared: Prepared, path: SelectionPath, loss: str, splits: Any
) -> tuple[Any, Any]:
    """Every model of the path refitted to the training rows of each fold, and what folds count."""
    Y = np.asarray(make_targets(prepared.y, prepared.task).values, dtype=np.float64)
    Y = Y[:, None] if Y.ndim == 1 else Y
    weights = np.ones(len(Y)) if prepared.weights is None else prepared.weights
    assert path.refit_alphas is not None
    losses = [
        [
            loss_value(
                loss,
                Y[test],
                ridge_predict(
                    prepared.X[np.ix_(train, path.features(k))],
                    Y[train],
                    weights[train],
                    prepared.X[np.ix_(test, path.features(k))],
                    penalty,
                    path.settings.fit_intercept,
                ),
                weights[test],
            )
            for k, penalty in enumerate(path.refit_alphas, 1)
        ]
        for train, test in splits
    ]
    shares = np.array([weights[test].sum() for _, test in splits])
    return np.array(losses), shares / shares.sum()


@pytest.mark.parametrize(
    ("task", "loss"),
    [("regression", "squared"), ("regression", "absolute"), (2, "auc"), (3, "zero_one")],
)
@pytest.mark.parametrize("is_grouped", [False, True])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_model_curves_of_folds_are_literal_refits(
    task: Any, loss: str, is_grouped: bool, is_weighted: bool
) -> None:
    """Held out by the folds that the search went by, with the models' own penalties."""
    columns = regression() if task == "regression" else classification(classes=task)
    columns["w"] = numbers([1.0, 2.5, 0.5, 1.0] * 12)
    columns["site"] = texts(f"s{(row * 7) % 12}" for row in range(48))
    columns["hue"] = texts(["red", "green", "blue"] * 16)
    roles: dict[str, Any] = {"weights": "w"} if is_weighted else {"dropped": ("w",)}
    roles |= {"groups": "site"} if is_grouped else {"ids": ("site",)}
    prepared = prepared_of(columns, **roles)
    question = Question(3, [0.5, 500.0], folds=3, loss=loss, seed=SEED, whole_columns=is_grouped)
    path = choose(prepared, question)
    curve = model_curve(prepared, question, path)
    assert curve is not None
    is_classes = prepared.task == "classification"
    kind: Any = StratifiedKFold if is_classes else KFold
    if is_grouped:
        kind = StratifiedGroupKFold if is_classes else GroupKFold
    splits = list(shuffled(3, kind).split(prepared.X, prepared.y, prepared.groups))
    losses, shares = literal_fold_losses(prepared, path, loss, splits)
    assert_allclose(curve.mean, shares @ losses, rtol=1e-8)
    spread = np.square(shares[:, None] * (losses - shares @ losses)).sum(axis=0) * 3 / 2
    assert_allclose(curve.error, np.sqrt(spread), rtol=1e-8)


@pytest.mark.parametrize("question", [Question(3, 0.5), Question(3, 0.5, folds=5, seed=SEED)])
def test_there_is_no_model_curve_where_the_search_has_it(question: Question) -> None:
    prepared = prepared_of(regression())
    path = choose(prepared, question)
    assert model_curve(prepared, question, path) is None


def test_a_penalty_lost_in_rounding_has_no_infinite_curve() -> None:
    """Equal columns and next to no penalty; what is written must be numbers."""
    columns = regression()
    columns["again"] = columns["x0"]
    prepared = prepared_of(columns)
    question = Question(3, [1e-14, 1e-13], seed=SEED)
    path = choose(prepared, question)
    curve = model_curve(prepared, question, path)
    assert curve is not None
    assert np.isfinite(curve.mean).all()
    question = replace(question, folds=4)
    curve = model_curve(prepared, question, choose(prepared, question))
    assert curve is None or np.isfinite(curve.mean).all()


# How good it is.


def assert_equal_values(found: Any, expected: Any, *names: str) -> None:
    for name in names:
        own, other = getattr(found, name), getattr(expected, name)
        if isinstance(own, tuple) and own and isinstance(own[0], np.ndarray):
            assert [one.tolist() for one in own] == [one.tolist() for one in other]
        elif isinstance(own, np.ndarray):
            assert_array_equal(own, other)
        else:
            assert own == other


ASSESSED = (
    *("measure", "test_losses", "selection_losses", "random_losses", "initial_losses"),
    *("features", "alphas", "chosen_sizes", "shares", "folds", "criterion", "n_asked", "forced"),
)


def test_an_assessment_is_that_of_the_library() -> None:
    prepared = prepared_of(regression(w=numbers([1.0, 2.0] * 24)), weights="w", forced=("x3",))
    question = Question("auto", [0.1, 10.0], seed=SEED, max_features=4, size_rule="1se")
    expected = cross_validate_path(
        prepared.X,
        prepared.y,
        "auto",
        cv=shuffled(6),
        alpha=[0.1, 10.0],
        alpha_cv=shuffled(5),
        sample_weight=prepared.weights,
        forced_features=[3],
        size_rule="1se",
        max_features=4,
        task="regression",
        random_state=SEED,
    )
    found = assess(prepared, question, 6)
    assert_equal_values(found, expected, *ASSESSED)
    assert found.feature_names_in == feature_names(prepared)


def test_an_assessment_of_classes_in_groups() -> None:
    columns = classification(60, 3)
    columns["site"] = texts(f"s{(row * 7) % 12}" for row in range(60))
    prepared = prepared_of(columns, groups="site")
    question = Question(3, 1.0, folds=4, seed=SEED, loss="squared")
    expected = cross_validate_path(
        prepared.X,
        prepared.y,
        3,
        cv=shuffled(5, StratifiedGroupKFold),
        alpha=1.0,
        inner_cv=shuffled(4, StratifiedGroupKFold),
        groups=prepared.groups,
        loss="squared",
        task="classification",
        random_state=SEED,
    )
    assert_equal_values(assess(prepared, question, 5), expected, *ASSESSED)


def test_a_maximum_is_for_a_chosen_size_only() -> None:
    prepared = prepared_of(regression())
    question = Question(3, 1.0, max_features=4, seed=SEED)
    assert choose(prepared, question).chosen_size == 3
    assert assess(prepared, question, 3).n_asked == 3


@pytest.mark.parametrize("alpha", [0.3, "auto"])
def test_resamples_are_those_of_the_library(alpha: Any) -> None:
    prepared = prepared_of(classification(60))
    question = Question(3, alpha, folds=4, loss="auto", seed=SEED)
    path = choose(prepared, question)
    expected = resample_path(
        prepared.X,
        prepared.y,
        3,
        n_resamples=5,
        alpha=path.settings.alpha,
        inner_cv=shuffled(4, StratifiedKFold),
        loss=path.settings.loss,
        task="classification",
        random_state=SEED,
    )
    found = resample(prepared, question, path, 5)
    assert_equal_values(found, expected, "selections", "source", "n_features_in", "forced")
    assert found.feature_names_in == feature_names(prepared)
    assert {len(order) for order in found.selections} == {path.chosen_size}


def test_resamples_of_few_groups_need_no_folds_for_the_penalty() -> None:
    """Half of four groups are two: two folds of them, but not two folds in two folds."""
    columns = regression(60, site=numbers(row % 4 for row in range(60)))
    prepared = prepared_of(columns, groups="site")
    question = Question(2, "auto", seed=SEED)
    path = choose(prepared, question)
    assert len(resample(prepared, question, path, 3).selections) == 3


def test_permutations_are_those_of_the_library() -> None:
    prepared = prepared_of(regression(w=numbers([1.0, 2.0] * 24)), weights="w")
    question = Question("auto", "auto", folds=4, loss="absolute", seed=SEED)
    path = choose(prepared, question)
    expected = permutation_null(
        prepared.X,
        prepared.y,
        path.chosen_size,
        n_permutations=4,
        alpha=path.settings.alpha,
        inner_cv=shuffled(4),
        loss="absolute",
        task="regression",
        sample_weight=prepared.weights,
        random_state=SEED,
    )
    found = permute(prepared, question, path, 4)
    names = ("measure", "losses", "null_losses", "chosen_loss", "null_chosen_losses")
    assert_equal_values(found, expected, *names, "initial_loss")
    assert len(found.losses) == path.chosen_size


def test_permutations_go_by_the_loss_of_the_path() -> None:
    """ "auto" may have chosen another loss; its permutations must be made by that one."""
    prepared = prepared_of(classification(60))
    question = Question(2, 1.0, loss="zero_one", seed=SEED)
    path = choose(prepared, question)
    null = permute(prepared, question, path, 3)
    assert null.measure == "zero_one"
    assert_allclose(null.losses, path.losses, rtol=1e-12)
