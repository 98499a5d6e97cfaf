"""Locate errors of a CSV file: Arrow detects them, a second pass finds the row."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, TextIO

from .._table import InputError
from ._files import Source, open_text, shortened, shown
from ._header import Layout

# Lines that are read to find where a table begins.
_LOOKED_AT = 60


def bad_row(source: Source, layout: Layout, reason: str) -> InputError:
    """Return the error for the first row with too many or too few cells."""
    n = len(layout.names.names)
    row, line = -int(layout.header), layout.skipped + 1  # the header is row 0
    with _opened(source, layout) as lines:
        reader = csv.reader(lines, delimiter=layout.delimiter)
        try:
            for cells in reader:
                row += bool(cells)  # blank lines are no rows
                if len(cells) not in (0, n) and row > 0:
                    return InputError(
                        f"{source}: line {line} has {_count(len(cells), 'cell')}, but "
                        f"there {_count(n, 'column', 'is ', 'are ')}; "
                        f"{_advice(source, layout)}"
                    )
                line = layout.skipped + reader.line_num + 1
        except csv.Error:  # a cell of more than 131,072 characters
            return _open_mark(source, line)
    return InputError(f"{source}: its rows cannot be parsed: {shortened(reason, 300)}")


def _advice(source: Source, layout: Layout) -> str:
    """Return advice for rows of different lengths."""
    mended = (
        f"correct the row, or pass --delimiter if {shown(layout.delimiter)} is not what separates "
        "cells."
    )
    above = _lines_above(source, layout)
    if not above:
        return mended
    return f"if the table begins below line {above}, pass --skip-lines {above}; otherwise {mended}"


def _lines_above(source: Source, layout: Layout) -> int:
    """Return how many lines precede a table that seems to begin further down; 0 for none."""
    with open_text(source, layout.encoding) as text:
        start = [line.rstrip("\r\n") for line in islice(text, _LOOKED_AT)]
    best = 0, 0
    for delimiter in dict.fromkeys((layout.delimiter, *",;\t|")):
        counts = [line.count(delimiter) for line in start]
        # The longest run of lines with equally many cells that reaches the end of the sample.
        last = counts[-1] if counts else 0
        first = next((i + 1 for i in reversed(range(len(counts))) if counts[i] != last), 0)
        if last and len(counts) - first > max(1, best[1]):
            best = first, len(counts) - first
    return best[0] if best[0] > layout.skipped else 0


def _opened(source: Source, layout: Layout) -> TextIO:
    """Open the text of the file below the skipped lines."""
    lines = open_text(source, layout.encoding)
    for _ in range(layout.skipped):
        lines.readline()
    return lines


def _count(number: int, word: str, singular: str = "", plural: str = "") -> str:
    return f"{singular}1 {word}" if number == 1 else f"{plural}{number} {word}s"


def check_last_cell(source: Source, layout: Layout, column: Any) -> None:
    """Fail if an unclosed quotation mark made all further rows part of the last cell.

    Arrow takes them for text. Files whose last cell has line breaks are rare enough to be read
    again.
    """
    cell = column[-1].as_py() if len(column) else None
    if not isinstance(cell, str) or not {"\n", "\r"} & set(cell):
        return
    line, n_marks = 1, 0
    with _opened(source, layout) as lines:
        held: list[str] = []
        reader = csv.reader(_remembered(lines, held), delimiter=layout.delimiter)
        try:
            for cells in reader:
                if cells:
                    line = reader.line_num - len(held) + 1
                    n_marks = _count_marks(held)
                held.clear()
        except csv.Error:  # a cell of more than 131,072 characters, open or not
            line = reader.line_num - len(held) + 1
            n_marks = _count_marks(held) + _count_marks(lines)
    if n_marks % 2:
        raise _open_mark(source, layout.skipped + line)


def _remembered(lines: Iterable[str], held: list[str]) -> Iterator[str]:
    for line in lines:
        held.append(line)
        yield line


def _count_marks(lines: Iterable[str]) -> int:
    return sum(line.count('"') for line in lines)


def _open_mark(source: Source, line: int) -> InputError:
    return InputError(
        f"{source}: a quotation mark in line {line} seems to have no closing mark; correct the "
        "line."
    )


def undecodable(source: Source, encoding: str) -> InputError:
    """Return the error for text in another encoding."""
    where = "it"
    if encoding.lower() in ("utf-8", "utf8"):
        with source.open() as file:
            for number, line in enumerate(file, 1):
                try:
                    line.decode("utf-8")
                except UnicodeDecodeError:
                    where = f"line {number}"
                    break
    return InputError(
        f"{source}: {where} is not text in the encoding {encoding}; pass --encoding with that of "
        "the file, such as latin-1, cp1252 or utf-16."
    )
