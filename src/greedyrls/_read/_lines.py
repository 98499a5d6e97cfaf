"""Where the rows of a text file stand: what people find in an editor are lines."""

from __future__ import annotations

import csv
from dataclasses import dataclass

from ._files import Source, open_text


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
        index, line = -int(self.has_header), self.skipped + 1
        with open_text(self.source, self.encoding) as lines:
            for _ in range(self.skipped):
                lines.readline()
            reader = csv.reader(lines, delimiter=self.delimiter)
            try:
                for cells in reader:
                    if cells:  # blank lines are no rows
                        if index == row:
                            return f"line {line}"
                        index += 1
                    line = self.skipped + reader.line_num + 1
            except (csv.Error, UnicodeError):
                pass  # a cell that Python does not read, though Arrow does
        return f"row {row + 1}"
