"""Tables for tests: one in every format, columns as plain lists, errors of one line."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, feather
from pyarrow import parquet as pq

from internals import Column, InputError, Numbers, Table, Texts, read_table

MIXED = pa.table(
    {
        "length": pa.array([1.5, None, -2e300, 0.1, float("inf")]),
        "count": pa.array([3, -1, None, 0, 2**40]),
        "used": pa.array([True, False, None, True, True]),
        'colour, and "more"': pa.array(["red", None, "grün, hell", 'say "hi"', "red"]),
        "zip": pa.array(["01234", "10000", "01234", None, "7"]),
        "nothing": pa.nulls(5),
    }
)
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda content: pa.compress(content, "zstd", asbytes=True),
}


def csv_bytes(table: pa.Table, delimiter: str = ",") -> bytes:
    sink = pa.BufferOutputStream()
    csv.write_csv(table, sink, csv.WriteOptions(delimiter=delimiter))
    return sink.getvalue().to_pybytes()


def ipc_bytes(table: pa.Table, is_stream: bool, batch: int | None = None) -> bytes:
    sink = pa.BufferOutputStream()
    writer = pa.ipc.new_stream if is_stream else pa.ipc.new_file
    with writer(sink, table.schema) as file:
        file.write_table(table, batch)
    return sink.getvalue().to_pybytes()


def write(table: pa.Table, path: Path) -> Path:
    """Write a table in the format that the suffix stands for."""
    kind, *packed = path.suffixes
    if kind in (".csv", ".txt", ".tsv", ".tab"):
        content = csv_bytes(table, "\t" if kind in (".tsv", ".tab") else ",")
        path.write_bytes(PACKERS[packed[0]](content) if packed else content)
    elif kind in (".parquet", ".pq"):
        pq.write_table(table, path)
    elif kind == ".feather":
        feather.write_feather(table, path)
    else:
        path.write_bytes(ipc_bytes(table, is_stream=kind == ".ipc"))
    return path


def write_bytes(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def plain(column: Column) -> tuple[Any, ...]:
    """A column as something that can be compared."""
    if isinstance(column, Numbers):
        assert column.values.dtype == np.float64
        assert column.values.ndim == 1
        values = [None if np.isnan(value) else value for value in column.values.tolist()]
        kind = "flag" if column.is_flag else "whole" if column.is_whole else "number"
        return (kind, *values)
    if isinstance(column, Texts):
        assert column.codes.dtype == np.int32
        assert list(column.levels) == sorted(set(column.levels))
        assert set(column.codes.tolist()) - {-1} == set(range(len(column.levels)))
        return ("text", *column.strings())
    return ("unusable", column.what)


def columns_of(table: Table) -> dict[str, tuple[Any, ...]]:
    assert all(
        isinstance(column, Numbers | Texts) is False or column.is_missing.shape == (table.n_rows,)
        for column in table.columns.values()
    )
    return {name: plain(column) for name, column in table.columns.items()}


def read_columns(path: Path, **options: Any) -> dict[str, tuple[Any, ...]]:
    return columns_of(read_table(path, **options))


def failure(path: Path, **options: Any) -> str:
    """The message of the error that reading raises: one line that names the file."""
    with pytest.raises(InputError) as caught:
        read_table(path, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert message.isprintable()
    assert path.name in message
    return message
