"""The results as plain text with aligned columns, and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.problems import PROBLEMS, Problem
from harness.suite import Renderer
from harness.tables import Cells

from .rows import Row
from .targets import Growth, Target

COLUMNS = (
    "problem",
    "library",
    "first s",
    "later s",
    "/ k GEMV",
    "passes",
    "exact evals",
    "peak beyond X",
    "same as ours",
    "selects by",
    "note",
)


def report(
    environment: dict[str, Any],
    rows: list[Row],
    slopes: list[Growth],
    asked: list[Target],
    table: Renderer,
) -> str:
    """All sections, each a heading and a table."""
    sections = [
        ("Results", _results(rows)),
        ("Growth: exponent of the time of later calls", _growth(slopes)),
        ("Targets", _targets(asked)),
        ("Environment", [("what", "value"), *_environment(environment, rows)]),
    ]
    return "\n\n".join(f"## {title}\n\n{table(cells)}" for title, cells in sections) + "\n"


def one_line(row: Row) -> str:
    """A row in short, for the progress of a run."""
    if row.measurement is None:
        return f"{row.problem}  {row.name}: {row.note}"
    return f"{row.problem}  {row.name}: {_seconds(row.measurement.seconds)} s"


def _results(rows: list[Row]) -> Cells:
    return [COLUMNS, *(_cells(row) for row in rows)]


def _cells(row: Row) -> Sequence[str]:
    problem, m = PROBLEMS[row.problem], row.measurement
    head, tail = (_title(problem), row.name), (row.same, row.does, row.note)
    if m is None:
        return (*head, *("-" * 6), *tail)
    later = "-" if m.later_seconds is None else _seconds(m.later_seconds)
    return (
        *head,
        _seconds(m.first_seconds),
        later,
        f"{m.ratio_to_k_gemv:.2f}",
        _count(m.answer.passes),
        _count(m.answer.exact_evaluations),
        f"{m.peak_bytes / 1e6:.3g} MB, {100 * m.peak_over_X:.0f} %",
        *tail,
    )


def _title(problem: Problem) -> str:
    return f"{problem.name} k={problem.k}"


def _growth(slopes: list[Growth]) -> Cells:
    head = ("library", "along", "sizes", "seconds", "exponent")
    return [head] + [
        (
            growth.library,
            growth.along,
            ", ".join(map(str, growth.sizes)),
            ", ".join(map(_seconds, growth.seconds)),
            f"{growth.slope:.2f}" + ("" if growth.complete else " (some sizes missing)"),
        )
        for growth in slopes
    ]


def _targets(asked: list[Target]) -> Cells:
    verdict = {None: "not measured", True: "reached", False: "NOT REACHED"}
    head = ("asked", "limit", "measured", "verdict")
    return [head] + [
        (
            target.asked,
            target.limit,
            "-" if target.measured is None else f"{target.measured:.3g}",
            verdict[target.reached],
        )
        for target in asked
    ]


def _environment(environment: dict[str, Any], rows: list[Row]) -> Cells:
    versions = {row.name: row.version for row in rows if row.version != "-"}
    described = {key: value if value else "-" for key, value in environment.items()}
    return [(key, _words(value)) for key, value in (described | versions).items()]


def _words(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _seconds(seconds: float) -> str:
    """Three significant digits, no exponent."""
    return f"{seconds:.3g}" if 0.001 <= seconds < 1000 else f"{seconds:.4f}"


def _count(count: int | None) -> str:
    return "-" if count is None else f"{count:,}"
