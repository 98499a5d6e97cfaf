"""Sentences on assessments for the methods section of a paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._base import counted, number, percent, score
from ..path import Methods, explained, folds_in_methods

if TYPE_CHECKING:
    from ._assessment import PathAssessment
    from ._null import PermutationNull
    from ._stability import Stability

_SHARED_ROWS = (
    "Nadeau, C., & Bengio, Y. (2003). Inference for the generalization error. Machine Learning, "
    "52(3), 239–281."
)
_STABILITY = (
    "Nogueira, S., Sechidis, K., & Brown, G. (2018). On the stability of feature selection "
    "algorithms. Journal of Machine Learning Research, 18(174), 1–54."
)


def assessment_methods(assessment: PathAssessment, level: float, is_rough: bool) -> Methods:
    """Return how the procedure was assessed, and the result.

    `is_rough` is whether there are too few samples for the stated level of the interval.
    """
    including = ""
    if assessment.is_size_chosen:
        including = ", including the choice of the number of features,"
    folds = folds_in_methods(assessment.folds)
    how = (
        f"To estimate the performance on new samples, the whole selection{including} was repeated "
        f"in outer folds ({folds}): without the samples of each fold in turn, on which the result "
        "was tested."
    )
    reading, (loss, error) = assessment.reading, assessment.estimate
    value, uncertainty = reading.written(loss), ""
    references: tuple[str, ...] = ()
    if error > 0.0:
        value, uncertainty = reading.written(loss, error), " (± standard error"
        low, high = assessment.interval
        if not np.isnan(low) and assessment.overlap > 0.0:
            ends = reading.interval(low, high)
            about = "approximate " if is_rough else ""
            uncertainty += f"; {about}{percent(level)} confidence interval {ends}"
            references = (_SHARED_ROWS,)
        uncertainty += ")"
    without = reading.written(assessment.initial_loss)
    result = (
        f"The {reading.name} was {value}{uncertainty}{_second(assessment)}, compared with "
        f"{without} without features."
    )
    sentences = [how, result]
    if references:
        sentences.append(
            "Standard errors account for training samples that the folds share (Nadeau and Bengio, "
            "2003)."
        )
    return Methods(tuple(sentences), references)


def _second(assessment: PathAssessment) -> str:
    """Return the second measure: R² of a regression, AUC or balanced accuracy of classes."""
    rates = assessment.class_rates
    if rates is not None:
        name, value = rates.second_score(assessment.measure)
        return "" if value is None else f" and the {name} was {score(value)}"
    share = explained(assessment.estimate[0], assessment.initial_loss)
    if assessment.measure != "squared" or not np.isfinite(share):
        return ""
    return f" and R² was {score(share, 2)}"


def stability_methods(stability: Stability) -> Methods:
    """Return how stable the selection was; nothing if that is undefined."""
    has_index = len(stability.selections) > 1 and len(stability.sizes) > 0
    if not has_index or np.isnan(stability.index[-1]):
        return Methods(())
    return Methods(
        (
            f"The stability index of the selections ({folds_in_methods(stability.source)}) was "
            f"{score(float(stability.index[-1]), 2)}, where 1 means that all are the same and 0 is "
            "expected by chance (Nogueira et al., 2018).",
        ),
        (_STABILITY,),
    )


def null_methods(null: PermutationNull) -> Methods:
    """Return the result of a permutation test."""
    count = counted(len(null.null_losses), "random permutation")
    return Methods(
        (
            f"A permutation test repeated the selection on {count} of the target (p = "
            f"{number(null.chosen_p_value, 3)}).",
        )
    )
