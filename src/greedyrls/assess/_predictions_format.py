"""The JSON format of predictions of rows held out (docs/reference/files.md)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base import ERROR_OR_NULL, NOT_NEGATIVE, ArrayOf, Codec, Key, Sizes, Whole, as_entries
from ._predictions import MOST_CLASSES, N_BINS, ROC_GRID, Predictions

_ROUNDING = 1e-9


def _predictions(values: dict[str, Any], sizes: Sizes) -> Predictions:
    """Predictions that fit the number of classes, which is 0 for a regression."""
    found = Predictions(**values)
    n_classes = sizes.get("c", 0)
    has_classes = any(one is not None for one in (found.confusion, found.roc, found.reliability))
    if n_classes and len(found.observed):
        raise ValueError("observed has rows of a classification")
    as_entries(list(found.predicted), "predicted", len(found.observed))
    if not n_classes and has_classes:
        raise ValueError("predictions of numbers have classes")
    if found.confusion is not None and not len(found.confusion) == n_classes <= MOST_CLASSES:
        raise ValueError(f"confusion is not of {n_classes} classes, or of more than {MOST_CLASSES}")
    if found.confusion is not None and np.isnan(found.confusion).any():
        raise ValueError("confusion has no number for some of the classes")
    if found.roc is not None:
        if n_classes != 2:
            raise ValueError("roc is not of two classes")
        if (found.roc > 1.0 + _ROUNDING).any():
            raise ValueError("roc has a number above 1")
        if (np.diff(found.roc) < -_ROUNDING).any():
            raise ValueError("roc falls")
    if found.reliability is not None and (found.reliability[1:] > 1.0 + _ROUNDING).any():
        raise ValueError("reliability has a share above 1")
    return found


# Files of older releases have none.
PREDICTIONS = Key(
    Codec(
        Predictions,
        {
            "n_rows": Whole(1),
            "observed": ArrayOf("*"),
            "predicted": ArrayOf("*"),
            "confusion": ArrayOf("C C", ERROR_OR_NULL),
            "roc": ArrayOf(f"{len(ROC_GRID)}", NOT_NEGATIVE),
            "reliability": ArrayOf(f"3 {N_BINS}", ERROR_OR_NULL),
        },
        make=_predictions,
    ),
    name="predictions",
    may_lack=True,
)
