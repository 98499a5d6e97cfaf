"""Dask: tasks, bytes and time on worker processes of this machine, beside what the model says.

    python benchmarks/cluster.py [--workers 2 --rows 50000 --features 500 --size 20]

Selects at three sizes, each with twice the rows of the one before in blocks of the same size. Tasks
and bytes are counted where they are sent; between workers they are what these say of themselves.
The model of time is latency × sums waited for + time of a task × tasks + time of a row × rows: the
first two from runs with next to no rows, the last from the smallest size. It predicts the other
two. Writes results/cluster.json.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import machine

RESULTS = Path(__file__).parent / "results" / "cluster.json"


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
    from dask import delayed

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
    from greedyrls._cluster._dask import DaskCrew

    X, y = made_up(*sizes)
    crews: list[DaskCrew] = []
    axes: list[int] = []
    start, total, answers = DaskCrew.__init__, DaskCrew.total, DaskCrew.answers

    def noticed(self: DaskCrew, *given: Any) -> None:
        start(self, *given)
        crews.append(self)

    def seen_total(self: DaskCrew, *given: Any) -> Any:
        answer = total(self, *given)
        axes.append(longest(answer))
        return answer

    def seen_answers(self: DaskCrew, *given: Any) -> Any:
        found = answers(self, *given)
        axes.append(max(map(longest, found)))
        return found

    DaskCrew.__init__, DaskCrew.total, DaskCrew.answers = noticed, seen_total, seen_answers
    try:
        before, can_reset = between_workers(client), machine.reset_peak()
        resident, began = machine.resident_bytes(), time.perf_counter()
        path = greedy_path(X, y, n_features, alpha=1.0, cv=cv)
        seconds = time.perf_counter() - began
        peak = machine.peak_bytes() - resident if can_reset else None
    finally:
        DaskCrew.__init__, DaskCrew.total, DaskCrew.answers = start, total, answers
    after = between_workers(client)
    here = greedy_path(X.compute(), y.compute(), n_features, alpha=1.0, cv=cv)
    (crew,) = crews
    return {
        "path": path,
        "traffic": crew.traffic,
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


def _calibrated(client: Any, options: argparse.Namespace, cv: Any) -> tuple[float, float]:
    """Seconds of waiting for a sum, and of a task, from runs with few and many tiny blocks."""
    counts, seconds = [], []
    for n_blocks in (4, 32):
        told = measured(client, (n_blocks, 100, options.features), options.size, cv)
        counts.append((told["traffic"].totals, told["traffic"].tasks))
        seconds.append(told["seconds"])
    latency, each = np.linalg.solve(np.array(counts, dtype=float), np.array(seconds))
    return max(0.0, float(latency)), max(0.0, float(each))


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rows", type=int, default=50_000, help="of the smallest problem")
    parser.add_argument("--features", type=int, default=500)
    parser.add_argument("--blocks", type=int, default=4, help="of the smallest problem")
    parser.add_argument("--size", type=int, default=20)
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    machine.pin_threads(1)
    from distributed import Client, LocalCluster

    results: list[Result] = []
    models: dict[str, Any] = {}
    with (
        LocalCluster(
            n_workers=options.workers, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        warm = (options.workers, 1000, options.features)
        measured(client, warm, 2, "loo")
        for cv in ("loo", 5):
            latency, each = _calibrated(client, options, cv)
            rate: float | None = None
            for factor in (1, 2, 4):
                n_blocks = factor * options.blocks
                sizes = (n_blocks, options.rows // options.blocks, options.features)
                told = measured(client, sizes, options.size, cv)
                path, traffic = told["path"], told["traffic"]
                without = latency * traffic.totals + each * traffic.tasks
                if rate is None:
                    rate = max(0.0, told["seconds"] - without) / (sizes[0] * sizes[1])
                predicted = without + rate * sizes[0] * sizes[1]
                steps = options.size
                results.append(
                    Result(
                        shape=(sizes[0] * sizes[1], options.features),
                        n_blocks=n_blocks,
                        cv=str(cv),
                        n_features=steps,
                        passes=path.counters.passes,
                        exact_evaluations=path.counters.exact_evaluations,
                        seconds=round(told["seconds"], 3),
                        seconds_in_memory=round(told["in_memory"], 3),
                        questions_per_step=round(traffic.questions / steps, 1),
                        tasks=traffic.tasks,
                        tasks_predicted=tasks_of(
                            n_blocks, traffic.questions, traffic.totals, traffic.large
                        ),
                        sent_per_step=round(traffic.sent / steps),
                        received_per_step=round(traffic.received / steps),
                        between_workers_per_step=told["between"] / steps,
                        X_bytes=told["bytes"],
                        client_peak_bytes=told["peak"],
                        client_peak_bytes_of_omp=told["peer"],
                        longest_axis=told["longest"],
                        seconds_predicted=None if factor == 1 else round(predicted, 3),
                        same_as_in_memory=told["same"],
                        largest_difference=told["difference"],
                    )
                )
                print(json.dumps(asdict(results[-1])), flush=True)
            models[str(cv)] = {"latency": latency, "seconds_per_task": each, "per_row": rate}
    document = {
        "options": {name: value for name, value in vars(options).items() if name != "output"},
        "environment": machine.environment(1),
        "models": models,
        "runs": [asdict(result) for result in results],
    }
    options.output.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
