"""Orthogonal matching pursuit: scikit-learn's for one target, the simultaneous one for several.

scikit-learn's takes every target apart; with one set for all, the next feature is the one with the
largest sum of squared correlations with the residuals of all targets.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from sklearn.linear_model import orthogonal_mp

from ..tasks import Array, Labels, Task, codes
from . import Chosen, first, too_few_rows

title = "OMP"
does = (
    "scikit-learn's orthogonal matching pursuit; classes coded −1 and +1, for more than two a "
    "simultaneous one (squared correlations summed over the classes)"
)
one_call = True


def why_not(X: Array, task: Task, k: int) -> str | None:
    return too_few_rows(X, k)


def select(X: Array, y: Labels, sizes: Sequence[int], task: Task, seed: int) -> Chosen:
    Y = codes(y, task)
    if Y.shape[1] > 1:
        return first(_simultaneous(X, Y, max(sizes)), sizes)
    with warnings.catch_warnings():
        # It says when it ends before the largest size; the table says so too.
        warnings.simplefilter("ignore", RuntimeWarning)
        path = orthogonal_mp(X, Y[:, 0], n_nonzero_coefs=max(sizes), return_path=True)
    path = path.reshape(X.shape[1], -1)
    return {k: np.flatnonzero(path[:, k - 1]) for k in sizes if k <= path.shape[1]}


def _simultaneous(X: Array, Y: Array, k: int) -> list[int]:
    order: list[int] = []
    residual = Y
    while len(order) < min(k, *X.shape):
        gains = np.square(X.T @ residual).sum(axis=1)
        gains[order] = -np.inf
        order.append(int(gains.argmax()))
        columns = X[:, order]
        residual = Y - columns @ np.linalg.lstsq(columns, Y)[0]
    return order
