"""Matrices from files: svmlight and the archives of NumPy."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from internals import Numbers, read_table
from table_files import PACKERS, columns_of, failure, read_columns, write_bytes


@pytest.mark.parametrize("suffix", [".svm", ".svmlight", ".libsvm.gz", ".svm.bz2", ".SVM.xz"])
def test_svmlight(suffix: str, tmp_path: Path) -> None:
    content = b"1 1:0.5 3:2\n-1 2:1e3 # a comment\n1 3:-4\n"
    path = tmp_path / f"data{suffix}"
    path.write_bytes(PACKERS[path.suffix](content) if path.suffix in PACKERS else content)
    table = read_table(path)
    assert columns_of(table) == {
        "target": ("whole", 1, -1, 1),
        "x1": ("number", 0.5, 0, 0),
        "x2": ("whole", 0, 1000, 0),
        "x3": ("whole", 2, 0, -4),
    }
    assert table.target == "target"
    assert read_columns(path, as_text=["target"])["target"] == ("text", "1", "-1", "1")


def test_svmlight_from_zero_with_queries(tmp_path: Path) -> None:
    path = write_bytes(tmp_path / "data.svm", b"1.5 qid:7 0:1\n2 qid:7 1:1\n0 qid:8 0:3\n")
    assert read_columns(path) == {
        "target": ("number", 1.5, 2, 0),
        "qid": ("whole", 7, 7, 8),
        "x0": ("whole", 1, 0, 3),
        "x1": ("whole", 0, 1, 0),
    }
    assert "2 of 3 rows" in failure(write_bytes(path, b"1 qid:7 1:1\n2 1:1\n3 qid:1 1:1\n"))


def test_svmlight_that_would_be_too_large(tmp_path: Path) -> None:
    path = write_bytes(tmp_path / "data.svm", b"1 1:1\n0 1000000000:1\n")
    message = failure(path)
    assert "14.90 GiB" in message
    assert "takes a sparse X as it is" in message
    write_bytes(path, b"1 1:1\n0 4:1\n")
    assert len(read_columns(path, matrix_limit=64)) == 5
    assert "GiB" in failure(path, matrix_limit=63)


def test_svmlight_with_words(tmp_path: Path) -> None:
    assert "'spam'" in failure(write_bytes(tmp_path / "data.svm", b"1 1:1\nspam 1:1\n"))


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz(save: Any, tmp_path: Path) -> None:
    path = tmp_path / "data.npz"
    X = np.array([[1.5, 2, np.nan], [3, 4, 5]])
    save(path, X=X, y=np.array([1, 0]), group=np.array(["b", ""]), skipped=np.arange(7), zero=3.0)
    table = read_table(path)
    assert columns_of(table) == {
        "x0": ("number", 1.5, 3),
        "x1": ("whole", 2, 4),
        "x2": ("whole", None, 5),
        "y": ("whole", 1, 0),
        "group": ("text", "b", None),
    }
    assert table.target == "y"
    columns = [table.column(f"x{index}") for index in range(3)]
    values = [column.values for column in columns if isinstance(column, Numbers)]
    assert len(values) == 3
    assert all(np.shares_memory(each, values[0].base) for each in values)


@pytest.mark.parametrize("key", ["feature_names", "names"])
@pytest.mark.parametrize("kind", ["U3", "S3"])
def test_names_in_npz(key: str, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "data.npz"
    np.savez(path, **{"data": np.eye(2), key: np.array(["b", " a"], kind)})
    table = read_table(path)
    assert list(table.columns) == ["b", "a"]
    assert table.target is None
    np.savez(path, **{"data": np.eye(2), key: np.array(["b", "a", "c"])})
    assert "3 names for 2 columns" in failure(path)


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (np.array([True, False]), ("flag", 1, 0)),
        (np.array([1, 2], ">i2"), ("whole", 1, 2)),
        (np.array([1.5, 2], ">f8"), ("number", 1.5, 2)),
        (np.array([1.5, 2], np.longdouble), ("number", 1.5, 2)),
        (np.array([[1], [2]]), ("whole", 1, 2)),
        (np.array([b"a", "ü".encode()]), ("text", "a", "ü")),
        (np.array(["2024-01-01", "NaT"], "M8[D]"), ("unusable", "dates")),
        (np.array([1, 2], "m8[s]"), ("unusable", "durations")),
        (np.array([1j, 2]), ("unusable", "complex numbers")),
        (np.zeros(2, [("a", "i4")]), ("unusable", "records")),
    ],
)
def test_types_in_npz(array: Any, expected: Any, tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", X=np.eye(2, dtype=np.float32), column=array)
    assert read_columns(tmp_path / "data.npz") == {
        "x0": ("whole", 1, 0),
        "x1": ("whole", 0, 1),
        "column": expected,
    }


def test_npz_as_text(tmp_path: Path) -> None:
    np.savez(
        tmp_path / "data.npz",
        X=np.array([[1.0, 0.5], [np.nan, 1e300]]),
        id=np.array([2**53 + 1, 7]),
        flag=np.array([True, False]),
    )
    columns = read_columns(tmp_path / "data.npz", as_text=["x0", "x1", "id", "flag"])
    assert columns == {
        "x0": ("text", "1", None),
        "x1": ("text", "0.5", "1e+300"),
        "id": ("text", str(2**53 + 1), "7"),
        "flag": ("text", "true", "false"),
    }


@pytest.mark.parametrize(
    ("arrays", "expected"),
    [
        ({"a": np.eye(2), "b": np.eye(2)}, "named X, or just one matrix"),
        ({"a": np.arange(3)}, "'a' int64 (3,)"),
        ({"X": np.arange(3)}, "'X' int64 (3,)"),
        ({"X": np.array([["a"]]), "Z": np.eye(2)}, "named X"),
        ({"X": np.eye(2), "y": np.arange(3)}, "y has shape (3,), but X has 2 rows"),
        ({"X": np.eye(2), "y": np.array([{}, None])}, "'y' holds pickled objects, which are never"),
        ({"X": np.eye(2), "b": np.array([b"\xff", b"a"])}, "column 'b' cannot be read"),
        ({"data": np.eye(2), "indices": np.arange(2), "indptr": np.arange(2)}, "sparse"),
        ({}, "no arrays"),
    ],
)
def test_npz_that_is_no_table(arrays: Any, expected: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", **arrays)
    assert expected in failure(tmp_path / "data.npz")


def test_npz_that_is_no_archive(tmp_path: Path) -> None:
    path = tmp_path / "data.npz"
    with path.open("wb") as file:
        np.save(file, np.eye(2))
    assert "numpy.savez" in failure(path)
    with path.open("wb") as file:
        np.save(file, np.array([{}]), allow_pickle=True)
    assert "numpy.savez" in failure(path)


@pytest.mark.parametrize("start", [b"PK", b"PK abc", b"\x80\x04K\x01.", b"\x93NUMPY\1\0"])
def test_no_advice_to_unpickle(start: bytes, tmp_path: Path) -> None:
    assert "unsafe" not in failure(write_bytes(tmp_path / "data.npz", start))


def test_no_pickle_is_run(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return (os.mkdir, (str(tmp_path / "sprung"),))

    np.savez(tmp_path / "data.npz", X=np.array([[Trap()]], dtype=object))
    assert "never loaded" in failure(tmp_path / "data.npz")
    assert not (tmp_path / "sprung").exists()
