"""Sparse data: time, passes, exact evaluations and peak memory; what the same data would be dense.

    python benchmarks/sparse_data.py [--samples 20000 --features 100000 --density 0.001 --size 50]

Writes results/sparse.json. Peers that take no sparse X, or would make it dense, are asked and their
answer is written down.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import machine

RESULTS = Path(__file__).parent / "results" / "sparse.json"


def made_up(
    samples: int, features: int, density: float, is_binary: bool
) -> tuple[sparse.csc_array, np.ndarray]:
    """Entries at random; 50 features tell the target, with some noise."""
    generator = np.random.default_rng(0)
    X = sparse.random_array((samples, features), density=density, format="csc", rng=generator)
    if is_binary:
        X.data[:] = 1.0
    weights = np.zeros(features)
    weights[generator.permutation(features)[:50]] = 3.0 * generator.normal(size=50)
    return X, X @ weights + 0.1 * generator.normal(size=samples)


def measured(job: Callable[[], Any], X: sparse.csc_array) -> dict[str, Any]:
    """Seconds and peak memory of a call, or the error it ended with."""
    can_reset = machine.reset_peak()
    before, began = machine.resident_bytes(), time.perf_counter()
    try:
        found = job()
    except (TypeError, ValueError, MemoryError) as error:
        return {"error": f"{type(error).__name__}: {error}".split(". ")[0]}
    seconds = time.perf_counter() - began
    size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    peak = machine.peak_bytes() - before if can_reset else None
    told = {"seconds": round(seconds, 3), "peak_bytes": peak}
    if peak is not None:
        told["peak_over_X"] = round(peak / size, 2)
    counters = getattr(found, "counters", None)
    if counters is not None:
        told |= {"passes": counters.passes, "exact_evaluations": counters.exact_evaluations}
    return told


def rows(X: sparse.csc_array, y: np.ndarray, size: int) -> dict[str, dict[str, Any]]:
    """Ours, and those who cannot."""
    from sklearn.feature_selection import SequentialFeatureSelector
    from sklearn.linear_model import OrthogonalMatchingPursuit, Ridge

    from greedyrls import greedy_path

    greedy_path(X[:, :2000], y, 2, alpha=1.0)  # imports and first calls
    selector = SequentialFeatureSelector(Ridge(), n_features_to_select=1, cv=2)
    return {
        "leave-one-out": measured(lambda: greedy_path(X, y, size, alpha=1.0), X),
        "10 folds": measured(lambda: greedy_path(X, y, size, alpha=1.0, cv=10), X),
        "scikit-learn OMP": measured(
            lambda: OrthogonalMatchingPursuit(n_nonzero_coefs=size).fit(X, y), X
        ),
        "scikit-learn SFS, one feature of the first 200, 2 folds": measured(
            lambda: selector.fit(X[:, :200], y), X
        ),
    }


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=20_000)
    parser.add_argument("--features", type=int, default=100_000)
    parser.add_argument("--density", type=float, default=0.001)
    parser.add_argument("--size", type=int, default=50)
    options = parser.parse_args()
    machine.pin_threads(1)  # a product with a sparse X has one thread anyway
    problems: dict[str, Any] = {}
    for name, is_binary in (("numbers", False), ("0 and 1", True)):
        X, y = made_up(options.samples, options.features, options.density, is_binary)
        problems[name] = {
            "sparse_bytes": int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes),
            "dense_bytes": 8 * options.samples * options.features,
            "rows": rows(X, y, options.size),
        }
        print(name, json.dumps(problems[name], indent=1))
    document = {"options": vars(options), "machine": machine.environment(1), "problems": problems}
    RESULTS.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
