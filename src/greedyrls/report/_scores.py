"""How good the model of each size is, by the most honest estimate that there is, in words."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from .._assessment import measure_in_words
from .._kernels import Float
from .._selection_result import SelectionResult
from ._words import with_error

Source = Literal["test", "held_out", "own", "initial"]


class Score(NamedTuple):
    """A loss, what it is measured in, and where it comes from."""

    loss: float
    error: float  # not a number where unknown
    measure: str  # in words
    source: Source

    @property
    def text(self) -> str:
        """The loss give or take its error."""
        return with_error(self.loss, self.error)


class Estimate(NamedTuple):
    """A loss by number of features, with its errors."""

    mean: Float  # (k), not a number where there is none
    error: Float  # (k)
    measure: str  # as the losses are called in the library


def own_estimate(result: SelectionResult) -> Estimate:
    """What the selection believes of its models."""
    return Estimate(*result.own_curve, result.path.settings.loss)


def held_out_estimate(result: SelectionResult) -> Estimate | None:
    """Of the outer folds that chose the penalty."""
    held_out = result.path.held_out
    if held_out is None:
        return None
    mean, error = held_out
    return Estimate(mean, error, result.path.settings.loss)


def tested_estimate(result: SelectionResult) -> Estimate | None:
    """Of the test folds of the assessment, as long as the path."""
    if result.assessment is None:
        return None
    test = result.assessment.test
    return Estimate(
        fitted(test.mean, len(result.path)),
        fitted(test.error, len(result.path)),
        result.assessment.measure,
    )


def best_known_score(result: SelectionResult, k: int) -> Score:
    """Of k features: by the test folds, else by the folds that chose, else by the selection.

    Of none: that of the model without features.
    """
    if not k:
        without, measure = result.path.initial_loss, result.path.settings.loss
        if result.assessment is not None:
            without, measure = result.assessment.initial_loss, result.assessment.measure
        return Score(without, np.nan, measure_in_words(measure), "initial")
    known: list[tuple[Source, Estimate | None]] = [
        ("test", tested_estimate(result)),
        ("held_out", held_out_estimate(result)),
    ]
    for source, estimate in known:
        if estimate is not None and np.isfinite(estimate.mean[k - 1]):
            return _score(estimate, k, source)
    return _score(own_estimate(result), k, "own")


def source_in_words(result: SelectionResult, source: Source) -> str:
    """Where a loss comes from, and what is to be thought of it."""
    if source == "initial":
        how = criterion_in_words(result) if result.assessment is None else "on test folds"
        return f"without features, {how}"
    if source == "test" and result.assessment is not None:
        folds = result.assessment.folds
        return f"on test folds, whose samples took no part in the selection ({folds})"
    missing = "" if result.assessment is None else "not all test folds got to this size; "
    if source == "held_out":
        return f"{missing}in the outer folds that chose the penalty, and so a little too good"
    return (
        f"{missing}{criterion_in_words(result)}: too good, because the features were chosen by it"
    )


def criterion_in_words(result: SelectionResult) -> str:
    """The selection's own estimate, and how it is made."""
    cv = result.path.settings.cv
    return f"by the selection's own estimate ({'leave-one-out' if cv == 'loo' else cv})"


def _score(estimate: Estimate, k: int, source: Source) -> Score:
    loss, error = float(estimate.mean[k - 1]), float(estimate.error[k - 1])
    return Score(loss, error, measure_in_words(estimate.measure), source)


def fitted(values: Float, length: int) -> Float:
    """Values cut to a length, or filled up to it with what is not a number."""
    result = np.full(length, np.nan)
    known = min(length, len(values))
    result[:known] = values[:known]
    return result
