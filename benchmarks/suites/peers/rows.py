"""Rows of the results, and whether their answers agree with ours."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from harness.measure import ProcessFailed
from harness.problems import Problem
from libraries import ALGORITHM_3, LIBRARIES, OURS, Answer, Library, load

from .measurements import Measurement, measure


@dataclass(frozen=True, slots=True)
class Row:
    """One library on one problem: a measurement, or a note that says why there is none.

    `wrong` rows fail the run: an answer that must equal ours and does not, or a failure of ours
    or of Algorithm 3. Times of a wrong row are not printed.
    """

    problem: str
    library: str
    name: str
    version: str
    does: str
    measurement: Measurement | None
    same: str
    note: str
    wrong: bool = False


def rows_of(problem: Problem, asked: list[str], timeout: float) -> list[Row]:
    """Run the asked libraries on the problem. Ours is always among them."""
    wanted = [name for name in LIBRARIES if name in asked or name == OURS]
    if problem.libraries:
        wanted = [name for name in wanted if name in problem.libraries]
    loaded: dict[str, Library] = {}
    reasons: dict[str, str] = {}
    for name in wanted:
        try:
            loaded[name] = load(name)
        except ImportError as error:
            reasons[name] = f"not importable: {_without_paths(error)}"
            continue
        reason = loaded[name].can_run(problem)
        if reason is not None:
            reasons[name] = reason
    results = measure(problem, [name for name in wanted if name not in reasons], timeout)
    ours = results.get(OURS)
    rows = [
        _row(problem, name, loaded.get(name), results.get(name), ours, reasons.get(name, ""))
        for name in wanted
    ]
    return _without_times_of_a_wrong_answer(rows)


def _row(
    problem: Problem,
    key: str,
    library: Library | None,
    result: Measurement | ProcessFailed | None,
    ours: Measurement | ProcessFailed | None,
    reason: str,
) -> Row:
    if library is None:
        return Row(problem.name, key, key, "-", "-", None, "-", reason, wrong=key == OURS)
    about = (problem.name, key, library.name, library.version(), library.does)
    if result is None:
        return Row(*about, None, "-", reason)
    if isinstance(result, ProcessFailed):
        return Row(
            *about, None, "-", f"failed: {_without_paths(result)}", wrong=key in (OURS, ALGORITHM_3)
        )
    if not isinstance(ours, Measurement) or key == OURS:
        return Row(*about, result, "-", result.note)
    same, wrong = _agreement(library, result.answer, ours.answer)
    return Row(*about, result, same, result.note, wrong)


def _without_paths(error: Exception) -> str:
    """The message of an error without the places of files, which are nobody's business."""
    return re.sub(r"\(?/\S+", "...", str(error))


def _agreement(library: Library, theirs: Answer, ours: Answer) -> tuple[str, bool]:
    """What the table says of the answer, and whether it is wrong."""
    equal = (
        theirs.indices == ours.indices
        if library.keeps_order
        else sorted(theirs.indices) == sorted(ours.indices)
    )
    if library.same_criterion:
        return ("yes" if equal else "NO"), not equal
    common = len(set(theirs.indices) & set(ours.indices))
    return f"{common} of {len(ours.indices)}", False


def _without_times_of_a_wrong_answer(rows: list[Row]) -> list[Row]:
    """Where a library that must agree with ours does not, neither has a time: who knows which."""
    if not any(row.wrong and row.same == "NO" for row in rows):
        return rows
    return [
        replace(row, measurement=None, note=f"WRONG ANSWER: {_selected(row)}", wrong=True)
        if row.same == "NO" or row.library == OURS
        else row
        for row in rows
    ]


def _selected(row: Row) -> str:
    """The selection of a row, to be compared by eye."""
    return "" if row.measurement is None else f"selects {list(row.measurement.answer.indices)}"
