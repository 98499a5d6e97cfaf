"""Parse the first lines of a CSV file: delimiter, names, and a sample of the rows."""

from __future__ import annotations

import codecs
import csv
import io
import re
from dataclasses import dataclass
from itertools import islice
from typing import TextIO

from .._table import InputError
from ._files import Source, open_text, shown
from ._names import Names, tidy

# In order of preference, if a first line has several equally often.
_DELIMITERS = ",;\t|"
_TAB_NAMES = ("tab", "\\t")
THOUSANDS = (",", ".", " ", "'")
# Characters and cells that are read to guess the column types: a fraction of a second.
_SAMPLE_LENGTH = 1 << 20
_SAMPLE_CELLS = 200_000
# A quoted cell of the first row spans at most this many lines; an unclosed one never ends.
_LONGEST_ROW = 100
# More lines than this at the top are not comments.
_MOST_COMMENTS = 1000


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a CSV file is written, as far as the user specifies it."""

    delimiter: str | None
    decimal: str
    header: bool
    encoding: str
    thousands: str | None = None
    skip_lines: int = 0


# For formats without such options.
PLAIN = Dialect(None, ".", True, "utf-8")


@dataclass(frozen=True, slots=True)
class Layout:
    """How a CSV file is written, as detected from its start."""

    delimiter: str
    decimal: str
    encoding: str
    header: bool
    names: Names
    sample: list[list[str]]  # cells of some rows
    row_length: int  # approximate number of characters
    skipped: int = 0  # lines before the table
    notes: tuple[str, ...] = ()


def look(source: Source, dialect: Dialect) -> Layout:
    """Detect the layout of a file from its start, which must be text."""
    encoding = checked_encoding(dialect.encoding)
    _check_marks(dialect)
    _check_is_text(source, encoding)
    notes: list[str] = []
    skipped = dialect.skip_lines or _count_comments(source, encoding, dialect, notes)
    with open_text(source, encoding) as lines:
        _skip(source, lines, skipped)
        row, text = _first_row(lines)
        row = row.removeprefix("\ufeff")  # some encodings keep the byte order mark
        text += lines.read(max(_SAMPLE_LENGTH, 8 * len(row)))
    if not row:
        raise InputError(f"{source}: has only blank lines; was it written completely?")
    delimiter = _delimiter(source, dialect, row, text)
    try:
        cells = next(csv.reader([row.rstrip("\r\n")], delimiter=delimiter))
    except csv.Error as error:
        raise InputError(
            f"{source}: its first line is not a row of cells ({error}); if the table begins "
            "further down, pass --skip-lines with the number of lines before it."
        ) from error
    if dialect.header:
        _check_is_header(source, cells, dialect.decimal)
        names = tidy(_completed(cells, text, delimiter))
    else:
        names = Names([f"x{index}" for index in range(len(cells))])
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
        _sample(text, delimiter, len(names.names)),
        max(len(row), len(text) // max(1, n_lines)),
        skipped,
        tuple(notes),
    )


def _check_marks(dialect: Dialect) -> None:
    """Fail if the options for numbers are inconsistent."""
    if dialect.decimal not in (".", ","):
        raise InputError(f"--decimal must be . or , but is {shown(dialect.decimal)}.")
    if dialect.thousands is None:
        return
    if dialect.thousands not in THOUSANDS:
        raise InputError(
            "--thousands must be a point, a comma, a blank or an apostrophe, but is "
            f"{shown(dialect.thousands)}."
        )
    if dialect.thousands == dialect.decimal:
        other = "," if dialect.decimal == "." else "."
        raise InputError(
            f"--thousands {dialect.thousands} is also the decimal mark; pass --decimal {other} "
            "with it."
        )


def _skip(source: Source, lines: TextIO, count: int) -> None:
    """Skip the lines before the table."""
    if count < 0:
        raise InputError(f"--skip-lines must be 0 or more, but is {count}.")
    for number in range(count):
        if not lines.readline():
            raise InputError(
                f"{source}: has {number} lines, so that --skip-lines {count} leaves none; pass "
                "fewer."
            )


def _count_comments(source: Source, encoding: str, dialect: Dialect, notes: list[str]) -> int:
    """Return how many lines at the very top are comments, which begin with "#".

    The last of them may hold the names, as in genomics files (#CHROM): it does if it has as many
    cells as the row below, and that row seems to hold data and not names.
    """
    comments: list[str] = []
    with open_text(source, encoding) as lines:
        for line in lines:
            if not line.removeprefix("\ufeff").startswith("#") or len(comments) >= _MOST_COMMENTS:
                break
            comments.append(line.removeprefix("\ufeff"))
        else:
            line = ""
        if not comments:
            return 0
        below = [line, *islice(lines, 20)]
    below = [text.rstrip("\r\n") for text in below if text.strip("\r\n")]
    if not below:
        return 0
    delimiter = _delimiter(source, dialect, below[0], "\n".join(below[1:]))
    counts = [len(row) for row in _rows([comments[-1], *below[:2]], delimiter)]
    if len(counts) < 2 or (len(counts) == 3 and counts[2] - counts[1] not in (0, 1)):
        return 0  # the lines below are no table
    is_header = (
        dialect.header
        and counts[0] == counts[1]
        and _is_header(comments[-1], below, delimiter, dialect.decimal)
    )
    count = len(comments) - is_header
    if count:
        notes.append(
            f"{count} line{'s' * (count != 1)} at the top of the file "
            f"{'begin' if count != 1 else 'begins'} with '#' and {'were' if count != 1 else 'was'} "
            "skipped as comments."
        )
    return count


def _is_header(line: str, below: list[str], delimiter: str, decimal: str) -> bool:
    """Whether a line that begins with "#", with enough cells, holds the names."""
    is_number = re.compile(number_pattern(decimal)).match
    has_numbers = [
        any(is_number(cell.strip()) for cell in row) for row in _rows(below[:2], delimiter)
    ]
    if has_numbers[0]:
        return True  # the row below holds data
    if any(has_numbers):
        return False
    return not line[1:2].isspace()  # only text: "#name" is a header, "# name" a comment


def _rows(lines: list[str], delimiter: str) -> list[list[str]]:
    try:
        return [next(csv.reader([line.rstrip("\r\n")], delimiter=delimiter)) for line in lines]
    except csv.Error:
        return []


def _completed(cells: list[str], text: str, delimiter: str) -> list[str]:
    """Return names of all columns, also if R has left out the name of the row names.

    If rows end with a delimiter, the last column has no name instead.
    """
    n = len(cells) + 1
    rows = _sample(text, delimiter, n, is_strict=True)
    if not rows:
        return cells
    has_empty_end = not any(row[-1].strip() for row in rows)
    return [*cells, ""] if has_empty_end else ["", *cells]


def _sample(text: str, delimiter: str, n: int, *, is_strict: bool = False) -> list[list[str]]:
    """Return the first complete rows of a text; if strict, none unless all have n cells."""
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        rows_read = [row for row in islice(rows, max(2, _SAMPLE_CELLS // n)) if row]
    except csv.Error:
        return []  # an unclosed quotation mark, reported when the file is read
    complete = [row for row in rows_read if len(row) == n]
    n_cut = int(len(text) >= _SAMPLE_LENGTH)  # the last row of a sample is cut
    return [] if is_strict and len(complete) < len(rows_read) - n_cut else complete


def checked_encoding(name: str) -> str:
    """Return Python's name of a text encoding."""
    try:
        "".encode(name)  # Python also has codecs that are no text encodings
        encoding = codecs.lookup(name).name
    except (LookupError, ValueError, TypeError) as error:
        raise InputError(
            f"--encoding {shown(name)} is not supported; try utf-8, latin-1, cp1252 or utf-16."
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
            f"{source}: is not a text file despite its suffix; save a spreadsheet as CSV."
        )


def _first_row(lines: TextIO) -> tuple[str, str]:
    """Return the first line that is not blank, with further lines of its quoted cells.

    Also return the lines read beyond it, if a quotation mark is not closed.
    """
    first = next((line for line in lines if line.strip("\r\n")), "")
    held = [first]
    n_marks = first.count('"')
    while n_marks % 2 and len(held) < _LONGEST_ROW and (line := lines.readline()):
        held.append(line)
        n_marks += line.count('"')
    return ("".join(held), "") if n_marks % 2 == 0 else (first, "".join(held[1:]))


def _delimiter(source: Source, dialect: Dialect, row: str, text: str) -> str:
    """Return the delimiter of cells, from the first row and the text below it."""
    asked = dialect.delimiter
    if asked is None:
        if source.suffix in (".tsv", ".tab"):
            return "\t"
        outside = re.sub(r'"[^"]*"', "", row)
        candidates = [
            candidate
            for candidate in _DELIMITERS
            if candidate != dialect.decimal and candidate in outside
        ]
        if not candidates and _has_blanks_between(row, text):
            return " "
        # A file with quoted decimal commas may still be separated by commas.
        return max(candidates, key=outside.count, default=",")
    if asked in _TAB_NAMES:
        return "\t"
    if len(asked) != 1 or not asked.isascii() or asked in '"\r\n':
        raise InputError(
            f"--delimiter must be one character, or tab, and no quotation mark; got {shown(asked)}."
        )
    return asked


def _has_blanks_between(row: str, text: str) -> bool:
    """Whether blanks separate cells, as written by R's write.table."""
    lines = [line for line in text.split("\n", 20)[:20] if line.strip("\r")]
    counts = [len(cells) for cells in _rows([row, *lines], " ")]
    if len(counts) < 2 or counts[0] < 2 or "" in _rows([row], " ")[0]:
        return False
    return set(counts[1:]) in ({counts[0]}, {counts[0] + 1})


def number_pattern(decimal: str) -> str:
    """Return a regular expression for numbers, valid in Python and in Arrow."""
    mark = re.escape(decimal)
    digits = rf"[+-]?([0-9]+{mark}?[0-9]*|{mark}[0-9]+)([eE][+-]?[0-9]+)?"
    return rf"^({digits}|[+-]?([iI][nN][fF]|[iI]nfinity))$"


def _check_is_header(source: Source, cells: list[str], decimal: str) -> None:
    filled = [cell.strip() for cell in cells if cell.strip()]
    is_number = re.compile(number_pattern(decimal)).match
    if not filled or not all(is_number(cell) for cell in filled):
        return
    # pandas names the columns of an array by number, with or without row names before them.
    names = cells if cells[0].strip() else cells[1:]
    if len(names) > 2 and filled == [str(index) for index in range(len(names))]:
        return
    raise InputError(
        f"{source}: its first line has only numbers, such as {shown(filled[0])}; pass --no-header "
        "if the file has no names of columns, or give the columns names that are not numbers."
    )
