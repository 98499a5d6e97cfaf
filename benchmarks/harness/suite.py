"""The contract of a suite, and its options.

A suite is a module of `suites/` with `SUITE = Suite(...)`. Its options are a frozen dataclass that
extends `Options`; every field is made by `option`, and the command builds the argument parser from
the fields: `data_dir: Path | None` becomes `--data-dir`, a `bool` becomes a flag, and a tuple takes
several values.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from .tables import Cells

BENCHMARKS = Path(__file__).resolve().parents[1]
RESULTS = BENCHMARKS / "results"
CACHE = BENCHMARKS / "cache"
DOCS = BENCHMARKS.parent / "docs" / "benchmarks"
ALL_CORES = 0

Environment = dict[str, Any]
Renderer = Callable[[Cells], str]


def option(default: Any, help: str, choices: Collection[str] = (), metavar: str = "") -> Any:
    """A field of options: its default, a line for `--help`, and the values it may have."""
    return field(
        default=default,
        metadata={"help": help, "choices": tuple(choices), "metavar": metavar},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options of every suite; a suite that has other defaults declares the field again."""

    output: Path = option(RESULTS, "where the results go")
    threads: int = option(1, "threads of BLAS and OpenMP; 0: as many as there are cores")


O = TypeVar("O", bound=Options)  # noqa: E741 (the options)
R = TypeVar("R")


class CannotRun(Exception):
    """The reason why a suite cannot run here, in a sentence for the user."""


def no_failures(rows: Sequence[Any]) -> list[str]:
    """The default of `Suite.failures`: no row makes a run fail."""
    return []


@dataclass(frozen=True, slots=True)
class Suite(Generic[O, R]):
    """A named set of measurements.

    `rows` yields results one by one; the command prints `line` of each and then writes the results
    so far. A suite that keeps answers in files of its own format, so that a stopped run can be
    resumed, has no `document` and writes them by `writer` itself.
    """

    name: str
    """As in `run.py NAME`; the module has the same name, with `_` for `-`."""

    sentence: str
    """What is measured, for `--list`."""

    options: type[O]

    rows: Callable[[O], Iterable[R]]

    document: Callable[[O, Environment, Sequence[R]], Any] | None = None
    """The content of the JSON file at `output`; None: there is none."""

    page: Callable[[Environment, Sequence[R], Renderer], str] | None = None
    """Tables of the results: printed as text, and written as Markdown next to `output`."""

    line: Callable[[R], str] = str
    """A row as a line of progress; an empty text is not printed."""

    failures: Callable[[Sequence[R]], list[str]] = no_failures
    """Sentences about rows that are wrong: they are printed, and the exit code is 1."""
