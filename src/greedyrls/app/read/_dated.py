"""Columns that are asked for as dates, from the texts that they were read as."""

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
    """Dates, or numbers where all texts are numbers; an error that names the first that is neither.

    Columns are read as text before, since that is how every format can give its dates.
    """
    if not isinstance(values, Texts):
        return values
    texts = [text.strip() for text in values.levels]
    missing = frozenset(MISSING)
    known = [None if text in missing else text for text in texts]
    present = [text for text in known if text is not None]
    # Some formats write numbers with a point whatever the decimal mark of cells is.
    for mark in dict.fromkeys((decimal, ".")):
        if present and all(map(re.compile(number_pattern(mark)).match, present)):
            numbers = [np.nan if one is None else float(one.replace(mark, ".")) for one in known]
            return make_numbers(np.array([*numbers, np.nan])[values.codes])
    try:
        moments, found = read_dates(known, order)
    except DateProblem as problem:
        cells = [_cell(table, values, position) for position in problem.positions]
        raise InputError(
            f"{table.source}: column {shown(name)} must have dates, but "
            f"{problem.words.format(*cells)}."
        ) from problem
    return Dates("dates", np.append(moments, np.datetime64("NaT", "us"))[values.codes], found)


def _cell(table: Table, values: Texts, level: int) -> str:
    place = table.place(int(np.argmax(values.codes == level)))
    return f"{shown(values.levels[level])} in {place}"
