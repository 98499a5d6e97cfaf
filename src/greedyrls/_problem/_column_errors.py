"""Errors about columns of X that are no numbers: which column, which value, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse

from ._date_targets import DATES
from ._feature_names import feature_names_of

# How polars calls its types of time.
_POLARS_DATES = ("Date", "Datetime", "Duration", "Time")
_LONGEST = 60


@contextmanager
def named_columns(X: Any) -> Iterator[None]:
    """Around scikit-learn's check of X, whose errors name neither the column nor the value."""
    place = _first_date_type(X)
    if place is not None:
        raise ValueError(_message(X, place, *_first_date(X, place)))
    try:
        yield
    except (TypeError, ValueError) as error:
        found = _first_text(X)
        if found is None:
            raise
        raise ValueError(_message(X, *found)) from error


def numeric(X: Any) -> Any:
    """X, whose objects are made numbers: scikit-learn leaves those of some frames as they are."""
    is_object = isinstance(X, np.ndarray) and X.dtype.kind == "O"
    return X.astype(np.float64) if is_object else X


def _first_date_type(X: Any) -> int | None:
    """The first column whose type is that of dates, times or durations."""
    if isinstance(X, np.ndarray):
        return 0 if X.dtype.kind in "mM" and X.ndim == 2 else None
    if feature_names_of(X) is None and not hasattr(X, "dtypes"):
        return None
    for place, dtype in enumerate(getattr(X, "dtypes", ())):
        is_polars = type(dtype).__module__.startswith("polars")
        if getattr(dtype, "kind", "") in ("m", "M") or (
            is_polars and str(dtype).split("(")[0] in _POLARS_DATES
        ):
            return place
    return None


def _first_date(X: Any, place: int) -> tuple[int, Any]:
    """A row of a column of dates that has one, and its value."""
    column: Any = X[:, place] if isinstance(X, np.ndarray) else X[list(X.columns)[place]]
    if type(column).__module__.startswith("polars"):
        # Early releases of Polars crash where NumPy asks for their dates.
        found = [(row, value) for row, value in enumerate(column.to_list()) if value is not None]
        return found[0] if found else (0, "a date")
    values = np.asarray(column)
    if values.ndim != 1 or values.dtype.kind not in "mM":
        return 0, "a date"
    known = np.flatnonzero(~np.isnat(values))
    row = int(known[0]) if len(known) else 0
    return row, values[row]


def _first_text(X: Any) -> tuple[int, int, Any] | None:
    """The column and row of the first value that is text or a date, and the value."""
    if sparse.issparse(X) or (isinstance(X, np.ndarray) and X.dtype.kind not in "OUS"):
        return None
    try:
        values = np.asarray(X, dtype=object)
    except (TypeError, ValueError):
        return None
    if values.ndim != 2:
        return None
    is_text = isinstance(X, np.ndarray) and X.dtype.kind in "US"
    for place, column in enumerate(values.T):
        for row, value in enumerate(column):
            if isinstance(value, DATES) or (
                isinstance(value, str | bytes) and (is_text or not _is_number(value))
            ):
                return place, row, value
    # A list of rows with a text among them is an array of text, numbers and all.
    for place, column in enumerate(values.T):
        for row, value in enumerate(column):
            if isinstance(value, str | bytes):
                return place, row, value
    return None


def _is_number(value: str | bytes) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def _message(X: Any, place: int, row: int, value: Any) -> str:
    names = feature_names_of(X)
    which = f"column {place}" if names is None else f"column {names[place]!r}"
    shown = str(value) if not isinstance(value, str) else repr(str(value))
    if len(shown) > _LONGEST:
        shown = f"{shown[: _LONGEST - 1]}…"
    if isinstance(value, DATES) or value == "a date":
        return (
            f"X must be numeric: {which} has dates ({shown} in row {row}). Convert them to numbers "
            "first, such as the year, the month or the days since a date, or leave the column out."
        )
    if _is_number(value):
        return (
            f"X must be numeric: {which} has numbers written as text ({shown} in row {row}). "
            "Convert your data first, for example by X.astype(float)."
        )
    return (
        f"X must be numeric: {which} has text ({shown} in row {row}). Encode it first, for example "
        "with sklearn.preprocessing.OneHotEncoder, or leave the column out."
    )
