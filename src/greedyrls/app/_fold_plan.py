"""Nested folds for a table: for the assessment, the penalty and the search."""

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

# Number of folds to choose the penalty.
PENALTY_FOLDS = 5
# Number of folds of the search with groups, by default.
GROUP_FOLDS = 10
# Number of folds of the search in time order, by default.
_TIME_FOLDS = 5


@dataclass(frozen=True, slots=True)
class FoldPlan:
    """Nested folds: shuffled, with groups together and classes stratified, or in time order.

    Folds are shuffled because files are often sorted: folds of neighbouring rows would differ.
    """

    outer: Any  # for the assessment; None without one
    penalty: Any  # to choose the penalty, within the training rows of `outer`
    criterion: Any  # for the search, within the training rows of `penalty`; or "loo"


def plan_folds(prepared: Prepared, question: Question, outer: int | None) -> FoldPlan:
    """Return folds of the numbers asked for, or fewer if there are too few groups or samples."""
    if prepared.time is not None:
        return _plan_in_time(prepared, prepared.time, question, outer)
    groups, seed = prepared.groups, question.seed
    make, units, advice = fold_units(prepared)
    is_by_folds = groups is not None or question.folds is not None
    is_chosen = not isinstance(question.alpha, float)
    asked = [
        outer,
        PENALTY_FOLDS if is_chosen else None,
        (question.folds or GROUP_FOLDS) if is_by_folds else None,
    ]
    folds: list[Any] = []
    for count in asked:
        if count is None:
            folds.append(None)
            continue
        count = min(count, units)
        if count < 2:
            raise InputError(f"There {advice} --cv loo, or a number for --alpha without --assess.")
        folds.append(make(count, shuffle=True, random_state=seed))
        units -= -(-units // count)  # units left to train on, in folds of equal size
    return FoldPlan(folds[0], folds[1], "loo" if folds[2] is None else folds[2])


def _plan_in_time(
    prepared: Prepared, time: TimeOrder, question: Question, outer: int | None
) -> FoldPlan:
    """Return nested folds in time order: each level uses the earlier rows of the level above."""
    is_chosen = question.n_features == "auto" or not isinstance(question.alpha, float)
    asked = [
        outer,
        PENALTY_FOLDS if is_chosen else None,
        question.folds or _TIME_FOLDS,
    ]
    assert prepared.groups is not None
    keeps_classes = prepared.task == "classification"
    left, folds = np.arange(len(prepared.y)), list[Any]()
    for count in asked:
        if count is None:
            folds.append(None)
            continue
        try:
            made, fewest = _most_in_time(time, count, keeps_classes, prepared, left)
        except ValueError as error:
            raise InputError(
                f"Rows cannot be tested in the order of {time.column!r}: {error}. Use more rows or "
                "a finer time, a number for --alpha without --assess, or leave out --time."
            ) from error
        folds.append(made)
        left = left[fewest]
    return FoldPlan(*folds)


def _most_in_time(
    time: TimeOrder, count: int, keeps_classes: bool, prepared: Prepared, rows: Any
) -> tuple[TimeOrderedSplit, Any]:
    """Return as many folds as possible, up to a number, and the rows of the first training set."""
    assert prepared.groups is not None
    y, units = prepared.y[rows], prepared.groups[rows]
    most = time.splitter(count, keeps_classes).most(y, units)
    splitter = time.splitter(max(2, min(count, most)), keeps_classes)
    return splitter, next(splitter.split(rows, y, units))[0]


def fold_units(prepared: Prepared) -> tuple[Any, int, str]:
    """Return the splitter, the number of units it divides, and advice if these are too few."""
    groups, y = prepared.groups, prepared.y
    if groups is not None:
        make, count, of_class = GroupKFold, int(groups.max()) + 1, ""
        if prepared.task == "classification":
            make = StratifiedGroupKFold
            for label in np.unique(y):
                having = len(np.unique(groups[y == label]))
                if having < count:
                    count, of_class = having, f" with class {label.item()!r}"
        available = "is 1 group" if count == 1 else f"are {count} groups"
        return make, count, f"{available}{of_class}, too few for nested folds: use another column,"
    if prepared.task == "regression":
        return KFold, len(y), f"are {len(y)} rows, too few for nested folds: use"
    labels, counts = np.unique(y, return_counts=True)
    fewest, rarest = int(counts.min()), labels[counts.argmin()].item()
    available = "is 1 row" if fewest == 1 else f"are {fewest} rows"
    advice = f"{available} of class {rarest!r}, too few for nested folds: "
    advice += "merge it with another class, use"
    return StratifiedKFold, fewest, advice
