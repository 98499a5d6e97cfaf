"""The model on the chosen features, in the units of the data: small, readable, JSON."""

from __future__ import annotations

import datetime
import re
from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ._dates import (
    ORDERS,
    PARTS,
    DatePart,
    Order,
    orders_of,
    with_computed,
)
from ._frame_columns import as_table, texts_of_numbers
from ._json_values import JsonObject, read_classes, read_document, write_document
from ._kernels import Float
from ._labels import constant_scores
from ._path import SelectionPath
from ._table import Column, InputError, Numbers, Table, Texts, Unusable, make_texts

FORMAT = "greedyrls.model"
VERSION = 2
# Without parts of dates a file is of the first version, which older releases read.
VERSIONS = (1, VERSION)

Label = str | int | float | bool


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
    date : DatePart or None
        The part of a date that it is; None for a column of the data themselves. `scores` computes
        it from the column of dates, or takes it as it is where the data have no such column.
    """

    name: str
    levels: tuple[str, ...] | None = None
    fill: float | str | None = None
    date: DatePart | None = None


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


@dataclass(frozen=True, slots=True)
class LinearModel:
    """Intercept and some terms: all that is needed to predict, in the units of the data.

    Written by ``greedyrls select`` as ``model.json``; `from_path` makes one of a path. It has one
    output for a regression or two classes (above 0 is the second class), else one for each class
    (the largest decides).

    Attributes
    ----------
    task : {"regression", "classification"}
    target : str
        What is predicted.
    columns : tuple of InputColumn
        The columns of the data that are looked at, each once.
    terms : tuple of Term
        In the order of selection.
    intercepts : tuple of float
        One for each output.
    classes : tuple or None
        Labels of a classification.
    made_by : str
        The release that wrote the model.

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

    def __repr__(self) -> str:
        shown = ", ".join(term.name for term in self.terms[:5])
        more = ", …" if len(self.terms) > 5 else ""
        return f"<LinearModel of {self.target!r} by {len(self.terms)} features [{shown}{more}]>"

    @classmethod
    def from_path(
        cls,
        path: SelectionPath,
        k: int | None = None,
        *,
        target: str = "y",
        classes: Any = None,
    ) -> LinearModel:
        """The model on the first k features of a path, for export.

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
        from . import __version__

        size = path.chosen_size if k is None else k
        coefficients = np.atleast_2d(path.coef(size))
        labels = None if classes is None else tuple(np.asarray(classes).tolist())
        outputs = len(coefficients)
        if labels is not None and outputs != (1 if len(labels) == 2 else max(len(labels), 2)):
            raise ValueError(f"A path of {outputs} targets is not one of {len(labels)} classes.")
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

    def scores(self, data: Any) -> Float:
        """Outputs of the model for each row.

        Parameters
        ----------
        data : data frame, or mapping from names to columns
            With the columns of the model; others are not looked at.

        Returns
        -------
        ndarray of shape (m, outputs)
        """
        table = self._table(data)
        values = np.tile(np.array(self.intercepts, dtype=np.float64), (table.n_rows, 1))
        known = {column.name: self._filled(table, column) for column in self.columns}
        for term in self.terms:
            values += term_values(known[term.column], term.level)[:, None] * term.coefficients
        return values

    def predict(self, data: Any) -> NDArray[Any]:
        """Predictions: numbers, or labels of a classification.

        Parameters
        ----------
        data : data frame, or mapping from names to columns
            With the columns of the model; others are not looked at.

        Returns
        -------
        ndarray of shape (m,), or (m, t) for a regression with several targets
        """
        return self.decide(self.scores(data))

    def decide(self, scores: Float) -> NDArray[Any]:
        """Predictions from outputs (m × outputs)."""
        if self.classes is None:
            return scores[:, 0] if scores.shape[1] == 1 else scores
        if scores.shape[1] == 1:
            places = (scores[:, 0] > 0.0).astype(np.intp)
        else:
            places = np.argmax(scores, axis=1)
        labels = np.array(self.classes)
        if repr(labels.tolist()) != repr(list(self.classes)):
            # NumPy cuts null characters off the end of texts, and rounds very large whole numbers.
            labels = np.array(self.classes, dtype=object)
        return labels[places]

    def unseen(self, data: Any) -> dict[str, list[str]]:
        """Texts that were not seen when the model was fitted, by column; they count for no term."""
        table = self._table(data)
        found = {}
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
                found[column.name] = new
        return found

    @property
    def date_orders(self) -> dict[str, Order | None]:
        """The columns of dates that are looked at, and how they were written."""
        return orders_of([column.date for column in self.columns if column.date is not None])

    def _table(self, data: Any) -> Table:
        """All columns of the model, parts of dates among them."""
        parts = [column.date for column in self.columns if column.date is not None]
        plain = [column.name for column in self.columns if column.date is None]
        return with_computed(as_table(data, plain, parts), parts)

    def _filled(self, table: Table, column: InputColumn) -> Column:
        """A column as the model takes it, without missing values."""
        values = table.column(column.name)
        where = f"Column {column.name!r} of {table.source}"
        if isinstance(values, Unusable):
            raise InputError(f"{where} has {values.what}; the model takes numbers or text.")
        if column.levels is None and isinstance(values, Texts):
            raise InputError(f"{where} has text; the model takes numbers there.")
        if column.levels is not None and isinstance(values, Numbers):
            values = texts_of_numbers(values)
        is_missing = values.is_missing
        if isinstance(values, Numbers) and np.isinf(values.values).any():
            row = int(np.argmax(np.isinf(values.values))) + 1
            raise InputError(f"{where} has an infinite value in row {row}; mend or remove it.")
        if not is_missing.any():
            return values
        if column.fill is None:
            row = int(np.argmax(is_missing)) + 1
            raise InputError(
                f"{where} has {int(is_missing.sum())} missing values, the first in row {row}, and "
                "the model was fitted without any: fill them, or fit it with --impute median."
            )
        if isinstance(values, Numbers):
            return Numbers(np.where(is_missing, float(column.fill), values.values))
        strings = [column.fill if text is None else text for text in values.strings()]
        return make_texts(strings)

    def to_json(self, *, indent: int | None = None) -> str:
        """The model as text in the stable JSON format (docs/files.md).

        Parameters
        ----------
        indent : int, optional
            As in `json.dumps`.

        Returns
        -------
        str
        """
        document = {
            "format": FORMAT,
            "version": version_of(self.columns),
            "made_by": self.made_by,
            "task": self.task,
            "target": self.target,
            "classes": None if self.classes is None else list(self.classes),
            "intercepts": list(self.intercepts),
            "columns": [column_document(column) for column in self.columns],
            "terms": [
                {
                    "column": term.column,
                    "level": term.level,
                    "coefficients": list(term.coefficients),
                }
                for term in self.terms
            ],
        }
        return write_document(document, indent)

    @classmethod
    def from_json(cls, text: str | bytes) -> LinearModel:
        """A model from the text that `to_json` wrote; loading never runs code.

        Parameters
        ----------
        text : str or bytes

        Returns
        -------
        LinearModel
        """
        return read_document(text, FORMAT, VERSIONS, _read)


def term_values(column: Column, level: str | None) -> Float:
    """What a term multiplies, (m): numbers, or 1 for a text and 0 for others."""
    if level is None:
        assert isinstance(column, Numbers)
        return column.values
    assert isinstance(column, Texts)
    if level not in column.levels:
        return np.zeros(len(column.codes))
    values: Float = (column.codes == column.levels.index(level)).astype(np.float64)
    return values


def _read(document: JsonObject) -> LinearModel:
    task: Any = document.one_of("task", ("regression", "classification"))
    intercepts = document.array("intercepts", None)
    columns = tuple(read_column(one) for one in document.parts("columns", "a column"))
    by_name = {column.name: column for column in columns}
    if len(by_name) < len(columns):
        raise ValueError("a column is there more than once")
    terms = tuple(
        _read_term(one, by_name, len(intercepts)) for one in document.parts("terms", "a term")
    )
    classes = read_classes(document) if task == "classification" else None
    if classes is None and document.has("classes"):
        raise ValueError("a regression has classes")
    outputs = 1 if classes is None or len(classes) == 2 else len(classes)
    if (classes is not None and len(intercepts) != outputs) or not len(intercepts):
        raise ValueError(f"intercepts has {len(intercepts)} entries for {outputs} outputs")
    return LinearModel(
        task=task,
        target=document.text("target"),
        columns=columns,
        terms=terms,
        intercepts=tuple(intercepts.tolist()),
        classes=classes,
        made_by=document.text("made_by"),
    )


def column_document(column: InputColumn) -> dict[str, Any]:
    """A column as plain strings, numbers and lists."""
    levels = None if column.levels is None else list(column.levels)
    document = {"name": column.name, "levels": levels, "fill": column.fill}
    return document if column.date is None else document | {"date": asdict(column.date)}


def version_of(columns: Collection[InputColumn]) -> int:
    """The first version of a file that can hold these."""
    return VERSION if any(column.date is not None for column in columns) else VERSIONS[0]


def read_column(column: JsonObject) -> InputColumn:
    """A column from its document."""
    levels = tuple(column.texts("levels")) if column.has("levels") else None
    fill: Any = None
    if column.has("fill"):
        fill = column.number("fill") if levels is None else column.text("fill")
    date = None
    if column.version > 1 and column.has_optional("date"):
        date = _read_date(column.part("date"))
        if date.name != column.text("name") or (levels is None) != (date.part in ("year", "days")):
            raise ValueError("the date of a column does not fit the column")
    return InputColumn(column.text("name"), levels, fill, date)


def _read_date(date: JsonObject) -> DatePart:
    part: Any = date.one_of("part", PARTS)
    order: Any = date.one_of("order", ORDERS) if date.has("order") else None
    origin = date.text("origin") if date.has("origin") else None
    if (origin is not None) != (part == "days"):
        raise ValueError("origin is of days, and of nothing else")
    if origin is not None and not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", origin):
        raise ValueError(f"origin is {origin!r:.40}, which is no date")
    if origin is not None:
        datetime.date.fromisoformat(origin)  # a ValueError if the calendar has no such day
    return DatePart(date.text("column"), part, origin, order)


def _read_term(term: JsonObject, columns: dict[str, InputColumn], outputs: int) -> Term:
    name = term.text("column")
    if name not in columns:
        raise ValueError(f"a term is of column {name[:40]!r}, which is not among the columns")
    level = term.text("level") if term.has("level") else None
    if (level is None) != (columns[name].levels is None):
        raise ValueError(f"the level of a term of column {name[:40]!r} does not fit the column")
    return Term(name, level, tuple(term.array("coefficients", outputs).tolist()))
