"""Columns of data frames and mappings, converted to columns of a table."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from ._dates import DatePart, DateProblem, Order, dates_of_values, orders_of
from ._table import Column, Dates, InputError, Numbers, Table, Texts, Unusable, make_texts


def texts_of_numbers(column: Numbers) -> Texts:
    """Return numbers as the texts that people write."""
    return make_texts([_written(value, column.is_flag) for value in column.values.tolist()])


def _written(value: float, is_flag: bool) -> str | None:
    """Return a number as text: 3 instead of 3.0, true instead of 1."""
    if math.isnan(value):
        return None
    if is_flag:
        return "true" if value else "false"
    return str(int(value)) if value.is_integer() else repr(value)


def as_table(data: Any, names: list[str], parts: Collection[DatePart] = ()) -> Table:
    """Return the named columns of a data frame, or of a mapping to columns, as a table.

    It also has the date columns of `parts`, or the parts themselves if there are no dates.
    """
    if isinstance(data, Table):
        return data
    if not isinstance(data, Mapping) and not hasattr(data, "columns"):
        raise TypeError(
            "data must be a data frame or a mapping from column names to columns, got "
            f"{type(data).__name__}."
        )
    # Columns of a data frame may be named by numbers.
    keys = {str(key): key for key in (data.keys() if isinstance(data, Mapping) else data.columns)}
    source = "the data"
    table = Table(source, dict.fromkeys(keys, Unusable("nothing")), 0)
    for name in names:
        table.column(name)
    columns = {name: _as_column(data[keys[name]]) for name in names}
    orders = orders_of(parts)
    for part in parts:
        if part.column in keys:
            if not isinstance(columns.get(part.column), Dates):
                values = data[keys[part.column]]
                columns[part.column] = _as_dates(values, part.column, orders[part.column])
        elif part.column not in keys and part.name in keys:
            columns[part.name] = _as_column(data[keys[part.name]])
        else:
            table.column(part.column)
    # Without named columns, any column has the number of rows.
    shown = columns if columns else {name: _as_column(data[keys[name]]) for name in list(keys)[:1]}
    lengths = {
        len(column.is_missing)
        for column in shown.values()
        if isinstance(column, Numbers | Texts | Dates)
    }
    if len(lengths) > 1:
        raise ValueError(f"The columns of the data have different lengths: {sorted(lengths)}.")
    return Table(source, columns, lengths.pop() if lengths else 0)


def _as_dates(values: Any, name: str, order: Order | None) -> Dates:
    try:
        return dates_of_values(values, order)
    except DateProblem as problem:
        cells = [repr(list(values)[position]) for position in problem.positions]
        raise InputError(
            f"Column {name!r} of the data must have dates, but {problem.words.format(*cells)}."
        ) from problem


def _as_column(data: Any) -> Column:
    # Lists are converted to objects because NumPy would turn missing values among text into text.
    values = np.asarray(data, dtype=None if hasattr(data, "__array__") else object)
    if values.ndim != 1:
        return Unusable("more than one value in each row" if values.ndim else "a single value")
    if values.dtype.kind in "biuf":
        return Numbers(
            values.astype(np.float64),
            is_whole=values.dtype.kind in "iu",
            is_flag=values.dtype == bool,
        )
    if values.dtype.kind in "mMcVS":
        return Unusable(f"values of type {values.dtype}")
    entries = [None if is_missing(value) else value for value in values.tolist()]
    is_text = any(isinstance(value, str) for value in entries)
    try:
        if is_text:
            return make_texts([text_of(value) for value in entries])
        numbers = np.array([math.nan if value is None else _number_of(value) for value in entries])
    except (TypeError, ValueError, OverflowError):
        return Unusable("values that are neither numbers nor text")
    return Numbers(numbers, is_flag=all(isinstance(value, bool | None) for value in entries))


def text_of(value: Any) -> str | None:
    """Return a text, or a number as people write it; None stays None."""
    if value is None or isinstance(value, str):
        return value
    return _written(_number_of(value), isinstance(value, bool))


def _number_of(value: Any) -> float:
    if isinstance(value, bytes | bytearray):  # float would parse them
        raise TypeError("bytes are no number")
    return float(value)


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, or a missing value of pandas."""
    # pandas.NA is neither equal nor unequal to itself, and has no truth value.
    if value is None or type(value).__name__ == "NAType":
        return True
    differs = value != value
    return isinstance(differs, bool | np.bool_) and bool(differs)
