"""Classes: coded as numerical targets, and their weights, given by the user or balanced."""

from __future__ import annotations

import math
import numbers
import reprlib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets

from .._base import Float, GreedyRLSWarning
from ._user_values import one_per_row, refuse_dates

# As an estimator's parameter; labels may be of any hashable type.
ClassWeight = Literal["balanced"] | Mapping[Any, float]
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
    classes, class_of = np.unique(y, return_inverse=True)
    if classes.dtype.kind == "O":
        classes = np.array(classes.tolist())
    check_several(classes)
    codes = class_codes(class_of, len(classes))
    return Targets(codes[:, 0] if codes.shape[1] == 1 else codes, y, classes)


def check_several(classes: NDArray[Any]) -> None:
    """Raise an error unless there are two classes or more."""
    if len(classes) < 2:
        raise ValueError(
            f"Classifier can't train when only one class is present: every label is "
            f"{classes.tolist()[0]!r}. Pass data of at least 2 classes."
        )


def class_codes(class_of: NDArray[np.intp], n_classes: int) -> Float:
    """Return codes −1 and +1, (m × c); of two classes those of the second, (m × 1)."""
    numbers = np.arange(n_classes) if n_classes > 2 else np.ones(1)
    return np.where(class_of[:, None] == numbers, 1.0, -1.0)


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


@dataclass(frozen=True, slots=True, eq=False)
class ClassWeights:
    """Class weights, which are multiplied by the sample weights."""

    class_of: NDArray[np.intp]  # (m)
    n_classes: int  # c; a subset of rows may lack some classes
    fixed: Float | None  # (c); None: balanced on the rows used for selection
    sample_weights: Float | None = None  # (m) without class weights

    def factors(self, rows: NDArray[np.intp] | None = None) -> Float:
        """Return the weight of each class, (c), for a selection on these rows (all by default).

        Balanced weights are W / (c · W_i), where W_i is the weight of the samples of class i and c
        the number of classes with positive weight. Other classes have weight 1.
        """
        if self.fixed is not None:
            return self.fixed
        chosen = slice(None) if rows is None else rows
        sample_weights = None if self.sample_weights is None else self.sample_weights[chosen]
        totals = np.bincount(self.class_of[chosen], sample_weights, self.n_classes).astype(
            np.float64
        )
        present = totals > 0.0
        balanced = totals.sum() / np.where(present, totals, 1.0) / max(1, int(present.sum()))
        return np.where(present, balanced, 1.0)

    def weights(self, factors: Float | None = None) -> Float:
        """Return sample weights times class weights, (m)."""
        of_classes = (self.factors() if factors is None else factors)[self.class_of]
        return of_classes if self.sample_weights is None else of_classes * self.sample_weights

    def take(self, rows: NDArray[np.intp]) -> ClassWeights:
        """Return the weights of a subset or permutation of the samples."""
        sample_weights = None if self.sample_weights is None else self.sample_weights[rows]
        return replace(self, class_of=self.class_of[rows], sample_weights=sample_weights)

    def within(self, rows: NDArray[np.intp]) -> ClassWeights:
        """Return weights for a selection on these rows: the others get sample weight 0."""
        sample_weights = np.zeros(len(self.class_of))
        sample_weights[rows] = 1.0 if self.sample_weights is None else self.sample_weights[rows]
        return replace(self, sample_weights=sample_weights)

    @property
    def rule(self) -> str | list[float]:
        """The requested class weights as a JSON value."""
        return "balanced" if self.fixed is None else self.fixed.tolist()


def make_class_weights(
    class_weight: Any, labels: NDArray[Any], classes: NDArray[Any]
) -> ClassWeights | None:
    """Check `class_weight` against the classes, which are sorted."""
    if class_weight is None:
        return None
    class_of = np.searchsorted(classes, labels)
    if isinstance(class_weight, str) and class_weight == "balanced":
        return ClassWeights(class_of, len(classes), None)
    if not isinstance(class_weight, Mapping):
        raise ValueError(
            "class_weight must be None, 'balanced', or a dict with the weight of each label; got "
            f"{reprlib.repr(class_weight)}."
        )
    names = classes.tolist()
    for label, weight in class_weight.items():
        if label not in names:
            raise ValueError(
                f"class_weight has a weight for {_plain(label)!r}, which no sample has; the labels "
                f"of y are {reprlib.repr(names)}."
            )
        _check_weight(label, weight)
    fixed = np.array([float(class_weight.get(name, 1.0)) for name in names])
    return ClassWeights(class_of, len(names), fixed)


def _check_weight(label: Any, weight: Any) -> None:
    is_number = isinstance(weight, numbers.Real) and not isinstance(weight, bool | np.bool_)
    if not is_number or not (math.isfinite(weight) and weight > 0.0):
        raise ValueError(
            f"class_weight of {_plain(label)!r} must be a finite number greater than 0, got "
            f"{weight!r}. To leave a class out, leave out its samples."
        )


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label
