"""The stable JSON format of a model (docs/files.md)."""

from __future__ import annotations

import datetime
import re
from collections.abc import Collection
from dataclasses import asdict
from typing import Any

from .._base import JsonObject, Sigmoid, read_classes, read_document, write_document
from ._dates import ORDERS, PARTS, DatePart
from ._linear_model import InputColumn, LinearModel, Term

FORMAT = "greedyrls.model"
VERSION = 2
# A file without date parts has the first version, which older releases can read.
VERSIONS = (1, VERSION)


def encode(model: LinearModel, indent: int | None = None) -> str:
    """Return a model as JSON text."""
    document = {
        "format": FORMAT,
        "version": version_of(model.columns),
        "made_by": model.made_by,
        "task": model.task,
        "target": model.target,
        "classes": None if model.classes is None else list(model.classes),
        "intercepts": list(model.intercepts),
        "columns": [column_document(column) for column in model.columns],
        "terms": [
            {
                "column": term.column,
                "level": term.level,
                "coefficients": list(term.coefficients),
            }
            for term in model.terms
        ],
        "sigmoids": sigmoids_document(model.sigmoids),
    }
    return write_document(document, indent)


def decode(text: str | bytes) -> LinearModel:
    """Read a model from its text; raise a ValueError that says what is wrong with it."""
    return read_document(text, FORMAT, VERSIONS, _read)


def sigmoids_document(sigmoids: tuple[Sigmoid, ...] | None) -> list[dict[str, float]] | None:
    """Return slopes and intercepts as plain numbers."""
    return None if sigmoids is None else [sigmoid._asdict() for sigmoid in sigmoids]


def read_sigmoids(document: JsonObject, outputs: int, is_of_classes: bool) -> Any:
    """Read one sigmoid for each output; None if there are none, as in early files."""
    if not document.has_optional("sigmoids"):
        return None
    sigmoids = tuple(
        Sigmoid(part.positive("slope"), part.number("intercept"))
        for part in document.parts("sigmoids", "a sigmoid")
    )
    if not is_of_classes or len(sigmoids) != outputs:
        raise ValueError(f"sigmoids has {len(sigmoids)} entries for {outputs} outputs of classes")
    return sigmoids


def _read(document: JsonObject) -> LinearModel:
    task: Any = document.one_of("task", ("regression", "classification"))
    intercepts = document.array("intercepts", None)
    columns = tuple(read_column(part) for part in document.parts("columns", "a column"))
    by_name = {column.name: column for column in columns}
    if len(by_name) < len(columns):
        raise ValueError("a column appears more than once")
    terms = tuple(
        _read_term(part, by_name, len(intercepts)) for part in document.parts("terms", "a term")
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
        sigmoids=read_sigmoids(document, len(intercepts), classes is not None),
    )


def column_document(column: InputColumn) -> dict[str, Any]:
    """Return a column as plain strings, numbers and lists."""
    levels = None if column.levels is None else list(column.levels)
    document = {"name": column.name, "levels": levels, "fill": column.fill}
    # Written only if needed: most models come from files with decimal points and without dates.
    if column.decimal != ".":
        document["decimal"] = column.decimal
    if column.missing:
        document["missing"] = list(column.missing)
    return document if column.date is None else document | {"date": asdict(column.date)}


def version_of(columns: Collection[InputColumn]) -> int:
    """Return the first version of the format that can hold these columns."""
    return VERSION if any(column.date is not None for column in columns) else VERSIONS[0]


def read_column(column: JsonObject) -> InputColumn:
    """Read a column from its document."""
    levels = tuple(column.texts("levels")) if column.has("levels") else None
    fill: Any = None
    if column.has("fill"):
        fill = column.number("fill") if levels is None else column.text("fill")
    decimal = column.text("decimal") if column.has_optional("decimal") else "."
    if decimal not in (".", ","):
        raise ValueError(f"the decimal mark {decimal[:10]!r} is neither '.' nor ','")
    date = None
    if column.version > 1 and column.has_optional("date"):
        date = _read_date(column.part("date"))
        if date.name != column.text("name") or (levels is None) != (date.part in ("year", "days")):
            raise ValueError("the date of a column does not fit the column")
    missing = tuple(column.texts("missing")) if column.has_optional("missing") else ()
    return InputColumn(column.text("name"), levels, fill, decimal, date, missing)


def _read_date(date: JsonObject) -> DatePart:
    part: Any = date.one_of("part", PARTS)
    order: Any = date.one_of("order", ORDERS) if date.has("order") else None
    origin = date.text("origin") if date.has("origin") else None
    if (origin is not None) != (part == "days"):
        raise ValueError("origin is of days, and of nothing else")
    if origin is not None and not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", origin):
        raise ValueError(f"origin is {origin!r:.40}, which is not a date")
    if origin is not None:
        datetime.date.fromisoformat(origin)  # raises a ValueError if it is no calendar date
    return DatePart(date.text("column"), part, origin, order)


def _read_term(term: JsonObject, columns: dict[str, InputColumn], outputs: int) -> Term:
    name = term.text("column")
    if name not in columns:
        raise ValueError(f"a term is of column {name[:40]!r}, which is not among the columns")
    level = term.text("level") if term.has("level") else None
    if (level is None) != (columns[name].levels is None):
        raise ValueError(f"the level of a term of column {name[:40]!r} does not fit the column")
    return Term(name, level, tuple(term.array("coefficients", outputs).tolist()))
