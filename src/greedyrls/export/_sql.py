"""Export a model as a SELECT statement."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Any

from ..app import InputColumn, Label, LinearModel, Term
from ._parts import Exportable, check_name, check_whole_labels, checked, date_words, encoded, shown

# SQLite accepts expressions up to depth 1000; a sum of n terms has depth n.
_SUMMANDS = 50
# A part of a table name, up to a dot or the end; within quotation marks a dot does not count.
_PART = re.compile(r'(?:^|(?<=\.))("(?:[^"]|"")*"(?=\.|\Z)|[^.]*)(?:\.|\Z)')


def to_sql(
    model: Exportable, *, table: str | tuple[str, ...] = "data", name: str = "predict"
) -> str:
    """Export a model as one SELECT statement for SQLite, PostgreSQL and similar databases.

    The result has all columns of the table and ``prediction``: a number or a label. With several
    targets these are ``prediction_0``, ``prediction_1`` …; with classes there are also the outputs
    of the model: ``score`` for two classes, ``score_0`` … for more.

    Parameters
    ----------
    model : LinearModel, or fitted estimator or pipeline
        As in `export_model`.
    table : str or tuple of str, default="data"
        Name of the table. A dot separates a schema from its table: "sales.customers", or
        ("sales", "customers"). A part in double quotes is taken as it is, so that '"my.table"' is
        one name with a dot in it; in a tuple every text is a whole name.
    name : str, default="predict"
        Written into the comment at the top.

    Returns
    -------
    str
        The statement, to be stored as UTF-8.

    Notes
    -----
    A missing value is NULL. If the model has no fill value for it, the prediction is NULL. Numeric
    columns must contain numbers: SQLite treats any other text as 0. PostgreSQL does not convert
    booleans to numbers: cast such columns to integers first.

    Examples
    --------
    >>> import sqlite3
    >>> from greedyrls import LinearModel, greedy_path
    >>> from greedyrls.export import to_sql
    >>> path = greedy_path([[1.0, 3.0], [2.0, 5.0], [4.0, 4.0]], [1.0, 2.0, 4.0], 1, alpha=1e-9)
    >>> database = sqlite3.connect(":memory:")
    >>> _ = database.execute("CREATE TABLE data (x0 REAL)")
    >>> _ = database.execute("INSERT INTO data VALUES (3.0), (NULL)")
    >>> statement = to_sql(LinearModel.from_path(path))
    >>> for x0, prediction in database.execute(statement):
    ...     print(x0, prediction and round(prediction, 6))
    3.0 3.0
    None None
    """
    name, model = check_name(name), checked(model)
    check_whole_labels(model, "SQL")
    head = f"-- {name}: {shown(model.target)}, written by {shown(model.made_by)}.\n"
    head += "".join(f"-- {line}\n" for line in date_words(model))
    source = ".".join(_quoted(part, "The table") for part in table_parts(table))
    scores = [_score(model, output, source) for output in range(len(model.intercepts))]
    if model.classes is None:
        return f"{head}SELECT *,\n{_named(scores, 'prediction')}\nFROM {source};\n"
    label = _label_of(len(scores), [_literal(label_value) for label_value in model.classes])
    named = _named(scores, "score")
    # A separate subquery distinguishes the scores from columns of the same name. Its limit keeps
    # PostgreSQL from repeating the sums wherever a score is used.
    return (
        f"{head}SELECT *,\n{named},\n"
        f'(SELECT {label}\nFROM (SELECT\n{named}\nLIMIT 1) AS "scored") AS "prediction"\n'
        f"FROM {source};\n"
    )


def table_parts(table: Any) -> tuple[str, ...]:
    """Return the parts of a table name, the schema first."""
    wrong = ValueError(
        f"table must be the name of a table, such as 'customers', 'sales.customers' or "
        f"('sales', 'customers'), got {table!r}."
    )
    if isinstance(table, Sequence) and not isinstance(table, str | bytes):
        parts = list(table)
    elif isinstance(table, str):
        parts = [_unquoted(part, wrong) for part in _split(table)]
    else:
        raise wrong
    if not parts or not all(isinstance(part, str) and part for part in parts):
        raise wrong
    return tuple(parts)


def _split(table: str) -> list[str]:
    """Split a name at its dots, except within quotation marks."""
    return _PART.findall(table)


def _unquoted(part: str, wrong: ValueError) -> str:
    if not part.startswith('"'):
        return part
    if len(part) < 2 or not part.endswith('"'):
        raise wrong
    return part[1:-1].replace('""', '"')


def _named(scores: list[str], base: str) -> str:
    if len(scores) == 1:
        return f'{scores[0]} AS "{base}"'
    return ",\n".join(f'{score} AS "{base}_{output}"' for output, score in enumerate(scores))


def _score(model: LinearModel, output: int, source: str) -> str:
    columns = {column.name: column for column in model.columns}
    # Otherwise PostgreSQL would use decimal arithmetic; likewise for columns below.
    summands = [f"CAST({_number(model.intercepts[output])} AS DOUBLE PRECISION)"]
    for term in model.terms:
        value = _value(term, columns[term.column], source)
        summands.append(f"{_number(term.coefficients[output])} * {value}")
    return f"({_grouped(summands, ' +')})"


def _grouped(parts: list[str], operator: str) -> str:
    """Join parts with an operator, in nested groups so that the expression is not deep."""
    while len(parts) > _SUMMANDS:
        groups = [parts[first : first + _SUMMANDS] for first in range(0, len(parts), _SUMMANDS)]
        parts = [f"({_joined(group, operator)})" for group in groups]
    return _joined(parts, operator)


def _joined(parts: list[str], operator: str) -> str:
    return f"{operator}\n  ".join(parts)


def _value(term: Term, column: InputColumn, source: str) -> str:
    """Return the value that the term multiplies; NULL if it is missing."""
    # Qualified by the table: SQLite takes a quoted name that is no column for a text.
    reference = f"{source}.{_quoted(column.name, 'The column')}"
    if term.level is None:
        if isinstance(column.fill, float):
            reference = f"COALESCE({reference}, {_number(column.fill)})"
        return f"CAST({reference} AS DOUBLE PRECISION)"
    text, level = f"CAST({reference} AS TEXT)", _text(term.level)
    if isinstance(column.fill, str):
        return f"CASE WHEN COALESCE({text}, {_text(column.fill)}) = {level} THEN 1 ELSE 0 END"
    return f"CASE WHEN {text} = {level} THEN 1 WHEN {reference} IS NOT NULL THEN 0 END"


def _label_of(n_scores: int, labels: list[str]) -> str:
    """Return the label by the scores; NULL if they are missing or not finite."""
    largest = _number(sys.float_info.max)
    if n_scores == 1:
        return (
            f'CASE WHEN "scored"."score" BETWEEN -{largest} AND 0 THEN {labels[0]}\n'
            f'  WHEN "scored"."score" BETWEEN 0 AND {largest} THEN {labels[1]} END'
        )
    scores = [f'"scored"."score_{output}"' for output in range(n_scores)]
    # In PostgreSQL NaN is larger than all numbers.
    cases = [f"WHEN NOT {scores[0]} BETWEEN -{largest} AND {largest} THEN NULL"]
    for output, (score, label) in enumerate(zip(scores, labels, strict=True)):
        # An earlier score that was the largest had been chosen already.
        later = [f"{score} >= {other}" for other in scores[output + 1 :]]
        condition = _grouped(later, " AND") if later else f"{score} IS NOT NULL"
        cases.append(f"WHEN {condition} THEN {label}")
    return "CASE " + "\n  ".join(cases) + " END"


def _number(value: float) -> str:
    """Return a literal that is a double precision number, not a decimal, in standard SQL."""
    text = repr(value)
    return text if "e" in text else f"{text}e0"


def _literal(label: Label) -> str:
    if isinstance(label, bool):
        return "TRUE" if label else "FALSE"
    if isinstance(label, str):
        return _text(label)
    return _number(label) if isinstance(label, float) else str(label)


def _text(text: str) -> str:
    encoded(text, "The text", "SQL")
    return "'" + text.replace("'", "''") + "'"


def _quoted(name: str, role: str) -> str:
    encoded(name, role, "SQL")
    return '"' + name.replace('"', '""') + '"'
