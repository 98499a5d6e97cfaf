"""``greedyrls select`` and ``assess``: every format and option does what its name says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from rich.cells import cell_len
from sklearn.datasets import dump_svmlight_file

from command_line import ASIDE, OTHERS, QUICK, CommandLine, path_of, select_arguments
from greedyrls import SelectionResult
from greedyrls.assess import PathAssessment
from internals import Question, Roles, choose, prepare, read_table
from small_tables import measured, write_csv
from table_files import write


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_csv(tmp_path_factory.mktemp("data") / "data.csv", measured())


# Formats.

SUFFIXES = [
    *(".csv", ".tsv", ".txt", ".csv.gz", ".csv.xz", ".csv.bz2", ".csv.zst", ".tsv.gz"),
    *(".parquet", ".feather", ".arrow", ".ipc"),
]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_table_gives_the_same_path(
    suffix: str, cli: CommandLine, data: Path, tmp_path: Path
) -> None:
    columns = measured()
    columns["used"] = [one == "true" for one in columns["used"]]
    file = write(pa.table(columns), tmp_path / f"table{suffix}")
    expected = cli.fine("select", *select_arguments(data, "y", *QUICK, "--json"))
    found = cli.fine("select", *select_arguments(file, "y", *QUICK, "--json"))
    assert path_of(found) == path_of(expected)
    summary = json.loads(found)["data"]
    assert summary["file"] == f"table{suffix}"
    assert summary["n_bytes"] == file.stat().st_size
    assert summary["target"] == json.loads(expected)["data"]["target"]
    assert summary["columns"] == json.loads(expected)["data"]["columns"]


@pytest.mark.parametrize("target", ["y", "outcome"])
@pytest.mark.parametrize("suffix", [".npz", ".svmlight", ".svm.gz"])
def test_matrices_give_the_same_path(
    target: str, suffix: str, cli: CommandLine, tmp_path: Path
) -> None:
    """They have numbers only, and a target of their own."""
    columns = measured()
    X = np.column_stack([columns[f"x{place}"] for place in range(5)])
    y: Any = np.array(columns[target])
    file = tmp_path / f"table{suffix}"
    if suffix == ".npz":
        np.savez(file, X=X, y=y)
    else:
        if target == "outcome":
            y = (y == "yes").astype(int)
        content = tmp_path / "plain"
        dump_svmlight_file(X, y, str(content), zero_based=False)
        import gzip

        plain = content.read_bytes()
        file.write_bytes(gzip.compress(plain) if suffix.endswith("gz") else plain)
    numbers = {f"x{place}": columns[f"x{place}"] for place in range(5)} | {"y": y.tolist()}
    table = write_csv(tmp_path / "table.csv", numbers)
    expected = cli.result(table, "-t", "y", "-k", "3", "--alpha", "1")
    found = cli.result(file, "-k", "3", "--alpha", "1")
    assert_array_equal(found.path.indices, expected.path.indices)
    assert_array_equal(found.path.losses, expected.path.losses)
    assert found.task == expected.task
    assert found.target == ("y" if suffix == ".npz" else "target")


def test_names_in_an_archive(cli: CommandLine, tmp_path: Path) -> None:
    columns = measured()
    X = np.column_stack([columns[f"x{place}"] for place in range(5)])
    names = np.array(["a", "b", "c", "d", "e"])
    np.savez(tmp_path / "t.npz", X=X, feature_names=names, speed=np.array(columns["y"]))
    result = cli.result(tmp_path / "t.npz", "-t", "speed", *QUICK)
    assert {feature.name for feature in result.features} <= set(names)


@pytest.mark.parametrize(
    ("content", "options"),
    [
        ("a;b;y\n1,5;2,5;3,5\n2,5;1,0;2,0\n3,0;4,0;9,5\n0,5;2,0;1,0\n", ["--decimal", ","]),
        ("a|b|y\n1.5|2.5|3.5\n2.5|1.0|2.0\n3.0|4.0|9.5\n0.5|2.0|1.0\n", ["--delimiter", "|"]),
        ("1.5\t2.5\t3.5\n2.5\t1\t2\n3\t4\t9.5\n0.5\t2\t1\n", ["--no-header", "--delimiter", "tab"]),
    ],
)
def test_options_of_text_files(
    content: str, options: list[str], cli: CommandLine, tmp_path: Path
) -> None:
    file = tmp_path / "table.txt"
    file.write_text(content)
    target = "x2" if "--no-header" in options else "y"
    result = cli.result(file, "-t", target, *QUICK, *options)
    first = "x0" if "--no-header" in options else "a"
    summary = next(column for column in result.data.columns if column.name == first)
    assert (summary.low, summary.high, result.data.n_rows) == (0.5, 3.0, 4)
    assert (result.data.target.low, result.data.target.high) == (1.0, 9.5)


def test_encodings(cli: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    text = "größe,b,y\n1,2,3.5\n2,1,2\n3,4,9.5\n4,4,1\n"
    for encoding in ("latin-1", "utf-16", "cp1252"):
        file.write_bytes(text.encode(encoding))
        result = cli.result(file, "-t", "y", *QUICK, "--encoding", encoding)
        assert "größe" in [feature.name for feature in result.features]


# Options.


def library(data: Path, roles: Roles, question: Question) -> Any:
    return choose(prepare(read_table(data, as_text=roles.as_text), roles), question)


DROPPED = ("outcome", "grade", "site", "weight")


@pytest.mark.parametrize(
    ("options", "question"),
    [
        ([], Question()),
        (["-k", "3"], Question(3)),
        (["-k", "auto", "--alpha", "0.5"], Question("auto", 0.5)),
        (["-k", "4", "--alpha", "10,0.1,1"], Question(4, [10.0, 0.1, 1.0])),
        (["--alpha", "1e-2", "--size-rule", "1se"], Question("auto", 0.01, size_rule="1se")),
        (["--alpha", "1", "--max-features", "2"], Question("auto", 1.0, max_features=2)),
        (["-k", "3", "--alpha", "1", "--cv", "7"], Question(3, 1.0, 7)),
        (["-k", "3", "--alpha", "1", "--cv", "7", "--seed", "5"], Question(3, 1.0, 7, seed=5)),
        (["-k", "3", "--alpha", "1", "--loss", "absolute"], Question(3, 1.0, loss="absolute")),
    ],
)
def test_questions_are_those_of_the_library(
    options: list[str], question: Question, cli: CommandLine, data: Path
) -> None:
    expected = library(data, Roles("y", ids=("id",), dropped=DROPPED), question)
    result = cli.result(*select_arguments(data, "y", *options))
    assert_array_equal(result.path.indices, expected.indices)
    assert_array_equal(result.path.losses, expected.losses)
    assert result.size == expected.chosen_size
    assert result.path.settings.alpha == expected.settings.alpha
    assert result.path.settings.cv == expected.settings.cv
    assert result.path.refit_alphas == expected.refit_alphas


@pytest.mark.parametrize("target", ["outcome", "grade"])
@pytest.mark.parametrize("loss", ["auto", "squared", "zero_one", "balanced_zero_one", "auc"])
def test_classes(target: str, loss: str, cli: CommandLine, data: Path) -> None:
    arguments = select_arguments(data, target, *QUICK, "--loss", loss)
    if (target, loss) == ("grade", "auc"):
        assert "--loss auc is for two classes; 'grade' has 3" in cli.refusal("select", *arguments)
        return
    result = cli.result(*arguments)
    assert result.task == "classification"
    assert result.classes == (("no", "yes") if target == "outcome" else ("low", "mid", "top"))
    assert result.path.settings.loss == ("squared" if loss == "auto" else loss)


def test_the_task_can_be_given(cli: CommandLine, data: Path) -> None:
    taken = [data, "--drop", "y", "--drop", "outcome", "--drop", "grade", "--id", "id"]
    taken += ["--drop", "site", *QUICK, "-t", "weight"]
    assert cli.result(*taken).task == "regression"
    assert cli.result(*taken, "--task", "regression").classes is None
    result = cli.result(*taken, "--task", "classification")
    assert result.classes == (1, 2, 3)
    # As codes they are text.
    assert cli.result(*taken, "--categorical", "weight").classes == ("1", "2", "3")


def test_roles_of_columns(cli: CommandLine, data: Path) -> None:
    base = [data, "-t", "y", *OTHERS["y"], "--id", "id", "--alpha", "1"]
    result = cli.result(*base, "--drop", "site", "--drop", "weight", "--drop", "x0", "-k", "8")
    names = {feature.name for feature in result.features}
    assert names == {"x1", "x2", "x3", "x4", "used"} | {f"colour={one}" for one in COLOURS}
    assert result.data.n_columns == 13
    assert "Left out as asked: 'id'" in result.data.notes[0]
    result = cli.result(*base, "--drop", "site", "-k", "12", "--categorical", "weight")
    names = {feature.name for feature in result.features}
    assert {"weight=1", "weight=2", "weight=3"} <= names
    result = cli.result(*base, "--drop", "site", "--weight", "weight", "-k", "3")
    assert result.path.settings.weighted
    assert "weight" not in result.path.settings.feature_names_in
    result = cli.result(*base, "--drop", "site", "--force", "x4", "--force", "colour", "-k", "5")
    forced = [feature.name for feature in result.features][:4]
    assert forced == ["x4", *(f"colour={one}" for one in sorted(COLOURS))]
    result = cli.result(*base, "--cv", "site", "-k", "3")
    assert "group" in result.path.settings.cv.lower()
    assert not any(feature.column == "site" for feature in result.features)


COLOURS = ("red", "green", "blue")


def test_text_stays_together_in_the_model(cli: CommandLine, data: Path) -> None:
    result = cli.result(*select_arguments(data, "y", "-k", "9", "--alpha", "1"))
    model = result.model()
    (colour,) = [column for column in model.columns if column.name == "colour"]
    assert colour.levels == tuple(sorted(COLOURS))
    assert {term.level for term in model.terms if term.column == "colour"} == set(COLOURS)


def test_the_scale(cli: CommandLine, data: Path) -> None:
    for spelling in ("--no-standardise", "--no-standardize"):
        result = cli.result(*select_arguments(data, "y", *QUICK, spelling))
        assert {feature.scale for feature in result.features} == {1.0}
    scaled = cli.result(*select_arguments(data, "y", *QUICK))
    assert {feature.scale for feature in scaled.features} != {1.0}
    result = cli.result(*select_arguments(data, "y", *QUICK, "--no-intercept"))
    assert not result.path.settings.fit_intercept
    assert result.model().intercepts == (0.0,)


def test_gaps(cli: CommandLine, tmp_path: Path) -> None:
    columns = measured()
    columns["x1"][3] = columns["x1"][9] = columns["colour"][2] = None
    columns["y"][5] = None
    file = write_csv(tmp_path / "gaps.csv", columns)
    arguments = select_arguments(file, "y", "-k", "9", "--alpha", "1")
    both = cli.problems("select", *arguments)
    assert "--drop-missing-target" in both[1]
    assert "--impute median" in both[2]
    message = cli.refusal("select", *arguments, "--drop-missing-target")
    assert "'x1' (2), 'colour' (1)" in message
    assert "--impute median" in message
    result = cli.result(*arguments, "--drop-missing-target", "--impute", "median")
    assert result.data.n_rows == 59
    fills = {column.name: column.fill for column in result.inputs}
    known = [
        value
        for value, y in zip(columns["x1"], columns["y"], strict=True)
        if value is not None and y is not None
    ]
    assert fills["x1"] == np.median(known)
    assert fills["colour"] in COLOURS
    assert any("Missing values filled in" in note for note in result.data.notes)


def test_how_good_it_is(cli: CommandLine, data: Path) -> None:
    result = cli.result(
        *select_arguments(data, "y", *QUICK),
        *("--assess", "--folds", "3", "--resamples", "4", "--permutations", "5", "--seed", "2"),
    )
    assert result.assessment is not None
    assert len(result.assessment.shares) == 3
    assert "seed 2" in result.assessment.folds
    assert result.stability is not None
    assert len(result.stability.selections) == 4
    assert result.null is not None
    assert len(result.null.null_losses) == 5
    assert result.assessment.sentence in result.sentence
    plain = cli.result(*select_arguments(data, "y", *QUICK))
    assert (plain.assessment, plain.stability, plain.null) == (None, None, None)
    assert "--assess" in plain.sentence


@pytest.mark.slow
def test_processes_give_the_same_answer(cli: CommandLine, data: Path) -> None:
    arguments = ["assess", *select_arguments(data, "y", *QUICK, "--folds", "2", "--json")]
    alone, together = (json.loads(cli.fine(*arguments, "--jobs", jobs)) for jobs in ("1", "2"))
    assert alone["test_losses"] == together["test_losses"]


def test_all_cores_by_default(cli: CommandLine, data: Path) -> None:
    arguments = select_arguments(data, "y", "--alpha", "0.1,1", "--max-features", "3", "--assess")
    one, all_cores = (cli.result(*arguments, *jobs) for jobs in (("--jobs", "1"), ()))
    assert one.path.sentence == all_cores.path.sentence
    assert one.assessment is not None
    assert all_cores.assessment is not None
    assert_allclose(one.assessment.test_losses, all_cores.assessment.test_losses, rtol=1e-10)
    assert "[default: -1]" in " ".join(cli.fine("select", "--help").split())


def test_the_origin(cli: CommandLine, data: Path) -> None:
    origin = cli.result(*select_arguments(data, "y", *QUICK, "--impute", "median")).origin
    assert origin.parameters["target"] == "y"
    assert origin.parameters["n_features"] == 2
    assert origin.parameters["alpha"] == 1.0
    assert origin.parameters["impute"] == "median"
    assert origin.parameters["dropped"] == "outcome, grade, site, weight"
    assert {"greedyrls", "numpy", "python", "scikit-learn", "scipy"} <= set(origin.versions)
    assert origin.seconds > 0.0
    assert origin.date.endswith("+00:00")


# What is shown.


def test_the_table_and_the_sentence(
    cli: CommandLine, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    shown = cli.fine("select", *select_arguments(data, "y", "-k", "3", "--assess", "--folds", "3"))
    result = cli.result(*select_arguments(data, "y", "-k", "3", "--assess", "--folds", "3"))
    assert result.assessment is not None
    assert "data.csv: 60 rows, 9 features to choose from; regression of y" in shown
    lines = shown.splitlines()
    (head,) = [line for line in lines if "runner-up" in line and "feature" in line]
    assert head.split() == ["#", "feature", "test", "RMSE", "R²", "LOO", "RMSE", "runner-up"]
    for row in result.rows():
        (line,) = [
            line for line in lines if line.split()[:2] == [str(row["n_features"]), row["feature"]]
        ]
        _, _, test, _, error, share, own, *_ = line.split()
        assert float(test) == pytest.approx(np.sqrt(row["honest_loss"]), rel=0.03)
        by_delta = row["honest_error"] / (2.0 * np.sqrt(row["honest_loss"]))
        assert float(error) == pytest.approx(by_delta, rel=0.1)
        explained = 1.0 - row["honest_loss"] / result.assessment.initial_loss
        assert float(share.replace("−", "-")) == pytest.approx(explained, abs=0.006)
        assert float(own) == pytest.approx(np.sqrt(row["loss"]), rel=0.03)
        assert row["runner_up"] in line
    assert result.sentence.split(".")[0] in shown
    assert "Note: Left out as asked" in shown
    assert "Nothing was written. To get the model and a report:" in shown
    assert "\x1b" not in shown


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("is_assessed", [False, True])
def test_any_width(
    width: int, is_assessed: bool, cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    columns = measured()
    columns["a long name of a column that takes more than a line of most terminals"] = columns.pop(
        "x0"
    )
    columns["温度センサーの値"] = columns.pop("x1")
    file = write_csv(tmp_path / "wide.csv", columns)
    extra = ["--assess", "--folds", "2"] if is_assessed else []
    shown = cli.fine("select", *select_arguments(file, "y", "-k", "4", "--alpha", "1,10", *extra))
    lines = shown.splitlines()
    # A command is never broken: it is there to be copied.
    assert all(cell_len(line) <= width for line in lines if not line.startswith("  greedyrls "))
    (start,) = [place for place, line in enumerate(lines) if line.strip().startswith("#")]
    rows = [line for line in lines[start:] if line.strip()[:1] in "1234" and " ± " in line][:4]
    assert [row.split()[0] for row in rows] == ["1", "2", "3", "4"]
    # Numbers are shown whole; names may be cut.
    assert not any(
        cell.endswith("…") and cell[:1].isdigit() for row in rows for cell in row.split()
    )


def test_large_numbers_are_short(cli: CommandLine, tmp_path: Path) -> None:
    columns = measured()
    columns["y"] = [value * 1e30 for value in columns["y"]]
    file = write_csv(tmp_path / "large.csv", columns)
    shown = cli.fine("select", *select_arguments(file, "y", *QUICK))
    assert "×10³⁰" in shown
    assert "e+" not in shown
    assert not any(len(word) > 30 and word[0].isdigit() for word in shown.split())


def test_quiet_says_nothing(cli: CommandLine, data: Path, tmp_path: Path) -> None:
    for command in ("select", "assess"):
        out = tmp_path / command
        arguments = select_arguments(data, "y", *QUICK, "--folds", "2", "--quiet", "-o", out)
        assert cli.fine(command, *arguments) == ""
        assert list(out.iterdir())


@pytest.mark.parametrize("command", ["select", "assess"])
def test_json_is_all_there_is(command: str, cli: CommandLine, data: Path, tmp_path: Path) -> None:
    arguments = select_arguments(data, "y", *QUICK, "--folds", "2", "--json", "-o", tmp_path / "o")
    document = json.loads(cli.fine(command, *arguments))
    kinds = {"select": "greedyrls.result", "assess": "greedyrls.assessment"}
    assert document["format"] == kinds[command]
    assert document["data"]["file"] == "data.csv"


def test_json_has_no_numbers_that_json_lacks(cli: CommandLine, data: Path) -> None:
    """Such as NaN, which Python would read and others would not."""
    arguments = select_arguments(data, "grade", "--assess", "--folds", "2", "--resamples", "2")
    text = cli.fine("select", *arguments, "--max-features", "3", "--json")
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} in the JSON"))
    assert SelectionResult.from_json(text)


def test_assess(cli: CommandLine, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = select_arguments(data, "y", *QUICK, "--folds", "3")
    document = cli.fine("assess", *arguments, "--json")
    assessment = PathAssessment.from_json(document)
    assert len(assessment.shares) == 3
    assert json.loads(document)["sentence"] == assessment.sentence
    selected = cli.result(*arguments, "--assess")
    assert selected.assessment is not None
    assert_array_equal(selected.assessment.test_losses, assessment.test_losses)
    monkeypatch.setenv("COLUMNS", "300")
    shown = cli.fine("assess", *arguments)
    assert assessment.sentence in shown
    assert "Note: Left out as asked" in shown
    for title in ("test RMSE", "R²", "own estimate", "random features", "stability"):
        assert title in shown


def test_svmlight_needs_no_target_option_but_tables_do(cli: CommandLine, data: Path) -> None:
    message = cli.refusal("select", data, *ASIDE)
    assert "Which column of" in message
    assert "--target COLUMN" in message
