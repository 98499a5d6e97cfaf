"""Numbers that may stand for a missing value, such as -999."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

import numpy as np

from .._base import Float
from ._table import Column, Numbers, listed

# As people type them: at least two nines after a minus sign, three without; well logs have .25.
_NINES = re.compile(r"-9{2,7}|9{3,7}|-9{3,4}[.]25?0?")
_LEAST_ROWS = 2


def placeholder_notes(counts_of: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Return notes on `placeholders` of columns."""
    columns_of: dict[str, dict[str, int]] = {}
    for name, counts in counts_of.items():
        for text, count in counts.items():
            columns_of.setdefault(text, {})[name] = count
    notes = []
    for text, counts in columns_of.items():
        rows = sum(counts.values())
        notes.append(
            f"{text} in {rows} rows of {listed(list(counts))} may stand for a missing value: if it "
            f"does, pass --missing {shlex.quote(text)}."
        )
    return notes


def placeholders(column: Column) -> dict[str, int]:
    """Return outlying values that occur several times and look like placeholders, with counts."""
    if not isinstance(column, Numbers) or column.is_flag:
        return {}
    return _placeholders(column.values)


def _placeholders(values: Float) -> dict[str, int]:
    """Return counts of the lowest and the highest value if they look like placeholders."""
    finite = values[np.isfinite(values)]
    if not finite.size:
        return {}
    counts = {}
    for value in {float(finite.min()), float(finite.max())}:
        text = f"{value:g}" if abs(value) < 1e6 else f"{value:.0f}"
        if not _NINES.fullmatch(text):
            continue
        others = finite[finite != value]
        count = len(finite) - len(others)
        if not others.size or count < _LEAST_ROWS:
            continue
        low, high = float(others.min()), float(others.max())
        if min(abs(value - low), abs(value - high)) > high - low:
            counts[text] = count
    return counts
