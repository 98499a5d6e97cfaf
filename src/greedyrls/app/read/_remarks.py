"""Notes on how cells were interpreted, with one sentence for columns alike."""

from __future__ import annotations

from .._table import listed


class Remarks:
    """Notes on columns of a file."""

    def __init__(self) -> None:
        self._actions: dict[str, list[str]] = {}
        self._words: dict[str, dict[str, int]] = {}
        self.comma_columns: set[str] = set()

    def did(self, action: str, column: str) -> None:
        """Note what was done to the cells of a column, such as "'$' taken out"."""
        self._actions.setdefault(action, []).append(column)

    def missed(self, word: str, column: str, count: int) -> None:
        """Note that a word counts as missing in some rows of a column."""
        self._words.setdefault(word, {})[column] = count

    def sentences(self) -> list[str]:
        """Return the notes."""
        notes = []
        for action, columns in self._actions.items():
            several = f"{len(columns)} columns ({listed(columns)})"
            notes.append(f"{f'Column {columns[0]!r}' if len(columns) == 1 else several}: {action}.")
        for word, counts in self._words.items():
            count = sum(counts.values())
            rows = f"{count} row{'s' * (count != 1)}"
            where = f"{len(counts)} columns ({listed(list(counts))})"
            if len(counts) == 1:
                where = repr(next(iter(counts)))
            notes.append(f"{word!r} in {rows} of {where} counts as missing.")
        return notes
