"""The stable JSON format of a model (docs/reference/files.md)."""

from __future__ import annotations

import datetime
import re
from collections.abc import Collection
from typing import Any

from .._base import (
    NOT_NEGATIVE,
    NUMBER,
    ArrayOf,
    Codec,
    Document,
    Key,
    Kind,
    Labels,
    ListOf,
    Sigmoid,
    Sizes,
    Text,
)
from ._dates import DatePart
from ._linear_model import InputColumn, LinearModel, Term

# Without parts of dates a file is of the first version, which older releases read.
VERSIONS = (1, 2)


def version_of(columns: Collection[InputColumn]) -> int:
    """The first version of a file that can hold these."""
    return VERSIONS[any(column.date is not None for column in columns)]


def outputs_of(values: dict[str, Any]) -> int:
    """How many outputs a model of a task and classes has."""
    task, classes = values["task"], values["classes"]
    if task == "regression" and classes is not None:
        raise ValueError("a regression has classes")
    if task == "classification" and classes is None:
        raise ValueError("classes is null for a classification")
    return 1 if classes is None or len(classes) == 2 else len(classes)


def check_sigmoids(values: dict[str, Any], outputs: int) -> None:
    """One for each output of a classification, if there are any."""
    found = values["sigmoids"]
    if found is not None and (values["classes"] is None or len(found) != outputs):
        raise ValueError(f"sigmoids has {len(found)} entries for {outputs} outputs of classes")


def columns_by_name(columns: tuple[InputColumn, ...]) -> dict[str, InputColumn]:
    """Columns by their names, which must differ."""
    by_name = {column.name: column for column in columns}
    if len(by_name) < len(columns):
        raise ValueError("a column appears more than once")
    return by_name


def _date(values: dict[str, Any], sizes: Sizes) -> DatePart:
    origin = values["origin"]
    if (origin is not None) != (values["part"] == "days"):
        raise ValueError("origin is of days, and of nothing else")
    if origin is not None and not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", origin):
        raise ValueError(f"origin is {origin!r:.40}, which is not a date")
    if origin is not None:
        datetime.date.fromisoformat(origin)  # a ValueError if the calendar has no such day
    return DatePart(**values)


def _column(values: dict[str, Any], sizes: Sizes) -> InputColumn:
    levels, date, fill = values["levels"], values["date"], values["fill"]
    if fill is not None:
        of_fill: Kind = NUMBER if levels is None else Text()
        values["fill"] = of_fill.read(fill, "fill", sizes)
    if values["decimal"] not in (".", ","):
        raise ValueError(f"the decimal mark {values['decimal'][:10]!r} is neither '.' nor ','")
    is_number = date is not None and date.part in ("year", "days")
    if date is not None and (date.name != values["name"] or (levels is None) != is_number):
        raise ValueError("the date of a column does not fit the column")
    return InputColumn(**values)


def _model(values: dict[str, Any], sizes: Sizes) -> LinearModel:
    model, outputs = LinearModel(**values), outputs_of(values)
    columns = columns_by_name(model.columns)
    for term in model.terms:
        name = repr(term.column[:40])
        if term.column not in columns:
            raise ValueError(f"a term is of column {name}, which is not among the columns")
        if (term.level is None) != (columns[term.column].levels is None):
            raise ValueError(f"the level of a term of column {name} does not fit the column")
    count = len(model.intercepts)
    if (model.classes is not None and count != outputs) or not count:
        raise ValueError(f"intercepts has {count} entries for {outputs} outputs")
    check_sigmoids(values, count)
    return model


COLUMNS = ListOf(
    Codec(
        InputColumn,
        {
            "fill": Kind(),  # text or a number, as the column
            # Only where they say something: most files have points and no dates.
            "decimal": Key(is_omitted=True),
            "missing": Key(is_omitted=True),
            "date": Key(Codec(DatePart, make=_date), since=2, is_omitted=True),
        },
        keys="name levels fill decimal missing date",
        make=_column,
    )
)
# Files of the first days have none.
SIGMOIDS = Key(ListOf(Codec(Sigmoid, {"slope": NOT_NEGATIVE})), may_lack=True)
MODEL_FORMAT = Document(
    "greedyrls.model",
    VERSIONS,
    Codec(
        LinearModel,
        {
            "classes": Labels(),
            "intercepts": ArrayOf("o"),
            "columns": COLUMNS,
            "terms": ListOf(Codec(Term, {"coefficients": ArrayOf("o")})),
            "sigmoids": SIGMOIDS,
        },
        keys="made_by task target classes intercepts columns terms sigmoids",
        make=_model,
    ),
    version_of=lambda model: version_of(model.columns),
)
