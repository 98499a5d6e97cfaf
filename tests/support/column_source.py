"""An array as a file that is stored by columns, as HDF5, Zarr and PLINK files may be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from greedyrls.files import DataFile


class ArrayColumns:
    """Columns of an array, two of which are stored together."""

    step, overhead, name = 2, 0, "columns"

    def __init__(self, X: Any) -> None:
        self._X = X
        self.shape, self.dtype = X.shape, X.dtype

    def read_columns(self, columns: Any, rows: Any) -> Any:
        return np.asfortranarray(self._X[rows][:, columns])

    def read(self, start: int, stop: int) -> Any:
        return self._X[start:stop].copy()

    def chunks(self, height: int) -> Iterator[Any]:
        for top in range(0, len(self._X), height):
            yield self.read(top, top + height)


def by_columns(X: Any, memory_limit: str = "30MB") -> DataFile:
    """X as such a file."""
    return DataFile(ArrayColumns(X), memory_limit)
