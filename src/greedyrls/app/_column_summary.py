"""Summaries of columns, as results contain them."""

from __future__ import annotations

import numpy as np

from ._data_summary import ColumnSummary
from ._table import Column, Texts, Unusable

# A summary has at most this many of the most frequent texts.
_MOST_LISTED = 10


def summary(name: str, values: Column) -> ColumnSummary:
    """Return the summary of a column."""
    assert not isinstance(values, Unusable)
    missing = int(values.is_missing.sum())
    if isinstance(values, Texts):
        counts = np.bincount(values.codes[values.codes >= 0], minlength=len(values.levels))
        order = np.argsort(-counts, kind="stable")[:_MOST_LISTED]
        levels = tuple((values.levels[index], int(counts[index])) for index in order)
        used = int(np.count_nonzero(counts))
        return ColumnSummary(name, "text", missing, n_levels=used, levels=levels)
    present = values.values[~values.is_missing]
    return ColumnSummary(
        name,
        "flag" if values.is_flag else "number",
        missing,
        low=float(present.min()),
        mean=float(present.mean()),
        high=float(present.max()),
        deviation=float(present.std()),
    )
