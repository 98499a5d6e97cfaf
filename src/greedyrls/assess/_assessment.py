"""Results of an assessment in outer folds: curves by size, estimate, stability, warnings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import ArrayValue, Float, counted, exported, percent, required, score
from ..path import CHOSEN as AT_CHOSEN
from ..path import (
    LOSSES_BEFORE_SIZES,
    Methods,
    Reading,
    corrected,
    explained_in_words,
    fold_covariance,
    rate_interval,
    reading_of,
    t_quantile,
    variances_of,
)
from ..path import MEASURES as MEASURES
from ..path import measure_in_words as measure_in_words
from . import cautions
from ._class_rates import ClassRates, at_sizes
from ._methods import assessment_methods
from ._predictions import Predictions
from ._stability import Order, Stability, index_by_size

if TYPE_CHECKING:
    import pandas

# Left out if something may be wrong with the data.
REPORT_IT = " Report the first."


_RATES = ("zero_one", "balanced_zero_one", "auc")
# A ratio of test rows of all folds to training rows of one fold that exceeds the ratio of disjoint
# folds by this factor means that rows are tested repeatedly.
_REPEATED = 1.01
# With fewer independent samples than this, intervals covered the truth too seldom in simulations.
_FEW = 200
LEVEL = 0.95


class Curve(NamedTuple):
    """A loss by number of features, and its standard error."""

    mean: Float  # (k)
    error: Float  # (k)


@exported("greedyrls.assess")
@dataclass(frozen=True, eq=False)
class PathAssessment(ArrayValue):
    """The whole selection repeated in each outer fold and tested on the held-out rows.

    Returned by `cross_validate_path`. Losses are in `measure`; lower is better. They are NaN for
    sizes that a fold did not reach.

    Attributes
    ----------
    measure : str
        The loss in which all curves are given.
    test_losses : ndarray of shape (F, k)
        Losses of the models of all sizes on the held-out rows, by outer fold. Report these.
    selection_losses : ndarray of shape (F, k)
        The selection's own estimate: losses of the same models on the rows that they were selected
        on, each left out in turn (or in the folds of the criterion).
    random_losses : ndarray of shape (F, R, k)
        Test losses of features drawn at random, R times in each fold.
    initial_losses : ndarray of shape (F,)
        Test losses of the model without features.
    features : tuple of ndarray
        Column numbers in the order of selection, by outer fold; where a `direction` finds sets
        that are not nested, those of the size chosen come first.
    alphas : ndarray of shape (F,)
        The penalty of the search, by outer fold.
    chosen_sizes : ndarray of shape (F,)
        The number of features chosen in each fold; `n_features` where it was given. 0 where a fold
        found nothing that predicts: its model is then the mean of the targets.
    shares : ndarray of shape (F,)
        Weight of each fold in means: its share of the test rows.
    folds, criterion : str
        Descriptions of the outer folds and of the criterion of the selection.
    n_samples, n_features_in : int
    feature_names_in : tuple of str or None
    n_available : int
        Number of features that could be selected.
    n_asked : int or None
        The number of features asked for; None where it was chosen in each fold.
    forced : tuple of int
        Features that were forced into every selection.
    overlap : float
        The mean over folds of test rows by training rows, by which errors over folds are corrected
        for the training rows that folds share (Nadeau and Bengio 2003). 0 in files of releases that
        did not correct them.
    held_out_covariance : ndarray of shape (2 + k, 2 + k) or None
        Covariance, from the samples held out and before that correction, of the mean test losses:
        at the size chosen in each fold, without features, and at sizes 1 to k. For error rates the
        first includes what samples do to the intercepts of other folds. None for a function as
        measure, which is not a mean over samples, and in files of older releases.
    n_independent : int or None
        Number of samples, or groups of samples, behind `held_out_covariance`.
    test_ratio : float
        Samples tested in all folds together by those that a fold trains on: K/(K − 1) for K folds.
        Corrects `held_out_covariance` for the training rows that folds share. 0 in older files.
    class_rates : ClassRates or None
        Error rate, balanced accuracy and AUC of a classification on the held-out rows
        (``class_rates.auc``), whatever `measure` is.
    own_initial_losses : ndarray of shape (F,) or None
        The selection's own loss of the model without features, as `selection_losses`, in folds that
        chose it; NaN in others. None in files of older releases.
    predictions : Predictions or None
        Predictions of the held-out rows at the size chosen in each fold, summarised for plots. None
        in files of older releases.
    """

    measure: str
    test_losses: Float
    selection_losses: Float
    random_losses: Float
    initial_losses: Float
    features: tuple[Order, ...]
    alphas: Float
    chosen_sizes: NDArray[np.intp]
    shares: Float
    folds: str
    criterion: str
    n_samples: int
    n_features_in: int
    n_available: int
    n_asked: int | None
    feature_names_in: tuple[str, ...] | None = None
    forced: tuple[int, ...] = ()
    overlap: float = 0.0
    held_out_covariance: Float | None = None
    n_independent: int | None = None
    test_ratio: float = 0.0
    class_rates: ClassRates | None = None
    own_initial_losses: Float | None = None
    predictions: Predictions | None = None

    def __repr__(self) -> str:
        return (
            f"<PathAssessment of {counted(len(self.sizes), 'size')} in "
            f"{counted(len(self.shares), 'fold')}: {self.reading.short} "
            f"{self._estimate_in_words()}>"
        )

    def _repr_html_(self) -> str:
        """Return the HTML that a notebook shows."""
        from .._notebook import assessment_html

        return assessment_html(self)

    @property
    def reading(self) -> Reading:
        """How losses are presented: squared error as its root, error rate as accuracy."""
        return reading_of(self.measure, self.class_rates is not None)

    def _estimate_in_words(self) -> str:
        return self.reading.written(*self.estimate)

    @property
    def is_size_chosen(self) -> bool:
        """Whether the number of features was chosen in each fold."""
        return self.n_asked is None

    @property
    def sizes(self) -> NDArray[np.intp]:
        """The sizes, 1 to k."""
        return np.arange(1, self.test_losses.shape[1] + 1)

    @property
    def test(self) -> Curve:
        """Mean test loss over folds by size, (k,), and its standard error, (k,)."""
        if self.held_out_covariance is None:
            return self._over_folds(self.test_losses, is_corrected=True)
        variances, differences = (
            values[LOSSES_BEFORE_SIZES:] for values in variances_of(self.held_out_covariance)
        )
        count = len(self.shares)
        errors = corrected(variances, differences, self._agreement, self.test_ratio, count)
        return Curve(self.shares @ self.test_losses, errors)

    @property
    def selection(self) -> Curve:
        """The selection's own mean loss by size, (k,), and its standard error over folds, (k,)."""
        return self._over_folds(self.selection_losses)

    @property
    def random(self) -> Curve:
        """Mean test loss of random features by size, (k), and its standard error over folds, (k).

        NaN without repeats (``n_random=0``).
        """
        if self.random_losses.shape[1] == 0:
            nothing = np.full(len(self.sizes), np.nan)
            return Curve(nothing, nothing.copy())
        return self._over_folds(self.random_losses.mean(axis=1))

    @property
    def optimism(self) -> Curve:
        """Test loss minus the selection's own, by size, (k), and its error over folds, (k).

        From the differences of the folds: the selection's own losses are not of the samples held
        out. By simulation it is rather too large, so it is not corrected for shared training rows.
        """
        return self._over_folds(self.test_losses - self.selection_losses)

    @property
    def initial_loss(self) -> float:
        """Mean test loss of the model without features."""
        return float(self.shares @ self.initial_losses)

    @property
    def chosen_losses(self) -> Float:
        """Test loss of each fold at the size chosen in that fold, (F)."""
        return at_sizes(self.test_losses, self.initial_losses, self.chosen_sizes)

    @property
    def _own_losses(self) -> Float:
        """Loss of each fold at its chosen size, as estimated by the selection itself, (F)."""
        return at_sizes(self.selection_losses, self.own_initial_losses, self.chosen_sizes)

    def _mean(self, values: Float, is_corrected: bool = False) -> tuple[float, float]:
        """Return the mean of one number per fold, and its standard error."""
        mean, error = self._over_folds(values[:, None], is_corrected)
        return float(mean[0]), float(error[0])

    @property
    def estimate(self) -> tuple[float, float]:
        """The loss to expect of the whole procedure on new samples, and its standard error.

        It holds for the procedure with as many samples as a fold trains on; see docs/theory.md,
        section 19.
        """
        if self.held_out_covariance is None:
            return self._mean(self.chosen_losses, is_corrected=True)
        variances, differences = variances_of(self.held_out_covariance)
        error = self._chosen_error(variances[AT_CHOSEN], differences[AT_CHOSEN])
        return float(self.shares @ self.chosen_losses), error

    @property
    def interval(self) -> tuple[float, float]:
        """A 95 % confidence interval of the loss to expect; NaN if its standard error is undefined.

        The ends are not below the smallest possible loss. For rates it is Wilson's, between 0 and
        1 and not symmetric.
        """
        mean, error = self.estimate
        quantile = t_quantile(LEVEL, len(self.shares), self.n_independent)
        if self.measure in _RATES:
            return rate_interval(mean, error, quantile, self.n_independent)
        low, high = mean - quantile * error, mean + quantile * error
        if not self.measure.startswith("callable:"):
            low = max(0.0, low) if low == low else low
        return low, high

    @property
    def gain(self) -> tuple[float, float]:
        """Decrease of the loss compared with no features, and its standard error."""
        if self.held_out_covariance is None:
            return self._mean(self.initial_losses - self.chosen_losses, is_corrected=True)
        difference = variances_of(self.held_out_covariance)[1][AT_CHOSEN]
        error = self._chosen_error(difference, difference)
        return float(self.shares @ (self.initial_losses - self.chosen_losses)), error

    def _chosen_error(self, variance: float, difference: float) -> float:
        """Return the standard error of a mean at the chosen sizes, from held-out variances."""
        chosen = [
            order[:size] for order, size in zip(self.features, self.chosen_sizes, strict=True)
        ]
        size = max(1, *map(len, chosen))  # without features the index is undefined
        agreement = index_by_size(chosen, self.n_available, self.forced, size)[-1:]
        variances = np.array([variance]), np.array([difference])
        return float(corrected(*variances, agreement, self.test_ratio, len(self.shares))[0])

    @cached_property
    def _agreement(self) -> Float:
        """The stability index of the selections of the folds, by size, (k)."""
        return index_by_size(self.features, self.n_available, self.forced, len(self.sizes))

    @property
    def stability(self) -> Stability:
        """Stability of the selections of the folds, each with its chosen features."""
        chosen = tuple(
            order[:size].copy()
            for order, size in zip(self.features, self.chosen_sizes, strict=True)
        )
        return Stability(
            chosen,
            self.n_features_in,
            self.feature_names_in,
            f"folds: {self.folds}",
            n_available=self.n_available,
            forced=self.forced,
        )

    def methods_text(self) -> str:
        """Return sentences for the methods section of a paper, with references.

        `SelectionPath.methods_text` combines them with those on the selection.
        """
        return self._methods().text

    def _methods(self) -> Methods:
        return assessment_methods(self, LEVEL, self._has_few)

    def to_json(self, *, indent: int | None = None) -> str:
        """Return the object as text in the stable JSON format; `indent` as in `json.dumps`.

        Parameters
        ----------
        indent : int, optional
            Number of spaces of a level, as in `json.dumps`; None for one line.
        """
        from ._assessment_format import ASSESSMENT_FORMAT

        return ASSESSMENT_FORMAT.encode(self, indent)

    @classmethod
    def from_json(cls, text: str | bytes) -> PathAssessment:
        """Read the text that `to_json` wrote; loading never runs code.

        Parameters
        ----------
        text : str or bytes
            What `to_json` wrote.
        """
        from ._assessment_format import ASSESSMENT_FORMAT

        value: PathAssessment = ASSESSMENT_FORMAT.decode(text)
        return value

    @property
    def sentence(self) -> str:
        """A sentence on what to report."""
        chosen = "as asked"
        if not self.chosen_sizes.any():
            chosen = "as chosen in every fold"
        elif self.is_size_chosen:
            chosen = "chosen in each fold"
        elif (self.chosen_sizes != self.n_asked).any():
            chosen = f"where the searches ended ({self.n_asked} were asked for)"
        is_doubtful = self.leaks or (self.class_rates and self.class_rates.advice(self.measure))
        praise = "" if is_doubtful else REPORT_IT
        believed = self.reading.written(float(self.shares @ self._own_losses))
        without = self.reading.written(self.initial_loss)
        return (
            f"On samples that took no part in the selection the {self.reading.name} is "
            f"{self._estimate_in_words()}{self._interval_in_words()}{self.second_measure}, with "
            f"{self._sizes_in_words()}, {chosen} ({self.folds}). The selection's own estimate is "
            f"{believed}; without features it is {without}.{praise}"
            f"{self._rates_in_words()}"
        )

    def sentence_without_praise(self) -> str:
        """The sentence to report if a column predicts the target suspiciously well."""
        sentence = self.sentence.replace(REPORT_IT, "")
        if self.class_rates is not None or not self.second_measure:
            return sentence
        return sentence.replace(self.second_measure, "")

    @property
    def second_measure(self) -> str:
        """The second measure in words: R² of a regression, AUC or balanced accuracy of classes."""
        if self.class_rates is not None:
            name, value = self.class_rates.second_score(self.measure)
            return "" if value is None else f" and the {name} is {score(value)}"
        if self.measure != "squared":
            return ""
        return explained_in_words(self.estimate[0], self.initial_loss)

    def _interval_in_words(self) -> str:
        low, high = self.interval
        if np.isnan(low) or self.overlap == 0.0 or not self.estimate[1] > 0.0:
            return ""  # uncorrected errors of old files are too small for an interval
        about = "roughly " if self._has_few else ""
        return f" ({percent(LEVEL)} interval {about}{self.reading.interval(low, high)})"

    @property
    def _has_few(self) -> bool:
        """Whether there are too few independent samples for intervals to be trusted."""
        count = self.n_samples if self.n_independent is None else self.n_independent
        return count < _FEW

    def _rates_in_words(self) -> str:
        """Return further measures of a classification and advice, each after a space."""
        if self.class_rates is None:
            return ""
        sentences = (self.class_rates.sentence(self.measure), self.class_rates.advice(self.measure))
        return "".join(f" {words}" for words in sentences if words)

    @property
    def doubts(self) -> list[str]:
        """Reasons to doubt that the features predict anything, in words; empty if there are
        none."""
        if self.class_rates is not None and self.class_rates.predicts:
            return []
        gain, error = self.gain
        if not self.chosen_sizes.any():
            return cautions.none_chosen(len(self.shares), self.initial_loss, self.reading)
        return cautions.no_better(self.estimate[0], self.initial_loss, gain, error, self.reading)

    @property
    def leaks(self) -> tuple[str, ...]:
        """Features that were chosen first and each predict the test rows almost exactly alone."""
        loss, n = float(self.test.mean[0]), self.n_available
        if not cautions.is_too_good(loss, self.initial_loss, self.measure, self.n_samples, n):
            return ()
        names = self.feature_names_in
        first = dict.fromkeys(int(order[0]) for order in self.features)
        return tuple(names[index] if names else f"x{index}" for index in first)

    def _sizes_in_words(self) -> str:
        low, high = int(self.chosen_sizes.min()), int(self.chosen_sizes.max())
        sizes = f"{low}" if low == high else f"{low} to {high}"
        if not high:
            return "no features"
        empty, folds = int((self.chosen_sizes == 0).sum()), len(self.shares)
        without = f" (none in {empty} of {folds} folds)" if empty else ""
        return f"{sizes} {'feature' if low == high == 1 else 'features'}{without}"

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about the result, in sentences; often there are none."""
        own_losses = self._own_losses
        reached = [int(count) for count in np.isfinite(self.test_losses).sum(axis=1)]
        typical = int(np.median(self.chosen_sizes))
        sentences = cautions.too_good(self.leaks)
        sentences += cautions.many_features(self.n_features_in, self.n_samples)
        if self.n_asked is not None:
            sentences += cautions.ended_early(reached, self.n_asked)
        sentences += cautions.overfitted(
            self.estimate[0],
            float(self.shares @ own_losses),
            self._mean(self.chosen_losses - own_losses)[1],
            self._sizes_in_words(),
            self.reading,
        )
        sentences += self.doubts
        sentences += self._still_falling()
        index = self.stability.index
        if len(self.shares) > 1 and typical and len(index):
            at_size = float(index[min(typical, len(index)) - 1])
            sentences += cautions.unstable(at_size, typical, len(self.shares))
        return tuple(sentences)

    def _still_falling(self) -> list[str]:
        """Return a warning if the last drop of the test loss exceeds its standard error."""

        def clear_drop(first: int, last: int) -> float:
            return self._mean(self.test_losses[:, first] - self.test_losses[:, last])[1]

        return cautions.still_falling(
            self.test.mean,
            self.initial_loss,
            len(self.sizes) >= self.n_available or self.is_size_chosen,
            replace(self.reading, name=f"test {self.reading.name}"),
            clear_drop,
        )

    def to_frame(self) -> pandas.DataFrame:
        """A pandas data frame with a row for each size: test, selection and random curves."""
        pd = required("pandas", "to_frame needs pandas: pip install 'greedyrls[pandas]'.")
        columns = {}
        for name in ("test", "selection", "random", "optimism"):
            columns[name], columns[f"{name}_error"] = getattr(self, name)
        stability = self.stability.index
        columns["stability"] = np.full(len(self.sizes), np.nan)
        columns["stability"][: len(stability)] = stability
        sizes = pd.RangeIndex(1, len(self.sizes) + 1, name="n_features")
        frame: pandas.DataFrame = pd.DataFrame(columns, index=sizes)
        return frame

    def _over_folds(self, losses: Float, is_corrected: bool = False) -> Curve:
        """Return means (k) and standard errors (k) of losses by fold (F × k).

        The errors are corrected for shared training rows if asked, or if rows are tested
        repeatedly.

        Corrected for the training rows that folds share, or where rows are tested repeatedly.
        """
        mean: Float = self.shares @ losses
        covariance = fold_covariance(losses.T, self.shares)
        if covariance is None:
            return Curve(mean, np.full(len(mean), np.nan))
        variance = np.maximum(np.diagonal(covariance), 0.0)
        ratio = self.overlap * len(self.shares)
        if not (is_corrected or ratio > _REPEATED * self.test_ratio):
            ratio = 0.0
        return Curve(mean, np.sqrt(variance * (1.0 + ratio)))
