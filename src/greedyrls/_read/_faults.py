"""Where a CSV file is wrong: Arrow tells that it is, a second look tells the row."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from typing import Any

from .._table import InputError
from ._files import Source, shortened, shown
from ._header import Layout, open_text


def bad_row(source: Source, layout: Layout, reason: str) -> InputError:
    """The error for the first row with too many or too few cells."""
    n = len(layout.names)
    row, line = -int(layout.header), 1  # the header is row 0
    with open_text(source, layout.encoding) as lines:
        reader = csv.reader(lines, delimiter=layout.delimiter)
        try:
            for cells in reader:
                row += bool(cells)  # blank lines are none
                if len(cells) not in (0, n) and row > 0:
                    return InputError(
                        f"{source}: row {row} (line {line}) has {_count(len(cells), 'cell')}, but "
                        f"there {_count(n, 'column', 'is ', 'are ')}; mend the row, or pass "
                        f"--delimiter if {shown(layout.delimiter)} is not what separates cells."
                    )
                line = reader.line_num + 1
        except csv.Error:  # a cell of more than 131,072 characters
            return _open_mark(source, row + 1, line)
    return InputError(f"{source}: its rows cannot be told apart: {shortened(reason, 300)}")


def _count(number: int, word: str, one: str = "", many: str = "") -> str:
    return f"{one}1 {word}" if number == 1 else f"{many}{number} {word}s"


def check_last_cell(source: Source, layout: Layout, column: Any) -> None:
    """Fail if a quotation mark without its pair made all further rows part of the last cell.

    Arrow takes them for text. Cells that end a file and have line breaks are rare enough to read
    it again.
    """
    cell = column[-1].as_py() if len(column) else None
    if not isinstance(cell, str) or not {"\n", "\r"} & set(cell):
        return
    row, line, n_marks = -int(layout.header), 1, 0
    with open_text(source, layout.encoding) as lines:
        held: list[str] = []
        reader = csv.reader(_remembered(lines, held), delimiter=layout.delimiter)
        try:
            for cells in reader:
                if cells:
                    row, line = row + 1, reader.line_num - len(held) + 1
                    n_marks = _count_marks(held)
                held.clear()
        except csv.Error:  # a cell of more than 131,072 characters, open or not
            row, line = row + 1, reader.line_num - len(held) + 1
            n_marks = _count_marks(held) + _count_marks(lines)
    if n_marks % 2:
        raise _open_mark(source, row, line)


def _remembered(lines: Iterable[str], held: list[str]) -> Iterator[str]:
    for line in lines:
        held.append(line)
        yield line


def _count_marks(lines: Iterable[str]) -> int:
    return sum(line.count('"') for line in lines)


def _open_mark(source: Source, row: int, line: int) -> InputError:
    return InputError(
        f"{source}: a quotation mark in row {row} (line {line}) seems to have no pair, so that "
        "its cell does not end; mend the row."
    )


def undecodable(source: Source, encoding: str) -> InputError:
    """The error for text in another encoding."""
    place = "it"
    if encoding.lower() in ("utf-8", "utf8"):
        with source.open() as file:
            for number, line in enumerate(file, 1):
                try:
                    line.decode("utf-8")
                except UnicodeDecodeError:
                    place = f"line {number}"
                    break
    return InputError(
        f"{source}: {place} is no text in the encoding {encoding}; pass --encoding with that of "
        "the file, such as latin-1, cp1252 or utf-16."
    )
