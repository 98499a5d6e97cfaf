"""What messages advise works: whoever follows it gets on, and never in a circle."""

from __future__ import annotations

import contextlib
import csv
import io
import random
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from command_line import QUICK, CommandLine
from internals import run
from small_tables import signal, write_csv


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


# Tables drawn at random.

KINDS: list[Callable[[random.Random], str]] = [
    lambda draw: f"{draw.gauss(0, 3):.3f}",
    lambda draw: f"${draw.random() * 9000:,.2f}",
    lambda draw: f"{draw.random() * 9000:,.0f}",
    lambda draw: f"{draw.random() * 9000:,.2f}".translate(str.maketrans(",.", ".,")),
    lambda draw: f"{draw.random() * 9:.{draw.choice([1, 2, 3])}f}".replace(".", ","),
    lambda draw: draw.choice([f"{draw.random():.2f}"] * 9 + ["n.d.", "-", "unknown"]),
    lambda draw: draw.choice([f"{draw.random():.2f}"] * 15 + ["3o", "abc"]),
    lambda draw: draw.choice([f"{draw.random():.2f}"] * 15 + ["inf", ""]),
    lambda draw: draw.choice([f"{draw.random():.2f}"] * 9 + ["<0.1", ">9"]),
    lambda draw: f"{draw.random() * 9:.1f}{draw.choice(['%', ''])}",
    lambda draw: f"{draw.choice('$€')}{draw.random() * 9:.1f}",
    lambda draw: f"2024-01-{draw.randrange(1, 29):02}",
    lambda draw: f"name {draw.randrange(10**6)}",
    lambda draw: draw.choice("abc"),
    lambda draw: draw.choice(["1,337", "1,5", "12345", "2.5"]),
]
NAMES = ["", "x", "x", " y", "a b", "it's", "$(z)", "two\nlines", "tab\tab"]


@settings(max_examples=20)
@given(st.integers(0, 10**6))
def test_commands_that_are_said_to_work_do(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    draw = random.Random(seed)
    m = draw.choice([12, 60])
    kinds = [draw.choice(KINDS) for _ in range(draw.randrange(1, 6))]
    kinds.append(KINDS[0] if draw.random() < 0.6 else draw.choice(KINDS))
    file = tmp_path_factory.getbasetemp() / "drawn.csv"
    with file.open("w", newline="", encoding="utf-8") as text:
        writer = csv.writer(text, delimiter=draw.choice(",;\t"))
        writer.writerow([*(draw.choice(NAMES) for _ in kinds[1:]), "the target"])
        writer.writerows([[kind(draw) for kind in kinds] for _ in range(m)])
    arguments = ["select", str(file), "-t", "the target", "-k", "1", "--alpha", "1", "-q"]
    code, lines = ended(arguments)
    assert code in (0, 2)
    assert all(line.isprintable() for line in lines)
    assert not any("damaged" in line for line in lines)
    if len(lines) > 1 and "This command would work:" in lines[-2]:
        words = subprocess.run(
            ["bash", "-c", f"greedyrls() {{ printf '%s\\0' \"$@\"; }}\n{lines[-1]}"],
            capture_output=True,
            check=True,
        ).stdout.split(b"\0")[:-1]
        assert ended([*arguments, *(word.decode() for word in words)]) == (0, [])


def ended(arguments: list[str]) -> tuple[int, list[str]]:
    """The exit code of a command, and its lines on stderr."""
    shown = io.StringIO()
    with contextlib.redirect_stderr(shown), pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["greedyrls"])
        code = run(arguments)
    return code, shown.getvalue().splitlines()
