"""Columns that cannot be features: what is wrong with them, and the options that would help."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ._column_facts import ColumnFacts
from ._table import (
    MOST_LEVELS,
    SHOWN,
    Column,
    Numbers,
    Problem,
    Table,
    Unusable,
    options_for,
    reading_advice,
)


def unusable_columns(table: Table, columns: Mapping[str, Column]) -> list[Problem]:
    """Return a problem for each column that could not be read; dates, lists etc. are none."""
    return [
        _unread(table, name, column)
        for name, column in columns.items()
        if isinstance(column, Unusable) and column.why
    ]


def _unread(table: Table, name: str, column: Unusable) -> Problem:
    """Return the problem of a column whose numbers cannot be read reliably."""
    text = (
        f"column {name!r} {column.why}; {reading_advice(column)}, leave it out "
        f"({options_for('--drop', [name])}) or take it as text "
        f"({options_for('--categorical', [name])})."
    )
    words = [value for option, value in column.options if option == "--missing"]
    if words:
        return Problem(text, _repeated("--missing", words))
    # Another decimal mark would be wrong for columns with decimal points.
    has_points = any(
        isinstance(other, Numbers) and not other.is_whole and not other.is_flag
        for other in table.columns.values()
    )
    for option, mark in column.options:
        if option == "--thousands" or not has_points:
            return Problem(text, (option, mark))
    return Problem(text, ("--drop", name))


def odd_values(table: Table, columns: Mapping[str, ColumnFacts]) -> list[Problem]:
    """Return problems of text columns with too many values, and of infinite numbers."""
    problems = []
    sizes = {
        name: facts.n_levels for name, facts in columns.items() if facts.n_levels > MOST_LEVELS
    }
    if sizes:
        names = list(sizes)
        problems.append(
            Problem(
                f"there are text columns with more than {MOST_LEVELS} different values: "
                f"{_counted(sizes)}. Leave them out ({options_for('--drop', names)}) or put their "
                "values into fewer groups.",
                _repeated("--drop", names),
            )
        )
    for name, facts in columns.items():
        if facts.infinite is None:
            continue
        row, words = facts.infinite
        problems.append(
            Problem(
                f"column {name!r} has an infinite value in {table.location(row)}; correct it, or "
                f"pass {options_for('--missing', words)} to take it as missing.",
                _repeated("--missing", words),
            )
        )
    return problems


def gaps_in_words(table: Table, gaps: Mapping[str, ColumnFacts]) -> Problem:
    """Return the problem of columns with missing values that are not filled in."""
    worst = sorted(gaps, key=lambda name: -gaps[name].n_missing)
    first = table.location(gaps[worst[0]].first_missing)
    return Problem(
        f"there are missing values in {len(worst)} column{'s' * (len(worst) != 1)}: "
        f"{_counted({name: gaps[name].n_missing for name in worst})}; {worst[0]!r} first in "
        f"{first}. Fill them in, use --impute median, or leave columns out "
        f"({options_for('--drop', worst[:1])}).",
        ("--impute", "median"),
    )


def _counted(counts: Mapping[str, int]) -> str:
    """Return some names with their numbers, and how many more there are."""
    shown = ", ".join(f"{name!r} ({count})" for name, count in list(counts.items())[:SHOWN])
    return f"{shown} and {len(counts) - SHOWN} more" if len(counts) > SHOWN else shown


def _repeated(option: str, values: Sequence[str]) -> tuple[str, ...]:
    return tuple(part for value in values for part in (option, value))
