"""Everything automatic: nothing is set, and every method chooses its features and their number.

    python benchmarks/automatic.py --data-dir DIR --label before      # run, write results
    python benchmarks/automatic.py --ours-rules all --methods ours --label after
    python benchmarks/automatic.py --table                            # docs/benchmarks.md
    python benchmarks/automatic.py --compare before after             # ours in two runs

All methods see the same splits. Series that the results have already under the same label are kept
(--fresh runs them again). A later run of ours alone is compared with the peers of an earlier run.
"""

from __future__ import annotations

import os

if __name__ == "__main__":  # BLAS reads these when NumPy is imported
    for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[_variable] = "1"

import argparse
import subprocess
import sys
import time
import warnings
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_selection import VarianceThreshold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import automatic_methods as methods
import automatic_table as table
import machine
from automatic_methods import OURS, PEERS, Method
from automatic_problems import PROBLEMS, Draw, Problem
from automatic_store import Run, Series, read

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "automatic.json"
PAGE = HERE.parent / "docs" / "benchmarks.md"
SPLITS = 20
MOST_SECONDS = 10.0  # for one fit of a peer


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for, or write the table of what was run."""
    options = _parser().parse_args(arguments)
    if options.table or options.compare:
        store = read(options.out)
        if not store.runs:
            sys.exit(f"No results in {options.out}: run benchmarks/automatic.py first.")
        if options.compare:
            print(table.comparison(store, options.compare))
        else:
            table.write(store, options.label or list(store.runs)[-1], options.page)
        return 0
    for name in options.problems:
        problem = PROBLEMS[name]
        if problem.is_from_folder and options.data_dir is None:
            print(f"{name}: not run, needs --data-dir", file=sys.stderr)
            continue
        _run_problem(problem, options)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--methods", nargs="+", choices=[OURS, *PEERS], default=[OURS, *PEERS], metavar="METHOD"
    )
    parser.add_argument(
        "--problems", nargs="+", choices=PROBLEMS, default=list(PROBLEMS), metavar="PROBLEM"
    )
    parser.add_argument(
        "--ours-rules",
        nargs="+",
        choices=["default", "all", *methods.size_rules()],
        default=["default"],
        help="values of size_rule that ours is run with, side by side",
    )
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--label", help="name of this run in the results; default: now")
    parser.add_argument("--data-dir", type=Path, help="folder with the paper's data sets")
    parser.add_argument("--out", type=Path, default=RESULTS, help="JSON file of the results")
    parser.add_argument("--fresh", action="store_true", help="run again what the results have")
    parser.add_argument(
        "--table", action="store_true", help="run nothing; write the table of a run (--label)"
    )
    parser.add_argument("--page", type=Path, default=PAGE, help="page that the table is part of")
    parser.add_argument(
        "--compare", nargs="+", metavar="LABEL", help="run nothing; show ours in these runs"
    )
    return parser


def _chosen_methods(options: argparse.Namespace) -> dict[str, Method]:
    chosen: dict[str, Method] = {}
    for name in options.methods:
        if name == OURS:
            for asked in options.ours_rules:
                rules = methods.size_rules() if asked == "all" else (asked,)
                for rule in rules:
                    variant = methods.ours(methods.default_rule() if rule == "default" else rule)
                    chosen[variant.title] = variant
        else:
            chosen[name] = PEERS[name]
    return chosen


def _run_problem(problem: Problem, options: argparse.Namespace) -> None:
    """Run all methods in turns, split by split, and add their series to the results."""
    store, run = read(options.out), _run(options.label or "now")
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
    print(
        f"{problem.name}: {time.perf_counter() - began:.0f} s ({fits})", file=sys.stderr, flush=True
    )


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
    command = ["git", "-C", str(HERE.parent), "log", "-1", "--format=%h", "--", "src"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "-"


if __name__ == "__main__":
    sys.exit(main())
