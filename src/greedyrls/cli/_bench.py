"""``greedyrls bench``: speed on this machine, as ratios within one run."""

from __future__ import annotations

import json
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .._base import counted
from .._select import greedy_path
from ..app import InputError
from ._options import OutputOptions
from ._run import FINE
from ._show import show_line
from ._shown import number


def run_bench(
    samples: int, features: int, size: int, repeats: int, seed: int, output: OutputOptions
) -> int:
    """Measure and show the results; return the exit code."""
    if size > features:
        raise InputError(f"-k {size} is more than the {counted(features, 'feature')} of -n.")
    generator = np.random.default_rng(seed)
    X = generator.standard_normal((samples, features))
    weights = np.zeros(features)
    weights[generator.permutation(features)[:size]] = generator.standard_normal(size)
    y = X @ weights + generator.standard_normal(samples)
    vector = generator.standard_normal(samples)
    paths: list[Any] = []

    def select() -> None:
        paths.append(greedy_path(X, y, size, alpha=1.0))

    def products() -> None:
        for _ in range(size):
            vector @ X

    def pursuit() -> None:
        from sklearn.linear_model import OrthogonalMatchingPursuit

        OrthogonalMatchingPursuit(n_nonzero_coefs=size).fit(X, y)

    def lasso() -> None:
        from sklearn.linear_model import lasso_path

        largest = float(np.abs(y @ X).max()) / samples
        lasso_path(X, y, alphas=largest * np.geomspace(1.0, 1e-3, 50))

    jobs: dict[str, Callable[[], None]] = {
        f"greedyrls: {counted(size, 'feature')} by exact leave-one-out": select,
        f"{size} matrix-vector products with the data": products,
        f"scikit-learn OMP: {counted(size, 'feature')}, no cross-validation": pursuit,
        "scikit-learn Lasso path: 50 penalties, no cross-validation": lasso,
    }
    with warnings.catch_warnings():
        # Convergence of the other methods does not matter here.
        warnings.simplefilter("ignore")
        seconds = {name: _median(job, repeats) for name, job in jobs.items()}
    path = paths[-1]
    results = {
        "samples": samples,
        "features": features,
        "size": size,
        "passes": path.counters.passes,
        "exact_evaluations": path.counters.exact_evaluations,
        "seconds": seconds,
    }
    if output.is_json:
        print(json.dumps(results))
    elif output.is_human:
        _show(results)
    return FINE


def _median(job: Callable[[], None], repeats: int) -> float:
    """Return the median time of some runs, after one that is not counted."""
    job()
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        job()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def _show(results: dict[str, Any]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    seconds = results["seconds"]
    reference = next(iter(seconds.values()))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(f"{results['samples']:,} × {results['features']:,}, float64")
    table.add_column("seconds", justify="right")
    table.add_column("relative", justify="right")
    for name, value in seconds.items():
        table.add_row(name, number(value, 3), f"{number(value / reference, 3)} ×")
    Console(highlight=False).print(table)
    literal = results["samples"] * sum(
        results["features"] - step for step in range(results["size"])
    )
    show_line(
        f"It read the data {counted(results['passes'], 'time')} and made "
        f"{counted(results['exact_evaluations'], 'exact evaluation')}; refitting every candidate "
        f"with every sample left out would be {literal:,} fits."
    )
