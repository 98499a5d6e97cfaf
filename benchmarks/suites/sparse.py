"""Sparse data: time, passes, exact evaluations and peak memory; what the same data would be dense.

Peers that take no sparse X, or would make it dense, are asked and their answer is written down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from harness import suite
from harness.measure import peak_of, timed
from harness.suite import RESULTS, Environment, Suite, option

PROBLEMS = {"numbers": False, "0 and 1": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(suite.Options):
    """Sizes; a product with a sparse X has one thread anyway."""

    output: Path = option(RESULTS / "sparse.json", "where the JSON goes")
    samples: int = option(20_000, "rows of X")
    features: int = option(100_000, "columns of X")
    density: float = option(0.001, "share of the entries that are not zero")
    size: int = option(50, "how many features to select")


@dataclass(frozen=True, slots=True)
class Row:
    """One library or criterion on one problem."""

    problem: str
    sparse_bytes: int
    name: str
    values: dict[str, Any]


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


def bytes_of(X: sparse.csc_array) -> int:
    """The memory of a sparse X."""
    return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)


def measured(job: Callable[[], Any], X: sparse.csc_array) -> dict[str, Any]:
    """Seconds and peak memory of a call, or the error it ended with."""
    try:
        peak, (seconds, found) = peak_of(lambda: timed(job))
    except (TypeError, ValueError, MemoryError) as error:
        return {"error": f"{type(error).__name__}: {error}".split(". ")[0]}
    values: dict[str, Any] = {"seconds": round(seconds, 3), "peak_bytes": peak}
    if peak is not None:
        values["peak_over_X"] = round(peak / bytes_of(X), 2)
    counters = getattr(found, "counters", None)
    if counters is not None:
        values |= {"passes": counters.passes, "exact_evaluations": counters.exact_evaluations}
    return values


def searches(X: sparse.csc_array, y: np.ndarray, size: int) -> dict[str, Callable[[], Any]]:
    """Ours, and libraries that cannot."""
    from sklearn.feature_selection import SequentialFeatureSelector
    from sklearn.linear_model import OrthogonalMatchingPursuit, Ridge

    from greedyrls import greedy_path

    greedy_path(X[:, :2000], y, 2, alpha=1.0)  # imports and first calls
    selector = SequentialFeatureSelector(Ridge(), n_features_to_select=1, cv=2)
    return {
        "leave-one-out": lambda: greedy_path(X, y, size, alpha=1.0),
        "10 folds": lambda: greedy_path(X, y, size, alpha=1.0, cv=10),
        "scikit-learn OMP": lambda: OrthogonalMatchingPursuit(n_nonzero_coefs=size).fit(X, y),
        "scikit-learn SFS, one feature of the first 200, 2 folds": lambda: selector.fit(
            X[:, :200], y
        ),
    }


def rows(options: Options) -> Iterator[Row]:
    """All searches on both problems."""
    for problem, is_binary in PROBLEMS.items():
        X, y = made_up(options.samples, options.features, options.density, is_binary)
        for name, search in searches(X, y, options.size).items():
            yield Row(problem, bytes_of(X), name, measured(search, X))


def document(options: Options, environment: Environment, found: Sequence[Row]) -> dict[str, Any]:
    """Options, and the searches of each problem."""
    shown = ("samples", "features", "density", "size")
    problems: dict[str, Any] = {}
    for row in found:
        problem = problems.setdefault(
            row.problem,
            {
                "sparse_bytes": row.sparse_bytes,
                "dense_bytes": 8 * options.samples * options.features,
                "rows": {},
            },
        )
        problem["rows"][row.name] = row.values
    chosen = {name: getattr(options, name) for name in shown}
    return {"options": chosen, "machine": environment, "problems": problems}


SUITE = Suite(
    name="sparse",
    sentence="Sparse X: time, passes and peak memory, and what other libraries do with it.",
    options=Options,
    rows=rows,
    document=document,
    line=lambda row: f"{row.problem}, {row.name}: {row.values}",
)
