"""Seconds of what users run: the defaults beside LassoCV, single paths beside OMP, a busy core.

All have as many cores as there are (`n_jobs=-1`). Calls of a row take turns, and its ratio is the
median over rounds. Clock time on a busy machine says little, so processor time is there as well.
"""

from __future__ import annotations

import multiprocessing
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LassoCV
from sklearn.preprocessing import scale

from greedyrls import GreedyRLSClassifier, GreedyRLSRanker, GreedyRLSRegressor, greedy_path
from harness import data_sets
from harness.measure import SETTLE_SECONDS, in_turns, timed
from harness.tables import Cells
from libraries import sklearn_omp

from .problems import Array

HEAD = ("row", "ours, s", "other, s", "ratio", "at most", "ours, CPU s", "other, CPU s")
MNIST_ROWS = 5_000
PATH_SIZE = 50
# A turn has as many calls as take so long: after the pause before it, a single call of milliseconds
# would measure how fast the machine wakes up.
TURN_SECONDS = 0.2
PATHS = {(500, 1_000): 1.0, (200, 20_000): 1.0}  # beside OMP
PRODUCTS = {(5_000, 1_000): 0.5, (50_000, 1_000): 0.3}  # in products of X with a vector


@dataclass(frozen=True, slots=True)
class Row:
    """Two calls that took turns; the second may be a fixed number of seconds."""

    name: str
    ours: float
    other: float
    ratio: float
    most: float  # that the ratio is to be
    ours_cpu: float
    other_cpu: float | None = None

    @property
    def cells(self) -> tuple[str, ...]:
        """The row of a table."""
        cpu = "" if self.other_cpu is None else f"{self.other_cpu:.3g}"
        numbers = (self.ours, self.other, self.ratio)
        return (
            self.name,
            *(f"{value:.3g}" for value in numbers),
            f"{self.most:g}",
            f"{self.ours_cpu:.3g}",
            cpu,
        )


def common_factors(m: int = 50, n: int = 7_000, seed: int = 5) -> tuple[Array, Array]:
    """Wide, two classes, and twenty factors that all columns have in common: like expression."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n)) + rng.normal(size=(m, 20)) @ rng.normal(size=(20, n))
    return scale(X), np.sign(X[:, :8].sum(axis=1) + 3 * rng.normal(size=m))


def correlated_binary(m: int = 400, n: int = 1_300, seed: int = 6) -> tuple[Array, Array]:
    """Correlated columns of 0 and 1, fifty of which matter a little: like genetic markers."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(m, 60)) @ rng.normal(size=(60, n))
    X = scale((Z + 4 * rng.normal(size=Z.shape) > 0).astype(float))
    effects = rng.normal(size=X[:, ::26].shape[1])
    return X, X[:, ::26] @ effects + 6 * rng.normal(size=m)


def few_true(m: int = 3_500, n: int = 1_000, true: int = 10, seed: int = 7) -> tuple[Array, Array]:
    """Independent columns, ten of which matter, with weights 1, 1/2, 1/3, …"""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n))
    return X, X[:, :true] @ (1 / np.arange(1, true + 1)) + rng.normal(size=m)


def queries(m: int = 3_000, n: int = 218, count: int = 200) -> tuple[Array, Array, Array]:
    """Relevances 0 to 3 of samples in queries, told by ten columns, and the query of each."""
    rng = np.random.default_rng(8)
    query_of = np.arange(m) // (m // count)
    X = rng.normal(size=(m, n)) + rng.normal(size=(count, n))[query_of]
    score = X[:, :10] @ (1 / np.arange(1, 11)) + rng.normal(size=m)
    return X, np.digitize(score, np.quantile(score, [0.5, 0.75, 0.9])).astype(float), query_of


def rows(data_dir: Path | None, rounds: int) -> Iterator[Row]:
    """Time all rows; those of data sets only if their folder is given."""
    yield from _beside_lasso(data_dir, rounds)
    X, y = load_digits(return_X_y=True)
    yield _alone("default, digits", partial(_fit, GreedyRLSClassifier, scale(X), y), 1.0, rounds)
    X, y, query_of = queries()
    name = f"ranker, {X.shape[0]:,} × {X.shape[1]}, {query_of[-1] + 1} queries"
    yield _alone(name, partial(_fit, GreedyRLSRanker, X, y, query_of), 4.0, rounds)
    for (m, n), most in PATHS.items():
        X, y = few_true(m, n, 50)
        other = partial(sklearn_omp.select, X, y, PATH_SIZE)
        yield _pair(f"path, {m:,} × {n:,} / OMP", partial(_path, X, y), other, most, rounds)
    for (m, n), most in PRODUCTS.items():
        X, y = few_true(m, n, 50)
        name = f"path, {m:,} × {n:,} / {PATH_SIZE} products"
        yield _pair(name, partial(_path, X, y), partial(_products, X, y), most, rounds)
    yield _on_a_busy_core(rounds)


def table(found: list[Row]) -> Cells:
    """The rows as a table."""
    return [HEAD, *(row.cells for row in found)]


def document(found: list[Row], machine: dict[str, Any]) -> dict[str, Any]:
    """The content of the result file."""
    return {"machine": machine, "rows": [asdict(row) for row in found]}


def _beside_lasso(data_dir: Path | None, rounds: int) -> Iterator[Row]:
    """The default beside LassoCV with as many folds."""
    problems: dict[str, tuple[Callable[[], tuple[Array, Array]], bool, float]] = {
        "50 × 7,000, 20 common factors": (common_factors, True, 0.5),
        "400 × 1,300, correlated 0/1": (correlated_binary, False, 0.5),
        "3,500 × 1,000, 10 true": (few_true, False, 1.5),
        "breast cancer": (_breast_cancer, True, 0.5),
    }
    if data_dir is not None:
        problems["colon-cancer"] = (partial(_data_set, "colon-cancer", data_dir), True, 1.0)
        problems[f"mnist5, {MNIST_ROWS:,} rows"] = (
            partial(_data_set, "mnist5", data_dir),
            True,
            1.0,
        )
    for name, (make, is_classes, most) in problems.items():
        X, y = make()
        model = GreedyRLSClassifier if is_classes else GreedyRLSRegressor
        yield _pair(
            f"default, {name} / LassoCV",
            partial(_fit, model, X, y),
            lambda X=X, y=y: LassoCV(cv=5, n_jobs=-1).fit(X, y),
            most,
            rounds,
        )


def _breast_cancer() -> tuple[Array, Array]:
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X), np.where(y > 0, 1.0, -1.0)


def _data_set(name: str, data_dir: Path) -> tuple[Array, Array]:
    X, y = data_sets.load(data_sets.DATA_SETS[name], data_dir)
    return X[:MNIST_ROWS], y[:MNIST_ROWS]


def _fit(model: Any, X: Array, y: Array, groups: Array | None = None) -> Any:
    return model(n_jobs=-1).fit(X, y, groups=groups)


def _path(X: Array, y: Array) -> Any:
    return greedy_path(X, y, PATH_SIZE)


def _products(X: Array, y: Array) -> None:
    for _ in range(PATH_SIZE):
        y @ X


def _pair(
    name: str, ours: Callable[[], Any], other: Callable[[], Any], most: float, rounds: int
) -> Row:
    """Two calls in turns; short ones are called several times in a turn."""
    cpu: dict[str, list[float]] = {"ours": [], "other": []}
    calls = {"ours": ours, "other": other}

    def turn(which: str, count: int) -> None:
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # solvers that did not converge
            for _ in range(count):
                calls[which]()
        cpu[which].append((time.process_time() - began) / count)

    for which in calls:
        turn(which, 1)  # imports, and processes of joblib
    longest = max(timed(partial(turn, which, 1))[0] for which in calls)
    count = max(1, int(TURN_SECONDS / longest))
    turns = in_turns({which: partial(turn, which, count) for which in calls}, rounds)
    return Row(
        name,
        turns.median("ours") / count,
        turns.median("other") / count,
        turns.ratio("ours", "other"),
        most,
        median(cpu["ours"][2:]),
        median(cpu["other"][2:]),
    )


def _alone(name: str, ours: Callable[[], Any], most: float, rounds: int) -> Row:
    """A call whose seconds are the ratio: the other is a second."""
    row = _pair(name, ours, lambda: None, most, rounds)
    return Row(name, row.ours, 1.0, row.ours, most, row.ours_cpu)


def _on_a_busy_core(rounds: int) -> Row:
    """The default while another process keeps one core busy, over the default without it."""
    X, y = few_true()

    def busy() -> None:
        with _busy_core():
            began = time.perf_counter()
            _fit(GreedyRLSRegressor, X, y)
            spent.append(time.perf_counter() - began)

    spent: list[float] = []
    row = _pair("", busy, partial(_fit, GreedyRLSRegressor, X, y), 1.5, rounds)
    ours = median(spent[1:])
    name = "default, 3,500 × 1,000, with one core busy / idle"
    return Row(name, ours, row.other, ours / row.other, 1.5, row.ours_cpu, row.other_cpu)


@contextmanager
def _busy_core() -> Iterator[None]:
    """Keep a core busy meanwhile."""
    process = multiprocessing.get_context("spawn").Process(target=_spin, daemon=True)
    process.start()
    time.sleep(5 * SETTLE_SECONDS)  # until it runs
    try:
        yield
    finally:
        process.terminate()
        process.join()


def _spin() -> None:
    while True:
        pass
