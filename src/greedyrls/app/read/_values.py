"""Columns from Python values, as in spreadsheets and JSON."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._table import Column, Numbers, Table, Unusable, make_texts
from ._cells import column_of_cells
from ._columns import make_numbers, missing_numbers
from ._files import Source
from ._header import Dialect
from ._names import tidy
from ._remarks import Remarks
from ._wanted import Wanted

# float64 skips larger whole numbers.
_LARGEST_WHOLE = 2.0**53
_MOMENTS = (datetime.date, datetime.datetime)
_OTHERS = {datetime.time: "times of day", datetime.timedelta: "durations"}


def table_of_values(
    source: Source,
    head: list[str],
    values_at: Callable[[int], Sequence[Any]],
    n_rows: int,
    wanted: Wanted,
    dialect: Dialect,
    *,
    is_typed: bool,
    notes: tuple[str, ...] = (),
) -> Table:
    """Return a table of the columns in use, each from its values."""
    names, remarks = tidy(head), Remarks()
    columns = {
        name: _column(name, values_at(names.names.index(name)), wanted, dialect, is_typed, remarks)
        for name in wanted.used(names)
    }
    return Table(
        source.name,
        columns,
        n_rows,
        names=tuple(names.names),
        notes=(*notes, *wanted.name_notes(names), *remarks.sentences()),
        comma_columns=frozenset(remarks.comma_columns),
    )


def _column(
    name: str,
    values: Sequence[Any],
    wanted: Wanted,
    dialect: Dialect,
    is_typed: bool,
    remarks: Remarks,
) -> Column:
    """Return a column from numbers, flags, texts and dates, None if missing.

    Texts among numbers are parsed like cells of a CSV file. So are columns of texts, unless the
    format itself distinguishes numbers from texts (`is_typed`).
    """
    import pyarrow as pa

    as_text = name in wanted.as_text
    kinds = {type(value) for value in values} - {type(None)}
    nested = kinds & {dict, list}
    if nested and as_text:
        texts = (
            json.dumps(value_or_none) if isinstance(value_or_none, dict | list) else value_or_none
            for value_or_none in values
        )
        return make_texts(
            [
                None if value_or_none is None else written(value_or_none, ".") or None
                for value_or_none in texts
            ]
        )
    if nested:
        return Unusable("records" if nested == {dict} else "lists")
    others = [words for kind, words in _OTHERS.items() if kind in kinds]
    if others and not as_text:
        return Unusable(others[0])
    if as_text:
        return make_texts(
            [
                None if value_or_none is None else written(value_or_none, ".") or None
                for value_or_none in values
            ]
        )
    if not kinds:
        return missing_numbers(len(values))
    if kinds <= {int, float}:
        return make_numbers(
            np.array(
                [
                    np.nan if value_or_none is None else _float(value_or_none)
                    for value_or_none in values
                ]
            )
        )
    if kinds == {bool}:
        flags = np.array(
            [np.nan if value_or_none is None else float(value_or_none) for value_or_none in values]
        )
        return Numbers(flags, is_flag=True)
    if kinds <= set(_MOMENTS):
        return Unusable("dates")
    cells = [
        None if value_or_none is None else written(value_or_none, dialect.decimal)
        for value_or_none in values
    ]
    is_text = is_typed and kinds == {str} and name not in wanted.as_numbers
    column = pa.chunked_array([pa.array(cells, pa.string())])
    parsed = column_of_cells(name, column, wanted, dialect, Remarks() if is_text else remarks)
    if is_text and not (isinstance(parsed, Unusable) and not parsed.why):
        return make_texts([cell or None for cell in cells])  # "007" is text in the file
    return parsed


def _float(value: int | float) -> float:
    try:
        return float(value)
    except OverflowError:  # a whole number with hundreds of digits
        return np.inf if value > 0 else -np.inf


def written(value: Any, decimal: str) -> str:
    """Return a value as one would write it into a cell."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if value.is_integer() and abs(value) < _LARGEST_WHOLE:
            return str(int(value))
        return repr(value).replace(".", decimal)
    if isinstance(value, datetime.datetime):
        # Dates in sheets always have a time of day.
        is_day = value.time() == datetime.time()
        return str(value.date()) if is_day else value.isoformat(" ")
    return str(value)
