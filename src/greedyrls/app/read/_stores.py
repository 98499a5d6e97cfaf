"""Read Parquet, Arrow and Feather files."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import Any

from .._table import Column, Table
from ._arrow import as_strings, column_of, converted, has_text
from ._cells import column_of_cells
from ._files import Source, guarded, need_pyarrow
from ._header import PLAIN
from ._names import Names, tidy
from ._remarks import Remarks
from ._wanted import Wanted

# Names that pandas gives to unnamed indices of a data frame.
_ROW_NAMES = re.compile(r"__index_level_\d+__")


def read_parquet(source: Source, wanted: Wanted) -> Table:
    """Read a table from a Parquet file."""
    need_pyarrow(source)
    return _converted(source, *_parquet(source, wanted), wanted)


def read_arrow(source: Source, wanted: Wanted) -> Table:
    """Read a table from an Arrow file, an Arrow stream or a Feather file."""
    need_pyarrow(source)
    return _converted(source, *_arrow(source, wanted), wanted)


def _converted(
    source: Source, names: Names, positions: list[int], table: Any, wanted: Wanted
) -> Table:
    """Convert a table of Arrow that has the columns of a file at these positions."""
    remarks = Remarks()
    result = converted(
        source,
        table,
        wanted.as_text,
        lambda name, column: stored_column(column, name, wanted, remarks),
        [names.names[position] for position in positions],
    )
    columns = {name: result.columns[name] for name in wanted.used(names)}
    notes = (*wanted.name_notes(names), *remarks.sentences())
    return replace(result, columns=columns, names=tuple(names.names), notes=notes)


def stored_column(column: Any, name: str, wanted: Wanted, remarks: Remarks) -> Column:
    """Convert a column; text that must be numbers is parsed like cells of a CSV file."""
    if name not in wanted.as_numbers or not has_text(column):
        return column_of(column, name in wanted.as_text)
    return column_of_cells(name, as_strings(column), wanted, PLAIN, remarks)


def _positions(schema: Any, wanted: Wanted) -> tuple[Names, list[int]]:
    """Return the names of a file without row names, and the positions of columns in use.

    If none is used, return the position of the first, which has the number of rows.
    """
    kept = [index for index, name in enumerate(schema.names) if not _ROW_NAMES.fullmatch(name)]
    names = tidy([schema.names[index] for index in kept])
    used = frozenset(wanted.used(names))
    used_positions = [index for index, name in enumerate(names.names) if name in used]
    return names, used_positions or list(range(len(kept)))[:1]


def _parquet(source: Source, wanted: Wanted) -> tuple[Names, list[int], Any]:
    import pyarrow.parquet as pq

    with guarded(source, "its Parquet data"), pq.ParquetFile(str(source.path)) as file:
        column_names = [name for name in file.schema_arrow.names if not _ROW_NAMES.fullmatch(name)]
        names, positions = _positions(file.schema_arrow, wanted)
        is_whole = len(positions) == len(file.schema_arrow.names)
        # A name also selects columns whose names begin with it and a point.
        table = file.read(None if is_whole else [column_names[position] for position in positions])
        table.validate(full=True)
        return names, positions, _only(table, column_names, positions)


def _arrow(source: Source, wanted: Wanted) -> tuple[Names, list[int], Any]:
    import pyarrow as pa

    # No memory map: if another program truncated the file, this process would crash.
    with guarded(source, "its Arrow data"), pa.OSFile(str(source.path)) as file:
        start = file.read(6)
        file.seek(0)
        if start.startswith(b"FEA1"):
            from pyarrow import feather

            table = feather.read_table(file)
            names, positions = _positions(table.schema, wanted)
            column_names = [name for name in table.column_names if not _ROW_NAMES.fullmatch(name)]
            table = _only(table, column_names, positions)
        else:
            opened = pa.ipc.open_file if start == b"ARROW1" else pa.ipc.open_stream
            schema = opened(file).schema
            names, positions = _positions(schema, wanted)
            kept = [i for i, name in enumerate(schema.names) if not _ROW_NAMES.fullmatch(name)]
            file.seek(0)
            options = pa.ipc.IpcReadOptions(
                included_fields=[kept[position] for position in positions]
            )
            table = opened(file, options=options).read_all()
        # Arrow trusts its files: it would follow offsets beyond the data.
        table.validate(full=True)
        return names, positions, table


def is_row_name(name: str) -> bool:
    """Whether pandas gave this name to row numbers."""
    return _ROW_NAMES.fullmatch(name) is not None


def without_row_names(table: Any) -> Any:
    """Return a table without the columns that pandas writes for row numbers."""
    return table.drop_columns([name for name in table.column_names if _ROW_NAMES.fullmatch(name)])


def _only(table: Any, column_names: list[str], positions: list[int]) -> Any:
    """Return the columns at some positions of a file; names may occur twice."""
    of_file = _numbered(column_names)
    asked = {of_file[position] for position in positions}
    of_table = _numbered(table.column_names)
    return table.select([index for index, name in enumerate(of_table) if name in asked])


def _numbered(names: list[str]) -> list[tuple[str, int]]:
    """Return names with numbers that distinguish equal ones."""
    seen: Counter[str] = Counter()
    numbered = []
    for name in names:
        seen[name] += 1
        numbered.append((name, seen[name]))
    return numbered
