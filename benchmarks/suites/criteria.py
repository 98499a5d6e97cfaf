"""Folds, penalties and losses, each as a ratio within one process.

Every comparison runs in a process of its own, its calls taking turns, and writes what was asked for
beside what was measured. MNIST is read from `--data-dir` (the four IDX files, packed or not).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from harness import data_sets, suite
from harness.measure import ProcessFailed, in_a_process, in_turns, peak_of, timed
from harness.problems import PROBLEMS, Array
from harness.suite import ALL_CORES, RESULTS, Environment, Renderer, Suite, option

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


def _compare(name: str, data_dir: Path | None, rounds: int) -> list[Ratio]:
    return COMPARISONS[name](data_dir, rounds)


def _peak_share(call: Callable[[], Any], X: Array) -> float:
    """Highest memory during a call beyond that before it, in sizes of X."""
    peak, _ = peak_of(call)
    return float("nan") if peak is None else peak / X.nbytes


def _at_most(limit: float, asked: str, measured: float, detail: str) -> Ratio:
    return Ratio(asked, f"<= {limit:g}", measured, measured <= limit, detail)


def _folds(data_dir: Path | None, rounds: int) -> list[Ratio]:
    from sklearn.model_selection import KFold

    from greedyrls import greedy_path

    X, y = PROBLEMS[TALL].make()
    folds = KFold(10, shuffle=True, random_state=0)
    turns = in_turns(
        {
            "loo": lambda: greedy_path(X, y, K),
            "folds": lambda: greedy_path(X, y, K, cv=folds),
        },
        rounds,
    )
    path, loo, taken = turns.answers["folds"], turns.median("loo"), turns.median("folds")
    worst = _worst_fold_error(X, y, path, folds)
    detail = (
        f"leave-one-out {loo:.3g} s, folds {taken:.3g} s, {path.counters.passes} passes; last loss "
        f"differs from Ridge refits by {worst:.1e}"
    )
    return [_at_most(2, "50,000 × 1,000: 10 shuffled folds over LOO", taken / loo, detail)]


def _worst_fold_error(X: Array, y: Array, path: Any, folds: Any) -> float:
    """How far the last loss is from that of refitted models, relatively."""
    from sklearn.linear_model import Ridge

    columns = X[:, path.indices]
    total = 0.0
    for train, test in folds.split(columns):
        model = Ridge(alpha=path.settings.alpha).fit(columns[train], y[train])
        total += float(np.square(model.predict(columns[test]) - y[test]).sum())
    return float(abs(total / len(y) - path.losses[-1]) / path.losses[-1])


def _joint(data_dir: Path | None, rounds: int) -> list[Ratio]:
    from greedyrls import greedy_path

    X, y = PROBLEMS[TALL].make()
    alphas = np.logspace(0, 5, 20)
    turns = in_turns(
        {
            "one": lambda: greedy_path(X, y, K, alpha=float(alphas[10])),
            "joint": lambda: greedy_path(X, y, K, alpha=alphas, alpha_rule="joint"),
        },
        max(2, rounds - 2),
    )
    one, joint = turns.answers["one"], turns.answers["joint"]
    ratio = turns.median("joint") / turns.median("one")
    detail = f"one {turns.median('one'):.3g} s, twenty {turns.median('joint'):.3g} s"
    return [
        _at_most(10, "50,000 × 1,000: 20 penalties, joint, over one", ratio, detail),
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
    turns = in_turns(
        {"one": lambda: greedy_path(X, y, K, alpha=float(alphas[6])), "nested": nested},
        rounds,
        repeat_first=9,
    )
    one, taken = turns.median("one"), turns.median("nested")
    passes = turns.answers["nested"].counters.passes
    detail = f"one {one:.3g} s, nested {taken:.3g} s, {passes} passes"
    return [
        _at_most(
            60,
            "5,000 × 1,000: nested, 10 folds × 12 penalties, over one selection",
            taken / one,
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
    X, y = data_sets.load(data_sets.DATA_SETS["mnist5"], data_dir)

    def select() -> Any:
        return greedy_path(X, y, K, loss="zero_one")

    gemv: list[float] = []
    seconds: list[float] = []
    for _ in range(max(2, rounds - 2)):
        gemv += [timed(lambda: X.T.dot(y))[0] for _ in range(5)]
        taken, path = timed(select)
        seconds.append(taken)
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
    their_seconds, _ = timed(lambda: theirs.fit(X, y))
    turns = in_turns({"ours": lambda: greedy_path(X, y, 20, cv=5)}, 3 * rounds)
    same = (
        sorted(turns.answers["ours"].indices.tolist()) == np.flatnonzero(theirs.support_).tolist()
    )
    times = their_seconds / turns.median("ours")
    return [
        Ratio(
            "2,000 × 100, k=20, 5 folds: scikit-learn's SequentialFeatureSelector over ours",
            ">= 300",
            times,
            times >= 300 and same,
            f"{their_seconds:.3g} s and {turns.median('ours') * 1000:.3g} ms; "
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(suite.Options):
    """Which comparisons."""

    output: Path = option(RESULTS / "criteria.json", "where the JSON goes")
    threads: int = option(ALL_CORES, "threads of BLAS and OpenMP; 0: all cores")
    only: tuple[str, ...] = option((), "these comparisons", COMPARISONS, "NAME")
    data_dir: Path | None = option(None, "folder with mnist/")
    rounds: int = option(5, "calls of each kind, taking turns")


def rows(options: Options) -> Iterator[Ratio]:
    """All comparisons; one that fails says so in its row."""
    for name in options.only or COMPARISONS:
        print(f"{name} ...", file=sys.stderr, flush=True)
        try:
            yield from in_a_process(_compare, name, options.data_dir, options.rounds)
        except ProcessFailed as failure:
            yield Ratio(name, "-", None, None, str(failure))


def document(options: Options, environment: Environment, found: Sequence[Ratio]) -> dict[str, Any]:
    """All ratios."""
    return {"environment": environment, "ratios": [asdict(ratio) for ratio in found]}


def page(environment: Environment, found: Sequence[Ratio], table: Renderer) -> str:
    """Asked and measured, a line each."""
    cells = [("asked", "limit", "measured", "reached", "detail")]
    for ratio in found:
        value = "-" if ratio.measured is None else f"{ratio.measured:.3g}"
        reached = {None: "-", True: "yes", False: "NO"}[ratio.reached]
        cells.append((ratio.asked, ratio.limit, value, reached, ratio.detail))
    return f"# Folds, penalties, losses\n\n{table(cells)}\n"


SUITE = Suite(
    name="criteria",
    sentence="Folds over leave-one-out, many penalties over one, 0/1 error: ratios of times.",
    options=Options,
    rows=rows,
    document=document,
    page=page,
    line=lambda ratio: f"  {ratio.asked}: {ratio.measured}",
)
