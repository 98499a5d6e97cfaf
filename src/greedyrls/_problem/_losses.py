"""Losses of held-out predictions, for many candidates at once; lower is better.

Targets Y are (m × t), predictions P (t × c × m): t targets, c candidates, m rows. Weights (m) are
positive, None for all 1. Predictions must be finite. Equal candidates get equal values to the last
bit: sums run over raw weights and are divided afterwards, so counts stay whole numbers.
"""

from __future__ import annotations

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from .._base import Float
from ..path import LossName

LossFunction = Callable[[Float, Float], float]
Rows = NDArray[np.intp]

# A prediction is right only if its margin exceeds rounding.
UNDECIDED = 1e-10
# Predictions this close (relatively, and to labels of size 1) are tied.
_SAME_RANK = 1e-12

# Names of these losses in other libraries.
_MEANT = {
    "accuracy": "zero_one",
    "balanced_accuracy": "balanced_zero_one",
    "roc_auc": "auc",
    "mse": "squared",
    "l2": "squared",
    "mean_squared_error": "squared",
    "r2": "squared",
    "mae": "absolute",
    "l1": "absolute",
    "mean_absolute_error": "absolute",
}


class Components(NamedTuple):
    """A loss as weighted means over samples: the contribution of each sample to its stratum."""

    losses: Float  # (c × m)
    shares: Float  # (m)
    strata: Rows  # (m)


class Loss(ABC):
    """A loss of held-out predictions: by default, of all samples together, for any targets."""

    name: str
    is_additive = False  # a weighted mean of losses of single samples
    needs_labels = False
    needs_every_class = False
    has_components = True

    def check(
        self,
        Y: Float,
        weights: Float | None,
        groups_of_rows: Sequence[Rows],
        single_target: bool,
        parameter: str = "loss",
    ) -> None:
        """Raise an error if the loss is not defined; groups are the test rows of each fold.

        `parameter` is the name of the user's parameter.
        """
        if self.needs_labels:
            _check_labels(f"{parameter}={self.name!r}", Y, weights, single_target)
        if self.needs_every_class:
            _check_groups(f"{parameter}={self.name!r}", Y, weights, groups_of_rows)

    def n_strata(self, n_targets: int) -> int:
        """Return the number of strata of an additive loss, which averages the means of strata."""
        raise self._not_a_mean()

    def strata(self, Y: Float) -> Rows:
        """Return the stratum of each row, (m), for an additive loss."""
        raise self._not_a_mean()

    def sample_weights(self, Y: Float, weights: Float | None) -> Float:
        """Return e (m), which sums to 1, for an additive loss Σ_j e_j ℓ_j."""
        raise self._not_a_mean()

    def sample_losses(self, Y: Float, P: Float) -> Float:
        """Return ℓ (c × m) of an additive loss."""
        raise self._not_a_mean()

    def _not_a_mean(self) -> TypeError:
        return TypeError(f"loss {self.name!r} is not a mean over samples; use values().")

    @abstractmethod
    def values(self, Y: Float, P: Float, weights: Float | None) -> Float:
        """Return the loss of each candidate, (c)."""

    def components(self, Y: Float, P: Float, weights: Float | None) -> Components | None:
        """Return the contributions of the samples to the values; None if these are not known."""
        return None

    def covariance(self, Y: Float, P: Float, weights: Float | None) -> Float | None:
        """Return the covariance of the values as estimates, (c × c); None if it is not known."""
        components = self.components(Y, P, weights)
        return None if components is None else _stratified_covariance(*components)


def make_loss(loss: Any, parameter: str = "loss") -> Loss:
    """Return the loss of a name, or one computed by a function of (y_true, y_pred).

    `parameter` is the name of the user's parameter. A `Loss` is returned unchanged.
    """
    if isinstance(loss, Loss):
        return loss
    names = ", ".join(repr(name) for name in get_args(LossName))
    if isinstance(loss, str):
        if loss not in _LOSSES:
            meant = _MEANT.get(loss.lower().removeprefix("neg_"))
            hint = "" if meant is None else f" Did you mean {meant!r}?"
            raise ValueError(
                f"{parameter}={loss!r} is not supported; use one of {names}, or a function.{hint}"
            )
        return _LOSSES[loss]
    if callable(loss):
        return _FunctionLoss(loss, parameter)
    raise TypeError(
        f"{parameter} must be one of {names}, or a function of (y_true, y_pred) that returns a "
        f"number, got {loss!r}."
    )


def breaks_ties(loss: Loss) -> bool:
    """Whether squared loss breaks the tie if no candidate changes the loss.

    As long as a rare class is never predicted, its balanced error rate is the same for every
    candidate. Ties of "zero_one" go to the first column, as in the paper.
    """
    return loss.name == "balanced_zero_one"


def guess_without_features(loss: Loss, Y: Float, weights: Float | None, means: Float) -> Float:
    """Return the predictions (t) of a model without features: the means of its targets.

    For losses that count wrong classes it is the most frequent class, also without an intercept: a
    prediction of 0, between the classes, is wrong for each of them. Y (m × t) and the weights are
    those of its training rows; if these are on a cluster, Y has no rows and the means decide.
    """
    if loss.name not in ("zero_one", "balanced_zero_one"):
        return means
    return most_frequent(Y, weights) if len(Y) else most_frequent(means[None], None)


def most_frequent(Y: Float, weights: Float | None) -> Float:
    """Return the code (t) of the class of largest weight."""
    totals = Y.sum(axis=0) if weights is None else weights @ Y
    if len(totals) == 1:
        return np.array([1.0 if totals[0] > 0.0 else -1.0])
    code = np.full(len(totals), -1.0)
    code[int(np.argmax(totals))] = 1.0
    return code


def is_same_loss(one: Loss, other: Loss) -> bool:
    """Whether two losses are the same; functions are compared by identity, not by name."""
    if isinstance(one, _FunctionLoss) and isinstance(other, _FunctionLoss):
        return one.function == other.function
    return one.name == other.name  # objects differ between processes


class _MeanLoss(Loss):
    """A weighted mean over samples, or the mean of such means over strata of samples."""

    is_additive = True

    def sample_weights(self, Y: Float, weights: Float | None) -> Float:
        weights, strata = _filled(weights, Y), self.strata(Y)
        totals = np.bincount(strata, weights)
        shares: Float = weights / totals[strata] / np.count_nonzero(totals)
        return shares

    def values(self, Y: Float, P: Float, weights: Float | None) -> Float:
        losses, weights, strata = self.sample_losses(Y, P), _filled(weights, Y), self.strata(Y)
        parts = [np.where(strata == stratum, weights, 0.0) for stratum in np.unique(strata)]
        means = [np.vecdot(losses, part) / part.sum() for part in parts]
        result: Float = np.mean(means, axis=0)
        return result

    def components(self, Y: Float, P: Float, weights: Float | None) -> Components:
        shares = self.sample_weights(Y, weights)
        return Components(self.sample_losses(Y, P), shares, self.strata(Y))

    def n_strata(self, n_targets: int) -> int:
        return 1

    def strata(self, Y: Float) -> Rows:
        """Return the stratum of each row, (m): all rows are in one."""
        return np.zeros(len(Y), dtype=np.intp)


class _ErrorSize(_MeanLoss):
    """Mean over targets of a measure of y − p."""

    def __init__(self, name: str, measure: np.ufunc) -> None:
        self.name = name
        self.measure = measure

    def sample_losses(self, Y: Float, P: Float) -> Float:
        total = np.zeros(P.shape[1:])
        # Target by target, so that no array of the size of P is made.
        for y, predictions in zip(Y.T, P, strict=True):
            error = y - predictions
            total += self.measure(error, out=error)
        total /= len(P)
        return total


class _ZeroOne(_MeanLoss):
    """Error rate: a wrong or undecided class counts 1."""

    name = "zero_one"
    needs_labels = True

    def sample_losses(self, Y: Float, P: Float) -> Float:
        # The negation also counts NaN as an error.
        return (~(_margins(Y, P) > UNDECIDED)).astype(np.float64)


class _BalancedZeroOne(_ZeroOne):
    """Mean over classes of the error rate in the class."""

    name = "balanced_zero_one"
    needs_every_class = True

    def n_strata(self, n_targets: int) -> int:
        return max(2, n_targets)

    def strata(self, Y: Float) -> Rows:
        return _classes(Y)


class _Auc(Loss):
    """1 − area under the ROC curve: the share of pairs of both classes in the wrong order."""

    name = "auc"
    needs_labels = True
    needs_every_class = True

    def check(
        self,
        Y: Float,
        weights: Float | None,
        groups_of_rows: Sequence[Rows],
        single_target: bool,
        parameter: str = "loss",
    ) -> None:
        if Y.shape[1] > 1:
            raise ValueError(
                f"{parameter}='auc' is for two classes, coded -1 and +1 in one target; y has "
                f"{Y.shape[1]} targets or classes. Use 'zero_one' or 'balanced_zero_one'."
            )
        super().check(Y, weights, groups_of_rows, single_target, parameter)

    def values(self, Y: Float, P: Float, weights: Float | None) -> Float:
        negative, positive = _class_weights(Y, weights)
        order, (positive_below,) = _weight_below(P[0], positive[None])
        wrong = np.vecdot(negative[order], positive_below)
        result: Float = wrong / (negative.sum() * positive.sum())
        return result

    def strata(self, Y: Float) -> Rows:
        """Return the stratum of each row, (m): its class, though the loss is a mean over pairs."""
        return _classes(Y)

    def components(self, Y: Float, P: Float, weights: Float | None) -> Components:
        """Return DeLong's components: the share of the other class that is ranked wrongly."""
        sides = _class_weights(Y, weights)
        shares = sides / sides.sum(axis=1, keepdims=True)
        order, (negative_below, positive_below) = _weight_below(P[0], shares)
        classes = _classes(Y)
        ranked = np.where(classes[order] == 1, 1.0 - negative_below, positive_below)
        components = np.empty_like(ranked)
        np.put_along_axis(components, order, ranked, axis=1)
        return Components(components, shares.sum(axis=0), classes)


class _FunctionLoss(Loss):
    """A loss that a function of (y_true, y_pred) returns."""

    has_components = False

    def __init__(self, function: LossFunction, parameter: str = "loss") -> None:
        self._parameter = parameter
        self.name = f"callable:{getattr(function, '__name__', type(function).__name__)}"
        self.function = function

    def values(self, Y: Float, P: Float, weights: Float | None) -> Float:
        single = Y.shape[1] == 1
        losses = np.empty(P.shape[1])
        for candidate in range(len(losses)):
            # Copies, because the function may write into its arguments.
            y_true, y_pred = Y.copy(), P[:, candidate].T.copy()
            value = self.function(*((y_true[:, 0], y_pred[:, 0]) if single else (y_true, y_pred)))
            losses[candidate] = _one_number(value, f"{self._parameter} {self.name!r}")
        return losses


_LOSSES: dict[str, Loss] = {
    loss.name: loss
    for loss in (
        _ErrorSize("squared", np.square),
        _ZeroOne(),
        _BalancedZeroOne(),
        _ErrorSize("absolute", np.absolute),
        _Auc(),
    )
}


def stratum_factors(totals: Float) -> Float:
    """Return factors from weights of strata (… × strata): e is the weight times the factor."""
    present = totals > 0.0
    count = np.count_nonzero(present, axis=-1)[..., None]
    return np.where(present, 1.0 / (np.where(present, totals, 1.0) * np.maximum(count, 1)), 0.0)


def _filled(weights: Float | None, Y: Float) -> Float:
    return np.ones(len(Y)) if weights is None else weights


def _classes(Y: Float) -> Rows:
    """Return the class of each row, (m): 0 and 1 for −1 and +1, else the column of the +1."""
    if Y.shape[1] == 1:
        return (Y[:, 0] > 0).astype(np.intp)
    classes: Rows = np.argmax(Y, axis=1)
    return classes


def _margins(Y: Float, P: Float) -> Float:
    """Return the margin of each prediction for the true class, (c × m); positive is right."""
    margins: Float = Y[:, 0] * P[0]
    if len(P) == 1:
        return margins
    true, smaller = np.empty((2, *P.shape[1:]))
    largest, second = np.full((2, *P.shape[1:]), -np.inf)
    for code, predictions in zip(Y.T, P, strict=True):
        np.copyto(true, predictions, where=code > 0)
        np.maximum(second, np.minimum(largest, predictions, out=smaller), out=second)
        np.maximum(largest, predictions, out=largest)
    # The rival of the largest is the second; it is as large if they tie.
    np.copyto(largest, second, where=true == largest)
    margins = true - largest
    return margins


def _class_weights(Y: Float, weights: Float | None) -> Float:
    """Return weights of the rows labelled −1 and +1, (2 × m), zero for other rows."""
    weights, is_positive = _filled(weights, Y), _classes(Y) == 1
    return np.stack([np.where(is_positive, 0.0, weights), np.where(is_positive, weights, 0.0)])


def _weight_below(P: Float, weights: Float) -> tuple[Rows, Float]:
    """Return the order (c × m) that sorts each row of P, and the weight below each sorted value.

    For k sets of weights (k × m) the result is (k × c × m). Equal values count one half.
    """
    order = np.argsort(P, axis=1)
    ranked = np.take_along_axis(P, order, axis=1)
    sums = np.zeros((len(weights), *P.shape[:-1], P.shape[-1] + 1))
    np.cumsum(weights[:, order], axis=-1, out=sums[..., 1:])
    below, up_to = sums[..., :-1], sums[..., 1:]
    # Values that are equal up to rounding must tie, or noise would be ranked.
    rises = np.diff(ranked) > _SAME_RANK * np.maximum(1.0, np.abs(ranked[:, 1:]))
    if not rises.all():
        # Sums never fall, so a running maximum carries the one at the start of a run of equal
        # values through the run, and a running minimum from the right the one at its end.
        edge = np.ones((len(P), 1), dtype=bool)
        starts, ends = np.hstack([edge, rises]), np.hstack([rises, edge])
        below = np.maximum.accumulate(np.where(starts, below, 0.0), axis=-1)
        up_to = np.where(ends, up_to, np.inf)[..., ::-1]
        up_to = np.minimum.accumulate(up_to, axis=-1)[..., ::-1]
    return order, (below + up_to) / 2


def _stratified_covariance(losses: Float, shares: Float, strata: Rows) -> Float:
    """Return the covariance (c × c) of Σ_j e_j ℓ_j for independent samples in fixed strata.

    Each stratum adds Σ_j e_j² (ℓ_ja − mean_a)(ℓ_jb − mean_b) · n / (n − 1) over its n samples; one
    of a single sample adds nothing, as its spread cannot be estimated.
    """
    result = np.zeros((len(losses), len(losses)))
    for stratum in np.unique(strata):
        rows = np.flatnonzero(strata == stratum)
        if len(rows) < 2:
            continue
        part, e = losses[:, rows], shares[rows]
        scaled = (part - (np.vecdot(part, e) / e.sum())[:, None]) * e
        result += scaled @ scaled.T * (len(rows) / (len(rows) - 1))
    return result


def _one_number(value: Any, loss: str) -> float:
    """Convert the result of a user's function to a finite float, or raise an error."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    shape = getattr(value, "shape", ())
    if shape != ():
        raise ValueError(
            f"{loss} must return one number, got an array of shape {shape}; "
            "average over samples and targets."
        )
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        raise TypeError(
            f"{loss} must return one number, got {value!r} of type {type(value).__name__}."
        )
    if not math.isfinite(value):
        raise ValueError(
            f"{loss} must return a finite number, got {value!r}; also where all predictions "
            "are equal, as those of the model without features are."
        )
    return float(value)


def _check_labels(loss: str, Y: Float, weights: Float | None, single_target: bool) -> None:
    """Raise an error unless Y has −1 and +1 codes of at least two classes."""
    bad = np.argwhere(np.abs(Y) != 1.0)
    if len(bad):
        row, column = bad[0]
        where = f"row {row}" if single_target else f"row {row}, column {column}"
        raise ValueError(
            f"{loss} needs labels -1 and +1, but y has {float(Y[row, column])!r} in "
            f"{where}. Code two classes as -1 and +1 (more as a column each, +1 for the class), or "
            "use GreedyRLSClassifier."
        )
    counts = np.count_nonzero(Y > 0, axis=1)
    if Y.shape[1] > 1 and (counts != 1).any():
        row = int(np.argmax(counts != 1))
        raise ValueError(
            f"{loss} needs exactly one +1 in each row of y, in the column of its class; "
            f"row {row} has {counts[row]}. Use GreedyRLSClassifier to have classes coded."
        )
    present = np.unique(_classes(Y)[_filled(weights, Y) > 0])
    if len(present) < 2:
        only = _class_name(Y, int(present[0]))
        raise ValueError(f"{loss} needs at least 2 classes; y has only {only}.")


def _check_groups(
    loss: str, Y: Float, weights: Float | None, groups_of_rows: Sequence[Rows]
) -> None:
    """Raise an error unless every group of rows has every class."""
    n_classes = max(2, Y.shape[1])
    classes, weights = _classes(Y), _filled(weights, Y)
    for number, rows in enumerate(groups_of_rows):
        counts = np.bincount(classes[rows][weights[rows] > 0], minlength=n_classes)
        if counts.all():
            continue
        missing = _class_name(Y, int(np.argmin(counts)))
        if len(groups_of_rows) == 1:
            raise ValueError(
                f"{loss} needs samples of every class to test on; there is none of "
                f"{missing}. Leave that class out, or test on more samples."
            )
        raise ValueError(
            f"{loss} needs every class in each fold; fold {number} has no test sample of "
            f"{missing}. Use stratified folds (sklearn.model_selection.StratifiedKFold), or fewer."
        )


def _class_name(Y: Float, index: int) -> str:
    return f"class {('-1', '+1')[index]}" if Y.shape[1] == 1 else f"the class of column {index}"
