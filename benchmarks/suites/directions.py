"""Directions as ratios within one process.

Floating, FoBa and exchanges over the search forward of the same minutes, calls taking turns; the
backward search over scikit-learn's SequentialFeatureSelector on a size that it can finish, where
both must end with the same features; and the backward search on a size that it cannot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from harness import suite
from harness.measure import in_turns, timed
from harness.suite import ALL_CORES, RESULTS, CannotRun, Environment, Renderer, Suite, option

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


def few_factors(samples: int, features: int) -> tuple[np.ndarray, np.ndarray]:
    """Features that are mostly ten common parts: floating makes up to 4 times the steps here."""
    generator = np.random.default_rng(3)
    X = generator.standard_normal((samples, 10)) @ generator.standard_normal((10, features))
    X += 0.5 * generator.standard_normal(X.shape)
    return X, X[:, :20] @ generator.standard_normal(20) + generator.standard_normal(samples)


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
    calls: dict[str, Callable[[], Any]] = {}
    for name in ("forward", *MOVING):
        direction: Any = name
        calls[name] = partial(greedy_path, X, y, size, direction=direction, **options)
    turns = in_turns(calls, rounds)
    what = f"{samples:,} × {features:,}, k = {size}" + (", 5 folds" if options else "")
    if problem is not made_up:
        what += f", {problem.__name__.replace('_', ' ')}"
    rows = []
    for name, path in turns.answers.items():
        removals = sum(step.action == "remove" for step in path.steps)
        gain = 100.0 * (1.0 - path.losses[-1] / turns.answers["forward"].losses[-1])
        rows.append(
            [
                what,
                name,
                f"{turns.median(name):.2f}",
                f"{turns.ratio(name, 'forward'):.2f}",
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
        raise CannotRun("WRONG: scikit-learn's selector ends with other features.")
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


HEADS = ["problem", "search", "seconds", "ratio", "goal", "what came of it"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(suite.Options):
    """How often, and how large."""

    output: Path = option(RESULTS / "directions.json", "where the JSON goes")
    threads: int = option(ALL_CORES, "threads of BLAS and OpenMP; 0: all cores")
    rounds: int = option(3, "calls of each kind, taking turns")
    quick: bool = option(False, "small problems: a smoke test")


def rows(options: Options) -> Iterator[list[str]]:
    """All comparisons."""
    rounds, share = options.rounds, 10 if options.quick else 1
    middle, tall = (5000 // share, 500 // share), (50_000 // share, 1000 // share)
    size = min(50, middle[1] // 2)
    yield from against_scikit_learn(1000 // share, 40, 10)
    yield from moving(made_up, *middle, size, rounds)
    yield from moving(made_up, *middle, size, rounds, cv=5)
    yield from moving(made_up, *tall, size, rounds)
    yield from moving(few_factors, *middle, min(30, size), rounds)
    yield from moving(few_factors, 200, 3000 // share, min(20, size), rounds)
    yield from moving(tangled, *middle, size, rounds)
    yield from moving(tangled, *middle, size, rounds, cv=5)
    yield from backward(*middle, size, rounds)


def document(
    options: Options, environment: Environment, found: Sequence[list[str]]
) -> dict[str, Any]:
    """All rows as the table has them."""
    return {"environment": environment, "columns": HEADS, "rows": list(found)}


def page(environment: Environment, found: Sequence[list[str]], table: Renderer) -> str:
    """One table."""
    return table([HEADS, *found]) + "\n"


SUITE = Suite(
    name="directions",
    sentence="Backward, floating, FoBa and exchanges: time and loss beside the search forward.",
    options=Options,
    rows=rows,
    document=document,
    page=page,
    line="  ".join,
)
