"""fastcan: greedy selection by canonical correlation (orthogonal least-squares for one target).

`eta=True`, its variant for m > n, works on a decomposition of X and is the faster one there.
"""

from __future__ import annotations

from importlib import metadata

from fastcan import FastCan

from harness.problems import Array, Problem
from libraries import Answer, as_indices

name = "fastcan"
does = "canonical correlation with y, no validation"
same_criterion = False
keeps_order = True


def version() -> str:
    return metadata.version("fastcan")


def can_run(problem: Problem) -> str | None:
    return None


def select(X: Array, y: Array, k: int) -> Answer:
    m, n = X.shape
    selector = FastCan(n_features_to_select=k, eta=m > n, verbose=0)
    selector.fit(X, y)
    return Answer(as_indices(selector.indices_))
