"""Directions where rounding, interrupts or a single feature once made them go wrong."""

from __future__ import annotations

import warnings
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from greedyrls import GreedyRLSRegressor, SelectionPath, Step, StopReason, greedy_path
from internals import BestLosses, best_sets
from literal import criterion


def loss_of(X: Any, y: Any, cv: Any, chosen: list[int], alpha: float = 1.0) -> float:
    """By fitting anew for every split."""
    return criterion(
        X, y, cv, chosen, loss="squared", alpha=alpha, fit_intercept=True, weights=None
    )


def summary_data() -> tuple[Any, Any]:
    """Column 0 sums up four others: a search forward takes it first, and keeps it."""
    generator = np.random.default_rng(1)
    causes = generator.standard_normal((60, 4))
    summary = causes.sum(axis=1) + generator.standard_normal(60)
    X = np.column_stack([summary, causes, generator.standard_normal((60, 5))])
    return X, causes.sum(axis=1) + 0.5 * generator.standard_normal(60)


@pytest.mark.parametrize("cv", ["loo", 3])
def test_backward_path_of_one_feature_in_json(cv: Any) -> None:
    X, y = summary_data()
    path = greedy_path(X[:, :1], y, 1, cv=cv, direction="backward")
    assert path.steps == ()
    again = SelectionPath.from_json(path.to_json())
    assert again == path
    assert again.coef(1) == path.coef(1)


@pytest.mark.parametrize("seed", range(6))
def test_backward_with_folds_where_columns_dwarf_others(seed: int) -> None:
    """With no more rows than features A⁻¹ as 1/α less a part had lost its digits."""
    generator = np.random.default_rng(seed)
    X = generator.standard_normal((8, 7)) * 10.0 ** np.array([3, 3, -3, 0, 2, -1, 1])
    y = generator.standard_normal(8)
    folds = np.arange(8) % 4
    splits = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(4)]
    path = greedy_path(X, y, 7, alpha=0.03, cv=splits, direction="backward")
    for size in range(1, 8):
        chosen = sorted(path.features(size).tolist())
        expected = loss_of(X, y, splits, chosen, 0.03)
        assert path.losses[size - 1] == pytest.approx(expected, rel=1e-8)


def test_losses_kept_up_are_those_of_the_best_sets() -> None:
    generator = np.random.default_rng(0)
    steps: list[Step] = []
    chosen: list[int] = []
    best = BestLosses()
    for index in range(60):
        if len(chosen) > 1 and generator.random() < 0.4:
            gone = chosen.pop(int(generator.integers(len(chosen))))
            steps.append(Step(gone, generator.random(), 0.0, action="remove"))
        else:
            chosen.append(index)
            steps.append(Step(index, generator.random(), 0.0))
        best.add(steps[-1])
        assert best.losses == [known.loss for known in best_sets(steps)]


def capped(most: int) -> Any:
    """A callback that ends a search which goes on for too long, and the steps it has seen."""
    seen: list[Step] = []

    def callback(step: Step) -> bool:
        seen.append(step)
        return len(seen) > most

    return callback


@pytest.mark.slow
def test_floating_ends_where_leverages_are_nearly_one() -> None:
    """A removal foreseen to be better, and not so when made, was made again and again."""
    generator = np.random.default_rng(0)
    for _ in range(60):
        X = generator.standard_normal((7, 14))
        X[:, 3] = -X[:, 9]
        y = generator.standard_normal(7)
        for direction in ("floating", "foba"):
            options: Any = {"alpha": 1.9e-9, "direction": direction}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                path = greedy_path(X, y, 12, callback=capped(400), **options)
            assert path.stop_reason is not StopReason.CALLBACK


def test_exchanges_of_equal_columns_end() -> None:
    """Rounding that piled up lowered the loss a little with each exchange."""
    generator = np.random.default_rng(144)
    samples, count = int(generator.integers(3, 9)), int(generator.integers(2, 12))
    X = generator.standard_normal((samples, count))
    y = generator.standard_normal(samples)
    X[:, 0] = X[:, -1]
    path = greedy_path(X, y, 4, alpha=2.3278082403805787e-08, direction="swap", callback=capped(99))
    assert path.stop_reason is not StopReason.CALLBACK


@pytest.mark.parametrize("reason", [StopReason.CALLBACK, StopReason.INTERRUPTED])
@pytest.mark.parametrize("last", [1, 5, 7])
def test_who_stops_the_search_waits_for_no_exchanges(reason: StopReason, last: int) -> None:
    X, y = summary_data()
    seen: list[Step] = []

    def callback(step: Step) -> bool:
        seen.append(step)
        if len(seen) == last and reason is StopReason.INTERRUPTED:
            raise KeyboardInterrupt
        return len(seen) == last

    path = greedy_path(X, y, "auto", direction="swap", callback=callback)
    assert len(seen) == len(path.steps) == last
    assert path.stop_reason is reason
    assert path.settings.direction == "swap"
    assert "xchange" not in path.sentence
    assert SelectionPath.from_json(path.to_json()) == path


def test_exchanges_that_are_interrupted_say_so() -> None:
    X, y = summary_data()
    whole = greedy_path(X, y, "auto", direction="swap")
    forward = greedy_path(X, y, "auto")
    first = len(forward.steps)

    def callback(step: Step) -> None:
        if step.action == "remove":
            raise KeyboardInterrupt

    path = greedy_path(X, y, "auto", direction="swap", callback=callback)
    assert len(whole.steps) > first
    assert path.interrupted
    assert path.sentence.endswith(StopReason.INTERRUPTED.sentence)
    assert "No exchange" not in path.sentence


def test_swap_is_as_good_as_single_exchanges_make_it() -> None:
    X, y = summary_data()
    path = greedy_path(X, y, 4, direction="swap")
    chosen = path.features(4).tolist()
    others = [index for index in range(10) if index not in chosen]
    for kept in combinations(chosen, 3):
        for other in others:
            assert loss_of(X, y, "loo", [*kept, other]) > path.losses[3] * (1 - 1e-9)


def test_model_of_another_size_of_sets_that_are_not_nested() -> None:
    X, y = summary_data()
    model = GreedyRLSRegressor(6, alpha=1.0, direction="floating").fit(X, y)
    assert not model.path_.is_nested
    text = model.with_n_features(4)._repr_html_inner()
    assert "the best set of 4 features" in text
    assert "the first 4" not in text
