"""Checks of a user's values: columns of X, targets, and values for each row."""

from __future__ import annotations

import datetime
import numbers
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ._feature_names import feature_names_of

DATES = datetime.date | datetime.time | datetime.timedelta | np.datetime64 | np.timedelta64
# Names of the date and time types of Polars.
_POLARS_DATES = ("Date", "Datetime", "Duration", "Time")
_LONGEST = 60


@contextmanager
def named_columns(X: Any) -> Iterator[None]:
    """Replace errors of scikit-learn's check of X by ones that name the column and the value."""
    index = _first_date_type(X)
    if index is not None:
        raise ValueError(_message(X, index, *_first_date(X, index)))
    try:
        yield
    except (TypeError, ValueError) as error:
        first_text = _first_text(X)
        if first_text is None:
            raise
        raise ValueError(_message(X, *first_text)) from error


def numeric(X: Any) -> Any:
    """Convert an array of objects, as scikit-learn returns for some data frames, to floats."""
    is_object = isinstance(X, np.ndarray) and X.dtype.kind == "O"
    return X.astype(np.float64) if is_object else X


def _first_date_type(X: Any) -> int | None:
    """Return the index of the first column of dates, times or durations."""
    if isinstance(X, np.ndarray):
        return 0 if X.dtype.kind in "mM" and X.ndim == 2 else None
    if feature_names_of(X) is None and not hasattr(X, "dtypes"):
        return None
    for index, dtype in enumerate(getattr(X, "dtypes", ())):
        is_polars = type(dtype).__module__.startswith("polars")
        if getattr(dtype, "kind", "") in ("m", "M") or (
            is_polars and str(dtype).split("(")[0] in _POLARS_DATES
        ):
            return index
    return None


def _first_date(X: Any, index: int) -> tuple[int, Any]:
    """Return the first row of a column of dates that is not missing, and its value."""
    column: Any = X[:, index] if isinstance(X, np.ndarray) else X[list(X.columns)[index]]
    if type(column).__module__.startswith("polars"):
        # Early releases of Polars crash if NumPy converts their dates.
        dates = [(row, value) for row, value in enumerate(column.to_list()) if value is not None]
        return dates[0] if dates else (0, "a date")
    values = np.asarray(column)
    if values.ndim != 1 or values.dtype.kind not in "mM":
        return 0, "a date"
    present = np.flatnonzero(~np.isnat(values))
    row = int(present[0]) if len(present) else 0
    return row, values[row]


def _first_text(X: Any) -> tuple[int, int, Any] | None:
    """Return column, row and value of the first text or date, or None."""
    if sparse.issparse(X) or (isinstance(X, np.ndarray) and X.dtype.kind not in "OUS"):
        return None
    try:
        values = np.asarray(X, dtype=object)
    except (TypeError, ValueError):
        return None
    if values.ndim != 2:
        return None
    is_text = isinstance(X, np.ndarray) and X.dtype.kind in "US"
    cells = [
        (index, row, value)
        for index, column in enumerate(values.T)
        for row, value in enumerate(column)
        if isinstance(value, DATES | str | bytes)
    ]
    for cell in cells:
        if is_text or isinstance(cell[2], DATES) or not _is_number(cell[2]):
            return cell
    # NumPy converts a list of rows to text, numbers included, if any value is text.
    return cells[0] if cells else None


def _is_number(value: str | bytes) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def _message(X: Any, index: int, row: int, value: Any) -> str:
    names = feature_names_of(X)
    which = f"column {index}" if names is None else f"column {names[index]!r}"
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
