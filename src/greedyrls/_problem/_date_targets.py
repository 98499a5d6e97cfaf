"""Rejects targets that are dates, which would be converted to micro- or nanoseconds."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np

DATES = datetime.date | datetime.time | datetime.timedelta | np.datetime64 | np.timedelta64


def refuse_dates(y: Any) -> None:
    """Raise an error if y, an array, data frame or list, has dates, times or durations."""
    what = _type_of_dates(y)
    if what is not None:
        raise ValueError(
            f"y has dates or times ({what}); convert them to numbers first, such as the days since "
            "a date."
        )


def _type_of_dates(y: Any) -> str | None:
    # A Dask series has columns, too, but a single type.
    types = [y.dtype] if hasattr(y, "dtype") else list(getattr(y, "dtypes", [None]))
    for dtype in types:
        is_polars = type(dtype).__module__.startswith("polars")
        if getattr(dtype, "kind", "") in ("m", "M") or (
            is_polars and getattr(dtype, "is_temporal", bool)()
        ):
            return str(dtype)
    has_objects = isinstance(y, list | tuple) or any(
        getattr(dtype, "kind", "") == "O" for dtype in types
    )
    if not has_objects or type(y).__module__.startswith("dask"):  # Dask would have to compute it
        return None
    try:
        values = np.asarray(y, dtype=object).ravel()
    except (TypeError, ValueError):  # lists of different lengths are rejected elsewhere
        return None
    first = next((value for value in values if isinstance(value, DATES)), None)
    return None if first is None else type(first).__name__
