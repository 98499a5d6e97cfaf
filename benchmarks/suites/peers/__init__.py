"""Compare greedyrls with its peers: time, passes, memory and the selected features.

Ours always runs, because the others are compared with it. Run on an idle machine: the load average
is recorded. The exit code is 1 where a library with our criterion selects other features than ours.
Neither of the two then has a time in the table.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness import suite
from harness.problems import FULL, PROBLEMS, QUICK
from harness.suite import ALL_CORES, RESULTS, Environment, Renderer, Suite, option
from libraries import LIBRARIES

from . import tables
from .rows import Row, rows_of
from .targets import growth, targets


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(suite.Options):
    """Which problems and libraries."""

    output: Path = option(RESULTS / "results.json", "where the JSON goes")
    threads: int = option(ALL_CORES, "threads of BLAS and OpenMP; 0: all cores")
    quick: bool = option(False, "small problems only: a smoke test")
    only: tuple[str, ...] = option((), "these problems", PROBLEMS, "PROBLEM")
    library: tuple[str, ...] = option((), "ours and these libraries", LIBRARIES, "NAME")
    timeout: float = option(900.0, "seconds that one call may take")


def rows(options: Options) -> Iterator[Row]:
    """All libraries on all problems."""
    for name in options.only or (QUICK if options.quick else FULL):
        print(f"{name} ...", file=sys.stderr, flush=True)
        yield from rows_of(PROBLEMS[name], list(options.library or LIBRARIES), options.timeout)


def document(options: Options, environment: Environment, found: Sequence[Row]) -> dict[str, Any]:
    """Rows, growth and targets."""
    slopes = growth(list(found))
    return {
        "environment": environment,
        "rows": [asdict(row) for row in found],
        "growth": [asdict(slope) for slope in slopes],
        "targets": [asdict(target) for target in targets(list(found), slopes)],
    }


def page(environment: Environment, found: Sequence[Row], table: Renderer) -> str:
    """All tables."""
    slopes = growth(list(found))
    asked = targets(list(found), slopes)
    text = tables.report(environment, list(found), slopes, asked, table)
    return "# Benchmark results\n\n" + text


def failures(found: Sequence[Row]) -> list[str]:
    """Rows with a wrong answer."""
    return [f"WRONG: {row.problem}, {row.name}: {row.note}" for row in found if row.wrong]


SUITE = Suite(
    name="peers",
    sentence="Time, memory and answers of greedyrls and of other libraries on the same problems.",
    options=Options,
    rows=rows,
    document=document,
    page=page,
    line=tables.one_line,
    failures=failures,
)
