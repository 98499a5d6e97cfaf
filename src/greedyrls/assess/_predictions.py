"""Summaries of predictions of held-out rows, from which plots of the fit are drawn.

A regression keeps observed and predicted values of some rows. A classification keeps sums over
rows: the confusion matrix, the ROC curve, and the observed frequency of events by predicted
probability.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_curve

from .._base import ArrayValue, Float, exported

# How the rows were held out of the model that predicts them.
PredictionSource = Literal["test folds", "folds", "leave-one-out"]
SOURCES: tuple[PredictionSource, ...] = ("test folds", "folds", "leave-one-out")
# More points than this overlap.
_MOST_POINTS = 1000
# False positive rates of the ROC curve, from 0 to 1.
ROC_GRID = np.linspace(0.0, 1.0, 101)
# Number of bins of probabilities, of equal width.
N_BINS = 10
# A confusion matrix of more classes than this is unreadable.
MOST_CLASSES = 30


class Part(NamedTuple):
    """Summary of the predictions of some rows, such as those of a fold."""

    observed: Float  # (p) values of the rows shown, for a regression
    predicted: Float  # (p)
    n_rows: int
    confusion: Float | None = None  # (c × c) weights, by class and by predicted class
    roc: Float | None = None  # (grid) true positive rates; None where a class is missing
    reliability: Float | None = None  # (3 × bins) sums of weights, probabilities and events


@exported("greedyrls.assess")
@dataclass(frozen=True, eq=False)
class Predictions(ArrayValue):
    """Predicted and observed values of rows that took no part in the fit of their model.

    Attributes
    ----------
    source : {"test folds", "folds", "leave-one-out"}
        Test folds: the whole selection was made without the rows. Otherwise only the coefficients
        were fitted without them, in the folds of the criterion or one row at a time, so that
        predictions are optimistic.
    n_rows : int
        Number of predictions.
    observed, predicted : ndarray of shape (p,)
        Values of a regression, at most 1,000 rows drawn at random.
    confusion : ndarray of shape (c, c) or None
        Confusion matrix of a classification: the weight of the rows of each class (first axis) by
        predicted class.
    roc : ndarray of shape (101,) or None
        ROC curve of two classes: true positive rates at false positive rates 0, 0.01, …, 1,
        averaged over folds, since scores of different models cannot be compared.
    reliability : ndarray of shape (3, 10) or None
        Ten ranges of predicted probability: weight of the rows, mean probability, and share of the
        rows for which the event came true. The event is the second of two classes, or else that
        the most probable class is the right one. NaN for ranges without rows.
    """

    source: PredictionSource
    n_rows: int
    observed: Float
    predicted: Float
    confusion: Float | None = None
    roc: Float | None = None
    reliability: Float | None = None


def shown_rows(n_samples: int) -> NDArray[np.bool_]:
    """Return a mask (m) of the rows that are shown, the same at every call."""
    if n_samples <= _MOST_POINTS:
        return np.ones(n_samples, dtype=bool)
    chosen = np.random.default_rng(0).choice(n_samples, _MOST_POINTS, replace=False)
    is_shown = np.zeros(n_samples, dtype=bool)
    is_shown[chosen] = True
    return is_shown


def part_of_numbers(observed: Float, predicted: Float, is_shown: NDArray[np.bool_]) -> Part:
    """Summarise predictions of a regression, (rows) each."""
    is_known = is_shown & np.isfinite(predicted)
    return Part(observed[is_known], predicted[is_known], len(observed))


def part_of_classes(
    classes: NDArray[np.intp],
    scores: Float,
    predicted: NDArray[np.intp],
    weights: Float | None,
    probabilities: Float | None = None,
) -> Part:
    """Summarise classes by index (rows), with scores (rows × t) and probabilities (rows × c)."""
    weights = np.ones(len(classes)) if weights is None else weights
    c = max(2, scores.shape[1])
    nothing = np.empty(0)
    confusion = None
    if c <= MOST_CLASSES:
        counts = np.bincount(c * classes + predicted, weights, c * c)
        confusion = counts.astype(np.float64).reshape(c, c)
    roc = None
    if c == 2 and 0 < np.count_nonzero(classes) < len(classes):
        roc = _roc(classes == 1, scores[:, 0], weights)
    reliability = None
    if probabilities is not None:
        if c == 2:
            chance, event = probabilities[:, 1], classes == 1
        else:
            first = np.argmax(probabilities, axis=1)
            chance, event = probabilities[np.arange(len(first)), first], first == classes
        bins = np.minimum((chance * N_BINS).astype(np.intp), N_BINS - 1)
        sums = (weights, weights * chance, weights * event)
        reliability = np.array([np.bincount(bins, values, N_BINS) for values in sums])
    return Part(nothing, nothing, len(classes), confusion, roc, reliability)


def _roc(is_positive: NDArray[np.bool_], scores: Float, weights: Float) -> Float:
    """Return true positive rates on the grid: the upper end at a step, and 0 at the start."""
    false, true, _ = roc_curve(is_positive, scores, sample_weight=weights, drop_intermediate=False)
    rates: Float = np.interp(ROC_GRID, false, true)
    rates[0] = 0.0
    return rates


def united(
    parts: Sequence[Part], shares: Float, source: PredictionSource, is_classes: bool
) -> Predictions:
    """Combine the predictions of all folds; shares (F) are the weights of the folds in means."""
    observed = np.concatenate([part.observed for part in parts])
    predicted = np.concatenate([part.predicted for part in parts])
    n_rows = sum(part.n_rows for part in parts)
    if not is_classes:
        return Predictions(source, n_rows, observed, predicted)
    tables = [part.confusion for part in parts if part.confusion is not None]
    curves = [
        (part.roc, share) for part, share in zip(parts, shares, strict=True) if part.roc is not None
    ]
    sums = [part.reliability for part in parts if part.reliability is not None]
    reliability = None
    if sums:
        total, chance, event = np.sum(sums, axis=0)
        with np.errstate(invalid="ignore"):
            reliability = np.array([total, chance / total, event / total])
    return Predictions(
        source,
        n_rows,
        observed,
        predicted,
        confusion=np.sum(tables, axis=0) if tables else None,
        roc=np.average(
            [curve for curve, _ in curves], axis=0, weights=[share for _, share in curves]
        )
        if curves
        else None,
        reliability=reliability,
    )
