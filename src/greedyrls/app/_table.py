"""A table in memory: named columns of numbers or text from any source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .._base import Float, quoted

if TYPE_CHECKING:
    from .read import StoredColumns

# A message lists at most this many names.
SHOWN = 5
# More different texts than this are names or codes, not categories.
MOST_LEVELS = 50


# A message lists at most this many problems of a table.
MOST_PROBLEMS = 10


class InputError(ValueError):
    """An error in the user's input; the message says what is wrong, where, and what to do."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A reason why a table cannot be used."""

    text: str  # what is wrong, where, and what to do; without the name of the file
    # Options that would solve it, such as ("--drop", "x"); empty if none would.
    remedy: tuple[str, ...] = ()


class InputProblems(InputError):
    """All problems of a table: one line for each."""

    def __init__(self, source: str, problems: Sequence[Problem]) -> None:
        self.source = source
        self.problems = tuple(problems)
        # A command that would work, if there is one; set by the command line.
        self.command: str | None = None
        lines = self.lines()
        super().__init__(" ".join(lines))

    def lines(self) -> list[str]:
        """Return the message: one line for one problem, otherwise a heading and a line for each."""
        if len(self.problems) == 1:
            return [f"{self.source}: {self.problems[0].text}"]
        lines = [f"{self.source} has {len(self.problems)} problems:"]
        lines += [
            f"({number}) {problem.text}"
            for number, problem in enumerate(self.problems[:MOST_PROBLEMS], 1)
        ]
        if len(self.problems) > MOST_PROBLEMS:
            lines.append(f"and {len(self.problems) - MOST_PROBLEMS} more.")
        return lines


@contextmanager
def collecting(problems: list[Problem]) -> Iterator[None]:
    """Collect the problems raised inside instead of stopping at the first."""
    try:
        yield
    except InputProblems as error:
        problems += error.problems


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """A column of numbers, or of true and false."""

    values: Float  # (m) float64, NaN if missing; flags are 0 and 1
    is_whole: bool = False  # every value present is a whole number
    is_flag: bool = False  # true and false in the file

    @property
    def is_missing(self) -> NDArray[np.bool_]:
        """Mask of missing values, (m)."""
        return np.isnan(self.values)


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """A column of text."""

    codes: NDArray[np.int32]  # (m) index among the levels, −1 if missing
    levels: tuple[str, ...]  # different texts, sorted

    @property
    def is_missing(self) -> NDArray[np.bool_]:
        """Mask of missing values, (m)."""
        return self.codes < 0

    def strings(self) -> list[str | None]:
        """Return the text of each row."""
        texts = (*self.levels, None)  # code −1 is the last
        return [texts[code] for code in self.codes.tolist()]


@dataclass(frozen=True, slots=True)
class Unusable:
    """A column of neither numbers nor text: dates, lists, bytes, or ambiguous numbers."""

    what: str  # in words, such as "dates"
    # What is wrong with cells that cannot be read, to follow the column name: "has … in line 7".
    why: str = field(default="", kw_only=True)
    # Options for reading the file that would help, each with its value, the most likely first.
    options: tuple[tuple[str, str], ...] = field(default=(), kw_only=True)


@dataclass(frozen=True, slots=True, eq=False)
class Dates(Unusable):
    """Dates that the user asked for: not features themselves, but their parts are."""

    moments: NDArray[np.datetime64]  # (m) microseconds in UTC, NaT if missing
    order: str | None = None  # "dmy" or "mdy", if years are written last

    @property
    def is_missing(self) -> NDArray[np.bool_]:
        """Mask of missing values, (m)."""
        return np.isnat(self.moments)


Column = Numbers | Texts | Unusable


class RowLocations(Protocol):
    """Locations of rows in a file, as people find them."""

    def __call__(self, row: int) -> str:
        """Return the location of a row, by its index, in words."""

    def line_with(self, name: str) -> int | None:
        """Return the number of an early line that has this cell and may be the header, or None."""


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Columns by name, in the order of the file."""

    source: str  # the file as the user named it
    columns: dict[str, Column]
    n_rows: int
    # The default target, for formats that have one.
    target: str | None = None
    # All names of the file, if some columns were not read.
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # how the file was read, in sentences
    # Location of a row of the file, by its index, in words; by default "row 3" for index 2.
    location_of: RowLocations | None = None
    rows: NDArray[np.intp] | None = None  # indices in the file, if rows were left out
    # Columns in which a comma is the decimal mark.
    comma_columns: frozenset[str] = frozenset()
    missing: tuple[str, ...] = ()  # cells that the user said to be missing
    hint: str = ""  # where to look for missing columns, in a sentence
    stored: StoredColumns | None = None  # columns that stay in the file

    @property
    def all_names(self) -> tuple[str, ...]:
        """The names of all columns of the file, including those that were not read."""
        return self.names or tuple(self.columns)

    def column(self, name: str) -> Column:
        """Return a column, or raise an error that suggests similar names."""
        self.check_has(name)
        return self.columns[name]

    def check_has(self, name: str, option: str | None = None) -> None:
        """Raise an error that suggests similar names if the file has no such column."""
        if name not in self.columns and name not in self.names:
            advice = _repetition(name, self, option) or _suggestion(name, self)
            hint = f" {self.hint}" if self.hint else ""
            raise InputError(f"{self.source} has no column {name!r}{advice}{hint}")

    def location(self, row: int) -> str:
        """Return the location of a row: "line 4" of a text file, "row 3" of others."""
        index = row if self.rows is None else int(self.rows[row])
        return (self.location_of or row_in_words)(index)

    def problem(self, text: str, *remedy: str) -> InputProblems:
        """Return an error with one problem."""
        return InputProblems(self.source, [Problem(text, remedy)])


def row_in_words(index: int) -> str:
    """Return the location of a row in a file that has no lines."""
    return f"row {index + 1}"


def _repetition(name: str, table: Table, option: str | None) -> str:
    """Return the options to type if several columns were named at once."""
    parts = [part.strip() for part in name.split(",")]
    if option is None or len(parts) < 2 or not set(parts) <= set(table.all_names):
        return ""
    return f"; to name several, repeat {option}: {options_for(option, parts)}"


def _suggestion(name: str, table: Table) -> str:
    import difflib

    names = list(table.all_names)
    folded = {original.casefold().strip(): original for original in names}
    close = difflib.get_close_matches(name.casefold().strip(), folded, 3, 0.6)
    if close:
        return f"; did you mean {' or '.join(repr(folded[match]) for match in close)}?"
    line = None if table.location_of is None else table.location_of.line_with(name)
    if line is not None:
        return (
            f" among its names, but line {line} has it; if the table begins there, pass "
            f"--skip-lines {line - 1}"
        )
    shown = ", ".join(repr(match) for match in names[:8])
    return f"; it has {shown}{', …' if len(names) > 8 else '.'}"


def listed(names: Sequence[str]) -> str:
    """Return some names, and how many more there are."""
    shown = ", ".join(repr(name) for name in names[:SHOWN])
    return f"{shown} and {len(names) - SHOWN} more" if len(names) > SHOWN else shown


def options_for(option: str, names: Sequence[str]) -> str:
    """Return the options to type for these columns."""
    shown = " ".join(f"{option} {quoted(name)}" for name in names[:SHOWN])
    return f"{shown} …" if len(names) > SHOWN else shown


def reading_advice(column: Unusable) -> str:
    """Return the options for reading the file that may help if cells cannot be read."""
    marks = {
        "--decimal": "pass --decimal {} if it is the decimal mark",
        "--thousands": "pass --thousands {} if it separates thousands",
    }
    advice = [marks[name].format(quoted(value)) for name, value in column.options if name in marks]
    words = [value for name, value in column.options if name == "--missing"]
    if words:
        stands = "it stands" if len(words) == 1 else "they stand"
        advice.append(f"pass {options_for('--missing', words)} if {stands} for missing values")
    return ", ".join([*advice, "correct the cells"])


def make_texts(values: list[Any]) -> Texts:
    """Return a column of text from strings, with None for missing ones."""
    levels = sorted({value for value in values if value is not None})
    code_of = {level: code for code, level in enumerate(levels)}
    codes = np.fromiter(
        (-1 if value is None else code_of[value] for value in values), np.int32, len(values)
    )
    return Texts(codes, tuple(levels))
