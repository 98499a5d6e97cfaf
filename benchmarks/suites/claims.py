"""Whether what the package tells its users is right, by simulation.

Intervals have a suite of their own, coverage.

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
claims.json and claims.md.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
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
from harness import suite
from harness.suite import CACHE, RESULTS, CannotRun, Suite, option
from harness.writer import read_json, write_compact_json, write_json, write_text

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
    false = int(np.count_nonzero(path.features(path.chosen_size) >= len(TRUE)))
    if signal == 0.0:
        false = path.chosen_size
    loss = fresh_loss(path, generator, m, n, signal, rho)
    return {"size": path.chosen_size, "false": false, "excess loss": loss - 1.0}


def optimism(generator: Generator, m: int, n: int, signal: float) -> Numbers:
    X, y = draw(generator, m, n, signal)
    path: Any = greedy_path(X, y, "auto", alpha="auto")
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
    kept = {name: read_json(file) for name, file in files.items() if file.exists()}
    if not kept:
        raise CannotRun(f"No cells in {cache}: run the suite without --report first.")
    document = {"versions": {"numpy": np.__version__, "greedyrls": __version__}, "cells": kept}
    write_json(results / "claims.json", document)
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
    write_text(results / "claims.md", "\n".join(tables))


def file_name(name: str) -> str:
    return name.replace(" ", "_").replace(",", "").replace("×", "x").replace("=", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(suite.Options):
    """Which cells, and how often."""

    output: Path = option(RESULTS / "simulations", "folder of the results")
    cache: Path = option(CACHE / "simulations", "folder of the cells")
    replications: int = option(40, "samples that are drawn for each cell")
    seed: int = option(0, "of all draws")
    only: tuple[str, ...] = option((), "the beginnings of names of cells", metavar="NAME")
    fresh: bool = option(False, "run cells that are kept as well")
    report: bool = option(False, "run nothing; write the results from what is kept")
    names: bool = option(False, "print the names of all cells, and run nothing")


def rows(options: Options) -> Iterator[str]:
    """Run the cells that are not kept yet, then write the results; a line for each cell."""
    if options.names:
        yield from cells()
        return
    for name in cells():
        file = options.cache / f"{file_name(name)}.json"
        is_asked = not options.only or name.startswith(options.only)
        if options.report or not is_asked or (file.exists() and not options.fresh):
            continue
        kept = run(name, options.replications, options.seed)
        write_compact_json(file, kept)
        yield f"{name} {kept['means']} {kept['seconds']} s"
    report(options.cache, options.output)


SUITE = Suite(
    name="claims",
    sentence="Whether what the package tells its users is right, by simulation.",
    options=Options,
    rows=rows,
)
