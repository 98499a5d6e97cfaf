"""Tables from files: the format is told by the suffix, and what is wrong is said in one line."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import replace

from .._dates import ORDERS, Order, order_for
from .._table import InputError, Table
from ._csv import read_csv
from ._dated import as_dates as to_dates
from ._excel import read_excel
from ._files import FORMATS, locate
from ._folder import read_folder
from ._header import Dialect
from ._input import Given, file_name, given
from ._jsonl import read_jsonl
from ._matrices import read_npz, read_svmlight
from ._stores import read_arrow, read_parquet

__all__ = ["FORMATS", "Given", "file_name", "given", "read_table"]


def read_table(
    path: str | os.PathLike[str],
    *,
    as_text: Collection[str] = (),
    delimiter: str | None = None,
    decimal: str = ".",
    header: bool = True,
    encoding: str = "utf-8",
    matrix_limit: int = 4 << 30,
    format: str | None = None,
    sheet: str | None = None,
    title: str | None = None,
    as_dates: Collection[str] = (),
    date_order: Order | Mapping[str, Order] | None = None,
) -> Table:
    r"""Read a table from a file.

    Parameters
    ----------
    path : str or path-like
        CSV and its kin (.csv, .tsv, .tab, .txt) and JSON lines (.jsonl, .ndjson), both also
        followed by .gz, .bz2, .xz or .zst; Excel (.xlsx, .xlsm), Parquet (.parquet, .pq, or a
        folder of such files), Arrow and Feather (.feather, .arrow, .ipc), svmlight (.svmlight,
        .svm, .libsvm, also followed by .gz, .bz2 or .xz) or NumPy arrays (.npz).
    as_text : names
        Columns that are read as text, as written: "01234" keeps its zero. Names that the file
        does not have are ignored.
    delimiter : one character, default None
        What separates the cells of a CSV file; "tab" and "\t" stand for a tab. By default the most
        frequent of comma, semicolon, tab and bar in the first line; a tab in .tsv and .tab.
    decimal : "." or ","
        The decimal mark of a CSV file.
    header : bool
        Whether the first line of a CSV file has the names; otherwise they are x0, x1, ….
    encoding : str
        Of a CSV file, as Python names encodings.
    matrix_limit : int
        Bytes that a svmlight file or JSON lines may take as a dense table, or an Excel file
        unpacked.
    format : str, optional
        One of FORMATS, whatever the suffix says.
    sheet : str, optional
        Of an Excel file; by default the first.
    title : str, optional
        What messages call the file, such as "standard input".
    as_dates : names
        Columns that are read as dates, or as numbers where they have numbers. Names that the file
        does not have are ignored.
    date_order : "dmy", "mdy", or a mapping from names to these, optional
        Whether the day or the month comes first in dates that end in the year, where the column
        does not tell by itself.

    Returns
    -------
    Table
        Numbers are float64; columns of which every value is a whole number, however it is stored,
        are marked so. Dates are read where they are asked for; lists and the like never are.

    Raises
    ------
    InputError
        In one line that names the file, what is wrong with it and what to do.

    Notes
    -----
    CSV: a cell is missing if it is empty or one of ``NA N/A n/a #N/A <NA> NaN nan NULL null None
    ?``, in columns of numbers and of text alike; and, where all others are numbers, also if it is
    ``-``, ``--`` or ``.``. Blanks around cells and names are dropped. In `as_text` columns blanks
    are kept, and ``"NA"`` in quotation marks is text. An empty text is missing in every format.
    Columns that have texts but mostly numbers are an error, since a mistyped number would make
    them categories unseen. ISO dates, and those with a year of four digits, are dates.

    svmlight: the columns are ``target``, ``qid`` where the file has query ids, and x1, x2, … by
    the index that the file itself uses (from x0 if it has an index 0).

    NPZ: the columns of ``X``, or of the only matrix, named by ``feature_names`` or ``names``;
    every other vector as long as X has rows is a column too, and ``y`` is the target. Nothing is
    ever unpickled, and no format can run code.
    """
    orders = (date_order,) if isinstance(date_order, str) else (date_order or {}).values()
    if any(order not in ORDERS for order in orders):
        raise InputError(f"--date-order must be dmy or mdy and not {date_order!r}.")
    source = locate(path, format, title)
    texts = frozenset(as_text) | frozenset(as_dates)
    if sheet is not None and source.format != "excel":
        raise InputError(f"{source}: --sheet is for Excel files; leave it out.")
    if source.format == "csv":
        table = read_csv(source, texts, Dialect(delimiter, decimal, header, encoding))
    elif source.format == "jsonl":
        table = read_jsonl(source, texts, decimal, encoding, matrix_limit)
    elif source.format == "excel":
        table = read_excel(source, texts, sheet, decimal, header, matrix_limit)
    elif source.format == "parquet":
        table = read_parquet(source, texts)
    elif source.format == "folder":
        table = read_folder(source, texts)
    elif source.format == "arrow":
        table = read_arrow(source, texts)
    elif source.format == "svmlight":
        table = read_svmlight(source, texts, matrix_limit)
    else:
        table = read_npz(source, texts)
    if table.n_rows == 0:
        raise InputError(f"{source}: has no rows below its names; are all data in another file?")
    wanted = frozenset(as_dates)
    columns = {
        name: to_dates(source, name, values, decimal, order_for(date_order, name))
        if name in wanted
        else values
        for name, values in table.columns.items()
    }
    return replace(table, columns=columns)
