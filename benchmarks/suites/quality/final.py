"""The model that every set of features is judged by: ridge, its penalty by leave-one-out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import RidgeClassifierCV, RidgeCV

from .splits import Split
from .tasks import Task

ALPHAS = np.logspace(-3, 5, 17)


def score(split: Split, sets: NDArray[np.intp], task: Task) -> float:
    """Score on the test rows with these features; the mean, where there is a set in every row."""
    return float(np.mean([_score_of(split, chosen, task) for chosen in np.atleast_2d(sets)]))


def _score_of(split: Split, chosen: NDArray[np.intp], task: Task) -> float:
    model = (RidgeCV if task is Task.REGRESSION else RidgeClassifierCV)(alphas=ALPHAS)
    model.fit(split.X[:, chosen], split.y)
    return float(model.score(split.test_X[:, chosen], split.test_y))
