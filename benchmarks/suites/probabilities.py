"""Probabilities against scikit-learn's CalibratedClassifierCV.

Each method is fitted to 70 % of the rows (of adult to 3,000 of them) and scored on other rows; all
have the same splits. Features are scaled by the training rows. Noise has the shape and the classes
of colon-cancer. Scores are means over splits with their standard errors; the expected calibration
error (ten bins of equal width) is that of the test rows of all splits together.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from greedyrls import GreedyRLSClassifier
from harness import data_sets, suite
from harness.suite import RESULTS, CannotRun, Environment, Suite, option
from harness.writer import read_json

SIZE = 10
REPEATS = {"adult": 5, "breast_cancer": 20, "colon-cancer": 20, "noise": 20}
TRAIN_ROWS, TEST_ROWS = 3000, 20_000
BINS = 10
Array = Any


def load(name: str, data_dir: Path | None, number: int) -> tuple[Array, Array]:
    """Features and classes 0 and 1."""
    if name == "breast_cancer":
        X, y = load_breast_cancer(return_X_y=True)
        return X, y
    if name == "noise":
        y = (np.arange(62) < 22).astype(int)
        return np.random.default_rng(number).standard_normal((62, 2000)), y
    if data_dir is None:
        raise CannotRun(f"{name} is read from a folder: pass --data-dir.")
    X, y = data_sets.load(data_sets.DATA_SETS[name], data_dir)
    return X, (y > 0).astype(int)


def splits(
    name: str, data_dir: Path | None, repeats: int
) -> Iterator[tuple[Array, Array, Array, Array]]:
    """Training and test rows, scaled."""
    for number in range(repeats):
        X, y = load(name, data_dir, number)
        rows = min(round(0.7 * len(y)), TRAIN_ROWS)
        train, test = train_test_split(
            np.arange(len(y)),
            train_size=rows,
            test_size=min(len(y) - rows, TEST_ROWS),
            stratify=y,
            random_state=number,
        )
        varying = np.ptp(X[train], axis=0) > 0
        scaler = StandardScaler().fit(X[np.ix_(train, varying)])
        yield (
            scaler.transform(X[np.ix_(train, varying)]),
            y[train],
            scaler.transform(X[np.ix_(test, varying)]),
            y[test],
        )


def selector(**options: Any) -> GreedyRLSClassifier:
    """Ten features by squared loss, the penalty chosen in outer folds."""
    return GreedyRLSClassifier(SIZE, loss="squared", **options)


def calibrated(model: Any, is_ensemble: bool) -> CalibratedClassifierCV:
    """As in scikit-learn, in five folds."""
    return CalibratedClassifierCV(model, method="sigmoid", cv=5, ensemble=is_ensemble)


METHODS: dict[str, Callable[[], Any]] = {
    "ours, outer folds": selector,
    "ours, leave-one-out (number for alpha)": lambda: selector(alpha=10.0),
    "CalibratedClassifierCV of ours": lambda: calibrated(selector(probability=False), True),
    "the same, ensemble=False": lambda: calibrated(selector(probability=False), False),
    "CalibratedClassifierCV of LogisticRegression": lambda: calibrated(
        LogisticRegression(max_iter=2000), True
    ),
    "LogisticRegression": lambda: LogisticRegression(max_iter=2000),
}


def calibration_error(p: Array, y: Array) -> float:
    """Mean distance of probabilities from frequencies, in bins."""
    bin_of = np.minimum((p * BINS).astype(int), BINS - 1)
    sums = np.bincount(bin_of, p - y, BINS)
    return float(np.abs(sums).sum() / len(y))


def compare(name: str, data_dir: Path | None, repeats: int) -> dict[str, Any]:
    """Scores of all methods on one data set."""
    scores: dict[str, list[tuple[float, float, float]]] = {}
    told: dict[str, list[Array]] = {}
    truth = []
    for X, y, test_X, test_y in splits(name, data_dir, repeats):
        truth.append(test_y)
        found: dict[str, tuple[Array, float]] = {}
        for method, make in METHODS.items():
            began = time.perf_counter()
            model = make().fit(X, y)
            seconds = time.perf_counter() - began
            found[method] = model.predict_proba(test_X)[:, 1], seconds
            if method == "ours, outer folds":
                margins = model.decision_function(test_X)
        found["ours, the margin through 1/(1 + exp(−margin))"] = expit(margins), 0.0
        found["share of the class"] = np.full(len(test_y), y.mean()), 0.0
        for method, (p, seconds) in found.items():
            values = brier_score_loss(test_y, p), log_loss(test_y, p), seconds
            scores.setdefault(method, []).append(values)
            told.setdefault(method, []).append(p)
    return {method: summary(values, told[method], truth) for method, values in scores.items()}


def summary(values: Any, told: list[Array], truth: list[Array]) -> dict[str, float]:
    """Means over splits, and their standard errors."""
    table = np.array(values)
    means, errors = table.mean(axis=0), table.std(axis=0, ddof=1) / np.sqrt(len(table))
    return {
        "brier_score": round(float(means[0]), 4),
        "brier_error": round(float(errors[0]), 4),
        "log_loss": round(float(means[1]), 4),
        "log_error": round(float(errors[1]), 4),
        "calibration_error": round(
            calibration_error(np.concatenate(told), np.concatenate(truth)), 4
        ),
        "seconds": round(float(means[2]), 2),
    }


def table(results: dict[str, Any]) -> str:
    """The tables of docs/guide/choosing.md: Brier score, then log loss and calibration error."""
    methods = list(next(iter(results.values())))
    head = [f"| {' | '.join(results)} |", f"| --- |{' --- |' * len(results)}"]
    lines = ["| Brier score " + head[0], head[1]]
    for method in methods:
        cells = (results[name][method] for name in results)
        scores = [f"{one['brier_score']:.4f} ± {one['brier_error']:.4f}" for one in cells]
        lines.append(f"| {method} | {' | '.join(scores)} |")
    lines += ["", "| log loss (calibration error) " + head[0], head[1]]
    for method in methods:
        cells = (results[name][method] for name in results)
        scores = [
            f"{one['log_loss']:.3f} ± {one['log_error']:.3f} ({one['calibration_error']:.3f})"
            for one in cells
        ]
        lines.append(f"| {method} | {' | '.join(scores)} |")
    return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(suite.Options):
    """Which data."""

    output: Path = option(RESULTS / "probabilities.json", "where the JSON goes")
    data_dir: Path | None = option(None, "folder of the data sets of the paper")
    data: tuple[str, ...] = option(tuple(REPEATS), "these data sets", REPEATS, "NAME")
    repeats: int | None = option(None, "splits; by default 20, and 5 of adult")
    table: bool = option(False, "run nothing; print the table of known results")


@dataclass(frozen=True, slots=True)
class Row:
    """All methods on one data set."""

    data: str
    methods: dict[str, Any]


def rows(options: Options) -> Iterator[Row]:
    """The data sets, or what is known of them."""
    if options.table:
        print(table(read_json(options.output)["results"]))
        return
    for name in options.data:
        yield Row(name, compare(name, options.data_dir, options.repeats or REPEATS[name]))


def document(options: Options, environment: Environment, found: Sequence[Row]) -> dict[str, Any]:
    """Scores of all data sets."""
    results = {row.data: row.methods for row in found}
    repeats = {name: options.repeats or count for name, count in REPEATS.items()}
    return {"environment": environment, "repeats": repeats, "results": results}


SUITE = Suite(
    name="probabilities",
    sentence="predict_proba against CalibratedClassifierCV: Brier score, log loss, calibration.",
    options=Options,
    rows=rows,
    document=document,
    line=lambda row: table({row.data: row.methods}),
)
