"""Find a command that works, if options can solve the problems of the user's command."""

from __future__ import annotations

from dataclasses import replace

from .._base import quoted
from ..app import InputError, InputFile, InputProblems, Table, prepare
from ._job import Job, read_job, roles_of

# A remedy may lead to another problem, such as gaps once words count as missing.
_MOST_ROUNDS = 4


def working_command(job: Job, source: InputFile, table: Table, error: InputProblems) -> str | None:
    """Return the user's command with options that make it work; None if there are none.

    The options are tried, so that the suggested command does work.
    """
    options: list[tuple[str, ...]] = []
    for _ in range(_MOST_ROUNDS):
        new = [
            option_with_value
            for option_with_value in _options(error)
            if option_with_value not in options
        ]
        if not new or any(not problem.remedy for problem in error.problems):
            return None
        options += new
        remedied = _with_options(job, options)
        try:
            if remedied.reading != job.reading:
                table = read_job(remedied, source)
            prepare(table, roles_of(remedied, table))
        except InputProblems as again:
            error = again
        except InputError:
            return None
        else:
            words = [word for option in options for word in option]
            return " ".join((job.command, *map(quoted, words)))
    return None


def _options(error: InputProblems) -> list[tuple[str, ...]]:
    """Return the remedies of all problems, each option with its value."""
    options: list[tuple[str, ...]] = []
    for problem in error.problems:
        remedy = list(problem.remedy)
        while remedy:
            count = 1 if remedy[0] == "--drop-missing-target" else 2
            options.append(tuple(remedy[:count]))
            del remedy[:count]
    return list(dict.fromkeys(options))


def _with_options(job: Job, options: list[tuple[str, ...]]) -> Job:
    """Return the job with more options."""
    roles, reading = dict(job.roles), job.reading
    for option, *value in options:
        if option == "--drop":
            roles["dropped"] = (*roles["dropped"], *value)
        elif option == "--drop-missing-target":
            roles["drops_missing_target"] = True
        elif option == "--missing":
            reading = replace(reading, missing=(*reading.missing, *value))
        elif option == "--decimal":
            reading = replace(reading, decimal=value[0])
        elif option == "--thousands":
            reading = replace(reading, thousands=value[0])
        else:
            roles[option.removeprefix("--")] = value[0]  # --impute and --task
    return replace(job, roles=roles, reading=reading)
