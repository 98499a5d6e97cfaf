"""What ``greedyrls predict`` writes: probabilities, all columns, digits; and models by folder."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from command_line import CommandLine, rows_of, select_arguments
from greedyrls import GreedyRLSClassifier, LinearModel, SelectionResult
from small_tables import measured, write_csv


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_csv(tmp_path_factory.mktemp("data") / "data.csv", measured())


@pytest.fixture(scope="module")
def kept() -> dict[str, str]:
    """Results by target, as they were written."""
    return {}


@pytest.fixture
def made(cli: CommandLine, data: Path, tmp_path: Path, kept: dict[str, str]) -> Path:
    """A folder with the result and the model of two classes."""
    if "outcome" not in kept:
        made = make(cli, data, tmp_path / "first", "outcome")
        kept["outcome"] = (made / "result.json").read_text()
    return written(SelectionResult.from_json(kept["outcome"]), tmp_path / "made")


def make(cli: CommandLine, data: Path, folder: Path, target: str) -> Path:
    return written(
        cli.result(*select_arguments(data, target, "-k", "3", "--alpha", "1,10")), folder
    )


def written(result: SelectionResult, folder: Path) -> Path:
    folder.mkdir()
    (folder / "result.json").write_text(result.to_json())
    (folder / "model.json").write_text(result.model().to_json())
    return folder


@pytest.mark.parametrize("target", ["outcome", "grade"])
def test_probabilities_are_those_of_the_classifier(
    target: str, cli: CommandLine, data: Path, tmp_path: Path
) -> None:
    folder = make(cli, data, tmp_path / "made", target)
    model = LinearModel.from_json((folder / "model.json").read_text())
    exactly = ("--digits", "17", "--probabilities", "-q")
    rows = rows_of(cli.fine("predict", folder, data, *exactly))
    names = [f"probability_{label}" for label in model.classes or ()]
    assert list(rows[0])[-len(names) :] == names
    found = np.array([[float(row[name]) for name in names] for row in rows])
    columns = {name: values for name, values in measured().items() if name != "used"}
    columns["used"] = [one == "true" for one in measured()["used"]]
    assert_allclose(found, model.predict_proba(columns), rtol=1e-12)
    assert_allclose(found.sum(axis=1), 1.0)
    # As likely as it says, by rows that took part: on average exactly so, but for Platt's targets.
    truth = np.array(measured()[target])
    shares = [np.mean(truth == label) for label in model.classes or ()]
    assert_allclose(found.mean(axis=0), shares, atol=0.1)


def test_probabilities_are_those_of_the_same_fit_in_python(
    cli: CommandLine, data: Path, tmp_path: Path
) -> None:
    """One penalty, no outer folds: the sigmoid of leave-one-out margins."""
    columns = {name: measured()[name] for name in ("x0", "x1", "x2", "outcome")}
    file = write_csv(tmp_path / "plain.csv", columns)
    result = cli.result(file, "-t", "outcome", "-k", "2", "--alpha", "1", "--no-standardise")
    X = np.column_stack([columns[name] for name in ("x0", "x1", "x2")]).astype(float)
    fitted = GreedyRLSClassifier(2, alpha=1.0).fit(X, columns["outcome"])
    (tmp_path / "model.json").write_text(result.model().to_json())
    shown = cli.fine("predict", tmp_path, file, "--probabilities", "--digits", "17", "-q")
    found = [float(row["probability_yes"]) for row in rows_of(shown)]
    assert_allclose(found, fitted.predict_proba(X)[:, 1], rtol=1e-6)


def test_models_without_probabilities_say_so(
    made: Path, cli: CommandLine, data: Path, tmp_path: Path
) -> None:
    document = json.loads((made / "model.json").read_text())
    del document["sigmoids"]  # as earlier releases wrote it
    old = tmp_path / "old.json"
    old.write_text(json.dumps(document))
    assert cli("predict", old, data).code == 0
    assert "has no probabilities" in cli.refusal("predict", old, data, "--probabilities")
    number = make(cli, data, tmp_path / "y", "y")
    message = cli.refusal("predict", number, data, "--probabilities")
    assert "--probabilities are of classes, and the model predicts 'y' as a number" in message


def test_a_model_by_its_folder_or_its_result(
    made: Path, cli: CommandLine, data: Path, tmp_path: Path
) -> None:
    shown = {cli("predict", one, data).out for one in (made, *made.iterdir())}
    assert len(shown) == 1
    only = tmp_path / "only"
    only.mkdir()
    shutil.copy(made / "result.json", only)
    assert {cli("predict", only, data).out} == shown
    assert "FROM" in cli.fine("export", only, "--to", "sql")
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "has no model.json or result.json" in cli.refusal("predict", empty, data)
    assert "has no result.json" in cli.refusal("report", empty)


def test_all_columns_as_they_are_written(made: Path, cli: CommandLine, tmp_path: Path) -> None:
    """Leading zeros, spaces, gaps and all; columns that the model does not know, too."""
    columns = measured()
    count = len(columns["x0"])
    columns = {"zip": [f"0{row}" for row in range(count)], **columns}
    columns["note"] = [f" note, {row}" if row % 2 else None for row in range(count)]
    columns["x0"] = [f"{value:.3f}00" for value in columns["x0"]]
    file = write_csv(tmp_path / "new.csv", columns)
    rows = rows_of(cli("predict", made, file, "--all-columns").out)
    before = rows_of(file.read_text())
    assert [list(row)[: len(columns)] for row in rows] == [list(columns)] * count
    assert [{name: row[name] for name in columns} for row in rows] == before
    assert list(rows[0])[len(columns) :] == ["prediction", "score"]
    both = cli.refusal("predict", made, file, "--all-columns", "--id", "zip")
    assert "leave --id out" in both
    columns["score"] = columns.pop("note")
    clash = write_csv(tmp_path / "clash.csv", columns)
    message = cli.refusal("predict", made, clash, "--all-columns")
    assert "--all-columns 'score': a column of the predictions has that name" in message


def test_digits(cli: CommandLine, data: Path, tmp_path: Path) -> None:
    folder = make(cli, data, tmp_path / "y", "y")
    exact = [row["prediction"] for row in rows_of(cli("predict", folder, data, "--digits", 17).out)]
    for digits in (None, 3, 6, 12):
        options = () if digits is None else ("--digits", digits)
        rows = rows_of(cli("predict", folder, data, *options).out)
        for row, whole in zip(rows, exact, strict=True):
            assert float(row["prediction"]) == float(f"{float(whole):.{digits or 6}g}")
    assert max(len(one) for one in exact) > 12
    document = json.loads(cli("predict", folder, data, "--json").out)
    assert document["prediction"] == [float(f"{float(one):.6g}") for one in exact]
    assert "17" in cli.refusal("predict", folder, data, "--digits", "18")


def test_large_predictions_have_no_exponent(cli: CommandLine, tmp_path: Path) -> None:
    model = LinearModel("regression", "price", (), (), (1234567.8,))
    (tmp_path / "model.json").write_text(model.to_json())
    file = write_csv(tmp_path / "rows.csv", {"a": [1, 2]})
    assert cli("predict", tmp_path, file).out == "prediction\n1234570\n1234570\n"
    assert cli("predict", tmp_path, file, "--digits", "17").out.startswith("prediction\n1234567.8")


def test_report_replaces_nothing_unless_asked(made: Path, cli: CommandLine) -> None:
    page = made / "report.html"
    page.write_text("MY NOTES")
    for given in (made, made / "result.json"):
        message = cli.refusal("report", given)
        assert "report.html already exists; pass --overwrite to replace it" in message
    assert page.read_text() == "MY NOTES"
    cli.fine("report", made, "--overwrite")
    assert "<html" in page.read_text()
    assert "give the result.json beside it" in cli.refusal("report", made / "model.json")


def test_results_keep_the_sigmoids(made: Path) -> None:
    result = SelectionResult.from_json((made / "result.json").read_text())
    assert result.sigmoids is not None
    assert result.model().sigmoids == result.sigmoids
    assert result.model(1).sigmoids is None  # they are of the chosen size
