"""scikit-learn's SequentialFeatureSelector: forward, a refit for each candidate and fold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.linear_model import Ridge, RidgeClassifier

from ..tasks import Array, Labels, Task
from . import Chosen

title = "SFS"
does = (
    "scikit-learn's `SequentialFeatureSelector`, forward, `cv=5`, with `Ridge` or "
    "`RidgeClassifier`, α = 1, by their own score"
)
one_call = False

FOLDS = 5
MOST_SECONDS = 20.0
SECONDS_PER_FIT = 5e-3  # measured on one core, as is the next
SECONDS_PER_NUMBER = 1.5e-8


def why_not(X: Array, task: Task, k: int) -> str | None:
    seconds = _estimated_seconds(X, k)
    if seconds <= MOST_SECONDS:
        return None
    return f"over {MOST_SECONDS:.0f} seconds for a split: about {seconds:.0f}"


def _estimated_seconds(X: Array, k: int) -> float:
    m, n = X.shape
    sizes = np.arange(1, k + 1)
    fits = FOLDS * (n - sizes + 1)
    return float((fits * (SECONDS_PER_FIT + SECONDS_PER_NUMBER * m * sizes)).sum())


def select(X: Array, y: Labels, sizes: Sequence[int], task: Task, seed: int) -> Chosen:
    ridge = Ridge(alpha=1.0) if task is Task.REGRESSION else RidgeClassifier(alpha=1.0)
    return {
        k: np.flatnonzero(
            SequentialFeatureSelector(ridge, n_features_to_select=k, cv=FOLDS)
            .fit(X, y)
            .get_support()
        )
        for k in sizes
    }
