"""Everything automatic: nothing is set, and every method chooses its features and their number.

    run.py automatic --data-dir DIR --label before      # run, write results
    run.py automatic --ours-rules all --methods ours --label after
    run.py automatic --table                            # docs/benchmarks/speed.md
    run.py automatic --compare before after             # ours in two runs
    run.py automatic --seconds --data-dir DIR --threads 0   # seconds of what users run

All methods see the same splits. Series that the results have already under the same label are kept
(--fresh runs them again). A later run of ours alone is compared with the peers of an earlier run.
"""

from __future__ import annotations

import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_selection import VarianceThreshold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from harness import machine, suite, tables, writer
from harness.suite import DOCS, RESULTS, CannotRun, Suite, option

from . import methods, seconds, table
from .methods import OURS, PEERS, Method, size_rules
from .problems import PROBLEMS, Draw, Problem
from .store import Run, Series, read

SPLITS = 20
MOST_SECONDS = 10.0  # for one fit of a peer


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(suite.Options):
    """What is run, or which results are shown."""

    output: Path = option(RESULTS / "automatic.json", "JSON file of the results of all labels")
    methods: tuple[str, ...] = option((OURS, *PEERS), "these methods", (OURS, *PEERS), "METHOD")
    problems: tuple[str, ...] = option((), "these problems; by default all", PROBLEMS, "PROBLEM")
    ours_rules: tuple[str, ...] = option(
        ("default",),
        "values of size_rule that ours is run with, side by side",
        ("default", "all", *size_rules()),
        "RULE",
    )
    splits: int = option(SPLITS, "of each problem")
    label: str | None = option(None, "name of this run in the results; by default now")
    data_dir: Path | None = option(None, "folder of the data sets of the paper")
    fresh: bool = option(False, "run again what the results have")
    table: bool = option(False, "run nothing; write the table of a run (--label)")
    page: Path = option(DOCS / "speed.md", "page that the table is part of")
    compare: tuple[str, ...] = option((), "run nothing; show ours in these runs", metavar="LABEL")
    seconds: bool = option(False, "time defaults and paths beside peers; nothing else is run")
    seconds_output: Path = option(RESULTS / "automatic_seconds.json", "JSON file of --seconds")
    rounds: int = option(3, "rounds of --seconds")


def rows(options: Options) -> Iterator[str]:
    """Run what is asked for, or write the table of what was run; a line for each problem."""
    if options.table or options.compare:
        store = read(options.output)
        if not store.runs:
            raise CannotRun(f"No results in {options.output}: run the suite automatic first.")
        if options.compare:
            yield table.comparison(store, list(options.compare))
        else:
            table.write(store, options.label or list(store.runs)[-1], options.page)
        return
    if options.seconds:
        yield from _seconds(options)
        return
    for name in options.problems or PROBLEMS:
        problem = PROBLEMS[name]
        if problem.is_from_folder and options.data_dir is None:
            yield f"{name}: not run, needs --data-dir"
        else:
            yield from _run_problem(problem, options)


def _seconds(options: Options) -> Iterator[str]:
    """Time what users run; results are written after every row."""
    found: list[seconds.Row] = []
    environment = machine.environment(options.threads)
    for row in seconds.rows(options.data_dir, options.rounds):
        found.append(row)
        writer.write_json(options.seconds_output, seconds.document(found, environment))
        page = options.seconds_output.with_suffix(".md")
        writer.write_text(page, tables.markdown(seconds.table(found)) + "\n")
        yield f"{row.name}: {row.ratio:.3g} (at most {row.most:g})"


def _chosen_methods(options: Options) -> dict[str, Method]:
    chosen: dict[str, Method] = {}
    for name in options.methods:
        if name == OURS:
            for asked in options.ours_rules:
                rules = size_rules() if asked == "all" else (asked,)
                for rule in rules:
                    variant = methods.ours(methods.default_rule() if rule == "default" else rule)
                    chosen[variant.title] = variant
        else:
            chosen[name] = PEERS[name]
    return chosen


def _run_problem(problem: Problem, options: Options) -> Iterator[str]:
    """Run all methods in turns, split by split, and add their series to the results."""
    store, run = read(options.output), _run(options.label or "now")
    chosen = _chosen_methods(options)
    shape = (problem.n_train, problem.n_test, problem.n_features)
    series = []
    for name, method in chosen.items():
        done = store.find(run.label, problem.name, name)
        is_done = done is not None and (done.missing or len(done.scores) >= options.splits)
        if done is not None and is_done and done.shape == shape and not options.fresh:
            continue
        reason = methods.why_not(name, problem)
        try:
            if method.make(problem) is None:
                continue
        except ImportError as error:
            reason = f"not installed ({error})"
            print(f"{name}: {reason}", file=sys.stderr)
        series.append(Series(run.label, problem.name, name, shape, reason))
    if not series:
        return
    began = time.perf_counter()
    for split in range(options.splits):
        draw = problem.draw(split, options.data_dir)
        for one in series:
            if one.missing is None:
                _fit(chosen[one.method].make(problem), problem, draw, one)
        if split == 0:
            series = [_unless_slow(one) for one in series]
    store.add(run, series)
    fits = ", ".join(f"{one.method} {sum(one.seconds):.1f}" for one in series if one.scores)
    yield f"{problem.name}: {time.perf_counter() - began:.0f} s ({fits})"


def _unless_slow(series: Series) -> Series:
    """Give up a peer that takes too long for all splits, after the first of them."""
    if series.method.startswith(OURS) or sum(series.seconds) <= MOST_SECONDS:
        return series
    reason = f"not run: {series.seconds[0]:.0f} s for one fit"
    return Series(series.label, series.problem, series.method, series.shape, reason)


def _fit(model: Any, problem: Problem, draw: Draw, series: Series) -> None:
    """Fit a model to the training rows of a split, and note what it chose and how good it is."""
    varying = VarianceThreshold()
    pipeline = make_pipeline(varying, StandardScaler(), model)
    with warnings.catch_warnings():  # solvers that did not converge, features that nearly tie
        warnings.simplefilter("ignore")
        began, began_cpu = time.perf_counter(), time.process_time()
        pipeline.fit(draw.X, draw.y)
        series.seconds.append(_rounded(time.perf_counter() - began))
        series.cpu.append(_rounded(time.process_time() - began_cpu))
        score = methods.score(model, problem, draw, pipeline[:-1].transform(draw.test_X))
    kept = np.flatnonzero(varying.get_support())
    features = set(kept[methods.support(model, len(kept))].tolist())
    series.scores.append(round(score, 5))
    series.sizes.append(len(features))
    if draw.truth is not None:
        series.false.append(len(features - draw.truth))
        series.missed.append(len(draw.truth - features))


def _rounded(seconds: float) -> float:
    return float(f"{seconds:.3g}")


def _run(label: str) -> Run:
    """The circumstances, recorded with the results."""
    versions = {}
    for library in ("scikit-learn", "abess"):
        try:
            versions[library] = metadata.version(library)
        except metadata.PackageNotFoundError:
            versions[library] = "-"
    environment = machine.environment(1)
    environment.pop("peak_memory")
    return Run(label, _commit(), methods.default_rule(), environment, versions)


def _commit() -> str:
    """Short name of the last commit that changed the package; "-" where there is none."""
    command = ["git", "-C", str(DOCS.parent), "log", "-1", "--format=%h", "--", "src"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "-"


SUITE = Suite(
    name="automatic",
    sentence="Estimators without settings: score, number of features, false ones, beside peers.",
    options=Options,
    rows=rows,
)
