"""How often the 95 % interval of an assessment has the loss that it is of.

Each cell draws fresh samples so many times, assesses five features with penalty 10 in ten folds,
and compares `PathAssessment.interval` with the truth: the mean over all replications and folds of
the loss of the fold's model on many other samples. Every cell is kept in cache/ as soon as it is
there, and not run again (--fresh forgets it); --report runs none. Writes coverage.json and
coverage.md from all that are in cache/. Several runs may share the cells (--only).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from greedyrls import __version__
from greedyrls.assess import PathAssessment, cross_validate_path
from harness import suite
from harness.suite import CACHE, RESULTS, CannotRun, Suite, option
from harness.writer import read_json, write_compact_json, write_json, write_text

SIZE, ALPHA, FOLDS, TRUE = 5, 10.0, 10, 5
TEST_ROWS = 40_000
SIGNALS = {"noise": 0.0, "weak": 0.25, "strong": 4.0}
SHARES = {"regression": None, "half": 0.5, "15%": 0.15, "5%": 0.05}
KINDS = {
    "regression": "regression",
    "half": "error rate, 50 % positives",
    "15%": "error rate, 15 % positives",
    "5%": "error rate, 5 % positives",
}
SAMPLES = (60, 200, 400)
# Error rates of fewer positives than folds, and little else, are no question for an interval.
LEAST_POSITIVES = 5

COLUMNS = ["estimate", "samples", "difference", "folds", "stability", "truth"]
RATIO = FOLDS / (FOLDS - 1)
NORMAL, T9 = NormalDist().inv_cdf(0.975), 2.2621571628


class Cell(NamedTuple):
    """Samples of one kind."""

    kind: str
    samples: int
    features: int
    signal: str

    @property
    def name(self) -> str:
        return f"{self.kind}-{self.samples}x{self.features}-{self.signal}"

    def draw(self, generator: np.random.Generator, count: int) -> tuple[Any, Any]:
        """Normal columns, five of which tell the target with equal coefficients, or none."""
        ratio, share = SIGNALS[self.signal], SHARES[self.kind]
        X = generator.standard_normal((count, self.features))
        y = np.sqrt(ratio / TRUE) * X[:, :TRUE].sum(axis=1) + generator.standard_normal(count)
        if share is None:
            return X, y
        threshold = np.sqrt(1.0 + ratio) * NormalDist().inv_cdf(1.0 - share)
        return X, np.where(y > threshold, 1.0, -1.0)


def cells() -> Iterator[Cell]:
    for samples in (200, 400, 60):
        for kind, share in SHARES.items():
            if share is not None and share * samples < LEAST_POSITIVES:
                continue
            for features in (100, 20, 500):
                for signal in SIGNALS:
                    yield Cell(kind, samples, features, signal)


def folds_of(cell: Cell) -> KFold | StratifiedKFold:
    return KFold(FOLDS) if cell.kind == "regression" else StratifiedKFold(FOLDS)


def true_losses(
    X: Any, y: Any, splitter: Any, found: PathAssessment, Z: Any, target: Any
) -> list[float]:
    """Of the model of each fold on other samples; Z is (features × samples)."""
    is_regression = found.measure == "squared"

    def loss(predictions: Any, known: Any) -> float:
        wrong = (predictions - known) ** 2 if is_regression else predictions * known <= 1e-10
        return float(np.mean(wrong))

    losses = []
    for fold, (train, test) in enumerate(splitter.split(X, y)):
        chosen = found.features[fold]
        A = X[np.ix_(train, chosen)]
        centre, mean = A.mean(axis=0), y[train].mean()
        gram = (A - centre).T @ (A - centre) + ALPHA * np.eye(len(chosen))
        w = np.linalg.solve(gram, (A - centre).T @ (y[train] - mean))
        b = mean - centre @ w
        held_out = loss(X[np.ix_(test, chosen)] @ w + b, y[test])
        if abs(held_out - found.test_losses[fold, -1]) > 1e-8:
            raise AssertionError(f"fold {fold}: {held_out}, not {found.test_losses[fold, -1]}")
        losses.append(loss(w @ Z[chosen] + b, target))
    return losses


def run(cell: Cell, replications: int, seed: int) -> dict[str, Any]:
    """Estimates, errors and truth of all replications."""
    generator = np.random.default_rng([seed, *map(ord, cell.name)])
    splitter = folds_of(cell)
    Z, target = cell.draw(generator, TEST_ROWS)
    Z = np.ascontiguousarray(Z.T)
    rows: list[list[float]] = []
    began = time.perf_counter()
    while len(rows) < replications:
        X, y = cell.draw(generator, cell.samples)
        if cell.kind != "regression" and (y > 0.0).sum() < LEAST_POSITIVES:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of classes smaller than folds
            found = cross_validate_path(
                *(X, y, SIZE),
                alpha=ALPHA,
                cv=splitter,
                n_random=0,
                task="regression" if cell.kind == "regression" else "classification",
            )
            truth = true_losses(X, y, splitter, found, Z, target)
        rows.append([*parts(found), float(np.mean(truth))])
    seconds = round(time.perf_counter() - began, 1)
    return {"replications": rows, "columns": COLUMNS, "seconds": seconds}


def parts(found: PathAssessment) -> list[float]:
    """The estimate, its errors from samples and from folds before any correction, and stability.

    Between them the error of the difference to the loss without features.

    What an assessment makes of them is compared with `our_errors`, so that a cell need not be run
    again when other corrections are tried.
    """
    assert found.held_out_covariance is not None
    estimate, error = found.estimate
    spread = found.shares * (found.chosen_losses - estimate)
    of_folds = np.sqrt(np.sum(spread**2) * FOLDS / (FOLDS - 1))
    (own, common), (_, none) = found.held_out_covariance[:2, :2]
    of_samples = np.sqrt(own)
    difference = np.sqrt(max(0.0, own + none - 2.0 * common))
    index = float(found.stability.index[-1])
    ours = float(our_errors(of_samples, difference, np.array(index)))
    low, high = found.interval
    expected = max(0.0, estimate - T9 * ours), estimate + T9 * ours
    if not np.allclose([error, low], [ours, expected[0]]) or high > expected[1] + 1e-9:
        raise AssertionError(f"{error}, {found.interval} are not {ours}, {expected}")
    return [float(value) for value in (estimate, of_samples, difference, of_folds, index)]


def our_errors(samples: Any, difference: Any, index: Any) -> Any:
    """The standard errors of `PathAssessment.estimate`."""
    depending = samples * np.minimum(samples, difference)
    return np.sqrt(samples**2 + np.clip(2.0 * (1.0 - index), 0.0, 1.0) * RATIO * depending)


def summary(cell: dict[str, Any]) -> dict[str, float]:
    """Coverage of our interval and of others, and errors over the true spread."""
    estimate, samples, difference, folds, index, truths = np.array(cell["replications"]).T
    truth, sd = truths.mean(), estimate.std(ddof=1)
    full = np.sqrt(1.0 + RATIO)

    def coverage(errors: Any, quantile: float) -> float:
        return float(np.mean(np.abs(estimate - truth) <= quantile * errors))

    error = our_errors(samples, difference, index)
    found = {
        "truth": truth,
        "bias / sd": (estimate.mean() - truth) / sd,
        "error / sd": np.sqrt(np.mean(error**2)) / sd,
        "stability": index.mean(),
        "ours": coverage(error, T9),
        "before": coverage(folds, NORMAL),
        "samples, normal": coverage(samples, NORMAL),
        "samples, t": coverage(samples, T9),
        "larger of both, t": coverage(np.maximum(samples, folds), T9),
        "NB by Φ, t": coverage(our_errors(samples, samples, index), T9),
        "NB, normal": coverage(samples * full, NORMAL),
        "NB, t": coverage(samples * full, T9),
        "folds NB, t": coverage(folds * full, T9),
    }
    return {name: float(value) for name, value in found.items()}


def table(found: dict[str, dict[str, float]], counts: set[int]) -> str:
    """Markdown."""
    names = list(next(iter(found.values())))
    head = ["cell", *names]
    lines = [
        f"Coverage of 95 % intervals; {' or '.join(map(str, sorted(counts)))} replications in each "
        "cell, so one standard error of a coverage of 0.95 is "
        f"{np.sqrt(0.95 * 0.05 / min(counts)):.3f}. `before`: errors over folds, as they "
        f"were. NB: errors times √(1 + {FOLDS}/{FOLDS - 1}). normal: times 1.96; t: times "
        f"{T9:.2f}. Errors are of samples unless it says folds.\n",
        "| " + " | ".join(head) + " |",
        "| " + " | ".join(["---"] * len(head)) + " |",
    ]
    for cell, values in found.items():
        shown = [
            f"{values[name]:.3g}" if name == "truth" else f"{values[name]:.2f}" for name in names
        ]
        lines.append("| " + " | ".join([cell, *shown]) + " |")
    return "\n".join(lines) + "\n"


def short_table(found: dict[str, dict[str, float]]) -> str:
    """Markdown: the lowest and highest coverage over features and signals."""
    lines = [
        "| | samples | cells | spread of folds × 1.96 | `assessment.interval` |",
        "| --- | --- | --- | --- | --- |",
    ]
    for kind, title in KINDS.items():
        for samples in SAMPLES:
            start = f"{kind}-{samples}x"
            own = [values for name, values in found.items() if name.startswith(start)]
            ranges = [
                f"{min(value[key] for value in own):.2f} to {max(value[key] for value in own):.2f}"
                for key in ("before", "ours")
                if own
            ]
            if own:
                lines.append(f"| {title} | {samples} | {len(own)} | {' | '.join(ranges)} |")
    return "\n".join(lines) + "\n"


def report(cache: Path, results: Path) -> None:
    """Write what is in the cache as JSON and as a table."""
    files = {cell.name: cache / f"{cell.name}.json" for cell in cells()}
    kept = {name: read_json(file) for name, file in files.items() if file.exists()}
    if not kept:
        raise CannotRun(f"No cells in {cache}: run the suite without --report first.")
    found = {name: summary(one) for name, one in kept.items()}
    counts = {len(one["replications"]) for one in kept.values()}
    document = {
        "versions": {"numpy": np.__version__, "greedyrls": __version__},
        "size": SIZE,
        "alpha": ALPHA,
        "folds": FOLDS,
        "cells": {
            name: {"replications": len(kept[name]["replications"])}
            | {key: round(value, 4) for key, value in values.items()}
            for name, values in found.items()
        },
    }
    write_json(results / "coverage.json", document)
    text = f"{short_table(found)}\n{table(found, counts)}"
    write_text(results / "coverage.md", text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(suite.Options):
    """Which cells, and how often."""

    output: Path = option(RESULTS / "simulations", "folder of the results")
    cache: Path = option(CACHE / "simulations", "folder of the cells")
    replications: int = option(100, "samples that are drawn for each cell")
    seed: int = option(0, "of all draws")
    only: tuple[str, ...] = option((), "the beginnings of names of cells", metavar="NAME")
    fresh: bool = option(False, "run cells that are kept as well")
    report: bool = option(False, "run nothing; write the results from what is kept")


def rows(options: Options) -> Iterator[str]:
    """Run the cells that are not kept yet, then write the results; a line for each cell."""
    for cell in cells():
        file = options.cache / f"{cell.name}.json"
        is_asked = not options.only or cell.name.startswith(options.only)
        if options.report or not is_asked or (file.exists() and not options.fresh):
            continue
        kept = run(cell, options.replications, options.seed)
        write_compact_json(file, kept)
        found = summary(kept)
        shown = {name: round(found[name], 2) for name in ("error / sd", "ours", "before")}
        yield f"{cell.name} {shown} {kept['seconds']} s"
    report(options.cache, options.output)


SUITE = Suite(
    name="coverage",
    sentence="How often the 95 % interval of an assessment contains the true loss.",
    options=Options,
    rows=rows,
)
