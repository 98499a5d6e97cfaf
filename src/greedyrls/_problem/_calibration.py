"""Class probabilities from the margins of a model, and their quality."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from .._base import ArrayValue, Float, Sigmoid, constant_sigmoid, exported, fit_sigmoid, logistic

# Sources of margins of models that were not fitted to the sample.
Source = Literal["outer folds", "folds", "leave-one-out"]


class Margins(NamedTuple):
    """Margins of models that were not fitted to the sample, which may be tested repeatedly."""

    values: Float  # (r × t)
    codes: Float  # (r × t) targets, −1 and 1
    weights: Float  # (r) sample weights, without class weights
    n_samples: int  # number of different samples
    source: Source


@exported("greedyrls._problem")
@dataclass(frozen=True, eq=False)
class Calibration(ArrayValue):
    """Sigmoids that turn margins into probabilities, one for each target of the model.

    Attributes
    ----------
    slopes, intercepts : ndarray of shape (t,)
        P = 1 / (1 + exp(−(slope · margin + intercept))): of the second of two classes, or of each
        class against the rest. A slope of 0 gives the share of the class, where margins held out
        do not order the classes.
    size : int
        The number of features (or centres) of the model.
    source : {"outer folds", "folds", "leave-one-out"}
        Where the margins come from that the sigmoids were fitted to.
    n_samples : int
        How many samples have such a margin.
    """

    slopes: Float
    intercepts: Float
    size: int
    source: Source
    n_samples: int

    def __repr__(self) -> str:
        return f"<Calibration: {self.sentence}>"

    @property
    def is_held_out(self) -> bool:
        """Whether the features, too, were selected without the samples of the margins."""
        return self.source == "outer folds"

    @property
    def sentence(self) -> str:
        """A sentence on the margins that the probabilities were fitted to."""
        where = {
            "outer folds": "the outer folds, in which the selection is repeated without them",
            "folds": "the folds of cv, fitted without them",
            "leave-one-out": "leave-one-out models, fitted without them",
        }[self.source]
        sentences = [f"Probabilities are fitted to margins of {self.n_samples} samples by {where}."]
        if not self.is_held_out:
            sentences.append(
                "The features were selected with these samples, so that probabilities may be too "
                "close to 0 and 1; with alpha='auto' or a list for alpha (one value is enough) "
                "they are fitted to margins of outer folds."
            )
        if not (self.slopes > 0.0).all():
            which = "the classes" if not self.slopes.any() else "some classes"
            sentences.append(
                f"These margins do not order {which}: the probability there is the share of the "
                "class in the training samples."
            )
        return " ".join(sentences)

    def probabilities(self, margins: Float) -> Float:
        """Return the probabilities of all classes, (rows × c), for margins (rows × t)."""
        return probabilities_of(margins, self.slopes, self.intercepts)


def probabilities_of(margins: Float, slopes: Float, intercepts: Float) -> Float:
    """Return class probabilities (rows × c) for margins (rows × t) and t sigmoids."""
    u = margins * slopes + intercepts
    if u.shape[1] == 1:
        return np.hstack([logistic(-u), logistic(u)])
    # Normalised as logarithms: the largest term never underflows to 0.
    logs = -np.logaddexp(0.0, -u)
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    values: Float = shares / shares.sum(axis=1, keepdims=True)
    return values


def make_calibration(margins: Margins, shares: Float, size: int) -> Calibration:
    """Fit a sigmoid for each target; class shares (t) are used if a fit is not possible."""
    fitted = [
        fit_sigmoid(margins.values[:, target], codes > 0.0, margins.weights, float(shares[target]))
        for target, codes in enumerate(margins.codes.T)
    ]
    return Calibration(*_columns(fitted), size, margins.source, margins.n_samples)


def constant_probabilities(shares: Float, count: int) -> Float:
    """Return probabilities (count × c) of a model without features from class shares (t)."""
    slopes, intercepts = _columns([constant_sigmoid(float(share)) for share in shares])
    constant = Calibration(slopes, intercepts, 0, "leave-one-out", 0)
    return constant.probabilities(np.zeros((count, len(shares))))


def _columns(sigmoids: list[Sigmoid]) -> tuple[Float, Float]:
    slopes, intercepts = np.array(sigmoids, dtype=np.float64).T
    return slopes.copy(), intercepts.copy()


def class_shares(codes: Float, weights: Float) -> Float:
    """Return the share of each target's class (t) from codes (m × t) and weights (m)."""
    shares: Float = weights @ (codes > 0.0) / weights.sum()
    return shares


def brier_and_log_loss(probabilities: Float, codes: Float, weights: Float) -> tuple[float, float]:
    """Return Brier score and log loss of probabilities (rows × c), as in `sklearn.metrics`.

    The Brier score of two classes is the mean squared error of the probability of one of them; of
    more classes it is the sum over classes. Probabilities are clipped before taking logarithms.
    """
    rows = np.arange(len(codes))
    is_binary = codes.shape[1] == 1
    class_of = (codes[:, 0] > 0.0).astype(np.intp) if is_binary else np.argmax(codes, axis=1)
    truth = np.zeros_like(probabilities)
    truth[rows, class_of] = 1.0
    squares = ((probabilities - truth) ** 2).sum(axis=1) / (2.0 if is_binary else 1.0)
    eps = float(np.finfo(np.float64).eps)
    logs = -np.log(np.clip(probabilities[rows, class_of], eps, 1.0 - eps))
    total = weights.sum()
    return float(weights @ squares / total), float(weights @ logs / total)
