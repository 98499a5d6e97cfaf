"""How good a classification is in further measures: error rate, balanced accuracy, AUC.

The error rate cannot see a model that orders samples well and predicts the same class for all of
them, as is common where a class is rare.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import ArrayValue, Float, column, exported, score
from ..path import fold_covariance

# A further measure shows that something predicts the classes if it is better by this many standard
# errors over folds. There are several of them, and folds share training rows: with two errors AUC
# was better on 10 to 15 % of targets that are noise (m = 300 and 600, ten folds).
_CLEARLY = 3.0
# From here on an order is called good.
_GOOD = 0.7
# A class of which there is less is called rare.
RARE = 0.1
# What losses are shown as (`_measures.Reading`).
READ_AS = {"zero_one": "accuracy", "balanced_zero_one": "balanced accuracy", "auc": "AUC"}
# Losses of probabilities, in the order in which they are kept.
PROBABILITY_LOSSES = ("brier_score", "log_loss")
# Advice, in Python and for the command line (`_result_words.on_command_line`).
BALANCED = 'class_weight="balanced"'
BY_AUC = 'loss="auc"'


def at_sizes(losses: Float, initial_losses: Float | None, sizes: NDArray[np.intp]) -> Float:
    """Of losses (F × k) by fold and size those at one size of each fold, (F).

    Size 0 has the losses without features, (F); not a number where these are unknown.
    """
    if initial_losses is None:
        initial_losses = np.full(len(losses), np.nan)
    by_size = np.column_stack([initial_losses, losses])
    chosen: Float = by_size[np.arange(len(sizes)), sizes]
    return chosen


def measures_for(n_targets: int) -> tuple[str, ...]:
    """The losses that are known of a classification, for its codes in so many targets."""
    names = ("zero_one", "balanced_zero_one", "squared")
    return (*names, "auc") if n_targets == 1 else names


def places_of(values: Float) -> NDArray[np.intp]:
    """The class predicted by values (rows × t) of the model, (rows)."""
    if values.shape[1] == 1:
        return (values[:, 0] > 0.0).astype(np.intp)
    places: NDArray[np.intp] = np.argmax(values, axis=1)
    return places


class FoldRates(NamedTuple):
    """Of one outer fold; losses have as many sizes as its path."""

    losses: Float  # (L × k) in each measure
    initial_losses: Float  # (L) of the model without features
    predicted: Float  # (c) weight of the test rows predicted to be of each class
    probability_losses: Float | None = None  # (2 × 2) see `PROBABILITY_LOSSES`; with, without model


@exported("greedyrls.assess")
@dataclass(frozen=True, eq=False)
class ClassRates(ArrayValue):
    """Losses of a classification in further measures, on rows held out, without class weights.

    Attributes
    ----------
    classes : tuple
        The labels.
    measures : tuple of str
        Names of the losses: "zero_one", "balanced_zero_one", "squared", and "auc" of two classes.
    losses : ndarray of shape (L, F, k)
        In each measure, by fold and size; not a number where a fold has not both classes.
    initial_losses : ndarray of shape (L, F)
        Loss of the model without features.
    predicted : ndarray of shape (c,)
        The share of the samples predicted to be of each class, at the chosen size.
    chosen_sizes, shares : ndarray of shape (F,)
        The size chosen in each fold, and what it counts in means.
    is_weighted : bool
        Whether models were fitted with weights of classes.
    probability_losses, initial_probability_losses : ndarray of shape (2, F) or None
        Brier score and log loss of the probabilities of each fold, which are fitted to its training
        rows, at the chosen size; and of the shares of the classes there. None in files of older
        releases.
    """

    classes: tuple[Any, ...]
    measures: tuple[str, ...]
    losses: Float
    initial_losses: Float
    predicted: Float
    chosen_sizes: NDArray[np.intp]
    shares: Float
    is_weighted: bool = False
    probability_losses: Float | None = None
    initial_probability_losses: Float | None = None

    @property
    def brier_score(self) -> float | None:
        """Brier score of the probabilities at the chosen size, as `sklearn.metrics` has it.

        The mean squared error of the probability of one of two classes; of more the sum over
        classes.
        """
        return self._probability_loss(self.probability_losses, "brier_score")

    @property
    def log_loss(self) -> float | None:
        """Minus the mean logarithm of the probability of the right class, at the chosen size."""
        return self._probability_loss(self.probability_losses, "log_loss")

    @property
    def initial_brier_score(self) -> float | None:
        """Brier score without features: each class has the share of the training rows."""
        return self._probability_loss(self.initial_probability_losses, "brier_score")

    @property
    def initial_log_loss(self) -> float | None:
        """Log loss without features: each class has the share of the training rows."""
        return self._probability_loss(self.initial_probability_losses, "log_loss")

    def _probability_loss(self, losses: Float | None, name: str) -> float | None:
        if losses is None:
            return None
        return float(self.shares @ losses[PROBABILITY_LOSSES.index(name)])

    @property
    def auc(self) -> float | None:
        """Area under the ROC curve at the chosen size, within folds; None for several classes."""
        return self._score("auc")

    @property
    def balanced_accuracy(self) -> float | None:
        """Mean over classes of the share that is predicted right, at the chosen size."""
        return self._score("balanced_zero_one")

    @property
    def error_rate(self) -> float | None:
        """Share of samples that are predicted wrong, at the chosen size."""
        score = self._score("zero_one")
        return None if score is None else 1.0 - score

    def by_size(self, measure: str) -> Float:
        """The mean loss over folds for each size, (k); not a number where there is none."""
        losses = self.losses[self.measures.index(measure)]
        shares = np.where(np.isfinite(losses).any(axis=1), self.shares, 0.0)
        if not shares.any():
            return np.full(losses.shape[1], np.nan)
        # A fold that ended early has no number, and so has no mean.
        mean: Float = shares[shares > 0.0] @ losses[shares > 0.0] / shares.sum()
        return mean

    def scores_by_size(self) -> dict[str, Float]:
        """AUC (of two classes) and balanced accuracy for each size, (k) each."""
        known = {"auc": "auc", "balanced_accuracy": "balanced_zero_one"}
        return {
            name: 1.0 - self.by_size(loss) for name, loss in known.items() if loss in self.measures
        }

    @property
    def only_class(self) -> Any | None:
        """The class that every sample is predicted to be of, if there is one."""
        place = int(np.argmax(self.predicted))
        return self.classes[place] if self.predicted[place] > 1.0 - 1e-9 else None

    def is_clearly_better(self, measure: str) -> bool:
        """Whether the chosen models are clearly better than those without features."""
        own, initial, shares = self._at_chosen(measure)
        if not len(own):
            return False
        gain = float(shares @ (initial - own))
        covariance = fold_covariance((initial - own)[None], shares)
        error = 0.0 if covariance is None else float(np.sqrt(max(0.0, covariance[0, 0])))
        return gain > max(_CLEARLY * error, 1e-9)

    @property
    def predicts(self) -> bool:
        """Whether the error rate, AUC or squared error says that features predict the classes.

        With weights of classes the balanced error rate rather than the squared error: models were
        fitted to the weighted one, and a constant too, so that without weights noise may win.
        """
        unfair = "squared" if self.is_weighted else "balanced_zero_one"
        return any(self.is_clearly_better(name) for name in self.measures if name != unfair)

    def second_score(self, measure: str) -> tuple[str, float | None]:
        """The measure that people know a classification by, beside the accuracy or `measure`."""
        if "auc" in self.measures and measure != "auc":
            return "AUC", self.auc
        if measure in ("auc", "balanced_zero_one"):
            rate = self.error_rate
            return "accuracy", None if rate is None else 1.0 - rate
        return "balanced accuracy", self.balanced_accuracy

    def sentence(self, measure: str) -> str:
        """Further measures, beside that of an assessment and the second one."""
        rate = self.error_rate
        known = {
            "AUC": self.auc,
            "balanced accuracy": self.balanced_accuracy,
            "accuracy": None if rate is None else 1.0 - rate,
        }
        said = (READ_AS.get(measure), self.second_score(measure)[0])
        told = [
            f"{name} {score(value)}"
            for name, value in known.items()
            if value is not None and name not in said
        ]
        measures = f"In other measures: {', '.join(told)}." if told else ""
        return " ".join(words for words in (measures, self._probabilities_in_words()) if words)

    def _probabilities_in_words(self) -> str:
        if self.brier_score is None:
            return ""
        pairs = [
            column(pair, digits=3)
            for pair in (
                (self.brier_score, self.initial_brier_score),
                (self.log_loss, self.initial_log_loss),
            )
        ]
        return (
            f"Probabilities: Brier score {pairs[0][0]} ({pairs[0][1]} without features), log loss "
            f"{pairs[1][0]} ({pairs[1][1]})."
        )

    def advice(self, measure: str) -> str:
        """What to do where the measure misleads, as where one class is predicted for all."""
        only = self.only_class
        if only is None:
            return self._beyond_the_error_rate() if measure == "zero_one" else ""
        every = f"every row is predicted {only!r}"
        use = f"use {BALANCED}" + (f", or {BY_AUC}" if "auc" in self.measures else "")
        if measure == "auc":
            use = f"use {BALANCED}, or choose a threshold for the scores yourself"
        auc = self.auc
        if auc is not None and self.is_clearly_better("auc"):
            how = "good" if auc >= _GOOD else "better than chance"
            return f"The order is {how} (AUC {score(auc)}), but {every}: {use}."
        if self.predicts:
            return f"The features say something of the classes, but {every}: {use}."
        return f"E{every[1:]}."

    def _beyond_the_error_rate(self) -> str:
        """Where models that predict something have a higher error rate than those that do not."""
        without = float(self.shares @ self.initial_losses[self.measures.index("zero_one")])
        if not self.predicts or (self.error_rate or 0.0) <= without:
            return ""
        better = "AUC or balanced accuracy" if "auc" in self.measures else "balanced accuracy"
        return (
            "The accuracy is lower than without features, since the most frequent class counts "
            f"most in it: go by {better}."
        )

    def _score(self, measure: str) -> float | None:
        if measure not in self.measures:
            return None
        own, _, shares = self._at_chosen(measure)
        return 1.0 - float(shares @ own) if len(own) else None

    def _at_chosen(self, measure: str) -> tuple[Float, Float, Float]:
        """Losses and those without features of the folds that have them, and their shares."""
        row = self.measures.index(measure)
        own = at_sizes(self.losses[row], self.initial_losses[row], self.chosen_sizes)
        known = np.isfinite(own) & np.isfinite(self.initial_losses[row])
        shares = self.shares[known]
        return own[known], self.initial_losses[row, known], shares / max(shares.sum(), 1e-300)


def rates_of_folds(
    labels: NDArray[Any] | None,
    found: Sequence[FoldRates | None],
    chosen_sizes: NDArray[np.intp],
    shares: Float,
    is_weighted: bool,
) -> ClassRates | None:
    """The rates of all folds together; none of a regression, which has no labels."""
    folds = [fold for fold in found if fold is not None]
    if labels is None or not folds:
        return None
    size = max(fold.losses.shape[1] for fold in folds)
    losses = np.full((len(folds[0].losses), len(folds), size), np.nan)
    for place, fold in enumerate(folds):
        losses[:, place, : fold.losses.shape[1]] = fold.losses
    scores = [fold.probability_losses for fold in folds if fold.probability_losses is not None]
    with_and_without = np.array(scores).transpose(2, 1, 0) if len(scores) == len(folds) else None
    predicted = np.sum([fold.predicted for fold in folds], axis=0)
    classes = np.unique(labels)
    return ClassRates(
        classes=tuple(
            one if isinstance(one, str | int | float) else str(one) for one in classes.tolist()
        ),
        measures=measures_for(1 if len(classes) == 2 else len(classes)),
        losses=losses,
        initial_losses=np.array([fold.initial_losses for fold in folds]).T,
        predicted=predicted / predicted.sum(),
        chosen_sizes=chosen_sizes,
        shares=shares,
        is_weighted=is_weighted,
        probability_losses=None if with_and_without is None else with_and_without[0].copy(),
        initial_probability_losses=None if with_and_without is None else with_and_without[1].copy(),
    )
