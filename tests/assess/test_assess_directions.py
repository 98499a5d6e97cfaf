"""Assessments of searches that also remove features, against selections on parts of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from assess_checks import ALPHAS, assert_is_literal
from assess_twin import Question
from greedyrls import greedy_path
from greedyrls.assess import cross_validate_path, permutation_null, resample_path
from internals import draw_order, draw_rows
from shuffled import shuffled_splits

DIRECTIONS = ("backward", "floating", "foba", "swap")


def tangled(m: int = 30, seed: int = 0) -> Any:
    """Column 0 sums up four causes: taken first, and of no use once they are all there."""
    rng = np.random.default_rng(seed)
    causes = rng.standard_normal((m, 4))
    summary = causes.sum(axis=1) + 0.7 * rng.standard_normal(m)
    X = np.column_stack([summary, causes, rng.standard_normal((m, 2))])
    return X, causes.sum(axis=1) + 0.4 * rng.standard_normal(m)


QUESTIONS: dict[str, tuple[Any, dict[str, Any]]] = {
    "a size": (5, {"alpha": 0.5}),
    "folds": (5, {"alpha": 0.5, "inner_cv": 4}),
    "another loss": (4, {"alpha": 0.5, "loss": "absolute"}),
    "a choice": ("auto", {"alpha": ALPHAS, "size_rule": "min"}),
    "weights": (4, {"alpha": 0.5, "sample_weight": np.arange(30) % 4 + 0.5}),
}


@pytest.mark.parametrize(
    ("name", "direction"),
    [
        pytest.param(
            *(name, direction),
            marks=[]
            if direction in ("floating", "backward") and name != "a choice"
            else [pytest.mark.slow],
        )
        for name in QUESTIONS
        for direction in DIRECTIONS
    ],
)
def test_folds_are_selections_on_their_training_rows(name: str, direction: str) -> None:
    X, y = tangled()
    n_features, options = QUESTIONS[name]
    question = Question(X, y, n_features, {**options, "direction": direction})
    found = assert_is_literal(question, 3, shuffled_splits(30, 3))
    assert found.criterion.endswith(f"loss, {direction}")


def test_classes() -> None:
    X, y = tangled(40, seed=3)
    named = np.where(y > 0.0, "up", "down")
    options = {"alpha": 0.5, "direction": "floating"}
    question = Question(X, named, 4, options, is_classification=True)
    assert_is_literal(question, 4, shuffled_splits(40, 4, labels=named))


def test_sets_are_not_nested_here() -> None:
    """Otherwise the tests above would say nothing of sets that are not."""
    X, y = tangled()
    train, _ = shuffled_splits(30, 3)[0]
    path = greedy_path(X[train], y[train], 5, alpha=0.5, direction="floating")
    assert not path.is_nested


def test_backward_ratio_is_passed_on() -> None:
    X, y = tangled()
    question = Question(X, y, 4, {"alpha": 0.5, "direction": "foba", "backward_ratio": 0.9})
    assert_is_literal(question, 3, shuffled_splits(30, 3))
    with pytest.raises(ValueError, match=r"backward_ratio=0\.9 is for direction='foba'"):
        cross_validate_path(X, y, 3, backward_ratio=0.9)
    with pytest.raises(ValueError, match=r"direction must be one of 'forward'.*got 'sideways'"):
        resample_path(X, y, 3, direction="sideways")  # type: ignore[arg-type]  # a wrong value, on purpose


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_permutations_are_selections_on_permuted_targets(direction: Any) -> None:
    X, y = tangled()
    null = permutation_null(X, y, 4, alpha=0.5, direction=direction, n_permutations=3)
    generator = np.random.default_rng(0)
    assert_allclose(null.losses, greedy_path(X, y, 4, alpha=0.5, direction=direction).losses)
    for losses in null.null_losses:
        order = draw_order(np.ones(30, dtype=bool), generator, None)
        path = greedy_path(X, y[order], 4, alpha=0.5, direction=direction)
        assert_allclose(losses, path.losses, rtol=1e-9)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_resamples_are_selections_on_their_rows(direction: Any) -> None:
    X, y = tangled(40)
    stability = resample_path(X, y, 4, alpha=0.5, direction=direction, n_resamples=4)
    generator = np.random.default_rng(0)
    draws, _ = draw_rows(np.ones(40, dtype=bool), None, None, "subsample", 4, 0.5, generator)
    for order, (rows, _) in zip(stability.selections, draws, strict=True):
        path = greedy_path(X[rows], y[rows], 4, alpha=0.5, direction=direction)
        assert order.tolist() == path.features(4).tolist()
