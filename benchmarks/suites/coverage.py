"""How often the 95 % interval of an assessment has the loss that it is of.

Each cell draws fresh samples so many times, assesses five features with penalty 10 in ten folds,
and compares `PathAssessment.interval` with the truth: the mean over all replications and folds of
the true loss of the fold's model, from its coefficients. Every cell is kept in cache/ as soon as it
is there, and not run again (--fresh forgets it); --report runs none. Writes coverage.json and
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
from scipy.special import ndtr, owens_t, stdtrit
from sklearn.model_selection import KFold, StratifiedKFold

from greedyrls import __version__
from greedyrls.assess import PathAssessment, cross_validate_path
from harness import suite
from harness.suite import CACHE, RESULTS, CannotRun, Suite, option
from harness.writer import read_json, write_compact_json, write_json, write_text

SIZE, ALPHA, FOLDS, TRUE = 5, 10.0, 10, 5
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

# Errors of the loss and of its difference to the loss without features, from samples; the same for
# a threshold that is given; the spread of the folds.
COLUMNS = [
    *("estimate", "samples", "difference", "given", "given difference"),
    *("folds", "stability", "truth"),
]
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

    def true_loss(self, chosen: Any, w: Any, b: float) -> float:
        """Of the model with coefficients w of the features chosen and intercept b."""
        ratio, share = SIGNALS[self.signal], SHARES[self.kind]
        true = np.where(chosen < TRUE, np.sqrt(ratio / TRUE), 0.0)
        if share is None:
            return float(1.0 + np.sum((w - true) ** 2) + ratio - np.sum(true**2) + b**2)
        norm = np.sqrt(np.sum(w**2))
        # The prediction and what is behind the class are normal and correlated.
        cuts = -b / norm, NormalDist().inv_cdf(1.0 - share)
        both = both_below(*cuts, float(w @ true / (norm * np.sqrt(1.0 + ratio))))
        return float(ndtr(cuts[0]) + ndtr(cuts[1]) - 2.0 * both)


def both_below(h: float, k: float, correlation: float) -> float:
    """The probability that two standard normal numbers are below h and k (Owen 1956)."""
    h, k = (value if abs(value) > 1e-12 else 1e-12 for value in (h, k))
    root = np.sqrt(1.0 - correlation**2)
    parts = [
        ndtr(one) / 2.0 - owens_t(one, (other - correlation * one) / (one * root))
        for one, other in ((h, k), (k, h))
    ]
    return float(sum(parts) - (0.5 if h * k < 0.0 else 0.0))


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
    cell: Cell, X: Any, y: Any, splits: list[tuple[Any, Any]], found: PathAssessment
) -> list[float]:
    """Of the model of each fold."""
    losses = []
    for fold, (train, test) in enumerate(splits):
        chosen = found.features[fold]
        A = X[np.ix_(train, chosen)]
        centre, mean = A.mean(axis=0), y[train].mean()
        gram = (A - centre).T @ (A - centre) + ALPHA * np.eye(len(chosen))
        w = np.linalg.solve(gram, (A - centre).T @ (y[train] - mean))
        b = mean - centre @ w
        P, known = X[np.ix_(test, chosen)] @ w + b, y[test]
        wrong = (P - known) ** 2 if found.measure == "squared" else P * known <= 1e-10
        if abs(np.mean(wrong) - found.test_losses[fold, -1]) > 1e-8:
            expected = found.test_losses[fold, -1]
            raise AssertionError(f"fold {fold}: {np.mean(wrong)}, not {expected}")
        losses.append(cell.true_loss(chosen, w, b))
    return losses


def run(cell: Cell, replications: int, seed: int) -> dict[str, Any]:
    """Estimates, errors and truth of all replications."""
    generator = np.random.default_rng([seed, *map(ord, cell.name)])
    splitter = folds_of(cell)
    measure = "squared" if cell.kind == "regression" else "zero_one"
    rows: list[list[float]] = []
    began = time.perf_counter()
    while len(rows) < replications:
        X, y = cell.draw(generator, cell.samples)
        if cell.kind != "regression" and (y > 0.0).sum() < LEAST_POSITIVES:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of classes smaller than folds
            splits = list(splitter.split(X, y))
            # Targets −1 and 1 as numbers: the same models, and no other rates of classes.
            found = cross_validate_path(
                *(X, y, SIZE),
                alpha=ALPHA,
                cv=splits,
                n_random=0,
                task="regression",
                measure=measure,
            )
        truth = float(np.mean(true_losses(cell, X, y, splits, found)))
        rows.append([*parts(found), truth])
    seconds = round(time.perf_counter() - began, 1)
    return {
        "replications": rows,
        "columns": COLUMNS,
        "samples": cell.samples,
        "measure": measure,
        "seconds": seconds,
    }


def parts(found: PathAssessment) -> list[float]:
    """The estimate, its errors from samples and from folds before any correction, and stability.

    What an assessment makes of them is compared with `our_errors`, so that a cell need not be run
    again when other corrections are tried.
    """
    assert found.held_out_covariance is not None
    estimate, error = found.estimate
    spread = found.shares * (found.chosen_losses - estimate)
    of_folds = np.sqrt(np.sum(spread**2) * FOLDS / (FOLDS - 1))
    errors = []
    for place in (0, -1):  # the chosen size, the same as the largest
        own, none = found.held_out_covariance[place, place], found.held_out_covariance[1, 1]
        common = found.held_out_covariance[1, place]
        errors += [np.sqrt(own), np.sqrt(max(0.0, own + none - 2.0 * common))]
    index = float(found.stability.index[-1])
    ours = float(our_errors(*errors[:2], np.array(index)))
    expected = interval(estimate, ours, t_quantile(found.n_samples), found.measure == "zero_one")
    if not np.allclose([error, *found.interval], [ours, np.maximum(expected[0], 0.0), expected[1]]):
        raise AssertionError(f"{error}, {found.interval} are not {ours}, {expected}")
    return [float(value) for value in (estimate, *errors, of_folds, index)]


def our_errors(samples: Any, difference: Any, index: Any, bound: float = 0.75) -> Any:
    """The standard errors of `PathAssessment.estimate`."""
    depending = samples * np.minimum(samples, difference)
    differing = np.clip((1.0 - index) / (1.0 - bound), 0.0, 1.0)
    return np.sqrt(samples**2 + differing * RATIO * depending)


def t_quantile(samples: int) -> float:
    return float(stdtrit(samples - 1, 0.975))


def interval(estimate: Any, errors: Any, quantile: float, is_rate: bool) -> tuple[Any, Any]:
    """That of `PathAssessment`: for rates, those p with |p − estimate| ≤ quantile × error of p."""
    if not is_rate:
        return estimate - quantile * errors, estimate + quantile * errors
    variance = np.maximum(estimate * (1.0 - estimate), 1e-12)
    ratio = quantile**2 * errors**2 / variance
    width = np.sqrt(ratio * (variance + ratio / 4.0))
    ends = (estimate + ratio / 2.0 + sign * width for sign in (-1.0, 1.0))
    low, high = (end / (1.0 + ratio) for end in ends)
    return low, high


def summary(cell: dict[str, Any]) -> dict[str, float]:
    """Coverage of our interval and of others, and errors over the true spread."""
    columns = np.array(cell["replications"]).T
    estimate, samples, difference, given, given_difference, folds, index, truths = columns
    truth, sd = truths.mean(), estimate.std(ddof=1)
    t, is_rate = t_quantile(cell["samples"]), cell["measure"] == "zero_one"

    def coverage(errors: Any, quantile: float, is_wilson: bool = False) -> float:
        low, high = interval(estimate, errors, quantile, is_wilson)
        return float(np.mean((low <= truth) & (truth <= high)))

    error = our_errors(samples, difference, index)
    found = {
        "truth": truth,
        "bias / sd": (estimate.mean() - truth) / sd,
        "error / sd": np.sqrt(np.mean(error**2)) / sd,
        "stability": index.mean(),
        "ours": coverage(error, t, is_rate),
        "spread of folds": coverage(folds, NORMAL),
        "former": coverage(our_errors(given, given_difference, index, 0.5), T9),
        "ours, symmetric": coverage(error, t),
        "ours, given threshold": coverage(our_errors(given, given_difference, index), t, is_rate),
        "ours, not shared": coverage(samples, t, is_rate),
        "samples": coverage(given, NORMAL),
        "NB": coverage(given * np.sqrt(1.0 + RATIO), NORMAL),
    }
    return {name: float(value) for name, value in found.items()}


def table(found: dict[str, dict[str, float]], counts: set[int]) -> str:
    """Markdown."""
    names = list(next(iter(found.values())))
    head = ["cell", *names]
    lines = [
        f"Coverage of 95 % intervals; {' or '.join(map(str, sorted(counts)))} replications in each "
        "cell, so one standard error of a coverage of 0.95 is "
        f"{np.sqrt(0.95 * 0.05 / min(counts)):.3f}. Others than ours: "
        "`spread of folds`: its error times 1.96. `former`: thresholds as given, shared rows in "
        "full up to a stability of ½ only, symmetric, 9 degrees of freedom. `symmetric`: not "
        "Wilson's interval. `given threshold`: errors that do not know that samples move it. `not "
        f"shared`: no correction for shared training rows. `samples`: times {NORMAL:.2f}, no "
        f"correction at all. `NB`: the same times √(1 + {FOLDS}/{FOLDS - 1}).\n",
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
                for key in ("spread of folds", "ours")
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
        shown = {name: round(found[name], 2) for name in ("error / sd", "ours", "former")}
        yield f"{cell.name} {shown} {kept['seconds']} s"
    report(options.cache, options.output)


SUITE = Suite(
    name="coverage",
    sentence="How often the 95 % interval of an assessment contains the true loss.",
    options=Options,
    rows=rows,
)
