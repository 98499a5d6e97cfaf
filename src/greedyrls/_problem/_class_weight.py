"""Class weights: given by the user, or balanced."""

from __future__ import annotations

import math
import numbers
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._base import Float

# As an estimator's parameter; labels may be of any hashable type.
ClassWeight = Literal["balanced"] | Mapping[Any, float]


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
