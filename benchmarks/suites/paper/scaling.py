"""Figures 1 to 3: seconds of Algorithms 2 and 3 and of ours by the number of samples.

Two normal distributions, one for each class: x_ji = e_ji + y_j d_i / 2 with e standard normal and
d_i ~ 0.1 N(0, 1); no intercept, squared loss, penalty 1. All timings of one m are made in one
process, ours before and after Algorithm 3.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any, TypeVar

import numpy as np

from greedyrls import greedy_path
from greedyrls.reference import greedy_rls, low_rank_ls_svm
from harness import machine
from harness.data_files import Array

Answer = TypeVar("Answer")

ALPHA = 1.0
SEED = 2010
SPREAD = 0.1  # of the differences of the class means
SAME_LOSS = 1e-8  # how far apart losses may be, relatively


@dataclass(frozen=True, slots=True)
class Plan:
    """What is timed: numbers of samples, features in all and selected, and the time for a point."""

    with_algorithm_2: tuple[int, ...] = (500, 1000, 2000, 3000, 4000, 5000)
    without: tuple[int, ...] = (10_000, 20_000, 50_000)
    features: int = 1000
    selected: int = 50
    budget: float = 25.0  # seconds for Algorithm 2 at one m
    rounds: int = 3  # calls of ours before Algorithm 3, and again after it

    @property
    def sizes(self) -> tuple[int, ...]:
        """All numbers of samples."""
        return self.with_algorithm_2 + self.without


FULL = Plan()
QUICK = Plan((250, 500, 1000), (2000, 4000), features=200, selected=20, budget=2.0, rounds=2)


def two_normals(m: int, n: int) -> tuple[Array, Array]:
    """m samples of two classes; fewer are the first of more."""
    for_means, for_labels, for_noise = (
        np.random.default_rng(seed) for seed in np.random.SeedSequence(SEED).spawn(3)
    )
    y = for_labels.choice([-1.0, 1.0], size=m)
    X = for_noise.standard_normal((m, n))
    X += np.multiply.outer(y, SPREAD * for_means.standard_normal(n) / 2)
    return X, y


def time_point(m: int, plan: Plan) -> dict[str, Any]:
    """Seconds of each algorithm for m samples, and whether the answers agree."""
    began = time.perf_counter()
    environment = machine.environment(_blas_threads())
    X, y = two_normals(m, plan.features)
    k = plan.selected

    def ours() -> Any:
        return greedy_path(X, y, k, alpha=ALPHA, fit_intercept=False)

    # The first call loads modules; it is not counted.
    path = ours()
    seconds = [_timed(ours)[0] for _ in range(plan.rounds)]
    third, by_3 = _timed(lambda: greedy_rls(X, y, k, alpha=ALPHA))
    seconds += [_timed(ours)[0] for _ in range(plan.rounds)]
    point: dict[str, Any] = {
        "m": m,
        "ours": {"seconds": median(seconds), "calls": len(seconds)},
        "algorithm_3": {"seconds": third, "calls": 1},
        "same_features": bool(np.array_equal(path.indices, by_3.indices)),
        "same_losses": bool(np.allclose(path.losses, by_3.losses, rtol=SAME_LOSS, atol=0.0)),
        "environment": environment,
    }
    if m in plan.with_algorithm_2:
        point["algorithm_2"], features = time_algorithm_2(X, y, k, plan.budget)
        first = by_3.indices[: len(features)].tolist()
        point["same_features_algorithm_2"] = features == first if features else None
    point["seconds"] = round(time.perf_counter() - began, 1)
    return point


def cost(m: int, plan: Plan) -> float:
    """About how many seconds a point takes, on two cores of 2020."""
    seconds = 1.0 + 8e-8 * m * plan.features * plan.selected
    return seconds + 1.3 * plan.budget if m in plan.with_algorithm_2 else seconds


def _blas_threads() -> int:
    pools = machine.thread_pools()
    return max((pool["num_threads"] for pool in pools if pool["user_api"] == "blas"), default=1)


def time_algorithm_2(X: Array, y: Array, k: int, budget: float) -> tuple[dict[str, Any], list[int]]:
    """Seconds that Algorithm 2 takes for k features, found in about `budget`; what it selected.

    Every candidate of every step updates an m × m matrix that is dense from the start, so all cost
    the same. What 1 candidate takes is start and end; what more take beyond that is theirs. All
    candidates of as many steps are timed as the budget allows; where it does not allow one step,
    some candidates of the first step. No features are named then: they would be of another search.
    """
    n = X.shape[1]
    once, _ = _timed(lambda: low_rank_ls_svm(X[:, :1], y, 1, alpha=ALPHA))
    few = min(n, 17)
    all_few = _timed(lambda: low_rank_ls_svm(X[:, :few], y, 1, alpha=ALPHA))[0]
    # The difference is what a candidate takes, but for noise, which may even make it negative.
    rough = max((all_few - once) / (few - 1), 0.2 * all_few / few)
    affordable = max(16, int(budget / rough))
    steps = _steps_within(affordable, n, k)
    if steps == 0:
        drawn = np.sort(np.random.default_rng(SEED).permutation(n)[:affordable])
        seconds, _ = _timed(lambda: low_rank_ls_svm(X[:, drawn], y, 1, alpha=ALPHA))
        timed, features = affordable, []
    else:
        seconds, answer = _timed(lambda: low_rank_ls_svm(X, y, steps, alpha=ALPHA))
        timed, features = _evaluations(n, steps), answer.indices.tolist()
    is_whole = steps == k
    whole = once + (seconds - once) * (_evaluations(n, k) - 1) / (timed - 1)
    return {
        "seconds": seconds if is_whole else whole,
        "is_scaled": not is_whole,
        "seconds_timed": seconds,
        "features_timed": max(steps, 1),
        "candidates_timed": timed,
        "candidates_in_all": _evaluations(n, k),
    }, features


def _evaluations(n: int, k: int) -> int:
    """Candidates that k steps look at."""
    return k * n - k * (k - 1) // 2


def _steps_within(affordable: int, n: int, k: int) -> int:
    return next((steps for steps in range(k, 0, -1) if _evaluations(n, steps) <= affordable), 0)


def _timed(call: Callable[[], Answer]) -> tuple[float, Answer]:
    began = time.perf_counter()
    answer = call()
    return time.perf_counter() - began, answer


def slope(points: list[dict[str, Any]], algorithm: str) -> float:
    """Exponent of m in the seconds: the slope of a straight line through their logarithms."""
    timed = [(point["m"], point[algorithm]["seconds"]) for point in points if algorithm in point]
    m, seconds = np.log(np.array(timed)).T
    return float(np.polyfit(m, seconds, 1)[0])
