"""Conversion of data frames to arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def frame_numbers(frame: Any) -> NDArray[Any]:
    """Return the values of a data frame as numbers, with NaN for missing values."""
    kinds = list(frame.dtypes)
    for index, kind in enumerate(kinds):
        if kind.kind not in "biuf":
            value = f" ({frame.iloc[0, index]!r}, …)" if len(frame) else ""
            raise ValueError(
                f"X must be numeric: column {index} ({str(frame.columns[index])!r}) is {kind}"
                f"{value}. Encode text columns first (dask_ml.preprocessing, or "
                "pandas.get_dummies in map_partitions) or drop them."
            )
    if all(isinstance(kind, np.dtype) for kind in kinds):
        values: NDArray[Any] = frame.to_numpy(dtype=np.result_type(*kinds))
    else:
        values = frame.to_numpy(dtype=np.float64, na_value=np.nan)
    return values
