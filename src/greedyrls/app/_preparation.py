"""Prepare a table for a search: target, encoded text, filled gaps, standardised features."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._base import Float
from .._problem import Task
from ..files import DataFile
from ._column_facts import ColumnFacts, Encoding, categorised, facts_of, feature_values, filled
from ._column_problems import gaps_in_words, odd_values, unusable_columns
from ._column_roles import identifiers_among, looks_like
from ._column_summary import summary
from ._data_summary import ColumnSummary, Feature
from ._dates import PARTS, DatePart, left_out_notes, with_parts
from ._linear_model import InputColumn, Label
from ._multiples import multiples_in_words
from ._placeholders import placeholder_notes, placeholders
from ._stored_features import stored_features
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

if TYPE_CHECKING:
    from ._remote_rows import RemoteRows

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

    X: Float | DataFile  # (m × n) standardised
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
    remote: RemoteRows | None = None  # the same rows on a cluster, where the selection is made


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
    table, groups, weights, time = _rows_of_table(table, roles, notes, problems)
    if _has_values(table.columns[roles.target]):
        with collecting(problems):
            target = make_target(table, roles.target, roles.task, notes)
    n_columns = len(table.all_names)
    table, parts = with_parts(table, roles.dates, notes)
    aside = {roles.target, roles.groups, roles.time, roles.weights, *roles.ids, *roles.dropped}
    columns = {name: values for name, values in table.columns.items() if name not in aside}
    notes += _role_notes(roles)
    wanted = {*roles.kept, *roles.priced, *roles.forced, *roles.categorical, *parts}
    encoding = _encoding(table, roles, weights)
    facts = _facts(table, columns, evidence, wanted, encoding)
    if table.stored is not None:
        facts = _in_order(table, facts, parts)
    usable = _usable(table, facts, roles, notes, problems)
    gaps = {name: column for name, column in usable.items() if column.n_missing}
    if gaps and roles.impute is None:
        problems.append(gaps_in_words(table, gaps))
    if problems or target is None:
        raise InputProblems(table.source, problems)
    task, y, classes = target
    counts = {name: column.placeholders for name, column in usable.items()}
    counts[roles.target] = placeholders(table.columns[roles.target])
    notes += placeholder_notes(counts)
    if gaps:
        notes.append(_filled_in(list(gaps)))
    features = _features(table, usable, roles, notes)
    inputs = {name: column.input for name, column in usable.items() if column.input is not None}
    in_memory = {name: categorised(name, values, encoding) for name, values in columns.items()}
    X: Float | DataFile
    if table.stored is None:
        X = _encoded(table.n_rows, features, in_memory, inputs)
    else:
        X = stored_features(table, features, inputs, in_memory)
    for name in parts.keys() & inputs.keys():
        inputs[name] = replace(inputs[name], date=parts[name])
    summaries = {name: column.summary for name, column in usable.items() if column.summary}
    summaries[roles.target] = summary(roles.target, table.columns[roles.target])
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


def _encoding(table: Table, roles: Roles, weights: Float | None) -> Encoding:
    """Return how columns become features."""
    return Encoding(
        roles.impute is not None,
        roles.is_standardised,
        roles.is_centred,
        frozenset(roles.categorical),
        table.comma_columns,
        table.missing,
        weights,
    )


def _filled_in(names: list[str]) -> str:
    """Return a note on columns whose missing values were filled in."""
    return (
        "Missing values filled in (median of numbers, most frequent text) in "
        f"{_columns(names).lower()}: {_listed(names)}."
    )


def _rows_of_table(
    table: Table, roles: Roles, notes: list[str], problems: list[Problem]
) -> tuple[Table, NDArray[Any] | None, Float | None, TimeOrder | None]:
    """Return the table without rows that have no target or weight, their groups, weights, times."""
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
    return table, groups, weights, time


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


def _facts(
    table: Table,
    columns: Mapping[str, Column],
    evidence: Mapping[str, Column],
    wanted: Collection[str],
    encoding: Encoding,
) -> dict[str, ColumnFacts]:
    """Return facts about columns in memory and in the file; `evidence` has all their rows."""

    def facts(name: str, values: Column, all_rows: Column) -> ColumnFacts:
        finding = None if name in wanted else looks_like(name, all_rows)
        return facts_of(name, values, finding, encoding)

    known = {
        name: facts(name, values, evidence.get(name, values)) for name, values in columns.items()
    }
    if table.stored is None:
        return known
    kept = None
    if table.rows is not None:
        kept = np.zeros(table.stored.reader.n_rows, dtype=bool)
        kept[table.rows] = True
    for block in table.stored.blocks():
        for name, values in block.items():
            known[name] = facts(name, values if kept is None else _part(values, kept), values)
    return known


def _in_order(
    table: Table, facts: Mapping[str, ColumnFacts], parts: Mapping[str, DatePart]
) -> dict[str, ColumnFacts]:
    """Return facts in the order of the columns in the file."""
    place = {name: index for index, name in enumerate(table.all_names)}
    return {
        name: facts[name]
        for name in sorted(
            facts, key=lambda name: place[parts[name].column if name in parts else name]
        )
    }


def _usable(
    table: Table,
    columns: Mapping[str, ColumnFacts],
    roles: Roles,
    notes: list[str],
    problems: list[Problem],
) -> dict[str, ColumnFacts]:
    """Return columns that can be features; notes and problems name those that cannot."""
    findings = {name: facts.finding for name, facts in columns.items() if facts.finding is not None}
    left_out = identifiers_among(columns, findings, notes)
    columns = {name: facts for name, facts in columns.items() if name not in left_out}
    unusable = {
        name: facts.unusable for name, facts in columns.items() if facts.unusable is not None
    }
    problems += unusable_columns(table, unusable)
    notes += left_out_notes(table, unusable, {*roles.forced, *roles.kept, *roles.priced})
    usable = {name: facts for name, facts in columns.items() if facts.unusable is None}
    problems += odd_values(table, usable)
    empty = [name for name, facts in usable.items() if facts.is_empty]
    if empty:
        notes.append(f"{_columns(empty)} without any value left out: {_listed(empty)}.")
    return {name: facts for name, facts in usable.items() if not facts.is_empty}


def _features(
    table: Table, columns: Mapping[str, ColumnFacts], roles: Roles, notes: list[str]
) -> tuple[Feature, ...]:
    """Return the features of all columns that vary."""
    constant = [name for name, facts in columns.items() if facts.is_constant]
    if constant:
        notes.append(f"{_columns(constant)} with a single value left out: {_listed(constant)}.")
    features = tuple(feature for facts in columns.values() for feature in facts.features)
    if not features:
        raise InputError(
            f"{table.source} has no column to choose from besides {roles.target!r} and those left "
            "out or constant."
        )
    for name, facts in columns.items():
        if not facts.has_scale:
            raise InputError(
                f"Column {name!r} of {table.source} has numbers too large or too close to each "
                "other to be standardised; divide them by a round number, or leave the column out "
                f"({_options('--drop', [name])})."
            )
    return features


def _encoded(
    n_rows: int,
    features: Sequence[Feature],
    columns: Mapping[str, Column],
    inputs: Mapping[str, InputColumn],
) -> Float:
    """Return the features of columns in memory, (m × n)."""
    X = np.empty((n_rows, len(features)), order="F")
    complete: dict[str, Numbers | Texts] = {}
    for index, feature in enumerate(features):
        name = feature.column
        if name not in complete:
            values = columns[name]
            assert not isinstance(values, Unusable)
            complete = {name: filled(values, inputs[name].fill)}  # features are in their order
        X[:, index] = feature_values(feature, complete[name])
    return X


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
