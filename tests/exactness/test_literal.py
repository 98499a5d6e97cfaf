"""The literal twin against scikit-learn, the reference wrapper and examples by hand."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose
from sklearn import metrics
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, LeaveOneOut

from greedyrls import reference
from literal import (
    best_penalty,
    criterion,
    held_out_predictions,
    literal_path,
    loss_value,
    nested_surface,
    restricted,
    ridge_predict,
)
from problems import Case, cases, named_problems, two_classes

X_BY_HAND = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.0, 0.0]])
Y_BY_HAND = np.array([0.0, 2.0, 2.0, 0.0])


def mean_absolute_error(y_true: np.ndarray, y_pred: np.ndarray) -> float:
    assert y_true.ndim == y_pred.ndim == 1
    return float(np.mean(np.abs(y_true - y_pred)))


@settings(max_examples=100)
@given(case=cases())
def test_predictions_are_those_of_ridge(case: Case) -> None:
    X, y, alpha = case.X, case.y, max(case.options["alpha"], 1e-3)
    fit_intercept, weights = case.options["fit_intercept"], case.options.get("sample_weight")
    model = Ridge(alpha=alpha, fit_intercept=fit_intercept).fit(X, y, weights)
    ours = ridge_predict(X, y, weights, X[::-1], alpha, fit_intercept)
    assert ours.shape == (len(X), 1 if y.ndim == 1 else y.shape[1])
    size = 1.0 + np.abs(y).max()
    assert_allclose(ours, model.predict(X[::-1]).reshape(ours.shape), rtol=1e-7, atol=1e-7 * size)


@pytest.mark.parametrize("name", named_problems())
def test_the_gradient_vanishes_at_the_fit(name: str) -> None:
    """X'W(y − f) = alpha·w, read off the predictions of the mean row plus unit vectors."""
    X, y = named_problems()[name]
    X = X[:, :12]
    mean = X.mean(axis=0)
    alpha, w = 1e-3, np.linspace(0.5, 2.0, len(X))
    ends = ridge_predict(X, y, w, np.vstack([mean, mean + np.eye(12), X]), alpha, True)[:, 0]
    coef, residual = ends[1:13] - ends[0], y - ends[13:]
    assert abs(w @ residual) <= 1e-9 * (w @ np.abs(y))
    columns = X - mean
    size = w @ np.abs(columns) * np.abs(y).max() + alpha
    assert np.all(np.abs(columns.T @ (w * residual) - alpha * coef) <= 1e-9 * size)


def test_a_model_without_columns_is_the_weighted_mean() -> None:
    y, w = np.array([1.0, 2.0, 6.0]), np.array([1.0, 0.0, 3.0])
    empty = np.empty((3, 0))
    assert_allclose(ridge_predict(empty, y, w, empty[:2], 1.0, True), [[4.75], [4.75]])
    assert_allclose(ridge_predict(empty, y, w, empty[:2], 1.0, False), [[0.0], [0.0]])


def test_regression_losses_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    Y, P, w = rng.standard_normal((9, 2)), rng.standard_normal((9, 2)), rng.random(9)
    for weights in (None, w):
        squared = metrics.mean_squared_error(Y, P, sample_weight=weights)
        absolute = metrics.mean_absolute_error(Y, P, sample_weight=weights)
        assert loss_value("squared", Y, P, weights) == pytest.approx(squared, rel=1e-12)
        assert loss_value("absolute", Y, P, weights) == pytest.approx(absolute, rel=1e-12)
    w[3] = 0.0
    kept = w > 0
    assert loss_value(metrics.mean_absolute_error, Y, P, w) == pytest.approx(
        metrics.mean_absolute_error(Y[kept], P[kept]), rel=1e-12
    )
    assert loss_value(mean_absolute_error, Y[:, :1], P[:, :1], None) == pytest.approx(
        loss_value("absolute", Y[:, 0], P[:, 0], None), rel=1e-12
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("targets", [1, 3])
def test_classification_losses_are_those_of_scikit_learn(targets: int, weighted: bool) -> None:
    rng = np.random.default_rng(1)
    classes = rng.permutation(np.arange(24) % max(2, targets))
    classes[:5] = 1  # unlike sizes
    Y = np.where(classes[:, None] == np.arange(targets), 1.0, -1.0)
    P = np.round(0.3 * Y + rng.standard_normal(Y.shape), 1) + 0.03 * np.arange(1, targets + 1)
    w = rng.integers(1, 4, 24) + rng.random(24) if weighted else None
    predicted = (P[:, 0] <= 0).astype(int) if targets == 1 else P.argmax(axis=1)
    wrong = metrics.zero_one_loss(classes, predicted, sample_weight=w)
    balanced = 1.0 - metrics.balanced_accuracy_score(classes, predicted, sample_weight=w)
    assert loss_value("zero_one", Y, P, w) == pytest.approx(wrong, rel=1e-12)
    assert loss_value("balanced_zero_one", Y, P, w) == pytest.approx(balanced, rel=1e-12)
    assert wrong != pytest.approx(balanced)
    if targets == 1:
        assert len(np.unique(P)) < len(P)  # ties
        area = metrics.roc_auc_score(Y[:, 0], P[:, 0], sample_weight=w)
        assert loss_value("auc", Y, P, w) == pytest.approx(1.0 - area, rel=1e-12)


def test_losses_by_hand() -> None:
    y, p, w = [1, 1, -1, -1], [0.5, 1e-11, -2.0, 0.5], [1.0, 2.0, 3.0, 0.0]
    assert loss_value("zero_one", y, p, None) == 0.5  # 1e-11 is no decision
    assert loss_value("zero_one", y, p, w) == pytest.approx(2 / 6)
    assert loss_value("balanced_zero_one", y, p, w) == pytest.approx(0.5 * (2 / 3 + 0))
    assert loss_value("auc", y, p, None) == (0.5 + 1) / 4  # one tie and one pair in wrong order
    codes = [[1, -1, -1], [-1, 1, -1], [-1, -1, 1]]
    predicted = [[0.2, 0.1, 0.0], [0.3, 0.3, 0.0], [-0.1, -0.9, -0.2]]
    assert loss_value("zero_one", codes, predicted, None) == pytest.approx(2 / 3)
    assert loss_value("balanced_zero_one", codes, predicted, [2, 1, 0]) == 0.5


def test_losses_that_are_not_defined_are_refused() -> None:
    with pytest.raises(ValueError, match="both classes"):
        loss_value("auc", [1, 1], [0.1, 0.2], None)
    with pytest.raises(ValueError, match="both classes"):
        loss_value("auc", [1, -1], [0.1, 0.2], [1.0, 0.0])
    with pytest.raises(ValueError, match="labels"):
        loss_value("zero_one", [1, 0], [0.1, 0.2], None)
    with pytest.raises(ValueError, match="unknown loss"):
        loss_value("hinge", [1, -1], [0.1, 0.2], None)


def test_the_path_by_hand() -> None:
    path = literal_path(X_BY_HAND, Y_BY_HAND, 2, fit_intercept=False)
    assert path.indices.tolist() == [1, 0]
    assert path.initial_loss == pytest.approx(2.0)
    # Feature 1 predicts 1 for the two rows of 2; feature 0 predicts 1, 0, 0, 0.
    assert path.candidate_losses[0] == pytest.approx({0: (1 + 4 + 4) / 4, 1: (1 + 1) / 4})
    # Both predict 2/5, 1, 4/5, 0.
    assert path.candidate_losses[1] == pytest.approx({0: (0.16 + 1 + 1.44) / 4})
    assert_allclose(path.losses, [0.5, 0.65])


def test_the_intercept_by_hand() -> None:
    """Weights 1, 1, 2 and no columns: the others' means are 4, 8/3 and 0.5."""
    loss = criterion(
        *(np.empty((3, 0)), [0.0, 1.0, 4.0], "loo", []),
        loss="absolute",
        alpha=1.0,
        fit_intercept=True,
        weights=[1.0, 1.0, 2.0],
    )
    assert loss == pytest.approx(((4 * 2 + 1) / 3 + (8 / 3 - 1) + 2 * (4 - 0.5)) / 4)


def test_splits_count_by_the_weight_of_their_test_rows() -> None:
    splits = [([0, 1, 2], [3]), ([3], [0, 1, 2]), ([0, 3], [2])]
    w = np.array([1.0, 3.0, 0.0, 2.0])
    predictions = held_out_predictions(X_BY_HAND, Y_BY_HAND, splits, [1], 1.0, False, w)
    # Row 3 says nothing; of the rows 0, 1 and 2 only row 1, with weight 3, has a say.
    assert [P.ravel().tolist() for P in predictions[1:]] == [[0, 0, 0], [0]]
    assert_allclose(predictions[0], [[0.0]])
    options: dict[str, Any] = {"alpha": 1.0, "fit_intercept": False, "weights": w}
    loss = criterion(X_BY_HAND, Y_BY_HAND, splits, [1], loss="squared", **options)
    assert loss == pytest.approx((2 * 0 + 4 * (3 * 4 / 4)) / (2 + 4))  # the third has no weight
    median = criterion(
        X_BY_HAND, Y_BY_HAND, splits, [1], loss=metrics.median_absolute_error, **options
    )
    assert median == pytest.approx((2 * 0 + 4 * 1) / (2 + 4))  # of |0| and |2|, without weights


@settings(max_examples=30)
@given(case=cases(max_samples=10, max_features=6))
def test_leave_one_out_paths_are_those_of_the_wrapper(case: Case) -> None:
    k = min(case.n_features, 3)
    options = case.options | {"alpha": max(case.options["alpha"], 1e-2)}
    losses = ["squared"]
    if case.y.ndim == 1 and np.all(np.abs(case.y) == 1):
        losses.append("zero_one")
    for loss in losses:
        path = literal_path(case.X, case.y, k, loss=loss, **options)
        other = reference.wrapper(case.X, case.y, k, loss=loss, **options)
        for step in range(k):
            tolerance = {"rel": 1e-7, "abs": 1e-12 * path.initial_loss}
            assert path.losses[step] == pytest.approx(other.losses[step], **tolerance)
            if path.indices[step] != other.indices[step]:
                break  # a near-tie


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", ["squared", "zero_one", "absolute"])
def test_a_leave_one_out_path_step_by_step(loss: str, weighted: bool, fit_intercept: bool) -> None:
    X, y = two_classes(16, 6, seed=3, signal=0.7)
    w = np.arange(16.0) % 4 if weighted else None
    options: dict[str, Any] = {"alpha": 0.7, "fit_intercept": fit_intercept, "sample_weight": w}
    path = literal_path(X, y, 4, loss=loss, **options)
    theirs: Any = loss
    if loss == "absolute":
        kept = np.ones(16, dtype=bool) if w is None else w > 0
        theirs = partial(metrics.mean_absolute_error, sample_weight=None if w is None else w[kept])
    other = reference.wrapper(X, y, 4, loss=theirs, **options)
    assert path.indices.tolist() == other.indices.tolist()
    assert_allclose(path.losses, other.losses, rtol=1e-11)
    assert [len(losses) for losses in path.candidate_losses] == [6, 5, 4, 3]
    if loss != "zero_one":  # losses of rows add up: splits of one row are leave-one-out
        each = literal_path(X, y, 4, cv=list(LeaveOneOut().split(X)), loss=loss, **options)
        assert each.indices.tolist() == path.indices.tolist()
        assert_allclose(each.losses, path.losses, rtol=1e-12)


def test_ties_go_to_the_lowest_index() -> None:
    X, y = two_classes(12, 3, seed=5)
    X = np.hstack([X, X[:, ::-1]])
    path = literal_path(X, y, 6)
    assert path.indices[0] < 3
    duplicates = path.candidate_losses[0]
    assert duplicates[0] == pytest.approx(duplicates[5], rel=1e-12)
    labels = np.array([1.0, -1.0] * 6)
    perfect = np.outer(labels, [1.0, 2.0, 3.0])
    assert literal_path(perfect, labels, 3, loss="zero_one").indices.tolist() == [0, 1, 2]


def test_forced_and_excluded_features() -> None:
    X, y = two_classes(14, 6, seed=7)
    path = literal_path(X, y, 4, forced_features=[5, 2], excluded_features=[0])
    assert path.indices[:2].tolist() == [5, 2]
    assert [sorted(losses) for losses in path.candidate_losses[:3]] == [[5], [2], [1, 3, 4]]
    options: dict[str, Any] = {"alpha": 1.0, "fit_intercept": True, "weights": None}
    expected = criterion(X, y, "loo", [5, 2], loss="squared", **options)
    assert path.losses[1] == pytest.approx(expected)
    with pytest.raises(ValueError, match="n_features"):
        literal_path(X, y, 6, excluded_features=[0])
    with pytest.raises(ValueError, match="n_features"):
        literal_path(X, y, 1, forced_features=[5, 2])


def test_restricted_splits_are_renumbered() -> None:
    rows = np.array([1, 3, 4])
    splits = [([0, 1, 2], [3, 4, 5]), ([3, 4, 5], [0, 1, 2]), ([1, 3], [0, 2]), ([0], [1, 3])]
    found = [(a.tolist(), b.tolist()) for a, b in restricted(splits, rows)]
    assert found == [([0], [1, 2]), ([1, 2], [0])]


@pytest.mark.parametrize("weighted", [False, True])
def test_the_nested_surface_is_that_of_scikit_learn(weighted: bool) -> None:
    X, y = two_classes(18, 5, seed=11, signal=0.6)
    w = np.arange(18.0) % 5 if weighted else np.ones(18)
    outer = list(KFold(3, shuffle=True, random_state=0).split(X))
    inner = list(KFold(4, shuffle=True, random_state=1).split(X))
    alphas, k = [0.1, 10.0], 3
    for cv in ("loo", inner):
        for refit in ("same", 2.0):
            surface = nested_surface(X, y, outer, alphas, k, cv=cv, sample_weight=w, refit=refit)
            assert surface["losses"].shape == (2, 3)
            assert surface["fold_losses"].shape == (3, 2, 3)
            for fold, (train, test) in enumerate(outer):
                own = "loo"
                if cv != "loo":  # the same splits, with the rows of other folds taken out
                    masks = [(np.isin(train, a), np.isin(train, b)) for a, b in inner]
                    own = [(np.flatnonzero(a), np.flatnonzero(b)) for a, b in masks]
                for a, alpha in enumerate(alphas):
                    path = literal_path(
                        X[train], y[train], k, cv=own, alpha=alpha, sample_weight=w[train]
                    )
                    penalty = alpha if refit == "same" else refit
                    for size in range(1, k + 1):
                        chosen = path.indices[:size]
                        model = Ridge(alpha=penalty).fit(X[train][:, chosen], y[train], w[train])
                        loss = metrics.mean_squared_error(
                            y[test], model.predict(X[test][:, chosen]), sample_weight=w[test]
                        )
                        found = surface["fold_losses"][fold, a, size - 1]
                        assert found == pytest.approx(loss, rel=1e-9)
            totals = [w[test].sum() for _, test in outer]
            mean = np.tensordot(totals, surface["fold_losses"], axes=1) / np.sum(totals)
            assert_allclose(surface["losses"], mean, rtol=1e-12)


def test_the_penalty_of_the_refit_is_chosen_on_the_training_rows() -> None:
    X, y = two_classes(15, 4, seed=13, signal=0.8)
    outer = list(KFold(3).split(X))
    penalties = [0.01, 1.0, 100.0]
    surface = nested_surface(X, y, outer, [1.0], 2, refit=penalties)
    for fold, (train, _) in enumerate(outer):
        for size in (1, 2):
            chosen = surface["indices"][fold, 0, :size]
            losses = {}
            for alpha in penalties:
                held_out = reference.loo_brute_force(
                    X[train][:, chosen], y[train], alpha, fit_intercept=True
                )
                losses[alpha] = np.mean((held_out - y[train]) ** 2)
            assert surface["refit_alphas"][fold, 0, size - 1] == min(losses, key=losses.__getitem__)
    labels = np.array([1.0, -1.0] * 5)
    options: dict[str, Any] = {"loss": "zero_one", "fit_intercept": False, "weights": None}
    # All are without error: the largest penalty.
    assert best_penalty(labels[:, None], labels, [0], [1.0, 3.0, 2.0], **options) == 3.0
    # One to choose from is a number given.
    one = nested_surface(X, y, outer, [1.0], 2, refit=[5.0])
    number = nested_surface(X, y, outer, [1.0], 2, refit=5.0)
    assert_allclose(one["fold_losses"], number["fold_losses"], rtol=1e-15)


def test_a_fold_without_weight_does_not_count() -> None:
    X, y = two_classes(12, 3, seed=17)
    outer = list(KFold(3).split(X))
    w = np.ones(12)
    w[outer[1][1]] = 0.0
    surface = nested_surface(X, y, outer, [1.0], 2, sample_weight=w)
    assert np.isnan(surface["fold_losses"][1]).all()
    assert_allclose(surface["losses"], surface["fold_losses"][[0, 2]].mean(axis=0))


def test_rows_of_no_weight_are_absent() -> None:
    X, y = two_classes(14, 4, seed=19, signal=0.5)
    w = np.where(np.arange(14) % 4 == 0, 0.0, 1.5)
    kept = np.flatnonzero(w)
    splits = list(KFold(3, shuffle=True, random_state=2).split(X))
    for loss in ("squared", "balanced_zero_one", "auc", mean_absolute_error):
        for cv in ("loo", splits):
            path = literal_path(X, y, 2, cv=cv, loss=loss, sample_weight=w)
            own = "loo" if cv == "loo" else restricted(splits, kept)
            bare = literal_path(X[kept], y[kept], 2, cv=own, loss=loss, sample_weight=w[kept])
            assert path.indices.tolist() == bare.indices.tolist()
            assert_allclose(path.losses, bare.losses, rtol=1e-12)
