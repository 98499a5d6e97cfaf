"""``greedyrls predict``: the rows of a file by a model, and what the file must have."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from command_line import QUICK, CommandLine, rows_of, select_arguments
from greedyrls import LinearModel, SelectionResult
from internals import read_table, run
from small_tables import measured, write_csv


def accuracy(told: str) -> float:
    return float(told.split("accuracy ")[1].split()[0])


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_csv(tmp_path_factory.mktemp("data") / "data.csv", measured())


@pytest.fixture(scope="module")
def made(data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders with the result and the model of a selection, by target."""
    folders = {}
    for target in ("y", "outcome", "grade"):
        folder = folders[target] = tmp_path_factory.mktemp(target)
        arguments = select_arguments(data, target, "-k", "5", "--alpha", "1,10", "--json")
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            assert run(["select", *map(str, arguments), "--impute", "median"]) == 0
        (folder / "result.json").write_text(shown.getvalue())
        model = SelectionResult.from_json(shown.getvalue()).model()
        (folder / "model.json").write_text(model.to_json())
    return folders


@pytest.mark.parametrize("target", ["y", "outcome", "grade"])
def test_predictions_are_those_of_the_model(
    target: str, made: dict[str, Path], data: Path, cli: CommandLine, tmp_path: Path
) -> None:
    file = made[target] / "model.json"
    model = LinearModel.from_json(file.read_text())
    table = read_table(data, as_text=("id", "colour"))
    exactly = ("--digits", "17")
    ended = cli("predict", file, data, "--id", "id", "--id", "colour", *exactly)
    assert ended.code == 0
    rows = rows_of(ended.out)
    assert [row["id"] for row in rows] == measured()["id"]
    assert [row["colour"] for row in rows] == measured()["colour"]
    scores = model.scores(table)
    if target == "y":
        assert list(rows[0]) == ["id", "colour", "prediction"]
        assert [float(row["prediction"]) for row in rows] == scores[:, 0].tolist()
        errors = np.array(measured()["y"]) - scores[:, 0]
        told = ended.err.split("root mean squared error ")[1].split()
        assert float(told[0]) == pytest.approx(np.sqrt(np.mean(errors**2)), rel=0.02)
        share = 1.0 - np.mean(errors**2) / np.var(measured()["y"])
        assert f", R² {share:.2f}, on the " in ended.err
    else:
        names = ["score"] if target == "outcome" else ["score_low", "score_mid", "score_top"]
        assert list(rows[0]) == ["id", "colour", "prediction", *names]
        assert [row["prediction"] for row in rows] == model.predict(table).tolist()
        assert [[float(row[name]) for name in names] for row in rows] == scores.tolist()
        wrong = np.mean(model.predict(table) != np.array(measured()[target]))
        assert accuracy(ended.err) == pytest.approx(1.0 - wrong, abs=5e-3)
    assert ended.err.count("\n") == 1
    out = tmp_path / "predictions.csv"
    arguments = ("predict", file, data, "--id", "id", "--id", "colour", *exactly)
    assert cli(*arguments, "--out", out).out == ""
    assert out.read_text() == ended.out


def test_predictions_equal_those_of_the_path(
    made: dict[str, Path], cli: CommandLine, data: Path
) -> None:
    """The whole way: what the search saw, standardised, and what predict makes of the file."""
    result = SelectionResult.from_json((made["y"] / "result.json").read_text())
    columns = measured()
    raw = [
        np.array(columns[feature.column], dtype=float)
        if feature.level is None and feature.column != "used"
        else np.array([one == (feature.level or "true") for one in columns[feature.column]], float)
        for feature in result.features
    ]
    seen = np.column_stack(
        [
            (one - feature.mean) / feature.scale
            for one, feature in zip(raw, result.features, strict=True)
        ]
    )
    expected = seen @ result.path.coef() + result.path.intercept()
    rows = rows_of(cli("predict", made["y"] / "model.json", data, "--digits", "17").out)
    assert_allclose([float(row["prediction"]) for row in rows], expected, rtol=1e-9, atol=1e-9)


def test_predictions_of_new_rows(made: dict[str, Path], cli: CommandLine, tmp_path: Path) -> None:
    """Only the model's columns are needed; gaps are filled, new texts are told."""
    model = LinearModel.from_json((made["y"] / "model.json").read_text())
    columns = measured()
    own = {column.name: columns[column.name][:4] for column in model.columns}
    assert "colour" in own
    own["colour"] = ["violet", None, "red", "red"]
    own["x0"] = [None, *own["x0"][1:]]
    file = write_csv(tmp_path / "new.csv", own)
    ended = cli("predict", made["y"] / "model.json", file)
    assert ended.code == 0
    assert len(rows_of(ended.out)) == 4
    assert "column 'colour' has 1 value" in ended.err
    assert "greedyrls: 2 missing cells were filled in: " in ended.err
    assert "1 in 'x0'" in ended.err
    assert "1 in 'colour'" in ended.err
    assert "'violet'" in ended.err
    quiet = cli("predict", made["y"] / "model.json", file, "--quiet")
    assert quiet == (0, ended.out, "")  # predictions are what was asked for, not a message
    document = json.loads(cli("predict", made["y"] / "model.json", file, "--json").out)
    assert document["prediction"] == [float(row["prediction"]) for row in rows_of(ended.out)]


def model_file(cli: CommandLine, folder: Path, data: Path, *options: str) -> Path:
    """A model without the report, which takes longer than the model."""
    result = cli.result(data, "-t", "outcome", *QUICK, *options)
    (folder / "model.json").write_text(result.model().to_json())
    return folder / "model.json"


def test_labels_that_look_like_numbers(cli: CommandLine, tmp_path: Path) -> None:
    """The classes 01 and 1 are different texts, in the file that is predicted, too."""
    columns = measured()
    columns = {name: columns[name] for name in ("x0", "x1", "x2", "outcome")}
    columns["outcome"] = ["01" if one == "yes" else "02" for one in columns["outcome"]]
    file = write_csv(tmp_path / "codes.csv", columns)
    model = model_file(cli, tmp_path, file, "--categorical", "outcome")
    ended = cli("predict", model, file)
    predicted = [row["prediction"] for row in rows_of(ended.out)]
    assert set(predicted) == {"01", "02"}
    wrong = np.mean(np.array(predicted) != np.array(columns["outcome"]))
    assert accuracy(ended.err) == pytest.approx(1.0 - wrong, abs=5e-3)


@pytest.mark.parametrize(
    ("first", "second"), [("true", "false"), (0, 1), (3, 7), ("b", "a"), (-1.0, 1.0)]
)
def test_labels_of_every_kind_are_known_again(
    first: Any, second: Any, cli: CommandLine, tmp_path: Path
) -> None:
    columns = measured()
    columns = {name: columns[name] for name in ("x0", "x1", "x2", "outcome")}
    columns["outcome"] = [first if one == "yes" else second for one in columns["outcome"]]
    file = write_csv(tmp_path / "codes.csv", columns)
    ended = cli("predict", model_file(cli, tmp_path, file), file)
    assert accuracy(ended.err) > 0.6


def test_predict_refuses(
    made: dict[str, Path], data: Path, cli: CommandLine, tmp_path: Path
) -> None:
    model = made["y"] / "model.json"
    assert f"{data}: " in cli.refusal("predict", data, data)
    assert "No such file" in cli.refusal("predict", tmp_path / "none.json", data)
    assert "no column 'nosuch'" in cli.refusal("predict", model, data, "--id", "nosuch")
    out = tmp_path / "p.csv"
    out.write_text("mine")
    assert "--overwrite" in cli.refusal("predict", model, data, "--out", out)
    assert out.read_text() == "mine"
    assert cli("predict", model, data, "--out", out, "--overwrite").code == 0
    assert "that is a folder" in cli.refusal("predict", model, data, "--out", tmp_path)
    missing = tmp_path / "none" / "p.csv"
    assert f"no folder {missing.parent}" in cli.refusal("predict", model, data, "--out", missing)
    columns = measured()
    columns["prediction"] = columns.pop("id")
    clash = write_csv(tmp_path / "clash.csv", columns)
    message = cli.refusal("predict", model, clash, "--id", "prediction")
    assert "--id 'prediction': a column of the predictions has that name" in message
    del columns["colour"]
    lacking = write_csv(tmp_path / "lacking.csv", columns)
    assert "lacking.csv has no column 'colour'" in cli.refusal("predict", model, lacking)
    columns["colour"] = columns["x0"]
    columns["x0"] = ["text"] * 60
    odd = write_csv(tmp_path / "odd.csv", columns)
    assert "Column 'x0' of" in cli.refusal("predict", model, odd)


def test_gaps_that_the_model_does_not_fill(cli: CommandLine, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    cli.fine("select", *select_arguments(data, "y", "-k", "9", "--alpha", "1", "-q", "-o", out))
    columns = measured()
    columns["x0"][6] = None
    gaps = write_csv(tmp_path / "gaps.csv", columns)
    message = cli.refusal("predict", out / "model.json", gaps)
    assert "Column 'x0'" in message
    assert "line 8" in message


def test_flags_written_as_numbers_are_the_same_labels(cli: CommandLine, tmp_path: Path) -> None:
    flags = [row % 3 == 0 for row in range(40)]
    x = [float(flag) + 0.1 * (row % 5) for row, flag in enumerate(flags)]
    columns = {"x": x, "z": [float(row % 7) for row in range(40)]}
    words = [str(one).lower() for one in flags]
    given = write_csv(tmp_path / "flags.csv", {**columns, "outcome": words})
    model = model_file(cli, tmp_path, given)
    ones = [int(one) for one in flags]
    numbers = write_csv(tmp_path / "numbers.csv", {**columns, "outcome": ones})
    for data in (given, numbers):
        assert accuracy(cli("predict", model, data).err) == 1.0
