"""Where the rows of a text file stand: what people find in an editor are lines."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from ._files import Source, open_text

# Names of columns may stand below as many rows.
_FIRST_ROWS = 30


@dataclass(frozen=True, slots=True)
class Lines:
    """Finds lines by reading the file again: only errors and a few notes ask."""

    source: Source
    encoding: str
    delimiter: str
    skipped: int  # lines before the table
    has_header: bool

    def __call__(self, row: int) -> str:
        """The line on which a row begins, by its index below the names."""
        line = next((line for index, line, _ in self._rows() if index == row), None)
        return f"row {row + 1}" if line is None else f"line {line}"

    def line_with(self, name: str) -> int | None:
        """The line of one of the first rows below the names that has a cell, and no numbers."""
        for index, line, cells in islice(self._rows(), _FIRST_ROWS):
            has_it = index >= 0 and name in map(str.strip, cells)
            if has_it and not any(map(_is_number, cells)):
                return line
        return None

    def _rows(self) -> Iterator[tuple[int, int, list[str]]]:
        """Index, line and cells of each row; the names have index −1."""
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
                return  # a cell that Python does not read, though Arrow does


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return True
