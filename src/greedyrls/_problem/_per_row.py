"""Validation of values for each row: groups, labels, fold ids."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray


def one_per_row(values: Any, n_samples: int, name: str) -> NDArray[Any]:
    """Return a one-dimensional array of comparable values, one for each row, none missing."""
    # As objects, because NumPy would convert None and NaN among strings to strings.
    items = np.asarray(values, dtype=None if hasattr(values, "__array__") else object)
    if items.ndim != 1:
        raise ValueError(f"{name} must be 1-D, a value for each row; got shape {items.shape}.")
    if len(items) != n_samples:
        raise ValueError(
            f"{name} has {len(items)} values, but there are {n_samples} rows; give one for each."
        )
    is_object = items.dtype.kind in "OT"
    missing = np.array([is_missing(item) for item in items]) if is_object else items != items
    if missing.any():
        row = int(np.argmax(missing))
        raise ValueError(
            f"{name} has a missing value: row {row} is {items[row]}. Give every row a value."
        )
    if not is_object:
        return items
    if all(isinstance(item, str) for item in items):
        return np.array(items.tolist(), dtype=str)
    if all(isinstance(item, numbers.Real) for item in items):
        return np.array(items.tolist())
    try:
        np.unique(items)
    except TypeError as error:
        raise ValueError(
            f"{name} has values that cannot be sorted ({error}); use all numbers or all strings."
        ) from error
    return items


def is_missing(item: Any) -> bool:
    """Whether a value is None, NaN or another missing value."""
    try:
        return item is None or bool(item != item)
    except (TypeError, ValueError):  # pandas.NA refuses to be true or false
        return True
