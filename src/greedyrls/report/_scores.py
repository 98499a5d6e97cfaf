"""How good the model of each size is, in words, by the most honest estimate available."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from .._base import Float
from .._base import score as score_in_words
from ..app import SelectionResult
from ..path import Reading, explained, initial_loss_in, reading_of
from ._words import unbroken

Source = Literal["test", "held_out", "own", "initial"]


class Score(NamedTuple):
    """A loss, how it is shown, and its source."""

    loss: float
    error: float  # NaN if unknown
    reading: Reading
    source: Source
    explained: float = np.nan  # R² of a regression

    @property
    def measure(self) -> str:
        """The measure in words."""
        return self.reading.name

    @property
    def text(self) -> str:
        """The loss as it is shown, with its standard error and R² of a regression."""
        text = unbroken(self.reading.written(self.loss, self.error))
        if self.source == "initial" or np.isnan(self.explained):
            return text
        return f"{text}, R²\u00a0{score_in_words(self.explained, 2)}"


class Estimate(NamedTuple):
    """A loss by number of features, with its errors."""

    mean: Float  # (k), NaN if unknown
    error: Float  # (k)
    measure: str  # name of the loss in the library


def own_estimate(result: SelectionResult) -> Estimate:
    """Return the selection's own estimate of the losses of its models."""
    return Estimate(*result.own_curve, result.path.settings.loss)


def held_out_estimate(result: SelectionResult) -> Estimate | None:
    """Return the estimate of the outer folds that chose the penalty."""
    held_out = result.path.held_out
    if held_out is None:
        return None
    mean, error = held_out
    return Estimate(mean, error, result.path.settings.loss)


def tested_estimate(result: SelectionResult) -> Estimate | None:
    """Return the estimate of the test folds of the assessment, as long as the path."""
    if result.assessment is None:
        return None
    test = result.assessment.test
    return Estimate(
        fitted(test.mean, len(result.path)),
        fitted(test.error, len(result.path)),
        result.assessment.measure,
    )


def best_known_score(result: SelectionResult, k: int) -> Score:
    """Return the score with k features, by test folds, penalty folds or the selection itself.

    With 0 features it is that of the model without features.
    """
    if not k:
        without, measure = result.path.initial_loss, result.path.settings.loss
        if result.assessment is not None:
            without, measure = result.assessment.initial_loss, result.assessment.measure
        return Score(without, np.nan, _reading(result, measure), "initial")
    estimates: list[tuple[Source, Estimate | None]] = [
        ("test", tested_estimate(result)),
        ("held_out", held_out_estimate(result)),
    ]
    for source, estimate in estimates:
        if estimate is not None and np.isfinite(estimate.mean[k - 1]):
            return _score(result, estimate, k, source)
    return _score(result, own_estimate(result), k, "own")


def source_in_words(result: SelectionResult, source: Source) -> str:
    """Return where a loss comes from, and how far it can be trusted."""
    if source == "initial":
        how = criterion_in_words(result) if result.assessment is None else "on test folds"
        return f"without features, {how}"
    if source == "test" and result.assessment is not None:
        folds = result.assessment.folds
        return f"on test folds, whose samples took no part in the selection ({folds})"
    missing = "" if result.assessment is None else "not all test folds got to this size; "
    if source == "held_out":
        return f"{missing}in the outer folds that chose the penalty, so slightly optimistic"
    return (
        f"{missing}{criterion_in_words(result)}: optimistic, because the features were chosen by it"
    )


def criterion_in_words(result: SelectionResult) -> str:
    """Return the selection's own estimate in words."""
    cv = result.path.settings.cv
    return f"by the selection's own estimate ({'leave-one-out' if cv == 'loo' else cv})"


def _score(result: SelectionResult, estimate: Estimate, k: int, source: Source) -> Score:
    loss, error = float(estimate.mean[k - 1]), float(estimate.error[k - 1])
    reading, share = _reading(result, estimate.measure), np.nan
    if reading.kind == "root":
        share = explained(loss, initial_loss(result, source))
    return Score(loss, error, reading, source, share)


def initial_loss(result: SelectionResult, source: Source) -> float:
    """Return the loss of the model without features, on the same rows."""
    if source == "test" and result.assessment is not None:
        return result.assessment.initial_loss
    if source == "held_out":
        return initial_loss_in(result.path.outer_surface, result.path.initial_loss)
    return result.path.initial_loss


def _reading(result: SelectionResult, measure: str) -> Reading:
    return reading_of(measure, result.task == "classification")


def fitted(values: Float, length: int) -> Float:
    """Return values cut to a length, or padded with NaN."""
    result = np.full(length, np.nan)
    copied = min(length, len(values))
    result[:copied] = values[:copied]
    return result
