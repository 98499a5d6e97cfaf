"""Further measures of a classification: error rate, balanced accuracy, AUC.

The error rate does not show that a model orders samples well if it predicts the same class for all
of them, as is common if one class is rare.

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

# A further measure shows that features predict the classes if it is better by this many standard
# errors over folds. There are several of them, and folds share training rows: with two errors AUC
# was better on 10 to 15 % of targets that are noise (m = 300 and 600, ten folds).
_CLEARLY = 3.0
# An AUC of at least this is called good.
_GOOD = 0.7
# A class with a smaller share is called rare.
RARE = 0.1
# Scores that losses are shown as (`Reading`).
READ_AS = {"zero_one": "accuracy", "balanced_zero_one": "balanced accuracy", "auc": "AUC"}
# Losses of probabilities, in the order in which they are stored.
PROBABILITY_LOSSES = ("brier_score", "log_loss")
# Advice for Python, translated for the command line by `on_command_line`.
BALANCED = 'class_weight="balanced"'
BY_AUC = 'loss="auc"'


def at_sizes(losses: Float, initial_losses: Float | None, sizes: NDArray[np.intp]) -> Float:
    """Return the loss of each fold at its size, (F), from losses (F × k) by fold and size.

    Size 0 has the losses without features, (F); NaN if these are unknown.
    """
    if initial_losses is None:
        initial_losses = np.full(len(losses), np.nan)
    by_size = np.column_stack([initial_losses, losses])
    chosen: Float = by_size[np.arange(len(sizes)), sizes]
    return chosen


def measures_for(n_targets: int) -> tuple[str, ...]:
    """Return the names of the losses recorded for a classification that is coded by n targets."""
    names = ("zero_one", "balanced_zero_one", "squared")
    return (*names, "auc") if n_targets == 1 else names


def class_indices(values: Float) -> NDArray[np.intp]:
    """Return the index of the class predicted by values (rows × t) of the model, (rows)."""
    if values.shape[1] == 1:
        return (values[:, 0] > 0.0).astype(np.intp)
    indices: NDArray[np.intp] = np.argmax(values, axis=1)
    return indices


class FoldRates(NamedTuple):
    """Rates of one outer fold; losses have as many sizes as its path."""

    losses: Float  # (L × k) in each measure
    initial_losses: Float  # (L) of the model without features
    predicted: Float  # (c) weight of the test rows predicted to be of each class
    probability_losses: Float | None = None  # (2 × 2) `PROBABILITY_LOSSES`, with and without model


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
        """Return the mean loss over folds by size, (k); NaN if it is undefined."""
        losses = self.losses[self.measures.index(measure)]
        shares = np.where(np.isfinite(losses).any(axis=1), self.shares, 0.0)
        if not shares.any():
            return np.full(losses.shape[1], np.nan)
        # A size that some fold did not reach has no mean.
        mean: Float = shares[shares > 0.0] @ losses[shares > 0.0] / shares.sum()
        return mean

    def scores_by_size(self) -> dict[str, Float]:
        """Return AUC (for two classes) and balanced accuracy by size, (k) each."""
        losses = {"auc": "auc", "balanced_accuracy": "balanced_zero_one"}
        return {
            name: 1.0 - self.by_size(loss) for name, loss in losses.items() if loss in self.measures
        }

    @property
    def only_class(self) -> Any | None:
        """The class that is predicted for every sample, if there is one."""
        index = int(np.argmax(self.predicted))
        return self.classes[index] if self.predicted[index] > 1.0 - 1e-9 else None

    def is_clearly_better(self, measure: str) -> bool:
        """Whether the chosen models are clearly better than those without features."""
        chosen, initial, shares = self._at_chosen(measure)
        if not len(chosen):
            return False
        gain = float(shares @ (initial - chosen))
        covariance = fold_covariance((initial - chosen)[None], shares)
        error = 0.0 if covariance is None else float(np.sqrt(max(0.0, covariance[0, 0])))
        return gain > max(_CLEARLY * error, 1e-9)

    @property
    def predicts(self) -> bool:
        """Whether the error rate, AUC or squared error shows that features predict the classes.

        With class weights the balanced error rate replaces the squared error: the models and the
        constant were fitted to the weighted squared error, so noise may win by the unweighted one.
        """
        unfair = "squared" if self.is_weighted else "balanced_zero_one"
        return any(self.is_clearly_better(name) for name in self.measures if name != unfair)

    def second_score(self, measure: str) -> tuple[str, float | None]:
        """Return the familiar measure to report besides `measure`, and its value."""
        if "auc" in self.measures and measure != "auc":
            return "AUC", self.auc
        if measure in ("auc", "balanced_zero_one"):
            rate = self.error_rate
            return "accuracy", None if rate is None else 1.0 - rate
        return "balanced accuracy", self.balanced_accuracy

    def sentence(self, measure: str) -> str:
        """Return a sentence with the measures other than `measure` and the second one."""
        rate = self.error_rate
        scores = {
            "AUC": self.auc,
            "balanced accuracy": self.balanced_accuracy,
            "accuracy": None if rate is None else 1.0 - rate,
        }
        said = (READ_AS.get(measure), self.second_score(measure)[0])
        parts = [
            f"{name} {score(value)}"
            for name, value in scores.items()
            if value is not None and name not in said
        ]
        measures = f"In other measures: {', '.join(parts)}." if parts else ""
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
        """Return advice if the measure misleads, as if one class is predicted for all samples."""
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
            return f"The ranking is {how} (AUC {score(auc)}), but {every}: {use}."
        if self.predicts:
            return f"The features carry information about the classes, but {every}: {use}."
        return f"E{every[1:]}."

    def _beyond_the_error_rate(self) -> str:
        """Return advice if models that predict something have a higher error rate than none."""
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
        losses, _, shares = self._at_chosen(measure)
        return 1.0 - float(shares @ losses) if len(losses) else None

    def _at_chosen(self, measure: str) -> tuple[Float, Float, Float]:
        """Return losses with and without features, and shares, of folds where both are defined."""
        row = self.measures.index(measure)
        losses = at_sizes(self.losses[row], self.initial_losses[row], self.chosen_sizes)
        is_known = np.isfinite(losses) & np.isfinite(self.initial_losses[row])
        shares = self.shares[is_known]
        return (
            losses[is_known],
            self.initial_losses[row, is_known],
            shares / max(shares.sum(), 1e-300),
        )


def rates_of_folds(
    labels: NDArray[Any] | None,
    fold_rates: Sequence[FoldRates | None],
    chosen_sizes: NDArray[np.intp],
    shares: Float,
    is_weighted: bool,
) -> ClassRates | None:
    """Return the rates of all folds together; None for a regression, which has no labels."""
    folds = [fold for fold in fold_rates if fold is not None]
    if labels is None or not folds:
        return None
    size = max(fold.losses.shape[1] for fold in folds)
    losses = np.full((len(folds[0].losses), len(folds), size), np.nan)
    for index, fold in enumerate(folds):
        losses[:, index, : fold.losses.shape[1]] = fold.losses
    scores = [fold.probability_losses for fold in folds if fold.probability_losses is not None]
    with_and_without = np.array(scores).transpose(2, 1, 0) if len(scores) == len(folds) else None
    predicted = np.sum([fold.predicted for fold in folds], axis=0)
    classes = np.unique(labels)
    return ClassRates(
        classes=tuple(
            label if isinstance(label, str | int | float) else str(label)
            for label in classes.tolist()
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
