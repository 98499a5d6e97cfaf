"""Convert text columns to dates where the user asked for dates."""

from __future__ import annotations

import re

import numpy as np

from .._dates import DateProblem, Order, read_dates
from .._table import Column, Dates, InputError, Table, Texts
from ._cells import MISSING
from ._columns import make_numbers
from ._files import shown
from ._header import number_pattern


def as_dates(table: Table, name: str, values: Column, decimal: str, order: Order | None) -> Column:
    """Return dates, or numbers if all texts are numbers; fail on the first text that is neither.

    The columns were read as text, which is how every format can return dates.
    """
    if not isinstance(values, Texts):
        return values
    texts = [text.strip() for text in values.levels]
    missing = frozenset(MISSING)
    cleaned = [None if text in missing else text for text in texts]
    present = [text for text in cleaned if text is not None]
    # Some formats write numbers with a point whatever the decimal mark.
    for mark in dict.fromkeys((decimal, ".")):
        if present and all(map(re.compile(number_pattern(mark)).match, present)):
            numbers = [
                np.nan if text_or_none is None else float(text_or_none.replace(mark, "."))
                for text_or_none in cleaned
            ]
            return make_numbers(np.array([*numbers, np.nan])[values.codes])
    try:
        moments, inferred = read_dates(cleaned, order)
    except DateProblem as problem:
        cells = [_cell(table, values, position) for position in problem.positions]
        raise InputError(
            f"{table.source}: column {shown(name)} must have dates, but "
            f"{problem.words.format(*cells)}."
        ) from problem
    return Dates("dates", np.append(moments, np.datetime64("NaT", "us"))[values.codes], inferred)


def _cell(table: Table, values: Texts, level: int) -> str:
    location = table.location(int(np.argmax(values.codes == level)))
    return f"{shown(values.levels[level])} in {location}"
