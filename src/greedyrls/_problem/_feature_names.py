"""Selection of features by number, name or mask."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
import sklearn
from numpy.typing import NDArray

# Up to 1.8 scikit-learn asks frames other than those of pandas for their names by the interchange
# protocol, which polars no longer has.
_ASKS_BY_PROTOCOL = tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 9)

FeatureList = Sequence[int] | Sequence[str] | NDArray[Any]


def feature_names_of(X: Any) -> tuple[str, ...] | None:
    """Return the column names of a data frame or file if all are strings, else None."""
    if hasattr(X, "feature_names"):  # a file, or data on a cluster
        declared: tuple[str, ...] | None = X.feature_names
        return declared
    columns = getattr(X, "columns", None)
    if columns is None or callable(columns):
        return None
    names = tuple(columns)
    return names if names and all(isinstance(name, str) for name in names) else None


def with_names(X: Any) -> Any:
    """Wrap a data frame so that scikit-learn's `validate_data` finds its column names."""
    if not _ASKS_BY_PROTOCOL or hasattr(X, "__dataframe__") or not hasattr(X, "columns"):
        return X
    names = feature_names_of(X)
    return X if names is None else _NamedFrame(X, names)


class _NamedFrame:
    """A data frame with the part of the interchange protocol that scikit-learn uses."""

    def __init__(self, frame: Any, names: tuple[str, ...]) -> None:
        self._frame = frame
        self._names = names
        self.shape: tuple[int, int] = frame.shape

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        values = np.asarray(self._frame, dtype=dtype)
        return values.copy() if copy else values

    def __dataframe__(self, **options: Any) -> Self:
        return self

    def column_names(self) -> tuple[str, ...]:
        """Return the names of the columns."""
        return self._names


def feature_indices(
    features: FeatureList | None, n: int, names: tuple[str, ...] | None, argument: str
) -> tuple[int, ...]:
    """Return column numbers for numbers, names or a mask, in the given order."""
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
