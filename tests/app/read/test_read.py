"""Tables from files: every format gives the same table, and damage is told in one line."""

from __future__ import annotations

import datetime
import decimal
import itertools
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file

from internals import InputError, Numbers, Texts, read_table
from table_files import (
    MIXED,
    PACKERS,
    columns_of,
    failure,
    ipc_bytes,
    plain,
    read_columns,
    write,
    write_bytes,
)

EXPECTED = {
    "length": ("number", 1.5, None, -2e300, 0.1, np.inf),
    "count": ("whole", 3, -1, None, 0, 2**40),
    "used": ("flag", 1, 0, None, 1, 1),
    'colour, and "more"': ("text", "red", None, "grün, hell", 'say "hi"', "red"),
    "zip": ("text", "01234", "10000", "01234", None, "7"),
    "nothing": ("number", *[None] * 5),
}
ALL_SUFFIXES = [
    *(".csv", ".tsv", ".tab", ".txt", ".csv.gz", ".txt.bz2", ".tsv.xz", ".csv.zst"),
    *(".parquet", ".pq", ".feather", ".arrow", ".ipc"),
]
DAMAGEABLE = [*ALL_SUFFIXES, ".svm", ".svmlight.gz", ".npz"]


def write_any(path: Path) -> Path:
    """A small file in any format, matrices included."""
    X = np.random.default_rng(3).random((40, 3))
    if ".npz" in path.name:
        np.savez(path, X=X, y=np.arange(40))
    elif ".svm" in path.name:
        dump_svmlight_file(X, np.arange(40) % 2, str(path.with_suffix("")))
        content = path.with_suffix("").read_bytes()
        path.write_bytes(PACKERS[path.suffix](content) if path.suffix in PACKERS else content)
    else:
        write(pa.table({"a": X[:, 0], "b": [f"text {row % 7}" for row in range(40)]}), path)
    return path


@pytest.mark.parametrize("suffix", ALL_SUFFIXES)
def test_every_format_gives_the_same_table(suffix: str, tmp_path: Path) -> None:
    path = write(MIXED, tmp_path / f"data{suffix}")
    table = read_table(path, as_text=["zip", "is not there"])
    assert columns_of(table) == EXPECTED
    assert list(table.columns) == list(EXPECTED)
    assert table.source == str(path)
    assert table.n_rows == 5
    assert table.target is None


@pytest.mark.parametrize("name", ["DATA.CSV", "data.v2.Parquet", "a b.Txt.GZ", "ünï.Feather"])
def test_suffixes_in_any_case(name: str, tmp_path: Path) -> None:
    lower = write(MIXED, tmp_path / name.lower().replace(".v2", ""))
    lower.rename(tmp_path / name)
    assert read_columns(tmp_path / name, as_text=["zip"]) == EXPECTED


@pytest.mark.parametrize("name", ["data", "data.json", "data.gz", "data.parquet.gz", ".csv.zip"])
def test_unknown_suffix(name: str, tmp_path: Path) -> None:
    message = failure(write_bytes(tmp_path / name, "a,b\n1,2\n"))
    for suffix in (*ALL_SUFFIXES[:4], ".gz", ".zst", ".parquet", ".feather", ".libsvm", ".npz"):
        assert suffix in message


def test_a_sheet_is_to_be_saved_as_csv(tmp_path: Path) -> None:
    assert "as .xlsx or CSV" in failure(write_bytes(tmp_path / "data.xls", b"PK"))


def test_what_is_no_file(tmp_path: Path) -> None:
    assert "No such file" in failure(tmp_path / "missing.csv")
    assert "No such file" in failure(Path("-"))
    (tmp_path / "folder.csv").mkdir()
    assert "is a directory" in failure(tmp_path / "folder.csv")
    os.mkfifo(tmp_path / "pipe.csv")
    assert "not a regular file" in failure(tmp_path / "pipe.csv")
    with pytest.raises(InputError, match="null"):
        read_table("nul\0.csv")


def test_no_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_bytes(tmp_path / "secret.csv", "a,b\n1,2\n")

    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)  # root may open everything
    assert "Permission denied" in failure(path)


def test_a_name_with_a_line_break(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"two\\nlines\.csv: is empty") as caught:
        read_table(write_bytes(tmp_path / "two\nlines.csv", b""))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("suffix", DAMAGEABLE)
def test_empty_files(suffix: str, tmp_path: Path) -> None:
    assert "is empty" in failure(write_bytes(tmp_path / f"data{suffix}", b""))


@pytest.mark.parametrize("suffix", [*ALL_SUFFIXES, ".npz", ".svm"])
def test_files_without_rows(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"data{suffix}"
    if suffix == ".npz":
        np.savez(path, X=np.empty((0, 3)))
    elif suffix == ".svm":
        path.write_bytes(b"# only a comment\n")
    else:
        write(MIXED.slice(0, 0), path)
    assert "no rows" in failure(path)


@pytest.mark.parametrize("suffix", DAMAGEABLE)
def test_truncated_files(suffix: str, tmp_path: Path) -> None:
    path = write_any(tmp_path / f"data{suffix}")
    whole = path.read_bytes()
    is_plain = suffix in (".csv", ".tsv", ".tab", ".txt", ".svm", ".ipc")
    for length in np.linspace(1, len(whole) - 1, 23).astype(int):
        path.write_bytes(whole[:length])
        try:
            n_rows = read_table(path).n_rows
        except InputError:
            failure(path)
        else:  # text may be cut where nobody can see it
            assert is_plain
            assert n_rows <= 40


@pytest.mark.parametrize("suffix", DAMAGEABLE)
def test_random_bytes(suffix: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    for length in (1, 2, 3, 10, 100, 1000, 10_000):
        failure(write_bytes(tmp_path / f"data{suffix}", b"\xff\0" + rng.bytes(length)))


@pytest.mark.parametrize("suffix", DAMAGEABLE)
def test_changed_bytes(suffix: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    path = write_any(tmp_path / f"data{suffix}")
    whole = path.read_bytes()
    for _ in range(40):
        changed = bytearray(whole)
        for place in rng.integers(len(whole), size=rng.integers(1, 5)):
            changed[place] = rng.integers(256)
        path.write_bytes(changed)
        try:
            assert read_table(path).n_rows > 0
        except InputError:
            failure(path)


@pytest.mark.parametrize("suffix", DAMAGEABLE)
def test_a_picture_under_another_name(suffix: str, tmp_path: Path) -> None:
    picture = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\2\0\0\0\x90wS\xde"
    failure(write_bytes(tmp_path / f"data{suffix}", picture))


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow"])
def test_without_pyarrow(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(MIXED, tmp_path / f"data{suffix}")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pip install 'greedyrls[cli]'" in failure(path)


DAY = datetime.date(2024, 2, 29)
NOON = datetime.datetime(2024, 2, 29, 12)
ARROW_COLUMNS: list[tuple[pa.Array, tuple[Any, ...]]] = [
    (pa.array([1, None, 3], pa.uint64()), ("whole", 1, None, 3)),
    (pa.array([2**63, 0, 1], pa.uint64()), ("whole", 2.0**63, 0, 1)),
    (pa.array([1, None, -3], pa.int8()), ("whole", 1, None, -3)),
    (pa.array(np.array([1.5, 2, np.nan], np.float16)), ("number", 1.5, 2, None)),
    (pa.array([1.5, 2, None], pa.float32()), ("number", 1.5, 2, None)),
    (pa.array([1.0, np.nan, None]), ("whole", 1, None, None)),
    (pa.array([1.0, np.inf, -np.inf]), ("number", 1, np.inf, -np.inf)),
    (pa.array([decimal.Decimal("1.25"), None, decimal.Decimal("3")]), ("number", 1.25, None, 3)),
    (pa.array([True, None, False]), ("flag", 1, None, 0)),
    (pa.nulls(3), ("number", None, None, None)),
    (pa.array(["b", "", None], pa.large_string()), ("text", "b", None, None)),
    (pa.array(["b", "a", "b"], pa.string_view()), ("text", "b", "a", "b")),
    (pa.array(["b", None, "a"]).dictionary_encode(), ("text", "b", None, "a")),
    (
        pa.DictionaryArray.from_arrays(pa.array([0, 2, None], pa.uint8()), ["z", "unused", "a"]),
        ("text", "z", "a", None),
    ),
    (pa.array(["b", None, "a"], pa.large_string()).dictionary_encode(), ("text", "b", None, "a")),
    (pa.array([3, None, 1]).dictionary_encode(), ("whole", 3, None, 1)),
    (pa.array([DAY, None, DAY]), ("unusable", "dates")),
    (pa.array([NOON, None, NOON]), ("unusable", "dates")),
    (pa.array([NOON] * 3, pa.timestamp("us", "Europe/Berlin")), ("unusable", "dates")),
    (pa.array([NOON.time()] * 3), ("unusable", "times of day")),
    (pa.array([NOON - NOON] * 3), ("unusable", "durations")),
    (pa.array([[1], None, []]), ("unusable", "lists")),
    (pa.array([[1, 2]] * 3, pa.list_(pa.int8(), 2)), ("unusable", "lists")),
    (pa.array([{"a": 1}] * 3), ("unusable", "records")),
    (pa.array([[("a", 1)]] * 3, pa.map_(pa.string(), pa.int8())), ("unusable", "records")),
    (pa.array([b"\xff"] * 3), ("unusable", "bytes")),
    (pa.array([b"\xff"] * 3, pa.binary(1)), ("unusable", "bytes")),
    (pa.array([b"\xff" * 16] * 3, pa.uuid()), ("unusable", "values of type extension<arrow.uuid>")),
]


@pytest.mark.parametrize("suffix", [".arrow", ".parquet"])
@pytest.mark.parametrize(("array", "expected"), ARROW_COLUMNS, ids=lambda one: str(one)[:30])
def test_arrow_types(array: Any, expected: Any, suffix: str, tmp_path: Path) -> None:
    try:
        path = write(pa.table({"a": array, "b": [1, 2, 3]}), tmp_path / f"data{suffix}")
    except pa.ArrowNotImplementedError:
        assert (suffix, array.type) == (".parquet", pa.string_view())
        pytest.skip("pyarrow before 21 does not write views of strings to Parquet")
    assert read_columns(path) == {"a": expected, "b": ("whole", 1, 2, 3)}


def test_run_ends(tmp_path: Path) -> None:
    array = pa.RunEndEncodedArray.from_arrays([2, 3], [7.0, None])
    path = write(pa.table({"a": array}), tmp_path / "data.arrow")
    assert read_columns(path) == {"a": ("whole", 7, 7, None)}


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (pa.array([2**53 + 1, None, 7]), (str(2**53 + 1), None, "7")),
        (pa.array([1.0, np.nan, 2.5]), ("1", None, "2.5")),
        (pa.array([True, None, False]), ("true", None, "false")),
        (pa.array([decimal.Decimal("1.50")] * 3), ("1.50",) * 3),
        (pa.array([DAY] * 3), ("2024-02-29",) * 3),
        (pa.array([3, None, 1]).dictionary_encode(), ("3", None, "1")),
        (pa.array(["NA", " a", "?"]), ("NA", " a", "?")),
        (pa.nulls(3), (None, None, None)),
    ],
)
def test_anything_as_text(array: Any, expected: Any, tmp_path: Path) -> None:
    path = write(pa.table({"a": array}), tmp_path / "data.arrow")
    assert read_columns(path, as_text=["a"]) == {"a": ("text", *expected)}


def test_lists_are_no_text(tmp_path: Path) -> None:
    path = write(pa.table({"a": [[1]]}), tmp_path / "data.arrow")
    assert read_columns(path, as_text=["a"]) == {"a": ("unusable", "lists")}


@pytest.mark.parametrize("suffix", [".arrow", ".ipc"])
def test_many_batches(suffix: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    numbers = rng.standard_normal(1000)
    values = pa.array(numbers, mask=rng.random(1000) < 0.1)
    texts = pa.array([None, "b", "a", "c"]).take(pa.array(rng.integers(4, size=1000)))
    whole = pa.array(rng.integers(9, size=1000))
    frame = pa.table({"v": values, "f": numbers, "t": texts, "w": whole})
    path = tmp_path / f"data{suffix}"
    path.write_bytes(ipc_bytes(frame, suffix == ".ipc", 37))
    assert read_columns(path) == {
        "v": ("number", *values.to_pylist()),
        "f": ("number", *numbers.tolist()),
        "t": ("text", *texts.to_pylist()),
        "w": ("whole", *whole.to_pylist()),
    }
    as_text = read_columns(path, as_text=["w", "f"])
    assert as_text["w"] == ("text", *map(str, whole.to_pylist()))
    assert as_text["f"][0] == "text"
    assert [float(text) for text in as_text["f"][1:]] == numbers.tolist()


def test_batches_with_dictionaries_of_their_own(tmp_path: Path) -> None:
    parts = [pa.array(["b", "a"]), pa.array(["c", "b", None])]
    column = pa.chunked_array([part.dictionary_encode() for part in parts])
    path = tmp_path / "data.arrow"
    path.write_bytes(ipc_bytes(pa.table({"a": column}), is_stream=True))
    assert read_columns(path) == {"a": ("text", "b", "a", "c", "b", None)}


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_row_names_of_pandas_are_dropped(suffix: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1.5, 2.5], "b": ["x", "y"]}, index=[7, 9])
    path = tmp_path / f"data{suffix}"
    write(pa.Table.from_pandas(frame, preserve_index=True), path)
    assert "__index_level_0__" in pa.Table.from_pandas(frame, preserve_index=True).column_names
    assert read_columns(path) == {"a": ("number", 1.5, 2.5), "b": ("text", "x", "y")}


def test_frames_of_pandas(tmp_path: Path) -> None:
    texts = ["x", None, "y", "x"]
    frame = pd.DataFrame(
        {
            "a": pd.array([1, None, 3, 4], dtype="Int64"),
            "b": [1.5, None, 3, 4],
            "c": pd.Categorical(texts),
            "d": pd.array([True, None, False, True], dtype="boolean"),
        }
    )
    expected = {
        "a": ("whole", 1, None, 3, 4),
        "b": ("number", 1.5, None, 3, 4),
        "c": ("text", *texts),
        "d": ("flag", 1, None, 0, 1),
    }
    frame.to_parquet(tmp_path / "pandas.parquet")
    assert read_columns(tmp_path / "pandas.parquet") == expected
    frame.to_feather(tmp_path / "pandas.feather")
    assert read_columns(tmp_path / "pandas.feather") == expected
    frame.to_csv(tmp_path / "pandas.csv", index=False)
    assert read_columns(tmp_path / "pandas.csv") == expected


def test_frames_of_polars(tmp_path: Path) -> None:
    texts = ["x", None, "y", "x"]
    frame = pl.DataFrame(
        {"a": [1, None, 3, 4], "b": [0.5, None, 3, 4], "c": texts, "d": [True, None, False, True]}
    ).with_columns(pl.col("c").cast(pl.Categorical).alias("e"))
    expected = {
        "a": ("whole", 1, None, 3, 4),
        "b": ("number", 0.5, None, 3, 4),
        "c": ("text", *texts),
        "d": ("flag", 1, None, 0, 1),
        "e": ("text", *texts),
    }
    frame.write_parquet(tmp_path / "data.parquet")
    assert read_columns(tmp_path / "data.parquet") == expected
    frame.write_ipc(tmp_path / "data.arrow")
    assert read_columns(tmp_path / "data.arrow") == expected
    frame.write_csv(tmp_path / "data.csv")
    assert read_columns(tmp_path / "data.csv") == expected


def test_folders_named_like_partitions_add_no_columns(tmp_path: Path) -> None:
    folder = tmp_path / "year=2024"
    folder.mkdir()
    assert list(read_columns(write(MIXED, folder / "data.parquet"))) == list(EXPECTED)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["a", "b", "a"], ["a", "b", "a (2)"]),
        (["a", " a ", "b"], ["a", "a (2)", "b"]),
        (["a", "b", " "], ["a", "b", "column 3"]),
    ],
)
def test_names_in_stores(names: list[str], expected: list[str], tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array([value]) for value in (1.0, 2.0, 3.0)], names=names)
    files = [
        write(table, tmp_path / f"data{suffix}") for suffix in (".arrow", ".ipc", ".csv", ".pq")
    ]
    np.savez(tmp_path / "data.npz", X=np.array([[1.0, 2.0, 3.0]]), names=names)
    for file in (*files, tmp_path / "data.npz"):
        found = read_columns(file)
        assert list(found) == expected
        assert list(found.values()) == [("whole", 1), ("whole", 2), ("whole", 3)]
        for place, name in enumerate(expected):
            assert read_columns(file, only=[name]) == {name: ("whole", place + 1)}
            assert name not in read_columns(file, leave_out=[name])


def test_text_that_is_not_utf8_in_a_store(tmp_path: Path) -> None:
    bad = pa.array([b"\xff\xfe"]).view(pa.string())
    for suffix in (".arrow", ".parquet"):
        assert "UTF8" in failure(write(pa.table({"a": bad}), tmp_path / f"data{suffix}"))


def test_columns_of_parquet_are_not_copied_when_they_need_not_be(tmp_path: Path) -> None:
    path = write(pa.table({"a": np.arange(1000) / 7}), tmp_path / "data.parquet")
    column = read_table(path).column("a")
    assert isinstance(column, Numbers)
    assert not column.values.flags.owndata


@given(
    st.lists(
        st.lists(st.one_of(st.none(), st.text(max_size=3)), min_size=4, max_size=4), max_size=3
    )
)
def test_texts_are_kept_whatever_they_are(columns: list[list[str | None]]) -> None:
    from internals import column_of

    for texts in columns:
        encodable = [text and text.encode(errors="ignore").decode() for text in texts]
        array = pa.chunked_array([encodable[:1], encodable[1:]], pa.string())
        expected = ("text", *(text or None for text in encodable))
        for one, as_text in itertools.product([array, array.dictionary_encode()], [True, False]):
            column = column_of(one, as_text)
            assert isinstance(column, Texts)
            assert plain(column) == expected
