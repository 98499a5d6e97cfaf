"""Read CSV files and similar ones with Arrow's parser."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .._table import Column, Table
from ._arrow import column_of, converted
from ._cells import FALSE, MISSING, TRUE, column_of_cells, guessed_kinds
from ._faults import bad_row, check_last_cell, undecodable
from ._files import Source, guarded, need_pyarrow
from ._header import Dialect, Layout, look
from ._lines import Lines
from ._remarks import Remarks
from ._wanted import Wanted

# Earlier releases of Arrow (18 to 22 were tried) hang if a row is longer than a block and the file
# is read by several threads.
_SAFE_THREADS = 26
# Bytes parsed at a time: some hundred rows, also of wide tables, whose blocks would otherwise
# hold a few rows each and cost a call per column and block.
_SMALLEST_BLOCK = 1 << 20
_USUAL_LIMIT = 1 << 26
_BLOCK_ROWS = 256
# A row must fit into a block; text that exceeds this size is no row.
_LARGEST_BLOCK = 1 << 30


def read_csv(source: Source, wanted: Wanted, dialect: Dialect) -> Table:
    """Read a table from a CSV file."""
    need_pyarrow(source)
    with guarded(source, "its text"):
        try:
            layout = look(source, dialect)
            names = layout.names.names
            used = wanted.used(layout.names)
            remarks = Remarks()
            if layout.decimal == ",":
                remarks.comma_columns.update(used)
            location_of = Lines(
                source, layout.encoding, layout.delimiter, layout.skipped, layout.header
            )
            table = converted(
                source,
                # If no column is used, the first one has the number of rows.
                _parsed(source, layout, wanted, used or names[:1]),
                wanted.as_text,
                lambda name, column: _column(column, name, dialect, wanted, location_of, remarks),
                used or names[:1],
            )
        except UnicodeError as error:
            raise undecodable(source, dialect.encoding) from error
        return replace(
            table,
            columns={name: table.columns[name] for name in used},
            names=tuple(names),
            notes=(*layout.notes, *wanted.name_notes(layout.names), *remarks.sentences()),
            location_of=location_of,
            comma_columns=frozenset(remarks.comma_columns),
        )


def _column(
    column: Any,
    name: str,
    dialect: Dialect,
    wanted: Wanted,
    location_of: Lines,
    remarks: Remarks,
) -> Column:
    import pyarrow as pa

    if column.type != pa.string():
        return column_of(column, name in wanted.as_text)
    return column_of_cells(name, column, wanted, dialect, remarks, location_of)


def _parsed(source: Source, layout: Layout, wanted: Wanted, used: list[str]) -> Any:
    """Return the columns used as a table of Arrow: numbers, flags or strings.

    Arrow can infer the types itself, but then keeps the text of the whole file until the end: three
    times the memory. With types from a sample it releases the text. If a later row contradicts the
    sample, the file is read again as text, with the same result for every column.
    """
    import pyarrow as pa

    types = _sampled_types(layout, wanted)
    try:
        return _table(source, layout, {name: types[name] for name in used}, wanted.missing)
    except pa.ArrowInvalid as error:
        if "conversion error" not in str(error):
            raise
    return _table(source, layout, dict.fromkeys(used, pa.string()), wanted.missing)


def _sampled_types(layout: Layout, wanted: Wanted) -> dict[str, Any]:
    import pyarrow as pa

    # Arrow could guess from the sample too, but is slow for wide tables: it tries ten types
    # for each column.
    kinds = {"number": pa.float64(), "flag": pa.bool_(), "text": pa.string()}
    names = layout.names.names
    guesses = guessed_kinds(layout.sample, len(names), layout.decimal, wanted.missing)
    return {
        name: kinds["text" if name in wanted.as_text else guess]
        for name, guess in zip(names, guesses, strict=True)
    }


def _table(source: Source, layout: Layout, types: dict[str, Any], missing: tuple[str, ...]) -> Any:
    import pyarrow as pa
    from pyarrow import csv

    # An unclosed quotation mark shows in the last column, whether it is used or not.
    last = layout.names.names[-1]
    read = types if last in types else {**types, last: pa.string()}
    has_safe_threads = int(pa.__version__.split(".")[0]) >= _SAFE_THREADS
    block = min(max(_SMALLEST_BLOCK, _BLOCK_ROWS * layout.row_length), _USUAL_LIMIT)
    while True:
        native = source.open_native()
        options = csv.ReadOptions(
            column_names=layout.names.names,
            skip_rows=layout.skipped,
            skip_rows_after_names=int(layout.header),
            block_size=block,
            # Under any other name Arrow would recode text that is UTF-8 already.
            encoding="utf8" if layout.encoding == "utf-8" else layout.encoding,
            use_threads=native is not None and layout.encoding == "utf-8" and has_safe_threads,
        )
        try:
            with source.open() if native is None else native as file:
                table = csv.read_csv(
                    file, options, _parse_options(layout), _convert_options(layout, read, missing)
                )
            check_last_cell(source, layout, table.column(last))
            return table.select(list(types))
        except pa.ArrowInvalid as error:
            is_cut = "straddl" in str(error)
            if is_cut and block < _LARGEST_BLOCK:
                block *= 16
                continue
            if is_cut or "parse error" in str(error):
                raise bad_row(source, layout, str(error)) from error
            if "UTF8" in str(error):
                raise undecodable(source, layout.encoding) from error
            raise


def _parse_options(layout: Layout) -> Any:
    from pyarrow import csv

    return csv.ParseOptions(delimiter=layout.delimiter, newlines_in_values=True)


def _convert_options(layout: Layout, types: dict[str, Any], missing: tuple[str, ...]) -> Any:
    from pyarrow import csv

    return csv.ConvertOptions(
        column_types=types,
        include_columns=list(types),
        null_values=[*MISSING, *missing],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        true_values=TRUE,
        false_values=FALSE,
        decimal_point=layout.decimal,
    )
