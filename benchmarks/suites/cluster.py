"""Dask: tasks, bytes and time on worker processes of this machine, beside what the model says.

Selects at three sizes, each with twice the rows of the one before in blocks of the same size. Tasks
and bytes are counted where they are sent; between workers they are what these say of themselves.
The model of time is latency × sums waited for + time of a task × tasks + time of a row × rows: the
first two from runs with next to no rows, the last from the smallest size. It predicts the other
two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from harness import machine, suite
from harness.measure import peak_of, timed
from harness.suite import RESULTS, CannotRun, Environment, Suite, option


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(suite.Options):
    """Sizes."""

    output: Path = option(RESULTS / "cluster.json", "where the JSON goes")
    workers: int = option(2, "processes")
    rows: int = option(50_000, "of the smallest problem")
    features: int = option(500, "of all problems")
    blocks: int = option(4, "of the smallest problem")
    size: int = option(20, "how many features to select")


@dataclass(frozen=True, slots=True)
class Model:
    """What the model of time takes to be known: seconds."""

    cv: str
    latency: float
    seconds_per_task: float
    per_row: float | None


@dataclass(frozen=True, slots=True)
class Result:
    """One run."""

    shape: tuple[int, int]
    n_blocks: int
    cv: str
    n_features: int
    passes: int
    exact_evaluations: int
    seconds: float
    seconds_in_memory: float  # of the same selection in this process, with one thread
    questions_per_step: float
    tasks: int
    tasks_predicted: int
    sent_per_step: float  # bytes from the client
    received_per_step: float  # bytes to the client
    between_workers_per_step: float  # bytes
    X_bytes: int
    client_peak_bytes: int | None
    client_peak_bytes_of_omp: int | None  # scikit-learn's OMP on the same Dask arrays
    longest_axis: int  # of anything that the client got: far below the rows
    seconds_predicted: float | None
    same_as_in_memory: bool
    largest_difference: float  # of a loss, relative


def block(number: int, rows: int, features: int) -> np.ndarray:
    """Some rows, made where they are needed: X and, as its last column, y."""
    rng = np.random.default_rng(number)
    slopes = np.random.default_rng(12345).normal(size=min(40, features))
    X = rng.normal(size=(rows, features))
    y = X[:, : len(slopes)] @ slopes + 3.0 * rng.normal(size=rows)
    return np.column_stack([X, y])


def made_up(n_blocks: int, rows: int, features: int) -> tuple[Any, Any]:
    """Dask arrays, computed on the workers."""
    import dask.array as da
    from dask.delayed import delayed

    parts = [
        da.from_delayed(delayed(block)(number, rows, features), (rows, features + 1), float)
        for number in range(n_blocks)
    ]
    both = da.concatenate(parts).persist()
    return both[:, :-1].persist(), both[:, -1].persist()


def longest(value: Any) -> int:
    """The longest axis of any array within."""
    if isinstance(value, np.ndarray):
        return max(value.shape, default=0)
    if isinstance(value, tuple | list):
        return max(map(longest, value), default=0)
    return 0


def between_workers(client: Any) -> int:
    """Bytes that workers have got from each other so far."""
    told = client.run(
        lambda dask_worker: sum(entry["total"] for entry in dask_worker.transfer_incoming_log)
    )
    return sum(told.values())


def measured(client: Any, sizes: tuple[int, int, int], n_features: int, cv: Any) -> dict[str, Any]:
    """One selection, with all that is counted on the way."""
    from greedyrls import greedy_path
    from greedyrls._cluster._dask import DaskExecutor

    X, y = made_up(*sizes)
    executors: list[DaskExecutor] = []
    axes: list[int] = []
    start, total, answers = DaskExecutor.__init__, DaskExecutor.total, DaskExecutor.answers

    def noticed(self: DaskExecutor, *given: Any) -> None:
        start(self, *given)
        executors.append(self)

    def seen_total(self: DaskExecutor, *given: Any) -> Any:
        answer = total(self, *given)
        axes.append(longest(answer))
        return answer

    def seen_answers(self: DaskExecutor, *given: Any) -> Any:
        found = answers(self, *given)
        axes.append(max(map(longest, found)))
        return found

    with (
        patch.object(DaskExecutor, "__init__", noticed),
        patch.object(DaskExecutor, "total", seen_total),
        patch.object(DaskExecutor, "answers", seen_answers),
    ):
        before = between_workers(client)
        search = partial(greedy_path, X, y, n_features, alpha=1.0, cv=cv)
        peak, (seconds, path) = peak_of(lambda: timed(search))
    after = between_workers(client)
    here = greedy_path(X.compute(), y.compute(), n_features, alpha=1.0, cv=cv)
    (executor,) = executors
    return {
        "path": path,
        "traffic": executor.traffic,
        "seconds": seconds,
        "peak": peak,
        "between": after - before,
        "longest": max(axes),
        "bytes": X.nbytes,
        "in_memory": here.counters.seconds,
        "same": path.indices.tolist() == here.indices.tolist(),
        "peer": _peer(X, y, n_features) if n_features > 2 else None,
        "difference": float(np.max(np.abs(path.losses / here.losses - 1.0))),
    }


def _peer(X: Any, y: Any, n_features: int) -> int:
    """Bytes that scikit-learn's OMP takes of the client's memory: it loads X there."""
    from sklearn.linear_model import OrthogonalMatchingPursuit

    machine.reset_peak()
    before = machine.resident_bytes()
    OrthogonalMatchingPursuit(n_nonzero_coefs=n_features).fit(X, y.compute())
    return machine.peak_bytes() - before


def tasks_of(n_blocks: int, questions: int, totals: int, large: int) -> int:
    """A task for each block and question, and a tree of sums for those that are added up."""
    tree, level = 0, n_blocks
    while level > 1:
        level = -(-level // 8)
        tree += level
    return questions * n_blocks + totals * tree + large


def _calibrated(client: Any, options: Options, cv: Any) -> tuple[float, float]:
    """Seconds of waiting for a sum, and of a task, from runs with few and many tiny blocks."""
    counts, seconds = [], []
    for n_blocks in (4, 32):
        told = measured(client, (n_blocks, 100, options.features), options.size, cv)
        counts.append((told["traffic"].totals, told["traffic"].tasks))
        seconds.append(told["seconds"])
    latency, each = np.linalg.solve(np.array(counts, dtype=float), np.array(seconds))
    return max(0.0, float(latency)), max(0.0, float(each))


def rows(options: Options) -> Iterator[Result | Model]:
    """Leave-one-out and folds at three sizes, and the model of each."""
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise CannotRun("Dask is not installed: pip install 'greedyrls[dask]'.") from error
    with (
        LocalCluster(
            n_workers=options.workers, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        warm = (options.workers, 1000, options.features)
        measured(client, warm, 2, "loo")
        for cv in ("loo", 5):
            yield from _at_three_sizes(client, options, cv)


def _at_three_sizes(client: Any, options: Options, cv: Any) -> Iterator[Result | Model]:
    latency, each = _calibrated(client, options, cv)
    rate: float | None = None
    for factor in (1, 2, 4):
        n_blocks = factor * options.blocks
        sizes = (n_blocks, options.rows // options.blocks, options.features)
        counted = measured(client, sizes, options.size, cv)
        traffic = counted["traffic"]
        without = latency * traffic.totals + each * traffic.tasks
        if rate is None:
            rate = max(0.0, counted["seconds"] - without) / (sizes[0] * sizes[1])
        predicted = without + rate * sizes[0] * sizes[1]
        yield _result(
            counted, sizes, options.size, str(cv), None if factor == 1 else round(predicted, 3)
        )
    yield Model(str(cv), latency, each, rate)


def _result(
    counted: dict[str, Any],
    sizes: tuple[int, int, int],
    steps: int,
    cv: str,
    predicted: float | None,
) -> Result:
    path, traffic = counted["path"], counted["traffic"]
    return Result(
        shape=(sizes[0] * sizes[1], sizes[2]),
        n_blocks=sizes[0],
        cv=cv,
        n_features=steps,
        passes=path.counters.passes,
        exact_evaluations=path.counters.exact_evaluations,
        seconds=round(counted["seconds"], 3),
        seconds_in_memory=round(counted["in_memory"], 3),
        questions_per_step=round(traffic.questions / steps, 1),
        tasks=traffic.tasks,
        tasks_predicted=tasks_of(sizes[0], traffic.questions, traffic.totals, traffic.large),
        sent_per_step=round(traffic.sent / steps),
        received_per_step=round(traffic.received / steps),
        between_workers_per_step=counted["between"] / steps,
        X_bytes=counted["bytes"],
        client_peak_bytes=counted["peak"],
        client_peak_bytes_of_omp=counted["peer"],
        longest_axis=counted["longest"],
        seconds_predicted=predicted,
        same_as_in_memory=counted["same"],
        largest_difference=counted["difference"],
    )


def document(
    options: Options, environment: Environment, found: Sequence[Result | Model]
) -> dict[str, Any]:
    """Options, models and runs."""
    shown = ("workers", "rows", "features", "blocks", "size")
    models = {}
    for row in found:
        if isinstance(row, Model):
            models[row.cv] = asdict(row)
            del models[row.cv]["cv"]
    return {
        "options": {name: getattr(options, name) for name in shown},
        "environment": environment,
        "models": models,
        "runs": [asdict(row) for row in found if isinstance(row, Result)],
    }


SUITE = Suite(
    name="cluster",
    sentence="Selection with Dask on worker processes: tasks, bytes sent, time and its model.",
    options=Options,
    rows=rows,
    document=document,
)
