"""The model on the chosen features, in the units of the data: small, readable, stored as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._base import Float, Sigmoid, counted, exported
from .._problem import constant_scores, probabilities_of
from ..path import SelectionPath
from ._dates import DatePart, Order, orders_of, with_computed
from ._frame_columns import as_table, texts_of_numbers
from ._table import Column, InputError, Numbers, Table, Texts, Unusable, make_texts, reading_advice

Label = str | int | float | bool


@exported("greedyrls.app")
@dataclass(frozen=True, slots=True)
class InputColumn:
    """A column of the data that the model looks at.

    Attributes
    ----------
    name : str
    levels : tuple of str or None
        The texts seen when the model was fitted; None for a column of numbers.
    fill : float, str or None
        What stands for a missing value; None where none may be missing.
    decimal : "." or ","
        The decimal mark of the text file from which the model was made: says how to read a comma
        in another one where that might also separate thousands.
    missing : tuple of str
        Cells that counted as missing in the file from which the model was made, besides the usual
        ones.
    date : DatePart or None
        The part of a date that it is; None for a column of the data themselves. `scores` computes
        it from the column of dates, or takes it as it is where the data have no such column.
    """

    name: str
    levels: tuple[str, ...] | None = None
    fill: float | str | None = None
    decimal: str = "."
    date: DatePart | None = None
    missing: tuple[str, ...] = ()


@exported("greedyrls.app")
@dataclass(frozen=True, slots=True)
class Term:
    """What is added to a prediction: the number in a column, or 1 where it has a certain text.

    Attributes
    ----------
    column : str
        Its name.
    level : str or None
        The text for which the term counts; None for the number itself.
    coefficients : tuple of float
        One for each output of the model.
    """

    column: str
    level: str | None
    coefficients: tuple[float, ...]

    @property
    def name(self) -> str:
        """The column, and the text it must have."""
        return self.column if self.level is None else f"{self.column}={self.level}"


@exported("greedyrls")
@dataclass(frozen=True, slots=True)
class LinearModel:
    """A linear model in the units of the data: an intercept and terms, all that predicting needs.

    Written by ``greedyrls select`` as ``model.json``; `from_estimator` makes one of a fitted
    estimator or pipeline, `from_path` of a path. It has one output for a regression or two classes
    (above 0 is the second class), else one for each class (the largest decides).

    Attributes
    ----------
    task : {"regression", "classification"}
    target : str
        What is predicted.
    columns : tuple of InputColumn
        The columns of the data that the model uses, each once.
    terms : tuple of Term
        The terms in the order of selection.
    intercepts : tuple of float
        One intercept for each output.
    classes : tuple or None
        Labels of a classification.
    made_by : str
        The release that wrote the model.
    sigmoids : tuple of Sigmoid or None
        Slope and intercept for each output of a classification, which turn it into a probability.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from greedyrls import LinearModel, greedy_path
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = LinearModel.from_path(greedy_path(X, y, 3, alpha=0.01), 2, target="progression")
    >>> [term.name for term in model.terms]
    ['bmi', 's5']
    >>> model.predict(X[:2]).round().tolist()
    [206.0, 76.0]
    >>> LinearModel.from_json(model.to_json()) == model
    True
    """

    task: Literal["regression", "classification"]
    target: str
    columns: tuple[InputColumn, ...]
    terms: tuple[Term, ...]
    intercepts: tuple[float, ...]
    classes: tuple[Label, ...] | None = None
    made_by: str = ""
    sigmoids: tuple[Sigmoid, ...] | None = None

    def __repr__(self) -> str:
        shown = ", ".join(term.name for term in self.terms[:5])
        more = ", …" if len(self.terms) > 5 else ""
        features = counted(len(self.terms), "feature")
        return f"<LinearModel of {self.target!r} by {features} [{shown}{more}]>"

    @classmethod
    def from_path(
        cls,
        path: SelectionPath,
        k: int | None = None,
        *,
        target: str = "y",
        classes: Any = None,
    ) -> LinearModel:
        """The model on the first k features of a path, in the units that the path was made on.

        A path does not record how its columns were preprocessed. If the estimator followed a scaler
        or another step of a pipeline, this model expects the output of that step, and predictions
        from the original data would be wrong. Use `from_estimator` then, which includes such steps.

        Parameters
        ----------
        path : SelectionPath
            Such as ``model.path_`` of an estimator.
        k : int, default: the chosen size
            Number of features.
        target : str, default="y"
            What is predicted.
        classes : array-like, optional
            Labels of a classification, such as ``model.classes_``.

        Returns
        -------
        LinearModel
        """
        from .. import __version__

        if not isinstance(path, SelectionPath):
            raise TypeError(
                f"from_path takes a SelectionPath, got {type(path).__name__}; use from_estimator "
                "for a fitted estimator or pipeline."
            )
        size = path.chosen_size if k is None else k
        coefficients = np.atleast_2d(path.coef(size))
        labels = None if classes is None else tuple(np.asarray(classes).tolist())
        outputs = len(coefficients)
        if labels is not None and outputs != (1 if len(labels) == 2 else max(len(labels), 2)):
            raise ValueError(f"A path with {outputs} targets does not match {len(labels)} classes.")
        names = path.names(size)
        if len(set(names)) < len(names):
            raise ValueError("Two features of the path have the same name; rename one of them.")
        intercepts = np.atleast_1d(path.intercept(size))
        if not size and labels is not None:
            intercepts = constant_scores(intercepts)
        return cls(
            task="regression" if labels is None else "classification",
            target=target,
            columns=tuple(InputColumn(name) for name in names),
            terms=tuple(
                Term(name, None, tuple(column.tolist()))
                for name, column in zip(names, coefficients.T, strict=True)
            ),
            intercepts=tuple(intercepts.tolist()),
            classes=labels,
            made_by=f"greedyrls {__version__}",
        )

    @classmethod
    def from_estimator(cls, estimator: Any, *, target: str = "y") -> LinearModel:
        """The model of a fitted estimator or pipeline, in the units of the data.

        Steps before the estimator are included: scalers, imputers, one-hot encoders, selectors, and
        column transformers of these (see docs/guide/export.md for the list). A step that a linear
        model of the columns cannot represent raises an error that names it.

        Parameters
        ----------
        estimator : GreedyRLSRegressor, GreedyRLSClassifier, GreedyRLSRanker, or Pipeline
            A fitted estimator, or a pipeline whose last step is one. For another number of features
            pass ``estimator.with_n_features(k)``.
        target : str, default="y"
            What is predicted.

        Returns
        -------
        LinearModel
            The model. Columns have the names seen in `fit`, or x0, x1, … if there were none.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from sklearn.pipeline import make_pipeline
        >>> from sklearn.preprocessing import StandardScaler
        >>> from greedyrls import GreedyRLSRegressor, LinearModel
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
        >>> pipeline = make_pipeline(StandardScaler(), GreedyRLSRegressor(2, alpha=1.0)).fit(X, y)
        >>> model = LinearModel.from_estimator(pipeline, target="progression")
        >>> [(term.name, round(term.coefficients[0], 2)) for term in model.terms]
        [('bmi', 7.26), ('s5', 55.98)]
        >>> bool(abs(model.predict(X) - pipeline.predict(X)).max() < 1e-9)
        True
        """
        from ._from_estimator import model_of

        return model_of(estimator, target)

    def scores(self, data: Any) -> Float:
        """Outputs of the model for each row.

        Parameters
        ----------
        data : data frame, or mapping from names to columns
            Data with the columns of the model; other columns are ignored.

        Returns
        -------
        ndarray of shape (m, outputs)
        """
        table = self._table(data)
        values = np.tile(np.array(self.intercepts, dtype=np.float64), (table.n_rows, 1))
        columns = {column.name: self._filled(table, column) for column in self.columns}
        for term in self.terms:
            values += term_values(columns[term.column], term.level)[:, None] * term.coefficients
        return values

    def predict(self, data: Any) -> NDArray[Any]:
        """Predictions: numbers, or labels of a classification.

        Parameters
        ----------
        data : data frame, or mapping from names to columns
            Data with the columns of the model; other columns are ignored.

        Returns
        -------
        ndarray of shape (m,), or (m, t) for a regression with several targets
        """
        return self.decide(self.scores(data))

    def predict_proba(self, data: Any) -> Float:
        """Probabilities of the classes, in the order of `classes`.

        Parameters
        ----------
        data : data frame, or mapping from names to columns
            Data with the columns of the model; other columns are ignored.

        Returns
        -------
        ndarray of shape (m, c)
        """
        return self.probabilities(self.scores(data))

    def probabilities(self, scores: Float) -> Float:
        """Probabilities of the classes (m × c) from outputs (m × outputs).

        Parameters
        ----------
        scores : ndarray of shape (m, n_outputs)
            Outputs, as `scores` returns them.
        """
        if self.sigmoids is None:
            why = "it is a regression" if self.classes is None else "its file or path has none"
            raise ValueError(
                f"The model has no probabilities: {why}. Those of a classification come with "
                "LinearModel.from_estimator, or from `greedyrls select` of this release."
            )
        return probabilities_of(scores, *np.array(self.sigmoids).T)

    def decide(self, scores: Float) -> NDArray[Any]:
        """Predictions from outputs (m × outputs).

        Parameters
        ----------
        scores : ndarray of shape (m, n_outputs)
            Outputs, as `scores` returns them.
        """
        if self.classes is None:
            return scores[:, 0] if scores.shape[1] == 1 else scores
        if scores.shape[1] == 1:
            indices = (scores[:, 0] > 0.0).astype(np.intp)
        else:
            indices = np.argmax(scores, axis=1)
        labels = np.array(self.classes)
        if repr(labels.tolist()) != repr(list(self.classes)):
            # NumPy drops trailing null characters of texts, and rounds very large whole numbers.
            labels = np.array(self.classes, dtype=object)
        return labels[indices]

    def unseen(self, data: Any) -> dict[str, list[str]]:
        """Return categories that the fit did not see, by column; they contribute to no term.

        Parameters
        ----------
        data : data frame or mapping of columns
            Rows to predict, as for `predict`.
        """
        table = self._table(data)
        categories = {}
        for column in self.columns:
            values = table.column(column.name)
            if column.levels is None or isinstance(values, Unusable):
                continue
            if isinstance(values, Numbers):
                values = texts_of_numbers(values)
            used = set(np.unique(values.codes).tolist())
            new = [
                level
                for code, level in enumerate(values.levels)
                if level not in column.levels and code in used
            ]
            if new:
                categories[column.name] = new
        return categories

    def n_filled(self, data: Any) -> dict[str, int]:
        """Return the number of missing values that the model fills in, by column (if any).

        Parameters
        ----------
        data : data frame or mapping of columns
            Rows to predict, as for `predict`.
        """
        table = self._table(data)
        counts = {}
        for column in self.columns:
            values = table.column(column.name)
            if column.fill is not None and not isinstance(values, Unusable):
                counts[column.name] = int(values.is_missing.sum())
        return {name: count for name, count in counts.items() if count}

    @property
    def date_orders(self) -> dict[str, Order | None]:
        """The date columns that the model uses, and the order of day and month in them."""
        return orders_of([column.date for column in self.columns if column.date is not None])

    def _table(self, data: Any) -> Table:
        """Return all columns of the model, including parts of dates."""
        parts = [column.date for column in self.columns if column.date is not None]
        plain = [column.name for column in self.columns if column.date is None]
        return with_computed(as_table(data, plain, parts), parts)

    def _filled(self, table: Table, column: InputColumn) -> Column:
        """Return a column as the model takes it, without missing values."""
        values = table.column(column.name)
        where = f"Column {column.name!r} of {table.source}"
        if isinstance(values, Unusable) and values.why:
            raise InputError(f"{where} {values.why}; {reading_advice(values)}.")
        if isinstance(values, Unusable):
            raise InputError(f"{where} has {values.what}; the model takes numbers or text.")
        if column.levels is None and isinstance(values, Texts):
            raise InputError(f"{where} has text; the model takes numbers there.")
        if column.levels is not None and isinstance(values, Numbers):
            values = texts_of_numbers(values)
        is_missing = values.is_missing
        if isinstance(values, Numbers) and np.isinf(values.values).any():
            location = table.location(int(np.argmax(np.isinf(values.values))))
            raise InputError(
                f"{where} has an infinite value in {location}; correct it, or take it as missing"
                f"{' (--missing inf)' if table.names else ''}."
            )
        if not is_missing.any():
            return values
        if column.fill is None:
            location = table.location(int(np.argmax(is_missing)))
            raise InputError(
                f"{where} has {int(is_missing.sum())} missing values, the first in {location}, and "
                "the model was fitted without any: fill them, or fit it with --impute median."
            )
        if isinstance(values, Numbers):
            return Numbers(np.where(is_missing, float(column.fill), values.values))
        strings = [column.fill if text is None else text for text in values.strings()]
        return make_texts(strings)

    def to_json(self, *, indent: int | None = None) -> str:
        """The model as text in the stable JSON format (docs/reference/files.md).

        Parameters
        ----------
        indent : int, optional
            Indentation, as in `json.dumps`.

        Returns
        -------
        str
        """
        from ._model_format import MODEL_FORMAT

        return MODEL_FORMAT.encode(self, indent)

    @classmethod
    def from_json(cls, text: str | bytes) -> LinearModel:
        """A model from the text that `to_json` wrote; loading never runs code.

        Parameters
        ----------
        text : str or bytes
            What `to_json` wrote.

        Returns
        -------
        LinearModel
        """
        from ._model_format import MODEL_FORMAT

        value: LinearModel = MODEL_FORMAT.decode(text)
        return value


def term_values(column: Column, level: str | None) -> Float:
    """Return what a term multiplies, (m): numbers, or 1 for its text and 0 for others."""
    if level is None:
        assert isinstance(column, Numbers)
        return column.values
    assert isinstance(column, Texts)
    if level not in column.levels:
        return np.zeros(len(column.codes))
    values: Float = (column.codes == column.levels.index(level)).astype(np.float64)
    return values
