"""Read folders of Parquet files as one table, with columns of hive partitions (year=2024)."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from ..._base import printable
from .._table import Column, InputError, Table
from ._arrow import converted
from ._cells import column_of_cells
from ._files import SUFFIXES, Source, guarded, need_pyarrow, shown
from ._header import PLAIN
from ._names import tidy
from ._remarks import Remarks
from ._stores import stored_column, without_row_names
from ._wanted import Wanted

# Hive and Spark write this for a missing value of a partition.
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


def parquet_files(folder: Path) -> list[Path]:
    """Return all Parquet files below a folder in order of names, without hidden files."""
    paths: list[Path] = []
    for directory, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        paths += [
            Path(directory, name)
            for name in files
            if not name.startswith((".", "_")) and name.lower().endswith(SUFFIXES["parquet"])
        ]
    return sorted(paths, key=lambda file: file.relative_to(folder).parts)


def files_of(source: Source) -> list[Path]:
    """Return the Parquet files of a folder, or raise an error if there are none."""
    files = parquet_files(source.path)
    if not files:
        raise InputError(f"{source}: is a directory without Parquet files; give one of its files.")
    return files


def read_folder(source: Source, wanted: Wanted) -> Table:
    """Read a table from all Parquet files in a folder, one after the other."""
    files = files_of(source)
    need_pyarrow(source)
    partitions = partitions_of(source, files)
    table = _joined(source, files, partitions)
    is_partition = set(partitions[0])
    names, remarks = tidy(table.column_names), Remarks()
    # If no column is used, the first one has the number of rows.
    used = wanted.used(names) or names.names[:1]
    table = table.select([names.names.index(name) for name in used])

    def convert(name: str, column: Any) -> Column:
        if name in is_partition:
            return column_of_cells(name, column, wanted, PLAIN, remarks)
        return stored_column(column, name, wanted, remarks)

    result = converted(source, table, wanted.as_text, convert, used)
    read = (f"Read {len(files)} Parquet files.",) if len(files) > 1 else ()
    return replace(
        result,
        columns={name: result.columns[name] for name in wanted.used(names)},
        names=tuple(names.names),
        notes=(*read, *wanted.name_notes(names), *remarks.sentences()),
    )


def partitions_of(source: Source, files: list[Path]) -> list[dict[str, str | None]]:
    """Return the partition columns in the folder names of each file."""
    partitions: list[dict[str, str | None]] = []
    for file in files:
        partition: dict[str, str | None] = {}
        for folder in file.relative_to(source.path).parts[:-1]:
            name, sign, value = folder.partition("=")
            if sign and name:
                partition[unquote(name)] = None if value == _NO_VALUE else unquote(value)
        if partitions and list(partition) != list(partitions[0]):
            raise InputError(
                f"{source}: {_named(source, files[0])} and {_named(source, file)} are in folders "
                f"of different partitions ({_keys(partitions[0])}; {_keys(partition)})."
            )
        partitions.append(partition)
    return partitions


def _keys(partition: dict[str, str | None]) -> str:
    return ", ".join(shown(name) for name in partition) or "none"


def _named(source: Source, file: Path) -> str:
    return printable(str(file.relative_to(source.path)))


def _joined(source: Source, files: list[Path], partitions: list[dict[str, str | None]]) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    tables: list[Any] = []
    for file, partition in zip(files, partitions, strict=True):
        with (
            guarded(source, f"Parquet file {_named(source, file)}"),
            pq.ParquetFile(str(file)) as parquet,
        ):
            table = parquet.read()
            table.validate(full=True)
            table = without_row_names(table)
        for name, value in partition.items():
            if name in table.column_names:
                raise InputError(
                    f"{source}: {_named(source, file)} has a column {shown(name)}, and its folder "
                    "is a partition of that name; rename one of the two."
                )
            column = pa.array([value] * len(table), pa.string())
            table = table.append_column(name, column)
        tables.append(_alike(source, tables[0], table, files[0], file) if tables else table)
    with guarded(source, "its Parquet files"):
        # Columns without values take their type from other files.
        return pa.concat_tables(tables, promote_options="default")


def _alike(source: Source, first: Any, table: Any, first_file: Path, other: Path) -> Any:
    """Return a table with the columns in the order of the first; fail if columns differ."""
    import pyarrow as pa

    files = f"{_named(source, first_file)} and {_named(source, other)}"
    for name in dict.fromkeys((*first.column_names, *table.column_names)):
        counts = [names.count(name) for names in (first.column_names, table.column_names)]
        if counts == [1, 1]:
            kinds = [part.schema.field(name).type for part in (first, table)]
            if kinds[0] != kinds[1] and pa.null() not in kinds:
                raise InputError(
                    f"{source}: column {shown(name)} differs between {files}: {kinds[0]} in the "
                    f"first, {kinds[1]} in the second."
                )
        elif 0 in counts:
            having = "first" if counts[0] else "second"
            raise InputError(f"{source}: of {files} only the {having} has a column {shown(name)}.")
    return table.select(first.column_names)
