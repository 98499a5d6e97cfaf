"""Tables as people have them: whatever is in them, they can be used, or one message says how."""

from __future__ import annotations

import csv
import io
import shlex
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from command_line import QUICK, CommandLine, as_process
from greedyrls import LinearModel
from small_tables import signal, write_csv


def plain(m: int = 60) -> dict[str, list[Any]]:
    """Columns a and b, and a target y that depends on both."""
    X, y = signal(m, 2)
    return {
        "a": X[:, 0].round(4).tolist(),
        "b": X[:, 1].round(4).tolist(),
        "y": y.round(4).tolist(),
    }


def with_junk(**cells: str) -> dict[str, list[Any]]:
    """The same with a column that holds something else in its third row."""
    columns = plain()
    for name, cell in cells.items():
        junk: list[Any] = [row + 0.5 for row in range(60)]
        junk[2] = cell
        columns[name] = junk
    return columns


def model_of(
    cli: CommandLine, folder: Path, columns: dict[str, list[Any]], *options: object
) -> Path:
    """A model of y by all columns but those dropped, in a file."""
    data = write_csv(folder / "made.csv", columns)
    result = cli.result(data, "-t", "y", *QUICK, *options)
    (folder / "model.json").write_text(result.model().to_json())
    return folder / "model.json"


def predictions(text: str) -> list[float]:
    return [float(row["prediction"]) for row in csv.DictReader(io.StringIO(text))]


# Columns that are not used.


@pytest.mark.parametrize("cell", ["1,337", "n.d.?", "3o", "inf", "<<"])
def test_dropped_columns_may_hold_anything(cell: str, cli: CommandLine, tmp_path: Path) -> None:
    file = write_csv(tmp_path / "junk.csv", with_junk(junk=cell))
    result = cli.result(file, "-t", "y", "--drop", "junk", *QUICK)
    assert {feature.column for feature in result.features} == {"a", "b"}
    assert result.data.n_columns == 4
    assert "Left out as asked: 'junk'." in result.data.notes
    assert cli.result(file, "-t", "y", "--id", "junk", *QUICK).path.indices.tolist() == [0, 1]
    message = cli.refusal("select", file, "-t", "y", "--drop", "junk", "--categorical", "junk")
    assert "cannot be both --drop and --categorical" in message


def test_columns_named_wrongly(cli: CommandLine, tmp_path: Path) -> None:
    file = write_csv(tmp_path / "data.csv", with_junk(junk="3o", more="3o"))
    message = cli.refusal("select", file, "-t", "y", "--drop", "junk,more")
    assert (
        "no column 'junk,more'; to name several, repeat --drop: --drop junk --drop more" in message
    )
    advised = message.split("repeat --drop: ")[1].split()
    assert cli("select", file, "-t", "y", *QUICK, *advised).code == 0
    assert "did you mean 'junk'?" in cli.refusal("select", file, "-t", "y", "--drop", "junkk")
    assert "no column 'a,z'" in cli.refusal("select", file, "-t", "y", "--id", "a,z")


def test_predict_reads_what_the_model_needs(cli: CommandLine, tmp_path: Path) -> None:
    model = model_of(cli, tmp_path, plain())
    expected = cli("predict", model, tmp_path / "made.csv")
    columns = with_junk(junk="1,337", dates="31.12", **{"": "x"})
    del columns["y"]
    file = write_csv(tmp_path / "new.csv", columns)
    ended = cli("predict", model, file)
    assert (ended.code, ended.out, ended.err) == (0, expected.out, "")
    columns["b"] = list(columns["b"])
    columns["b"][0] = "high"
    message = cli.refusal("predict", model, write_csv(file, columns))
    assert "Column 'b' of" in message
    assert "has numbers in 98% of its cells, but 'high' in line 2; pass --missing high" in message
    assert "--categorical" not in message  # which predict does not have
    message = cli.refusal("predict", model, file, "--missing", "high")
    assert "the model was fitted without any" in message
    filling = model_of(cli, tmp_path, plain(), "--impute", "median")
    assert cli("predict", filling, file, "--missing", "high").code == 0


def test_a_target_that_cannot_be_read_is_no_error_of_predict(
    cli: CommandLine, tmp_path: Path
) -> None:
    model = model_of(cli, tmp_path, plain())
    expected = cli("predict", model, tmp_path / "made.csv").out
    for cells, why in (
        (["3o", *plain()["y"][1:]], "has numbers in 98% of its cells, but '3o' in line 2"),
        (["x"] * 60, "has text"),
        (["2024-01-31"] * 60, "has dates"),
    ):
        file = write_csv(tmp_path / "new.csv", {**plain(), "y": cells})
        ended = cli("predict", model, file)
        assert (ended.code, ended.out) == (0, expected)
        assert ended.err == (
            f"greedyrls: the predictions were not compared with 'y', which {why}.\n"
        )


def test_a_few_new_rows_are_read_as_the_many_were(cli: CommandLine, tmp_path: Path) -> None:
    """Three cells do not tell what is what; the model does."""
    columns = plain()
    columns["a"] = [f"{one:.2f}".replace(".", ",") for one in columns["a"]]
    columns["kind"] = [f"{' ' * (row % 2)}{('one', 'two', 'three')[row % 3]}" for row in range(60)]
    kinds = {"one": 3.0, "two": 0.0, "three": -3.0}
    columns["y"] = [
        y + kinds[kind.strip()] for y, kind in zip(columns["y"], columns["kind"], strict=True)
    ]
    data = write_csv(tmp_path / "made.csv", columns)
    result = cli.result(data, "-t", "y", "-k", "5", "--alpha", "1", "--impute", "median")
    made = result.model()
    assert LinearModel.from_json(made.to_json()) == made
    assert {one.name: one.decimal for one in made.columns} == {"a": ",", "b": ".", "kind": "."}
    (tmp_path / "model.json").write_text(made.to_json())
    new = {"a": ["1,337"], "b": ["n.d."], "kind": [" two "]}
    file = write_csv(tmp_path / "new.csv", new)
    ended = cli("predict", tmp_path / "model.json", file, "--digits", "17")
    fill = next(column.fill for column in made.columns if column.name == "b")
    assert (
        predictions(ended.out)
        == made.predict({"a": [1.337], "b": [fill], "kind": ["two"]}).tolist()
    )
    assert "'n.d.' in 1 row of 'b' counts as missing." in ended.err
    assert "has not seen" not in ended.err


# Names.


@pytest.mark.parametrize("kind", ["pandas", "R", "again"])
def test_a_data_frame_saved_with_its_row_names(kind: str, cli: CommandLine, tmp_path: Path) -> None:
    frame = pd.DataFrame(plain(), index=[f"r{row}" for row in range(60)])
    file = tmp_path / "frame.csv"
    frame.to_csv(file)
    if kind == "R":
        file.write_text(file.read_text().removeprefix(","))
    elif kind == "again":
        pd.read_csv(file).to_csv(file, index=False)
    result = cli.result(file, "-t", "y", *QUICK)
    assert [feature.name for feature in result.features] == ["a", "b"]
    assert sum("taken as row names" in note for note in result.data.notes) == 1
    (tmp_path / "model.json").write_text(result.model().to_json())
    expected = cli("predict", model_of(cli, tmp_path, plain()), tmp_path / "made.csv").out
    assert cli("predict", tmp_path / "model.json", file).out == expected
    assert "taken as row names" in " ".join(
        cli.fine("assess", file, "-t", "y", *QUICK, "--folds", "3").split()
    )
    name = "Unnamed: 0" if kind == "again" else "column 1"
    ended = cli("predict", tmp_path / "model.json", file, "--id", name)
    assert ended.out.splitlines()[1].startswith("r0,")


def test_row_names_can_be_kept(cli: CommandLine, tmp_path: Path) -> None:
    columns = {"": [row % 7 for row in range(60)], **plain()}
    file = write_csv(tmp_path / "data.csv", columns)
    result = cli.result(file, "-t", "y", "--keep", "column 1", "-k", "3", "--alpha", "1")
    assert {feature.name for feature in result.features} == {"column 1", "a", "b"}


def test_columns_of_the_same_name(cli: CommandLine, tmp_path: Path) -> None:
    columns = plain()
    rows = zip(columns["a"], columns["b"], columns["y"], strict=True)
    file = tmp_path / "dups.csv"
    file.write_text("x,x,y\n" + "".join(f"{a},{b},{y}\n" for a, b, y in rows))
    result = cli.result(file, "-t", "y", *QUICK)
    assert {feature.name for feature in result.features} == {"x", "x (2)"}
    assert "Columns that have the name of an earlier one are called 'x (2)'." in result.data.notes
    for dropped, left in (("x", "x (2)"), ("x (2)", "x")):
        result = cli.result(file, "-t", "y", "--drop", dropped, "-k", "1", "--alpha", "1")
        assert [feature.name for feature in result.features] == [left]


def test_lines_above_the_table(cli: CommandLine, tmp_path: Path) -> None:
    text = write_csv(tmp_path / "data.csv", plain()).read_text()
    file = tmp_path / "comment.csv"
    file.write_text(f"# exported by LIMS\n{text}")
    notes = cli.result(file, "-t", "y", *QUICK).data.notes
    assert notes == ("1 line at the top of the file begins with '#' and was skipped as comments.",)
    file.write_text(f"exported by LIMS\n\n{text}")
    message = cli.refusal("select", file, "-t", "y", *QUICK)
    assert "pass --skip-lines 2" in message
    result = cli.result(file, "-t", "y", *QUICK, "--skip-lines", "2")
    assert result.data.notes == ()
    (tmp_path / "model.json").write_text(result.model().to_json())
    assert cli("predict", tmp_path / "model.json", file, "--skip-lines", "2").code == 0


# Cells.


def test_money_as_the_target(cli: CommandLine, tmp_path: Path) -> None:
    columns = {name: [round(one, 2) for one in values] for name, values in plain().items()}
    numbers = [round(5000 + 900 * y, 2) for y in columns["y"]]
    expected = cli.result(
        write_csv(tmp_path / "plain.csv", {**columns, "y": numbers}), "-t", "y", *QUICK
    )
    for options, written in (
        ((), [f"${one:,.2f}" for one in numbers]),
        (("--task", "regression"), [f"{one:,.2f} USD" for one in numbers]),
        (("--decimal", ","), [f"{one:,.2f}".translate(SWAPPED) for one in numbers]),
        ((), [f"{one:,.2f}".translate(SWAPPED) for one in numbers]),
    ):
        file = write_csv(tmp_path / "money.csv", {**columns, "y": written})
        result = cli.result(file, "-t", "y", *QUICK, *options)
        assert result.path.losses.tolist() == expected.path.losses.tolist()
        assert any(note.startswith("Column 'y': ") for note in result.data.notes)


SWAPPED = str.maketrans({",": ".", ".": ","})


def test_targets_of_text_get_no_advice_in_a_circle(cli: CommandLine, tmp_path: Path) -> None:
    file = write_csv(tmp_path / "names.csv", {**plain(), "y": [f"n{row}" for row in range(60)]})
    message = cli.refusal("select", file, "-t", "y", *QUICK)
    assert "60 different values in 60 rows, too many for classes, and they are" in message
    assert "--task" not in message
    message = cli.refusal("select", file, "-t", "y", *QUICK, "--task", "regression")
    assert "a regression needs numbers. Name another target." in message
    file = write_csv(tmp_path / "names.csv", {**plain(), "y": ["p", "q", "r"] * 20})
    message = cli.refusal("select", file, "-t", "y", *QUICK, "--task", "regression")
    assert "Use --task classification." in message
    assert cli("select", file, "-t", "y", *QUICK, "--task", "classification").code == 0


def test_a_target_with_a_typing_error(cli: CommandLine, tmp_path: Path) -> None:
    file = write_csv(tmp_path / "data.csv", {**plain(), "y": ["3o", *plain()["y"][1:]]})
    message = cli.refusal("select", file, "-t", "y", *QUICK)
    assert "column 'y' (the target) has numbers in 98% of its cells, but '3o' in line 2" in message
    assert "pass --missing 3o if it stands for missing values" in message
    message = cli.refusal("select", file, "-t", "y", *QUICK, "--missing", "3o")
    assert "--drop-missing-target" in message
    options = ("--missing", "3o", "--drop-missing-target")
    assert cli.result(file, "-t", "y", *QUICK, *options).data.n_rows == 59


def test_words_for_missing_in_numbers_and_text(cli: CommandLine, tmp_path: Path) -> None:
    columns = plain()
    columns["a"][5] = "-"
    columns["a"][40] = "n.d."
    columns["b"][3] = "void"
    columns["kind"] = [("red", "green", "void")[row % 3] for row in range(60)]
    file = write_csv(tmp_path / "dash.csv", columns)
    message = cli.refusal("select", file, "-t", "y", *QUICK, "--impute", "median")
    assert "column 'b' has numbers in 98% of its cells, but 'void' in line 5" in message
    options = ("--impute", "median", "--missing", "void")
    result = cli.result(file, "-t", "y", "-k", "3", "--alpha", "1", *options)
    assert "'-' in 1 row of 'a' counts as missing." in result.data.notes
    assert "'n.d.' in 1 row of 'a' counts as missing." in result.data.notes
    assert {one.n_missing for one in result.data.columns if one.name == "a"} == {2}
    assert "kind=void" not in [feature.name for feature in result.features]


def test_numbers_that_may_stand_for_missing_values(cli: CommandLine, tmp_path: Path) -> None:
    columns = plain()
    columns["a"][::9] = [-999] * 7
    columns["b"] = [row % 2 * 999 for row in range(60)]
    columns["c"] = [9990 + row % 10 for row in range(60)]
    file = write_csv(tmp_path / "nines.csv", columns)
    notes = cli.result(file, "-t", "y", *QUICK).data.notes
    told = [note for note in notes if "may stand for a missing value" in note]
    assert told[0] == (
        "-999 in 7 rows of 'a' may stand for a missing value: if it does, pass --missing -999."
    )
    assert len(told) == 2  # 9999 among 9990 to 9998 is one of them
    result = cli.result(file, "-t", "y", *QUICK, "--missing", "-999", "--impute", "median")
    assert not any("-999" in note for note in result.data.notes)
    assert {one.low for one in result.data.columns if one.name == "a"} == {
        min(one for one in columns["a"] if one != -999)
    }


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--thousands", "x"], "--thousands must be a point, a comma, a blank or an apostrophe"),
        (["--thousands", "."], "--thousands . is also the decimal mark; pass --decimal , with it"),
        (["--skip-lines", "-1"], "-1 is not in the range"),
        (["--skip-lines", "99"], "has 61 lines, so that --skip-lines 99 leaves none"),
    ],
)
def test_options_for_reading(
    options: list[str], told: str, cli: CommandLine, tmp_path: Path
) -> None:
    file = write_csv(tmp_path / "data.csv", plain())
    assert told in cli.refusal("select", file, "-t", "y", *QUICK, *options)


# All problems at once.


def messy(m: int = 60) -> dict[str, list[Any]]:
    """A table with all that can be wrong with it, and more that is only odd."""
    generator = np.random.default_rng(4)
    columns = plain(m)
    columns["usage"] = [("n.d." if row % 20 == 7 else f"{row / 7:.2f}") for row in range(m)]
    columns["temp"] = ["3o" if row == 9 else round(20 + row / 9, 2) for row in range(m)]
    columns["share"] = [f"{one:.1f}%" for one in generator.random(m) * 100]
    columns["cost"] = [f"$ {one:,.2f}" for one in generator.random(m) * 9000]
    columns["lod"] = ["<0.5" if row % 5 == 0 else round(0.5 + row / 50, 3) for row in range(m)]
    columns["weight kg"] = [f"{50 + row / 8:.4f}".replace(".", ",") for row in range(m)]
    columns["sold at"] = [f"2024-02-{1 + row % 28:02}" for row in range(m)]
    columns["it's"] = [f"name {row % 55}" for row in range(m)]
    columns["ratio"] = ["inf" if row == 30 else round(row / 3, 3) for row in range(m)]
    columns["mixed"] = [f"{row % 9},{5 if row % 2 else 337}" for row in range(m)]
    columns["y"][11] = None
    return columns


def test_all_problems_in_one_message(
    cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_csv(tmp_path / "messy.csv", messy())
    arguments = ["select", str(file), "-t", "y", *QUICK]
    monkeypatch.setattr(sys, "argv", ["greedyrls", *arguments])
    lines = cli.problems(*arguments)
    assert lines[0] == f"greedyrls: {file} has 6 problems:"
    for number, part in enumerate(
        (
            "'y' (the target) is missing in 1 of 60 rows, first in line 13",
            "'temp' has numbers in 98% of its cells, but '3o' in line 11",
            "'mixed' has '2,337' in line 4 beside '0,337' in line 2: ',' may be the decimal mark",
            '"it\'s" (54)',
            "'ratio' has an infinite value in line 32",
            "missing values in 1 column: 'usage' (3)",
        ),
        1,
    ):
        assert lines[number].startswith(f"({number}) ")
        assert part in lines[number]
    assert lines[7] == "This command would work:"
    command = shlex.split(lines[8])
    assert command[: len(arguments) + 1] == ["greedyrls", *arguments]
    ended = cli(*command[1:])
    assert (ended.code, ended.err) == (0, "")
    assert "features were chosen to predict y" in ended.out.replace("\n", " ")


def test_the_command_works_in_a_shell(
    cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the columns are called."""
    columns = messy()
    columns["$(touch pwned) `x` \"q\" 'p'"] = columns.pop("sold at")
    columns["two\nlines  \x1b[31m\\"] = columns.pop("it's")
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "odd name.csv", columns)
    arguments = ["select", "odd name.csv", "-t", "y", *QUICK]
    monkeypatch.setattr(sys, "argv", ["greedyrls", *arguments])
    command = cli.problems(*arguments)[-1]
    assert command.startswith("greedyrls select 'odd name.csv' -t y ")
    script = f"greedyrls() {{ printf '%s\\0' \"$@\"; }}\n{command}"
    words = as_process("-c", script, command=("bash",), cwd=tmp_path).out.split("\0")[:-1]
    ended = cli(*words)
    assert (ended.code, ended.err) == (0, "")
    assert not (tmp_path / "pwned").exists()


def test_decimal_commas_throughout(
    cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commas that may be two things, and no points: one option for all columns."""
    columns: dict[str, list[Any]] = {
        name: [f"{one:.3f}".rstrip("0").replace(".", ",") for one in values]
        for name, values in plain().items()
    }
    for name in columns:
        columns[name][:2] = ["1,337", "1,5"]
    file = write_csv(tmp_path / "eu.csv", columns, delimiter=";")
    arguments = ["select", str(file), "-t", "y", *QUICK]
    monkeypatch.setattr(sys, "argv", ["greedyrls", *arguments])
    lines = cli.problems(*arguments)
    assert len(lines) == 6
    assert "'1,337' in line 2 beside '1,5' in line 3" in lines[1]
    assert lines[-1].endswith(" --decimal ,")
    assert cli(*shlex.split(lines[-1])[1:]).code == 0


def test_many_problems_are_counted(cli: CommandLine, tmp_path: Path) -> None:
    file = write_csv(
        tmp_path / "many.csv", with_junk(**{f"j{number}": "3o" for number in range(14)})
    )
    lines = cli.problems("select", file, "-t", "y", *QUICK)
    assert lines[0].endswith("has 14 problems:")
    assert lines[10].startswith("(10) ")
    assert lines[11] == "and 4 more."


def test_no_command_where_none_works(cli: CommandLine, tmp_path: Path) -> None:
    columns = with_junk(junk="3o")
    columns["y"] = ["2024-01-31"] * 60
    lines = cli.problems("select", write_csv(tmp_path / "data.csv", columns), "-t", "y", *QUICK)
    assert len(lines) == 3
    assert "(the target) has dates" in lines[1]
    names = {"n": [f"n{row}" for row in range(60)], "m": ["inf"] * 60, "y": plain()["y"]}
    lines = cli.problems("select", write_csv(tmp_path / "data.csv", names), "-t", "y", *QUICK)
    assert len(lines) == 3  # without these columns there is nothing to choose from


def test_rows_left_out_do_not_shift_lines(cli: CommandLine, tmp_path: Path) -> None:
    columns = plain()
    columns["y"][0] = None
    columns["a"][7] = "inf"
    columns["w"] = [1, 0, 1, 0, *[1] * 56]
    file = write_csv(tmp_path / "data.csv", columns)
    for more in ((), ("--weight", "w")):
        message = cli.refusal("select", file, "-t", "y", *QUICK, "--drop-missing-target", *more)
        assert "'a' has an infinite value in line 9" in message
    assert "--missing inf" in message
    options = ("--drop-missing-target", "--missing", "inf", "--impute", "median")
    assert cli("select", file, "-t", "y", *QUICK, *options).code == 0


def test_a_title_that_a_spreadsheet_filled_up_with_cells(cli: CommandLine, tmp_path: Path) -> None:
    """All lines have as many cells, so that nothing but the names tells where the table begins."""
    text = write_csv(tmp_path / "data.csv", plain()).read_text()
    file = tmp_path / "sheet.csv"
    file.write_text(f"Measured in May,,\n,,\n{text}")
    message = cli.refusal("select", file, "-t", "y", *QUICK)
    assert "has no column 'y' among its names, but line 3 has it" in message
    assert "pass --skip-lines 2" in message
    assert cli("select", file, "-t", "y", *QUICK, "--skip-lines", "2").code == 0
    model = model_of(cli, tmp_path, plain())
    assert "pass --skip-lines 2" in cli.refusal("predict", model, file)
    assert "no column 'z'; it has 'Measured in May'" in cli.refusal("select", file, "-t", "z")
    value = str(plain()["a"][0])  # a cell, but of a row with numbers
    assert "it has 'Measured in May'" in cli.refusal("select", file, "-t", value)


@pytest.mark.parametrize("cell", ["inf", "-inf"])
def test_an_infinite_target(cell: str, cli: CommandLine, tmp_path: Path) -> None:
    columns = plain()
    columns["y"][4] = cell
    file = write_csv(tmp_path / "data.csv", columns)
    message = cli.refusal("select", file, "-t", "y", *QUICK)
    assert f"has an infinite value in line 6; correct it, or pass --missing {cell}" in message
    options = ("--missing", cell, "--drop-missing-target")
    assert cli.result(file, "-t", "y", *QUICK, *options).data.n_rows == 59


def test_words_in_quotation_marks_are_missing_in_predict_as_in_select(
    cli: CommandLine, tmp_path: Path
) -> None:
    rows = [f'"{("red", "green", "NA")[row % 3]}",{row % 3 + row % 7}\n' for row in range(60)]
    data = tmp_path / "data.csv"
    data.write_text("kind,y\n" + "".join(rows))
    result = cli.result(data, "-t", "y", "-k", "1", "--alpha", "1", "--impute", "median")
    assert result.inputs[0].levels == ("green", "red")
    (tmp_path / "model.json").write_text(result.model().to_json())
    ended = cli("predict", tmp_path / "model.json", data, "--digits", "17")
    assert "has not seen" not in ended.err
    filled = result.model().predict({"kind": [result.inputs[0].fill]})[0]
    assert predictions(ended.out)[2] == filled
