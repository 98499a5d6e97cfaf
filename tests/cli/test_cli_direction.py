"""``--direction``: searches that also remove features, from the file to the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from command_line import CommandLine
from greedyrls import LinearModel, SelectionResult, greedy_path
from internals import make_contents
from small_tables import write_csv

DIRECTIONS = ("backward", "floating", "foba", "swap")


def tangled(m: int = 60) -> dict[str, Any]:
    """A column that sums up four causes: taken first, and of no use once they are all there."""
    rng = np.random.default_rng(0)
    causes = rng.standard_normal((m, 4)).round(6)
    columns: dict[str, Any] = {"summary": causes.sum(axis=1) + rng.standard_normal(m).round(6)}
    columns |= {f"cause{place}": causes[:, place] for place in range(4)}
    columns |= {f"noise{place}": rng.standard_normal(m).round(6) for place in range(3)}
    columns["y"] = causes.sum(axis=1) + 0.4 * rng.standard_normal(m).round(6)
    return {name: values.tolist() for name, values in columns.items()}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_csv(tmp_path / "tangled.csv", tangled())


def scaled() -> tuple[Any, Any]:
    columns = tangled()
    y = np.array(columns.pop("y"))
    X = np.column_stack(list(columns.values()))
    return (X - X.mean(axis=0)) / X.std(axis=0), y


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_path_is_that_of_greedy_path(
    direction: Any, data: Path, cli: CommandLine, tmp_path: Path
) -> None:
    asked = ("-t", "y", "-k", "5", "--alpha", "1", "--direction", direction)
    result = cli.result(data, *asked)
    X, y = scaled()
    path = greedy_path(X, y, 5, alpha=1.0, direction=direction)
    for size in range(1, 6):
        assert set(result.path.features(size)) == set(path.features(size))
        # The model of a size, in the units of the data, is that of the set of this size.
        model = result.model(size)
        assert {term.column for term in model.terms} == set(result.path.names(size))
        assert_allclose(model.predict(tangled()), path.predict(X, size), rtol=1e-6, atol=1e-6)
    assert result.path.settings.direction == direction
    assert result.origin.parameters["direction"] == direction
    again = SelectionResult.from_json(result.to_json())
    assert again.rows() == result.rows()
    assert [row["feature"] for row in result.rows()] == result.path.changes()
    contents, _ = make_contents(result)
    facts = {fact.name: fact.value for fact in contents["search_facts"]}
    assert facts["Direction"] == direction
    parameters = {fact.name: fact.value for fact in contents["parameter_facts"]}
    assert parameters["direction"] == direction
    (tmp_path / "model.json").write_text(result.model().to_json())
    assert LinearModel.from_json((tmp_path / "model.json").read_text()) == result.model()


def test_sets_that_are_not_nested_are_told_apart(data: Path, cli: CommandLine) -> None:
    """The report's script gets the features of each size by number, and what each size changes."""
    result = cli.result(data, "-t", "y", "-k", "5", "--alpha", "1", "--direction", "floating")
    assert not result.path.is_nested
    _, script = make_contents(result)
    assert script["changes"] == result.path.changes()
    names = [feature["column"] for feature in script["features"]]
    for size, model in script["models"].items():
        chosen = {names[place] for place in model["places"]}
        assert chosen == set(result.path.names(int(size)))
        assert len(model["own"].split(";")) == len(model["bars"]) == int(size)
    forward = cli.result(data, "-t", "y", "-k", "5", "--alpha", "1")
    _, script = make_contents(forward)
    assert "changes" not in script
    assert all("places" not in model for model in script["models"].values())


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["floating"])
def test_everything_is_written_and_assessed(
    direction: str, data: Path, cli: CommandLine, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    options = ("--direction", direction, "--folds", "3", "--resamples", "4", "--permutations", "3")
    assert (
        cli(
            "select",
            data,
            "-t",
            "y",
            "--alpha",
            "1,10",
            "--max-features",
            "6",
            *options,
            "--out",
            out,
        ).code
        == 0
    )
    result = SelectionResult.from_json((out / "result.json").read_text())
    assert result.assessment is not None
    assert result.assessment.criterion.endswith(direction)
    assert direction in (out / "report.html").read_text()
    shown = cli.fine(
        "assess", data, "-t", "y", "-k", "4", "--folds", "3", "--alpha", "1", *options[:2]
    )
    assert "On samples that took no part" in shown


def test_no_other_direction(data: Path, cli: CommandLine) -> None:
    message = cli.refusal("select", data, "-t", "y", "--direction", "sideways")
    assert "'sideways' is not one of 'forward', 'backward', 'floating', 'foba', 'swap'" in message
    for command in ("select", "assess"):
        shown = cli.fine(command, "--help")
        assert shown.index("Selection") < shown.index("--direction") < shown.index("Results:")
