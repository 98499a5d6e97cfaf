"""A linear model on some columns of X, computed by X's own operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_array

from .._base import (
    Float,
    as_float,
    checked_device_array,
    frame_numbers,
    location_of,
    numbers_on,
    numpy_of,
    other_namespace,
    send,
    take,
    to_device,
    true_indices,
)


def column_count(X: Any) -> int:
    """Return the number of columns of X; raise an error if X is not a table of numbers."""
    return int(_checked(X).shape[1])


def linear_values(X: Any, features: NDArray[np.intp], coef: Float, intercept: Float) -> Any:
    """Return X_S w + b, (m × t), with `coef` (t × k) and `intercept` (t).

    The result is a lazy Dask array for a Dask array or data frame, an array of the same kind on
    the same device for a device array, and a NumPy array otherwise.
    """
    X = _checked(X)
    if hasattr(X, "map_partitions"):
        chosen = X[[X.columns[index] for index in features]]
        parts = chosen.map_partitions(_of_frame, coef, intercept, meta=np.empty((0, len(coef))))
        return parts if hasattr(parts, "chunks") else parts.to_dask_array()
    if hasattr(X, "map_blocks"):
        X = X.rechunk({1: -1}) if len(X.chunks[1]) > 1 else X
        chunks = (X.chunks[0], (len(coef),))
        return X.map_blocks(_of_block, features, coef, intercept, dtype=np.float64, chunks=chunks)
    if other_namespace(X) is not None:
        return _on_device(X, features, coef, intercept)
    selected = X[:, features]
    columns = check_array(
        selected.toarray() if sparse.issparse(selected) else selected,
        dtype=np.float64,
        ensure_min_features=0,
        input_name="X (selected columns)",
    )
    return columns @ coef.T + intercept


def map_rows(
    function: Callable[[Float], NDArray[Any]], values: Any, width: int | None, dtype: Any
) -> Any:
    """Apply a function to rows of values, (m) or (m × t); return (m × width), or (m) without width.

    The result is a lazy Dask array for a Dask array, and is on the device for a device array, if
    the results are numbers.
    """
    if hasattr(values, "map_blocks"):
        if values.ndim == 1:
            return values.map_blocks(function, dtype=dtype)
        values = values.rechunk({1: -1})
        if width is None:
            return values.map_blocks(function, dtype=dtype, drop_axis=1)
        return values.map_blocks(function, dtype=dtype, chunks=(values.chunks[0], (width,)))
    if other_namespace(values) is None:
        return function(values)
    results = function(numpy_of(values))
    return send(location_of(values), results) if results.dtype.kind in "biuf" else results


def _checked(X: Any) -> Any:
    """Check that X is two-dimensional; a data frame in memory is converted to an array."""
    if hasattr(X, "__dask_graph__"):
        return X
    if other_namespace(X) is not None:
        return checked_device_array(X)
    return check_array(X, accept_sparse="csc", dtype="numeric", ensure_all_finite=False)


def _on_device(X: Any, features: NDArray[np.intp], coef: Float, intercept: Float) -> Any:
    location = location_of(X)
    weights, offset = to_device(
        location, np.ascontiguousarray(coef.T), np.asarray(intercept, float)
    )
    values = as_float(take(X, numbers_on(location, features))) @ weights + offset
    is_finite = location.xp.all(location.xp.isfinite(values), axis=1)
    if not bool(location.xp.all(is_finite)):
        row = int(true_indices(~is_finite)[0])
        raise ValueError(f"Input X contains NaN or infinity: a selected column, row {row}.")
    return values


def _of_block(block: Any, features: NDArray[np.intp], coef: Float, intercept: Float) -> Float:
    values: Float = np.asarray(block[:, features] @ coef.T) + intercept
    return values


def _of_frame(frame: Any, coef: Float, intercept: Float) -> Float:
    if not frame.shape[1]:  # no features were chosen: there is no column to take a type from
        return np.tile(intercept, (len(frame), 1))
    values: Float = frame_numbers(frame) @ coef.T + intercept
    return values
