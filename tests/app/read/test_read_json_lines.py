"""JSON lines: objects, nested ones too, and lines that are none."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("click")

from command_line import CommandLine  # noqa: E402
from format_files import failure, values_of  # noqa: E402
from internals import (  # noqa: E402
    Dates,
    Numbers,
    Unusable,
    read_table,
)

LINES = """\
{"a": 1, "b": "x", "deep": {"k": 1}, "when": "2024-01-31T10:00:00+02:00"}
{"a": null, "c": true, "b": "", "deep": null, "code": "007"}\r

{"b": "y", "a": 2.5, "list": [1], "c": false, "code": "012", "when": "2024-02-01"}
"""


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz", ".zst"])
def test_json_lines(tmp_path: Path, suffix: str) -> None:
    content = ("\ufeff" + LINES).encode()
    pack = {
        "": bytes,
        ".gz": gzip.compress,
        ".bz2": bz2.compress,
        ".xz": lzma.compress,
        ".zst": lambda data: pa.compress(data, "zstd", asbytes=True),
    }
    path = tmp_path / f"t.jsonl{suffix}"
    path.write_bytes(pack[suffix](content))
    table = read_table(path, as_dates=["when"])
    assert table.n_rows == 3
    assert list(table.columns) == ["a", "b", "deep.k", "when", "c", "code", "list"]
    assert values_of(table.columns["a"]) == [1, None, 2.5]
    assert values_of(table.columns["b"]) == ["x", None, "y"]
    assert values_of(table.columns["c"]) == [None, 1, 0]
    assert values_of(table.columns["code"]) == [None, "007", "012"]  # texts stay texts
    assert isinstance(table.columns["deep.k"], Numbers)
    assert table.columns["list"] == Unusable("lists")
    when = table.columns["when"]
    assert isinstance(when, Dates)
    assert when.moments.astype("M8[h]").astype(str).tolist() == [
        *("2024-01-31T08", "NaT", "2024-02-01T00"),
    ]
    assert read_table(path).columns["when"] == Unusable("dates")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1}\n{"a": 2\n', "line 2 is not a JSON object"),
        ('{"a": 1}\n\n[1, 2]\n', "line 3 is '[1, 2]', not an object"),
        ('{"a": 1, "a": 2}\n', "the key 'a' appears more than once"),
        ('{"a": ' + "[" * 100_000 + "\n", "line 1 is not a JSON object"),
        ('{"a": ' + "9" * 5000 + "}\n", "line 1 is not a JSON object"),
        ("\n\n", "only blank lines"),
        ("{}\n{}\n", "have no keys"),
        ('{"a": "\udcff"}\n', "is not text in the encoding utf-8"),
    ],
)
def test_json_lines_that_are_none(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "t.ndjson"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert message in failure(path)


def test_objects_in_objects_are_columns(cli: CommandLine, tmp_path: Path) -> None:
    rows: list[Any] = [
        {"user": {"age": row, "home": {"city": "ab"[row % 2]}}, "tags": [row], "y": 2.0 * row + 1}
        for row in range(40)
    ]
    rows[3]["user"] = None
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    table = read_table(path)
    assert list(table.columns) == ["user.age", "user.home.city", "tags", "y"]
    assert values_of(table.columns["user.age"])[2:5] == [2, None, 4]
    out = tmp_path / "out"
    options = ("-k", "1", "--alpha", "1", "--impute", "median", "--out", out, "-q")
    assert cli("select", path, "-t", "y", *options).code == 0
    ended = cli("predict", out, path, "--all-columns")
    assert ended.out.splitlines()[0] == "user.age,user.home.city,tags,y,prediction"
    assert ended.out.splitlines()[1].startswith("0,a,[0],1,")


def test_json_lines_are_read_as_other_tables(tmp_path: Path) -> None:
    """Names, mistakes among numbers, and columns that are left out, as in a CSV file."""
    path = tmp_path / "t.ndjson"
    rows = [{"": row, "a": 3, " b": 1.5, "junk": {"x": 1}} for row in range(30)]
    rows[4]["a"] = "x1"
    path.write_text("\n".join(map(json.dumps, rows)))
    table = read_table(path, leave_out=["junk.x"])
    assert list(table.columns) == ["a", "b"]
    assert table.all_names == ("column 1", "a", "b", "junk.x")
    damaged = table.columns["a"]
    assert isinstance(damaged, Unusable)
    assert damaged.why == "has numbers in 97% of its cells, but 'x1' in row 5"
    assert isinstance(read_table(path, missing=["x1"]).columns["a"], Numbers)
    assert any("row names" in note for note in table.notes)


def test_whole_numbers_of_any_size(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": %s, "b": NaN}\n{"a": -3, "b": 1}\n' % ("9" * 400))
    columns = read_table(path).columns
    assert values_of(columns["a"]) == [np.inf, -3]  # refused by prepare, which names the row
    assert values_of(columns["b"]) == [None, 1]
    wide = "".join(json.dumps({f"k{row}": 1}) + "\n" for row in range(50))
    path.write_text(wide)
    assert "50 different keys, too many" in failure(path, matrix_limit=1000)
