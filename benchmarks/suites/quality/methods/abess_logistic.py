"""abess on the logistic model: best subset of a size by splicing, for classes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from abess.linear import LogisticRegression, MultinomialRegression
from sklearn.preprocessing import LabelBinarizer

from ..tasks import Array, Labels, Task
from . import Chosen, too_few_rows

title = "abess, logistic"
does = (
    "`LogisticRegression` of abess with this support size, `MultinomialRegression` for more than "
    "two classes"
)
one_call = False


def why_not(X: Array, task: Task, k: int) -> str | None:
    if task is Task.REGRESSION:
        return "for classes only"
    return too_few_rows(X, k)


def select(X: Array, y: Labels, sizes: Sequence[int], task: Task, seed: int) -> Chosen:
    return {k: _support(X, y, task, k) for k in sizes}


def _support(X: Array, y: Labels, task: Task, k: int) -> np.ndarray:
    if task is Task.TWO_CLASSES:
        model = LogisticRegression(support_size=[k]).fit(X, y)
    else:
        model = MultinomialRegression(support_size=[k]).fit(X, LabelBinarizer().fit_transform(y))
    coefficients = model.coef_.reshape(X.shape[1], -1)
    return np.flatnonzero(np.abs(coefficients).sum(axis=1))
