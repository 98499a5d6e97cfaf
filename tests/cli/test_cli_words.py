"""What people read of select and assess: the answer first, in units that they know."""

from __future__ import annotations

import html
import re
import shlex
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command_line import QUICK, CommandLine, as_process, environment_here, select_arguments
from greedyrls import LinearModel, SelectionResult
from greedyrls.assess import cross_validate_path
from internals import padded, reading_of, with_error
from small_tables import measured, write_csv

pytest.importorskip("click")
pytest.importorskip("rich")


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    monkeypatch.setenv("COLUMNS", "160")
    return CommandLine(capsys)


@pytest.fixture(scope="module")
def houses(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Prices in the hundred thousands, whose squares nobody can read."""
    rng = np.random.default_rng(3)
    area, rooms = rng.normal(120.0, 40.0, 90).round(1), rng.integers(1, 8, 90)
    city = rng.choice(["Oslo", "Bergen", "Trondheim"], 90)
    price = area * 9_000.0 + rooms * 50_000.0 + (city == "Oslo") * 400_000.0
    price = (price + rng.normal(0.0, 60_000.0, 90)).round()
    columns = {"area": area, "rooms": rooms, "city": city, "price": price}
    file = tmp_path_factory.mktemp("houses") / "houses.csv"
    return write_csv(file, {name: list(values) for name, values in columns.items()})


def flat(shown: str) -> str:
    return " ".join(shown.split())


# Regression.


def test_errors_are_in_the_units_of_the_target(cli: CommandLine, houses: Path) -> None:
    options = (houses, "-t", "price", "-k", "3", "--alpha", "1", "--folds", "5")
    result, shown = cli.result(*options), flat(cli.fine("select", *options))
    assessment = result.assessment
    assert assessment is not None
    mean, error = assessment.estimate
    low, high = assessment.interval
    root = np.sqrt(mean)
    told = re.search(
        r"the root mean squared error is ([\d,]+) ± ([\d,]+) \(95% interval roughly ([\d,]+) to "
        r"([\d,]+)\) and R² is (0\.\d+), with 3 features, as asked",
        shown,
    )
    assert told is not None
    values = [float(part.replace(",", "")) for part in told.groups()]
    expected = [root, error / (2.0 * root), np.sqrt(low), np.sqrt(high)]
    assert values[:4] == pytest.approx(expected, rel=0.05)
    assert values[4] == pytest.approx(1.0 - mean / assessment.initial_loss, abs=1e-3)
    # No powers of ten and no squares of prices.
    assert not re.search(r"e\+|×10|\d,\d{3},\d{3},\d{3}", shown)
    assert shown.index("R² is") < shown.index("coefficient") < shown.index("test RMSE")


def test_assess_gives_them_too(cli: CommandLine, houses: Path) -> None:
    shown = flat(cli.fine("assess", houses, "-t", "price", "-k", "2", "--alpha", "1"))
    assert "the root mean squared error is" in shown
    assert "and R² is 0." in shown
    assert "# test RMSE R² own estimate random features stability" in shown
    assert "mean squared error of" not in shown
    more = flat(cli.fine("assess", houses, "-t", "price", "-k", "2", "--alpha", "1", "-v"))
    assert "test mean squared error" in more


def test_a_model_that_is_no_better_than_the_mean(cli: CommandLine, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    noise = {name: rng.standard_normal(40).tolist() for name in "abcy"}
    file = write_csv(tmp_path / "noise.csv", noise)
    shown = flat(cli.fine("select", file, "-t", "y", "-k", "2", "--alpha", "1", "--assess"))
    assert ", no better than the mean of the target, with 2 features" in shown
    assert "% of its variance" not in shown


# Classes.


def test_two_classes_have_accuracy_and_auc(cli: CommandLine, tmp_path: Path) -> None:
    file = write_csv(tmp_path / "data.csv", measured())
    options = select_arguments(file, "outcome", "-k", "2", "--alpha", "1")
    result, shown = cli.result(*options), flat(cli.fine("select", *options))
    rates = result.own_rates
    assert rates is not None
    assert rates.error_rate is not None
    told = f"the accuracy is {1.0 - rates.error_rate:.3f} and the AUC is {rates.auc:.3f}, against"
    assert f"With each row left out in turn {told}" in shown
    assert "codes is" not in shown
    assessed = flat(cli.fine("select", *options, "--folds", "3"))
    assert "# feature test accuracy AUC balanced accuracy" in assessed
    table = flat(cli.fine("assess", *options, "--folds", "3"))
    assert "# test accuracy AUC balanced accuracy own estimate" in table


def test_several_classes_have_a_balanced_accuracy(cli: CommandLine, tmp_path: Path) -> None:
    file = write_csv(tmp_path / "data.csv", measured())
    options = select_arguments(file, "grade", "-k", "2", "--alpha", "1")
    shown = flat(cli.fine("select", *options))
    assert re.search(r"the accuracy is 0\.\d+ and the balanced accuracy is 0\.\d+, against", shown)
    assert "# feature test accuracy balanced accuracy" in flat(
        cli.fine("select", *options, "--folds", "3")
    )


# The model, the order, what is for statisticians.


def test_coefficients_come_right_after_the_answer(cli: CommandLine, houses: Path) -> None:
    options = (houses, "-t", "price", "-k", "3", "--alpha", "1")
    result, shown = cli.result(*options), cli.fine("select", *options)
    lines = shown.splitlines()
    rows = {line.split()[0]: line.split()[1:] for line in lines if line.split()}
    effects = result.standardised_coefficients(3)[0]
    assert result.coefficient_errors is not None
    errors = result.coefficient_errors[0, 1:] / [one.scale for one in result.features_of(3)]
    for term, error, effect in zip(result.model().terms, errors, effects, strict=True):
        *coefficient, per_deviation = rows[term.name]
        expected = with_error(term.coefficients[0], error).replace("\u00a0", " ")
        assert " ".join(coefficient) == expected
        value = float(per_deviation.replace(",", "").replace("−", "-"))
        assert value == pytest.approx(effect, rel=0.01)
    assert rows["(intercept)"] == [padded(result.model().intercepts[0])]
    places = [
        shown.index(words)
        for words in ("were chosen", "coefficient", "runner-up", "Warning: ", "To get ")
        if words in shown
    ]
    assert places == sorted(places)
    assert len(places) >= 4


def test_many_classes_have_their_largest_effects(cli: CommandLine, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    kinds = np.repeat(list("uvwxyz"), 10)
    columns: dict[str, Any] = {
        name: (rng.standard_normal(60) + 3.0 * (kinds == kind)).tolist()
        for name, kind in zip(("up", "vast", "wide", "xeric", "yes"), "uvwxy", strict=True)
    }
    file = write_csv(tmp_path / "kinds.csv", {**columns, "kind": list(kinds)})
    shown = cli.fine("select", file, "-t", "kind", "-k", "5", "--alpha", "1")
    (row,) = [line for line in shown.splitlines() if line.split()[:1] == ["u"]]
    assert row.split()[1] == "up"
    assert "model.json has all coefficients" in flat(shown)


def test_what_is_for_statisticians_needs_to_be_asked_for(cli: CommandLine, houses: Path) -> None:
    options = (houses, "-t", "price", "-k", "2", "--alpha", "1,10")
    result, shown = cli.result(*options), flat(cli.fine("select", *options))
    assert result.path.sentence not in shown
    assert "alpha=" not in shown
    assert "LOO loss" not in shown
    for option in ("-v", "--verbose"):
        more = flat(cli.fine("select", *options, option))
        assert result.path.sentence in more
        assert "LOO loss gain" in more


# Commands to copy.


def commands_in(shown: str) -> list[list[str]]:
    return [shlex.split(line) for line in shown.splitlines() if line.startswith("  greedyrls ")]


def test_commands_can_be_pasted(
    cli: CommandLine, houses: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At any width, with names that a shell would take apart."""
    monkeypatch.setenv("COLUMNS", "40")
    folder = tmp_path / "my long folder; echo"
    folder.mkdir()
    table = folder / "a table with a long name.csv"
    table.write_bytes(houses.read_bytes())
    arguments = ["select", str(table), "-t", "price", "-k", "1", "--alpha", "1"]
    monkeypatch.setattr(sys, "argv", ["greedyrls", *arguments])
    (again,) = commands_in(cli.fine(*arguments))
    assert again == ["greedyrls", *arguments, "--assess", "--out", "results"]
    out = folder / "results"
    predict, export = commands_in(cli.fine(*again[1:-1], out, "--folds", "2"))
    assert cli(*predict[1:-1], table).code == 0
    assert cli(*export[1:]).code == 0
    assert {file.name for file in out.iterdir()} == {
        *("result.json", "model.json", "path.csv", "report.html", "path.png", "methods.txt"),
        *("assessment.csv", "assessment.png"),
    }


# One and many.


def test_one_feature_was_chosen(cli: CommandLine, houses: Path) -> None:
    shown = flat(cli.fine("select", houses, "-t", "price", "-k", "1", "--alpha", "1"))
    assert "1 of 5 features was chosen to predict price: area." in shown
    assert "-k 6 is more than the 5 features that" in cli.refusal(
        "select", houses, "-t", "price", "-k", "6"
    )


def test_the_option_is_named_as_on_the_command_line(cli: CommandLine, houses: Path) -> None:
    options = (houses, "-t", "price", "--alpha", "1,2", "--max-features", "1", "-v")
    shown = flat(cli.fine("select", *options))
    assert "More features may do better (--max-features)." in shown
    assert "still falling" not in shown


# Folds.


def rare(tmp_path: Path, count: int = 4, rows: int = 60) -> Path:
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {name: rng.standard_normal(rows).tolist() for name in "abc"}
    columns["kind"] = ["rare"] * count + ["usual"] * (rows - count)
    return write_csv(tmp_path / "rare.csv", columns)


def test_folds_that_cannot_be_made_are_an_error(cli: CommandLine, tmp_path: Path) -> None:
    file = rare(tmp_path)
    for command in ("select", "assess"):
        assert cli.refusal(command, file, "-t", "kind", "--alpha", "1", "--folds", "20") == (
            "--folds 20 is not possible: class 'rare' has 4 rows. Use --folds 4 or fewer."
        )
        assert cli(command, file, "-t", "kind", *QUICK, "--folds", "4").code == 0
    numbers = write_csv(tmp_path / "data.csv", measured())
    message = cli.refusal("select", *select_arguments(numbers, "y", *QUICK, "--cv", "500"))
    assert (
        "--cv 500 is not possible: there are 60 rows. Use --cv 60 or fewer, or --cv loo." in message
    )
    options = select_arguments(numbers, "y", *QUICK, "--cv", "60", "--folds", "3")
    message = cli.refusal("select", *options)
    assert "and the training rows of the 3 folds of the assessment fewer" in message
    assert "Use --cv 40 or fewer" in message


def test_fewer_folds_than_usual_are_noted(cli: CommandLine, tmp_path: Path) -> None:
    file, out = rare(tmp_path), tmp_path / "out"
    note = (
        "Fewer folds than usual: 4 instead of 10 folds for the assessment, since class 'rare' has "
        "4 rows."
    )
    options = (file, "-t", "kind", "-k", "1", "--alpha", "1")
    assert f"Note: {note}" in flat(cli.fine("select", *options, "--assess", "--out", out))
    page = (out / "report.html").read_text(encoding="utf-8")
    assert note in html.unescape(page)
    assert note in SelectionResult.from_json((out / "result.json").read_bytes()).data.notes
    assert f"Note: {note}" in flat(cli.fine("assess", *options))
    assert "Fewer folds" not in flat(cli.fine("select", *options))
    chosen = flat(cli.fine("select", file, "-t", "kind", "-k", "1"))
    assert "4 instead of 5 folds to choose the penalty" in chosen


# Warnings of others.


def noisy(y_true: Any, y_pred: Any) -> float:
    warnings.warn("A library wants to be heard.", RuntimeWarning, stacklevel=1)
    return float(np.mean(np.square(y_true - y_pred)))


@pytest.mark.slow
def test_warnings_of_workers_obey_the_filters_of_the_caller(
    capfd: pytest.CaptureFixture[str],
) -> None:
    X = np.random.default_rng(0).standard_normal((30, 3))
    options: dict[str, Any] = {"cv": 2, "alpha": 1.0, "measure": noisy, "n_random": 0, "n_jobs": 2}
    with pytest.warns(RuntimeWarning, match="wants to be heard"):
        cross_validate_path(X, X[:, 0], 1, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cross_validate_path(X, X[:, 0], 1, **options)
    assert capfd.readouterr().err == ""


@pytest.mark.slow
def test_workers_of_the_command_line_start_quietly(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import sys, warnings\n"
        "if 'loky' in ' '.join(sys.orig_argv):\n"
        "    warnings.warn('A library is loaded.', UserWarning)\n"
    )
    file = write_csv(tmp_path / "data.csv", measured())
    paths = [str(tmp_path), environment_here().get("PYTHONPATH", "")]
    arguments = select_arguments(file, "y", *QUICK, "--folds", "2", "--jobs", "2")
    environment = {"PYTHONPATH": ":".join(filter(None, paths))}
    ended = as_process("select", *arguments, "--quiet", environment=environment)
    assert ended == (0, "", "")


def test_readings() -> None:
    """The root by the delta method; scores turned round."""
    root = reading_of("squared", is_classification=False)
    assert root.written(9.0, 0.6) == "3.00 ± 0.10"
    assert root.interval(4.0, 9.0) == "2.0 to 3.0"
    assert root.written(0.0, 0.0) == "0"
    assert root.column(np.array([4.0, np.nan]), np.array([0.4, np.nan])) == ["2.00 ± 0.10", "–"]
    accuracy = reading_of("zero_one", is_classification=True)
    assert accuracy.written(0.041, 0.0036) == "0.9590 ± 0.0036"
    assert accuracy.written(0.5, 1e-17) == "0.500"
    assert accuracy.interval(0.1, 0.3) == "0.70 to 0.90"
    assert accuracy.name == "accuracy"
    codes = reading_of("squared", is_classification=True)
    assert codes.written(0.58462, 0.0312) == "0.585 ± 0.031"
    assert reading_of("callable:mine", is_classification=False).name == "mine"


def test_models_are_files_all_the_same(cli: CommandLine, houses: Path, tmp_path: Path) -> None:
    """What is shown is rounded, what is written is not."""
    cli.fine("select", houses, "-t", "price", *QUICK, "--out", tmp_path / "o", "-q")
    model = LinearModel.from_json((tmp_path / "o" / "model.json").read_bytes())
    result = SelectionResult.from_json((tmp_path / "o" / "result.json").read_bytes())
    assert model.terms == result.model().terms
