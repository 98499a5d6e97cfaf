"""Parquet, Arrow and Feather files."""

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

# The names under which pandas stores the row names of a data frame that has none.
_ROW_NAMES = re.compile(r"__index_level_\d+__")


def read_parquet(source: Source, wanted: Wanted) -> Table:
    """A table from a Parquet file."""
    need_pyarrow(source)
    return _converted(source, *_parquet(source, wanted), wanted)


def read_arrow(source: Source, wanted: Wanted) -> Table:
    """A table from an Arrow file, an Arrow stream or a Feather file."""
    need_pyarrow(source)
    return _converted(source, *_arrow(source, wanted), wanted)


def _converted(
    source: Source, names: Names, places: list[int], table: Any, wanted: Wanted
) -> Table:
    """Our table, of a table of Arrow that has the columns at some places of a file."""
    remarks = Remarks()
    own = converted(
        source,
        table,
        wanted.as_text,
        lambda name, column: stored_column(column, name, wanted, remarks),
        [names.names[place] for place in places],
    )
    columns = {name: own.columns[name] for name in wanted.used(names)}
    notes = (*wanted.name_notes(names), *remarks.sentences())
    return replace(own, columns=columns, names=tuple(names.names), notes=notes)


def stored_column(column: Any, name: str, wanted: Wanted, remarks: Remarks) -> Column:
    """A column; text in one that must have numbers is read as that of a CSV file."""
    if name not in wanted.as_numbers or not has_text(column):
        return column_of(column, name in wanted.as_text)
    return column_of_cells(name, as_strings(column), wanted, PLAIN, remarks)


def _places(schema: Any, wanted: Wanted) -> tuple[Names, list[int]]:
    """The names of a file without those of rows, and the places of columns that are used.

    Where none is used, that of the first column, which tells how many rows there are.
    """
    places = [place for place, name in enumerate(schema.names) if not _ROW_NAMES.fullmatch(name)]
    names = tidy([schema.names[place] for place in places])
    used = frozenset(wanted.used(names))
    found = [place for place, name in enumerate(names.names) if name in used]
    return names, found or list(range(len(places)))[:1]


def _parquet(source: Source, wanted: Wanted) -> tuple[Names, list[int], Any]:
    import pyarrow.parquet as pq

    with guarded(source, "its Parquet data"), pq.ParquetFile(str(source.path)) as file:
        own = [name for name in file.schema_arrow.names if not _ROW_NAMES.fullmatch(name)]
        names, places = _places(file.schema_arrow, wanted)
        is_whole = len(places) == len(file.schema_arrow.names)
        # By name; others come along whose names begin with that and a point.
        table = file.read(None if is_whole else [own[place] for place in places])
        table.validate(full=True)
        return names, places, _only(table, own, places)


def _arrow(source: Source, wanted: Wanted) -> tuple[Names, list[int], Any]:
    import pyarrow as pa

    # Not mapped into memory: a file that another program cuts short would end ours.
    with guarded(source, "its Arrow data"), pa.OSFile(str(source.path)) as file:
        start = file.read(6)
        file.seek(0)
        if start.startswith(b"FEA1"):
            from pyarrow import feather

            table = feather.read_table(file)
            names, places = _places(table.schema, wanted)
            own = [name for name in table.column_names if not _ROW_NAMES.fullmatch(name)]
            table = _only(table, own, places)
        else:
            opened = pa.ipc.open_file if start == b"ARROW1" else pa.ipc.open_stream
            schema = opened(file).schema
            names, places = _places(schema, wanted)
            kept = [i for i, name in enumerate(schema.names) if not _ROW_NAMES.fullmatch(name)]
            file.seek(0)
            options = pa.ipc.IpcReadOptions(included_fields=[kept[place] for place in places])
            table = opened(file, options=options).read_all()
        # Arrow trusts its files: offsets beyond the data would be followed.
        table.validate(full=True)
        return names, places, table


def without_row_names(table: Any) -> Any:
    """A table without the columns that pandas writes for row numbers."""
    return table.drop_columns([name for name in table.column_names if _ROW_NAMES.fullmatch(name)])


def _only(table: Any, own: list[str], places: list[int]) -> Any:
    """The columns at some places of a file whose columns are `own`; names may come twice."""
    known = _numbered(own)
    asked = {known[place] for place in places}
    found = _numbered(table.column_names)
    return table.select([index for index, name in enumerate(found) if name in asked])


def _numbered(names: list[str]) -> list[tuple[str, int]]:
    """Names, with a number that tells those alike apart."""
    seen: Counter[str] = Counter()
    numbered = []
    for name in names:
        seen[name] += 1
        numbered.append((name, seen[name]))
    return numbered
