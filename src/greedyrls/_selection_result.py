"""All that came out of a selection from a table: what is written, shown and reported."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ._assessment import REPORT_IT, Curve, PathAssessment, measure_in_words
from ._cautions import in_short, no_better, noise, too_good
from ._class_rates import BALANCED, BY_AUC, ClassRates
from ._data_summary import DataSummary, Feature, Origin
from ._kernels import Float
from ._labels import constant_scores
from ._linear_model import InputColumn, Label, LinearModel, Term
from ._null import PermutationNull
from ._path import SelectionPath
from ._path_warnings import assessment_cautions, known_leaks, path_cautions
from ._predictions import Predictions
from ._sigmoid import Sigmoid
from ._stability import Stability
from ._surface import initial_loss_in


@dataclass(frozen=True, slots=True, eq=False)
class SelectionResult:
    """A path, the way back to the units of the data, and what is known of how good it is.

    Written by ``greedyrls select`` as ``result.json``, from which reports are made.

    Attributes
    ----------
    task : {"regression", "classification"}
    target : str
        Name of the column that is predicted.
    path : SelectionPath
        On the features as the search saw them.
    features : tuple of Feature
        One for each feature of the path, in the order of selection; where a direction finds sets
        that are not nested, in the order of the first size that has them.
    inputs : tuple of InputColumn
        The columns of these features, each once.
    data : DataSummary
    origin : Origin
    classes : tuple or None
        Labels of a classification.
    assessment : PathAssessment or None
        What outer folds say of the whole selection.
    stability : Stability or None
        Of selections on resampled rows.
    null : PermutationNull or None
        How far the same selection gets on permuted targets.
    model_curve : Curve or None
        Losses of the models on the path, by leave-one-out or in the folds that the search went by,
        and their standard errors, where the models have penalties of their own.
    leaks : tuple of str or None
        Features and columns that predict the target almost exactly alone; None where only the path
        and the assessment say so.
    own_rates : ClassRates or None
        Error rate, balanced accuracy and AUC of the chosen model of a classification, each row left
        out in turn; too good, since all rows took part in the selection.
    own_predictions : Predictions or None
        How predictions of the chosen model compare with what was observed, each row (or fold of the
        criterion) left out in turn; too good for the same reason.
    coefficient_errors : ndarray of shape (outputs, 1 + k) or None
        Standard errors of intercept and standardised coefficients of the chosen model, by the
        jackknife, as if its features had been given in advance.
    missing : str or None
        What an interrupt cut short, in a sentence.
    sigmoids : tuple of Sigmoid or None
        What turns the outputs of the chosen model of a classification into probabilities.
    """

    task: Literal["regression", "classification"]
    target: str
    path: SelectionPath
    features: tuple[Feature, ...]
    inputs: tuple[InputColumn, ...]
    data: DataSummary
    origin: Origin
    classes: tuple[Label, ...] | None = None
    assessment: PathAssessment | None = None
    stability: Stability | None = None
    null: PermutationNull | None = None
    model_curve: Curve | None = None
    leaks: tuple[str, ...] | None = None
    missing: str | None = None
    own_rates: ClassRates | None = None
    own_predictions: Predictions | None = None
    coefficient_errors: Float | None = None
    sigmoids: tuple[Sigmoid, ...] | None = None

    def __repr__(self) -> str:
        return f"<SelectionResult of {self.target!r} from {self.data.file}: {self.path!r}>"

    @property
    def size(self) -> int:
        """The number of features chosen."""
        return self.path.chosen_size

    def features_of(self, k: int) -> tuple[Feature, ...]:
        """The features of size k, in the order of selection: more than k if they go together."""
        known = dict(zip(order_of(self.path), self.features, strict=True))
        return tuple(known[index] for index in self.path.features(k).tolist())

    @property
    def unit(self) -> str:
        """What sizes count: features, or columns whose features go together."""
        return "feature" if self.path.settings.feature_groups is None else "column"

    @property
    def n_candidates(self) -> int:
        """How many of these there were to choose from."""
        groups = self.path.settings.feature_groups or ()
        return self.data.n_features - sum(len(group) - 1 for group in groups)

    def standardised_coefficients(self, k: int) -> Float:
        """Of the model on the first k features as the search saw them, (outputs × k)."""
        return np.atleast_2d(self.path.coef(k))

    def model(self, k: int | None = None) -> LinearModel:
        """The model on the first k features, in the units of the data.

        Parameters
        ----------
        k : int, default: the chosen size
            Number of features.

        Returns
        -------
        LinearModel
        """
        from . import __version__

        size = self.size if k is None else k
        own = self.features_of(size)
        seen = self.standardised_coefficients(size)
        coefficients = seen / np.array([feature.scale for feature in own])
        means = np.array([feature.mean for feature in own])
        intercepts = np.atleast_1d(self.path.intercept(size)) - coefficients @ means
        if not size and self.classes is not None:
            intercepts = constant_scores(intercepts)
        used = {feature.column for feature in own}
        return LinearModel(
            task=self.task,
            target=self.target,
            columns=tuple(column for column in self.inputs if column.name in used),
            terms=tuple(
                Term(feature.column, feature.level, tuple(column.tolist()))
                for feature, column in zip(own, coefficients.T, strict=True)
            ),
            intercepts=tuple(intercepts.tolist()),
            classes=self.classes,
            made_by=f"greedyrls {__version__}",
            sigmoids=self.sigmoids if size == self.size else None,
        )

    @property
    def measure(self) -> str:
        """What honest losses are measured in: that of the assessment, else of the search."""
        return self.path.settings.loss if self.assessment is None else self.assessment.measure

    @property
    def own_curve(self) -> Curve:
        """What the selection believes of its models, by size: too good, for it chose them."""
        if self.model_curve is not None:
            return self.model_curve
        return Curve(self.path.losses, self.path.standard_errors)

    @property
    def own_title(self) -> str:
        """What `own_curve` is, in a few words."""
        is_loo = self.path.settings.cv == "loo"
        return "leave-one-out loss" if is_loo else "cross-validation loss"

    @property
    def honest_source(self) -> str:
        """Where `honest` comes from."""
        return "penalty folds" if self.assessment is None else "test folds"

    def honest(self, k: int) -> tuple[float, float] | None:
        """The loss to expect on new samples with k features, and its standard error.

        From the outer folds of the assessment, else from those that chose the penalty (a little
        optimistic at the size chosen by them), else None.
        """
        if self.assessment is not None:
            curve = self.assessment.test
        elif self.path.held_out is not None:
            curve = Curve(*self.path.held_out)
        else:
            return None
        losses, errors = curve
        if not 1 <= k <= len(losses) or np.isnan(losses[k - 1]):
            return None
        return float(losses[k - 1]), float(errors[k - 1])

    @property
    def sentence(self) -> str:
        """What was chosen and how good it honestly is."""
        size = self.size
        if not size:
            return f"{self._nothing()} {without_functions([self._how_good()])[0]}"
        names = ", ".join(self.path.group_names(size)[:8])
        more = f" and {size - 8} more" if size > 8 else ""
        chosen = (
            f"{size} of {self.n_candidates} {self.unit}s were chosen to predict {self.target}: "
            f"{names}{more}."
        )
        if self._is_doubtful():
            chosen = f"Nothing clearly predicts {self.target}. {chosen}"
        if self._leaks:
            # What is too good to be true is not praised.
            told = f"{self._how_good().replace(REPORT_IT, '')} {self._leaks[0]}"
        else:
            told = f"{self._how_good()}{self._in_units()}{self._rates()}"
        (told,) = without_functions([told])
        return f"{chosen} {told}"

    def _nothing(self) -> str:
        """That no features were chosen, and what is predicted without any."""
        model = self.model(0)
        (constant,) = model.decide(np.array([model.intercepts])).tolist()
        told = repr(constant) if self.classes is not None else f"its mean, {constant:.4g},"
        if not self.path.settings.fit_intercept and self.classes is None:
            told = "0"
        by = f" by the {measure_in_words(self.path.settings.loss)}" if self._is_rate else ""
        return (
            f"Nothing predicts {self.target}{by}: none of {self.n_candidates} {self.unit}s was "
            f"chosen, so that {told} is predicted for every row."
        )

    @property
    def _is_rate(self) -> bool:
        """Whether features were chosen by how often classes are wrong."""
        return self.path.settings.loss in ("zero_one", "balanced_zero_one")

    @property
    def class_rates(self) -> ClassRates | None:
        """Those of the assessment, else of the chosen model itself."""
        return self.own_rates if self.assessment is None else self.assessment.class_rates

    @property
    def predictions(self) -> Predictions | None:
        """Those of the assessment, else of the chosen model itself."""
        found = None if self.assessment is None else self.assessment.predictions
        return self.own_predictions if found is None else found

    def _rates(self) -> str:
        """Further measures without an assessment, whose sentence has its own."""
        rates = self.own_rates
        if rates is None or self.assessment is not None:
            return ""
        told = [rates.sentence("").replace("measures", "measures, each row left out in turn", 1)]
        told += [rates.advice(self.measure)] if rates.only_class is not None else []
        if self._is_blind():
            told.append(
                f"By the {measure_in_words(self.measure)} alone nothing can be said of whether "
                f"anything predicts {self.target}: run with --assess, which looks at AUC, too."
            )
        return "".join(f" {words}" for words in told if words)

    def _is_blind(self) -> bool:
        """Whether an error rate says nothing of features that may well predict something.

        AUC of the selection's own models is too good to say that they do.
        """
        does_predict = self.own_rates is not None and self.own_rates.predicts
        return self._is_rate and does_predict and bool(self._by_penalty_folds())

    @property
    def _leaks(self) -> list[str]:
        """What to say of columns that predict almost exactly alone."""
        names = self.leaks
        if names is None:
            names = known_leaks(self.path, self.assessment)
        return too_good(names, self.target, "--drop")

    def _is_doubtful(self) -> list[str]:
        """Where the model is not clearly better than none on held-out rows: why, in words."""
        if self.assessment is not None:
            return self.assessment.doubts
        return [] if self._is_blind() else self._by_penalty_folds()

    def _by_penalty_folds(self) -> list[str]:
        """The same by the folds that chose the penalty."""
        words = measure_in_words(self.measure)
        found = self.honest(self.size)
        if found is None:
            return []
        initial = initial_loss_in(self.path.outer_surface, self.path.initial_loss)
        where = "the rows held out in outer folds"
        return no_better(found[0], initial, initial - found[0], found[1], words, where)

    def _in_units(self) -> str:
        """A mean squared error as people know it, for a regression."""
        found = self.honest(self.size)
        initial = initial_loss_in(self.path.outer_surface, self.path.initial_loss)
        if self.assessment is not None:
            found, initial = self.assessment.estimate, self.assessment.initial_loss
        is_known = found is not None and found[0] > 0.0 and initial > 0.0
        if self.task != "regression" or self.measure != "squared" or not is_known:
            return ""
        assert found is not None
        share = 1.0 - found[0] / initial
        return (
            f" That is an error of about {np.sqrt(found[0]):.3g} in {self.target}, and "
            f"{share:.0%} of its variance explained."
        )

    def _how_good(self) -> str:
        words = measure_in_words(self.measure)
        if self.assessment is not None:
            return self.assessment.sentence
        if not self.size:
            return self._without_features()
        is_given = self.path.size_choice is not None and self.path.size_choice.rule == "given"
        what = "the penalty" if is_given else "penalty and size"
        found = self.honest(self.size)
        if found is not None:
            loss, error = found
            initial = initial_loss_in(self.path.outer_surface, self.path.initial_loss)
            spread = "" if np.isnan(error) else f" ± {in_short(error)}"
            return (
                f"In the outer folds that chose {what} the {words} is {loss:.4g}{spread}, "
                f"against {initial:.4g} without features; as they chose, it is a little too good: "
                "run with --assess for an honest estimate."
            )
        loss = float(self.own_curve.mean[self.size - 1])
        return (
            f"The search's own {words} is {loss:.4g}, against {self.path.initial_loss:.4g} without "
            "features; features were chosen by it, so it is too good: run with --assess for an "
            "honest estimate."
        )

    def _without_features(self) -> str:
        """How good a model without features is, what the best one has to say, and what to do."""
        words, told = measure_in_words(self.path.settings.loss), ""
        without, held_out = self.path.initial_loss, self.path.held_out
        if held_out is not None and np.isfinite(held_out[0]).any():
            without = initial_loss_in(self.path.outer_surface, without)
            told = f"; with {self.unit}s it is {np.nanmin(held_out[0]):.4g} at best in outer folds"
        other = f", or {BY_AUC}" if len(self.classes or ()) == 2 else ""
        advice = f"A rare class may be told apart all the same: try {BALANCED}{other}."
        if not self._is_rate:
            advice = f"-k 1 takes the best {self.unit} all the same."
        return f"The {words} without features is {without:.4g}{told}. {advice}"

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader should be told, in sentences."""
        # What matters most comes first.
        found = [] if self.missing is None else [self.missing]
        found += self._leaks
        found += self._is_doubtful()
        if self.null is not None:
            found += noise(self.null.chosen_p_value, len(self.null.null_losses))
        if self.assessment is not None:
            found += assessment_cautions(self.path, self.assessment)
        found += path_cautions(self.path, self.own_curve.mean)
        return tuple(dict.fromkeys(without_functions(found)))

    def rows(self) -> list[dict[str, Any]]:
        """The path as a table: a row for each size, with names as keys; None where unknown.

        The search's own losses, with its penalty, are apart from those of the models. The share of
        a runner-up is of the gain that the chosen feature gave.
        """
        own, names = self.own_curve, self.path.changes()
        before, search_before, table = self.path.initial_loss, self.path.initial_loss, []
        costs, known = self.path.costs, set[Feature]()
        for place, step in enumerate(self.path.sets):
            own_features = self.features_of(place + 1)
            added = [feature for feature in own_features if feature not in known]
            feature, known = added[0], set(own_features)
            runner = step.runners_up[0] if step.runners_up else None
            honest = self.honest(place + 1)
            loss = float(own.mean[place])
            table.append(
                {
                    "n_features": place + 1,
                    "feature": names[place],
                    "column": feature.column,
                    "level": feature.level if len(added) == 1 else None,
                    "loss": loss,
                    "standard_error": or_none(float(own.error[place])),
                    "gain": before - loss,
                    "honest_loss": None if honest is None else honest[0],
                    "honest_error": None if honest is None else or_none(honest[1]),
                    "honest_source": None if honest is None else self.honest_source,
                    "runner_up": None if runner is None else self.path.name_of(runner[0]),
                    "runner_up_share": _share(search_before, step.loss, runner),
                    "search_loss": step.loss,
                    "runner_up_search_loss": None if runner is None else runner[1],
                    "is_chosen": place < self.size,
                    **({} if costs is None else {"cost": float(costs[place])}),
                }
            )
            before, search_before = loss, step.loss
        return table

    def to_json(self, *, indent: int | None = None) -> str:
        """The result as text in the stable JSON format (docs/files.md).

        Parameters
        ----------
        indent : int, optional
            As in `json.dumps`.

        Returns
        -------
        str
        """
        from ._result_format import encode

        return encode(self, indent)

    @classmethod
    def from_json(cls, text: str | bytes) -> SelectionResult:
        """A result from the text that `to_json` wrote; loading never runs code.

        Parameters
        ----------
        text : str or bytes

        Returns
        -------
        SelectionResult
        """
        from ._result_format import decode

        return decode(text)


# What advice in Python is on the command line.
_OPTIONS = {
    "(assess.cross_validate_path)": "(--assess)",
    BALANCED: "--class-weight balanced",
    BY_AUC: "--loss auc",
}


def without_functions(warnings: Iterable[str]) -> list[str]:
    """Warnings for those who come by a file and do not call functions."""
    found = list(warnings)
    for python, option in _OPTIONS.items():
        found = [one.replace(python, option) for one in found]
    return found


def order_of(path: SelectionPath) -> list[int]:
    """All features of a path by column number, in the order of the first size that has them."""
    if path.is_nested:
        return [int(index) for index in path.indices]
    return list(dict.fromkeys(index for known in path.sets for index in known.features))


def or_none(value: float) -> float | None:
    """A number for a table, or nothing where there is none."""
    return None if np.isnan(value) else float(value)


def _share(before: float, after: float, runner: tuple[int, float] | None) -> float | None:
    """How much of the gain the next best feature would have given."""
    if runner is None or not before > after:
        return None
    return (before - runner[1]) / (before - after)
