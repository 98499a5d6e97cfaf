"""Whole columns, costs and a budget on the command line: chosen, reported, predicted, exported."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("click")
pytest.importorskip("rich")
pytest.importorskip("pyarrow")

from command_line import CommandLine
from greedyrls import SelectionResult, greedy_path
from greedyrls.export import export_model
from greedyrls.report import make_report

CITIES = ["Oslo", "Riga", "Tartu", "Turku"]
COLOURS = ["blue", "green", "red"]


@pytest.fixture(name="command")
def make_command(capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(capsys)


@pytest.fixture(name="table")
def make_table(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    city, colour = rng.integers(4, size=120), rng.integers(3, size=120)
    weight, height = rng.standard_normal((2, 120))
    y = np.array([2.0, -1.0, 0.5, 0.0])[city] + weight + 0.5 * rng.standard_normal(120)
    file = tmp_path / "people.csv"
    with open(file, "w", newline="", encoding="utf-8") as stream:
        rows = csv.writer(stream)
        rows.writerow(["city", "weight", "colour", "height", "y"])
        for row in zip(city, weight, colour, height, y, strict=True):
            rows.writerow([CITIES[row[0]], row[1], COLOURS[row[2]], row[3], row[4]])
    return file


QUICK = ("--target", "y", "--alpha", "1")


def test_a_column_with_all_its_texts(command: CommandLine, table: Path) -> None:
    result = command.result(table, *QUICK, "-k", "3", "--whole-columns")
    assert [len(step.features) for step in result.path.steps] == [1, 4, 1]
    assert result.path.group_names(2) == ["weight", "city"]
    cities = [f"city={city}" for city in CITIES]
    assert [feature.name for feature in result.features_of(2)] == ["weight", *cities]
    assert result.sentence.startswith("3 of 4 columns were chosen to predict y: weight, city, ")
    rows = result.rows()
    assert [row["n_features"] for row in rows] == [1, 2, 3]
    assert (rows[1]["feature"], rows[1]["column"], rows[1]["level"]) == ("city", "city", None)
    # The same by the library on the features as the search saw them.
    coded = np.genfromtxt(table, delimiter=",", skip_header=1, dtype=str)
    columns = [coded[:, 0] == city for city in CITIES] + [coded[:, 1].astype(float)]
    columns += [coded[:, 2] == colour for colour in COLOURS] + [coded[:, 3].astype(float)]
    X = np.array(columns, dtype=float).T
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    groups = [[0, 1, 2, 3], [5, 6, 7]]
    path = greedy_path(X, coded[:, 4].astype(float), 3, feature_groups=groups)
    assert path.indices.tolist() == result.path.indices.tolist()
    np.testing.assert_allclose(path.losses, result.path.losses, rtol=1e-9)


def test_without_the_option_texts_are_features(command: CommandLine, table: Path) -> None:
    result = command.result(table, *QUICK, "-k", "3")
    assert all(len(step.features) == 1 for step in result.path.steps)
    assert result.path.settings.feature_groups is None


def test_costs_and_a_budget(command: CommandLine, table: Path) -> None:
    options = ("--cost", "city=10", "--cost", "height=0.5", "--budget", "3")
    result = command.result(table, *QUICK, *options)
    assert result.path.costs is not None
    assert result.path.costs[-1] <= 3.0
    assert "city" not in result.path.group_names()
    assert [row["cost"] for row in result.rows()] == result.path.costs.tolist()
    assert result.origin.parameters["costs"] == "city=10.0, height=0.5"


def test_everything_is_written(command: CommandLine, table: Path, tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    out = tmp_path / "results"
    shown = command.fine(
        "select", table, *QUICK, "-k", "2", "--whole-columns", "--folds", "3", "--out", out
    )
    assert "city" in shown
    assert "city=Oslo" not in shown[shown.index("runner-up") :]  # only the model has texts
    result = SelectionResult.from_json((out / "result.json").read_text(encoding="utf-8"))
    assert result.assessment is not None
    assert result.assessment.n_available == 4
    chosen = json.loads((out / "result.json").read_text(encoding="utf-8"))["chosen"]["features"]
    assert chosen == ["weight", *(f"city={city}" for city in CITIES)]
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "2 columns" in page
    assert "of 4 columns chosen" in page
    assert make_report(result).count("Tartu") > 0
    predictions = tmp_path / "predictions.csv"
    command.fine("predict", out / "model.json", table, "--out", predictions, "--quiet")
    found = np.genfromtxt(predictions, delimiter=",", skip_header=1)
    assert np.corrcoef(found, np.genfromtxt(table, delimiter=",", skip_header=1)[:, 4])[0, 1] > 0.8
    code = export_model(result.model(), "python")
    assert isinstance(code, str)
    assert all(city in code for city in CITIES)


def test_assess(command: CommandLine, table: Path) -> None:
    options = ("-k", "2", "--whole-columns", "--folds", "3", "--json")
    found = json.loads(command.fine("assess", table, *QUICK, *options))
    assert found["n_available"] == 4
    assert all(len(features) == 2 for features in found["features"])


def test_stability_and_permutations(command: CommandLine, table: Path) -> None:
    pytest.importorskip("jinja2")
    options = ("-k", "2", "--whole-columns", "--resamples", "4", "--permutations", "3")
    result = command.result(table, *QUICK, *options)
    assert result.stability is not None
    assert {"city", "weight"} <= set(result.stability.names(range(9)))
    assert "stability" in make_report(result)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--cost", "town=2"), "'town'"),
        (("--cost", "city"), "'city' is not a column, '=' and a number above 0"),
        (("--cost", "city=-1"), "'city=-1'"),
        (("--cost", "city=2", "--cost", "city=3"), "more than once"),
        (("--budget", "0"), "--budget"),
        (("--budget", "0.5"), "too small for any feature"),
        (("-k", "5", "--whole-columns"), "more than the 4 columns"),
        (("-k", "1", "--whole-columns", "--force", "city", "--force", "weight"), "2 columns"),
    ],
)
def test_refusals(command: CommandLine, table: Path, options: tuple[str, ...], told: str) -> None:
    assert told in command.refusal("select", table, *QUICK, *options)
