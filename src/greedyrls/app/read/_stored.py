"""Open files whose columns are read a few at a time, or a few rows at a time, within a limit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..._data import size_in_words
from .._table import Column, InputError, Table, Texts
from ._arrow import as_floats, texts_of
from ._columns import number_of, without_marked
from ._files import Format, Source, guarded, need_pyarrow
from ._folder import files_of, partitions_of
from ._matrices import MatrixFile, column_of_array, open_matrix
from ._names import Names, tidy
from ._remarks import Remarks
from ._stores import is_row_name, stored_column
from ._wanted import Wanted

# Formats that can be read in parts.
STORED: tuple[Format, ...] = ("parquet", "folder", "npy", "hdf5", "zarr", "plink")


class RawRows(NamedTuple):
    """Some rows of a file: columns of numbers (rows × c), NaN if missing, and columns of text."""

    numbers: NDArray[Any]
    texts: dict[str, Texts]


class Reader(Protocol):
    """A file that can be read by columns and by rows."""

    names: Names  # of all columns
    n_rows: int
    target: str | None  # the default one, if the format has one
    hint: str  # where to look for missing columns
    in_memory: frozenset[str]  # columns that are loaded in any case
    marks: list[float]  # numbers in rows and columns of the matrix that count as missing
    overhead: int  # bytes of memory that reading takes besides the rows
    by_columns: MatrixFile | None  # if columns of numbers are read without a pass

    def columns(self, names: Sequence[str], remarks: Remarks) -> dict[str, Column]:
        """Return whole columns; `remarks` say how texts were read as numbers."""

    def chunks(
        self,
        numbers: Sequence[str],
        texts: Sequence[str],
        height: int,
        start: int = 0,
        stop: int | None = None,
    ) -> Iterator[RawRows]:
        """Yield rows in order, at most `height` at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredColumns:
    """Columns of a table that stay in the file."""

    reader: Reader
    names: tuple[str, ...]
    memory_limit: int  # bytes
    missing: tuple[str, ...]  # texts that count as missing, besides the usual ones

    def blocks(self) -> Iterator[dict[str, Column]]:
        """Yield all columns, as many at a time as take a quarter of the memory."""
        width = max(1, self.memory_limit // (32 * max(1, self.reader.n_rows)))
        for first in range(0, len(self.names), width):
            columns = self.reader.columns(self.names[first : first + width], Remarks())
            yield {name: without_marked(column, self.missing) for name, column in columns.items()}


def read_in_parts(
    source: Source, wanted: Wanted, in_memory: frozenset[str], memory_limit: int
) -> Table:
    """Return a table with some columns in memory; the others stay in the file."""
    reader = _reader(source, wanted)
    used, remarks = wanted.used(reader.names), Remarks()
    in_memory |= reader.in_memory
    columns = reader.columns([name for name in used if name in in_memory], remarks)
    names = tuple(name for name in used if name not in in_memory)
    return Table(
        source.name,
        columns,
        reader.n_rows,
        reader.target,
        tuple(reader.names.names),
        notes=(
            f"Read in parts, within {size_in_words(memory_limit)} of memory.",
            *wanted.name_notes(reader.names),
            *remarks.sentences(),
        ),
        hint=reader.hint,
        stored=StoredColumns(reader, names, memory_limit, wanted.missing),
    )


def size_of(source: Source) -> int:
    """Return the bytes that a file which can be read in parts takes as a table in memory."""
    reader = _reader(source, Wanted())
    return 8 * reader.n_rows * len(reader.names.names)


def _reader(source: Source, wanted: Wanted) -> Reader:
    if source.format in ("parquet", "folder"):
        return ParquetReader(source, wanted)
    if source.format in STORED:
        return MatrixReader(source, wanted)
    raise InputError(
        f"{source}: a file of this format is loaded whole, so that --memory-limit is not supported "
        "with it. Leave it out, or write the table as Parquet, which is read in parts."
    )


class MatrixReader:
    """A matrix of numbers with vectors, in a .npy, HDF5, Zarr or PLINK file."""

    def __init__(self, source: Source, wanted: Wanted) -> None:
        self._source, self._wanted = source, wanted
        file = self._file = open_matrix(source)
        self._as_text = wanted.as_text
        self.names, self.n_rows = file.names, file.n_rows
        self.target, self.hint = file.target, file.hint
        self.in_memory = frozenset(file.vectors)
        # True and false are never missing.
        self.marks = [] if file.X.dtype.kind == "b" else _marks(wanted)
        self.overhead = int(file.X.overhead)
        self.by_columns = file if hasattr(file.X, "read_columns") else None

    def columns(self, names: Sequence[str], remarks: Remarks) -> dict[str, Column]:
        """Return whole columns."""
        arrays = self._file.read(names)
        return {name: column_of_array(arrays[name], name in self._as_text) for name in names}

    def chunks(
        self,
        numbers: Sequence[str],
        texts: Sequence[str],
        height: int,
        start: int = 0,
        stop: int | None = None,
    ) -> Iterator[RawRows]:
        """Yield rows in order, at most `height` at a time."""
        assert not texts
        positions, X = self._file.positions(numbers), self._file.X
        rows: Iterator[NDArray[Any]] = X.chunks(height)
        if start or stop is not None:
            end = self.n_rows if stop is None else stop
            tops = range(start, end, height)
            rows = (X.read(top, min(end, top + height)) for top in tops)
        for chunk in rows:
            yield RawRows(_taken(chunk, positions), {})

    def __reduce__(self) -> Any:
        return _reader, (_reachable(self._source), self._wanted)


def _reachable(source: Source) -> Source:
    """Return a file as other processes find it."""
    return replace(source, path=source.path.absolute())


def _marks(wanted: Wanted) -> list[float]:
    """Return the numbers that count as missing."""
    numbers = [number_of(text) for text in wanted.missing]
    return [number for number in numbers if number is not None]


def _taken(chunk: NDArray[Any], positions: NDArray[np.intp]) -> NDArray[Any]:
    """Return columns of a chunk; a view if these are all."""
    if np.array_equal(positions, np.arange(chunk.shape[1])):
        return chunk
    return np.take(chunk, positions, axis=1)


class ParquetReader:
    """Parquet files with the same columns, one file after the other."""

    by_columns: MatrixFile | None = None
    target: str | None = None
    hint = ""
    in_memory: frozenset[str] = frozenset()

    def __init__(self, source: Source, wanted: Wanted) -> None:
        need_pyarrow(source)
        self._source, self._wanted = source, wanted
        self.marks: list[float] = []  # they are replaced here, column by column
        self._files = [source.path]
        if source.format == "folder":
            self._files = files_of(source)
            if partitions_of(source, self._files)[0]:
                raise InputError(
                    f"{source}: its folders are partitions (name=value), which --memory-limit does "
                    "not support. Leave it out, or write the table to files without partitions."
                )
        opened = [self._open(file) for file in self._files]
        schema = opened[0].schema_arrow
        stored = [name for name in schema.names if not is_row_name(name)]
        for file, other in zip(self._files, opened, strict=True):
            if other.schema_arrow.remove_metadata() != schema.remove_metadata():
                raise InputError(
                    f"{source}: {file.name} has other columns or types than {self._files[0].name}."
                )
        if len(set(stored)) < len(stored):
            raise InputError(
                f"{source}: several of its columns have the same name, which --memory-limit does "
                "not support; rename them."
            )
        self.names = tidy(stored)
        self._stored_name = dict(zip(self.names.names, stored, strict=True))
        self.n_rows = sum(file.metadata.num_rows for file in opened)
        # A row group is decoded a batch at a time, but its pages stay in memory.
        self.overhead = max(
            (
                file.metadata.row_group(group).total_byte_size
                for file in opened
                for group in range(file.metadata.num_row_groups)
            ),
            default=0,
        )

    def columns(self, names: Sequence[str], remarks: Remarks) -> dict[str, Column]:
        """Return whole columns; `remarks` say how texts were read as numbers."""
        import pyarrow as pa

        stored = [self._stored_name[name] for name in names]
        with guarded(self._source, "its Parquet data"):
            parts = [self._open(file).read(columns=stored) for file in self._files]
            for part in parts:
                part.validate(full=True)
            table = pa.concat_tables(part.select(stored) for part in parts)
            return {
                name: stored_column(table.column(index), name, self._wanted, remarks)
                for index, name in enumerate(names)
            }

    def chunks(
        self,
        numbers: Sequence[str],
        texts: Sequence[str],
        height: int,
        start: int = 0,
        stop: int | None = None,
    ) -> Iterator[RawRows]:
        """Yield rows in order, at most `height` at a time; chunks do not extend over files."""
        import pyarrow as pa

        stored, marks = (
            [self._stored_name[name] for name in (*numbers, *texts)],
            _marks(self._wanted),
        )
        end = self.n_rows if stop is None else stop
        for file, groups, top in self._groups(start, end):
            for batch in self._batches(file, stored, height, groups):
                first, last = max(0, start - top), min(batch.num_rows, end - top)
                top += batch.num_rows
                if last <= first:
                    continue
                batch = batch.slice(first, last - first)
                values = np.empty((len(numbers), batch.num_rows))
                for index in range(len(numbers)):
                    column = batch.column(stored[index])
                    values[index] = as_floats(column)
                    if marks and not pa.types.is_boolean(column.type):
                        values[index, np.isin(values[index], marks)] = np.nan
                yield RawRows(
                    values.T,
                    {
                        name: texts_of(pa.chunked_array([batch.column(self._stored_name[name])]))
                        for name in texts
                    },
                )

    def _groups(self, start: int, stop: int) -> Iterator[tuple[Path, list[int], int]]:
        """Yield files with the row groups that have some of the rows, and their first row."""
        top = 0
        for file in self._files:
            metadata = self._open(file).metadata
            counts = [
                metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)
            ]
            ends = top + np.cumsum(counts)
            inside = [
                group
                for group, (end, count) in enumerate(zip(ends, counts, strict=True))
                if end > start and end - count < stop
            ]
            if inside:
                yield file, inside, int(ends[inside[0]]) - counts[inside[0]]
            top += metadata.num_rows

    def _batches(
        self, file: Path, stored: list[str], height: int, groups: list[int]
    ) -> Iterator[Any]:
        with guarded(self._source, "its Parquet data"):
            opened = self._open(file)
            yield from opened.iter_batches(
                height, row_groups=groups, columns=stored, use_threads=False
            )

    def __reduce__(self) -> Any:
        return _reader, (_reachable(self._source), self._wanted)

    def _open(self, file: Path) -> Any:
        import pyarrow.parquet as pq

        with guarded(self._source, "its Parquet data"):
            return pq.ParquetFile(file, pre_buffer=False)
