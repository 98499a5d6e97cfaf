"""Files that the command line writes and reads: whole, as documented, and of use to the next."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose

from command_line import QUICK, CommandLine, rows_of, select_arguments
from greedyrls import LinearModel, SelectionResult
from greedyrls.assess import PathAssessment
from internals import read_table
from small_tables import measured, write_csv
from traps import Traps

WRITTEN = [
    "methods.txt",
    "model.json",
    "path.csv",
    "path.png",
    "report.html",
    "result.json",
]
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_csv(tmp_path_factory.mktemp("data") / "data.csv", measured())


@pytest.fixture(scope="module")
def made(data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Results of a selection for each target, by target."""
    from internals import run

    folder = tmp_path_factory.mktemp("made")
    for target in ("y", "outcome", "grade"):
        arguments = select_arguments(data, target, "-k", "5", "--alpha", "1,10", "--quiet")
        extras = ["--assess", "--folds", "3", "--impute", "median"]
        code = run(["select", *map(str, arguments), *extras, "--out", str(folder / target)])
        assert code == 0
    return {target: folder / target for target in ("y", "outcome", "grade")}


# What select writes.


def test_all_files_are_there(cli: CommandLine, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "folder"
    shown = cli.fine("select", *select_arguments(data, "y", *QUICK, "--out", out))
    assert sorted(file.name for file in out.iterdir()) == WRITTEN
    for name in WRITTEN:
        assert name in shown
    mask = os.umask(0)
    os.umask(mask)
    for file in out.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o666 & ~mask


def test_the_paragraph_for_a_paper(made: dict[str, Path]) -> None:
    result = SelectionResult.from_json((made["outcome"] / "result.json").read_text())
    text = (made["outcome"] / "methods.txt").read_text(encoding="utf-8")
    assert text == result.methods_text() + "\n"
    assert "for regularized least-squares classification" in text
    assert (
        "Missing values were replaced by the median, in text columns by the most frequent value. "
        "Features were scaled to mean 0 and variance 1, using all samples, before the search. "
        "[Describe the data and any further preprocessing.] To estimate the performance"
    ) in text


def test_weights_in_the_paragraph_for_a_paper(cli: CommandLine, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "weighted"
    options = ("-k", "2", "--alpha", "1", "--class-weight", "balanced", "--no-standardise")
    cli.fine(
        "select", *select_arguments(data, "outcome", *options), "--impute", "median", "--out", out
    )
    text = (out / "methods.txt").read_text(encoding="utf-8")
    assert "Samples were weighted by their classes (balanced)." in text
    assert "scaled" not in text


def test_the_result(made: dict[str, Path], data: Path) -> None:
    text = (made["y"] / "result.json").read_text()
    result = SelectionResult.from_json(text)
    assert result.to_json(indent=1) + "\n" == text
    assert result.data.sha256 == hashlib.sha256(data.read_bytes()).hexdigest()
    assert result.data.n_bytes == data.stat().st_size
    assert (result.data.file, result.data.n_rows) == ("data.csv", 60)
    assert str(data) not in text or str(data) in result.origin.command


def test_the_path_as_csv(made: dict[str, Path]) -> None:
    """The columns that docs/reference/files.md tells of, in its order."""
    result = SelectionResult.from_json((made["y"] / "result.json").read_text())
    rows = rows_of((made["y"] / "path.csv").read_text())
    assert list(rows[0]) == [
        *("n_features", "feature", "column", "level", "loss", "standard_error", "gain"),
        *("honest_loss", "honest_error", "honest_source", "runner_up", "runner_up_share"),
        *("search_loss", "runner_up_search_loss", "is_chosen"),
    ]
    assert len(rows) == len(result.path) == 5
    curve = result.model_curve
    assert curve is not None
    assert_allclose([float(row["loss"]) for row in rows], curve.mean, rtol=0)
    assert_allclose([float(row["standard_error"]) for row in rows], curve.error, rtol=0)
    assert_allclose([float(row["search_loss"]) for row in rows], result.path.losses, rtol=0)
    assert result.assessment is not None
    test = result.assessment.test
    assert_allclose([float(row["honest_loss"]) for row in rows], test.mean, rtol=0)
    assert_allclose([float(row["honest_error"]) for row in rows], test.error, rtol=0)
    gains = -np.diff([result.path.initial_loss, *curve.mean])
    assert_allclose([float(row["gain"]) for row in rows], gains)
    for row, step, feature in zip(rows, result.path.steps, result.features, strict=True):
        name = f"{row['column']}={row['level']}" if row["level"] else row["column"]
        assert row["feature"] == feature.name == name
        names = result.path.settings.feature_names_in
        assert names is not None
        assert row["runner_up"] == names[step.runners_up[0][0]]
        assert row["is_chosen"] == "True"


def test_the_share_of_runners_up(made: dict[str, Path]) -> None:
    result = SelectionResult.from_json((made["y"] / "result.json").read_text())
    before = result.path.initial_loss
    for row, step in zip(result.rows(), result.path.steps, strict=True):
        gain, second = before - step.loss, before - step.runners_up[0][1]
        expected = pytest.approx(second / gain) if gain > 0 else None
        assert row["runner_up_share"] == expected
        assert row["runner_up_share"] is None or row["runner_up_share"] <= 1.0
        before = step.loss


def test_pictures_and_reports(made: dict[str, Path]) -> None:
    for folder in made.values():
        assert (folder / "path.png").read_bytes().startswith(PNG)
        page = (folder / "report.html").read_text(encoding="utf-8")
        result = SelectionResult.from_json((folder / "result.json").read_text())
        assert page.lstrip().lower().startswith("<!doctype html>")
        sentence = result.sentence.split(": ")[0]
        assert sentence in page
        assert all(feature.column in page for feature in result.features)


@pytest.mark.parametrize("loss", ["squared", "zero_one"])
def test_a_picture_with_permutations(
    loss: str, cli: CommandLine, data: Path, tmp_path: Path
) -> None:
    """Of classes found by squared loss, the permutations are measured by error rate."""
    arguments = select_arguments(data, "outcome", *QUICK, "--loss", loss, "--permutations", "2")
    cli.fine("select", *arguments, "--out", tmp_path)
    assert (tmp_path / "path.png").read_bytes().startswith(PNG)
    result = SelectionResult.from_json((tmp_path / "result.json").read_text())
    assert result.null is not None
    assert result.null.measure == "zero_one"


def test_names_that_are_markup_are_text_in_all_files(cli: CommandLine, tmp_path: Path) -> None:
    columns = measured()
    name = "<script>alert(1)</script>"
    columns[name] = columns.pop("x0")
    columns["[red]x[/red]"] = columns.pop("x1")
    columns["\x1b[31m"] = columns.pop("x2")
    columns["two\nlines"] = columns.pop("x3")
    columns["=cmd()"] = columns.pop("x4")
    file = write_csv(tmp_path / "odd.csv", columns)
    out = tmp_path / "out"
    shown = cli.fine("select", *select_arguments(file, "y", "-k", "9", "--alpha", "1", "-o", out))
    assert "\x1b" not in shown
    assert "[red]x[/red]" in shown
    assert "<script>alert" not in (out / "report.html").read_text(encoding="utf-8")
    rows = rows_of((out / "path.csv").read_text(encoding="utf-8"))
    assert {row["feature"] for row in rows} >= {name, "[red]x[/red]", "two\nlines", "=cmd()"}
    model = LinearModel.from_json((out / "model.json").read_text())
    assert np.isfinite(model.predict(read_table(file))).all()


# Overwriting and folders.


@pytest.mark.parametrize("command", ["select", "assess"])
def test_results_are_not_replaced_unasked(
    command: str, cli: CommandLine, data: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    arguments = [command, *select_arguments(data, "y", *QUICK, "--folds", "2", "--out", out)]
    cli.fine(*arguments)
    before = {file.name: file.read_bytes() for file in out.iterdir()}
    message = cli.refusal(*arguments)
    assert f"--out {out}" in message
    assert "--overwrite" in message
    assert {file.name: file.read_bytes() for file in out.iterdir()} == before
    (out / "mine.txt").write_text("kept")
    cli.fine(*arguments, "--overwrite")
    assert (out / "mine.txt").read_text() == "kept"
    assert sorted(file.name for file in out.iterdir()) == sorted([*before, "mine.txt"])


def test_a_single_file_is_enough_to_refuse(cli: CommandLine, data: Path, tmp_path: Path) -> None:
    (tmp_path / "path.csv").write_text("mine")
    arguments = select_arguments(data, "y", *QUICK, "--out", tmp_path)
    assert "path.csv already exists" in cli.refusal("select", *arguments)
    assert (tmp_path / "path.csv").read_text() == "mine"


@pytest.mark.parametrize("command", ["select", "assess"])
def test_folders_that_cannot_be(command: str, cli: CommandLine, data: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    arguments = [command, *select_arguments(data, "y", *QUICK, "--out")]
    assert "name a folder" in cli.refusal(*arguments, file)
    assert str(file) in cli.refusal(*arguments, file / "inside")
    assert "/proc/nowhere" in cli.refusal(*arguments, "/proc/nowhere")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_folders_that_may_not_be_written(cli: CommandLine, data: Path, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    arguments = select_arguments(data, "y", *QUICK, "--out", tmp_path)
    assert "no permission to write there" in cli.refusal("select", *arguments)


def test_a_full_disk(
    cli: CommandLine, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was found is shown, the file is named, and nothing half-written is left."""

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    ended = cli("select", *select_arguments(data, "y", *QUICK, "--out", tmp_path / "out"))
    assert ended.code == 2
    assert "predict y" in ended.out
    line = f"greedyrls: {tmp_path / 'out' / 'result.json'}: cannot be written (No space left"
    assert ended.err.startswith(line)
    assert ended.err.count("\n") == 1
    assert list((tmp_path / "out").iterdir()) == []


def test_a_report_that_fails_loses_nothing(
    cli: CommandLine, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: Any) -> None:
        raise ValueError("no page today")

    monkeypatch.setattr("greedyrls.report.make_report", fails)
    ended = cli("select", *select_arguments(data, "y", *QUICK, "--out", tmp_path / "out"))
    assert (ended.code, ended.err) == (2, "greedyrls: no page today\n")
    there = sorted(file.name for file in (tmp_path / "out").iterdir())
    assert there == ["model.json", "path.csv", "result.json"]


# Reports, exports, assessments.


def test_reports_are_made_again(made: dict[str, Path], cli: CommandLine, tmp_path: Path) -> None:
    original = (made["y"] / "report.html").read_text(encoding="utf-8")
    page = tmp_path / "page.html"
    assert str(page) in cli.fine("report", made["y"] / "result.json", "--out", page).replace(
        "\n", ""
    )
    assert page.read_text(encoding="utf-8") == original
    copied = tmp_path / "result.json"
    copied.write_bytes((made["y"] / "result.json").read_bytes())
    cli.fine("report", copied)
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == original
    assert "greedyrls.model" in cli.refusal("report", made["y"] / "model.json")
    copied.write_text(copied.read_text()[:1000])
    message = cli.refusal("report", copied)
    assert str(copied) in message
    assert "not JSON" in message
    newer = json.loads((made["y"] / "result.json").read_text()) | {"version": 3}
    copied.write_text(json.dumps(newer))
    assert "A newer greedyrls may be needed" in cli.refusal("report", copied)
    assert "that is a folder" in cli.refusal("report", made["y"] / "result.json", "-o", tmp_path)


@pytest.mark.parametrize("language", ["c", "python", "sql", "onnx"])
def test_exports(language: str, made: dict[str, Path], cli: CommandLine, tmp_path: Path) -> None:
    from greedyrls.export import to_c, to_onnx, to_python, to_sql

    file, out = made["y"] / "model.json", tmp_path / "model.out"
    model = LinearModel.from_json(file.read_text())
    ended = cli("export", file, "--to", language, "--out", out)
    assert ended == (0, "", f"Written: {out}\n")
    if language == "onnx":
        assert out.read_bytes() == to_onnx(model)
        assert "--out FILE" in cli.refusal("export", file, "--to", "onnx")
        return
    make = {"c": to_c, "python": to_python, "sql": to_sql}[language]
    assert out.read_text(encoding="utf-8") == make(model)
    assert cli.fine("export", file, "--to", language) == make(model)
    assert "--overwrite" in cli.refusal("export", file, "--to", language, "--out", out)
    assert cli("export", file, "--to", language, "--out", out, "--overwrite").code == 0


def test_names_in_exports(made: dict[str, Path], cli: CommandLine) -> None:
    file = made["y"] / "model.json"
    assert "price_of(" in cli.fine("export", file, "--to", "c", "--name", "price_of")
    assert "def price_of(" in cli.fine("export", file, "--to", "python", "--name", "price_of")
    assert "--table is for" in cli.refusal("export", file, "--to", "c", "--table", "customers")
    assert "--name is for" in cli.refusal("export", file, "--to", "sql", "--name", "price_of")
    assert "customers" in cli.fine("export", file, "--to", "sql", "--table", "customers")
    assert "got 'a b'" in cli.refusal("export", file, "--to", "c", "--name", "a b")
    assert "'--to'" in cli.refusal("export", file, "--to", "cobol")


def test_files_of_an_assessment(cli: CommandLine, data: Path, tmp_path: Path) -> None:
    arguments = select_arguments(data, "outcome", *QUICK, "--folds", "3", "-o", tmp_path / "out")
    shown = cli.fine("assess", *arguments, "--json")
    folder = tmp_path / "out"
    names = sorted(file.name for file in folder.iterdir())
    assert names == ["assessment.csv", "assessment.json", "assessment.png"]
    text = (folder / "assessment.json").read_text()
    assert json.loads(text)["test_losses"] == json.loads(shown)["test_losses"]
    assessment = PathAssessment.from_json(text)
    assert (folder / "assessment.png").read_bytes().startswith(PNG)
    rows = rows_of((folder / "assessment.csv").read_text())
    curves = ("test", "selection", "random", "optimism")
    own = [f"{curve}_{what}" for curve in curves for what in ("loss", "error")]
    assert list(rows[0]) == ["n_features", *own, "stability", "auc", "balanced_accuracy"]
    assert [row["n_features"] for row in rows] == ["1", "2"]
    for curve in curves:
        mean, error = getattr(assessment, curve)
        assert [float(row[f"{curve}_loss"]) for row in rows] == mean.tolist()
        assert [float(row[f"{curve}_error"]) for row in rows] == error.tolist()


# Data that come along, and speed.


def test_the_demo(
    cli: CommandLine, tmp_path: Path, traps: Traps, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []
    traps.around("resample", lambda resample, *given: resample(*given[:3], 3))
    traps.replace("assess", lambda *given: asked.append(list(given)))
    out = tmp_path / "demo"
    monkeypatch.setenv("COLUMNS", "50")
    shown = cli.fine("demo", "--out", out)
    # Each command is on one line, at any width: a part of one would be another command.
    table = str(out / "diabetes.csv")
    command = ["greedyrls", "select", table, "--target", "progression", "--assess"]
    command += ["--resamples", "50", "--out", str(out), "--overwrite"]
    assert f"  {shlex.join(command)}" in shown.splitlines()
    assert sorted(file.name for file in out.iterdir()) == sorted([*WRITTEN, "diabetes.csv"])
    assert "greedyrls select" in shown
    assert "report.html" in shown
    assert len(asked) == 1
    table = read_table(out / "diabetes.csv")
    assert (table.n_rows, len(table.columns)) == (442, 11)
    result = SelectionResult.from_json((out / "result.json").read_text())
    assert [feature.name for feature in result.features][:3] == ["bmi", "s5", "bp"]
    assert json.loads(cli.fine("demo", "--out", out, "--json"))["format"] == "greedyrls.result"


def test_the_bench(cli: CommandLine) -> None:
    arguments = ["bench", "-m", "60", "-n", "20", "-k", "4", "--repeats", "1"]
    shown = cli.fine(*arguments)
    assert "60 × 20, float64" in shown
    assert "greedyrls: 4 features by exact leave-one-out" in shown
    document = json.loads(cli.fine(*arguments, "--json"))
    assert (document["samples"], document["features"], document["size"]) == (60, 20, 4)
    assert len(document["seconds"]) == 4
    assert all(seconds > 0.0 for seconds in document["seconds"].values())
    assert cli.fine(*arguments, "--quiet") == ""
    assert "-k 30 is more than the 20 features" in cli.refusal("bench", "-n", "20", "-k", "30")
    # What others have to say of data with more features than samples is no part of the answer.
    cli.fine("bench", "-m", "10", "-n", "20", "-k", "15", "--repeats", "1")


def test_what_is_there_is_not_replaced(
    made: dict[str, Path], cli: CommandLine, tmp_path: Path
) -> None:
    precious = tmp_path / "result.json"
    precious.write_text("mine")
    assert "result.json already exists" in cli.refusal("demo", "--out", tmp_path)
    page = tmp_path / "page.html"
    page.write_text("mine")
    result = made["y"] / "result.json"
    assert "--overwrite" in cli.refusal("report", result, "--out", page)
    cli.fine("report", result, "--out", page, "--overwrite")
    assert precious.read_text() == "mine"
    assert "<html" in page.read_text(encoding="utf-8")


def test_links_and_devices_are_written_to(
    made: dict[str, Path], cli: CommandLine, tmp_path: Path
) -> None:
    target, link = tmp_path / "target.html", tmp_path / "link.html"
    target.write_text("old")
    link.symlink_to(target)
    result = made["y"] / "result.json"
    cli.fine("report", result, "--out", link, "--overwrite")
    assert link.is_symlink()
    assert "<html" in target.read_text(encoding="utf-8")
    cli.fine("report", result, "--out", "/dev/null", "--overwrite")
    assert Path("/dev/null").is_char_device()


def test_losses_of_folds_are_those_of_the_models(
    cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search with a huge penalty has losses that tell nothing: shown are those of its models."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 6))
    y = 2.0 * X[:, 0] + X[:, 1] + rng.standard_normal(120)
    columns = {f"m{place}": column.tolist() for place, column in enumerate(X.T)}
    columns |= {"patient": [f"p{row // 6}" for row in range(120)], "y": y.tolist()}
    drawn: list[Any] = []
    save = Figure.savefig

    def watched(figure: Figure, *arguments: Any, **options: Any) -> None:
        drawn.extend(figure.axes)
        save(figure, *arguments, **options)

    monkeypatch.setattr(Figure, "savefig", watched)
    written = write_csv(tmp_path / "panel.csv", columns)
    options = ("--cv", "patient", "--alpha", "10,100000", "--folds", "3")
    shown = cli.fine("select", written, "-t", "y", *options, "--out", tmp_path / "out")
    assert "is the search's" not in shown
    result = SelectionResult.from_json((tmp_path / "out" / "result.json").read_text())
    curve, assessment = result.model_curve, result.assessment
    assert curve is not None
    assert assessment is not None
    rows = rows_of((tmp_path / "out" / "path.csv").read_text())
    assert [float(row["loss"]) for row in rows] == curve.mean.tolist()
    assert f"{np.sqrt(curve.mean[1]):.3f} ±" in shown
    # What is left after two features is the noise, whatever the penalty of the search.
    assert curve.mean[1] == pytest.approx(1.0, abs=0.4)
    lines = {line.get_label(): line.get_ydata() for line in drawn[0].get_lines()}
    assert_allclose(lines["models, held out in the folds of the search"], curve.mean)
    assert_allclose(lines["models, on test folds"], assessment.test.mean)
