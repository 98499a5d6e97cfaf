"""Names of columns, row names, lines above the table, and columns that are not read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet as pq
from sklearn.datasets import dump_svmlight_file

from internals import InputError, read_table, tidy
from table_files import MIXED, columns_of, failure, read_columns, write, write_bytes

ROW_NAMES = (
    "The first column has no name: taken as row names and left out. To keep it as a feature, pass "
    "--keep 'column 1'."
)
FRAME = pd.DataFrame({"a": [1.5, 2.5, 3.0], "b": ["x", "y", "x"]}, index=["r1", "r2", "r3"])
EXPECTED = {"a": ("number", 1.5, 2.5, 3), "b": ("text", "x", "y", "x")}


@pytest.mark.parametrize(
    "text",
    [
        FRAME.to_csv(),
        FRAME.reset_index(drop=True).to_csv(),
        FRAME.to_csv(sep="\t"),
        '"","a","b"\n"1",1.5,"x"\n"2",2.5,"y"\n"3",3,"x"\n',  # write.csv of R
        'a,b\nr1,1.5,x\nr2,2.5,y\n"r3",3,x\n',  # write.table(sep=",") of R: a name fewer
        '"a" "b"\n"1" 1.5 "x"\n"2" 2.5 "y"\n"3" 3 "x"\n',  # write.table of R
        "# made by hand\n,a,b\n0,1.5,x\n1,2.5,y\n2,3,x\n",
        "# made by R\na,b\nr1,1.5,x\nr2,2.5,y\nr3,3,x\n",
    ],
)
def test_row_names(text: str, tmp_path: Path) -> None:
    table = read_table(write_bytes(tmp_path / "data.csv", text))
    assert columns_of(table) == EXPECTED
    assert ROW_NAMES in table.notes
    assert table.all_names == ("column 1", "a", "b")
    kept = read_table(tmp_path / "data.csv", named=["column 1"])
    assert list(kept.columns) == ["column 1", "a", "b"]
    assert ROW_NAMES not in kept.notes
    some = read_table(tmp_path / "data.csv", only=["b"])
    assert columns_of(some) == {"b": EXPECTED["b"]}
    assert ROW_NAMES not in some.notes


def test_row_names_of_a_file_beyond_the_sample(tmp_path: Path) -> None:
    """The sample ends within a row, which says nothing of how many cells it has."""
    text = "a,b\n" + f"{'r' * 100},1.5,x\n" * 11_000
    table = read_table(write_bytes(tmp_path / "data.csv", text))
    assert list(table.columns) == ["a", "b"]


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".feather"])
def test_row_names_that_pandas_has_named(suffix: str, tmp_path: Path) -> None:
    again = pd.read_csv(write_bytes(tmp_path / "first.csv", FRAME.to_csv()))
    path = tmp_path / f"data{suffix}"
    write(pa.Table.from_pandas(again, preserve_index=False), path)
    table = read_table(path)
    assert columns_of(table) == EXPECTED
    assert table.notes == (
        "The first column is 'Unnamed: 0': taken as row names and left out. To keep it as a "
        "feature, pass --keep 'Unnamed: 0'.",
    )


def test_an_array_of_pandas_with_row_names(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    pd.DataFrame(np.arange(12).reshape(3, 4)).to_csv(path)
    assert list(read_columns(path)) == ["0", "1", "2", "3"]


def test_a_delimiter_at_the_end_of_each_row(tmp_path: Path) -> None:
    """No row names: what is missing is the name of nothing."""
    table = read_table(write_bytes(tmp_path / "data.csv", "a,b\n1.5,x,\n2.5,y,\n3,x,\n"))
    assert columns_of(table) == {**EXPECTED, "column 3": ("number", None, None, None)}
    table = read_table(write_bytes(tmp_path / "data.csv", "a,b,\n1.5,x,\n2.5,y,\n3,x,\n"))
    assert columns_of(table) == {**EXPECTED, "column 3": ("number", None, None, None)}


def test_a_single_column_without_a_name_is_no_row_name(tmp_path: Path) -> None:
    path = write_bytes(tmp_path / "data.csv", '""\n1.5\n2.5\n')
    assert read_columns(path) == {"column 1": ("number", 1.5, 2.5)}


def test_names_are_made_up_where_they_must_be(tmp_path: Path) -> None:
    path = write_bytes(tmp_path / "data.csv", "x,,x, y ,x,column 2,x (2)\n1,2,3,4,5,6,7\n")
    table = read_table(path)
    names = ("x", "column 2 (2)", "x (3)", "y", "x (4)", "column 2", "x (2)")
    assert table.all_names == names
    assert [one[1] for one in columns_of(table).values()] == [1, 2, 3, 4, 5, 6, 7]
    assert table.notes == (
        "Columns without a name are called 'column 2 (2)'.",
        "Columns that have the name of an earlier one are called 'x (3)', 'x (4)'.",
        "Blanks around the names of columns were taken off: 'y'.",
    )
    table = read_table(path, leave_out=["x", "y", "column 2 (2)"])
    assert list(table.columns) == ["x (3)", "x (4)", "column 2", "x (2)"]
    assert len(table.notes) == 1


@given(st.lists(st.sampled_from(["", " ", "x", "x ", "x (2)", "column 1", "column 2"]), min_size=1))
def test_names_stand_for_one_column_each(given_names: list[str]) -> None:
    known = tidy(given_names)
    assert len(set(known.names)) == len(given_names)
    assert all(name == name.strip() != "" for name in known.names)
    for name, original in zip(known.names, given_names, strict=True):
        if original.strip() and name != original.strip():
            assert name.startswith(f"{original.strip()} (")
    for name in set(map(str.strip, given_names)) - {""}:
        assert known.names[[one.strip() for one in given_names].index(name)] == name


# Lines above the table.


TABLE = {"a": ("number", 1.5, 2.5), "b": ("text", "x", "y")}


@pytest.mark.parametrize(
    ("top", "count"),
    [
        ("# exported by LIMS", 1),
        ("# exported by LIMS\n#\n# 2024-01-31, 10:00, by hand", 3),
        ("#exported,by", 1),  # as many cells as there are names
        ("# one, two", 1),
        ("\ufeff# with a mark", 1),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_comments_at_the_top(top: str, count: int, end: str, tmp_path: Path) -> None:
    text = f"{top}\na,b\n1.5,x\n2.5,y\n".replace("\n", end)
    path = write_bytes(tmp_path / "data.csv", text)
    table = read_table(path)
    assert columns_of(table) == TABLE
    (note,) = table.notes
    assert note.startswith(f"{count} line")
    assert "begin" in note
    assert "with '#'" in note
    table = read_table(path, skip_lines=count)
    assert columns_of(table) == TABLE
    assert table.notes == ()
    assert table.location(1) == f"line {count + 3}"


@pytest.mark.parametrize(
    ("text", "names", "count"),
    [
        ("#name,x\n1.5,x\n2.5,y\n", ["#name", "x"], 0),
        ("##fileformat=VCFv4\n##source=a,b\n#CHROM,POS\n1.5,x\n2.5,y\n", ["#CHROM", "POS"], 2),
        ("#chrom\tpos\tend\nchr1\t5\t7\nchr2\t6\t9\n", ["#chrom", "pos", "end"], 0),
        ("#name,x\nred,x\ngreen,y\n", ["#name", "x"], 0),
        ("# a, comment\nname,x\nred,x\ngreen,y\n", ["name", "x"], 1),
        ("#id\n1.5\n2.5\n", ["#id"], 0),
        ("# one number each\nvalue\n1.5\n", ["value"], 1),
    ],
)
def test_names_behind_a_hash(text: str, names: list[str], count: int, tmp_path: Path) -> None:
    table = read_table(write_bytes(tmp_path / "data.txt", text))
    assert list(table.columns) == names
    assert len(table.notes) == (count > 0)


def test_hashes_without_a_table_below(tmp_path: Path) -> None:
    assert "no rows" in failure(write_bytes(tmp_path / "data.csv", "# only\n"))
    assert "no rows" in failure(write_bytes(tmp_path / "data.csv", "# only\n# comments\na,b\n"))


def test_lines_to_skip(tmp_path: Path) -> None:
    text = 'Report of "May\n\nby hand,2024,x\na,b\n1.5,x\n2.5,y\n'
    path = write_bytes(tmp_path / "data.csv", text)
    assert read_columns(path, skip_lines=3) == TABLE
    assert read_columns(path, skip_lines=4, header=False, only=["x1"]) == {"x1": ("text", "x", "y")}
    assert "has 6 lines, so that --skip-lines 9" in failure(path, skip_lines=9)
    for encoding in ("utf-16", "latin-1"):
        path.write_bytes(text.encode(encoding))
        assert read_columns(path, skip_lines=3, encoding=encoding) == TABLE


@pytest.mark.parametrize(
    ("top", "count"),
    [("Export of May", 1), ("Export\nof May\n", 3), ('"# quoted, with a comma"', 1)],
)
def test_the_advice_to_skip_lines_works(top: str, count: int, tmp_path: Path) -> None:
    rows = "".join(f"{row}.5,{row},x\n" for row in range(9))
    path = write_bytes(tmp_path / "data.csv", f"{top}\na,b,c\n{rows}")
    message = failure(path)
    assert f"pass --skip-lines {count};" in message
    assert list(read_columns(path, skip_lines=count)) == ["a", "b", "c"]


def test_rows_stand_on_lines(tmp_path: Path) -> None:
    path = write_bytes(tmp_path / "data.csv", '# top\n\na,b\n1,x\n\n2,"two\nlines"\n3,z\n')
    table = read_table(path)
    assert [table.location(row) for row in range(3)] == ["line 4", "line 6", "line 8"]
    path = write_bytes(tmp_path / "data.csv", "1,x\n2,y\n")
    assert read_table(path, header=False).location(1) == "line 2"
    assert read_table(write(MIXED, tmp_path / "data.parquet")).location(1) == "row 2"


# Columns that are not read.


@pytest.mark.parametrize("suffix", [".csv", ".tsv.gz", ".parquet", ".feather", ".arrow", ".ipc"])
def test_only_some_columns(suffix: str, tmp_path: Path) -> None:
    path = write(MIXED, tmp_path / f"data{suffix}")
    whole = read_columns(path, as_text=["zip"])
    for names in (["count"], ["zip", "length"], list(whole)):
        found = read_table(path, only=[*names, "not there"], as_text=["zip"])
        assert columns_of(found) == {name: whole[name] for name in whole if name in names}
        assert found.all_names == tuple(whole)
        left = read_table(path, leave_out=[*names, "not there"], as_text=["zip"])
        assert columns_of(left) == {name: whole[name] for name in whole if name not in names}
        assert left.n_rows == found.n_rows == 5
    with pytest.raises(InputError, match="no column 'lenght'; did you mean 'length'"):
        read_table(path, only=["count"]).column("lenght")


def test_only_some_columns_of_matrices(tmp_path: Path) -> None:
    X = np.arange(6.0).reshape(3, 2)
    dump_svmlight_file(X, np.array([1, 0, 1]), str(tmp_path / "data.svm"), zero_based=False)
    np.savez(tmp_path / "data.npz", X=X, y=np.array([1, 0, 1]))
    for name, x in (("data.svm", "x1"), ("data.npz", "x0")):
        table = read_table(tmp_path / name, only=[x])
        assert columns_of(table) == {x: ("whole", 0, 2, 4)}
        assert len(table.all_names) == 3
        assert table.target in ("y", "target")


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow"])
def test_what_is_left_out_may_be_anything(suffix: str, tmp_path: Path) -> None:
    odd: dict[str, Any] = {"lists": [[1], [2]], "when": pa.array([0, 1], pa.timestamp("s"))}
    if suffix == ".csv":
        odd = {"lists": ['"', "\x07"], "when": ["1,337", "3o"]}
    path = write(pa.table({"a": [1.5, 2.5], **odd}), tmp_path / f"data{suffix}")
    table = read_table(path, leave_out=["lists", "when"])
    assert columns_of(table) == {"a": ("number", 1.5, 2.5)}
    assert table.notes == ()


def test_a_damaged_column_of_parquet_does_no_harm_where_it_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    frame = pa.table({"bad": np.arange(1000.0), "good": np.arange(1000) / 7})
    pq.write_table(frame, path, compression="none", use_dictionary=False)
    whole = bytearray(path.read_bytes())
    chunk = pq.ParquetFile(path).metadata.row_group(0).column(0)
    start = chunk.data_page_offset
    whole[start : start + 40] = b"\xff" * 40
    path.write_bytes(whole)
    failure(path)
    assert read_columns(path, leave_out=["bad"])["good"][1:3] == (0.0, 1 / 7)
    assert read_columns(path, only=["good"])["good"][1:3] == (0.0, 1 / 7)


def test_names_with_points_in_parquet(tmp_path: Path) -> None:
    """For Parquet a point in a name may mean a part of a record."""
    path = write(pa.table({"a": [1], "a.b": [2], "a.b.c": [3]}), tmp_path / "data.parquet")
    for name, value in (("a", 1), ("a.b", 2), ("a.b.c", 3)):
        assert read_columns(path, only=[name]) == {name: ("whole", value)}


def test_a_mark_without_its_pair_in_a_column_that_is_left_out(tmp_path: Path) -> None:
    path = write_bytes(tmp_path / "data.csv", 'a,b\n1,2\n3,"x\n5,6\n7,8\n')
    assert "a quotation mark in line 3" in failure(path, leave_out=["b"])


def test_no_column_at_all(tmp_path: Path) -> None:
    for suffix in (".csv", ".parquet", ".arrow"):
        table = read_table(write(MIXED, tmp_path / f"data{suffix}"), only=[])
        assert (table.columns, table.n_rows) == ({}, 5)
