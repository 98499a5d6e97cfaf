"""A column of the data in short, as results have it."""

from __future__ import annotations

import numpy as np

from ._data_summary import ColumnSummary
from ._table import Column, Texts, Unusable

# So many of the most frequent texts are told of a column.
_TOLD_LEVELS = 10


def summary(name: str, values: Column) -> ColumnSummary:
    """A column in short."""
    assert not isinstance(values, Unusable)
    missing = int(values.is_missing.sum())
    if isinstance(values, Texts):
        counts = np.bincount(values.codes[values.codes >= 0], minlength=len(values.levels))
        order = np.argsort(-counts, kind="stable")[:_TOLD_LEVELS]
        levels = tuple((values.levels[place], int(counts[place])) for place in order)
        used = int(np.count_nonzero(counts))
        return ColumnSummary(name, "text", missing, n_levels=used, levels=levels)
    known = values.values[~values.is_missing]
    return ColumnSummary(
        name,
        "flag" if values.is_flag else "number",
        missing,
        low=float(known.min()),
        mean=float(known.mean()),
        high=float(known.max()),
        deviation=float(known.std()),
    )
