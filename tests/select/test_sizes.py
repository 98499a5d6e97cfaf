"""The number of features: rules against literal computations, early stops, sentences."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import KFold, ShuffleSplit

from greedyrls import GreedyRLSClassifier, GreedyRLSRegressor, StopReason, extend_path, greedy_path
from internals import (
    LooCurve,
    LooData,
    choose_size,
    chosen_of,
    difference_errors,
    fold_covariance,
    make_plan,
    make_problem,
)
from literal import held_out_predictions
from problems import Case, fold_cases
from shuffled import shuffled_splits
from sweeps import EXAMPLES
from tuning import tuned

FOLDS = KFold(5, shuffle=True, random_state=3)


def numbers(m: int = 60, n: int = 14, seed: int = 0, targets: tuple[int, ...] = ()) -> Any:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    y = X[:, :4] @ rng.uniform(0.2, 1.0, (4, *targets)) + rng.standard_normal((m, *targets))
    return X, y


def labels(m: int = 60, n: int = 14, seed: int = 0) -> Any:
    X, y = numbers(m, n, seed)
    return X, np.where(y > 0, 1.0, -1.0)


def loo_predictions(X: Any, y: Any, columns: list[int], alpha: float, weights: Any) -> Any:
    """(m × t); NaN for rows of weight 0."""
    rows = np.flatnonzero(weights)
    splits = [(np.delete(np.arange(len(X)), row), [row]) for row in rows]
    Y = y.reshape(len(X), -1)
    result = np.full(Y.shape, np.nan)
    result[rows] = np.vstack(held_out_predictions(X, Y, splits, columns, alpha, True, weights))
    return result


def sample_losses(loss: str, y: Any, P: Any) -> Any:
    Y = y.reshape(P.shape)
    if loss == "zero_one":
        return (~(Y * P > 1e-10)).mean(axis=1)
    return (np.abs(Y - P) if loss == "absolute" else (Y - P) ** 2).mean(axis=1)


def literal_size(losses: Any, errors_of_difference: Any, least: int, rule: str) -> int:
    """By the definition: the first within one standard error of the difference from the best."""
    sizes = range(max(1, least), len(losses) + 1)
    best = min(sizes, key=lambda k: (losses[k - 1], k))
    if rule == "min":
        return best
    limit = losses[best - 1]

    def is_within(k: int) -> bool:
        # One sample more that is wrong is exactly one standard error: rounding does not decide.
        return bool(losses[k - 1] - limit <= errors_of_difference(k - 1, best - 1) * (1 + 1e-9))

    return next(k for k in sizes if is_within(k))


# Rules -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", ["squared", "absolute", "zero_one"])
@pytest.mark.parametrize("seed", range(3))
def test_one_standard_error_of_leave_one_out(seed: int, loss: str, weighted: bool) -> None:
    X, y = labels(seed=seed) if loss == "zero_one" else numbers(seed=seed)
    weights = np.ones(len(y))
    if weighted:
        weights = np.random.default_rng(seed).choice([0.0, 1.0, 2.0], len(y))
    given = weights if weighted else None
    full = greedy_path(X, y, 14, loss=loss, alpha=0.1, sample_weight=given)
    used = weights > 0
    e = weights[used] / weights.sum()
    rows = np.array(
        [
            sample_losses(loss, y, loo_predictions(X, y, full.indices[:k].tolist(), 0.1, weights))
            for k in range(1, 15)
        ]
    )[:, used]
    losses = rows @ e
    assert_allclose(full.losses, losses, rtol=1e-9)
    n = used.sum()

    def error(k: int, best: int) -> float:
        difference = rows[k] - rows[best]
        return float(np.sqrt(np.sum((e * (difference - difference @ e)) ** 2) * n / (n - 1)))

    for k, step in enumerate(full.steps):
        spread = e * (rows[k] - losses[k])
        expected = np.sqrt(np.sum(spread**2) * n / (n - 1))
        assert step.standard_error == pytest.approx(expected, rel=1e-7)
    spread = e * (rows - losses[:, None])
    covariance = spread @ spread.T * n / (n - 1)
    for rule in ("min", "1se"):
        choice = choose_size(rule, full.losses, covariance, 0, "loss", "")
        assert choice.size == literal_size(full.losses, error, 0, rule)
        assert choice.rule == rule


@pytest.mark.parametrize("loss", ["squared", "absolute", "zero_one", "auc"])
@pytest.mark.parametrize("cv", [FOLDS, ShuffleSplit(6, test_size=0.4, random_state=0)])
@pytest.mark.parametrize("seed", range(2))
def test_one_standard_error_of_folds(seed: int, cv: Any, loss: str) -> None:
    X, y = labels(seed=seed) if loss in ("zero_one", "auc") else numbers(seed=seed)
    weights = np.random.default_rng(seed).uniform(0.5, 2.0, len(y))
    options: dict[str, Any] = {"loss": loss, "alpha": 0.1, "cv": cv, "sample_weight": weights}
    full = greedy_path(X, y, 14, **options)
    shares = np.array([weights[test].sum() for _, test in cv.split(X)])
    shares /= shares.sum()
    folds, K = full.fold_losses, len(shares)

    def error(k: int, best: int) -> float:
        difference = folds[k] - folds[best]
        spread = shares * (difference - difference @ shares)
        return float(np.sqrt(np.sum(spread**2) * K / (K - 1)))

    for rule in ("min", "1se"):
        choice = choose_size(rule, full.losses, fold_covariance(folds, shares), 0, "loss", "")
        assert choice.size == literal_size(full.losses, error, 0, rule)


@pytest.mark.parametrize("rule", ["min", "1se"])
@pytest.mark.parametrize("options", [{}, {"cv": FOLDS}, {"alpha": [0.1, 10.0]}])
def test_forced_features_are_the_least_size(rule: Any, options: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((50, 12)), rng.standard_normal(50)
    forced = [3, 1, 9, 4, 7]
    path = greedy_path(X, y, "auto", size_rule=rule, forced_features=forced, **options)
    assert path.chosen_size >= 5
    assert path.indices[:5].tolist() == forced
    everything = greedy_path(
        X[:, :3], y, "auto", size_rule=rule, forced_features=[2, 0, 1], **options
    )
    assert everything.chosen_size == 3


def test_ties_go_to_the_smaller_size() -> None:
    losses = np.array([3.0, 1.0 + 1e-12, 1.0, 2.0])
    assert choose_size("min", losses, None, 0, "loss", "").size == 2
    assert choose_size("min", losses, None, 3, "loss", "").size == 3
    none = np.zeros((4, 4))
    assert choose_size("1se", np.array([3.0, 2.0, 1.0, 1.5]), none, 0, "loss", "").size == 3
    assert choose_size("1se", losses, 9.0 * np.eye(4), 0, "loss", "").size == 1
    assert choose_size("1se", losses, 9.0 * np.eye(4), 2, "loss", "").size == 2


def test_covariance_of_folds_by_its_definition() -> None:
    rng = np.random.default_rng(1)
    values, shares = rng.random((4, 6)), rng.random(6)
    shares /= shares.sum()
    expected = np.zeros((4, 4))
    for a in range(4):
        for b in range(4):
            for f in range(6):
                left = values[a, f] - values[a] @ shares
                right = values[b, f] - values[b] @ shares
                expected[a, b] += shares[f] ** 2 * left * right * 6 / 5
    covariance = fold_covariance(values, shares)
    assert covariance is not None
    assert_allclose(covariance, expected, rtol=1e-12)
    assert fold_covariance(values[:, :1], np.ones(1)) is None
    differences = difference_errors(covariance, 2)
    assert differences[2] == 0.0
    both = values - values[2]
    spread = (both - (both @ shares)[:, None]) * shares
    assert_allclose(differences, np.sqrt(np.sum(spread**2, axis=1) * 6 / 5), atol=1e-12)


def test_rounding_is_no_standard_error_of_a_difference() -> None:
    """Of two nearly equal losses it was 0 or 1.5e-8, which decided between their sizes."""
    losses = np.array([9.0, 1.0 + 1e-8, 1.0])
    for rounding in (-(2.0**-52), 0.0, 2.0**-52):
        covariance = np.ones((3, 3))
        covariance[0, 1:] = covariance[1:, 0] = 0.0
        covariance[1, 1] += rounding
        choice = choose_size("1se", losses, covariance, 0, "loss", "")
        assert choice.size == 2
        assert difference_errors(covariance, 2)[1] == pytest.approx(1.4142e-4, rel=1e-4)
        assert choice.sentence == choose_size("1se", losses, covariance, 0, "loss", "").sentence


@pytest.mark.heavy
@settings(max_examples=max(10, min(60, EXAMPLES // 20)))
@given(case=fold_cases(folds=["loo"], kinds=["normal", "integer", "scaled", "float32"]))
def test_covariance_of_leave_one_out_by_its_definition(case: Case) -> None:
    options = dict(case.options)
    alpha = options.pop("alpha")
    problem = make_problem(case.X, case.y, **options)
    path = greedy_path(case.X, case.y, case.n_features, **case.options)
    weights = case.options.get("sample_weight", np.ones(len(case.X)))
    used = np.flatnonzero(weights)
    splits = [(np.delete(np.arange(len(case.X)), row), [row]) for row in used]
    Y = case.y.reshape(len(case.X), -1)
    for loss in ("squared", "absolute"):
        plan = make_plan(problem, loss=loss)
        data = LooData(problem, block_rows=7)
        curve = LooCurve(data.samples, problem, chosen_of(path), plan.loss)
        rows = []
        for k in range(1, len(path) + 1):
            P = held_out_predictions(
                *(case.X, Y, splits, path.indices[:k].tolist(), alpha),
                case.options["fit_intercept"],
                weights,
            )
            rows.append(sample_losses(loss, Y[used], np.vstack(P)))
        each, e = np.array(rows), weights[used] / weights.sum()
        assert_allclose(curve.losses(np.array([alpha]))[0], each @ e, rtol=1e-9)
        spread = (each - (each @ e)[:, None]) * e
        n = len(used)
        expected = spread @ spread.T * n / (n - 1)
        covariance = curve.covariance(alpha)
        assert covariance is not None
        floor = 1e-12 * float(np.max(each @ e)) ** 2
        assert_allclose(covariance, expected, rtol=1e-7, atol=floor)


def test_functions_have_no_standard_error_without_folds() -> None:
    X, y = numbers()

    def cubed(y_true: Any, y_pred: Any) -> float:
        return float(np.mean(np.abs(y_true - y_pred) ** 3))

    assert np.isnan(greedy_path(X, y, 2, loss=cubed).standard_errors).all()
    for options in ({}, {"cv": 5}, {"alpha": [0.1, 1.0]}):
        path = greedy_path(X, y, "auto", loss=cubed, size_rule="1se", **options)
        assert 1 <= path.chosen_size <= 6
    one = [(np.arange(30), np.arange(30, 60))]
    assert 1 <= greedy_path(X, y, "auto", size_rule="1se", cv=one).chosen_size <= 6
    with pytest.raises(ValueError, match=r"size_rule='1se' needs standard errors.*alpha_cv"):
        greedy_path(X, y, "auto", loss=cubed, size_rule="1se", alpha_cv=one)


# When a search ends ------------------------------------------------------------------------------


def literal_stop(losses: Any, patience: int, tol: float) -> int:
    """After how many steps a search ends."""
    best, age = losses[0], 0
    for k, loss in enumerate(losses[1:], start=2):
        if loss < best - tol * abs(best):
            best, age = loss, 0
        else:
            age += 1
        if age >= patience:
            return k
    return len(losses)


@pytest.mark.parametrize("cv", ["loo", 4])
@pytest.mark.parametrize("patience", [1, 2, 5, None])
@pytest.mark.parametrize("tol", [None, 0.0, 0.01, 0.3])
def test_patience_and_tolerance(tol: Any, patience: Any, cv: Any) -> None:
    X, y = numbers(40)
    full = greedy_path(X, y, 14, alpha=0.1, cv=cv)
    path = greedy_path(X, y, 14, alpha=0.1, tol=tol, patience=patience, cv=cv)
    used = patience
    if patience is None:
        used = 99 if tol is None else 1
    length = literal_stop(full.losses, used, tol or 0.0)
    assert len(path) == length
    assert_array_equal(path.indices, full.indices[:length])
    if length < 14:
        assert path.stop_reason is StopReason.NO_IMPROVEMENT
        assert path.stop_reason.sentence in path.sentence


def test_rounding_does_not_decide_when_patience_ends() -> None:
    """A constant column changes the loss by rounding only."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = np.full((59, 9), 3.0)
        X[:, :4] = rng.normal(size=(59, 4))
        y = X[:, :4].sum(axis=1) + 0.5 * rng.normal(size=59)
        with tuned(compiled_kept_elements=0, compiled_first_room=2, compiled_room_bytes=0):
            path = greedy_path(X, y, 9, alpha=0.01, patience=1)
        assert path.indices[:4].max() < 4
        assert len(path) == 5


def test_patience_with_an_automatic_size_is_of_the_searches_own_loss() -> None:
    X, y = numbers(40)
    full = greedy_path(X, y, 14, alpha=0.1)
    path = greedy_path(X, y, "auto", alpha=0.1, patience=1, max_features=14)
    assert len(path) == literal_stop(full.losses, 1, 0.0) < 14
    assert path.stop_reason is StopReason.NO_IMPROVEMENT
    assert path.stop_reason.sentence in path.sentence
    splits = shuffled_splits(40, 5)
    for fold, (train, _) in enumerate(splits):
        own = greedy_path(X[train], y[train], 14, alpha=0.1).losses
        reached = np.isfinite(path.size_surface.fold_losses[fold, 0]).sum()
        assert reached == min(literal_stop(own, 1, 0.0), path.size_surface.losses.shape[1])


@pytest.mark.parametrize("options", [{}, {"cv": 4}, {"alpha": [0.1, 10.0]}])
@pytest.mark.parametrize("most", [1, 3])
def test_the_largest_size(most: int, options: dict[str, Any]) -> None:
    X, y = numbers()
    y = 5.0 * y
    y += 9.0 * X[:, :3].sum(axis=1)
    path = greedy_path(X, y, "auto", max_features=most, size_rule="min", **options)
    assert len(path) == most
    assert path.chosen_size == most
    assert re.search(r"largest size tried.* may do better \(max_features\)", path.sentence)
    if path.surface is not None:
        assert path.surface.losses.shape == (2, most)
    everything = greedy_path(X[:, :2], y, "auto", max_features=5)
    assert len(everything) == 2
    assert "largest size tried" not in everything.sentence


def test_the_largest_size_by_default() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((12, 30)), rng.standard_normal(12)
    # One less than the rows that the smallest model of the procedure is fitted to.
    ids = np.arange(12) % 3
    assert len(greedy_path(X, y, "auto", alpha=10.0, alpha_cv=ids)) == 7
    assert len(greedy_path(X, y, "auto", alpha=10.0, cv=4, alpha_cv=ids)) == 5
    path = greedy_path(X, y, "auto", alpha=[10.0, 100.0], alpha_cv=ids)
    assert path.surface.losses.shape == (2, 7)
    X = rng.standard_normal((400, 130))
    y = X.sum(axis=1)
    assert len(greedy_path(X, y, "auto", alpha=1.0)) == 100
    assert len(greedy_path(X, y, "auto", alpha=1.0, max_features=120)) == 120


# Sentences ---------------------------------------------------------------------------------------


def test_sentences_name_rule_and_numbers() -> None:
    X, y = numbers(seed=2)
    found = set()
    for rule in ("min", "1se"):
        for cv in ("loo", 5):
            path = greedy_path(X, y, "auto", alpha=0.1, cv=cv, size_rule=rule)
            k, sentence = path.chosen_size, path.sentence
            losses = path.size_surface.losses[0]
            best = int(np.nanargmin(losses)) + 1
            assert f"{k} features chosen by rule '{rule}'" in sentence
            assert "held-out loss of the outer folds" in sentence
            assert f"{losses[k - 1]:.6g}" in sentence
            assert k == best or f"{losses[best - 1]:.6g} at {best} features" in sentence
            assert path.stop_reason.sentence in sentence
            assert path.size_choice is not None
            assert path.size_choice.sentence == sentence
            found.add(k == best)
    assert found == {True, False}
    given = greedy_path(X, y, 1)
    assert given.sentence == "1 feature, as asked."
    assert given.size_choice is not None
    assert given.size_choice.rule == "given"
    assert given.chosen_size == 1
    assert greedy_path(X, y, 5).sentence.startswith("5 features, as asked.")


def test_sentences_of_one_standard_error_say_whether_a_smaller_size_is_within() -> None:
    losses = np.array([3.0, 2.0, 1.0, 1.5])
    at_best = choose_size("1se", losses, np.zeros((4, 4)), 0, "loss", "").sentence
    assert "the smallest loss, 1 at 3 features; no smaller size is within" in at_best
    one_fewer = choose_size("1se", losses, np.diag([0.0, 2.0, 0.0, 0.0]), 0, "loss", "")
    assert one_fewer.size == 2
    assert "the fewest whose loss (2) is within" in one_fewer.sentence
    assert "no smaller size" not in one_fewer.sentence


def test_a_shorter_path_has_no_size_of_its_own() -> None:
    X, y = numbers(seed=2)
    path = greedy_path(X, y, "auto", alpha=0.1)
    shorter = path.truncated(2)
    assert shorter.size_choice is None
    assert shorter.chosen_size == 2
    longer = extend_path(path, X, y, 14)
    assert longer.chosen_size == 14
    assert longer.sentence


@pytest.mark.parametrize("options", [{}, {"alpha": 1.0}, {"cv": 4}, {"size_rule": "1se"}])
def test_estimators_take_the_size_of_the_rule(options: dict[str, Any]) -> None:
    X, y = numbers()
    model = GreedyRLSRegressor(**options).fit(X, y)
    path = greedy_path(X, y, "auto", **({"alpha": "auto"} | options))
    assert model.n_features_ == path.chosen_size
    assert_array_equal(model.path_.indices, path.indices)
    assert model.path_.sentence == path.sentence
    assert_allclose(model.coef_[model.selected_], path.coef(path.chosen_size), rtol=1e-10)
    classifier = GreedyRLSClassifier(loss="zero_one", **options).fit(X, y > 0)
    assert classifier.n_features_ == classifier.path_.chosen_size == len(classifier.selected_)


def stop_at(size: int) -> Any:
    steps: list[Any] = []

    def callback(step: Any) -> bool:
        steps.append(step)
        return len(steps) == size

    return callback


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("rule", ["min", "1se"])
@pytest.mark.parametrize("options", [{}, {"cv": 4}, {"alpha": [0.1, 10.0]}])
def test_a_callback_that_stops_among_forced_features(
    options: dict[str, Any], rule: Any, size: int
) -> None:
    X, y = numbers()
    path = greedy_path(
        *(X, y, "auto"),
        size_rule=rule,
        forced_features=[5, 6, 7],
        callback=stop_at(size),
        **options,
    )
    assert len(path) == size
    assert path.stop_reason is StopReason.CALLBACK
    assert path.chosen_size == min(size, max(3, path.chosen_size))
    assert path.sentence
