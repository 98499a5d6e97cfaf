"""The complete result of a selection from a table, as it is written, shown and reported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from .._base import Float, Sigmoid, exported
from .._problem import constant_scores
from ..assess import ClassRates, Curve, PathAssessment, PermutationNull, Predictions, Stability
from ..path import Reading, SelectionPath, reading_of
from ._data_summary import DataSummary, Feature, Origin
from ._linear_model import InputColumn, Label, LinearModel, Term


@exported("greedyrls")
@dataclass(frozen=True, slots=True, eq=False)
class SelectionResult:
    """The result of a selection: the path, the units of the data, and the assessment.

    Written by ``greedyrls select`` as ``result.json``, from which reports are made;
    `from_estimator` makes one in Python.

    Attributes
    ----------
    task : {"regression", "classification"}
    target : str
        Name of the column that is predicted.
    path : SelectionPath
        The path, on the (standardised) features that the search used.
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
        Assessment of the whole selection in outer folds.
    stability : Stability or None
        Stability of selections on resampled rows.
    null : PermutationNull or None
        Losses of the same selection on permuted targets.
    model_curve : Curve or None
        Losses of the models on the path, by leave-one-out or in the folds of the search, and their
        standard errors, if the models have other penalties than the search.
    leaks : tuple of str or None
        Features and columns that alone predict the target almost exactly; None if the data were not
        checked.
    own_rates : ClassRates or None
        Error rate, balanced accuracy and AUC of the chosen model of a classification, each row left
        out in turn; optimistic, because all rows took part in the selection.
    own_predictions : Predictions or None
        Predicted and observed values of the chosen model, each row (or fold of the criterion) left
        out in turn; optimistic for the same reason.
    coefficient_errors : ndarray of shape (outputs, 1 + k) or None
        Standard errors of intercept and standardised coefficients of the chosen model, by the
        jackknife, as if its features had been given in advance.
    missing : str or None
        A sentence on what an interrupt cut short.
    sigmoids : tuple of Sigmoid or None
        The sigmoids that turn outputs of the chosen model into probabilities, for a classification.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from greedyrls import GreedyRLSRegressor, SelectionResult
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> pipeline = make_pipeline(StandardScaler(), GreedyRLSRegressor(2, alpha=1.0)).fit(X, y)
    >>> result = SelectionResult.from_estimator(pipeline, X, y, target="progression")
    >>> result.sentence.partition(".")[0]
    '2 of 10 features were chosen to predict progression: bmi, s5'
    >>> SelectionResult.from_json(result.to_json()).model() == result.model()
    True
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

    @classmethod
    def from_estimator(
        cls,
        fitted: Any,
        X: Any,
        y: Any,
        *analyses: PathAssessment | Stability | PermutationNull,
        target: str = "y",
        source: str = "data in memory",
        sample_weight: Any = None,
    ) -> SelectionResult:
        """Return the result of a fitted estimator, for a report or a file.

        Parameters
        ----------
        fitted : GreedyRLSRegressor, GreedyRLSClassifier or Pipeline
            A fitted estimator, or a pipeline that ends with one. Steps before it may be scalers,
            imputers, encoders and selectors, as in `LinearModel.from_estimator`.
        X : array-like or sparse matrix of shape (m, n)
            The data that it was fitted to, in memory.
        y : array-like of shape (m,)
            Its target: numbers, or labels of classes.
        *analyses : PathAssessment, Stability or PermutationNull
            Results of `cross_validate_path`, `resample_path` and `permutation_null` on the same
            features, at most one of each.
        target : str, default="y"
            Name of what is predicted.
        source : str, default="data in memory"
            Name of the data in the report.
        sample_weight : array-like of shape (m,), optional
            The weights that the estimator was fitted with.

        Returns
        -------
        SelectionResult
            Without standard errors of coefficients and own predictions if the search used folds or
            groups of features.
        """
        from ._from_fit import result_of

        return result_of(fitted, X, y, sample_weight, target, source, analyses)

    def __repr__(self) -> str:
        return f"<SelectionResult of {self.target!r} from {self.data.file}: {self.path!r}>"

    @property
    def size(self) -> int:
        """The number of features chosen."""
        return self.path.chosen_size

    def features_of(self, k: int) -> tuple[Feature, ...]:
        """The features of size k, in the order of selection: more than k if they go together.

        Parameters
        ----------
        k : int
            Number of features.
        """
        by_index = dict(zip(order_of(self.path), self.features, strict=True))
        return tuple(by_index[index] for index in self.path.features(k).tolist())

    @property
    def unit(self) -> str:
        """The unit that sizes count: features, or columns whose features are selected together."""
        return "feature" if self.path.settings.feature_groups is None else "column"

    @property
    def n_candidates(self) -> int:
        """The number of candidate features (or columns) to choose from."""
        groups = self.path.settings.feature_groups or ()
        return self.data.n_features - sum(len(group) - 1 for group in groups)

    def standardised_coefficients(self, k: int) -> Float:
        """Return standardised coefficients of the model on the first k features, (outputs, k).

        Parameters
        ----------
        k : int
            Number of features.
        """
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
        from .. import __version__

        size = self.size if k is None else k
        features = self.features_of(size)
        seen = self.standardised_coefficients(size)
        coefficients = seen / np.array([feature.scale for feature in features])
        means = np.array([feature.mean for feature in features])
        intercepts = np.atleast_1d(self.path.intercept(size)) - coefficients @ means
        if not size and self.classes is not None:
            intercepts = constant_scores(intercepts)
        used = {feature.column for feature in features}
        return LinearModel(
            task=self.task,
            target=self.target,
            columns=tuple(column for column in self.inputs if column.name in used),
            terms=tuple(
                Term(feature.column, feature.level, tuple(column.tolist()))
                for feature, column in zip(features, coefficients.T, strict=True)
            ),
            intercepts=tuple(intercepts.tolist()),
            classes=self.classes,
            made_by=f"greedyrls {__version__}",
            sigmoids=self.sigmoids if size == self.size else None,
        )

    @property
    def measure(self) -> str:
        """The loss in which `honest` is given: that of the assessment, otherwise of the search."""
        return self.path.settings.loss if self.assessment is None else self.assessment.measure

    @property
    def own_curve(self) -> Curve:
        """The selection's own estimate of the losses by size; optimistic, as it chose the
        models."""
        if self.model_curve is not None:
            return self.model_curve
        return Curve(self.path.losses, self.path.standard_errors)

    @property
    def own_title(self) -> str:
        """A short description of `own_curve`."""
        is_loo = self.path.settings.cv == "loo"
        return "leave-one-out loss" if is_loo else "cross-validation loss"

    @property
    def honest_source(self) -> str:
        """The source of `honest`: test folds, penalty folds or none."""
        return "penalty folds" if self.assessment is None else "test folds"

    def honest(self, k: int) -> tuple[float, float] | None:
        """Return the loss to expect on new samples with k features, and its standard error.

        It comes from the outer folds of the assessment, or else from those that chose the penalty
        (slightly optimistic at the size chosen by them); otherwise it is None.

        Parameters
        ----------
        k : int
            Number of features.
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
    def reading(self) -> Reading:
        """How the losses of `honest` are presented."""
        return reading_of(self.measure, self.task == "classification")

    @property
    def own_reading(self) -> Reading:
        """How the losses of the search are presented."""
        return reading_of(self.path.settings.loss, self.task == "classification")

    @property
    def null_reading(self) -> Reading:
        """How the losses of permuted targets are presented."""
        measure = self.path.settings.loss if self.null is None else self.null.measure
        return reading_of(measure, self.task == "classification")

    @property
    def class_rates(self) -> ClassRates | None:
        """Further measures of a classification, from the assessment or the chosen model."""
        return self.own_rates if self.assessment is None else self.assessment.class_rates

    @property
    def predictions(self) -> Predictions | None:
        """Predictions of held-out rows, from the assessment or else from the chosen model."""
        tested = None if self.assessment is None else self.assessment.predictions
        return self.own_predictions if tested is None else tested

    @property
    def sentence(self) -> str:
        """Sentences on what was chosen and how good it is."""
        from ._result_words import sentence_of

        return sentence_of(self)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about the result, in sentences."""
        from ._result_words import warnings_of

        return warnings_of(self)

    def methods_text(self) -> str:
        """A paragraph for the methods section of a paper, with references.

        It states what was selected from what, by which criterion, how penalty and size were chosen,
        and the assessment if there is one. Brackets mark what only you know.

        Returns
        -------
        str
        """
        from ._methods import methods_text_of

        return methods_text_of(self)

    def rows(self) -> list[dict[str, Any]]:
        """The path as a table: a row for each size, with names as keys; None if unknown.

        Losses of the search, with its penalty, are separate from those of the models. The share of
        a runner-up is relative to the gain of the chosen feature.
        """
        curve, names = self.own_curve, self.path.changes()
        before, search_before, table = self.path.initial_loss, self.path.initial_loss, []
        costs, seen = self.path.costs, set[Feature]()
        for index, step in enumerate(self.path.sets):
            own_features = self.features_of(index + 1)
            added = [feature for feature in own_features if feature not in seen]
            feature, seen = added[0], set(own_features)
            runner = step.runners_up[0] if step.runners_up else None
            honest = self.honest(index + 1)
            loss = float(curve.mean[index])
            table.append(
                {
                    "n_features": index + 1,
                    "feature": names[index],
                    "column": feature.column,
                    "level": feature.level if len(added) == 1 else None,
                    "loss": loss,
                    "standard_error": or_none(float(curve.error[index])),
                    "gain": before - loss,
                    "honest_loss": None if honest is None else honest[0],
                    "honest_error": None if honest is None else or_none(honest[1]),
                    "honest_source": None if honest is None else self.honest_source,
                    "runner_up": None if runner is None else self.path.name_of(runner[0]),
                    "runner_up_share": _share(search_before, step.loss, runner),
                    "search_loss": step.loss,
                    "runner_up_search_loss": None if runner is None else runner[1],
                    "is_chosen": index < self.size,
                    **({} if costs is None else {"cost": float(costs[index])}),
                }
            )
            before, search_before = loss, step.loss
        return table

    def to_json(self, *, indent: int | None = None) -> str:
        """The result as text in the stable JSON format (docs/reference/files.md).

        Parameters
        ----------
        indent : int, optional
            Indentation, as in `json.dumps`.

        Returns
        -------
        str
        """
        from ._result_format import RESULT_FORMAT

        return RESULT_FORMAT.encode(self, indent)

    @classmethod
    def from_json(cls, text: str | bytes) -> SelectionResult:
        """A result from the text that `to_json` wrote; loading never runs code.

        Parameters
        ----------
        text : str or bytes
            What `to_json` wrote.

        Returns
        -------
        SelectionResult
        """
        from ._result_format import RESULT_FORMAT

        value: SelectionResult = RESULT_FORMAT.decode(text)
        return value


def order_of(path: SelectionPath) -> list[int]:
    """Return all features of a path by column number, ordered by the first size that has them."""
    if path.is_nested:
        return [int(index) for index in path.indices]
    return list(dict.fromkeys(index for chosen in path.sets for index in chosen.features))


def or_none(value: float) -> float | None:
    """Return a number for a table, or None for NaN."""
    return None if np.isnan(value) else float(value)


def _share(before: float, after: float, runner: tuple[int, float] | None) -> float | None:
    """Return the gain of the next best feature relative to that of the chosen one."""
    if runner is None or not before > after:
        return None
    return (before - runner[1]) / (before - after)
