"""Parquet, Arrow and Feather files."""

from __future__ import annotations

import re
from typing import Any

from .._table import Table
from ._arrow import column_of, converted
from ._files import Source, guarded, need_pyarrow

# The names under which pandas stores the row names of a data frame that has none.
_ROW_NAMES = re.compile(r"__index_level_\d+__")


def read_parquet(source: Source, as_text: frozenset[str]) -> Table:
    """A table from a Parquet file."""
    need_pyarrow(source)
    return converted(
        source,
        _parquet(source),
        as_text,
        lambda name, column: column_of(column, name in as_text),
    )


def read_arrow(source: Source, as_text: frozenset[str]) -> Table:
    """A table from an Arrow file, an Arrow stream or a Feather file."""
    need_pyarrow(source)
    return converted(
        source,
        _arrow(source),
        as_text,
        lambda name, column: column_of(column, name in as_text),
    )


def _parquet(source: Source) -> Any:
    import pyarrow.parquet as pq

    with guarded(source, "its Parquet data"), pq.ParquetFile(str(source.path)) as file:
        table = file.read()
        table.validate(full=True)
        return without_row_names(table)


def _arrow(source: Source) -> Any:
    import pyarrow as pa

    # Not mapped into memory: a file that another program cuts short would end ours.
    with guarded(source, "its Arrow data"), pa.OSFile(str(source.path)) as file:
        start = file.read(6)
        file.seek(0)
        if start == b"ARROW1":
            table = pa.ipc.open_file(file).read_all()
        elif start.startswith(b"FEA1"):
            from pyarrow import feather

            table = feather.read_table(file)
        else:
            table = pa.ipc.open_stream(file).read_all()
        # Arrow trusts its files: offsets beyond the data would be followed.
        table.validate(full=True)
        return without_row_names(table)


def without_row_names(table: Any) -> Any:
    """A table without the columns that pandas writes for row numbers."""
    return table.drop_columns([name for name in table.column_names if _ROW_NAMES.fullmatch(name)])
