"""The runner of the benchmarks: every suite is listed, and options, files and exit codes agree."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
# After everything else: no module of the tests may be hidden.
sys.path.append(str(BENCHMARKS))

import suites  # noqa: E402
from harness import suite as contract  # noqa: E402
from harness.command import load, main, options_of, run  # noqa: E402


def test_every_module_is_a_suite_that_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    modules = {file.stem for file in (BENCHMARKS / "suites").iterdir() if file.suffix == ".py"}
    modules |= {file.parent.name for file in (BENCHMARKS / "suites").glob("*/__init__.py")}
    assert {name.replace("-", "_") for name in suites.NAMES} == modules - {"__init__"}
    assert main(["--list"]) == 0
    listed = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert tuple(listed) == suites.NAMES
    assert all(text.endswith(".") and len(text.split()) > 4 for text in listed.values())


@pytest.mark.parametrize("name", suites.NAMES)
def test_options_are_declared(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    suite = load(name)
    assert suite.name == name
    assert options_of(suite, []) == suite.options()
    assert all(one.metadata["help"] for one in fields(suite.options))
    with pytest.raises(SystemExit, match="0"):
        main([name, "--help"])
    assert "--output" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="2"):
        main([name, "--no-such-option"])


def test_the_smallest_suite_from_command_to_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "folder" / "groups.json"
    before = os.environ.get("OMP_NUM_THREADS")
    sizes = ["--samples", "60", "--features", "12", "--width", "3", "--size", "2", "--rounds", "1"]
    assert main(["groups", *sizes, "--output", str(output)]) == 0
    found = json.loads(output.read_text(encoding="utf-8"))
    assert found["machine"]["threads"] == 1
    assert {"python", "numpy", "greedyrls", "cpus"} <= set(found["machine"])
    assert (found["samples"], found["width"]) == (60, 3)
    for rows in found["problems"].values():
        assert rows["groups"]["columns"] == 6
        assert rows["features, as many columns"]["ratio"] == 1.0
    assert "noise alone: groups: {" in capsys.readouterr().out
    assert os.environ.get("OMP_NUM_THREADS") == before
    assert [file.name for file in output.parent.iterdir()] == ["groups.json"]


def test_what_cannot_run_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scale", "--results", str(tmp_path), "--output", str(tmp_path / "a.md")]) == 1
    assert "run the suite sparse first" in capsys.readouterr().err
    assert main(["commits", "--against", str(tmp_path)]) == 1
    assert "has no package greedyrls" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_rows_are_written_one_by_one_and_failures_are_the_exit_code(tmp_path: Path) -> None:
    written: list[Any] = []

    def rows(options: contract.Options) -> Any:
        for number in range(2):
            if options.output.exists():
                written.append(json.loads(options.output.read_text()))
            yield number

    made_up = contract.Suite(
        name="made-up",
        sentence="Nothing.",
        options=contract.Options,
        rows=rows,
        document=lambda options, environment, found: list(found),
        page=lambda environment, found, table: table([("number",), *((str(n),) for n in found)]),
        failures=lambda found: ["one is wrong"] if 1 in found else [],
    )
    options = contract.Options(output=tmp_path / "rows.json")
    assert run(made_up, options) == 1
    assert written == [[0]]
    assert json.loads(options.output.read_text()) == [0, 1]
    assert (tmp_path / "rows.md").read_text() == "| number |\n| --- |\n| 0 |\n| 1 |"


@pytest.mark.slow
def test_a_checkout_beside_itself(tmp_path: Path) -> None:
    source = str(BENCHMARKS.parent / "src")
    output = tmp_path / "commits.json"
    arguments = ["--against", source, "--shrink", "20", "--repeats", "2", "--output", str(output)]
    assert main(["commits", *arguments, "--rows", "500x1000", "file"]) == 0
    first, second = json.loads(output.read_text())["rows"]
    assert (first["name"], second["name"]) == ("500x1000", "file")
    assert first["same_answer"] is second["same_answer"] is True
    assert first["ratio_of_minima"] == first["here"]["minimum"] / first["there"]["minimum"]
    assert len(first["here"]["later"]) == len(first["there"]["later"]) >= 2
