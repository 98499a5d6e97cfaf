"""Searches that also remove features come to an end, by themselves or where they are stopped."""

from __future__ import annotations

import warnings
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from greedyrls import SelectionPath, Step, StopReason, greedy_path
from literal import criterion
from problems import summary_data


def loss_of(X: Any, y: Any, cv: Any, chosen: list[int]) -> float:
    """By fitting anew for every split."""
    return criterion(X, y, cv, chosen, loss="squared", alpha=1.0, fit_intercept=True, weights=None)


def capped(most: int) -> Any:
    """A callback that ends a search which goes on for too long, and the steps it has seen."""
    seen: list[Step] = []

    def callback(step: Step) -> bool:
        seen.append(step)
        return len(seen) > most

    return callback


@pytest.mark.slow
def test_floating_ends_where_leverages_are_nearly_one() -> None:
    """A removal speculated to be better, and not so when made, was made again and again."""
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
