"""What a command was asked, and the data it was asked of, ready for a search."""

from __future__ import annotations

import datetime
import importlib.metadata
import platform
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..app import (
    DataSummary,
    InputColumn,
    InputError,
    InputFile,
    InputProblems,
    Origin,
    Prepared,
    Question,
    Roles,
    SelectionResult,
    Table,
    file_name,
    find_leaks,
    open_input,
    order_of,
    plan_folds,
    prepare,
    rare_notes,
    read_table,
)
from ..path import SelectionPath
from ._options import Reading, Telling

# What a result depends on.
_PACKAGES = ("greedyrls", "numpy", "scipy", "scikit-learn", "pyarrow")


@dataclass(frozen=True, slots=True)
class Job:
    """A file, a question, and how to tell the answer."""

    data: Path
    reading: Reading
    telling: Telling
    roles: dict[str, Any]  # of Roles, but for the target and the groups
    target: str | None
    cv: str | int
    question: dict[str, Any]  # of Question, but for the folds
    command: str
    began: float

    @property
    def file(self) -> str:
        """What the data are called."""
        return file_name(self.data)

    @property
    def verbose(self) -> int:
        """Whether to show progress bars: only to people at a terminal."""
        return int(self.telling.is_human and sys.stderr.isatty())

    def ask(self) -> Question:
        """The question."""
        folds = self.cv if isinstance(self.cv, int) else None
        return Question(folds=folds, verbose=self.verbose, **self.question)


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """The data of a job, and what is told of them."""

    prepared: Prepared
    target: str
    n_rows: int
    n_bytes: int
    sha256: str


def load(job: Job) -> Loaded:
    """Read the file and make features of its columns."""
    with working(job, f"Reading {job.file}"), open_input(job.data) as source:
        table = read_job(job, source)
        roles = roles_of(job, table)
        n_bytes, digest = source.digest()
        try:
            prepared = prepare(table, roles)
        except InputProblems as error:
            from ._remedies import working_command

            if len(error.problems) > 1:  # one says itself what to do
                error.command = working_command(job, source, table, error)
            raise
        notes = (*prepared.notes, *rare_notes(prepared, job.ask()), *_time_notes(job, prepared))
        prepared = replace(prepared, notes=notes)
    return Loaded(
        prepared,
        roles.target,
        len(prepared.y),
        n_bytes,
        digest,
    )


def read_job(job: Job, source: InputFile) -> Table:
    """The columns of the file that are used, and what the others are called."""
    groups = job.cv if isinstance(job.cv, str) and job.cv != "loo" else None
    known = Roles(target=job.target or "", groups=groups, **job.roles)
    numbers = [known.weights] if known.weights is not None else []
    if job.target is not None and known.task == "regression":
        numbers.append(job.target)
    return read_table(
        source.path,
        title=source.title,
        as_text=known.as_text,
        as_numbers=numbers,
        as_dates=known.as_dates,
        leave_out={*known.ids, *known.dropped} - {known.target, known.weights, known.groups},
        named=(
            known.target,
            *known.kept,
            *known.forced,
            *(one for one, _ in job.question["costs"]),
        ),
        **job.reading.options(is_piped=source.title is not None),
    )


def _time_notes(job: Job, prepared: Prepared) -> list[str]:
    """What the order of time has changed."""
    if prepared.time is None or job.cv != "loo":
        return []
    folds = plan_folds(prepared, job.ask(), None).criterion
    return [f"The search uses {folds.description} instead of leave-one-out (--cv K for others)."]


def roles_of(job: Job, table: Table) -> Roles:
    """Which column of the table is what."""
    groups = job.cv if isinstance(job.cv, str) and job.cv != "loo" else None
    return Roles(
        target=job.target or _only_target(table),
        groups=groups,
        priced=tuple(name for name, _ in job.question["costs"]),
        **job.roles,
    )


def _only_target(table: Table) -> str:
    """The target of formats that have one."""
    if table.target is None:
        names = list(table.all_names)
        shown = ", ".join(repr(name) for name in names[:8])
        more = f" and {len(names) - 8} more" if len(names) > 8 else ""
        raise InputError(
            f"Which column of {table.source} is to be predicted? Pass --target COLUMN, one of "
            f"{shown}{more}."
        )
    return table.target


@contextmanager
def working(job: Job, what: str) -> Iterator[None]:
    """A sign of life while something is done that cannot tell how far it is."""
    if not job.verbose:
        yield
        return
    from rich.console import Console
    from rich.text import Text

    from .._base import printable

    with Console(stderr=True).status(Text(f"{printable(what)} …")):
        yield


def make_result(job: Job, loaded: Loaded, path: SelectionPath, **parts: Any) -> SelectionResult:
    """All that is known, as it is written."""
    prepared = loaded.prepared
    features = tuple(prepared.features[index] for index in order_of(path))
    columns = list(dict.fromkeys(feature.column for feature in features))
    inputs: tuple[InputColumn, ...] = tuple(prepared.inputs[name] for name in columns)
    return SelectionResult(
        task=prepared.task,
        target=loaded.target,
        path=path,
        features=features,
        inputs=inputs,
        data=summarise(job, loaded, columns),
        origin=make_origin(job),
        classes=prepared.classes,
        leaks=find_leaks(prepared),
        **parts,
    )


def summarise(job: Job, loaded: Loaded, columns: list[str]) -> DataSummary:
    """The data without the data."""
    prepared = loaded.prepared
    return DataSummary(
        file=job.file,
        n_bytes=loaded.n_bytes,
        sha256=loaded.sha256,
        n_rows=loaded.n_rows,
        n_columns=prepared.n_columns,
        n_features=len(prepared.features),
        target=prepared.summaries[loaded.target],
        columns=tuple(prepared.summaries[name] for name in columns),
        notes=prepared.notes,
    )


def make_origin(job: Job) -> Origin:
    """How a result was made."""
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    given = {"target": job.target, "cv": job.cv, **job.roles, **job.question}
    return Origin(
        command=job.command,
        parameters={name: _plain(value) for name, value in given.items()},
        versions=versions,
        date=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        seconds=time.perf_counter() - job.began,
    )


def _plain(value: Any) -> str | int | float | bool | None:
    """A parameter as JSON has it."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return ", ".join(
        "=".join(map(str, one)) if isinstance(one, tuple) else str(one) for one in value
    )
