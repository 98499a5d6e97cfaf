"""Ours with everything automatic: only the number of features is given."""

from __future__ import annotations

from collections.abc import Sequence

from greedyrls import GreedyRLSClassifier, GreedyRLSRegressor

from ..tasks import Array, Labels, Task
from . import Chosen

title = "ours, automatic"
does = "`GreedyRLSClassifier(k)` or `GreedyRLSRegressor(k)`, nothing else set"
one_call = False  # the penalty of the search is chosen for the size


def why_not(X: Array, task: Task, k: int) -> str | None:
    return None


def select(X: Array, y: Labels, sizes: Sequence[int], task: Task, seed: int) -> Chosen:
    estimator = GreedyRLSRegressor if task is Task.REGRESSION else GreedyRLSClassifier
    return {k: estimator(k).fit(X, y).selected_ for k in sizes}
