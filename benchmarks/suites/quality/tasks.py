"""What is to be predicted, and the numbers that least-squares methods see of it."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import LabelBinarizer

Array = NDArray[np.float64]
Labels = NDArray[Any]


class Task(StrEnum):
    """The kind of target."""

    REGRESSION = "regression"
    TWO_CLASSES = "two classes"
    CLASSES = "more classes"

    @property
    def score(self) -> str:
        """What the final model is judged by on the test rows."""
        return "R²" if self is Task.REGRESSION else "accuracy"


def task_of(y: Labels) -> Task:
    """Real numbers are for regression, whole ones are classes."""
    if y.dtype.kind == "f":
        return Task.REGRESSION
    return Task.TWO_CLASSES if len(np.unique(y)) == 2 else Task.CLASSES


def codes(y: Labels, task: Task) -> Array:
    """Targets with mean 0, (m × t): numbers as they are, classes as −1 and +1 in a column each."""
    if task is Task.REGRESSION:
        targets = y.astype(np.float64)[:, None]
    else:
        targets = LabelBinarizer(neg_label=-1, pos_label=1).fit_transform(y).astype(np.float64)
    centred: Array = targets - targets.mean(axis=0)
    return centred
