"""This checkout side by side with another one: is any row slower than before, or its answer other?

    git worktree add ../before HEAD~1
    run.py commits --against ../before/src
    run.py commits --against ../before/src --rows 5000x1000 folds --repeats 9

Each checkout has a process of its own for each row, with the same data and threads. After a first
call, which is reported apart, and a second one the two take turns, and the order changes from round
to round. A turn is as many calls as take a fifth of a second. Ratios are this checkout over the
other; a row is called slower where those of minima and of medians both exceed `--limit`. Without
`--against` this checkout alone is measured; against its own `src` the ratios show the noise.

Only public names are used, so the two may have different private modules.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import median
from typing import Any

from harness import suite
from harness.measure import ProcessFailed, Worker
from harness.suite import BENCHMARKS, RESULTS, CannotRun, Environment, Renderer, Suite, option

from .calls import CALLS, Answer, Call, serve

HERE, THERE = "here", "there"
SECONDS_OF_A_TURN = 0.2
MOST_CALLS_OF_A_TURN = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(suite.Options):
    """The two checkouts, and which rows."""

    output: Path = option(RESULTS / "commits.json", "where the JSON goes")
    against: Path | None = option(None, "the folder src of another checkout")
    source: Path = option(BENCHMARKS.parent / "src", "the folder src of this checkout")
    rows: tuple[str, ...] = option(tuple(CALLS), "these rows", CALLS, "ROW")
    repeats: int = option(5, "turns of each checkout after its first call")
    limit: float = option(1.05, "the ratio above which a row is called slower")
    shrink: int = option(1, "divide the numbers of samples and features by this: a smoke test")
    data: Path | None = option(
        None, "IDX file of images for the row images, its labels beside it; by default made up"
    )
    timeout: float = option(600.0, "seconds that one turn may take")


@dataclass(frozen=True, slots=True)
class Side:
    """One row in one checkout: the first call, and all later ones."""

    first: float
    later: list[float]
    answer: Answer

    @property
    def minimum(self) -> float:
        """The shortest of the later calls."""
        return min(self.later)

    @property
    def median(self) -> float:
        """The median of the later calls."""
        return median(self.later)


@dataclass(frozen=True, slots=True)
class Row:
    """One row in both checkouts."""

    name: str
    does: str
    here: Side | None
    there: Side | None
    note: str
    limit: float

    @property
    def of_minima(self) -> float | None:
        """Shortest call here over shortest call there."""
        return (
            None
            if self.here is None or self.there is None
            else (self.here.minimum / self.there.minimum)
        )

    @property
    def of_medians(self) -> float | None:
        """Median here over median there."""
        return (
            None
            if self.here is None or self.there is None
            else (self.here.median / self.there.median)
        )

    @property
    def is_slower(self) -> bool:
        """Whether both ratios say so."""
        return min(self.of_minima or 0.0, self.of_medians or 0.0) > self.limit

    @property
    def is_same(self) -> bool | None:
        """Whether the answers agree: the same features, and losses but for rounding."""
        if self.here is None or self.there is None:
            return None
        return self.here.answer.agrees_with(self.there.answer)

    @property
    def verdict(self) -> str:
        """One word or two for the table."""
        if self.is_same is None:
            return self.note or "not compared"
        if not self.is_same:
            return "OTHER ANSWER"
        return "SLOWER" if self.is_slower else "ok"


def rows(options: Options) -> Iterator[Row]:
    """All rows, one after the other."""
    for source in (options.source, options.against):
        if source is not None and not (source / "greedyrls" / "__init__.py").is_file():
            raise CannotRun(
                f"{source} has no package greedyrls: pass the folder src of a checkout."
            )
    for name in options.rows:
        print(f"{name} ...", file=sys.stderr, flush=True)
        yield _row(name, CALLS[name], options)


def _row(name: str, call: Call, options: Options) -> Row:
    """Both checkouts on one row; where one fails, the note says so."""
    sources = {HERE: options.source}
    if options.against is not None:
        sources[THERE] = options.against
    workers: dict[str, Worker] = {}
    try:
        for side, source in sources.items():
            arguments = (str(source.resolve()), name, options.shrink, options.data)
            workers[side] = Worker(serve, *arguments, timeout=options.timeout)
        found = _take_turns(workers, options.repeats)
    except ProcessFailed as failure:
        return Row(name, call.does, None, None, str(failure), options.limit)
    finally:
        for worker in workers.values():
            worker.finish()
    return Row(name, call.does, found[HERE], found.get(THERE), "", options.limit)


def _take_turns(workers: dict[str, Worker], repeats: int) -> dict[str, Side]:
    """First calls one after the other, then turns whose order changes from round to round."""
    for side, worker in workers.items():
        with _named(side):
            worker.receive()  # its data are made
    firsts = {side: _ask(side, worker, 1) for side, worker in workers.items()}
    # First calls import modules; the second ones say how long a call takes.
    shortest = min(_ask(side, worker, 1)[0][0] for side, worker in workers.items())
    count = int(min(max(SECONDS_OF_A_TURN / shortest, 1), MOST_CALLS_OF_A_TURN))
    later: dict[str, list[float]] = {side: [] for side in workers}
    for number in range(repeats):
        order = list(workers)
        for side in order if number % 2 == 0 else reversed(order):
            seconds, _ = _ask(side, workers[side], count)
            later[side] += seconds
    return {
        side: Side(seconds[0], later[side], answer) for side, (seconds, answer) in firsts.items()
    }


def _ask(side: str, worker: Worker, count: int) -> tuple[list[float], Answer]:
    """Seconds of so many calls, and the last answer."""
    with _named(side):
        answer: tuple[list[float], Answer] = worker.ask(count)
    return answer


@contextmanager
def _named(side: str) -> Iterator[None]:
    """Say in which checkout a process failed."""
    try:
        yield
    except ProcessFailed as failure:
        raise ProcessFailed(f"failed {side}: {failure}") from failure


def document(options: Options, environment: Environment, found: Sequence[Row]) -> dict[str, Any]:
    """Which commits, and all seconds of all rows."""
    return {
        "environment": environment,
        "here": commit_of(options.source),
        "there": None if options.against is None else commit_of(options.against),
        "repeats": options.repeats,
        "shrink": options.shrink,
        "rows": [_as_json(row) for row in found],
    }


def _as_json(row: Row) -> dict[str, Any]:
    content = {one.name: getattr(row, one.name) for one in fields(row)}
    for name in (HERE, THERE):
        side: Side | None = content[name]
        if side is not None:
            summary = {"minimum": side.minimum, "median": side.median}
            content[name] = summary | asdict(side)
    return content | {
        "ratio_of_minima": row.of_minima,
        "ratio_of_medians": row.of_medians,
        "same_answer": row.is_same,
        "verdict": row.verdict,
    }


def commit_of(source: Path) -> str:
    """Short name of the commit that is checked out, marked where files were changed since."""
    command = ["git", "-C", str(source), "describe", "--always", "--dirty", "--abbrev=9"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "-"
    return found.stdout.strip()


def page(environment: Environment, found: Sequence[Row], table: Renderer) -> str:
    """One table."""
    heads = (
        "row",
        "first s, here and there",
        "minimum s, here and there",
        "median s, here and there",
        "ratio of minima",
        "ratio of medians",
        "verdict",
        "what",
    )
    cells = [heads, *(_cells(row) for row in found)]
    return f"# This checkout beside another\n\n{table(cells)}\n"


def _cells(row: Row) -> tuple[str, ...]:
    def pair(name: str) -> str:
        sides = (row.here, row.there)
        return ", ".join("-" if one is None else f"{getattr(one, name):.4g}" for one in sides)

    ratios = ("-" if one is None else f"{one:.3f}" for one in (row.of_minima, row.of_medians))
    return (
        row.name,
        pair("first"),
        pair("minimum"),
        pair("median"),
        *ratios,
        row.verdict,
        row.does,
    )


def failures(found: Sequence[Row]) -> list[str]:
    """Rows with other answers; a slower row may be noise, and is for people to judge."""
    return [f"OTHER ANSWER: {row.name}" for row in found if row.is_same is False]


SUITE = Suite(
    name="commits",
    sentence="Rows of this checkout side by side with another checkout: times, ratios, answers.",
    options=Options,
    rows=rows,
    document=document,
    page=page,
    line=lambda row: "  ".join(_cells(row)),
    failures=failures,
)
