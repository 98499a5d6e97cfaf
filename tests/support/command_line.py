"""The command line for tests: run it here or as a process, and look at how it ends."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from greedyrls import SelectionResult
from internals import run

# What select takes to leave out all targets but one.
OTHERS = {
    "y": ("--drop", "outcome", "--drop", "grade"),
    "outcome": ("--drop", "y", "--drop", "grade"),
    "grade": ("--drop", "y", "--drop", "outcome"),
}
ASIDE = ("--id", "id", "--drop", "site", "--drop", "weight")
# A selection that takes no time.
QUICK = ("-k", "2", "--alpha", "1")


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


class CommandLine:
    """Runs commands in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: object) -> Ended:
        self._capsys.readouterr()
        code = run([str(one) for one in arguments])
        return Ended(code, *self._capsys.readouterr())

    def fine(self, *arguments: object) -> str:
        """What is shown by a command that has nothing to complain of."""
        ended = self(*arguments)
        assert (ended.code, ended.err) == (0, ""), ended.err
        return ended.out

    def result(self, *arguments: object) -> SelectionResult:
        """What select prints as JSON."""
        return SelectionResult.from_json(self.fine("select", *arguments, "--json"))

    def refusal(self, *arguments: object) -> str:
        """The one line on stderr; exit code 2 and nothing else."""
        ended = self(*arguments)
        assert ended.code == 2, ended
        assert ended.out == ""
        assert_one_line(ended.err)
        return ended.err.removeprefix("greedyrls: ").removesuffix("\n")

    def problems(self, *arguments: object) -> list[str]:
        """The lines on stderr where a table has several problems; exit code 2, nothing else."""
        ended = self(*arguments)
        assert ended.code == 2, ended
        assert ended.out == ""
        lines = ended.err.splitlines()
        assert lines[0].startswith("greedyrls: ")
        assert all(line.startswith("  ") and line.isprintable() for line in lines[1:])
        return [line.strip() for line in lines]


def assert_one_line(text: str) -> None:
    """A message in one line without anything that could steer a terminal."""
    assert text.startswith("greedyrls: ")
    assert text.endswith("\n")
    assert text.count("\n") == 1
    assert text[:-1].isprintable(), text
    assert "Traceback" not in text


def select_arguments(data: Path, target: str = "y", *more: object) -> list[object]:
    """Of a selection from a file as `small_tables.measured` has it."""
    return [data, "--target", target, *OTHERS[target], *ASIDE, *more]


def as_process(
    *arguments: object,
    environment: Mapping[str, str] | None = None,
    command: Sequence[str] = (sys.executable, "-m", "greedyrls"),
    cwd: Path | None = None,
) -> Ended:
    """Run a command in a process of its own."""
    ended = subprocess.run(
        [*command, *(str(one) for one in arguments)],
        capture_output=True,
        env={**environment_here(), **(environment or {})},
        cwd=cwd,
        timeout=120,
        check=False,
    )
    return Ended(ended.returncode, ended.stdout.decode("utf-8"), ended.stderr.decode("utf-8"))


def environment_here() -> dict[str, str]:
    """That of the tests, with one thread, which is quick for small data, and with buffers."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return {**kept, "OPENBLAS_NUM_THREADS": "1"}


def path_of(text: str) -> Any:
    """The path in a result as JSON, without what differs from run to run."""
    document = json.loads(text)["path"]
    document["counters"]["seconds"] = 0.0
    for step in document["steps"]:
        step["seconds"] = 0.0
    return document


def rows_of(text: str) -> list[dict[str, str]]:
    """The rows of CSV text, by the names of its columns."""
    return list(csv.DictReader(io.StringIO(text)))
