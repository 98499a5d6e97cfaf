"""The columns of a file to read, and their types."""

from __future__ import annotations

from dataclasses import dataclass

from ._names import Names


@dataclass(frozen=True, slots=True)
class Wanted:
    """The columns that the caller needs; names that a file does not have are ignored."""

    as_text: frozenset[str] = frozenset()
    as_numbers: frozenset[str] = frozenset()
    only: frozenset[str] | None = None  # None for all columns
    leave_out: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()  # asked for by name, hence no row names
    missing: tuple[str, ...] = ()  # texts that count as missing, besides the usual ones
    comma_columns: frozenset[str] = frozenset()  # a comma is the decimal mark if that is possible

    def used(self, names: Names) -> list[str]:
        """Return the columns that are read, in the order of the file."""
        left_out = self.leave_out | self._row_names(names)
        return [
            name
            for name in names.names
            if name not in left_out and (self.only is None or name in self.only)
        ]

    def _row_names(self, names: Names) -> frozenset[str]:
        asked = self.named | self.as_text | self.as_numbers | (self.only or frozenset())
        return names.left_out(asked)

    def name_notes(self, names: Names) -> list[str]:
        """Return notes on the names of a file."""
        # If only some columns are read, row names do not matter.
        left_out = frozenset() if self.only is not None else self._row_names(names) - self.leave_out
        return names.notes(self.used(names), left_out)
