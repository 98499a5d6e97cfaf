"""abess on least squares: best subset of a size by splicing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from abess.linear import LinearRegression, MultiTaskRegression

from ..tasks import Array, Labels, Task, codes
from . import Chosen, too_few_rows

title = "abess, linear"
does = (
    "`LinearRegression` of abess with this support size; classes coded −1 and +1, "
    "`MultiTaskRegression` for more than two"
)
one_call = False


def why_not(X: Array, task: Task, k: int) -> str | None:
    return too_few_rows(X, k)


def select(X: Array, y: Labels, sizes: Sequence[int], task: Task, seed: int) -> Chosen:
    return {k: _support(X, codes(y, task), k) for k in sizes}


def _support(X: Array, Y: Array, k: int) -> np.ndarray:
    if Y.shape[1] == 1:
        model = LinearRegression(support_size=[k]).fit(X, Y[:, 0])
    else:
        model = MultiTaskRegression(support_size=[k]).fit(X, Y)
    coefficients = model.coef_.reshape(X.shape[1], -1)
    return np.flatnonzero(np.abs(coefficients).sum(axis=1))
