"""Sheets of Excel files: cells, formulas, titles, and workbooks that cannot be read."""

from __future__ import annotations

import datetime
import hashlib
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")
openpyxl = pytest.importorskip("openpyxl")
pytest.importorskip("click")

from command_line import QUICK, CommandLine  # noqa: E402
from format_files import csv_of, failure, rows_of, sheet, values_of  # noqa: E402
from internals import (  # noqa: E402
    Dates,
    Numbers,
    Unusable,
    read_table,
)

DAY, NOON = datetime.date(2024, 2, 29), datetime.datetime(2024, 2, 29, 12)


def test_cells_of_a_sheet(tmp_path: Path) -> None:
    path = sheet(
        tmp_path / "t.xlsx",
        [
            [],
            [None, "number", " name ", "flag", "day", "clock", "error", "mixed", 2024],
            [None, 1, "a", True, NOON, datetime.time(1), "#N/A", "3.5", 1],
            [],
            [None, 2.5, None, False, None, None, 2, 4, 2],
            [None, None, " b ", None, DAY, datetime.time(2), 1, "NA", 3],
        ],
    )
    table = read_table(path, as_dates=["day"])
    assert table.n_rows == 3
    assert table.notes == ("Blanks around the names of columns were taken off: 'name'.",)
    assert list(table.columns) == [
        *("number", "name", "flag", "day", "clock", "error", "mixed", "2024"),
    ]
    assert values_of(table.columns["number"]) == [1, 2.5, None]
    assert values_of(table.columns["name"]) == ["a", None, "b"]
    flags = table.columns["flag"]
    assert isinstance(flags, Numbers)
    assert flags.is_flag
    assert values_of(flags) == [1, 0, None]
    days = table.columns["day"]
    assert isinstance(days, Dates)
    assert days.moments.astype(str).tolist() == [
        *("2024-02-29T12:00:00.000000", "NaT", "2024-02-29T00:00:00.000000"),
    ]
    assert table.columns["clock"] == Unusable("times of day")
    assert values_of(table.columns["error"]) == [None, 2, 1]
    assert values_of(table.columns["mixed"]) == [3.5, 4, None]
    assert read_table(path).columns["day"] == Unusable("dates")
    as_text = read_table(path, as_text=["number", "flag", "day"])
    assert values_of(as_text.columns["day"]) == ["2024-02-29 12:00:00", None, "2024-02-29"]
    assert values_of(as_text.columns["number"]) == ["1", "2.5", None]
    assert values_of(as_text.columns["flag"]) == ["true", "false", None]


def test_sheets_are_chosen_by_name(tmp_path: Path, cli: CommandLine) -> None:
    names, rows = rows_of()
    path = sheet(tmp_path / "t.xlsx", [names, *rows], "First", "Second", "Third")
    shown = cli.fine("select", path, "-t", "y", *QUICK)
    assert "Read the first sheet, 'First'; others are 'Second', 'Third'" in " ".join(shown.split())
    found = cli.result(path, "-t", "y", *QUICK, "--sheet", "First")
    assert found.data.notes == ()
    assert found.data.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert "has no sheet 'first'; it has 'First', 'Second', 'Third'" in failure(path, sheet="first")
    assert "has no rows below its names" in failure(path, sheet="Second")
    assert "--sheet is for Excel files" in failure(_written(tmp_path / "t.csv"), sheet="First")


def _written(path: Path) -> Path:
    path.write_text(csv_of())
    return path


def test_formulas_have_values_or_are_refused(tmp_path: Path) -> None:
    path = sheet(tmp_path / "t.xlsx", [["a", "b"], [1, "=A2*2"], [2, None]])
    message = failure(path)
    assert "cell B2 of sheet 'Data' has a formula without a value" in message
    assert "open the file in a spreadsheet program and save it" in message
    # As a spreadsheet program writes them: with what they came to, also an empty text.
    import zipfile

    cached = tmp_path / "cached.xlsx"
    with zipfile.ZipFile(path) as before, zipfile.ZipFile(cached, "w") as after:
        for member in before.infolist():
            content = before.read(member)
            if member.filename == "xl/worksheets/sheet1.xml":
                text = content.decode()
                start, end = text.index('<c r="B2"'), text.index("</c>", text.index('<c r="B2"'))
                text = text[:start] + '<c r="B2"><f>A2*2</f><v>2</v>' + text[end:]
                text = text.replace('<c r="A3"', '<c r="A3"', 1).replace(
                    "</row></sheetData>",
                    '<c r="B3" t="str"><f>IF(A3,"","x")</f><v></v></c></row></sheetData>',
                )
                content = text.encode()
            after.writestr(member, content)
    assert values_of(read_table(cached).columns["b"]) == [2, None]


def test_formulas_in_rows_of_their_own_are_not_lost(tmp_path: Path) -> None:
    path = sheet(tmp_path / "t.xlsx", [["a"], [1], ["=A2+1"]])
    assert "cell A3 of sheet 'Data' has a formula without a value" in failure(path)


def test_cells_far_away_cost_nothing(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (["a", "b"], [1, 2]):
        book.active.append(row)
    book.active.cell(5000, 9000, 3.0)
    book.active.cell(1, 9000, "far")
    book.save(tmp_path / "t.xlsx")
    table = read_table(tmp_path / "t.xlsx")
    assert {name: values_of(column) for name, column in table.columns.items()} == {
        "a": [1, None],
        "b": [2, None],
        "far": [None, 3],
    }


def test_workbooks_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = tmp_path / "t.xlsx"
    bad.write_bytes(b"PK\3\4 nonsense")
    assert "is not an Excel workbook" in failure(bad)
    names, rows = rows_of()
    good = sheet(tmp_path / "good.xlsx", [names, *rows])
    whole = good.read_bytes()
    for length in (100, len(whole) // 2, len(whole) - 30):
        bad.write_bytes(whole[:length])
        assert "t.xlsx" in failure(bad)
    # An archive that is no workbook; its file must not stay open.
    import gc
    import zipfile

    with zipfile.ZipFile(bad, "w") as archive:
        archive.writestr("xl/worksheets/sheet1.xml", "<worksheet/>")
    assert "its workbook cannot be read" in failure(bad)
    gc.collect()
    assert "the limit is 0.00 GiB" in failure(good, matrix_limit=1000)
    assert "sheet 'Data' is empty" in failure(sheet(bad, []))
    assert list(read_table(sheet(bad, [["a", None], [1, 2]])).columns) == ["a", "column 2"]
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    assert "needs openpyxl; pip install 'greedyrls[excel]'" in failure(good)


@pytest.mark.parametrize("n_titles", [1, 2])
def test_titles_above_a_sheet(n_titles: int, cli: CommandLine, tmp_path: Path) -> None:
    names, rows = rows_of()
    titles = [["Weekly sales, confidential"], ["made by Finance"]][:n_titles]
    path = sheet(tmp_path / "t.xlsx", [*titles, [], names, *rows])
    table = read_table(path)
    assert list(table.columns) == names
    assert any("'Weekly sales, confidential', taken as a title" in note for note in table.notes)
    assert list(read_table(path, skip_lines=n_titles).columns) == names
    assert "skip" in failure(path, skip_lines=999)
    # A table of one column has no title, nor has one whose names are below a number.
    assert list(read_table(sheet(path, [["a"], ["b"], ["c"]])).columns) == ["a"]
    assert list(read_table(sheet(path, [["a", None], [1, 2]])).columns) == ["a", "column 2"]


def test_a_column_in_another_sheet(cli: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    book = openpyxl.Workbook()
    book.active.title = "Info"
    book.active.append(["who", "when"])
    book.active.append(["me", "now"])
    book.create_sheet("Data").append(["Units", "x"])
    book.save(path)
    told = cli.refusal("select", path, "-t", "Units")
    assert "This is sheet 'Info'; others are 'Data' (--sheet NAME)." in told


def test_predictions_from_a_sheet(tmp_path: Path, cli: CommandLine) -> None:
    names, rows = rows_of()
    path = sheet(tmp_path / "t.xlsx", [names, *rows], "First", "Second")
    cli.fine("select", path, "-t", "y", *QUICK, "-q", "--out", tmp_path / "out")
    ended = cli("predict", tmp_path / "out" / "model.json", path)
    assert ended.code == 0
    assert "greedyrls: Read the first sheet, 'First'; others are 'Second'" in ended.err
