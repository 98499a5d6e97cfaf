"""Coding of classes as numerical targets."""

from __future__ import annotations

import numbers
import warnings
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils.multiclass import check_classification_targets

from .._base import Float, GreedyRLSWarning
from ._user_values import one_per_row, refuse_dates

Task = Literal["auto", "regression", "classification"]

# At most this many different integers may be meant as classes.
_FEW = 20
# Smaller differences between means of −1 and +1 codes are rounding errors.
_DIGITS = 12


class Targets(NamedTuple):
    """Numerical targets and the classes that they represent."""

    values: Any  # as given, or codes −1 and +1: (m), or (m × c) for c > 2 classes
    labels: NDArray[Any] | None  # (m) for a classification
    classes: NDArray[Any] | None


def code_classes(y: NDArray[Any]) -> Targets:
    """Code two classes as −1 and +1, and more in a column each, +1 in the column of the class."""
    refuse_dates(y)
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


def constant_scores(means: Float) -> Float:
    """Return scores (t) of a model without features: the mean codes, with ties made exact.

    If all classes have the same weight, as with balanced weights, the first is predicted, whatever
    the order of summation.
    """
    scores: Float = np.round(means, _DIGITS) + 0.0
    return scores


def make_targets(y: Any, task: Any) -> Targets:
    """Return targets by task; "auto" treats text, booleans and two integers as classes."""
    if not isinstance(task, str) or task not in ("auto", "regression", "classification"):
        raise ValueError(f"task must be 'auto', 'regression' or 'classification', got {task!r}.")
    refuse_dates(y)
    # As objects, because NumPy would convert missing values among strings to strings.
    values = np.asarray(y, dtype=None if hasattr(y, "__array__") else object)
    column = values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
    if task == "auto":
        is_categorical = hasattr(getattr(y, "dtype", None), "categories")
        is_classes = column.ndim == 1 and (is_categorical or _are_classes(column))
        task = "classification" if is_classes else "regression"
    if task == "regression":
        return Targets(y, None, None)
    if column.ndim != 1:
        raise ValueError(
            f"y of a classification must have one label for each sample; got shape {values.shape}."
        )
    labels = one_per_row(column, len(column), "y")
    return code_classes(np.array(labels.tolist()) if labels.dtype.kind in "OT" else labels)


def _are_classes(values: NDArray[Any]) -> bool:
    if values.dtype.kind in "UTb":
        return True
    if values.dtype.kind == "O":
        if any(isinstance(value, str | bool | np.bool_) for value in values):
            return True
        if not all(isinstance(value, numbers.Real) for value in values):
            return False
        values = np.array(values.tolist(), dtype=np.float64)
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
            GreedyRLSWarning,
            stacklevel=5,
        )
    return False


def check_weighted_classes(y: NDArray[Any], sample_weight: ArrayLike | None) -> None:
    """Raise an error unless at least two classes have samples of positive weight."""
    if sample_weight is None:
        return
    weights = np.asarray(sample_weight)
    if weights.shape == y.shape and weights.any() and len(np.unique(y[weights != 0])) < 2:
        raise ValueError(
            "Classifier can't train when only one class is present: all samples of positive "
            f"weight have the label {y[weights != 0].tolist()[0]!r}."
        )
