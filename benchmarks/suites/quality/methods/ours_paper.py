"""Ours as in the paper: the penalty that is best with all features, selection by 0/1 error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from greedyrls import GreedyRLSClassifier, GreedyRLSRegressor

from ..tasks import Array, Labels, Task
from . import Chosen, first

title = "ours, paper's α"
does = (
    "α of 10⁻⁴ … 10⁶ by leave-one-out with all features, then selection with that α; both by 0/1 "
    "error for classes, as in the paper, and by squared error for regression"
)
one_call = True

ALPHAS = np.logspace(-4, 6, 11)


def why_not(X: Array, task: Task, k: int) -> str | None:
    return None


def select(X: Array, y: Labels, sizes: Sequence[int], task: Task, seed: int) -> Chosen:
    rule: dict[str, Any] = {"alpha": ALPHAS, "alpha_rule": "all_features"}
    if task is Task.REGRESSION:
        model = GreedyRLSRegressor(max(sizes), **rule).fit(X, y)
    else:
        model = GreedyRLSClassifier(max(sizes), loss="zero_one", **rule).fit(X, y)
    return first(model.selected_, sizes)
