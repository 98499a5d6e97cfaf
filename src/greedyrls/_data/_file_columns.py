"""Columns in a temporary file: what a cache of columns writes there when memory is full.

To read a column of X again would cost as much as to read everything, so none is thrown away.
"""

from __future__ import annotations

import tempfile
import weakref
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._file_sources import bytes_of, read_into
from ._matrix import Rows


class ColumnFile:
    """Columns of `n_rows` numbers each, in the type that they have in X."""

    def __init__(self, n_rows: int, dtype: np.dtype[Any]) -> None:
        self._n_rows = n_rows
        self._dtype = dtype
        self.column_bytes = max(1, n_rows * dtype.itemsize)
        self._slots: dict[int, int] = {}  # by feature, which column of the file it is
        self._file: Any = None

    def _seek(self, index: int, row: int) -> None:
        """Go to a row of a column."""
        slot = self._slots.setdefault(index, len(self._slots))
        self._file.seek(slot * self.column_bytes + row * self._dtype.itemsize)

    def write(self, index: int, values: NDArray[Any], first: int = 0) -> None:
        """Write rows of a column, from row `first` on."""
        if self._file is None:
            self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 (closed with this)
            weakref.finalize(self, self._file.close)
        try:
            self._seek(index, first)
            view = bytes_of(np.ascontiguousarray(values))
            while len(view):
                view = view[self._file.write(view) :]
        except OSError as error:
            raise OSError(
                f"Columns of X could not be kept in a temporary file ({error}). Raise "
                "memory_limit, or set TMPDIR to a folder with enough space; it is now "
                f"{tempfile.gettempdir()}."
            ) from error

    def read(self, index: int, rows: Rows) -> NDArray[Any]:
        """Read rows of a column that was written."""
        first, count = 0, self._n_rows
        if isinstance(rows, slice):
            first, stop, _ = rows.indices(self._n_rows)
            count, rows = max(0, stop - first), slice(None, None, rows.step)
        values = np.empty(count, dtype=self._dtype)
        self._seek(index, first)
        read_into(self._file, values, "the temporary file of columns was cut short")
        return values[rows]
