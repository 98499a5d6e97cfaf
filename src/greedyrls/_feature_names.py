"""Features by number, name or mask."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._cluster import ClusterMatrix
from ._files import DataFile
from ._sparse_files import SparseFile

FeatureList = Sequence[int] | Sequence[str] | NDArray[Any]


def feature_names_of(X: Any) -> tuple[str, ...] | None:
    """Column names of a data frame whose names are all strings."""
    if isinstance(X, DataFile | SparseFile | ClusterMatrix):
        return X.feature_names
    columns = getattr(X, "columns", None)
    if columns is None or callable(columns):
        return None
    names = tuple(columns)
    return names if names and all(isinstance(name, str) for name in names) else None


def feature_indices(
    features: FeatureList | None, n: int, names: tuple[str, ...] | None, argument: str
) -> tuple[int, ...]:
    """Column numbers from numbers, names or a mask, in the order given."""
    if features is None:
        return ()
    if isinstance(features, str):
        raise TypeError(f"{argument} must be a list of features, got the string {features!r}.")
    if not isinstance(features, Iterable):
        raise TypeError(f"{argument} must be a list of features, got {features!r}.")
    values = list(features)
    if values and all(isinstance(value, bool | np.bool_) for value in values):
        if len(values) != n:
            raise ValueError(f"{argument} is a mask of length {len(values)}; X has {n} features.")
        return tuple(int(index) for index in np.flatnonzero(values))
    indices = [_feature_index(value, n, names, argument) for value in values]
    repeated = sorted({index for index in indices if indices.count(index) > 1})
    if repeated:
        raise ValueError(f"{argument} names feature {repeated[0]} more than once.")
    return tuple(indices)


def _feature_index(value: Any, n: int, names: tuple[str, ...] | None, argument: str) -> int:
    if isinstance(value, str):
        if names is None:
            raise ValueError(
                f"{argument} has the name {value!r}, but X has no column names; "
                "use column numbers, or pass a data frame (in a pipeline, "
                "set_output(transform='pandas') on the step before keeps them)."
            )
        if value not in names:
            raise ValueError(f"{argument} has {value!r}, which is not a column of X.")
        if names.count(value) > 1:
            raise ValueError(f"{argument} has {value!r}, but several columns have that name.")
        return names.index(value)
    if isinstance(value, numbers.Integral):
        index = int(value)
        if not 0 <= index < n:
            raise ValueError(f"{argument} has {index}; features of X are numbered 0 to {n - 1}.")
        return index
    raise TypeError(f"{argument} must hold column numbers or names, got {value!r}.")
