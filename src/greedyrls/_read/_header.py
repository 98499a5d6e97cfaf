"""The first lines of a CSV file: delimiter, names, and a sample of the rows."""

from __future__ import annotations

import codecs
import csv
import io
import re
from dataclasses import dataclass
from itertools import islice
from typing import TextIO

from .._table import InputError
from ._files import Source, checked_names, shown

# In the order of preference where a first line has several equally often.
_DELIMITERS = ",;\t|"
_TAB_NAMES = ("tab", "\\t")
# Text and cells that are read to guess the types of the columns: a fraction of a second.
_SAMPLE_LENGTH = 1 << 20
_SAMPLE_CELLS = 200_000
# Lines that a quotation mark may keep the first row open; one without a pair never closes it.
_LONGEST_ROW = 100


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a CSV file is written, as far as the user says it."""

    delimiter: str | None
    decimal: str
    header: bool
    encoding: str


@dataclass(frozen=True, slots=True)
class Layout:
    """How a CSV file is written, and what its start looks like."""

    delimiter: str
    decimal: str
    encoding: str
    header: bool
    names: list[str]
    sample: list[list[str]]  # cells of some rows
    row_length: int  # characters, about


def look(source: Source, dialect: Dialect) -> Layout:
    """What the start of a file tells; it must be of text."""
    encoding = checked_encoding(dialect.encoding)
    if dialect.decimal not in (".", ","):
        raise InputError(f"--decimal must be . or , and not {shown(dialect.decimal)}.")
    _check_is_text(source, encoding)
    with open_text(source, encoding) as lines:
        row, text = _first_row(lines)
        row = row.removeprefix("\ufeff")  # some encodings do not take the mark for themselves
        text += lines.read(max(_SAMPLE_LENGTH, 8 * len(row)))
    if not row:
        raise InputError(f"{source}: has only blank lines; was it written completely?")
    delimiter = _delimiter(source, dialect, row)
    try:
        cells = next(csv.reader([row.rstrip("\r\n")], delimiter=delimiter))
    except csv.Error as error:
        raise InputError(f"{source}: its first line is no row of cells ({error}).") from error
    if dialect.header:
        _check_is_header(source, cells, dialect.decimal)
        names = checked_names(source, cells)
    else:
        names = [f"x{index}" for index in range(len(cells))]
        text = row + text
    if not text.strip("\r\n"):
        raise InputError(f"{source}: has names of columns but no rows; was it written completely?")
    n_lines = max(text.count("\n"), text.count("\r"))
    return Layout(
        delimiter,
        dialect.decimal,
        encoding,
        dialect.header,
        names,
        _sample(text, delimiter, len(names)),
        max(len(row), len(text) // max(1, n_lines)),
    )


def _sample(text: str, delimiter: str, n: int) -> list[list[str]]:
    """The first complete rows of a text."""
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        return [row for row in islice(rows, max(2, _SAMPLE_CELLS // n)) if len(row) == n]
    except csv.Error:
        return []  # a quotation mark without its pair; reading the file will tell


def open_text(source: Source, encoding: str) -> TextIO:
    """The text of the file, its line ends as they are and without a byte order mark."""
    known = "utf-8-sig" if encoding == "utf-8" else encoding
    return io.TextIOWrapper(source.open(), encoding=known, newline="")


def checked_encoding(name: str) -> str:
    """An encoding of text by the name that Python has for it."""
    try:
        "".encode(name)  # Python also has codecs that are no encodings of text
        encoding = codecs.lookup(name).name
    except (LookupError, ValueError, TypeError) as error:
        raise InputError(
            f"--encoding {shown(name)} is not known; try utf-8, latin-1, cp1252 or utf-16."
        ) from error
    return "utf-8" if encoding == "utf-8-sig" else encoding


def _check_is_text(source: Source, encoding: str) -> None:
    with source.open() as file:
        start = file.read(4096)
    if not start:
        raise InputError(f"{source}: is empty; was it written completely?")
    if encoding.startswith(("utf-16", "utf-32")):
        return
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise InputError(f"{source}: is text in UTF-16; pass --encoding utf-16.")
    if b"\0" in start:
        raise InputError(
            f"{source}: is no text file, whatever its suffix says; save a spreadsheet as CSV."
        )


def _first_row(lines: TextIO) -> tuple[str, str]:
    """The first line that is not blank, with those that its quotation marks hold together.

    And what was read beyond it, if a quotation mark has no pair.
    """
    first = next((line for line in lines if line.strip("\r\n")), "")
    held = [first]
    n_marks = first.count('"')
    while n_marks % 2 and len(held) < _LONGEST_ROW and (line := lines.readline()):
        held.append(line)
        n_marks += line.count('"')
    return ("".join(held), "") if n_marks % 2 == 0 else (first, "".join(held[1:]))


def _delimiter(source: Source, dialect: Dialect, row: str) -> str:
    given = dialect.delimiter
    if given is None:
        if source.suffix in (".tsv", ".tab"):
            return "\t"
        outside = re.sub(r'"[^"]*"', "", row)
        candidates = [one for one in _DELIMITERS if one != dialect.decimal and one in outside]
        # A file with decimal commas in quotation marks may still be separated by commas.
        return max(candidates, key=outside.count, default=",")
    if given in _TAB_NAMES:
        return "\t"
    if len(given) != 1 or not given.isascii() or given in '"\r\n':
        raise InputError(
            f"--delimiter must be one character, or tab, and no quotation mark; got {shown(given)}."
        )
    return given


def number_pattern(decimal: str) -> str:
    """What a number looks like; understood by Python and by Arrow."""
    mark = re.escape(decimal)
    digits = rf"[+-]?([0-9]+{mark}?[0-9]*|{mark}[0-9]+)([eE][+-]?[0-9]+)?"
    return rf"^({digits}|[+-]?([iI][nN][fF]|[iI]nfinity))$"


def _check_is_header(source: Source, cells: list[str], decimal: str) -> None:
    filled = [cell.strip() for cell in cells if cell.strip()]
    is_number = re.compile(number_pattern(decimal)).match
    if not filled or not all(is_number(cell) for cell in filled):
        return
    # As pandas names the columns of an array.
    if len(cells) > 2 and filled == [str(index) for index in range(len(cells))]:
        return
    raise InputError(
        f"{source}: its first line has only numbers, such as {shown(filled[0])}; pass --no-header "
        "if the file has no names of columns, or give the columns names that are not numbers."
    )
