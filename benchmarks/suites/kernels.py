"""Centres found one by one against random ones, k-means and Nyström.

Error on test rows by number of centres, over several splits, and seconds. All methods have the same
RBF kernel (gamma="scale") and the RKHS penalty, which is chosen for each of them and each size from
the same grid by exact leave-one-out on the training rows. The search has one penalty that is not
tuned. Digits come with scikit-learn; ijcnn1 is read from `--data-dir` (ijcnn1/ijcnn1.bz2 and
ijcnn1.t.bz2).

`--time` measures only the time of centres found and of random ones, with the choice of the penalty:
the quickest of several runs that take turns, by the clock and of the processor:

    run.py kernels --time --threads 0 --output results/kernels_time.json
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_svmlight_file
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import RidgeCV
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from harness import suite
from harness.suite import RESULTS, Environment, Suite, option
from harness.writer import read_json

SIZES = (10, 20, 50, 100)
GRID = 10.0 ** np.arange(-6.0, 2.25, 0.5)
SEARCH_ALPHA = 0.1
SPLITS = 5
# With more rows a model on all of them for every penalty would take longer than all the rest.
MOST_FOR_ALL = 1500
Array = np.ndarray
Split = tuple[Array, Array, Array, Array]  # training points and labels, test points and labels


def digits(seed: int, _: Path | None) -> Split:
    """1797 images of 64 pixels, ten classes; 30 % are tested."""
    X, y = load_digits(return_X_y=True)
    parts = train_test_split(X / 16.0, y, test_size=0.3, random_state=seed, stratify=y)
    return parts[0], parts[2], parts[1], parts[3]


def ijcnn1(seed: int, folder: Path | None) -> Split:
    """22 features, two classes (one in ten is positive): 3000 rows, tested on 20000 others."""
    assert folder is not None
    rng = np.random.default_rng(seed)
    parts: list[Array] = []
    for name, count in (("ijcnn1.bz2", 3000), ("ijcnn1.t.bz2", 20000)):
        X, y = load_svmlight_file(str(folder / "ijcnn1" / name), n_features=22)
        rows = rng.choice(len(y), count, replace=False)
        parts += [X[rows].toarray(), y[rows]]
    scaler = StandardScaler().fit(parts[0])
    return scaler.transform(parts[0]), parts[1], scaler.transform(parts[2]), parts[3]


def random_points(seed: int, _: Path | None = None) -> Split:
    """3000 points with 22 features, of which 2000 are candidates, and two classes; for times."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((3000, 22))
    y = np.sign(X[:, 0] * X[:, 1] + 0.5 * rng.standard_normal(3000)).astype(int)
    return X, y, X, y


DATA: dict[str, Callable[[int, Path | None], Split]] = {"digits": digits, "ijcnn1": ijcnn1}


def error_rate(values: Array, classes: Array, labels: Array) -> float:
    """Of decision values (m × t)."""
    places = (values[:, 0] > 0).astype(int) if values.shape[1] == 1 else values.argmax(axis=1)
    return float(np.mean(classes[places] != labels))


def fit_centers(K: Array, Kcc: Array, Y: Array) -> tuple[Array, Array]:
    """Coefficients and intercepts on given centres, the penalty by exact leave-one-out."""
    means, targets = K.mean(axis=0), Y.mean(axis=0)
    X, R = K - means, Y - targets
    best: tuple[float, Array] | None = None
    for alpha in GRID:
        A = X.T @ X + alpha * Kcc + 1e-10 * np.trace(Kcc) / len(Kcc) * np.eye(len(Kcc))
        solved = np.linalg.solve(A, X.T)
        coef = solved @ R
        left = 1.0 - 1.0 / len(X) - np.einsum("ij,ji->i", X, solved)
        loss = float(np.mean(((R - X @ coef) / left[:, None]) ** 2))
        if best is None or loss < best[0]:
            best = loss, coef
    assert best is not None
    return best[1], targets - means @ best[1]


def compare(name: str, seed: int, folder: Path | None) -> dict[str, dict[str, list[float]]]:
    """Errors and seconds of all methods and sizes on one split."""
    from greedyrls import GreedyKernelRLSClassifier
    from greedyrls._problem import code_classes

    X, y, X_test, y_test = DATA[name](seed, folder)
    coded = code_classes(y)
    assert coded.classes is not None
    classes, Y = coded.classes, np.asarray(coded.values, dtype=float).reshape(len(y), -1)
    gamma = 1.0 / (X.shape[1] * X.var())
    found: dict[str, dict[str, list[float]]] = {}

    def note(method: str, error: float, seconds: float) -> None:
        entry = found.setdefault(method, {"errors": [], "seconds": []})
        entry["errors"].append(error)
        entry["seconds"].append(seconds)

    began = time.perf_counter()
    model = GreedyKernelRLSClassifier(
        SIZES[-1], gamma=gamma, alpha=SEARCH_ALPHA, max_candidates=2000, random_state=seed
    ).fit(X, y)
    searched = time.perf_counter() - began
    rng = np.random.default_rng(seed)
    for size in SIZES:
        seconds = float(sum(step.seconds for step in model.path_.steps[:size]))

        def judge(method: str, C: Array, began: float, before: float = 0.0) -> None:
            coef, offset = fit_centers(rbf_kernel(X, C, gamma), rbf_kernel(C, C, gamma), Y)
            seconds = before + time.perf_counter() - began
            values = rbf_kernel(X_test, C, gamma) @ coef + offset
            note(method, error_rate(values, classes, y_test), seconds)

        # The pass at the start belongs to every size.
        start = searched - float(sum(step.seconds for step in model.path_.steps))
        chosen = model.with_n_centers(min(size, len(model.path_))).centers_
        judge("greedy centres", chosen, time.perf_counter(), start + seconds)
        began = time.perf_counter()
        judge("random centres", X[rng.choice(len(X), size, replace=False)], began)
        began = time.perf_counter()
        means = KMeans(size, n_init=1, random_state=seed).fit(X).cluster_centers_
        judge("k-means centres", means, began)
        began = time.perf_counter()
        nystroem = Nystroem(kernel="rbf", gamma=gamma, n_components=size, random_state=seed).fit(X)
        ridge = RidgeCV(GRID).fit(nystroem.transform(X), Y)
        seconds = time.perf_counter() - began
        values = ridge.predict(nystroem.transform(X_test)).reshape(len(y_test), -1)
        note("Nyström + ridge", error_rate(values, classes, y_test), seconds)
    if len(X) > MOST_FOR_ALL:
        return found
    began = time.perf_counter()
    K = rbf_kernel(X, X, gamma)
    coef, offset = fit_centers(K, K, Y)
    seconds = time.perf_counter() - began
    values = rbf_kernel(X_test, X, gamma) @ coef + offset
    note("all rows as centres", error_rate(values, classes, y_test), seconds)
    return found


def quickest(name: str, repeats: int) -> dict[str, dict[str, float]]:
    """Seconds of centres found and of random ones by size, and their ratios."""
    from greedyrls import GreedyKernelRLSClassifier
    from greedyrls._problem import code_classes

    X, y, _, _ = TIMED[name](0, None)
    coded = code_classes(y)
    Y = np.asarray(coded.values, dtype=float).reshape(len(y), -1)
    gamma, rng = 1.0 / (X.shape[1] * X.var()), np.random.default_rng(0)

    def random(size: int) -> Array:
        return X[rng.choice(len(X), size, replace=False)]

    def greedy(size: int) -> Array:
        options = {"gamma": gamma, "alpha": SEARCH_ALPHA, "max_candidates": 2000}
        model = GreedyKernelRLSClassifier(size, probability=False, random_state=0, **options)
        return model.fit(X, y).centers_

    def seconds(centers: Callable[[int], Array], size: int) -> Array:
        began = np.array([time.perf_counter(), time.process_time()])
        C = centers(size)
        fit_centers(rbf_kernel(X, C, gamma), rbf_kernel(C, C, gamma), Y)
        return np.array([time.perf_counter(), time.process_time()]) - began

    found = {size: np.full((2, 2), np.inf) for size in SIZES}  # method × clock or processor
    for _ in range(repeats):
        for size, best in found.items():
            for row, method in enumerate((greedy, random)):
                best[row] = np.minimum(best[row], seconds(method, size))
    return {
        str(size): {
            "greedy_seconds": float(best[0, 0]),
            "random_seconds": float(best[1, 0]),
            "ratio": float(best[0, 0] / best[1, 0]),
            "ratio_of_processor_time": float(best[0, 1] / best[1, 1]),
        }
        for size, best in found.items()
    }


TIMED: dict[str, Callable[[int, Path | None], Split]] = {
    "digits": digits,
    "random points": random_points,
}


def summary(splits: list[dict[str, dict[str, list[float]]]]) -> dict[str, Any]:
    """Means over splits with their standard errors."""
    result: dict[str, Any] = {}
    for method in splits[0]:
        errors = np.array([split[method]["errors"] for split in splits])
        times = np.array([split[method]["seconds"] for split in splits])
        count = len(splits)
        result[method] = {
            "error": errors.mean(axis=0).round(5).tolist(),
            "standard_error": (errors.std(axis=0, ddof=1) / np.sqrt(count)).round(5).tolist(),
            "seconds": np.median(times, axis=0).round(3).tolist(),
        }
        greedy = np.array([split["greedy centres"]["errors"] for split in splits])
        if errors.shape == greedy.shape:
            gap = errors - greedy
            result[method]["worse_than_greedy_by"] = gap.mean(axis=0).round(5).tolist()
            spread = gap.std(axis=0, ddof=1) / np.sqrt(count)
            result[method]["standard_error_of_that"] = spread.round(5).tolist()
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(suite.Options):
    """Which data."""

    output: Path = option(RESULTS / "kernels.json", "where the JSON goes; other data are kept")
    only: tuple[str, ...] = option((), "these data sets", DATA, "NAME")
    data_dir: Path | None = option(None, "folder with ijcnn1/")
    splits: int = option(SPLITS, "of each data set")
    time: bool = option(False, "measure the time of centres found and of random ones only")
    repeats: int = option(30, "runs of each size for --time")


@dataclass(frozen=True, slots=True)
class Row:
    """All methods on one data set."""

    data: str
    methods: dict[str, Any]


def rows(options: Options) -> Iterator[Row]:
    """The data sets that are at hand."""
    if options.time:
        for name in TIMED:
            yield Row(name, quickest(name, options.repeats))
        return
    for name in options.only or (name for name in DATA if name == "digits" or options.data_dir):
        splits = []
        for seed in range(options.splits):
            print(f"{name}, split {seed} ...", file=sys.stderr, flush=True)
            splits.append(compare(name, seed, options.data_dir))
        yield Row(name, summary(splits))


def document(options: Options, environment: Environment, found: Sequence[Row]) -> dict[str, Any]:
    """The results that the file has already, with those of this run in their place."""
    if options.time:
        return {"environment": environment, "times": {row.data: row.methods for row in found}}
    results = read_json(options.output) if options.output.exists() else {}
    for row in found:
        results[row.data] = {
            "sizes": list(SIZES),
            "splits": options.splits,
            "search_alpha": SEARCH_ALPHA,
            "environment": environment,
            "methods": row.methods,
        }
    return results


def _lines(row: Row) -> str:
    if row.data in TIMED and "10" in row.methods:
        ratios = (f"{size}: {values['ratio']:.2f}" for size, values in row.methods.items())
        return f"{row.data}, greedy / random centres: {', '.join(ratios)}"
    return "\n".join(
        f"{row.data} {method} {values['error']} {values['standard_error']} {values['seconds']}"
        for method, values in row.methods.items()
    )


SUITE = Suite(
    name="kernels",
    sentence="Kernel centres found one by one against random ones, k-means and Nyström.",
    options=Options,
    rows=rows,
    document=document,
    line=_lines,
)
