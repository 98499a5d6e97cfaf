"""Classes as numbers: what targets a classification is selected for."""

from __future__ import annotations

import warnings
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils.multiclass import check_classification_targets

from ._kernels import Float

Task = Literal["auto", "regression", "classification"]

# So few different whole numbers may well be classes.
_FEW = 20


class Targets(NamedTuple):
    """Targets as the engine takes them, and the classes that they stand for."""

    values: Any  # as given, or codes −1 and +1: (m), or (m × c) for c > 2 classes
    labels: NDArray[Any] | None  # (m) for a classification
    classes: NDArray[Any] | None


def code_classes(y: NDArray[Any]) -> Targets:
    """Two classes as −1 and +1, more as a column each, +1 in the column of the class."""
    check_classification_targets(y)
    binarizer = LabelBinarizer(neg_label=-1, pos_label=1)
    codes: Float = binarizer.fit_transform(y).astype(np.float64)
    classes = binarizer.classes_
    if len(classes) < 2:
        raise ValueError(
            f"Classifier can't train when only one class is present: every label is "
            f"{classes.tolist()[0]!r}. Pass data of at least 2 classes."
        )
    return Targets(codes[:, 0] if codes.shape[1] == 1 else codes, y, classes)


def make_targets(y: Any, task: Any) -> Targets:
    """Targets by task; "auto" takes text, flags and two different whole numbers for classes."""
    if not isinstance(task, str) or task not in ("auto", "regression", "classification"):
        raise ValueError(f"task must be 'auto', 'regression' or 'classification', got {task!r}.")
    values = np.asarray(y)
    if task == "auto":
        task = "classification" if values.ndim == 1 and _are_classes(values) else "regression"
    if task == "regression":
        return Targets(y, None, None)
    if values.ndim != 1:
        raise ValueError(
            f"y of a classification must have one label for each sample; got shape {values.shape}."
        )
    return code_classes(_labels(values))


def _labels(values: NDArray[Any]) -> NDArray[Any]:
    """Labels of one kind, none of them missing."""
    if values.dtype.kind == "T":
        return np.array(values.tolist(), dtype=str)
    if values.dtype.kind != "O":
        return values
    missing = [place for place, value in enumerate(values) if value is None or value != value]
    if missing:
        raise ValueError(
            f"y has a missing label: row {missing[0]} is {values[missing[0]]!r}. Drop such rows."
        )
    if all(isinstance(value, str) for value in values):
        return values.astype(str)
    return np.array(values.tolist())


def _are_classes(values: NDArray[Any]) -> bool:
    if values.dtype.kind in "UTb":
        return True
    if values.dtype.kind == "O":
        return any(isinstance(value, str | bool | np.bool_) for value in values)
    if values.dtype.kind not in "iuf" or not np.isfinite(values).all():
        return False
    distinct = np.unique(values)
    if len(distinct) > _FEW or (distinct != np.floor(distinct)).any():
        return False
    if len(distinct) == 2:
        return True
    if len(distinct) > 2:
        warnings.warn(
            f"y has {len(distinct)} different whole numbers, which are taken as numbers; pass "
            "task='classification' if they are classes, or task='regression' if they are not.",
            stacklevel=5,
        )
    return False
