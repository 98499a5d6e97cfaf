"""Whether what the package tells its users is right, by simulation; coverage.py has the intervals.

    python benchmarks/simulations/claims.py [--replications 40] [--only sizes] [--seed 0]

Samples are normal, five features are true with equal coefficients, and `signal` is the ratio of the
variances of signal and noise. Each cell answers one question:

sizes       how many features each rule takes, how many of them are false, and what the model loses
            to the best possible one; with a number for alpha as well
optimism    the held-out loss at the nested choice against the loss on fresh samples
stability   the index over ten folds, over random halves, and over fresh samples
warnings    how often path_warnings says that more features may do better at exactly the true size,
            that near ties decide, with equal features (wrong) and near copies (right), and that
            selections differ
p-values    how often a permutation test is below 0.05 on noise, at one size and at the best of all

Every cell is kept in cache/ as soon as it is there (--fresh forgets it); --report runs none. Writes
results/claims.json and results/claims.md.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from greedyrls import GreedyRLSRegressor, __version__, greedy_path
from greedyrls.assess import (
    Stability,
    cross_validate_path,
    path_warnings,
    permutation_null,
    resample_path,
)

HERE = Path(__file__).parent
TRUE = np.arange(5)
FRESH = 20_000

Generator = np.random.Generator
Numbers = dict[str, float]


def draw(
    generator: Generator, m: int, n: int, signal: float, rho: float = 0.0, copies: bool = False
) -> tuple[Any, Any]:
    """Columns with correlation rho^|i − j|; the true ones are far from each other."""
    Z = generator.standard_normal((m, n))
    X = Z.copy()
    for column in range(1, n):
        X[:, column] = rho * X[:, column - 1] + np.sqrt(1.0 - rho * rho) * Z[:, column]
    order = np.concatenate([true_places(n), np.setdiff1d(np.arange(n), true_places(n))])
    X = X[:, order]  # the true ones first
    if copies:
        X[:, 5:10] = X[:, :5] + 0.05 * generator.standard_normal((m, 5))
    y = np.sqrt(signal / len(TRUE)) * X[:, TRUE].sum(axis=1) + generator.standard_normal(m)
    return X, y


def true_places(n: int) -> Any:
    return np.linspace(0, n - 1, len(TRUE)).astype(int)


def fresh_loss(path: Any, generator: Generator, m: int, n: int, signal: float, rho: float) -> float:
    """Of the model of the chosen size on fresh samples."""
    X, y = draw(generator, FRESH, n, signal, rho)
    return float(np.mean((path.predict(X, path.chosen_size) - y) ** 2))


def sizes(
    generator: Generator, m: int, n: int, signal: float, rho: float, rule: Any, alpha: Any = "auto"
) -> Numbers:
    X, y = draw(generator, m, n, signal, rho)
    path = greedy_path(X, y, "auto", alpha=alpha, size_rule=rule)
    false = np.count_nonzero(path.features(path.chosen_size) >= len(TRUE))
    if signal == 0.0:
        false = path.chosen_size
    loss = fresh_loss(path, generator, m, n, signal, rho)
    return {"size": path.chosen_size, "false": false, "excess loss": loss - 1.0}


def optimism(generator: Generator, m: int, n: int, signal: float) -> Numbers:
    X, y = draw(generator, m, n, signal)
    path = greedy_path(X, y, "auto", alpha="auto")
    surface, size = path.outer_surface, path.chosen_size
    held_out = surface.losses[surface.row, size - 1] if size else surface.initial_loss
    loss = fresh_loss(path, generator, m, n, signal, 0.0)
    return {"held-out by fresh loss, less 1": held_out / loss - 1.0, "size": size}


def stability(generator: Generator, m: int, n: int, signal: float) -> Numbers:
    X, y = draw(generator, m, n, signal)
    found = cross_validate_path(X, y, 5, alpha=10.0, cv=10, n_random=0)
    halves = resample_path(X, y, 5, alpha=10.0, n_resamples=20)
    apart = []
    for _ in range(5):
        fresh, target = draw(generator, m, n, signal)
        apart.append(greedy_path(fresh, target, 5, alpha=10.0).indices)
    truth = Stability(tuple(apart), n, source="fresh samples")
    return {
        "ten folds": float(found.stability.index[-1]),
        "halves": float(halves.index[-1]),
        "fresh samples": float(truth.index[-1]),
        "halves called good": float(", poor" not in halves.sentence),
    }


def told(generator: Generator, m: int, n: int, signal: float, copies: bool = False) -> Numbers:
    X, y = draw(generator, m, n, signal, copies=copies)
    given = path_warnings(greedy_path(X, y, 5, alpha="auto", n_runners_up=3))
    chosen = path_warnings(GreedyRLSRegressor(n_runners_up=3).fit(X, y).path_)
    assessment = cross_validate_path(X, y, 5, alpha=10.0, cv=10, n_random=0)

    def says(found: Any, words: str) -> float:
        return float(any(words in sentence for sentence in found))

    return {
        "still falling, 5 asked for": says(given, "still falling"),
        "near ties, 5 asked for": says(given, "Near ties"),
        "near ties, size chosen": says(chosen, "Near ties"),
        "selections differ": says(assessment.warnings, "differ from fold to fold"),
    }


def p_values(generator: Generator, m: int, n: int) -> Numbers:
    X, y = draw(generator, m, n, 0.0)
    null = permutation_null(X, y, 5, alpha=10.0, n_permutations=39)
    values = np.asarray(null.p_values)
    return {
        "p ≤ 0.05 at 5 features": float(values[-1] <= 0.05),
        "smallest p ≤ 0.05": float(values.min() <= 0.05),
        "best_p_value ≤ 0.05": float(null.best_p_value <= 0.05),
    }


def cells() -> dict[str, Callable[[Generator], Numbers]]:
    found: dict[str, Callable[[Generator], Numbers]] = {}
    for rule in ("min", "1se"):
        for rho in (0.0, 0.7):
            for signal in (0.5, 1.0, 4.0):
                name = f"sizes, {rule}, correlation {rho:g}, signal {signal:g}"
                found[name] = partial(sizes, m=200, n=100, signal=signal, rho=rho, rule=rule)
        found[f"sizes, {rule}, noise"] = partial(
            sizes, m=200, n=100, signal=0.0, rho=0.0, rule=rule
        )
        for signal in (0.0, 4.0):
            found[f"sizes, {rule}, alpha=10, signal {signal:g}"] = partial(
                sizes, m=200, n=100, signal=signal, rho=0.0, rule=rule, alpha=10.0
            )
    for m, n in ((200, 100), (60, 300)):
        for signal in (0.0, 1.0, 4.0):
            name = f"optimism, {m} × {n}, signal {signal:g}"
            found[name] = partial(optimism, m=m, n=n, signal=signal)
    for signal in (0.0, 0.5, 4.0):
        found[f"stability, signal {signal:g}"] = partial(stability, m=200, n=100, signal=signal)
        found[f"warnings, signal {signal:g}"] = partial(told, m=200, n=100, signal=signal)
    found["warnings, near copies"] = partial(told, m=200, n=100, signal=4.0, copies=True)
    found["p-values, noise"] = partial(p_values, m=100, n=50)
    return found


def run(name: str, replications: int, seed: int) -> dict[str, Any]:
    """The means of all replications, and their standard errors."""
    generator = np.random.default_rng([seed, *map(ord, name)])
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of models without features
        rows = [cells()[name](generator) for _ in range(replications)]
    values = np.array([list(row.values()) for row in rows], dtype=float)
    errors = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    return {
        "replications": len(rows),
        "means": dict(zip(rows[0], values.mean(axis=0).round(4).tolist(), strict=True)),
        "errors": dict(zip(rows[0], errors.round(4).tolist(), strict=True)),
        "seconds": round(time.perf_counter() - began, 1),
    }


def report(cache: Path, results: Path) -> None:
    """Write what is in the cache as JSON and as tables, one for each question."""
    files = {name: cache / f"{file_name(name)}.json" for name in cells()}
    kept = {name: json.loads(file.read_text()) for name, file in files.items() if file.exists()}
    results.mkdir(parents=True, exist_ok=True)
    document = {"versions": {"numpy": np.__version__, "greedyrls": __version__}, "cells": kept}
    (results / "claims.json").write_text(json.dumps(document, indent=1) + "\n")
    tables: list[str] = []
    for question in dict.fromkeys(name.split(",")[0] for name in kept):
        own = {name: one for name, one in kept.items() if name.split(",")[0] == question}
        columns = list(next(iter(own.values()))["means"])
        lines = [
            f"| {question} | replications | " + " | ".join(columns) + " |",
            "| --- | --- |" + " --- |" * len(columns),
        ]
        for name, one in own.items():
            shown = [f"{one['means'][key]:.3g} ± {one['errors'][key]:.2g}" for key in columns]
            lines.append(
                f"| {name.split(', ', 1)[-1]} | {one['replications']} | " + " | ".join(shown) + " |"
            )
        tables.append("\n".join(lines) + "\n")
    (results / "claims.md").write_text("\n".join(tables), encoding="utf-8")


def file_name(name: str) -> str:
    return name.replace(" ", "_").replace(",", "").replace("×", "x").replace("=", "")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--replications", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0, help="of all draws")
    parser.add_argument("--only", action="append", help="the beginning of names of cells")
    parser.add_argument("--fresh", action="store_true", help="run cells that are kept as well")
    parser.add_argument("--report", action="store_true", help="run nothing")
    parser.add_argument("--names", action="store_true", help="print the names of all cells")
    parser.add_argument("--cache", type=Path, default=HERE / "cache")
    parser.add_argument("--output", type=Path, default=HERE / "results")
    given = parser.parse_args(arguments)
    if given.names:
        print("\n".join(cells()))
        return
    given.cache.mkdir(parents=True, exist_ok=True)
    for name in cells():
        file = given.cache / f"{file_name(name)}.json"
        is_asked = not given.only or name.startswith(tuple(given.only))
        if given.report or not is_asked or (file.exists() and not given.fresh):
            continue
        kept = run(name, given.replications, given.seed)
        file.write_text(json.dumps(kept))
        print(name, kept["means"], f"{kept['seconds']} s", file=sys.stderr)
    report(given.cache, given.output)


if __name__ == "__main__":
    main()
