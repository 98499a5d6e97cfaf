"""A worker that is killed in the midst of a search, and what travels while all live."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client, Future
from numpy.testing import assert_array_equal

from clusters import Array, processes
from greedyrls import SelectionPath, Step, greedy_path
from tuning import tuned

M, N, ROWS = 1200, 8, 300


pytestmark = [pytest.mark.xdist_group("dask"), pytest.mark.slow]


@pytest.fixture(scope="module")
def workers() -> Iterator[Client]:
    """A cluster whose workers may die; each is replaced by a new one."""
    with tuned(dask_engine="cluster"), processes(2) as client:
        yield client


def random_rows() -> tuple[Any, Any]:
    """X and y that workers make, and can make again."""
    X = da.random.default_rng(3).normal(size=(M, N), chunks=(ROWS, N))
    noise = da.random.default_rng(4).normal(size=M, chunks=ROWS)
    return X, X[:, :6] @ np.array([3.0, 2.5, 2.0, 1.5, 1.0, 0.5]) + noise


def _made(place: int) -> Array:
    return np.random.default_rng(place).normal(size=(ROWS, N))


def delayed_rows() -> tuple[Any, Any]:
    """X of functions that are called by the workers."""
    parts = [
        da.from_delayed(dask.delayed(_made)(place), (ROWS, N), dtype=float)
        for place in range(M // ROWS)
    ]
    X = da.concatenate(parts)
    return X, X[:, :6] @ np.array([3.0, 2.5, 2.0, 1.5, 1.0, 0.5]) + X[:, 7] ** 2


def rows_in_memory() -> tuple[Any, Any]:
    """X in memory, sent to the workers with their tasks, and y that stays."""
    generator = np.random.default_rng(5)
    X = generator.normal(size=(M, N))
    y = X[:, :6] @ [3.0, 2.5, 2.0, 1.5, 1.0, 0.5] + generator.normal(size=M)
    return da.from_array(X, chunks=(ROWS, N)), y


SOURCES = {"random": random_rows, "delayed": delayed_rows, "memory": rows_in_memory}


def kill_the_fullest(client: Client) -> str:
    """SIGKILL to the worker that holds most; its address."""
    held = {address: len(keys) for address, keys in client.has_what().items()}
    address = max(held, key=lambda each: held[each])
    assert held[address] > 0
    os.kill(client.run(os.getpid, workers=[address])[address], signal.SIGKILL)
    return address


def assert_identical(found: SelectionPath, expected: SelectionPath) -> None:
    """To the last bit."""
    assert_array_equal(found.indices, expected.indices)
    assert found.losses.tolist() == expected.losses.tolist()
    assert found.standard_errors.tolist() == expected.standard_errors.tolist()
    assert found.coef(len(found)).tolist() == expected.coef(len(expected)).tolist()
    for step, same in zip(found.steps, expected.steps, strict=True):
        assert replace(step, seconds=0.0) == replace(same, seconds=0.0)


@pytest.mark.parametrize(
    ("source", "options"),
    [
        ("random", {}),
        ("delayed", {"cv": 3}),
        ("memory", {"loss": "absolute"}),
    ],
)
def test_a_worker_is_killed_between_steps(
    workers: Client, source: str, options: dict[str, Any]
) -> None:
    X, y = SOURCES[source]()
    expected = greedy_path(X, y, 4, **options)
    killed = []

    def callback(step: Step) -> None:
        if step.index == expected.indices[1]:
            killed.append(kill_the_fullest(workers))

    found = greedy_path(X, y, 4, callback=callback, **options)
    assert len(killed) == 1
    assert killed[0] not in workers.has_what()
    assert_identical(found, expected)


def test_a_worker_is_killed_while_it_works(workers: Client) -> None:
    workers.wait_for_workers(2)
    X, y = random_rows()
    expected = greedy_path(X, y, 3, n_runners_up=1)
    killed: list[str] = []
    killer = threading.Timer(0.3, lambda: killed.append(kill_the_fullest(workers)))
    killer.start()
    found = greedy_path(X, y, 3, n_runners_up=1)
    killer.join()
    assert killed
    assert_identical(found, expected)


class _Sizes:
    """The longest axis of all arrays that pass by, and how many bytes they have."""

    def __init__(self) -> None:
        self.longest = 0
        self.bytes = 0
        self.calls = 0
        self._seen: set[int] = set()

    def look(self, value: Any) -> None:
        self.calls += 1
        self._seen = set()
        self._look(value)

    def _look(self, value: Any) -> None:
        if isinstance(value, str | bytes | int | float | Future) or id(value) in self._seen:
            return
        self._seen.add(id(value))
        if isinstance(value, np.ndarray):
            self.longest = max(self.longest, *value.shape, 0)
            self.bytes += value.nbytes
        elif isinstance(value, dict):
            for each in value.items():
                self._look(each)
        elif isinstance(value, tuple | list | set | frozenset):
            self.longest = max(self.longest, len(value))
            for each in value:
                self._look(each)
        elif type(value).__module__.split(".")[0] in (
            "dask",
            "distributed",
            "functools",
            "greedyrls",
        ):
            names = [
                name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())
            ]
            for name in {*names, *getattr(value, "__dict__", ())}:
                self._look(getattr(value, name, None))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"cv": 4},
        {"loss": "absolute", "n_features": "auto", "max_features": 2, "size_rule": "1se"},
        {"alpha": [0.1, 10.0], "alpha_cv": 2, "cv": 3, "n_features": 1},
    ],
    ids=["leave-one-out", "folds", "one error", "nested"],
)
def test_only_vectors_of_feature_space_travel(
    workers: Client, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    m, n, rows = 20_000, 20, 2_500
    X = da.random.default_rng(3).normal(size=(m, n), chunks=(rows, n))
    y = X[:, :3].sum(axis=1) + da.random.default_rng(4).normal(size=m, chunks=rows)
    weights = da.random.default_rng(5).uniform(size=m, chunks=rows)
    received, sent = _Sizes(), _Sizes()
    gather, send = Client._gather, Client._graph_to_futures

    async def watched_gather(self: Client, *arguments: Any, **more: Any) -> Any:
        result = await gather(self, *arguments, **more)
        received.look(result)
        return result

    def watched_send(self: Client, graph: Any, *arguments: Any, **more: Any) -> Any:
        sent.look(graph)
        return send(self, graph, *arguments, **more)

    monkeypatch.setattr(Client, "_gather", watched_gather)
    monkeypatch.setattr(Client, "_graph_to_futures", watched_send)
    path = greedy_path(X, y, **{"n_features": 2, **options}, sample_weight=weights)
    assert path.settings.n_samples == m
    assert received.calls > 5
    assert sent.calls > 5
    assert sent.bytes > 0
    # Neither X nor anything that has a number for each row, of a partition even.
    assert received.longest < rows / 10
    assert sent.longest < rows / 10
    assert received.bytes + sent.bytes < 8 * m
