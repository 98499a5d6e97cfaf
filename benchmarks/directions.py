"""Directions as ratios within one process: `python benchmarks/directions.py [--rounds 3]`.

Floating, FoBa and exchanges over the search forward of the same minutes, calls taking turns; the
backward search over scikit-learn's SequentialFeatureSelector on a size that it can finish, where
both must end with the same features; and the backward search on a size that it cannot. Writes
results/directions.json and results/directions.md.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import machine
import tables

RESULTS = Path(__file__).parent / "results" / "directions.json"
MOVING = ("floating", "foba", "swap")


def made_up(samples: int, features: int) -> tuple[np.ndarray, np.ndarray]:
    """Normal features, of which 30 tell the target, and a common part of all."""
    generator = np.random.default_rng(2010)
    X = generator.standard_normal((samples, features)) + 0.5 * generator.standard_normal(
        (samples, 1)
    )
    weights = np.zeros(features)
    weights[generator.permutation(features)[:30]] = generator.standard_normal(30)
    return X, X @ weights + 3.0 * generator.standard_normal(samples)


def tangled(samples: int, features: int) -> tuple[np.ndarray, np.ndarray]:
    """Features that are mostly 30 common parts, of which 40 tell the target: hard for forward."""
    generator = np.random.default_rng(2010)
    common = generator.standard_normal((samples, 30)) @ generator.standard_normal((30, features))
    X = common + 0.5 * generator.standard_normal((samples, features))
    y = X[:, :40] @ generator.standard_normal(40) + 3.0 * generator.standard_normal(samples)
    return X, y


def timed(job: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds, and what came of it."""
    began = time.perf_counter()
    found = job()
    return time.perf_counter() - began, found


def moving(
    problem: Callable[[int, int], tuple[np.ndarray, np.ndarray]],
    samples: int,
    features: int,
    size: int,
    rounds: int,
    **options: Any,
) -> list[list[str]]:
    """Searches that add and remove, over the one that only adds."""
    from greedyrls import greedy_path

    X, y = problem(samples, features)
    greedy_path(X[:500], y[:500], 2)  # imports and first calls
    seconds: dict[str, list[float]] = {name: [] for name in ("forward", *MOVING)}
    paths = {}
    for _ in range(rounds):
        for name, spent in seconds.items():
            direction: Any = name
            search = partial(greedy_path, X, y, size, direction=direction, **options)
            taken, paths[name] = timed(search)
            spent.append(taken)
    what = f"{samples:,} × {features:,}, k = {size}" + (", 5 folds" if options else "")
    if problem is tangled:
        what += ", tangled"
    rows = []
    for name, spent in seconds.items():
        # Of each round: a busy machine is busy for both.
        ratio = median(a / b for a, b in zip(spent, seconds["forward"], strict=True))
        path = paths[name]
        removals = sum(step.action == "remove" for step in path.steps)
        gain = 100.0 * (1.0 - path.losses[-1] / paths["forward"].losses[-1])
        rows.append(
            [
                what,
                name,
                f"{median(spent):.2f}",
                f"{ratio:.2f}",
                "≤ 4" if name == "floating" else "",
                f"{len(path.steps)} steps, {removals} of them removals, loss {gain:.3f} % below "
                "forward's",
            ]
        )
    return rows


def against_scikit_learn(samples: int, features: int, size: int) -> list[list[str]]:
    """The same backward elimination by refits."""
    from sklearn.feature_selection import SequentialFeatureSelector
    from sklearn.linear_model import Ridge

    from greedyrls import greedy_path

    X, y = made_up(samples, features)
    greedy_path(X, y, size, direction="backward", cv=5)
    ours, path = timed(lambda: greedy_path(X, y, size, direction="backward", cv=5))
    selector = SequentialFeatureSelector(
        Ridge(alpha=1.0),
        n_features_to_select=size,
        direction="backward",
        scoring="neg_mean_squared_error",
        cv=5,
    )
    theirs, _ = timed(lambda: selector.fit(X, y))
    same = sorted(path.features(size)) == np.flatnonzero(selector.get_support()).tolist()
    if not same:
        raise SystemExit("scikit-learn's selector ends with other features")
    what = f"{samples:,} × {features:,} to {size}, 5 folds"
    return [
        [what, "backward", f"{ours:.3f}", "1", "", "to size 1; same features"],
        [what, "scikit-learn SFS backward", f"{theirs:.1f}", f"{theirs / ours:.0f}", "", ""],
    ]


def backward(samples: int, features: int, size: int, rounds: int) -> list[list[str]]:
    """From all features, where refits cannot."""
    from greedyrls import greedy_path

    X, y = made_up(samples, features)
    rows = []
    kinds: list[dict[str, Any]] = [{}, {"cv": 5}]
    for options in kinds:
        search = partial(greedy_path, X, y, size, direction="backward", **options)
        runs = [timed(search) for _ in range(rounds)]
        path = runs[-1][1]
        forward = greedy_path(X, y, size, **options)
        gain = 100.0 * (1.0 - path.losses[-1] / forward.losses[-1])
        rows.append(
            [
                f"{samples:,} × {features:,} to {size}" + (", 5 folds" if options else ""),
                "backward",
                f"{median(seconds for seconds, _ in runs):.2f}",
                "",
                "",
                f"{len(path.steps)} removals, {path.counters.rebuilds + 1} factorisations, loss "
                f"{gain:.3f} % below forward's",
            ]
        )
    return rows


def main() -> int:
    """Run, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="calls of each kind, taking turns")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    import greedyrls  # noqa: F401  # limits are for libraries that are loaded already

    with threadpool_limits(arguments.threads):
        rows: list[list[str]] = []
        parts: list[Callable[[], list[list[str]]]] = [
            partial(against_scikit_learn, 1000, 40, 10),
            partial(moving, made_up, 5000, 500, 50, arguments.rounds),
            partial(moving, made_up, 5000, 500, 50, arguments.rounds, cv=5),
            partial(moving, made_up, 50_000, 1000, 50, arguments.rounds),
            partial(moving, tangled, 5000, 500, 50, arguments.rounds),
            partial(moving, tangled, 5000, 500, 50, arguments.rounds, cv=5),
            partial(backward, 5000, 500, 50, arguments.rounds),
        ]
        for part in parts:
            found = part()
            rows += found
            print("\n".join("  ".join(row) for row in found), file=sys.stderr, flush=True)
    heads = ["problem", "search", "seconds", "ratio", "goal", "what came of it"]
    environment = machine.environment(arguments.threads)
    document = {"environment": environment, "columns": heads, "rows": rows}
    arguments.output.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    text = tables.markdown([heads, *rows])
    arguments.output.with_suffix(".md").write_text(text + "\n")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
