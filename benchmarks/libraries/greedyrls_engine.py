"""Ours: the library this repository is about.

The package loads its modules on first use, so the function is imported by name here: its import
is then part of loading the adapter, as with every other library, and not of the first call.
"""

from __future__ import annotations

from greedyrls import __version__, greedy_path
from harness.problems import Array, Problem
from libraries import ALPHA, Answer, as_indices

name = "greedyrls"
does = "exact LOO of ridge, intercept not penalised"
same_criterion = True
keeps_order = True


def version() -> str:
    return __version__


def can_run(problem: Problem) -> str | None:
    return None


def select(X: Array, y: Array, k: int) -> Answer:
    path = greedy_path(X, y, k, alpha=ALPHA, fit_intercept=True)
    return Answer(as_indices(path.indices), path.counters.passes, path.counters.exact_evaluations)
