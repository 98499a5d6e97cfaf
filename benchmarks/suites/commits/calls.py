"""The rows of the suite commits: data, and the call that is timed, in a process of one checkout.

Nothing of greedyrls is imported before `serve` has put the checkout first in the path, and public
names only: the other checkout may have other modules.
"""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from harness.data_files import SUFFIXES, read_idx
from harness.measure import timed
from harness.problems import Array, Problem

SEED = 2010
SAME_LOSS = 1e-9
DIGIT = 5
Select = Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """Selected features in order, and the loss after each."""

    indices: list[int]
    losses: list[float]

    def agrees_with(self, other: Answer) -> bool:
        """Whether features are the same and losses differ by rounding alone."""
        return self.indices == other.indices and bool(
            np.allclose(self.losses, other.losses, rtol=SAME_LOSS, atol=0.0)
        )


@dataclass(frozen=True, slots=True)
class Size:
    """How large a row is: samples, features, and how many to select."""

    m: int
    n: int
    k: int

    def divided(self, by: int) -> Size:
        """A smaller row for a smoke test."""
        m, n = max(40, self.m // by), max(20, self.n // by)
        return Size(m, n, min(self.k, n // 2))


@dataclass(frozen=True, slots=True)
class Call:
    """A row: what it does, how large it is, and the context that makes its data."""

    does: str
    size: Size
    prepared: Callable[[Size, Path | None], Any]
    """A context manager that yields the call to time."""


@contextmanager
def _normal(size: Size, data: Path | None) -> Iterator[Select]:
    from greedyrls import greedy_path

    X, y = Problem(size.m, size.n, size.k).make()
    yield lambda: greedy_path(X, y, size.k)


@contextmanager
def _folds(size: Size, data: Path | None) -> Iterator[Select]:
    from greedyrls import greedy_path

    X, y = Problem(size.m, size.n, size.k).make()
    yield lambda: greedy_path(X, y, size.k, cv=10)


@contextmanager
def _penalties(size: Size, data: Path | None) -> Iterator[Select]:
    from greedyrls import greedy_path

    X, y = Problem(size.m, size.n, size.k).make()
    alphas = np.logspace(0, 5, 20)
    yield lambda: greedy_path(X, y, size.k, alpha=alphas, alpha_rule="joint")


@contextmanager
def _images(size: Size, data: Path | None) -> Iterator[Select]:
    from greedyrls import greedy_path

    X, y = made_up_images(size) if data is None else read_images(data, size)
    yield lambda: greedy_path(X, y, size.k, loss="zero_one")


def made_up_images(size: Size) -> tuple[Array, Array]:
    """Bytes, most of them 0: two classes that differ in where the ink is; classes −1 and +1."""
    generator = np.random.default_rng(SEED)
    y = np.where(generator.random(size.m) < 0.1, 1.0, -1.0)
    where = generator.random((2, size.n)) ** 3  # share of the images with ink, by class and pixel
    share = 0.7 * where[0] + 0.3 * np.where(y > 0, 1, 0)[:, None] * (where[1] - where[0])
    ink = generator.integers(1, 256, (size.m, size.n), dtype=np.uint8)
    X = np.where(generator.random((size.m, size.n)) < share, ink, 0).astype(np.uint8)
    return X, y


def read_images(data: Path, size: Size) -> tuple[Array, Array]:
    """The first images of an IDX file, and whether each is a five, by the labels beside it."""
    name = data.name.replace("images-idx3", "labels-idx1")
    for suffix in SUFFIXES[1:]:
        name = name.removesuffix(suffix)
    labels = next(
        (file for end in SUFFIXES if (file := data.with_name(name + end)).is_file()), None
    )
    if labels is None or labels == data:
        raise FileNotFoundError(f"{name}, the labels of {data.name}, is not beside it.")
    images = read_idx(data)[: size.m]
    X = images.reshape(len(images), -1)
    return X, np.where(read_idx(labels)[: size.m] == DIGIT, 1.0, -1.0)


@contextmanager
def _sparse(size: Size, data: Path | None) -> Iterator[Select]:
    from scipy import sparse

    from greedyrls import greedy_path

    generator = np.random.default_rng(SEED)
    X = sparse.random_array((size.m, size.n), density=0.01, format="csc", rng=generator)
    weights = np.zeros(size.n)
    weights[generator.permutation(size.n)[:50]] = 3.0
    y = X @ weights + 0.1 * generator.standard_normal(size.m)
    yield lambda: greedy_path(X, y, size.k)


@contextmanager
def _file(size: Size, data: Path | None) -> Iterator[Select]:
    from greedyrls import files, greedy_path

    X, y = Problem(size.m, size.n, size.k, dtype="float32").make()
    with tempfile.TemporaryDirectory() as folder:
        name = Path(folder) / "X.npy"
        np.save(name, X)
        # A quarter of the file: it is read in pieces, and no piece is kept.
        limit = max(64_000_000, X.nbytes // 4)
        del X
        yield lambda: greedy_path(files.open_npy(name, memory_limit=limit), y, size.k)


@contextmanager
def _dask(size: Size, data: Path | None) -> Iterator[Select]:
    import dask.array as da
    from distributed import Client, LocalCluster

    from greedyrls import greedy_path

    X, y = Problem(size.m, size.n, size.k).make()
    chunk = -(-size.m // 4)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster),
    ):
        remote_X = da.from_array(X, chunks=(chunk, size.n)).persist()
        remote_y = da.from_array(y, chunks=chunk).persist()
        yield lambda: greedy_path(remote_X, remote_y, size.k)


@contextmanager
def _classifier(size: Size, data: Path | None) -> Iterator[Select]:
    from greedyrls import GreedyRLSClassifier

    X, y = Problem(size.m, size.n, size.k).make()
    yield lambda: GreedyRLSClassifier(size.k).fit(X, y).path_


CALLS: dict[str, Call] = {
    "50000x1000": Call("50,000 × 1,000, k = 50", Size(50_000, 1000, 50), _normal),
    "5000x1000": Call("5,000 × 1,000, k = 50", Size(5000, 1000, 50), _normal),
    "500x1000": Call("500 × 1,000, k = 50", Size(500, 1000, 50), _normal),
    "200x20000": Call("200 × 20,000, k = 50", Size(200, 20_000, 50), _normal),
    "folds": Call("5,000 × 500, k = 20, ten folds", Size(5000, 500, 20), _folds),
    "penalties": Call("2,000 × 500, k = 20, 20 penalties", Size(2000, 500, 20), _penalties),
    "images": Call("10,000 × 784 bytes, k = 50, 0/1 loss", Size(10_000, 784, 50), _images),
    "sparse": Call("20,000 × 10,000, density 0.01, k = 50", Size(20_000, 10_000, 50), _sparse),
    "file": Call("100,000 × 500 float32 in a .npy file, k = 20", Size(100_000, 500, 20), _file),
    "dask": Call("20,000 × 500 on two processes, k = 20", Size(20_000, 500, 20), _dask),
    "classifier": Call(
        "GreedyRLSClassifier(10), 1,000 × 100, all else automatic", Size(1000, 100, 10), _classifier
    ),
}


def serve(source: str, name: str, shrink: int, data: Path | None, connection: Connection) -> None:
    """Serve one row in this process: so many timed calls for each number that is sent."""
    sys.path.insert(0, source)
    # For the processes that this one starts.
    os.environ["PYTHONPATH"] = os.pathsep.join([source, os.environ.get("PYTHONPATH", "")])
    import greedyrls

    if Path(greedyrls.__file__).resolve().parents[1] != Path(source):
        raise ImportError(f"greedyrls was imported from {greedyrls.__file__}, not from {source}.")
    warnings.simplefilter("ignore")  # such as near ties, and data that are large for a task graph
    call = CALLS[name]
    with call.prepared(call.size.divided(shrink) if shrink > 1 else call.size, data) as select:
        connection.send("ready")
        while count := connection.recv():
            seconds = []
            for _ in range(count):
                spent, path = timed(select)
                seconds.append(spent)
            connection.send((seconds, Answer(path.indices.tolist(), path.losses.tolist())))
