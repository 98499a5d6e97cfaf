"""Compiled searches and tests of outer folds against those of the general engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from compiled_steps import needs_compiled_steps
from greedyrls import GreedyRLSClassifier, SelectionPath, greedy_path
from traps import trapped
from tuning import tuned

pytestmark = needs_compiled_steps

POINT = "test the models of a compiled search"
ALPHAS = [0.1, 3.0, 100.0]


def data(
    seed: int = 0, m: int = 60, n: int = 9, targets: int = 1, loss: str = "squared"
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n)) + rng.standard_normal(n)
    Y = X[:, :targets] - X[:, 3 : 3 + targets] + rng.standard_normal((m, targets))
    if loss in ("zero_one", "balanced_zero_one"):
        Y = np.where(Y > 0.3, 1.0, -1.0)
        if targets > 1:
            codes = np.argmax(Y + 0.1 * X[:, :targets], axis=1)
            Y = np.where(np.arange(targets) == codes[:, None], 1.0, -1.0)
    return X, Y[:, 0] if targets == 1 else Y


def assert_same(compiled: SelectionPath, general: SelectionPath) -> None:
    assert compiled.indices.tolist() == general.indices.tolist()
    assert compiled.chosen_size == general.chosen_size
    assert compiled.size_choice == general.size_choice
    if general.refit_alphas is None:
        assert compiled.refit_alphas is None
    else:
        assert_allclose(compiled.refit_alphas, general.refit_alphas, rtol=1e-12)
    one, other = compiled.surface, general.surface
    assert one.alpha == other.alpha
    scale = float(other.initial_loss)
    assert_allclose(one.fold_losses, other.fold_losses, rtol=1e-10, atol=1e-12 * scale)
    assert_allclose(one.initial_loss, other.initial_loss, rtol=1e-12)
    assert_allclose(one.standard_errors, other.standard_errors, rtol=1e-8, atol=1e-11 * scale)


def both(X: Any, y: Any, *arguments: Any, **options: Any) -> tuple[SelectionPath, SelectionPath]:
    """The path with compiled tests, which must have been made, and that of the general engine."""
    with trapped() as traps:
        calls = traps.watch(POINT)
        compiled = greedy_path(X, y, *arguments, **options)
    assert calls
    with tuned(compiled_steps=False):
        general = greedy_path(X, y, *arguments, **options)
    return compiled, general


@pytest.mark.parametrize("refit_alpha", ["loo", "same", 2.0])
@pytest.mark.parametrize("size", ["auto", 4])
@pytest.mark.parametrize("targets", [1, 3])
@pytest.mark.parametrize("loss", ["squared", "absolute", "zero_one", "balanced_zero_one"])
def test_models_of_outer_folds(loss: str, targets: int, size: Any, refit_alpha: Any) -> None:
    X, Y = data(targets=targets, loss=loss)
    options = {"alpha": ALPHAS, "loss": loss, "refit_alpha": refit_alpha, "alpha_cv": 4}
    assert_same(*both(X, Y, size, **options))


@pytest.mark.parametrize("kept", [0, 1 << 18])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", ["squared", "absolute", "zero_one", "balanced_zero_one"])
def test_weights(loss: str, intercept: bool, kept: int) -> None:
    X, y = data(3, m=120, loss=loss)
    weights = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 3.0], len(y))
    options = {"sample_weight": weights, "fit_intercept": intercept, "loss": loss}
    with tuned(compiled_kept_elements=kept):
        assert_same(*both(X, y, "auto", alpha=ALPHAS, alpha_cv=4, **options))


@pytest.mark.parametrize("dtype", [np.float32, np.int16, bool])
@pytest.mark.parametrize("order", ["C", "F", "steps"])
def test_types_and_memory_orders(dtype: Any, order: str) -> None:
    X, y = data(4)
    X = np.round(4.0 * X) > 0 if dtype is bool else np.round(4.0 * X).astype(dtype)
    X = np.repeat(X, 2, axis=1)[:, ::-2] if order == "steps" else np.asarray(X, order=order)
    assert_same(*both(X, y, "auto", alpha=ALPHAS, alpha_cv=4))


@pytest.mark.parametrize("size_rule", ["min", "1se"])
def test_groups_and_repeated_folds(size_rule: Any) -> None:
    from sklearn.model_selection import RepeatedKFold

    X, y = data(5)
    options = {"alpha": ALPHAS, "size_rule": size_rule}
    groups = np.arange(len(y)) // 3
    assert_same(*both(X, y, "auto", groups=groups, alpha_cv=4, cv="loo", **options))
    folds = RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)
    assert_same(*both(X, y, "auto", alpha_cv=folds, **options))


def test_excluded_features_and_more_features_than_there_is_room_for() -> None:
    X, y = data(6, n=30)
    with tuned(compiled_first_room=2, compiled_room_bytes=0):
        path, other = both(X, y, 12, alpha=ALPHAS, alpha_cv=3, excluded_features=[0, 7])
    assert_same(path, other)
    assert not {0, 7} & set(path.indices.tolist())


def test_steps_in_doubt_are_the_general_engines() -> None:
    """Of two equal columns the first is taken, which rounding would have to decide."""
    X, y = data(7)
    X[:, 5] = X[:, 3]
    path = greedy_path(X, y, 5, alpha=ALPHAS, alpha_cv=3)
    with tuned(compiled_steps=False):
        other = greedy_path(X, y, 5, alpha=ALPHAS, alpha_cv=3)
    assert_same(path, other)


@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_classifiers_compare_two_losses(n_classes: int, class_weight: Any) -> None:
    X, _ = data(8, m=90)
    labels = np.digitize(X[:, 0] - X[:, 3], [0.5] if n_classes == 2 else [-0.5, 1.0])
    with trapped() as traps:
        calls = traps.watch(POINT)
        compiled = GreedyRLSClassifier(class_weight=class_weight).fit(X, labels)
    assert calls
    with tuned(compiled_steps=False):
        general = GreedyRLSClassifier(class_weight=class_weight).fit(X, labels)
    assert_same(compiled.path_, general.path_)
    assert_allclose(compiled.predict_proba(X), general.predict_proba(X), rtol=1e-7)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_threads_find_the_same(n_jobs: int) -> None:
    X, y = data(9, m=120, n=40)
    with tuned(compiled_kept_elements=0, threads_over_searches=0):
        one = greedy_path(X, y, alpha="auto", n_features="auto", n_jobs=n_jobs)
    with tuned(compiled_kept_elements=0):
        assert_same(one, greedy_path(X, y, alpha="auto", n_features="auto", n_jobs=1))


def test_gram_columns_are_dropped_where_they_take_much_memory() -> None:
    X, y = data(10, m=50, n=300)
    tuning = {"compiled_kept_elements": 0, "compiled_gram_bytes": 0, "compiled_least_kept": 5}
    with tuned(**tuning):
        path = greedy_path(X, y, 12, alpha=ALPHAS, alpha_cv=3)
        threads = greedy_path(X, y, 12, alpha=ALPHAS, alpha_cv=3, n_jobs=2)
    with tuned(compiled_steps=False):
        other = greedy_path(X, y, 12, alpha=ALPHAS, alpha_cv=3)
    assert_same(path, other)
    assert_same(threads, other)


@pytest.mark.heavy
@given(st.integers(0, 2**32 - 1))
def test_random_problems(seed: int) -> None:
    rng = np.random.default_rng(seed)
    loss = rng.choice(["squared", "absolute", "zero_one", "balanced_zero_one"])
    m, n, targets = rng.integers(24, 50), rng.integers(6, 14), rng.integers(1, 4)
    X, Y = data(seed % 1000, m, n, targets, str(loss))
    if rng.random() < 0.5:
        X = np.round(X)
    options: dict[str, Any] = {"fit_intercept": bool(rng.random() < 0.8), "loss": str(loss)}
    if rng.random() < 0.3:
        options["sample_weight"] = rng.choice([0.5, 1.0, 2.0], m)
    options["refit_alpha"] = rng.choice(["loo", "same"])
    options["alpha"] = 10.0 ** rng.uniform(-3, 3, 3)
    try:
        compiled = greedy_path(X, Y, int(rng.integers(1, n)), alpha_cv=3, **options)
    except ValueError:
        return  # a fold lacks a class
    with tuned(compiled_steps=False):
        assert_same(compiled, greedy_path(X, Y, len(compiled), alpha_cv=3, **options))
