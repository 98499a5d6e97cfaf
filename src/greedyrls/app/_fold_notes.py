"""Notes on folds that are fewer than usual, or than asked for."""

from __future__ import annotations

import numpy as np

from .._base import counted
from ._fold_plan import GROUP_FOLDS, PENALTY_FOLDS, FoldPlan, fold_units, plan_folds
from ._preparation import Prepared
from ._question import Question
from ._table import InputError


def fold_notes(
    prepared: Prepared, question: Question, outer: int | None, has_asked: bool
) -> list[str]:
    """Return a note if the data do not allow the usual number of folds.

    A number that the user asked for and that is impossible is an error: `--cv K`, and `outer` folds
    if `has_asked`.
    """
    plan = plan_folds(prepared, question, outer)
    made = _counts(plan)
    _, units, _ = fold_units(prepared)
    why = _why(prepared, units)
    if outer is not None and made[0] < outer and has_asked:
        raise InputError(f"--folds {outer} is not possible: {why}. Use --folds {made[0]} or fewer.")
    asked = question.folds
    if asked is not None and made[2] < asked:
        others = [
            f"the {counted(count, 'fold')} of {purpose}"
            for count, purpose in zip(
                made, ("the assessment", "the choice of the penalty"), strict=False
            )
            if count
        ]
        within = f", and the training rows of {' and '.join(others)} fewer" if others else ""
        instead = f"--cv {made[2]} or fewer" if made[2] > 1 else "--cv loo"
        loo = "" if made[2] < 2 or prepared.groups is not None else ", or --cv loo"
        raise InputError(f"--cv {asked} is not possible: {why}{within}. Use {instead}{loo}.")
    if prepared.time is not None:
        return []  # time order has its own note
    usual = _usual(question, outer, prepared.groups is not None)
    fewer = [
        f"{count} instead of {most} {purpose}"
        for count, most, purpose in zip(
            made,
            usual,
            ("folds for the assessment", "folds to choose the penalty", "folds in the search"),
            strict=True,
        )
        if most is not None and count < most
    ]
    if not fewer:
        return []
    return [f"Fewer folds than usual: {', '.join(fewer)}, since {why}."]


def _counts(plan: FoldPlan) -> tuple[int, int, int]:
    """Return how many folds there are at each level; 0 for none."""
    outer, penalty, criterion = (
        0 if splitter is None or isinstance(splitter, str) else int(splitter.get_n_splits())
        for splitter in (plan.outer, plan.penalty, plan.criterion)
    )
    return outer, penalty, criterion


def _usual(
    question: Question, outer: int | None, has_groups: bool
) -> tuple[int | None, int | None, int | None]:
    is_chosen = not isinstance(question.alpha, float)
    by_groups = GROUP_FOLDS if has_groups and question.folds is None else None
    return outer, PENALTY_FOLDS if is_chosen else None, by_groups


def _why(prepared: Prepared, units: int) -> str:
    """Return the number of units that folds are made of, in words."""
    if prepared.groups is not None:
        qualifier = "" if prepared.task == "regression" else " with rows of each class"
        return f"there {'is' if units == 1 else 'are'} {counted(units, 'group')}{qualifier}"
    if prepared.task == "regression":
        return f"there are {counted(units, 'row')}"
    labels, counts = np.unique(prepared.y, return_counts=True)
    rarest = labels[counts.argmin()].item()
    return f"class {rarest!r} has {counted(units, 'row')}"
