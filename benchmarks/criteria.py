"""Folds, penalties and losses, each as a ratio within one process: `python benchmarks/criteria.py`.

Every comparison runs in a process of its own, its calls taking turns, and writes what was asked for
beside what was measured. MNIST is read from `--data-dir` (the four IDX files, gzipped).
"""

from __future__ import annotations

import argparse
import gc
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import machine
import tables
from paper import datasets
from problems import PROBLEMS, Array

RESULTS = Path(__file__).parent / "results" / "criteria.json"
TALL, MIDDLE = "normal-50000x1000", "normal-5000x1000"
K = 50


@dataclass(frozen=True, slots=True)
class Ratio:
    """One asked number and the measured one."""

    asked: str
    limit: str
    measured: float | None
    reached: bool | None
    detail: str


def main() -> int:
    """Run, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=COMPARISONS, action="append")
    parser.add_argument("--data-dir", type=Path, help="folder with mnist/*.gz")
    parser.add_argument("--output", type=Path, default=RESULTS)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--rounds", type=int, default=5, help="calls of each kind, taking turns")
    arguments = parser.parse_args()
    machine.pin_threads(arguments.threads)
    environment = machine.environment(arguments.threads)
    found: list[Ratio] = []
    for name in arguments.only or list(COMPARISONS):
        print(f"{name} ...", file=sys.stderr, flush=True)
        found += _in_a_process(name, arguments.data_dir, arguments.rounds)
        for ratio in found[-2:]:
            print(f"  {ratio.asked}: {ratio.measured}", file=sys.stderr, flush=True)
        _write(arguments.output, environment, found)
    print(tables.plain_text(_cells(found)))
    return 0


def _write(output: Path, environment: dict[str, Any], found: list[Ratio]) -> None:
    output.parent.mkdir(parents=True, exist_ok=True)
    content = {"environment": environment, "ratios": [asdict(ratio) for ratio in found]}
    output.write_text(json.dumps(content, indent=1) + "\n")
    text = f"# Folds, penalties, losses\n\n{tables.markdown(_cells(found))}\n"
    output.with_suffix(".md").write_text(text)


def _cells(found: list[Ratio]) -> list[tuple[str, ...]]:
    rows = [("asked", "limit", "measured", "reached", "detail")]
    for ratio in found:
        value = "-" if ratio.measured is None else f"{ratio.measured:.3g}"
        reached = {None: "-", True: "yes", False: "NO"}[ratio.reached]
        rows.append((ratio.asked, ratio.limit, value, reached, ratio.detail))
    return rows


def _in_a_process(name: str, data_dir: Path | None, rounds: int) -> list[Ratio]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(name, data_dir, rounds, theirs))
    process.start()
    theirs.close()
    try:
        found: list[Ratio] = ours.recv()
    except EOFError:
        found = [Ratio(name, "-", None, None, "the process died")]
    process.join()
    return found


def _serve(name: str, data_dir: Path | None, rounds: int, connection: Any) -> None:
    try:
        connection.send(COMPARISONS[name](data_dir, rounds))
    except Exception as error:
        connection.send([Ratio(name, "-", None, None, f"{type(error).__name__}: {error}")])


def _turns(
    calls: dict[str, Callable[[], Any]], rounds: int, short: int = 1
) -> tuple[dict[str, float], Any]:
    """Median seconds of each call, the calls taking turns, and the last answers.

    The first call is made `short` times in each round, where it is so short that a single one would
    measure the moods of the machine.
    """
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    answers = {}
    for _ in range(rounds):
        for place, (name, call) in enumerate(calls.items()):
            for _ in range(short if place == 0 else 1):
                time.sleep(0.05)
                began = time.perf_counter()
                answers[name] = call()
                seconds[name].append(time.perf_counter() - began)
    return {name: median(times) for name, times in seconds.items()}, answers


def _peak_share(call: Callable[[], Any], X: Array) -> float:
    """Highest memory during a call beyond that before it, in sizes of X."""
    gc.collect()
    before = machine.resident_bytes()
    machine.reset_peak()
    call()
    return (machine.peak_bytes() - before) / X.nbytes


def _at_most(limit: float, asked: str, measured: float, detail: str) -> Ratio:
    return Ratio(asked, f"<= {limit:g}", measured, measured <= limit, detail)


def _folds(data_dir: Path | None, rounds: int) -> list[Ratio]:
    from sklearn.model_selection import KFold

    from greedyrls import greedy_path

    X, y = PROBLEMS[TALL].make()
    folds = KFold(10, shuffle=True, random_state=0)
    seconds, answers = _turns(
        {
            "loo": lambda: greedy_path(X, y, K),
            "folds": lambda: greedy_path(X, y, K, cv=folds),
        },
        rounds,
    )
    worst = _worst_fold_error(X, y, answers["folds"], folds)
    detail = (
        f"leave-one-out {seconds['loo']:.3g} s, folds {seconds['folds']:.3g} s, "
        f"{answers['folds'].counters.passes} passes; last loss differs from Ridge refits by "
        f"{worst:.1e}"
    )
    return [
        _at_most(
            2,
            "50,000 × 1,000: 10 shuffled folds over LOO",
            seconds["folds"] / seconds["loo"],
            detail,
        )
    ]


def _worst_fold_error(X: Array, y: Array, path: Any, folds: Any) -> float:
    """How far the last loss is from that of refitted models, relatively."""
    from sklearn.linear_model import Ridge

    columns = X[:, path.indices]
    total = 0.0
    for train, test in folds.split(columns):
        model = Ridge(alpha=path.settings.alpha).fit(columns[train], y[train])
        total += float(np.square(model.predict(columns[test]) - y[test]).sum())
    return abs(total / len(y) - path.losses[-1]) / path.losses[-1]


def _joint(data_dir: Path | None, rounds: int) -> list[Ratio]:
    from greedyrls import greedy_path

    X, y = PROBLEMS[TALL].make()
    alphas = np.logspace(0, 5, 20)
    seconds, answers = _turns(
        {
            "one": lambda: greedy_path(X, y, K, alpha=float(alphas[10])),
            "joint": lambda: greedy_path(X, y, K, alpha=alphas, alpha_rule="joint"),
        },
        max(2, rounds - 2),
    )
    one, joint = answers["one"], answers["joint"]
    detail = f"one {seconds['one']:.3g} s, twenty {seconds['joint']:.3g} s"
    return [
        _at_most(
            10,
            "50,000 × 1,000: 20 penalties, joint, over one",
            seconds["joint"] / seconds["one"],
            detail,
        ),
        Ratio(
            "the same: passes over X",
            f"about {one.counters.passes}",
            joint.counters.passes,
            joint.counters.passes <= 2 * one.counters.passes,
            f"one penalty: {one.counters.passes}",
        ),
    ]


def _nested(data_dir: Path | None, rounds: int) -> list[Ratio]:
    from greedyrls import greedy_path

    X, y = PROBLEMS[MIDDLE].make()
    alphas = X.shape[0] * np.logspace(-4, 2, 12)

    def nested() -> Any:
        return greedy_path(X, y, K, alpha=alphas, alpha_cv=10)

    greedy_path(X, y, K)
    peak = _peak_share(nested, X)
    seconds, answers = _turns(
        {"one": lambda: greedy_path(X, y, K, alpha=float(alphas[6])), "nested": nested},
        rounds,
        short=9,
    )
    detail = (
        f"one {seconds['one']:.3g} s, nested {seconds['nested']:.3g} s, "
        f"{answers['nested'].counters.passes} passes"
    )
    return [
        _at_most(
            60,
            "5,000 × 1,000: nested, 10 folds × 12 penalties, over one selection",
            seconds["nested"] / seconds["one"],
            detail,
        ),
        _at_most(
            0.5, "the same: peak memory beyond X, in X", peak, f"{peak * X.nbytes / 1e6:.0f} MB"
        ),
    ]


def _zero_one(data_dir: Path | None, rounds: int) -> list[Ratio]:
    from greedyrls import greedy_path

    asked = "MNIST 5 against the rest, 0/1 LOO, in k GEMVs"
    if data_dir is None:
        return [Ratio(asked, "<= 8", None, None, "not run: needs --data-dir")]
    X, y = datasets.load(datasets.DATA_SETS["mnist5"], data_dir)

    def select() -> Any:
        return greedy_path(X, y, K, loss="zero_one")

    gemv: list[float] = []
    seconds: list[float] = []
    for _ in range(max(2, rounds - 2)):
        for _ in range(5):
            began = time.perf_counter()
            X.T.dot(y)
            gemv.append(time.perf_counter() - began)
        began = time.perf_counter()
        path = select()
        seconds.append(time.perf_counter() - began)
    peak = _peak_share(select, X)
    unit = K * median(gemv)
    detail = (
        f"{median(seconds):.3g} s, GEMV {median(gemv) * 1000:.3g} ms, error {path.losses[-1]:.4f}, "
        f"{path.counters.passes} passes"
    )
    return [
        _at_most(8, asked, median(seconds) / unit, detail),
        _at_most(2.2, "the same: memory in all, in X", 1 + peak, f"{X.nbytes / 1e6:.0f} MB of X"),
    ]


def _sequential(data_dir: Path | None, rounds: int) -> list[Ratio]:
    from sklearn.feature_selection import SequentialFeatureSelector
    from sklearn.linear_model import Ridge

    from greedyrls import greedy_path

    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 100))
    y = X[:, :30] @ rng.standard_normal(30) + 3.0 * rng.standard_normal(2000)
    theirs = SequentialFeatureSelector(
        Ridge(alpha=1.0), n_features_to_select=20, cv=5, scoring="neg_mean_squared_error"
    )
    began = time.perf_counter()
    theirs.fit(X, y)
    their_seconds = time.perf_counter() - began
    seconds, answers = _turns({"ours": lambda: greedy_path(X, y, 20, cv=5)}, 3 * rounds)
    same = sorted(answers["ours"].indices.tolist()) == np.flatnonzero(theirs.support_).tolist()
    times = their_seconds / seconds["ours"]
    return [
        Ratio(
            "2,000 × 100, k=20, 5 folds: scikit-learn's SequentialFeatureSelector over ours",
            ">= 300",
            times,
            times >= 300 and same,
            f"{their_seconds:.3g} s and {seconds['ours'] * 1000:.3g} ms; "
            + ("same features" if same else "OTHER FEATURES"),
        )
    ]


COMPARISONS: dict[str, Callable[[Path | None, int], list[Ratio]]] = {
    "folds": _folds,
    "joint": _joint,
    "zero-one": _zero_one,
    "nested": _nested,
    "sequential": _sequential,
}

if __name__ == "__main__":
    sys.exit(main())
