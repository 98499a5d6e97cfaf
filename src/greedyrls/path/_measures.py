"""Losses as people read them: in the units of the target, or as scores of a classification.

Searches and files go by losses, of which the smallest is best. What is shown is the root of a mean
squared error, which has the units of the target, and accuracies rather than error rates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np

from .._base import Float, column, interval, score, scores, with_error

Values = TypeVar("Values", float, Float)

# What the loss is called on axes and in sentences.
MEASURES = {
    "squared": "mean squared error",
    "absolute": "mean absolute error",
    "zero_one": "error rate",
    "balanced_zero_one": "balanced error rate",
    "auc": "1 − AUC",
}
_SCORES = {
    "zero_one": ("accuracy", "accuracy"),
    "balanced_zero_one": ("balanced accuracy", "balanced accuracy"),
    "auc": ("AUC", "AUC"),
}
ROOT, ROOT_IN_SHORT = "root mean squared error", "RMSE"


def measure_in_words(name: str) -> str:
    """The name of a loss as people know it."""
    return MEASURES.get(name, name.removeprefix("callable:"))


@dataclass(frozen=True, slots=True)
class Reading:
    """What a loss is shown as.

    Attributes
    ----------
    name, short : str
        In sentences, and in heads of tables.
    kind : {"root", "score", "loss"}
        The root of the loss, 1 minus the loss, or the loss itself.
    """

    name: str
    short: str
    kind: Literal["root", "score", "loss"]

    @property
    def is_score(self) -> bool:
        """Whether more is better."""
        return self.kind == "score"

    def value(self, loss: Values) -> Values:
        """Of a loss, or of several."""
        if self.kind == "root":
            root: Values = np.sqrt(np.maximum(loss, 0.0))
            return root
        return 1.0 - loss if self.kind == "score" else loss

    def error(self, loss: Values, error: Values) -> Values:
        """Its standard error; of a root by the delta method."""
        if self.kind != "root":
            return error
        with np.errstate(divide="ignore", invalid="ignore"):
            # Of a loss of 0 nothing is known.
            found: Any = np.divide(error, 2.0 * self.value(loss))
        # A number stays a number.
        known: Any = np.where(np.isfinite(found), found, np.nan)
        shaped: Values = known[()]
        return shaped

    def written(self, loss: float, error: float = np.nan) -> str:
        """Of a loss and its standard error, as text."""
        value, spread = self.value(loss), float(self.error(loss, error))
        if self.is_score and not spread > 1e-9:
            return score(value)
        return with_error(value, spread)

    def interval(self, low: float, high: float) -> str:
        """Of the ends of an interval of the loss, as text."""
        ends = sorted((float(self.value(low)), float(self.value(high))))
        return interval(*ends)

    def column(self, losses: Float, errors: Float | None = None) -> list[str]:
        """Of the losses of a table, as text."""
        if errors is None or not np.isfinite(errors).any():
            values = self.value(losses).tolist()
            return scores(values) if self.is_score else column(values)
        return column(self.value(losses).tolist(), self.error(losses, errors).tolist())


def reading_of(measure: str, is_classification: bool) -> Reading:
    """What a loss is shown as; the squared one of classes, of their codes −1 and +1, as it is."""
    if measure in _SCORES:
        return Reading(*_SCORES[measure], "score")
    if measure == "squared" and not is_classification:
        return Reading(ROOT, ROOT_IN_SHORT, "root")
    words = measure_in_words(measure)
    if measure == "squared":
        words += " of −1 and +1 codes"
    return Reading(words, "MAE" if measure == "absolute" else words, "loss")


def explained(loss: float, initial_loss: float) -> float:
    """R², the share of the variance explained, from squared losses with and without model."""
    return 1.0 - loss / initial_loss if initial_loss > 0.0 else np.nan


def explained_in_words(loss: float, initial_loss: float) -> str:
    """The same as part of a sentence; empty where it is unknown."""
    share = explained(loss, initial_loss)
    if not np.isfinite(share):
        return ""
    if share <= 0.0:
        return ", no better than the mean of the target"
    return f" and R² is {score(share, 2)}"
