"""Problems to assess, and the comparison of assessments with their slow twin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from assess_twin import Fold, Question, order_of
from greedyrls.assess import PathAssessment, Stability

ALPHAS = [1e-2, 1.0, 100.0]
SAME = 1e-8


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
        assert found.features[number].tolist() == order_of(fold.path)
        assert found.alphas[number] == pytest.approx(fold.path.settings.alpha, rel=1e-9)
        assert found.chosen_sizes[number] == fold.path.chosen_size
        for name in ("test_losses", "selection_losses", "random_losses"):
            curve = getattr(found, name)[number]
            expected = getattr(fold, name)
            assert_allclose(curve[..., :known], expected, rtol=SAME, atol=1e-12, err_msg=name)
            assert np.isnan(curve[..., known:]).all()
        assert (found.class_rates is None) == (not fold.rates)
        for place, (name, expected) in enumerate(fold.rates.items()):
            assert found.class_rates.measures[place] == name
            curve = found.class_rates.losses[place, number, :known]
            assert_allclose(curve, expected, rtol=SAME, atol=1e-12, err_msg=name)
        assert found.initial_losses[number] == pytest.approx(fold.initial_loss, rel=SAME)
        own = found.own_initial_losses[number]
        assert own == pytest.approx(fold.own_initial_loss, rel=SAME, nan_ok=True)
        chosen = np.append(fold.initial_loss, fold.test_losses)[fold.path.chosen_size]
        assert found.chosen_losses[number] == pytest.approx(chosen, rel=SAME)
    weights = question.weights
    totals = np.array([weights[test].sum() for _, test in splits])
    assert_allclose(found.shares, totals / totals.sum(), rtol=1e-12)
    assert_errors_are_literal(question, splits, folds, found)
    return found


def assert_errors_are_literal(
    question: Question, splits: Any, folds: list[Fold], found: PathAssessment
) -> None:
    """Errors are those of the losses of all tested rows, with the correction written out."""
    if callable(question.measure):
        assert found.held_out_covariance is None
        return
    covariance = question.held_out_covariance(splits, folds)
    assert found.held_out_covariance is not None
    scale = np.nanmax(np.abs(covariance))
    assert_allclose(found.held_out_covariance, covariance, rtol=1e-6, atol=1e-10 * scale)
    weights = question.weights
    tested = {row for _, test in splits for row in test if weights[row] > 0.0}
    trained = np.mean([np.count_nonzero(weights[train]) for train, _ in splits])
    assert found.test_ratio == pytest.approx(len(tested) / trained)
    sets = [order[:size] for order, size in zip(found.features, found.chosen_sizes, strict=True)]
    agreement = 0.0
    if len(splits) > 1:
        index = Stability(
            tuple(sets),
            found.n_features_in,
            n_available=found.n_available,
            forced=found.forced,
        ).index
        agreement = 1.0 if not len(index) or np.isnan(index[-1]) else index[-1]
    rho = min(1.0, 4.0 * (1.0 - agreement)) * len(tested) / trained
    small = 1e-4 * np.sqrt(scale)  # where a variance is 0 but for rounding
    own = covariance[0, 0]
    difference = max(0.0, own + covariance[1, 1] - 2.0 * covariance[0, 1])
    expected = np.sqrt(own + rho * np.sqrt(own * min(own, difference)))
    assert found.estimate[1] == pytest.approx(expected, rel=1e-5, abs=small)
    expected = np.sqrt(difference * (1.0 + rho))
    assert found.gain[1] == pytest.approx(expected, rel=1e-5, abs=small)


def noise(m: int = 30, n: int = 12, seed: int = 1) -> tuple[Any, Any]:
    """Features and a target that know nothing of each other."""
    generator = np.random.default_rng(seed)
    return generator.standard_normal((m, n)), generator.standard_normal(m)
