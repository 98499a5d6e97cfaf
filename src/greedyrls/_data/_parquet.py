"""Rows in Parquet files: read in batches through pyarrow, which is loaded only here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base import required
from ._file_sources import NUMERIC


def _pyarrow() -> tuple[Any, Any]:
    missing = "Parquet files need pyarrow: pip install pyarrow."
    return required("pyarrow", missing), required("pyarrow.parquet", missing)


def parquet_files(path: Path) -> list[Path]:
    """Return a file, or all files of a folder and its subfolders sorted by name."""
    if not path.exists():
        raise FileNotFoundError(f"There is no file or folder {path}.")
    if not path.is_dir():
        return [path]
    files = sorted(
        file
        for pattern in ("*.parquet", "*.pq")
        for file in path.rglob(pattern)
        if not file.name.startswith((".", "_"))
    )
    if not files:
        raise FileNotFoundError(f"There is no *.parquet file in {path}.")
    return files


class ParquetSource:
    """Numeric columns of Parquet files with the same schema, one file after the other."""

    def __init__(
        self, files: Sequence[Path], columns: Sequence[str] | None, leave_out: Sequence[str] = ()
    ) -> None:
        self._files = list(files)
        schema = self._open(self._files[0]).schema_arrow
        if columns is None:
            columns = [name for name in schema.names if name not in leave_out]
        self.names = tuple(columns)
        if not self.names:
            raise ValueError(f"{self._files[0]} has no columns to select from.")
        types = _types(schema, self.names, self._files[0])
        self._starts = [0]
        self.overhead = 0  # bytes of memory for the largest row group
        self.name = str(self._files[0])
        for file in self._files:
            opened = self._open(file)
            if _types(opened.schema_arrow, self.names, file) != types:
                raise ValueError(f"{file} has columns of other types than {self._files[0]}.")
            self._starts.append(self._starts[-1] + opened.metadata.num_rows)
            # A row group is decoded a batch at a time, but its pages stay in memory.
            sizes = [
                opened.metadata.row_group(group).total_byte_size
                for group in range(opened.metadata.num_row_groups)
            ]
            self.overhead = max(self.overhead, *sizes, 0)
        self.shape, self.dtype = (self._starts[-1], len(self.names)), np.result_type(*types)

    def chunks(self, height: int) -> Iterator[NDArray[Any]]:
        """Yield all rows in order; chunks do not extend over files."""
        for number in range(len(self._files)):
            yield from self._batches(number, height)

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return consecutive rows; all batches up to the last of them are decoded."""
        parts = [np.empty((0, len(self.names)), dtype=self.dtype)]
        for number, (first, last) in enumerate(
            zip(self._starts[:-1], self._starts[1:], strict=True)
        ):
            top = first
            if last <= start or first >= stop:
                continue
            for chunk in self._batches(number, 1024):
                inside = slice(max(0, start - top), max(0, stop - top))
                parts.append(chunk[inside])
                top += len(chunk)
                if top >= stop:
                    break
        return np.concatenate(parts)

    def values(self, names: Sequence[str]) -> list[NDArray[Any]]:
        """Return whole columns in memory."""
        result = []
        for name in names:
            parts = []
            for file in self._files:
                opened = self._open(file)
                if name not in opened.schema_arrow.names:
                    raise ValueError(f"{file} has no column {name!r}.")
                column = opened.read(columns=[name]).column(name)
                _refuse_missing(column, name, file)
                parts.append(column.to_numpy())
            result.append(np.concatenate(parts))
        return result

    def _open(self, path: Path) -> Any:
        arrow, parquet = _pyarrow()
        try:
            return parquet.ParquetFile(path, pre_buffer=False)
        except (arrow.ArrowException, OSError) as error:
            raise _damaged(path, error) from error

    def _batches(self, number: int, height: int) -> Iterator[NDArray[Any]]:
        arrow, _ = _pyarrow()
        path = self._files[number]
        opened = self._open(path)
        n_rows = self._starts[number + 1] - self._starts[number]
        if opened.metadata.num_rows != n_rows:
            raise OSError(
                f"{path} has {opened.metadata.num_rows} rows; when it was opened it had {n_rows}."
            )
        batches = opened.iter_batches(height, columns=list(self.names), use_threads=False)
        while True:
            try:
                batch = next(batches, None)
            except (arrow.ArrowException, OSError) as error:
                raise _damaged(path, error) from error
            if batch is None:
                return
            yield self._converted(batch, path)

    def _converted(self, batch: Any, path: Path) -> NDArray[Any]:
        """Convert a batch to an array, column by column."""
        values = np.empty((len(self.names), batch.num_rows), dtype=self.dtype)
        for index, name in enumerate(self.names):
            column = batch.column(batch.schema.get_field_index(name))
            _refuse_missing(column, name, path)
            values[index] = column.to_numpy(zero_copy_only=False)
        return values.T


def _types(schema: Any, names: Sequence[str], path: Path) -> list[np.dtype[Any]]:
    """Return the NumPy types of columns; raise an error if one is missing or not numeric."""
    types = []
    for name in names:
        count = schema.names.count(name)
        if count != 1:
            what = "no column" if count == 0 else f"{count} columns named"
            raise ValueError(f"{path} has {what} {name!r}.")
        kind = schema.field(name).type
        try:
            dtype = np.dtype(kind.to_pandas_dtype())
        except (NotImplementedError, TypeError):  # lists, maps and other types that NumPy lacks
            dtype = np.dtype(object)
        if dtype.kind not in NUMERIC:
            raise ValueError(
                f"Column {name!r} of {path} is not numeric ({kind}); leave it out with columns=, "
                "or write it as numbers."
            )
        types.append(dtype)
    return types


def _refuse_missing(column: Any, name: str, path: Path) -> None:
    if column.null_count:
        raise ValueError(
            f"Column {name!r} of {path} has missing values; fill them in, or drop the column "
            "(columns=) or those rows."
        )


def _damaged(path: Path, error: Exception) -> ValueError:
    return ValueError(f"{path} cannot be read as Parquet; is it complete? ({error})")
