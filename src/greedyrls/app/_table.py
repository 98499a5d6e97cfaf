"""A table in memory: named columns of numbers or of text, wherever they came from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .._base import Float, quoted

# So many names are listed in a message.
SHOWN = 5
# More different texts than this are names or codes, not categories.
MOST_LEVELS = 50


# So many problems of a table are listed in a message.
MOST_PROBLEMS = 10


class InputError(ValueError):
    """Something is wrong with what the user gave: says what, where, and what to do."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that keeps a table from being used."""

    text: str  # what is wrong, where, and what to do; without the name of the file
    # Options that would make it go away, such as ("--drop", "x"); empty where none would.
    remedy: tuple[str, ...] = ()


class InputProblems(InputError):
    """Everything that is wrong with a table: one line for each problem."""

    def __init__(self, source: str, problems: Sequence[Problem]) -> None:
        self.source = source
        self.problems = tuple(problems)
        # A command that would work, where there is one; the command line knows it.
        self.command: str | None = None
        lines = self.lines()
        super().__init__(" ".join(lines))

    def lines(self) -> list[str]:
        """The message: one line for one problem, otherwise a heading and a line for each."""
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
    """Collect the problems that are found inside, rather than stop at the first."""
    try:
        yield
    except InputProblems as error:
        problems += error.problems


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """A column of numbers, or of true and false."""

    values: Float  # (m) float64, not a number where missing; flags are 0 and 1
    is_whole: bool = False  # every value there is a whole number
    is_flag: bool = False  # true and false in the file

    @property
    def is_missing(self) -> NDArray[np.bool_]:
        """Where there is no value, (m)."""
        return np.isnan(self.values)


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """A column of text."""

    codes: NDArray[np.int32]  # (m) place among the levels, −1 where missing
    levels: tuple[str, ...]  # different texts, sorted

    @property
    def is_missing(self) -> NDArray[np.bool_]:
        """Where there is no value, (m)."""
        return self.codes < 0

    def strings(self) -> list[str | None]:
        """The text of each row."""
        known = (*self.levels, None)  # −1 is the last
        return [known[code] for code in self.codes.tolist()]


@dataclass(frozen=True, slots=True)
class Unusable:
    """A column that is neither: dates, lists, bytes, or numbers that cannot be read for sure."""

    what: str  # in words, such as "dates"
    # Of cells that cannot be read, what is wrong, after the name of the column: "has … in line 7".
    why: str = field(default="", kw_only=True)
    # Options for reading the file that would help, each with its value, the likeliest first.
    options: tuple[tuple[str, str], ...] = field(default=(), kw_only=True)


@dataclass(frozen=True, slots=True, eq=False)
class Dates(Unusable):
    """Dates that were asked for: no feature themselves, but they have parts that are."""

    moments: NDArray[np.datetime64]  # (m) microseconds in UTC, not a time where missing
    order: str | None = None  # "dmy" or "mdy", where years are written last

    @property
    def is_missing(self) -> NDArray[np.bool_]:
        """Where there is no value, (m)."""
        return np.isnat(self.moments)


Column = Numbers | Texts | Unusable


class Places(Protocol):
    """Where things stand in a file, as people find them."""

    def __call__(self, row: int) -> str:
        """Where a row stands, by its index."""

    def line_with(self, name: str) -> int | None:
        """The line below the names that has a cell and may have names, among the first ones."""


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Columns by name, in the order of the file."""

    source: str  # the file as the user named it
    columns: dict[str, Column]
    n_rows: int
    # The column that is the target unless another is named, for formats that have one.
    target: str | None = None
    # All names of the file, where some columns were not read.
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # what was made of the file, in sentences
    # Where a row of the file stands, by its index, in words; by default "row 3" for index 2.
    place_of: Places | None = None
    rows: NDArray[np.intp] | None = None  # indices in the file, where rows were left out
    # Columns in which a comma is the decimal mark.
    comma_columns: frozenset[str] = frozenset()
    missing: tuple[str, ...] = ()  # cells that the user said to be missing
    hint: str = ""  # where columns may be that are not here, in a sentence

    @property
    def all_names(self) -> tuple[str, ...]:
        """The names of the file, also of columns that were not read."""
        return self.names or tuple(self.columns)

    def column(self, name: str) -> Column:
        """A column, or an error that names those like it."""
        self.check_has(name)
        return self.columns[name]

    def check_has(self, name: str, option: str | None = None) -> None:
        """Raise an error that names columns like it if the file has no such column."""
        if name not in self.columns and name not in self.names:
            advice = _repetition(name, self, option) or _suggestion(name, self)
            hint = f" {self.hint}" if self.hint else ""
            raise InputError(f"{self.source} has no column {name!r}{advice}{hint}")

    def place(self, row: int) -> str:
        """Where a row stands: "line 4" of a text file, "row 3" of others."""
        index = row if self.rows is None else int(self.rows[row])
        return (self.place_of or row_in_words)(index)

    def problem(self, text: str, *remedy: str) -> InputProblems:
        """An error of one problem."""
        return InputProblems(self.source, [Problem(text, remedy)])


def row_in_words(index: int) -> str:
    """Where a row stands in a file that has no lines."""
    return f"row {index + 1}"


def _repetition(name: str, table: Table, option: str | None) -> str:
    """What to type where several columns were named at once."""
    parts = [part.strip() for part in name.split(",")]
    if option is None or len(parts) < 2 or not set(parts) <= set(table.all_names):
        return ""
    return f"; to name several, repeat {option}: {options_for(option, parts)}"


def _suggestion(name: str, table: Table) -> str:
    import difflib

    names = list(table.all_names)
    folded = {known.casefold().strip(): known for known in names}
    close = difflib.get_close_matches(name.casefold().strip(), folded, 3, 0.6)
    if close:
        return f"; did you mean {' or '.join(repr(folded[one]) for one in close)}?"
    line = None if table.place_of is None else table.place_of.line_with(name)
    if line is not None:
        return (
            f" among its names, but line {line} has it; if the table begins there, pass "
            f"--skip-lines {line - 1}"
        )
    shown = ", ".join(repr(one) for one in names[:8])
    return f"; it has {shown}{', …' if len(names) > 8 else '.'}"


def listed(names: Sequence[str]) -> str:
    """Some names, and how many more there are."""
    shown = ", ".join(repr(name) for name in names[:SHOWN])
    return f"{shown} and {len(names) - SHOWN} more" if len(names) > SHOWN else shown


def options_for(option: str, names: Sequence[str]) -> str:
    """What to type to name these columns."""
    shown = " ".join(f"{option} {quoted(name)}" for name in names[:SHOWN])
    return f"{shown} …" if len(names) > SHOWN else shown


def reading_advice(column: Unusable) -> str:
    """What to do where cells cannot be read: options for reading the file."""
    marks = {
        "--decimal": "pass --decimal {} if it is the decimal mark",
        "--thousands": "pass --thousands {} if it separates thousands",
    }
    advice = [marks[name].format(quoted(one)) for name, one in column.options if name in marks]
    words = [one for name, one in column.options if name == "--missing"]
    if words:
        stands = "it stands" if len(words) == 1 else "they stand"
        advice.append(f"pass {options_for('--missing', words)} if {stands} for missing values")
    return ", ".join([*advice, "mend the cells"])


def make_texts(values: list[Any]) -> Texts:
    """A column of text from strings, with None for missing ones."""
    levels = sorted({value for value in values if value is not None})
    place = {level: code for code, level in enumerate(levels)}
    codes = np.fromiter(
        (-1 if value is None else place[value] for value in values), np.int32, len(values)
    )
    return Texts(codes, tuple(levels))
