"""Every feature by itself: the largest F statistics."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.feature_selection import f_classif, f_regression

from ..tasks import Array, Labels, Task
from . import Chosen, first

title = "univariate F"
does = "the k largest of `f_classif` or `f_regression`"
one_call = True


def why_not(X: Array, task: Task, k: int) -> str | None:
    return None


def select(X: Array, y: Labels, sizes: Sequence[int], task: Task, seed: int) -> Chosen:
    statistics, _ = (f_regression if task is Task.REGRESSION else f_classif)(X, y)
    return first(np.argsort(-np.nan_to_num(statistics), kind="stable"), sizes)
