"""Columns from values of Python, as spreadsheets and JSON have them."""

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

# Beyond it float64 skips whole numbers.
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
    """The columns that are used, each from its values."""
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
    """A column from numbers, flags, texts and dates, None where missing.

    Texts among numbers are taken as cells of a CSV file are. So are texts alone, unless the format
    tells numbers from texts by itself (`is_typed`).
    """
    import pyarrow as pa

    as_text = name in wanted.as_text
    kinds = {type(value) for value in values} - {type(None)}
    nested = kinds & {dict, list}
    if nested and as_text:
        texts = (json.dumps(one) if isinstance(one, dict | list) else one for one in values)
        return make_texts([None if one is None else written(one, ".") or None for one in texts])
    if nested:
        return Unusable("records" if nested == {dict} else "lists")
    others = [words for kind, words in _OTHERS.items() if kind in kinds]
    if others and not as_text:
        return Unusable(others[0])
    if as_text:
        return make_texts([None if one is None else written(one, ".") or None for one in values])
    if not kinds:
        return missing_numbers(len(values))
    if kinds <= {int, float}:
        return make_numbers(np.array([np.nan if one is None else _float(one) for one in values]))
    if kinds == {bool}:
        flags = np.array([np.nan if one is None else float(one) for one in values])
        return Numbers(flags, is_flag=True)
    if kinds <= set(_MOMENTS):
        return Unusable("dates")
    cells = [None if one is None else written(one, dialect.decimal) for one in values]
    is_text = is_typed and kinds == {str} and name not in wanted.as_numbers
    column = pa.chunked_array([pa.array(cells, pa.string())])
    found = column_of_cells(name, column, wanted, dialect, Remarks() if is_text else remarks)
    if is_text and not (isinstance(found, Unusable) and not found.why):
        return make_texts([cell or None for cell in cells])  # "007" was no number in the file
    return found


def _float(value: int | float) -> float:
    try:
        return float(value)
    except OverflowError:  # a whole number of hundreds of digits
        return np.inf if value > 0 else -np.inf


def written(value: Any, decimal: str) -> str:
    """A value as one would write it into a cell."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if value.is_integer() and abs(value) < _LARGEST_WHOLE:
            return str(int(value))
        return repr(value).replace(".", decimal)
    if isinstance(value, datetime.datetime):
        # Sheets have dates only with a time of day.
        is_day = value.time() == datetime.time()
        return str(value.date()) if is_day else value.isoformat(" ")
    return str(value)
