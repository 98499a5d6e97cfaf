"""What messages advise works: whoever follows it gets on, and never in a circle."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from command_line import QUICK, CommandLine
from small_tables import signal, write_csv


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(capsys)


def plain() -> dict[str, list[Any]]:
    X, y = signal(40, 3)
    named = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y}
    return {name: values.round(2).tolist() for name, values in named.items()}


def changed(name: str, *cells: Any) -> dict[str, list[Any]]:
    """A table whose column begins with these cells."""
    columns = plain()
    columns[name] = [*cells, *columns[name][len(cells) :]]
    return columns


def whole(name: str, cell: Callable[[int], Any]) -> dict[str, list[Any]]:
    """A table with a column of such cells."""
    return {**plain(), name: [cell(row) for row in range(40)]}


TABLES: dict[str, tuple[dict[str, list[Any]], list[str]]] = {
    "a mistyped number": (changed("a", "3o"), []),
    "two of them": (changed("a", "3o", "l7"), []),
    "many of them": (changed("a", "x1", "x2", "x3", "x4"), []),
    "a mistyped target": (changed("y", "3o"), []),
    "commas of two kinds": (
        whole("a", lambda row: f"{row % 7 + 1},{'5' if row % 2 else '337'}"),
        [],
    ),
    "the same in the target": (
        whole("y", lambda row: f"{row % 7 + 1},{'5' if row % 2 else '337'}"),
        [],
    ),
    "thousands here and there": (
        whole("a", lambda row: "12345" if row % 3 else f"{row + 1},337"),
        [],
    ),
    "commas and points": (whole("a", lambda row: f"{row}{',.'[row % 2]}5"), []),
    "points and thousands": (changed("a", "1,337"), []),
    "two currencies": (whole("a", lambda row: f"{'$€'[row % 2]}{row}"), []),
    "percent here and there": (whole("a", lambda row: f"{row}{' %'[row % 2].strip()}"), []),
    "gaps": (changed("a", None, None), []),
    "gaps in the target": (changed("y", None), []),
    "infinite": (changed("a", "inf", "-inf"), []),
    "an infinite target": (changed("y", "-inf"), []),
    "dates": (whole("when", lambda row: f"2024-03-{row % 28 + 1:02}"), []),
    "names": (whole("long name", lambda row: f"n{row}"), ["--drop", "b"]),
    "text for a regression": (whole("y", lambda row: "pq"[row % 2]), ["--task", "regression"]),
    "numbers for classes": (plain(), ["--task", "classification"]),
    "many whole numbers": (whole("y", lambda row: row), ["--task", "classification"]),
    "several at once": (plain(), ["--drop", "a,b"]),
}
OPTION = re.compile(r"--[a-z-]+(?: (?:'[^']*'|[^\s;()]+))?")
FLAGS = ("--drop-missing-target", "--no-header")


def advised(message: str) -> list[tuple[str, ...]]:
    """The options that a message tells to pass, each with its value."""
    found = []
    for part in OPTION.findall(message):
        option, *value = shlex.split(part)
        if option in FLAGS:
            found.append((option,))
        elif value and option in ("--decimal", "--thousands"):
            found.append((option, value[0]))
        elif value and value[0].rstrip(".:,") not in ("if", "and", "to", "with"):
            found.append((option, value[0].rstrip(".:,")))
    return list(dict.fromkeys(found))


def follow(cli: CommandLine, file: Path, options: list[str], done: list[tuple[str, ...]]) -> None:
    """Follow each piece of advice until the command works; none may come twice on the way."""
    assert len(done) < 5, done
    taken = [*options, *(word for one in done for word in one)]
    # The last of two counts where an option is given twice.
    ended = cli("select", file, "-t", "y", *QUICK, *taken)
    if ended.code == 0:
        return
    advice = [one for one in advised(ended.err) if one[0] != "--delimiter"]
    assert advice, ended.err
    if done:
        advice = advice[:1]
    for one in advice:
        assert one not in done, (ended.err, done)
        follow(cli, file, options, [*done, one])


@pytest.mark.parametrize("name", TABLES)
def test_advice_leads_to_a_result(name: str, cli: CommandLine, tmp_path: Path) -> None:
    columns, options = TABLES[name]
    file = write_csv(tmp_path / "data.csv", columns)
    kept: list[str] = options
    if "--drop" in options and "," in options[1]:
        message = cli.refusal("select", file, "-t", "y", *QUICK, *options)
        assert advised(message)[-2:] == [("--drop", "a"), ("--drop", "b")]
        kept = ["--drop", "a", "--drop", "b", "-k", "1"]
    follow(cli, file, kept, [])


@pytest.mark.parametrize("text", ["exported by hand\n\n{}", "# exported\n# by hand\n{}"])
def test_advice_on_lines_above_the_table(text: str, cli: CommandLine, tmp_path: Path) -> None:
    file = write_csv(tmp_path / "data.csv", plain())
    file.write_text(text.format(file.read_text()))
    follow(cli, file, [], [])


def test_advice_on_a_file_without_names(cli: CommandLine, tmp_path: Path) -> None:
    file = write_csv(tmp_path / "data.csv", plain())
    file.write_text(file.read_text().split("\n", 1)[1])
    message = cli.refusal("select", file, "-t", "x3", *QUICK)
    assert ("--no-header",) in advised(message)
    assert cli("select", file, "-t", "x3", *QUICK, "--no-header").code == 0
