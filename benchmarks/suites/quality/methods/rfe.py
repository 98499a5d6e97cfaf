"""Recursive feature elimination with ridge: the smallest coefficients leave.

A share as `step` of scikit-learn's RFE is one of all features, which would end in one leap; so
the first stage, with many features, is written out here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_selection import RFE
from sklearn.linear_model import Ridge, RidgeClassifier

from ..tasks import Array, Labels, Task
from . import Chosen

title = "RFE"
does = (
    "recursive elimination with `Ridge` or `RidgeClassifier`, α = 1: a tenth of the remaining "
    "features at a time while there are more than 200, then one by one"
)
one_call = True

ONE_BY_ONE = 200
SHARE = 0.1


def why_not(X: Array, task: Task, k: int) -> str | None:
    return None


def select(X: Array, y: Labels, sizes: Sequence[int], task: Task, seed: int) -> Chosen:
    ridge = Ridge(alpha=1.0) if task is Task.REGRESSION else RidgeClassifier(alpha=1.0)
    left = _shrink(X, y, ridge)
    ranking = RFE(ridge, n_features_to_select=1, step=1).fit(X[:, left], y).ranking_
    return {k: left[ranking <= k] for k in sizes}


def _shrink(X: Array, y: Labels, ridge: Ridge | RidgeClassifier) -> NDArray[np.intp]:
    """What remains when a tenth has left again and again."""
    left = np.arange(X.shape[1])
    while len(left) > ONE_BY_ONE:
        coefficients = np.atleast_2d(ridge.fit(X[:, left], y).coef_)
        leaving = min(max(1, int(SHARE * len(left))), len(left) - ONE_BY_ONE)
        order = np.argsort(np.square(coefficients).sum(axis=0), kind="stable")
        left = np.sort(left[order[leaving:]])
    return left
