"""Whatever is wrong with a file or an option: exit code 2 and one line that says what to do."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command_line import QUICK, CommandLine, select_arguments
from greedyrls.cli import main
from internals import GreedyRLSWarning, NumericalWarning
from small_tables import measured, write_csv
from traps import Traps


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_csv(tmp_path_factory.mktemp("data") / "data.csv", measured())


# Options.


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["-k", "0"], "'0' is neither a whole number of 1 or more nor 'auto'"),
        (["-k", "-3"], "'-3' is neither a whole number"),
        (["-k", "2.5"], "'2.5' is neither a whole number"),
        (["-k", "many"], "'many' is neither a whole number"),
        (["-k", "40"], "-k 40 is more than the 9 features that data.csv has"),
        (["--alpha", "0"], "'0' is neither a number above 0"),
        (["--alpha", "-1"], "'-1' is neither a number above 0"),
        (["--alpha", "nan"], "'nan' is neither a number above 0"),
        (["--alpha", "inf"], "'inf' is neither a number above 0"),
        (["--alpha", "1,,2"], "'1,,2' is neither a number above 0"),
        (["--alpha", "1;2"], "'1;2' is neither a number above 0"),
        (["--cv", "1"], "1 fold is too few; use 2 or more"),
        (["--folds", "abc"], "'abc' is not a valid whole number"),
        (["--budget", "abc"], "'abc' is not a valid number"),
        (["--cv", "-5"], "-5 folds are too few"),
        (["--cv", "hospital"], "data.csv has no column 'hospital'"),
        (["--cv", "Loo"], "data.csv has no column 'Loo'"),
        (["--cv", "y"], "'y' cannot be both --target and --cv"),
        (["--loss", "hinge"], "'hinge' is not one of"),
        (["--loss", "auc"], "--loss auc is for classes; 'y' is taken as numbers"),
        (["--loss", "zero_one"], "--loss zero_one is for classes"),
        (["--task", "ranking"], "'ranking' is not one of"),
        (["--task", "classification"], "use --task regression"),
        (["--size-rule", "best"], "'best' is not one of"),
        (["--impute", "mean"], "'mean' is not"),
        (["--max-features", "0"], "0 is not in the range"),
        (["--max-features", "2", "--force", "colour"], "--max-features 2 is less than the 3"),
        (["-k", "2", "--force", "colour"], "-k 2 is less than the 3 features of --force"),
        (["--seed", "-1"], "-1 is not in the range"),
        (["--jobs", "0"], "--jobs must not be 0"),
        (["--jobs", "two"], "'two' is not a valid integer"),
        (["--folds", "1"], "1 is not in the range"),
        (["--resamples", "1"], "--resamples 1 cannot show stability"),
        (["--resamples", "-1"], "-1 is not in the range"),
        (["--permutations", "-1"], "-1 is not in the range"),
        (["--target", "Y"], "did you mean 'y'?"),
        (["--weight", "colour"], "'colour' (weights)"),
        (["--weight", "x0"], "'x0' (weights)"),
        (["--force", "nosuch"], "has no column 'nosuch'"),
        (["--force", "id"], "'id' cannot be both --id and --force"),
        (["--drop", "y"], "'y' cannot be both --target and --drop"),
        (["--id", "y"], "'y' cannot be both --target and --id"),
        (["--categorical", "id"], "'id' cannot be both --id and --categorical"),
        (["--delimiter", "ab"], "--delimiter must be one character"),
        (["--decimal", ";"], "'--decimal'"),
        (["--encoding", "klingon"], "--encoding 'klingon' is not supported"),
        (["--encoding", "utf-16"], "data.csv"),
        (["--no-header"], "data.csv"),
        (["--nosuch"], "No such option"),
        (["extra"], "extra argument"),
        (["--assess=3"], "does not take a value"),
        (["--out"], "requires an argument"),
    ],
)
def test_options_that_cannot_be(
    options: list[str], told: str, cli: CommandLine, data: Path
) -> None:
    arguments = select_arguments(data, "y")
    if options[0] in ("--weight", "--jobs"):
        arguments += QUICK
    message = cli.refusal("select", *arguments, *options)
    assert told in message
    if "(see" in message:
        assert message.endswith("(see greedyrls select --help)")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nosuch"], "No such command 'nosuch'"),
        (["select"], "Missing argument 'DATA'"),
        (["predict", "model.json"], "Missing argument 'DATA'"),
        (["report"], "Missing argument 'RESULT'"),
        (["export", "model.json"], "Missing option '--to'"),
        (["--nosuch"], "No such option"),
        (["bench", "-m", "3"], "3 is not in the range"),
    ],
)
def test_commands_that_cannot_be(arguments: list[str], told: str, cli: CommandLine) -> None:
    assert told in cli.refusal(*arguments)


# Files.

ROWS = "a,b,y\n1,2,3.5\n2,1,2\n3,4,9.5\n4,4,1\n"


def refused_file(cli: CommandLine, path: Path, content: bytes | str, *options: str) -> str:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    message = cli.refusal("select", path, "-t", "y", *QUICK, *options)
    assert path.name in message
    return message


def test_files_that_cannot_be_read(cli: CommandLine, tmp_path: Path) -> None:
    assert "cannot be found" in cli.refusal("select", tmp_path / "none.csv", "-t", "y")
    assert "is a directory" in cli.refusal("select", tmp_path, "-t", "y")
    assert "is empty" in refused_file(cli, tmp_path / "a.csv", "")
    assert "no rows" in refused_file(cli, tmp_path / "b.csv", "a,b,y\n")
    assert "supported are" in refused_file(cli, tmp_path / "c.doc", ROWS)
    assert "Save the sheet as .xlsx or CSV" in refused_file(cli, tmp_path / "d.xls", "PK")
    assert "line 3 has 2 cells" in refused_file(
        cli, tmp_path / "e.csv", "a,b,y\n1,2,3\n4,5\n6,7,8\n"
    )
    assert "encoding" in refused_file(
        cli, tmp_path / "h.csv", "a,b,y\ngr\xfcn,2,3\n".encode("latin-1")
    )
    assert "--no-header" in refused_file(cli, tmp_path / "i.csv", "1,2,3\n4,5,6\n7,8,9\n")
    suffixes = ".csv.gz .csv.xz .csv.bz2 .parquet .feather .npz .svm .xlsx .jsonl .ndjson.gz"
    for suffix in suffixes.split():
        refused_file(cli, tmp_path / f"damaged{suffix}", b"\x00\x01not what it says\xff" * 9)


def test_cells_that_are_wrong(cli: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "cells.csv"
    rows = "".join(f"{row},{row % 3},{row * 1.5}\n" for row in range(1, 30))
    message = refused_file(cli, file, f"a,b,y\n{rows}3o,4,5\n")
    assert "column 'a'" in message
    assert "'3o' in line 31" in message
    message = refused_file(cli, file, f"a,b,y\n{rows}inf,4,5\n")
    assert "'a'" in message
    assert "infinite value in line 31" in message
    message = refused_file(cli, file, f"a,b,y\n{rows}3,4,\n")
    assert "line 31" in message
    assert "--drop-missing-target" in message
    message = refused_file(cli, file, f"a,b,y\n{rows},4,7\n")
    assert "'a' first in line 31" in message
    assert "--impute median" in message
    message = refused_file(cli, file, f"a,b,y\n{rows.replace('.5', ',5')}")
    assert "cells.csv" in message


def test_tables_that_are_too_small(cli: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "small.csv"
    assert "small.csv has 2 rows; at least 3 are needed" in refused_file(
        cli, file, "a,b,y\n1,2,3.5\n2,1,2\n", "-k", "1"
    )
    assert "nothing to predict" in refused_file(cli, file, "a,b,y\n1,2,3\n2,1,3\n3,4,3\n")
    assert "no column to choose from" in refused_file(cli, file, "y\n1\n2\n3.5\n")
    for count in (3, 4, 5):
        lines = "".join(f"{row},{row * row % 3},{row * 1.5}\n" for row in range(count))
        file.write_text(f"a,b,y\n{lines}")
        for options in ([], ["--assess"], ["--cv", "3"], ["-k", "1", "--alpha", "1"]):
            ended = cli("select", file, "-t", "y", *options)
            assert ended.code in (0, 2)
            assert ended.err.count("\n") == (1 if ended.code else 0)


def test_rare_classes(cli: CommandLine, tmp_path: Path) -> None:
    columns = measured()
    columns["outcome"][4] = "unclear"
    file = write_csv(tmp_path / "rare.csv", columns)
    message = cli.refusal("select", *select_arguments(file, "outcome"))
    assert "There is 1 row of class 'unclear', too few for nested folds" in message
    assert "--alpha" in message
    message = cli.refusal("select", *select_arguments(file, "outcome", *QUICK, "--assess"))
    assert "too few for nested folds" in message
    result = cli.result(*select_arguments(file, "outcome", *QUICK))
    assert "Classes with a single row: 'unclear'." in result.data.notes


def test_what_was_selected_is_kept_where_it_cannot_be_assessed(
    cli: CommandLine, data: Path, tmp_path: Path
) -> None:
    """No two groups are of the same size, which permutations find out after the search."""
    columns = measured()
    columns["site"] = [f"s{size}" for size in range(1, 11) for _ in range(size)] + ["s10"] * 5
    file = write_csv(tmp_path / "groups.csv", columns)
    out = tmp_path / "out"
    arguments = ["-t", "y", "--drop", "outcome", "--drop", "grade", "--id", "id", "--cv", "site"]
    ended = cli("select", file, *arguments, *QUICK, "--permutations", "3", "--out", out)
    assert ended.code == 2
    assert ended.err.startswith("greedyrls: whole groups are permuted")
    assert ended.err.count("\n") == 1
    assert "predict y" in ended.out
    assert (out / "result.json").exists()


# Hostile names.

HOSTILE = [
    "\x1b[31mred\x1b[0m",
    "two\nlines",
    "[bold red]x[/]",
    "\x07bell",
    "\u202egnp",
    'it\'s "it"',
]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_cannot_steer_the_terminal(name: str, cli: CommandLine, tmp_path: Path) -> None:
    columns: dict[str, Any] = {
        "a": [1, 2, 3, 4, 5, 6],
        name: [1, 2, None, 4, 1, 1],
        "y": [1.5, 2, 1, 7, 2.5, 3],
    }
    file = write_csv(tmp_path / "odd.csv", columns)
    for arguments in (
        [file, "-t", "y"],
        [file, "-t", name],
        [file, "-t", "nosuch"],
        [file, "-t", "y", "--drop", name, "--force", name],
        [file, "-t", "y", "--weight", name],
        [file, "-t", "y", "--cv", name],
        [file, "-t", f"{name}{name}"],
        [tmp_path / f"{name}.csv", "-t", "y"],
        [file, "-t", "y", "--out", file / name],
        [file, "-t", "y", "-k", name],
        [file, "-t", "y", f"--{name}"],
    ):
        cli.refusal("select", *arguments)
    shown = cli.fine("select", file, "-t", "y", "--impute", "median", *QUICK)
    assert all(line.isprintable() for line in shown.splitlines())
    columns["a"] = [name, name, "b", "b", "c", "c"]
    write_csv(file, columns)
    shown = cli.fine("select", file, "-t", "y", "--impute", "median", "-k", "4", "--alpha", "1")
    assert all(line.isprintable() for line in shown.splitlines())
    shown = cli.fine("select", file, "-t", "a", "--impute", "median", "-k", "1", "--alpha", "1")
    assert all(line.isprintable() for line in shown.splitlines())


def test_hostile_names_in_predictions(cli: CommandLine, tmp_path: Path) -> None:
    name = "\x1b[31m\nx"
    columns: dict[str, Any] = {name: ["a", "b", "c"] * 4, "y": np.arange(12.0).tolist()}
    file = write_csv(tmp_path / "odd.csv", columns)
    result = cli.result(file, "-t", "y", "-k", "3", "--alpha", "1")
    model = tmp_path / "model.json"
    model.write_text(result.model().to_json())
    columns[name] = ["\x1b[32m\nnew"] * 12
    ended = cli("predict", model, write_csv(file, columns))
    assert ended.code == 0
    assert all(line.isprintable() for line in ended.err.splitlines())
    assert len(ended.err.splitlines()) == 2


# Packages that are not installed.


@pytest.mark.parametrize(
    ("package", "command"),
    [
        ("pyarrow", "select"),
        ("jinja2", "select"),
        ("matplotlib", "select"),
        ("matplotlib", "assess"),
        ("rich", "select"),
        ("jinja2", "report"),
        ("onnx", "export"),
    ],
)
def test_missing_packages(
    package: str,
    command: str,
    cli: CommandLine,
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    result = cli.result(*select_arguments(data, "y", *QUICK))
    (tmp_path / "model.json").write_text(result.model().to_json())
    (tmp_path / "result.json").write_text(result.to_json())
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    for name in ("_page", "_onnx"):
        for parent in ("report", "export"):
            monkeypatch.delitem(sys.modules, f"greedyrls.{parent}.{name}", raising=False)
    arguments: list[object] = [command]
    if command in ("select", "assess"):
        arguments += select_arguments(data, "y", *QUICK, "--out", tmp_path / "out")
    elif command == "report":
        arguments += [tmp_path / "result.json"]
    else:
        arguments += [tmp_path / "model.json", "--to", "onnx", "--out", tmp_path / "m.onnx"]
    message = cli.refusal(*arguments)
    assert package in message.lower()
    extra = "onnx" if package == "onnx" else "cli"
    assert f"pip install 'greedyrls[{extra}]'" in message


def test_the_command_line_without_its_packages(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "click", None)
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == (
        "greedyrls: the command line needs more packages: pip install 'greedyrls[cli]'\n"
    )


# Trouble inside.


def test_out_of_memory(cli: CommandLine, data: Path, traps: Traps) -> None:
    def exhausted(*_: Any) -> None:
        raise MemoryError("Unable to allocate 1.2 TiB")

    traps.replace("choose features", exhausted)
    message = cli.refusal("select", *select_arguments(data, "y", *QUICK))
    assert "Out of memory: Unable to allocate 1.2 TiB" in message
    assert "--drop" in message


def test_tracebacks_are_there_for_those_who_ask(
    cli: CommandLine, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GREEDYRLS_DEBUG", "1")
    with pytest.raises(ValueError, match="has no column 'nosuch'"):
        cli("select", data, "-t", "nosuch")


@pytest.mark.parametrize(
    ("category", "shown"),
    [
        (GreedyRLSWarning, "greedyrls: warning: Mind the gap \\x1b[31m.\n"),
        (NumericalWarning, "greedyrls: warning: Mind the gap \\x1b[31m.\n"),
        (RuntimeWarning, ""),
        (UserWarning, ""),
        (FutureWarning, ""),
    ],
)
def test_only_warnings_of_ours_are_shown_as_one_line(
    cli: CommandLine, data: Path, traps: Traps, category: type[Warning], shown: str
) -> None:
    def warned(choose: Any, *given: Any) -> Any:
        warnings.simplefilter("always")
        warnings.warn("Mind\nthe gap \x1b[31m.", category, stacklevel=2)
        return choose(*given)

    traps.around("choose features", warned)
    ended = cli("select", *select_arguments(data, "y", *QUICK))
    assert ended.code == 0
    assert ended.err == shown


def test_deprecated_calls_of_other_libraries_are_no_error(
    cli: CommandLine, data: Path, traps: Traps
) -> None:
    def warned(choose: Any, *given: Any) -> Any:
        warnings.warn("Old name.", DeprecationWarning, stacklevel=2)
        return choose(*given)

    traps.around("choose features", warned)
    ended = cli("select", *select_arguments(data, "y", *QUICK, "-q"))
    assert (ended.code, ended.out, ended.err) == (0, "", "")
