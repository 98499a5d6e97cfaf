"""Prepare a table for a search: target, encoded text, filled gaps, standardised features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._base import Float
from .._problem import Task
from ._column_problems import gaps_in_words, odd_values, unusable_columns
from ._column_roles import without_identifiers
from ._column_summary import summary
from ._data_summary import ColumnSummary, Feature
from ._dates import PARTS, left_out_notes, with_parts
from ._frame_columns import texts_of_numbers
from ._linear_model import InputColumn, Label, term_values
from ._multiples import multiples_in_words
from ._placeholders import placeholder_notes
from ._table import (
    Column,
    Dates,
    InputError,
    InputProblems,
    Numbers,
    Problem,
    Table,
    Texts,
    Unusable,
    collecting,
    reading_advice,
)
from ._table import listed as _listed
from ._table import options_for as _options
from ._target_column import check_target_is_readable, make_target
from ._time_column import TimeOrder, check_times, ordered_by

Impute = Literal["median"]


@dataclass(frozen=True, slots=True)
class Roles:
    """The role of each column, and how the others become features."""

    target: str
    ids: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    groups: str | None = None
    weights: str | None = None
    categorical: tuple[str, ...] = ()
    forced: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()  # features even if they look like row numbers
    priced: tuple[str, ...] = ()  # features with a cost
    task: Task = "auto"
    impute: Impute | None = None
    is_standardised: bool = True
    is_centred: bool = True  # False if the model has no intercept
    drops_missing_target: bool = False
    dates: tuple[str, ...] = ()  # date columns whose parts are features
    time: str | None = None  # column by which rows are ordered

    @property
    def as_dates(self) -> tuple[str, ...]:
        """Columns that are read as dates."""
        return self.dates if self.time is None else (*self.dates, self.time)

    @property
    def as_text(self) -> tuple[str, ...]:
        """Columns that are read as text, unchanged."""
        groups = () if self.groups is None else (self.groups,)
        return (*self.ids, *groups, *self.categorical)


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """Input of a search, and the information to return to the units of the table."""

    X: Float  # (m × n) standardised
    y: NDArray[Any]  # (m) numbers or labels
    task: Literal["regression", "classification"]
    classes: tuple[Label, ...] | None
    features: tuple[Feature, ...]  # (n)
    inputs: dict[str, InputColumn]  # by column
    summaries: dict[str, ColumnSummary]  # by column, including the target
    groups: NDArray[Any] | None
    weights: Float | None
    forced: tuple[int, ...]
    notes: tuple[str, ...]
    n_columns: int
    time: TimeOrder | None = None  # if set, groups are rows of the same time, or those asked for


def prepare(table: Table, roles: Roles) -> Prepared:
    """Check the table and make features of its columns."""
    # Numbers that are too large to be squared are detected and reported by column.
    with np.errstate(over="ignore", invalid="ignore"):
        return _prepare(table, roles)


def _prepare(table: Table, roles: Roles) -> Prepared:
    _check_roles(table, roles)
    notes = list(table.notes)
    problems: list[Problem] = []  # collected, so that the user sees all of them at once
    evidence, target = table.columns, None
    if roles.time is not None:
        check_times(table, roles.time, roles.target)
    with collecting(problems):
        check_target_is_readable(table, roles.target)
        table = _with_target(table, roles, notes, problems)
    with collecting(problems):
        table = _with_weight(table, roles, notes)
    groups, weights, time = None, None, None
    with collecting(problems):
        groups = _groups(table, roles)
        if roles.time is not None:
            groups, time = ordered_by(table, roles.time, groups, roles.groups)
            notes.append(time.note(is_feature=roles.time in roles.dates))
    with collecting(problems):
        weights = _weights(table, roles) if not problems else None
    if _has_values(table.columns[roles.target]):
        with collecting(problems):
            target = make_target(table, roles.target, roles.task, notes)
    n_columns = len(table.all_names)
    table, parts = with_parts(table, roles.dates, notes)
    aside = {roles.target, roles.groups, roles.time, roles.weights, *roles.ids, *roles.dropped}
    columns = {name: values for name, values in table.columns.items() if name not in aside}
    notes += _role_notes(roles)
    wanted = {*roles.kept, *roles.priced, *roles.forced, *roles.categorical, *parts}
    columns = without_identifiers(columns, evidence, wanted, notes)
    usable = _usable(table, columns, roles, notes, problems)
    _check_gaps(table, usable, roles, problems)
    if problems or target is None:
        raise InputProblems(table.source, problems)
    task, y, classes = target
    notes += placeholder_notes({**usable, roles.target: table.columns[roles.target]})
    summaries = {name: summary(name, values) for name, values in usable.items()}
    summaries[roles.target] = summary(roles.target, table.columns[roles.target])
    filled, inputs = _filled(table, usable, roles, notes)
    for name in parts.keys() & inputs.keys():
        inputs[name] = replace(inputs[name], date=parts[name])
    features, X = _features(table, filled, roles, weights, notes)
    notes += multiples_in_words(X, features)
    return Prepared(
        X=X,
        y=y,
        task=task,
        classes=classes,
        features=features,
        inputs=inputs,
        summaries=summaries,
        groups=groups,
        weights=weights,
        forced=_forced(features, roles),
        notes=tuple(notes),
        n_columns=n_columns,
        time=time,
    )


def _role_notes(roles: Roles) -> list[str]:
    """Say which columns are no features because of their role."""
    notes = []
    left_out = list(dict.fromkeys((*roles.ids, *roles.dropped)))
    if left_out:
        notes.append(f"Left out as asked: {_listed(left_out)}.")
    if roles.groups is not None:
        notes.append(
            f"Rows with the same {roles.groups!r} stay together in all folds; it is not used as a "
            "feature."
        )
    return notes


def _check_roles(table: Table, roles: Roles) -> None:
    """Raise an error unless every named column exists and has one role."""
    taken: dict[str, str] = {}
    named = [("--target", roles.target)]
    named += [("--id", name) for name in roles.ids]
    named += [("--drop", name) for name in roles.dropped]
    named += [("--cv", roles.groups)] if roles.groups is not None else []
    named += [("--weight", roles.weights)] if roles.weights is not None else []
    if roles.time is not None and roles.time not in roles.dates:  # a column may be both
        named.append(("--time", roles.time))
    for option, name in named:
        table.check_has(name, option)
        if taken.get(name, option) != option:
            raise InputError(f"Column {name!r} cannot be both {taken[name]} and {option}.")
        taken[name] = option
    conflicting = [name for name in roles.dates if name in roles.categorical]
    if conflicting:
        raise InputError(f"Column {conflicting[0]!r} cannot be both --categorical and --dates.")
    for option, names in (
        ("--categorical", roles.categorical),
        ("--force", roles.forced),
        ("--keep", roles.kept),
        ("--dates", roles.dates),
    ):
        for name in names:
            table.check_has(name, option)
            if name in taken and not (option == "--categorical" and name == roles.target):
                raise InputError(f"Column {name!r} cannot be both {taken[name]} and {option}.")


def _with_target(table: Table, roles: Roles, notes: list[str], problems: list[Problem]) -> Table:
    """Return the rows that have a target."""
    values = table.column(roles.target)
    assert not isinstance(values, Unusable)
    where = f"column {roles.target!r} (the target)"
    is_missing = values.is_missing
    count = int(is_missing.sum())
    if count == 0:
        return table
    if count == table.n_rows:
        raise table.problem(f"{where} is empty: every value is missing.")
    if not roles.drops_missing_target:
        first = table.location(int(np.argmax(is_missing)))
        text = (
            f"{where} is missing in {count} of {table.n_rows} rows, first in {first}: "
            "fill it in, or leave these rows out with --drop-missing-target."
        )
        problems.append(Problem(text, ("--drop-missing-target",)))
    notes.append(f"{_rows(count)} without a target left out.")
    return _with_rows(table, ~is_missing)


def _has_values(values: Column) -> bool:
    return not isinstance(values, Unusable) and not bool(values.is_missing.any())


def _with_weight(table: Table, roles: Roles, notes: list[str]) -> Table:
    """Return the rows of positive weight: the others must not affect the scales of features."""
    weights = _weights(table, roles)
    if weights is None or weights.all():
        return table
    notes.append(f"{_rows(int(np.count_nonzero(weights == 0.0)))} of weight 0 left out.")
    return _with_rows(table, weights > 0.0)


def _with_rows(table: Table, kept: NDArray[np.bool_]) -> Table:
    columns = {name: _part(column, kept) for name, column in table.columns.items()}
    rows = np.flatnonzero(kept) if table.rows is None else table.rows[kept]
    return replace(table, columns=columns, n_rows=len(rows), rows=rows)


def _part(column: Column, kept: NDArray[np.bool_]) -> Column:
    if isinstance(column, Numbers):
        return Numbers(column.values[kept], column.is_whole, column.is_flag)
    if isinstance(column, Texts):
        # Texts that occur only in other rows are unseen by the model.
        used, codes = np.unique(column.codes[kept], return_inverse=True)
        is_missing = int((used < 0).any())
        levels = tuple(column.levels[code] for code in used[is_missing:])
        return Texts((codes - is_missing).astype(np.int32), levels)
    if isinstance(column, Dates):
        return Dates(column.what, column.moments[kept], column.order)
    return column


def _groups(table: Table, roles: Roles) -> NDArray[Any] | None:
    if roles.groups is None:
        return None
    values = table.columns[roles.groups]
    where = f"column {roles.groups!r} (groups)"
    if isinstance(values, Unusable):
        raise table.problem(f"{where} has {values.what}; it must have text or numbers.")
    if values.is_missing.any():
        location = table.location(int(np.argmax(values.is_missing)))
        raise table.problem(f"{where} has missing values, first in {location}; fill them in.")
    codes = values.codes if isinstance(values, Texts) else values.values
    groups = np.unique(codes, return_inverse=True)[1]
    if groups.max() < 1:
        raise table.problem(f"{where} has a single group; folds need two or more.")
    return groups


def _weights(table: Table, roles: Roles) -> Float | None:
    if roles.weights is None:
        return None
    values = table.columns[roles.weights]
    where = f"column {roles.weights!r} (weights)"
    if isinstance(values, Unusable) and values.why:
        raise table.problem(f"{where} {values.why}; {reading_advice(values)}.")
    if not isinstance(values, Numbers):
        raise table.problem(f"{where} must have numbers.")
    is_bad = ~(np.isfinite(values.values) & (values.values >= 0.0))
    if is_bad.any():
        location = table.location(int(np.argmax(is_bad)))
        raise table.problem(f"{where} must have numbers of 0 or more; see {location}.")
    if not values.values.any():
        raise table.problem(f"{where} is 0 in all rows.")
    return values.values


def _usable(
    table: Table,
    columns: dict[str, Column],
    roles: Roles,
    notes: list[str],
    problems: list[Problem],
) -> dict[str, Numbers | Texts]:
    """Return columns that can be features; notes and problems name those that cannot."""
    problems += unusable_columns(table, columns)
    notes += left_out_notes(table, columns, {*roles.forced, *roles.kept, *roles.priced})
    usable: dict[str, Numbers | Texts] = {}
    for name, values in columns.items():
        if isinstance(values, Unusable):
            continue
        if name in roles.categorical and isinstance(values, Numbers):
            values = texts_of_numbers(values)
        usable[name] = values
    problems += odd_values(table, usable)
    empty = [name for name, values in usable.items() if values.is_missing.all()]
    if empty:
        notes.append(f"{_columns(empty)} without any value left out: {_listed(empty)}.")
    nothing = set(empty)
    return {name: values for name, values in usable.items() if name not in nothing}


def _check_gaps(
    table: Table, columns: dict[str, Numbers | Texts], roles: Roles, problems: list[Problem]
) -> None:
    """Add a problem for missing values unless they are filled in."""
    gaps = {name: int(values.is_missing.sum()) for name, values in columns.items()}
    gaps = {name: count for name, count in gaps.items() if count}
    if gaps and roles.impute is None:
        problems.append(gaps_in_words(table, columns, gaps))


def _filled(
    table: Table, columns: dict[str, Numbers | Texts], roles: Roles, notes: list[str]
) -> tuple[dict[str, Numbers | Texts], dict[str, InputColumn]]:
    """Return columns without gaps, and how gaps are filled in each."""
    gaps = {name: int(values.is_missing.sum()) for name, values in columns.items()}
    gaps = {name: count for name, count in gaps.items() if count}
    filled: dict[str, Numbers | Texts] = {}
    inputs: dict[str, InputColumn] = {}
    for name, values in columns.items():
        fill: Any = None
        if isinstance(values, Texts):
            seen = values.codes[values.codes >= 0]
            if roles.impute is not None:
                fill = values.levels[int(np.argmax(np.bincount(seen)))]
                code = values.levels.index(fill)
                values = Texts(np.where(values.codes < 0, code, values.codes), values.levels)
            inputs[name] = InputColumn(name, values.levels, fill, missing=table.missing)
        else:
            if roles.impute is not None:
                fill = float(np.nanmedian(values.values))
                if values.is_flag:
                    fill = float(fill > 0.5)  # the median of flags may be 0.5
            if name in gaps:
                values = Numbers(np.where(values.is_missing, fill, values.values))
            mark = "," if name in table.comma_columns else "."
            inputs[name] = InputColumn(name, None, fill, mark, missing=table.missing)
        filled[name] = values
    if gaps:
        notes.append(
            f"Missing values filled in (median of numbers, most frequent text) in "
            f"{_columns(list(gaps)).lower()}: {_listed(list(gaps))}."
        )
    return filled, inputs


def _features(
    table: Table,
    columns: dict[str, Numbers | Texts],
    roles: Roles,
    weights: Float | None,
    notes: list[str],
) -> tuple[tuple[Feature, ...], Float]:
    """Return features and their values (m × n): one for each text, or a single one of two texts."""
    wanted: list[tuple[str, str | None]] = []
    constant = []
    for name, values in columns.items():
        if isinstance(values, Texts):
            used = [values.levels[code] for code in np.unique(values.codes).tolist()]
            # One indicator suffices for two texts.
            wanted += [(name, level) for level in (used[1:] if len(used) == 2 else used)]
            is_constant = len(used) < 2
        else:
            is_constant = bool((values.values == values.values[0]).all())
            wanted.append((name, None))
        if is_constant:
            constant.append(name)
    if constant:
        notes.append(f"{_columns(constant)} with a single value left out: {_listed(constant)}.")
    left_out = set(constant)
    wanted = [pair for pair in wanted if pair[0] not in left_out]
    if not wanted:
        raise InputError(
            f"{table.source} has no column to choose from besides {roles.target!r} and those left "
            "out or constant."
        )
    X = np.empty((table.n_rows, len(wanted)), order="F")
    features = []
    for index, (name, level) in enumerate(wanted):
        numbers = term_values(columns[name], level)
        # The second mean removes the rounding of the first, for values far from 0.
        mean = float(np.average(numbers, weights=weights))
        mean += float(np.average(numbers - mean, weights=weights))
        X[:, index] = numbers - mean
        scale = float(np.sqrt(np.average(np.square(X[:, index]), weights=weights)))
        if not (np.isfinite(scale) and scale > 0.0):
            raise InputError(
                f"Column {name!r} of {table.source} has numbers too large or too close to each "
                "other to be standardised; divide them by a round number, or leave the column out "
                f"({_options('--drop', [name])})."
            )
        if not roles.is_standardised:
            scale = 1.0
        if not roles.is_centred:
            X[:, index] = numbers
            mean = 0.0
        X[:, index] /= scale
        features.append(Feature(name, level, mean, scale))
    return tuple(features), X


def _forced(features: Sequence[Feature], roles: Roles) -> tuple[int, ...]:
    """Return the features of forced columns; for dates, all parts."""

    def indices_of(name: str) -> list[int]:
        of_date = [f"{name}: {part}" for part in PARTS] if name in roles.dates else []
        return [at for at, feature in enumerate(features) if feature.column in (name, *of_date)]

    indices = [index for name in roles.forced for index in indices_of(name)]
    missing = [name for name in roles.forced if not indices_of(name)]
    if missing:
        raise InputError(f"--force {missing[0]!r}: the column has a single value, or none.")
    return tuple(dict.fromkeys(indices))


def _columns(names: Sequence[str]) -> str:
    return f"{len(names)} column{'s' * (len(names) != 1)}"


def _rows(count: int) -> str:
    return f"{count} row{'s' * (count != 1)}"
