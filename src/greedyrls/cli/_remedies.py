"""A command that works, where the user's own met problems that options can solve."""

from __future__ import annotations

from dataclasses import replace

from .._base import quoted
from ..app import InputError, InputFile, InputProblems, Table, prepare
from ._job import Job, read_job, roles_of

# One remedy may bring up another problem, such as gaps where words count as missing.
_MOST_ROUNDS = 4


def working_command(job: Job, source: InputFile, table: Table, error: InputProblems) -> str | None:
    """The user's command with the options that make it work; None where there are none.

    The options are tried out, so that what is said to work does.
    """
    options: list[tuple[str, ...]] = []
    for _ in range(_MOST_ROUNDS):
        new = [one for one in _options(error) if one not in options]
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
    """The remedies of all problems, each option with its value."""
    found: list[tuple[str, ...]] = []
    for problem in error.problems:
        remedy = list(problem.remedy)
        while remedy:
            count = 1 if remedy[0] == "--drop-missing-target" else 2
            found.append(tuple(remedy[:count]))
            del remedy[:count]
    return list(dict.fromkeys(found))


def _with_options(job: Job, options: list[tuple[str, ...]]) -> Job:
    """The job with more options."""
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
