"""What a model remembers of its file, and what is said of an answer once and no more."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command_line import QUICK, CommandLine
from small_tables import signal, write_csv


def a_table() -> dict[str, list[Any]]:
    X, y = signal(60, 2)
    return {"a": X[:, 0].tolist(), "b": X[:, 1].tolist(), "y": y.tolist()}


def test_a_model_remembers_what_counts_as_missing(cli: CommandLine, tmp_path: Path) -> None:
    columns = a_table()
    columns["a"] = [-999 if row % 9 == 4 else one for row, one in enumerate(columns["a"])]
    data = write_csv(tmp_path / "data.csv", columns)
    out = tmp_path / "out"
    options = ("--missing", "-999", "--impute", "median", "--out", out, "-q")
    assert cli("select", data, "-t", "y", *QUICK, *options).code == 0
    told = cli("predict", out, data)
    assert "7 missing cells were filled in" in told.err
    assert told.out == cli("predict", out, data, "--missing", "-999").out
    for file in ("model.json", "result.json"):
        assert cli("predict", out / file, data).out == told.out


def test_a_leak_is_said_once_and_the_next_command_leaves_it_out(
    cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = a_table()
    columns["half=copy"] = [2.0 * one + 1.0 for one in columns["y"]]
    data = write_csv(tmp_path / "data.csv", columns)
    arguments = ["select", str(data), "-t", "y", *QUICK]
    monkeypatch.setattr(sys, "argv", ["greedyrls", *arguments])
    told = " ".join(cli.fine(*arguments).split())
    assert told.count("alone predicts y almost exactly") == 1
    assert "If it is not known before y is: greedyrls select" in told
    assert told.endswith("--drop half=copy")


def test_probabilities_that_contradict_predictions_are_told(
    cli: CommandLine, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal(400)
    rare = np.where(x + rng.standard_normal(400) > 2.0, "yes", "no")
    data = write_csv(tmp_path / "data.csv", {"x": x.tolist(), "z": x[::-1].tolist(), "y": rare})
    out = tmp_path / "out"
    options = ("-k", "1", "--class-weight", "balanced", "--out", out, "-q")
    assert cli("select", data, "-t", "y", *options).code == 0
    ended = cli("predict", out, data, "--probabilities")
    rows = [line.split(",") for line in ended.out.splitlines()]
    place = rows[0].index("probability_yes")
    likely = ["yes" if float(row[place]) > 0.5 else "no" for row in rows[1:]]
    count = sum(row[0] != one for row, one in zip(rows[1:], likely, strict=True))
    assert count > 10
    assert f"in {count} rows another class is more probable than the prediction" in ended.err
