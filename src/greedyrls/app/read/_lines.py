"""Locate rows of a text file by line numbers, as editors show them."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from ._files import Source, open_text

# The header may be below at most this many rows.
_FIRST_ROWS = 30


@dataclass(frozen=True, slots=True)
class Lines:
    """Line numbers of rows, found by reading the file again: needed only in messages."""

    source: Source
    encoding: str
    delimiter: str
    skipped: int  # lines before the table
    has_header: bool

    def __call__(self, row: int) -> str:
        """Return the line on which a row begins, by its index below the header."""
        line = next((line for index, line, _ in self._rows() if index == row), None)
        return f"row {row + 1}" if line is None else f"line {line}"

    def line_with(self, name: str) -> int | None:
        """Return the line of an early row below the header with this cell and no numbers."""
        for index, line, cells in islice(self._rows(), _FIRST_ROWS):
            has_it = index >= 0 and name in map(str.strip, cells)
            if has_it and not any(map(_is_number, cells)):
                return line
        return None

    def _rows(self) -> Iterator[tuple[int, int, list[str]]]:
        """Yield index, line and cells of each row; the header has index −1."""
        index, line = -int(self.has_header), self.skipped + 1
        with open_text(self.source, self.encoding) as lines:
            for _ in range(self.skipped):
                lines.readline()
            reader = csv.reader(lines, delimiter=self.delimiter)
            try:
                for cells in reader:
                    if cells:  # blank lines are no rows
                        yield index, line, cells
                        index += 1
                    line = self.skipped + reader.line_num + 1
            except (csv.Error, UnicodeError):
                return  # a cell that Arrow reads but Python does not


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return True
