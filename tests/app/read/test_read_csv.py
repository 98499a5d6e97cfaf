"""CSV files: delimiters, headers, missing cells, encodings, and columns that are nearly numbers."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from internals import InputError, Numbers, Texts, Unusable, read_table
from table_files import (
    PACKERS,
    columns_of,
    csv_bytes,
    failure,
    plain,
    read_columns,
    write_bytes,
)
from traps import Traps
from tuning import Tune

TWO = {"a": ("number", 1.5, 2), "b": ("text", "x", "y")}


def column_from(cells: list[str], folder: Path, **options: Any) -> tuple[Any, ...]:
    """How a column with these cells is read, next to another one."""
    path = write_bytes(folder / "data.csv", "a;b\n" + "".join(f"{cell};1\n" for cell in cells))
    return read_columns(path, **options)["a"]


def why_not(cells: list[str], folder: Path, **options: Any) -> str:
    """Why a column with these cells cannot be read for sure."""
    path = write_bytes(folder / "data.csv", "a;b\n" + "".join(f"{cell};1\n" for cell in cells))
    column = read_table(path, **options).column("a")
    assert isinstance(column, Unusable)
    assert column.why.isprintable()
    return column.why


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_delimiters_and_line_ends(delimiter: str, end: str, tmp_path: Path) -> None:
    text = end.join(["a,b", "", "1.5,x", "2,y", ""]).replace(",", delimiter)
    path = write_bytes(tmp_path / "data.csv", text)
    assert read_columns(path) == TWO
    assert read_columns(path, delimiter=delimiter) == TWO
    assert read_columns(write_bytes(path, text.removesuffix(end))) == TWO


@pytest.mark.parametrize("name", ["tab", "\\t", "\t"])
def test_names_of_the_tab(name: str, tmp_path: Path) -> None:
    path = write_bytes(tmp_path / "data.txt", "a,a\tb,b\n1\t2\n")
    assert list(read_columns(path, delimiter=name)) == ["a,a", "b,b"]


@pytest.mark.parametrize(
    ("header", "names"),
    [
        ("a,b;c", ["a", "b;c"]),  # as often: the comma
        ("a,b;c;d", ["a,b", "c", "d"]),
        ('"a;b;c;d",e', ["a;b;c;d", "e"]),
        ('"x ""y"", z",b', ['x "y", z', "b"]),
        ('"two\nlines",b', ["two\nlines", "b"]),
        (" a ,\tb ", ["a", "b"]),
        ('5" pipe,b', ['5" pipe', "b"]),
        ("only", ["only"]),
        ("größe,日本", ["größe", "日本"]),
        ("0,1,2,3", ["0", "1", "2", "3"]),  # pandas names the columns of an array so
    ],
)
def test_headers(header: str, names: list[str], tmp_path: Path) -> None:
    row = {3: "1;2;3", 4: "1,2,3,4", 2: "1,2", 1: "1"}[len(names)]
    path = write_bytes(tmp_path / "data.csv", f"\n{header}\n{row}\n")
    assert list(read_columns(path)) == names


def test_a_tsv_has_tabs_whatever_its_header(tmp_path: Path) -> None:
    path = write_bytes(tmp_path / "data.tsv", "a,b,c\td\n1\t2\n")
    assert list(read_columns(path)) == ["a,b,c", "d"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,2.5,-3e2\n1,2,3\n", "only numbers, such as '1'; pass --no-header"),
        ("1,,3\n1,2,3\n", "--no-header"),
        ("0,1\n1,2\n", "--no-header"),
        ("a,b\n", "no rows"),
        ("a,b", "no rows"),
        ("a,b\n\n\r\n", "no rows"),
        ("\n\n", "only blank lines"),
    ],
)
def test_bad_headers(text: str, expected: str, tmp_path: Path) -> None:
    assert expected in failure(write_bytes(tmp_path / "data.csv", text))


def test_no_header(tmp_path: Path) -> None:
    path = write_bytes(tmp_path / "data.csv", "1,x\n2.5,y\n")
    assert read_columns(path, header=False) == {"x0": ("number", 1, 2.5), "x1": ("text", "x", "y")}
    write_bytes(path, "1,5;2,5\n")
    assert read_columns(path, header=False, decimal=",") == {
        "x0": ("number", 1.5),
        "x1": ("number", 2.5),
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,b\n1,2\n\n3\n", "line 4 has 1 cell, but there are 2 columns"),
        ("a,b\n1,2\n1,2,3\n4\n", "line 3 has 3 cells"),
        ('a,b\n"x\ny",2\n3,4\n5,6,7\n', "line 5 has 3 cells"),
        ("a\n1\n1,2\n", "line 3 has 2 cells, but there is 1 column;"),
        ('a,b\n1,2\n"3,4\n5,6\n', "line 3 has 1 cell"),
        ('a,b,c\n1,"' + "x" * 200_000 + "\n", "a quotation mark in line 2"),
        ('a,b\n1,2\n\n3,"x\n5,6\n7,8\n', "a quotation mark in line 4"),
        ('a,b\n3,"' + "x\n5,6\n7,8\n" * 20_000, "a quotation mark in line 2"),
    ],
)
def test_bad_rows(text: str, expected: str, tmp_path: Path) -> None:
    assert expected in failure(write_bytes(tmp_path / "data.csv", text))


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("length", [1, 20_000])
def test_a_last_cell_with_line_breaks(end: str, length: int, tmp_path: Path) -> None:
    cell = '"x"\n5,6' * length
    quoted = cell.replace('"', '""')
    path = write_bytes(tmp_path / "data.csv", f'a,b\n1,y\n2,"{quoted}"{end}')
    is_same = read_columns(path) == {"a": ("whole", 1, 2), "b": ("text", "y", cell)}
    assert is_same  # without the texts: pytest would compare them letter by letter


def test_bad_rows_far_down(tmp_path: Path) -> None:
    rows = ["1,2,3\n"] * 400_000
    rows[300_000] = "1,2\n"
    path = write_bytes(tmp_path / "data.csv", "".join(["a,b,c\n", *rows]))
    assert "line 300002 has 2 cells" in failure(path)
    path = write_bytes(path, "".join(rows))
    assert "line 300001 has 2 cells" in failure(path, header=False)


MISSING = [*("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan"), *("NULL", "null", "None", "?")]


@pytest.mark.parametrize("marker", [*MISSING, " NA ", '""', '"NA"'])
def test_missing_everywhere(marker: str, tmp_path: Path) -> None:
    assert column_from(["1", marker, "2"], tmp_path) == ("whole", 1, None, 2)
    assert column_from(["x", marker, "y"], tmp_path) == ("text", "x", None, "y")
    assert column_from(["true", marker, "False"], tmp_path) == ("flag", 1, None, 0)
    assert column_from([marker, marker], tmp_path) == ("number", None, None)


@pytest.mark.parametrize("marker", ["-", "--", "."])
def test_missing_among_numbers_only(marker: str, tmp_path: Path) -> None:
    assert column_from(["1", marker, "2", "NA"], tmp_path) == ("whole", 1, None, 2, None)
    assert column_from(["+", marker, "NA"], tmp_path) == ("text", "+", marker, None)
    assert column_from([marker], tmp_path) == ("text", marker)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1", "2.0", "-3"], ("whole", 1, 2, -3)),
        (["+1", ".5", "5."], ("number", 1, 0.5, 5)),
        (["1e3", "1E-1", "1e400"], ("number", 1000, 0.1, np.inf)),
        (["inf", "-Infinity", "1"], ("number", np.inf, -np.inf, 1)),
        ([" 1", "2 ", '"3"'], ("whole", 1, 2, 3)),
        (["007", "1"], ("whole", 7, 1)),
        (["TRUE", "false"], ("flag", 1, 0)),
        (["True", " False"], ("flag", 1, 0)),
        (["T", "F"], ("text", "T", "F")),
        (["0x1F", "0x2F"], ("text", "0x1F", "0x2F")),
        (["1_000", "2_000"], ("text", "1_000", "2_000")),
        (["١", "٢"], ("text", "١", "٢")),
        ([" red", "red ", "red"], ("text", "red", "red", "red")),
        (["1", "2", "3+", "x"], ("text", "1", "2", "3+", "x")),
        (["2024-01-31", "", "1999-12-01"], ("unusable", "dates")),
        (["2024-01-31 10:00:00.5", "2024-01-31T10:00Z"], ("unusable", "dates")),
        (["31.1.2024", "1/2/1999"], ("unusable", "dates")),
        (["10:30", "23:59:59", "1:05 pm"], ("unusable", "times of day")),
        (["1.2.3", "1.2.4"], ("text", "1.2.3", "1.2.4")),
        (["2024-01-31", "never"], ("text", "2024-01-31", "never")),
        (["true", "1", "maybe"], ("text", "true", "1", "maybe")),
    ],
)
def test_cells(cells: list[str], expected: Any, tmp_path: Path) -> None:
    assert column_from(cells, tmp_path) == expected


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["01234", " 1", "1.50"], ("01234", " 1", "1.50")),
        (["NA", '"NA"', "", '""'], (None, "NA", None, None)),
        (["true", "2024-01-31", "-"], ("true", "2024-01-31", "-")),
        (["1"] * 99 + ["x"], ("1",) * 99 + ("x",)),
        (["1,5", "2,5"], ("1,5", "2,5")),
        ([""], (None,)),
    ],
)
def test_cells_as_text(cells: list[str], expected: Any, tmp_path: Path) -> None:
    assert column_from(cells, tmp_path, as_text=["a"]) == ("text", *expected)


def test_nearly_numbers(tmp_path: Path) -> None:
    why = why_not(["1", "", "2", "abc", "", "x"] + ["3"] * 20, tmp_path)
    assert why == "has numbers in 92% of its cells, but 'abc' in line 5 (and 1 more)"
    assert column_from(["1"] * 8 + ["x"], tmp_path)[0] == "text"
    assert "'x' in line 11" in why_not(["1"] * 9 + ["x"], tmp_path)
    # Measurements with codes among them are frequent, codes with letters are too.
    measured = [f"0.{row}" for row in range(10, 31)]
    assert "'low' in line 23" in why_not(measured + ["low"] * 21, tmp_path)
    assert column_from(measured + ["low"] * 22, tmp_path)[0] == "text"
    assert column_from(measured[1:] + ["low"] * 20, tmp_path)[0] == "text"


def test_nearly_numbers_far_down(tmp_path: Path, tune: Tune) -> None:
    # The sample at the start sees numbers only, so that the file is read twice.
    tune(csv_sample_cells=100)
    cells = ["1.5"] * 3000
    cells[2500] = "1.S"
    assert "'1.S' in line 2502" in why_not(cells, tmp_path)
    cells[2500] = " NA"
    column = column_from(cells, tmp_path)
    assert column[:2] == ("number", 1.5)
    assert column[2501] is None
    assert column.count(None) == 1
    flags = ["true"] * 2500 + ["unknown"]
    assert column_from(flags, tmp_path)[-2:] == ("true", "unknown")
    late = [""] * 2500 + ["7"]
    assert column_from(late, tmp_path)[-2:] == (None, 7)


def test_decimal_marks(tmp_path: Path) -> None:
    cells = ["1,5", "-2", "1e3", "", "+0,5"]
    expected = ("number", 1.5, -2, 1000, None, 0.5)
    assert column_from(cells, tmp_path, decimal=",") == expected
    assert column_from([*cells, " NA"], tmp_path, decimal=",") == (*expected, None)
    # Without the option, commas that can be nothing but decimal marks are.
    assert column_from(cells, tmp_path) == expected
    assert column_from(["1", "2.5", "3"], tmp_path, decimal=",") == ("number", 1, 2.5, 3)
    assert column_from(["1,5", "x", "y"], tmp_path) == ("text", "1,5", "x", "y")
    path = write_bytes(tmp_path / "data.csv", 'a,b\n"1,5","2,5"\n')
    assert read_columns(path, decimal=",") == {"a": ("number", 1.5), "b": ("number", 2.5)}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"decimal": ";"}, "--decimal"),
        ({"delimiter": ";;"}, "--delimiter"),
        ({"delimiter": ""}, "--delimiter"),
        ({"delimiter": '"'}, "--delimiter"),
        ({"delimiter": "§"}, "--delimiter"),
        ({"encoding": "klingon"}, "--encoding"),
        ({"encoding": "rot13"}, "--encoding"),
        ({"encoding": "a\0b"}, "--encoding"),
    ],
)
def test_bad_options(options: dict[str, str], expected: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=expected):
        read_table(write_bytes(tmp_path / "data.csv", "a,b\n1,2\n"), **options)  # type: ignore[arg-type]  # other options are no text


@pytest.mark.parametrize("packed", ["", *PACKERS])
@pytest.mark.parametrize(
    ("encoding", "mark"),
    [
        ("utf-8", b""),
        ("utf8", b"\xef\xbb\xbf"),
        ("utf-8-sig", b"\xef\xbb\xbf"),
        ("latin-1", b""),
        ("cp1252", b""),
        ("utf-16", b""),
        ("utf-16-le", b"\xff\xfe"),
        ("utf-32", b""),
    ],
)
def test_encodings(encoding: str, mark: bytes, packed: str, tmp_path: Path) -> None:
    text = "größe,farbe\n1.5,grün\n2,weiß\n"
    content = mark + text.encode(encoding.replace("-sig", ""))
    path = tmp_path / f"data.csv{packed}"
    path.write_bytes(PACKERS[packed](content) if packed else content)
    expected = {"größe": ("number", 1.5, 2), "farbe": ("text", "grün", "weiß")}
    assert read_columns(path, encoding=encoding) == expected


@pytest.mark.parametrize(
    ("content", "encoding", "expected"),
    [
        ("grün,b\n1,2\n".encode("latin-1"), "utf-8", "line 1 is not text in the encoding utf-8"),
        ("a,b\n1,2\n3,ü\n".encode("latin-1"), "utf-8", "line 3 is not text in the encoding utf-8"),
        (b"a,b\n1,2\n" * 200_000 + b"3,\xfc\n", "utf-8", "line 400001 is not text"),
        (b"a,b\n1,2\n\xfc,2\n", "ascii", "it is not text in the encoding ascii"),
        (b"a,b\n1,2\n" * 200_000 + b"3,\xfc\n", "ascii", "in the encoding ascii"),
        ("a,b\n1,2\n".encode("utf-16"), "utf-8", "pass --encoding utf-16"),
        (b"a,b\n1,2\n", "utf-16", "--encoding"),
        (b"a,b\n1,\0\n", "utf-8", "not a text file"),
    ],
)
def test_undecodable(content: bytes, encoding: str, expected: str, tmp_path: Path) -> None:
    message = failure(write_bytes(tmp_path / "data.csv", content), encoding=encoding)
    assert expected in message
    assert "--encoding" in message or "not a text file" in message


@pytest.mark.parametrize("n", [1, 500, 8_000])
def test_wide_tables(n: int, tmp_path: Path) -> None:
    X = np.random.default_rng(n).standard_normal((7, n))
    path = tmp_path / "data.csv"
    path.write_bytes(csv_bytes(pa.table({f"gene {index}": X[:, index] for index in range(n)})))
    table = read_table(path)
    assert list(table.columns) == [f"gene {index}" for index in range(n)]
    for column, expected in zip(table.columns.values(), X.T, strict=True):
        assert isinstance(column, Numbers)
        assert_array_equal(column.values, expected)


def test_many_blocks(tmp_path: Path, tune: Tune) -> None:
    rng = np.random.default_rng(11)
    numbers = pa.array(rng.standard_normal(5000), mask=rng.random(5000) < 0.2)
    texts = pa.array(["one", "two\nlines", None]).take(pa.array(rng.integers(3, size=5000)))
    path = tmp_path / "data.csv"
    path.write_bytes(csv_bytes(pa.table({"v": numbers, "t": texts, "f": numbers.is_null()})))
    tune(csv_smallest_block=1000, csv_block_rows=1)
    assert read_columns(path) == {
        "v": ("number", *numbers.to_pylist()),
        "t": ("text", *texts.to_pylist()),
        "f": ("flag", *numbers.is_null().to_pylist()),
    }


def test_rows_longer_than_a_block(tmp_path: Path) -> None:
    # Beyond the sample, which would have told that rows are long.
    text = "a,b\n" + "2,y\n" * 300_000 + "1," + "x" * 3_000_000 + "\n"
    b = read_table(write_bytes(tmp_path / "data.csv", text)).column("b")
    assert isinstance(b, Texts)
    assert [len(level) for level in b.levels] == [3_000_000, 1]
    assert b.codes.sum() == 300_000


@pytest.mark.parametrize("decimal", [".", ","])
def test_usual_files_are_read_once(decimal: str, tmp_path: Path, traps: Traps) -> None:
    reads = traps.watch("parse CSV")
    text = "a;b;c;d\n1,5;NA;true;x\n-2;?;;y\n+1e5; 3 ;FALSE;\n".replace(",", decimal)
    assert read_columns(write_bytes(tmp_path / "data.csv", text), decimal=decimal) == {
        "a": ("number", 1.5, -2, 1e5),
        "b": ("whole", None, None, 3),
        "c": ("flag", 1, None, 0),
        "d": ("text", "x", "y", None),
    }
    assert len(reads) == 1


def test_one_value_decides_that_not_all_are_whole(tmp_path: Path) -> None:
    cells = ["1"] * 5000
    assert column_from(cells, tmp_path)[0] == "whole"
    assert column_from([*cells, "1.5"], tmp_path)[0] == "number"
    assert column_from([*cells, "inf"], tmp_path)[0] == "number"


names = st.text(
    st.one_of(st.sampled_from(list(",;\"'\n\r\t |0-é日\u2028")), st.characters(codec="utf-8")),
    min_size=1,
    max_size=6,
).filter(lambda name: name.strip() == name and "\0" not in name)
cells = st.one_of(
    st.lists(st.floats(allow_nan=False) | st.none(), min_size=3, max_size=3),
    st.lists(st.integers(-(2**53), 2**53) | st.none(), min_size=3, max_size=3),
    st.lists(names | st.none(), min_size=3, max_size=3),
)


@settings(max_examples=100)
@given(
    st.dictionaries(names.map(lambda name: f"n{name}"), cells, min_size=2, max_size=4),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
)
def test_round_trips(
    tmp_path_factory: pytest.TempPathFactory,
    columns: dict[str, list[Any]],
    delimiter: str,
    quoting: Any,
) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, quoting=quoting, lineterminator="\r\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    path = tmp_path_factory.getbasetemp() / "round trip.csv"
    write_bytes(path, text.getvalue())
    as_text = [name for name, values in columns.items() if any(isinstance(v, str) for v in values)]
    table = read_table(path, as_text=as_text, delimiter=delimiter)
    assert list(table.columns) == list(columns)
    for name, values in columns.items():
        column = table.column(name)
        if name in as_text:
            assert isinstance(column, Texts)
            kept = values if quoting == csv.QUOTE_ALL else _unless_missing(values)
            assert column.strings() == kept
        else:
            assert isinstance(column, Numbers)
            assert plain(column)[1:] == tuple(values)


def _unless_missing(values: list[Any]) -> list[Any]:
    return [None if value in MISSING else value for value in values]


@settings(max_examples=200)
@given(st.binary(max_size=200), st.sampled_from([True, False]))
def test_any_bytes(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, has_header: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes((b"a,b\n" if has_header else b"") + content)
    try:
        table = read_table(path)
    except InputError:
        failure(path)
    else:
        assert table.n_rows > 0
        columns_of(table)
