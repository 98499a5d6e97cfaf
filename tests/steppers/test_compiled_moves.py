"""Compiled steps of searches that also remove features, against the general engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from compiled_steps import in_loop, needs_compiled_steps
from greedyrls import SelectionPath, greedy_path
from traps import trapped
from tuning import tuned

pytestmark = needs_compiled_steps


def tangled(m: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Features that are mostly mixtures of ten others: forward is often wrong."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((m, 10)) @ rng.standard_normal((10, n))
    X += 0.5 * rng.standard_normal((m, n))
    return X, X[:, :12] @ rng.standard_normal(12) + rng.standard_normal(m)


def weights(m: int) -> np.ndarray:
    """Weights of which some are 0."""
    return np.random.default_rng(4).integers(0, 3, m).astype(float)


OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "weights": {"sample_weight": weights(150)},
    "forced": {"forced_features": [40, 41]},
    "runners-up": {"n_runners_up": 3},
    "without an intercept": {"fit_intercept": False},
    "small penalty": {"alpha": 1e-6},
}


def assert_same(path: SelectionPath, other: SelectionPath) -> None:
    """The same steps with the same losses, and the same moments."""
    moves = [(step.action, step.features, step.forced) for step in path.steps]
    assert moves == [(step.action, step.features, step.forced) for step in other.steps]
    for step, twin in zip(path.steps, other.steps, strict=True):
        assert step.loss == pytest.approx(twin.loss, rel=1e-9)
        assert step.standard_error == pytest.approx(twin.standard_error, rel=1e-7)
        assert [index for index, _ in step.runners_up] == [index for index, _ in twin.runners_up]
        losses = [loss for _, loss in twin.runners_up]
        assert_allclose([loss for _, loss in step.runners_up], losses, rtol=1e-8)
    assert path.moments.features == other.moments.features
    assert_allclose(path.moments.gram, other.moments.gram, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("moves", ["remove", "begin", "general"])
@pytest.mark.parametrize("direction", ["floating", "foba"])
@pytest.mark.parametrize("name", OPTIONS)
def test_same_as_by_the_general_engine(direction: Any, name: str, moves: str) -> None:
    X, y = tangled(150, 60)
    options = OPTIONS[name]
    with tuned(compiled_steps=False):
        expected = greedy_path(X, y, 20, direction=direction, **options)
    taken: list[int] = []

    def noted(original: Any, *arguments: Any) -> Any:
        answer = original(*arguments)
        if isinstance(answer, int):
            taken.append(answer)
        return answer

    with tuned(compiled_moves=moves), trapped() as traps:
        traps.around("take a compiled step", noted)
        with removals_noted() as removed:
            path = greedy_path(X, y, 20, direction=direction, **options)
    assert_same(path, expected)
    assert len(taken) >= 10
    removals = [step.index for step in path.steps if step.action == "remove"]
    assert removals
    assert removed == (removals if moves == "remove" else [])


@contextmanager
def removals_noted() -> Iterator[list[int]]:
    """The features that compiled steps remove, within the context."""
    removed: list[int] = []

    def noted(original: Any, *arguments: Any) -> Any:
        answer = original(*arguments)
        if answer is not None and answer.feature is not None:
            removed.append(answer.feature)
        return answer

    with trapped() as traps:
        traps.around("remove by compiled steps", noted)
        yield removed


@pytest.mark.parametrize("loop", ["packed", "gathered"])
@pytest.mark.parametrize("n_targets", [1, 2])
def test_many_rows(loop: str, n_targets: int) -> None:
    """From thousands of rows on, bounds use how z is spread over them; there are anchors."""
    X, y = tangled(4301, 60)
    Y = y if n_targets == 1 else np.column_stack([y, X[:, 30:36].sum(axis=1)])
    with tuned(compiled_steps=False):
        expected = greedy_path(X, Y, 16, direction="floating")
    with in_loop(loop), removals_noted() as removed:
        path = greedy_path(X, Y, 16, direction="floating")
    assert_same(path, expected)
    assert len(removed) >= 3


@pytest.mark.parametrize("direction", ["floating", "foba"])
@pytest.mark.parametrize("trouble", ["equal columns", "nearly equal columns", "more features"])
def test_doubtful_removals_are_left_to_the_general_engine(direction: Any, trouble: str) -> None:
    X, y = tangled(40, 30)
    alpha = 1.0
    if trouble == "equal columns":
        X[:, 15:] = X[:, :15]
    elif trouble == "nearly equal columns":
        X[:, 15:] = X[:, :15] + 1e-5 * X[:, 15:]
        alpha = 1e-4
    else:
        X, y = X[:12], y[:12]
    for n_runners_up in (0, 4):
        options: dict[str, Any] = {"alpha": alpha, "n_runners_up": n_runners_up}
        with tuned(compiled_steps=False):
            expected = greedy_path(X, y, 9, direction=direction, **options)
        assert_same(greedy_path(X, y, 9, direction=direction, **options), expected)


def test_targets_together() -> None:
    X, y = tangled(150, 60)
    Y = np.column_stack([y, X[:, 30:36].sum(axis=1)])
    with tuned(compiled_steps=False):
        expected = greedy_path(X, Y, 15, direction="floating")
    assert_same(greedy_path(X, Y, 15, direction="floating"), expected)


def test_several_penalties_share_the_columns() -> None:
    X, y = tangled(150, 60)
    alphas = [0.01, 1.0, 100.0]
    with tuned(compiled_steps=False):
        expected = greedy_path(X, y, 10, alpha=alphas, alpha_cv=3, direction="floating")
    for n_jobs in (1, 2):
        path = greedy_path(X, y, 10, alpha=alphas, alpha_cv=3, direction="floating", n_jobs=n_jobs)
        assert_same(path, expected)
