"""Groups of features and costs: time, passes and exact evaluations beside single features.

    python benchmarks/groups.py [--samples 20000 --features 1000 --width 5 --size 20]

Writes results/groups.json. All rows take turns on the same X in one process; ratios are of medians.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import machine

RESULTS = Path(__file__).parent / "results" / "groups.json"


def made_up(samples: int, features: int, width: int, signal: float) -> tuple[Any, Any]:
    """Normal columns; every fifth group tells the target, or none."""
    generator = np.random.default_rng(0)
    X = generator.standard_normal((samples, features))
    weights = generator.standard_normal(features)
    weights[(np.arange(features) // width) % 5 > 0] = 0.0
    return X, signal * (X @ weights) + 3.0 * generator.standard_normal(samples)


def measured(jobs: dict[str, Callable[[], Any]], rounds: int) -> dict[str, dict[str, Any]]:
    """Jobs in turns: the median time of each, with what it found."""
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    found: dict[str, Any] = {}
    for _ in range(rounds):
        for name, job in jobs.items():
            began = time.perf_counter()
            found[name] = job()
            seconds[name].append(time.perf_counter() - began)
    unit = median(seconds["features, as many columns"])
    return {
        name: {
            "seconds": round(median(own), 3),
            "ratio": round(median(own) / unit, 2),
            "columns": len(found[name].indices),
            "passes": found[name].counters.passes,
            "exact_evaluations": found[name].counters.exact_evaluations,
        }
        for name, own in seconds.items()
    }


def rows(X: Any, y: Any, width: int, size: int, rounds: int) -> dict[str, dict[str, Any]]:
    """Groups beside features, one at a time: as many steps, and as many columns."""
    from greedyrls import greedy_path

    n = X.shape[1]
    groups = [list(range(first, min(n, first + width))) for first in range(0, n, width)]
    costs = np.random.default_rng(1).uniform(1.0, 5.0, n)
    return measured(
        {
            "features, as many steps": lambda: greedy_path(X, y, size),
            "features, as many columns": lambda: greedy_path(X, y, size * width),
            "features that cost, as many columns": lambda: greedy_path(
                X, y, size * width, feature_costs=costs
            ),
            "groups": lambda: greedy_path(X, y, size, feature_groups=groups),
            "groups that cost": lambda: greedy_path(
                X, y, size, feature_groups=groups, feature_costs=costs
            ),
            "groups, every one scored": lambda: greedy_path(
                X, y, size, feature_groups=groups, search="exhaustive"
            ),
            "groups, 10 folds": lambda: greedy_path(X, y, size, feature_groups=groups, cv=10),
            "features, 10 folds, as many columns": lambda: greedy_path(X, y, size * width, cv=10),
        },
        rounds,
    )


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=20_000)
    parser.add_argument("--features", type=int, default=1_000)
    parser.add_argument("--width", type=int, default=5)
    parser.add_argument("--size", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    results: dict[str, Any] = {"machine": machine.environment(1), **vars(options), "problems": {}}
    for name, signal in (("a fifth of the groups tell the target", 1.0), ("noise alone", 0.0)):
        X, y = made_up(options.samples, options.features, options.width, signal)
        found = rows(X, y, options.width, options.size, options.rounds)
        results["problems"][name] = found
        for row, values in found.items():
            print(f"{name}: {row}: {values}")
    RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
