"""Columns from arrays: detect whole numbers, and encode texts by levels."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base import Float
from .._table import Column, Numbers, Texts, Unusable, make_texts

DATE = (
    r"^([0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}|[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{4})"
    r"([T ]+[0-9]{1,2}:[0-9]{2}.*)?$"
)
# float64 skips larger whole numbers, so that writing one in full would invent digits.
_LARGEST_WHOLE = 2.0**53


def make_numbers(values: Float) -> Numbers:
    """Return a column of numbers, (m), marked as whole if every value is."""
    return Numbers(values, is_whole=_is_whole(values))


def missing_numbers(m: int) -> Numbers:
    """Return a column without values."""
    return Numbers(np.full(m, np.nan))


def _is_whole(values: Float) -> bool:
    # For most columns with fractions the first values decide.
    for part in (values[:100], values):
        present = part[~np.isnan(part)]
        if not np.isfinite(present).all() or (present != np.floor(present)).any():
            return False
    return present.size > 0


def levelled(texts: Sequence[str | None], codes: NDArray[np.integer[Any]]) -> Texts:
    """Return a column of text from codes (m) of a list of texts; −1 and "" are missing."""
    is_used = np.bincount(codes[codes >= 0], minlength=len(texts)) > 0
    levels = sorted({text for text, used in zip(texts, is_used, strict=True) if used and text})
    code_of: dict[str | None, int] = {level: code for code, level in enumerate(levels)}
    renumbered = np.array([*(code_of.get(text, -1) for text in texts), -1], dtype=np.int32)
    return Texts(renumbered[codes], tuple(levels))


def or_dates(column: Texts) -> Texts | Unusable:
    """Return a column of text, or an unusable column if all its texts are dates."""
    is_date = re.compile(DATE).match
    are_dates = bool(column.levels) and all(map(is_date, column.levels))
    return Unusable("dates") if are_dates else column


def texts_of_values(values: NDArray[Any]) -> Texts:
    """Return a column of text from numbers, true and false, or text, (m), as people write them."""
    return make_texts([_written(value) for value in values.tolist()])


def _written(value: Any) -> str | None:
    if isinstance(value, bytes):
        value = value.decode("utf-8")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if np.isnan(value):
            return None
        if value.is_integer() and abs(value) < _LARGEST_WHOLE:
            value = int(value)
    return str(value) or None


def without_marked(column: Column, marks: Collection[str]) -> Column:
    """Return a column in which some texts, and the equal numbers, count as missing."""
    if isinstance(column, Texts):
        if not set(marks).intersection(column.levels):
            return column
        return levelled(
            [None if level in marks else level for level in column.levels], column.codes
        )
    if isinstance(column, Numbers) and not column.is_flag:
        numbers = [number for mark in marks if (number := number_of(mark)) is not None]
        is_marked = np.isin(column.values, numbers)
        if is_marked.any():
            return make_numbers(np.where(is_marked, np.nan, column.values))
    return column


def number_of(text: str) -> float | None:
    """Return the number that a text stands for, or None."""
    try:
        return float(text)
    except ValueError:
        return None
