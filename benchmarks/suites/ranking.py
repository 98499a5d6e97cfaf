"""Ranking by leave-query-out: time and memory, and NDCG on new queries.

1,000 queries of 20 samples with 500 features, 20 of them chosen. Each engine runs in a process of
its own, and the paths must be equal before a time is written. The data are made up: relevance from
0 to 4 by 20 features and noise, where features also have a part that all samples of a query share.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import Ridge

from harness import machine, suite
from harness.measure import in_a_process, timed
from harness.suite import RESULTS, Environment, Suite, option

N_FEATURES, CHOSEN, ALPHA = 500, 20, 1000.0
QUERIES = {"1,000 × 20": (1000, 20), "2,000 × 5": (2000, 5), "200 × 100": (200, 100)}
ENGINES = ("one factor", "a model for each query")


@dataclass(frozen=True, slots=True)
class Search:
    """One search by one engine."""

    indices: list[int]
    seconds: float
    peak_bytes: int  # above what the data and the interpreter take


def make_data(n_queries: int, size: int, seed: int = 0) -> tuple[Any, Any, Any]:
    """X, relevances and queries; the features that matter are the same for every seed."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_queries), size)
    X = rng.standard_normal((len(groups), N_FEATURES))
    X += rng.standard_normal((n_queries, N_FEATURES))[groups]
    weights = np.random.default_rng(99).standard_normal(CHOSEN)
    signal = X[:, :CHOSEN] @ weights
    noise = 2.0 * np.linalg.norm(weights) * rng.standard_normal(len(groups))
    value = signal + noise
    return X, np.digitize(value, np.quantile(value, [0.5, 0.75, 0.9, 0.97])), groups


def search(engine: str, queries: str) -> Search:
    """The search itself, on the pairs as rows."""
    from greedyrls._criteria import (
        EveryCandidate,
        FoldData,
        FoldState,
        ManyFoldData,
        ManyFoldState,
    )
    from greedyrls._problem import make_loss, make_pairs, make_problem
    from greedyrls._search._searching import forward

    X, y, groups = make_data(*QUERIES[queries])
    pairs = make_pairs(X, y.astype(float), groups, None)
    problem = make_problem(pairs.X, pairs.y, fit_intercept=False, sample_weight=pairs.weights)
    del X
    gc.collect()
    before = machine.resident_bytes()
    machine.reset_peak()
    began = time.perf_counter()
    state: Any
    if engine == ENGINES[0]:
        many = ManyFoldData(problem, pairs.folds)
        state = ManyFoldState(many, ALPHA, make_loss("squared"), CHOSEN)
    else:
        data = FoldData(problem, pairs.folds)
        state = FoldState(data, ALPHA, make_loss("squared"), CHOSEN)
    steps = list(forward(state, EveryCandidate(), CHOSEN))
    seconds = time.perf_counter() - began
    return Search([step.index for step in steps], seconds, machine.peak_bytes() - before)


def quickest(engine: str, queries: str, rounds: int) -> Search:
    """The quickest of several runs, with the highest of their peaks."""
    runs = [search(engine, queries) for _ in range(rounds)]
    # Memory that a run gave back may still be the process's at the next.
    peak = max(run.peak_bytes for run in runs)
    return replace(min(runs, key=lambda run: run.seconds), peak_bytes=peak)


def engines(rounds: int, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Both engines on queries of several sizes."""
    for queries in names:
        count, size = QUERIES[queries]
        one, each = (in_a_process(quickest, engine, queries, rounds) for engine in ENGINES)
        if one.indices != each.indices:
            raise AssertionError(f"{queries}: {one.indices} is not {each.indices}")
        megabytes = 8e-6 * count * size * N_FEATURES
        yield {
            "queries": f"{queries}, {N_FEATURES} features, k={CHOSEN}",
            "seconds": round(one.seconds, 2),
            "peak_MB": round(one.peak_bytes / 1e6),
            "seconds_of_a_model_for_each": round(each.seconds, 2),
            "peak_MB_of_a_model_for_each": round(each.peak_bytes / 1e6),
            "times_as_fast": round(each.seconds / one.seconds, 2),
            "X_MB": round(megabytes),
        }


def quality() -> dict[str, Any]:
    """On new queries, against models with all features."""
    from greedyrls import GreedyRLSRanker
    from greedyrls._problem import make_pairs
    from greedyrls.metrics import mean_ndcg, pairwise_error

    X, y, groups = make_data(*QUERIES["1,000 × 20"])
    new_X, new_y, new_groups = make_data(500, 20, seed=1)

    def measured(scores: Any) -> dict[str, float]:
        return {
            "ndcg": round(mean_ndcg(new_y, scores, new_groups), 4),
            "pairwise_error": round(pairwise_error(new_y, scores, new_groups), 4),
        }

    ranker = GreedyRLSRanker(CHOSEN, alpha=ALPHA)
    seconds, model = timed(lambda: ranker.fit(X, y, groups=groups))
    pairs = make_pairs(X, y.astype(float), groups, None)
    penalties = ALPHA * 10.0 ** np.arange(-2.0, 4.0)
    everything = [
        Ridge(alpha, fit_intercept=False).fit(pairs.X, pairs.y, pairs.weights).coef_
        for alpha in penalties
    ]
    points = [Ridge(alpha).fit(X, y).coef_ for alpha in penalties]
    few = GreedyRLSRanker(5, alpha=ALPHA).fit(X, y, groups=groups)
    return {
        "ranker, 20 features": measured(model.predict(new_X))
        | {
            "seconds": round(seconds, 2),
            "right_features": int((model.selected_ < CHOSEN).sum()),
            "left_out_ndcg": round(model.ndcg_, 4),
        },
        "ranker, 5 features": measured(few.predict(new_X)),
        "pairs, all 500 features": _best([measured(new_X @ coef) for coef in everything]),
        "ridge on y, all 500 features": _best([measured(new_X @ coef) for coef in points]),
    }


def _best(found: list[dict[str, float]]) -> dict[str, float]:
    """Of several penalties the best on the new queries: more than a user could know."""
    return max(found, key=lambda one: one["ndcg"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(suite.Options):
    """How often, and on which queries."""

    output: Path = option(RESULTS / "ranking.json", "where the JSON goes")
    rounds: int = option(3, "runs of each engine, of which the quickest counts")
    queries: tuple[str, ...] = option(tuple(QUERIES), "numbers of queries × samples", QUERIES)


@dataclass(frozen=True, slots=True)
class Row:
    """A part of the results."""

    part: str
    values: dict[str, Any]


def rows(options: Options) -> Iterator[Row]:
    """Both engines, then the quality of what they select."""
    for engine in engines(options.rounds, options.queries):
        yield Row("engines", engine)
    yield Row("quality", quality())


def document(options: Options, environment: Environment, found: Sequence[Row]) -> dict[str, Any]:
    """Engines and quality."""
    return {
        "environment": environment,
        "engines": [row.values for row in found if row.part == "engines"],
        "quality": next((row.values for row in found if row.part == "quality"), {}),
    }


SUITE = Suite(
    name="ranking",
    sentence="Ranking by leave-query-out: time, memory, and NDCG on new queries.",
    options=Options,
    rows=rows,
    document=document,
    line=lambda row: str(row.values),
)
