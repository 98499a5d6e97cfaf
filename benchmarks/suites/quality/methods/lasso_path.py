"""The Lasso path of scikit-learn: the first point on it with k features."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lasso_path

from ..tasks import Array, Labels, Task, codes
from . import Chosen, too_few_rows

title = "Lasso path"
does = (
    "the first point with k features on the path (penalties 1 % apart); surplus ones with the "
    "smallest coefficients left out; classes coded −1 and +1, a multi-task Lasso for more than two"
)
one_call = True

RATIO = 0.99
TOLERANCE = 1e-6  # scikit-learn's 1e-4 leaves features with tiny coefficients in doubt
SMALLEST = 1e-5  # of the penalty at which the first feature enters
AT_ONCE = 50  # points of the path in one call: it can stop when the largest size is there


def why_not(X: Array, task: Task, k: int) -> str | None:
    return too_few_rows(X, k)


def select(X: Array, y: Labels, sizes: Sequence[int], task: Task, seed: int) -> Chosen:
    chosen: Chosen = {}
    waiting = sorted(sizes)
    for sizes_of_coefficients in _points(X, codes(y, task)):
        while waiting and np.count_nonzero(sizes_of_coefficients) >= waiting[0]:
            k = waiting.pop(0)
            chosen[k] = np.argsort(-sizes_of_coefficients, kind="stable")[:k]
        if not waiting:
            break
    return chosen


def _points(X: Array, Y: Array) -> Iterator[Array]:
    """Size of every feature's coefficients (norm over the targets), along the path."""
    m, n = X.shape
    single = Y.shape[1] == 1
    # Fortran order, once, or every call would copy X anew.
    X, y = np.asfortranarray(X), Y[:, 0] if single else np.asfortranarray(Y)
    known = {"precompute": X.T @ X, "Xy": X.T @ y} if single and m > n else {}
    top = np.linalg.norm(X.T @ Y, axis=1).max() / m
    penalties = top * RATIO ** np.arange(1, int(np.log(SMALLEST) / np.log(RATIO)))
    start = None
    for begin in range(0, len(penalties), AT_ONCE):
        part = penalties[begin : begin + AT_ONCE]
        with warnings.catch_warnings():
            # Coefficients to the last digit do not matter here, only which are not 0.
            warnings.simplefilter("ignore", ConvergenceWarning)
            _, path, _ = lasso_path(X, y, alphas=part, coef_init=start, tol=TOLERANCE, **known)
        start = np.asfortranarray(path[..., -1])
        for place in range(path.shape[-1]):
            yield np.linalg.norm(np.atleast_2d(path[..., place]), axis=0)
