"""Folds in folds for a table: of the assessment, of the penalty and of the search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

from .._problem import TimeOrderedSplit
from ._preparation import Prepared
from ._question import Question
from ._table import InputError
from ._time_column import TimeOrder

# Folds that choose the penalty.
PENALTY_FOLDS = 5
# With groups and no number of folds.
GROUP_FOLDS = 10
# The same in the order of time.
_TIME_FOLDS = 5


@dataclass(frozen=True, slots=True)
class FoldPlan:
    """Shuffled folds in folds: groups stay together, classes are spread; or folds in time order.

    Files are often sorted, so that folds of neighbouring rows would be unlike each other.
    """

    outer: Any  # of the assessment; None without one
    penalty: Any  # of the choice of the penalty, among the training rows of the first
    criterion: Any  # of the search, among those of the second; or "loo"


def plan_folds(prepared: Prepared, question: Question, outer: int | None) -> FoldPlan:
    """Folds of the numbers asked for, or fewer where there are not so many groups or samples."""
    if prepared.time is not None:
        return _plan_in_time(prepared, prepared.time, question, outer)
    groups, seed = prepared.groups, question.seed
    make, units, told = fold_units(prepared)
    is_by_folds = groups is not None or question.folds is not None
    is_chosen = not isinstance(question.alpha, float)
    asked = [
        outer,
        PENALTY_FOLDS if is_chosen else None,
        (question.folds or GROUP_FOLDS) if is_by_folds else None,
    ]
    found: list[Any] = []
    for count in asked:
        if count is None:
            found.append(None)
            continue
        count = min(count, units)
        if count < 2:
            raise InputError(f"There {told} --cv loo, or a number for --alpha without --assess.")
        found.append(make(count, shuffle=True, random_state=seed))
        units -= -(-units // count)  # what is left to train on where folds are of equal size
    return FoldPlan(found[0], found[1], "loo" if found[2] is None else found[2])


def _plan_in_time(
    prepared: Prepared, time: TimeOrder, question: Question, outer: int | None
) -> FoldPlan:
    """Folds in folds in the order of time: each has the earlier rows of the one around it."""
    is_chosen = question.n_features == "auto" or not isinstance(question.alpha, float)
    asked = [
        outer,
        PENALTY_FOLDS if is_chosen else None,
        question.folds or _TIME_FOLDS,
    ]
    assert prepared.groups is not None
    keeps_classes = prepared.task == "classification"
    left, found = np.arange(len(prepared.y)), list[Any]()
    for count in asked:
        if count is None:
            found.append(None)
            continue
        try:
            made, fewest = _most_in_time(time, count, keeps_classes, prepared, left)
        except ValueError as error:
            raise InputError(
                f"Rows cannot be tested in the order of {time.column!r}: {error}. Use more rows or "
                "a finer time, a number for --alpha without --assess, or leave out --time."
            ) from error
        found.append(made)
        left = left[fewest]
    return FoldPlan(*found)


def _most_in_time(
    time: TimeOrder, count: int, keeps_classes: bool, prepared: Prepared, rows: Any
) -> tuple[TimeOrderedSplit, Any]:
    """As many folds of some rows as can be, up to a number, and the fewest rows trained on."""
    assert prepared.groups is not None
    y, units = prepared.y[rows], prepared.groups[rows]
    most = time.splitter(count, keeps_classes).most(y, units)
    splitter = time.splitter(max(2, min(count, most)), keeps_classes)
    return splitter, next(splitter.split(rows, y, units))[0]


def fold_units(prepared: Prepared) -> tuple[Any, int, str]:
    """What folds are made by and of how many units, and what to say where these are too few."""
    groups, y = prepared.groups, prepared.y
    if groups is not None:
        make, count, told = GroupKFold, int(groups.max()) + 1, ""
        if prepared.task == "classification":
            make = StratifiedGroupKFold
            for label in np.unique(y):
                having = len(np.unique(groups[y == label]))
                if having < count:
                    count, told = having, f" with class {label.item()!r}"
        many = "is 1 group" if count == 1 else f"are {count} groups"
        return make, count, f"{many}{told}, too few for nested folds: use another column,"
    if prepared.task == "regression":
        return KFold, len(y), f"are {len(y)} rows, too few for nested folds: use"
    labels, counts = np.unique(y, return_counts=True)
    fewest, rarest = int(counts.min()), labels[counts.argmin()].item()
    many = "is 1 row" if fewest == 1 else f"are {fewest} rows"
    told = f"{many} of class {rarest!r}, too few for nested folds: merge it with another class, use"
    return StratifiedKFold, fewest, told
