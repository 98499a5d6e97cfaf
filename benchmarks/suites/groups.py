"""Groups of features and costs: time, passes and exact evaluations beside single features.

All rows take turns on the same X in one process; ratios are of medians.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from harness import suite
from harness.measure import Turns, in_turns
from harness.suite import RESULTS, Environment, Suite, option

PROBLEMS = {"a fifth of the groups tell the target": 1.0, "noise alone": 0.0}
UNIT = "features, as many columns"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(suite.Options):
    """Sizes."""

    output: Path = option(RESULTS / "groups.json", "where the JSON goes")
    samples: int = option(20_000, "rows of X")
    features: int = option(1_000, "columns of X")
    width: int = option(5, "columns of a group")
    size: int = option(20, "how many groups to select")
    rounds: int = option(3, "calls of each kind, taking turns")


@dataclass(frozen=True, slots=True)
class Row:
    """One search on one problem."""

    problem: str
    name: str
    values: dict[str, Any]


def made_up(samples: int, features: int, width: int, signal: float) -> tuple[Any, Any]:
    """Normal columns; every fifth group tells the target, or none."""
    generator = np.random.default_rng(0)
    X = generator.standard_normal((samples, features))
    weights = generator.standard_normal(features)
    weights[(np.arange(features) // width) % 5 > 0] = 0.0
    return X, signal * (X @ weights) + 3.0 * generator.standard_normal(samples)


def summary(name: str, turns: Turns) -> dict[str, Any]:
    """The median time of a search, with what it found."""
    path = turns.answers[name]
    return {
        "seconds": round(turns.median(name), 3),
        "ratio": round(turns.median(name) / turns.median(UNIT), 2),
        "columns": len(path.indices),
        "passes": path.counters.passes,
        "exact_evaluations": path.counters.exact_evaluations,
    }


def searches(X: Any, y: Any, width: int, size: int, rounds: int) -> Turns:
    """Groups beside features, one at a time: as many steps, and as many columns."""
    from greedyrls import greedy_path

    n = X.shape[1]
    groups = [list(range(first, min(n, first + width))) for first in range(0, n, width)]
    costs = np.random.default_rng(1).uniform(1.0, 5.0, n)
    return in_turns(
        {
            "features, as many steps": lambda: greedy_path(X, y, size),
            UNIT: lambda: greedy_path(X, y, size * width),
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


def rows(options: Options) -> Iterator[Row]:
    """All searches on both problems."""
    for problem, signal in PROBLEMS.items():
        X, y = made_up(options.samples, options.features, options.width, signal)
        turns = searches(X, y, options.width, options.size, options.rounds)
        for name in turns.answers:
            yield Row(problem, name, summary(name, turns))


def document(options: Options, environment: Environment, found: Sequence[Row]) -> dict[str, Any]:
    """Options, and the searches of each problem."""
    shown = ("samples", "features", "width", "size", "rounds")
    problems: dict[str, dict[str, Any]] = {}
    for row in found:
        problems.setdefault(row.problem, {})[row.name] = row.values
    chosen = {name: getattr(options, name) for name in shown}
    return {"machine": environment, **chosen, "problems": problems}


SUITE = Suite(
    name="groups",
    sentence="Groups of features and costs: time and work beside single features.",
    options=Options,
    rows=rows,
    document=document,
    line=lambda row: f"{row.problem}: {row.name}: {row.values}",
)
