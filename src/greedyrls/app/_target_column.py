"""The target of a table: numbers for a regression, or classes."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._problem import Task, make_targets
from ._linear_model import Label
from ._table import Column, Numbers, Table, Texts, Unusable, listed, options_for, reading_advice

MOST_CLASSES = 100
# Range of numbers whose fourth powers neither overflow nor underflow.
_SPREADS = (1e-75, 1e75)

Target = tuple[Literal["regression", "classification"], NDArray[Any], tuple[Label, ...] | None]


def check_target_is_readable(table: Table, name: str) -> None:
    """Raise an error if the target has neither numbers nor text."""
    values = table.column(name)
    if not isinstance(values, Unusable):
        return
    if not values.why:
        raise table.problem(
            f"{_where(name)} has {values.what}; it must have numbers, or text for classes."
        )
    remedy = [part for option in values.options for part in option]
    raise table.problem(f"{_where(name)} {values.why}; {reading_advice(values)}.", *remedy)


def make_target(table: Table, name: str, task: Task, notes: list[str]) -> Target:
    """Return the task, and the target as numbers or labels, without gaps."""
    values = table.columns[name]
    y = _plain(values)
    different = np.unique(y)
    if len(different) < 2:
        only = f", {different.tolist()[0]!r}," if len(different) else ""
        raise table.problem(
            f"{_where(name)} has a single value{only} in all rows: nothing to predict."
        )
    most = max(2, min(MOST_CLASSES, table.n_rows // 2))
    if task == "regression" and isinstance(values, Texts):
        shown = ", ".join(repr(level) for level in values.levels[:3])
        text = f"{_where(name)} has text ({shown}, …); a regression needs numbers."
        if len(different) > most:
            raise table.problem(f"{text} Name another target.")
        raise table.problem(f"{text} Use --task classification.", "--task", "classification")
    if isinstance(values, Numbers) and np.isinf(values.values).any():
        is_infinite = np.isinf(values.values)
        words = sorted({f"{value:g}" for value in values.values[is_infinite].tolist()})
        first = table.location(int(np.argmax(is_infinite)))
        raise table.problem(
            f"{_where(name)} has an infinite value in {first}; "
            f"correct it, or pass {options_for('--missing', words)} to take it as missing.",
            *(part for word in words for part in ("--missing", word)),
        )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            targets = make_targets(y, task)
        except ValueError as error:
            raise table.problem(
                f"{_where(name)} has {len(different)} different numbers, which are not classes: "
                f"use --task regression. ({error})",
                *("--task", "regression"),
            ) from error
    if caught:
        notes.append(
            f"The target has {len(different)} different whole numbers, which are taken as numbers; "
            "use --task classification if they are classes."
        )
    if targets.classes is None:
        return "regression", _checked_numbers(table, name, y), None
    classes = tuple(targets.classes.tolist())
    if len(classes) > most:
        rows = f"{table.n_rows} row{'s' * (table.n_rows != 1)}"
        text = f"{_where(name)} has {len(classes)} different values in {rows}, too many for classes"
        if isinstance(values, Texts):
            raise table.problem(f"{text}, and they are not numbers: choose another target.")
        raise table.problem(f"{text}: use --task regression.", "--task", "regression")
    rare = [str(label) for label in classes if np.count_nonzero(y == label) == 1]
    if rare:
        notes.append(f"Classes with a single row: {listed(rare)}.")
    return "classification", y, classes


def _checked_numbers(table: Table, name: str, y: NDArray[Any]) -> NDArray[Any]:
    numbers = np.asarray(y, dtype=np.float64)
    low, high = _SPREADS
    if not (np.abs(numbers).max() < high and np.ptp(numbers) > low):
        raise table.problem(
            f"{_where(name)} has numbers too large or too close to each other; multiply or divide "
            "them by a round number."
        )
    return numbers


def _where(name: str) -> str:
    return f"column {name!r} (the target)"


def _plain(values: Column) -> NDArray[Any]:
    """Return a column without gaps as an array of numbers, flags or strings."""
    if isinstance(values, Texts):
        return np.array(values.levels)[values.codes]
    assert isinstance(values, Numbers)
    if values.is_flag:
        return values.values.astype(bool)
    is_whole = values.is_whole and bool((np.abs(values.values) < 2.0**53).all())
    return values.values.astype(np.int64) if is_whole else values.values
