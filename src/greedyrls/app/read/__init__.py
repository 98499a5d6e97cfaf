"""Read tables from files: the format follows from the suffix, and errors are one line."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import replace

from ..._data import default_limit
from .._dates import ORDERS, Order, order_for
from .._table import InputError, Table
from ._cells import MISSING
from ._columns import without_marked
from ._csv import read_csv
from ._dated import as_dates as to_dates
from ._excel import read_excel
from ._files import FORMATS, locate
from ._folder import read_folder
from ._header import Dialect
from ._input import InputFile, file_name, open_input
from ._jsonl import read_jsonl
from ._matrices import read_matrix, read_npz, read_svmlight
from ._stored import STORED, RawRows, StoredColumns, read_in_parts, size_of
from ._stores import read_arrow, read_parquet
from ._wanted import Wanted

__all__ = [
    "FORMATS",
    "MISSING",
    "InputFile",
    "RawRows",
    "StoredColumns",
    "file_name",
    "limit_for",
    "open_input",
    "read_table",
]


def read_table(
    path: str | os.PathLike[str],
    *,
    as_text: Collection[str] = (),
    as_numbers: Collection[str] = (),
    only: Collection[str] | None = None,
    leave_out: Collection[str] = (),
    named: Collection[str] = (),
    missing: Collection[str] = (),
    comma_columns: Collection[str] = (),
    delimiter: str | None = None,
    decimal: str = ".",
    thousands: str | None = None,
    header: bool = True,
    skip_lines: int = 0,
    encoding: str = "utf-8",
    matrix_limit: int = 4 << 30,
    format: str | None = None,
    sheet: str | None = None,
    title: str | None = None,
    as_dates: Collection[str] = (),
    date_order: Order | Mapping[str, Order] | None = None,
    memory_limit: int | None = None,
    in_memory: Collection[str] = (),
) -> Table:
    r"""Read a table from a file.

    Parameters
    ----------
    path : str or path-like
        CSV and its kin (.csv, .tsv, .tab, .txt) and JSON lines (.jsonl, .ndjson), both also
        followed by .gz, .bz2, .xz or .zst; Excel (.xlsx, .xlsm), Parquet (.parquet, .pq, or a
        folder of such files), Arrow and Feather (.feather, .arrow, .ipc), svmlight (.svmlight,
        .svm, .libsvm, also followed by .gz, .bz2 or .xz), NumPy arrays (.npz, .npy), HDF5 (.h5,
        .hdf5), Zarr (.zarr) or PLINK genotypes (.bed, with .bim and .fam beside it).
    as_text : names
        Columns that are read as text, as written: "01234" keeps its zero. Names that the file
        does not have are ignored.
    as_numbers : names
        Columns that must have numbers in all cells if they have any.
    only : names, default None
        Columns to read; by default all. Others are not looked at, whatever is in them.
    leave_out : names
        Columns not to read.
    named : names
        Columns that are asked for by name: a first column without a name is taken as row names
        and left out unless it is among these ("column 1"), `as_text`, `as_numbers` or `only`.
    missing : texts
        Cells that count as missing besides the usual ones; in columns of numbers, also the
        numbers that they stand for. In every format.
    comma_columns : names
        Columns of a CSV file in which a comma that might separate thousands is the decimal mark,
        as it was in a file that was read before.
    delimiter : one character, default None
        What separates the cells of a CSV file; "tab" and "\t" stand for a tab. By default the most
        frequent of comma, semicolon, tab and bar in the first line; a tab in .tsv and .tab.
    decimal : "." or ","
        The decimal mark of a CSV file.
    thousands : {",", ".", " ", "'"}, default None
        What separates thousands in a CSV file; by default what can be nothing else.
    header : bool
        Whether the first line of a CSV file has the names; otherwise they are x0, x1, ….
    skip_lines : int
        Lines of a CSV file, or filled rows of an Excel sheet, before the table. By default lines
        at the very top that begin with "#", and rows of a single text, if a table follows.
    encoding : str
        Of a CSV file, as Python names encodings.
    matrix_limit : int
        Bytes that a svmlight file, JSON lines, HDF5, Zarr or genotypes may take as a dense table,
        or an Excel file unpacked.
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
    memory_limit : int, optional
        Leave columns in the file, which `Table.stored` reads within so many bytes: of Parquet,
        .npy, HDF5, Zarr and PLINK files. By default everything is loaded.
    in_memory : names
        Columns that are loaded all the same, besides `as_dates`.

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
    Names lose blanks around them. A column without a name is called "column 5"; one that has the
    name of an earlier column, "x (2)". A first column without a name, or named "Unnamed: 0", holds
    row names, and so does one that the names of a CSV file lack, as R writes them.

    CSV: a cell is missing if it is empty or one of ``NA N/A n/a #N/A <NA> NaN nan NULL null None
    ?``, in columns of numbers and of text alike; and, where all others are numbers, also if it is
    ``-``, ``n.d.``, ``unknown``, ``#DIV/0!`` or another such word. Blanks around cells are
    dropped. In `as_text` columns blanks are kept, and ``"NA"`` in quotation marks is text. An
    empty text is missing in every format. Thousands separators, signs of a currency, ``%``, decimal
    commas, a unit (``5 kg``), negative numbers as ``(12)`` and limits (``<0.5``) are understood
    where all cells of a column are written alike and can be read in one way only; `Table.notes`
    says what was made of them. Columns with numbers that can be read in several ways, or with texts
    among mostly numbers, are unusable, since a mistyped number would make them categories unseen.
    ISO dates, and those with a year of four digits, are dates.

    JSON lines: objects in an object are columns of their own, such as ``user.age``.

    svmlight: the columns are ``target``, ``qid`` where the file has query ids, and x1, x2, … by
    the index that the file itself uses (from x0 if it has an index 0).

    NPZ: the columns of ``X``, or of the only matrix, named by ``feature_names`` or ``names``;
    every other vector as long as X has rows is a column too, and ``y`` is the target. Nothing is
    ever unpickled, and no format can run code. HDF5 and Zarr: the datasets at the top of the file
    are such arrays. NPY: the columns of a matrix are x0, x1, ….

    PLINK: the columns are the markers, named by their ids, and ``phenotype``, the target, if the
    .fam file has one. A missing call is the mean of its marker.
    """
    orders = (date_order,) if isinstance(date_order, str) else (date_order or {}).values()
    if any(order not in ORDERS for order in orders):
        raise InputError(f"--date-order must be dmy or mdy, but is {date_order!r}.")
    source = locate(path, format, title)
    if sheet is not None and source.format != "excel":
        raise InputError(f"{source}: --sheet is for Excel files; leave it out.")
    dated = frozenset(as_dates)
    wanted = Wanted(
        frozenset(as_text) | dated,  # every format can return dates as text
        frozenset(as_numbers),
        None if only is None else frozenset(only),
        frozenset(leave_out),
        frozenset(named),
        tuple(missing),
        frozenset(comma_columns),
    )
    dialect = Dialect(delimiter, decimal, header, encoding, thousands, skip_lines)
    if memory_limit is not None:
        table = read_in_parts(source, wanted, frozenset(in_memory) | dated, memory_limit)
    elif source.format == "csv":
        table = read_csv(source, wanted, dialect)
    elif source.format == "jsonl":
        table = read_jsonl(source, wanted, dialect, matrix_limit)
    elif source.format == "excel":
        table = read_excel(source, wanted, dialect, sheet, matrix_limit)
    elif source.format == "parquet":
        table = read_parquet(source, wanted)
    elif source.format == "folder":
        table = read_folder(source, wanted)
    elif source.format == "arrow":
        table = read_arrow(source, wanted)
    elif source.format == "svmlight":
        table = read_svmlight(source, wanted, matrix_limit)
    elif source.format in ("npy", "hdf5", "zarr", "plink"):
        table = read_matrix(source, wanted, matrix_limit)
    else:
        table = read_npz(source, wanted)
    if table.n_rows == 0:
        raise InputError(f"{source}: has no rows below its names; is the data in another file?")
    columns = table.columns
    if wanted.missing:
        columns = {name: without_marked(column, wanted.missing) for name, column in columns.items()}
    columns = {
        name: to_dates(table, name, values, decimal, order_for(date_order, name))
        if name in dated
        else values
        for name, values in columns.items()
    }
    return replace(table, columns=columns, missing=wanted.missing)


def limit_for(
    path: str | os.PathLike[str], format: str | None, title: str | None, is_stored: bool = False
) -> int | None:
    """Return the memory within which a file is read in parts by default; None to load it.

    Files that can be read in parts are if they take more than a quarter of the machine's memory,
    or if `is_stored`.
    """
    source = locate(path, format, title)
    if source.format not in STORED:
        return None
    try:
        size = size_of(source)
    except InputError:
        return None  # reading it says what is wrong, or it has something that only loading supports
    limit = default_limit()
    return limit if is_stored or size > limit else None
