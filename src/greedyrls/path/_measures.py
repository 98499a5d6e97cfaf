"""Display of losses: in the units of the target, or as scores of a classification.

Searches and files use losses, of which the smallest is best. Users see the root of a mean squared
error, which has the units of the target, and accuracies rather than error rates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np

from .._base import Float, column, interval, score, scores, with_error

Values = TypeVar("Values", float, Float)

# Names of losses on axes and in sentences.
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
    """Return the usual name of a loss."""
    return MEASURES.get(name, name.removeprefix("callable:"))


@dataclass(frozen=True, slots=True)
class Reading:
    """How a loss is displayed.

    Attributes
    ----------
    name, short : str
        Names for sentences and for headings of tables.
    kind : {"root", "score", "loss"}
        The root of the loss, 1 minus the loss, or the loss itself.
    """

    name: str
    short: str
    kind: Literal["root", "score", "loss"]

    @property
    def is_score(self) -> bool:
        """Whether larger values are better."""
        return self.kind == "score"

    def value(self, loss: Values) -> Values:
        """Convert losses to displayed values."""
        if self.kind == "root":
            root: Values = np.sqrt(np.maximum(loss, 0.0))
            return root
        return 1.0 - loss if self.kind == "score" else loss

    def error(self, loss: Values, error: Values) -> Values:
        """Convert standard errors of losses to those of displayed values, by the delta method."""
        if self.kind != "root":
            return error
        with np.errstate(divide="ignore", invalid="ignore"):
            # At a loss of 0 the delta method gives no error.
            converted: Any = np.divide(error, 2.0 * self.value(loss))
        # Indexing with () returns a scalar for a scalar.
        finite: Any = np.where(np.isfinite(converted), converted, np.nan)
        shaped: Values = finite[()]
        return shaped

    def written(self, loss: float, error: float = np.nan) -> str:
        """Format a loss with its standard error."""
        value, spread = self.value(loss), float(self.error(loss, error))
        if self.is_score and not spread > 1e-9:
            return score(value)
        return with_error(value, spread)

    def interval(self, low: float, high: float) -> str:
        """Format an interval of the loss."""
        ends = sorted((float(self.value(low)), float(self.value(high))))
        return interval(*ends)

    def column(self, losses: Float, errors: Float | None = None) -> list[str]:
        """Format the losses of a table."""
        if errors is None or not np.isfinite(errors).any():
            values = self.value(losses).tolist()
            return scores(values) if self.is_score else column(values)
        return column(self.value(losses).tolist(), self.error(losses, errors).tolist())


def reading_of(measure: str, is_classification: bool) -> Reading:
    """Return how a loss is displayed; squared loss of classes, coded −1 and +1, is unchanged."""
    if measure in _SCORES:
        return Reading(*_SCORES[measure], "score")
    if measure == "squared" and not is_classification:
        return Reading(ROOT, ROOT_IN_SHORT, "root")
    words = measure_in_words(measure)
    if measure == "squared":
        words += " of −1 and +1 codes"
    return Reading(words, "MAE" if measure == "absolute" else words, "loss")


def explained(loss: float, initial_loss: float) -> float:
    """Return R², the share of variance explained, from losses with and without the model."""
    return 1.0 - loss / initial_loss if initial_loss > 0.0 else np.nan


def explained_in_words(loss: float, initial_loss: float) -> str:
    """Return R² as part of a sentence, which is empty if R² is undefined."""
    share = explained(loss, initial_loss)
    if not np.isfinite(share):
        return ""
    if share <= 0.0:
        return ", no better than the mean of the target"
    return f" and R² is {score(share, 2)}"
