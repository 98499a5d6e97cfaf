"""The request of a command, and its data prepared for a search."""

from __future__ import annotations

import datetime
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
    installed_versions,
    limit_for,
    open_input,
    order_of,
    plan_folds,
    prepare,
    rare_notes,
    read_table,
)
from ..path import SelectionPath
from ._options import OutputOptions, Reading


@dataclass(frozen=True, slots=True)
class Job:
    """A request: a file, a question, and how to show the answer."""

    data: Path
    reading: Reading
    output: OutputOptions
    roles: dict[str, Any]  # arguments of Roles, except the target and the groups
    target: str | None
    cv: str | int
    question: dict[str, Any]  # arguments of Question, except the folds
    command: str
    began: float
    memory_limit: int | None = None  # bytes, to read the file in parts
    scheduler: str | None = None  # address of a Dask cluster to select on

    @property
    def file(self) -> str:
        """The name of the data."""
        return file_name(self.data)

    @property
    def verbose(self) -> int:
        """Whether to show progress bars: only to people at a terminal."""
        return int(self.output.is_human and sys.stderr.isatty())

    def ask(self) -> Question:
        """Return the question."""
        folds = self.cv if isinstance(self.cv, int) else None
        return Question(folds=folds, verbose=self.verbose, **self.question)


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """The prepared data of a job, and facts about the file."""

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

            if len(error.problems) > 1:  # a single problem states its remedy itself
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
    """Read the columns of the file that are used, and the names of the others."""
    groups = job.cv if isinstance(job.cv, str) and job.cv != "loo" else None
    roles = Roles(target=job.target or "", groups=groups, **job.roles)
    options = job.reading.options(is_piped=source.title is not None)
    memory_limit = job.memory_limit
    if memory_limit is None:
        # Workers of a cluster read the file themselves.
        is_stored = job.scheduler is not None
        memory_limit = limit_for(source.path, options["format"], source.title, is_stored)
    numbers = [roles.weights] if roles.weights is not None else []
    if job.target is not None and roles.task == "regression":
        numbers.append(job.target)
    return read_table(
        source.path,
        title=source.title,
        as_text=roles.as_text,
        as_numbers=numbers,
        as_dates=roles.as_dates,
        leave_out={*roles.ids, *roles.dropped} - {roles.target, roles.weights, roles.groups},
        named=(
            roles.target,
            *roles.kept,
            *roles.forced,
            *(name for name, _ in job.question["costs"]),
        ),
        memory_limit=memory_limit,
        in_memory=[roles.target, roles.weights or "", *roles.as_text],
        **options,
    )


def _time_notes(job: Job, prepared: Prepared) -> list[str]:
    """Return a note on folds that time order has changed."""
    if prepared.time is None or job.cv != "loo":
        return []
    folds = plan_folds(prepared, job.ask(), None).criterion
    return [f"The search uses {folds.description} instead of leave-one-out (--cv K for others)."]


def roles_of(job: Job, table: Table) -> Roles:
    """Return the role of each column of the table."""
    groups = job.cv if isinstance(job.cv, str) and job.cv != "loo" else None
    return Roles(
        target=job.target or _only_target(table),
        groups=groups,
        priced=tuple(name for name, _ in job.question["costs"]),
        **job.roles,
    )


def _only_target(table: Table) -> str:
    """Return the target of formats that have one, or raise an error."""
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
def working(job: Job, message: str) -> Iterator[None]:
    """Show a spinner during work whose progress is unknown."""
    if not job.verbose:
        yield
        return
    from rich.console import Console
    from rich.text import Text

    from .._base import printable

    with Console(stderr=True).status(Text(f"{printable(message)} …")):
        yield


def make_result(job: Job, loaded: Loaded, path: SelectionPath, **parts: Any) -> SelectionResult:
    """Return the complete result, as it is written."""
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
    """Return a summary of the data."""
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
    """Return how the result was made."""
    parameters = {"target": job.target, "cv": job.cv, **job.roles, **job.question}
    return Origin(
        command=job.command,
        parameters={name: _plain(value) for name, value in parameters.items()},
        versions=installed_versions(),
        date=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        seconds=time.perf_counter() - job.began,
    )


def _plain(value: Any) -> str | int | float | bool | None:
    """Return a parameter as a JSON value."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return ", ".join(
        "=".join(map(str, part)) if isinstance(part, tuple) else str(part) for part in value
    )
