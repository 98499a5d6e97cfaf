"""The page of the suite quality: reads its results and writes docs/benchmarks/quality.md.

The exit code is 1 where ours with everything automatic is behind the best of the others by more
than the standard error of its own mean, or has not the best mean rank.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness import suite
from harness.suite import DOCS, CannotRun, Suite, option
from harness.writer import write_text

from .quality import FOLDER
from .quality.methods import OURS
from .quality.page import is_reached, page, summary_of
from .quality.summary import ranks, rows_in, verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(suite.Options):
    """Where results are read, and the page is written."""

    output: Path = option(DOCS / "quality.md", "the page")
    results: Path = option(FOLDER, "folder of the JSON files")


@dataclass(frozen=True, slots=True)
class Verdict:
    """The sentences at the top of the page."""

    text: str
    is_reached: bool


def rows(options: Options) -> Iterator[Verdict]:
    """Write the page."""
    found = rows_in(options.results)
    if not found:
        raise CannotRun(f"No results of {OURS} in {options.results}: run the suite quality first.")
    verdicts, order = [verdict(row) for row in found], ranks(found)
    try:
        text = page(found, verdicts, order)
    except ImportError as error:
        raise CannotRun(f"{error}: the page names the methods of all libraries.") from error
    write_text(options.output, text)
    yield Verdict(summary_of(verdicts, order), is_reached(verdicts, order))


SUITE = Suite(
    name="quality-page",
    sentence="docs/benchmarks/quality.md from the results of the suite quality.",
    options=Options,
    rows=rows,
    line=lambda row: row.text,
    failures=lambda found: ["Ours is behind: see the page." for row in found if not row.is_reached],
)
