"""JSON lines, standard input and folders of Parquet files."""

from __future__ import annotations

import bz2
import datetime
import gzip
import hashlib
import io
import json
import lzma
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("click")

from command_line import QUICK, CommandLine  # noqa: E402
from format_files import csv_of, failure, rows_of, sheet, values_of  # noqa: E402
from internals import (  # noqa: E402
    FORMATS,
    OPTION_FORMATS,
    Dates,
    Numbers,
    Unusable,
    read_table,
)

# JSON lines.

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
        ('{"a": 1}\n{"a": 2\n', "line 2 is no JSON object"),
        ('{"a": 1}\n\n[1, 2]\n', "line 3 is '[1, 2]', not an object"),
        ('{"a": 1, "a": 2}\n', "the key 'a' is there more than once"),
        ('{"a": ' + "[" * 100_000 + "\n", "line 1 is no JSON object"),
        ('{"a": ' + "9" * 5000 + "}\n", "line 1 is no JSON object"),
        ("\n\n", "only blank lines"),
        ("{}\n{}\n", "have no keys"),
        ('{"a": "\udcff"}\n', "is no text in the encoding utf-8"),
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


def test_texts_of_dates_in_any_format(tmp_path: Path, cli: CommandLine) -> None:
    """More of them than a text column may have, and still no reason to stop."""
    names, rows = rows_of(60)
    first = datetime.date(2024, 2, 29)
    days = [str(first + datetime.timedelta(row)) for row in range(60)]
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    pq.write_table(pa.table({**columns, "day": days}), tmp_path / "t.parquet")
    found = cli.result(tmp_path / "t.parquet", "-t", "y", *QUICK)
    assert found.data.notes == (
        "Left out, as dates: 'day'. To use year, month, weekday and elapsed days, pass --dates "
        "day.",
    )
    dated = cli.result(tmp_path / "t.parquet", "-t", "y", *QUICK, "--dates", "day")
    assert "'day' is used by its year" in dated.data.notes[0]


# Standard input.


def pipe(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def test_standard_input(tmp_path: Path, cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    content = csv_of().encode()
    file = tmp_path / "t.csv"
    file.write_bytes(content)
    expected = cli.result(file, "-t", "y", *QUICK)
    for piped in (content, gzip.compress(content)):
        pipe(monkeypatch, piped)
        found = cli.result("-", "-t", "y", *QUICK)
        assert found.data.file == "standard input"
        assert found.data.sha256 == hashlib.sha256(piped).hexdigest()
        assert found.data.n_bytes == len(piped)
        assert found.model() == expected.model()
    pipe(monkeypatch, b"")
    assert "standard input: is empty" in cli.refusal("select", "-", "-t", "y")
    pipe(monkeypatch, content)
    assert "standard input has no column 'z'" in cli.refusal("select", "-", "-t", "z")


def test_standard_input_of_other_formats(
    tmp_path: Path, cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    names, rows = rows_of()
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    sheet(tmp_path / "t.xlsx", [names, *rows])
    contents = {
        "tsv": csv_of().replace(",", "\t").encode(),
        "jsonl": "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows),
        "parquet": (tmp_path / "t.parquet").read_bytes(),
        "excel": (tmp_path / "t.xlsx").read_bytes(),
    }
    models = []
    for name, content in contents.items():
        plain = content if isinstance(content, bytes) else content.encode()
        pipe(monkeypatch, plain)
        models.append(cli.result("-", "-t", "y", *QUICK, "--format", name).model())
    assert models == models[:1] * len(models)


@pytest.mark.slow
def test_standard_input_of_a_process(tmp_path: Path, cli: CommandLine) -> None:
    import subprocess

    model = tmp_path / "out"
    (tmp_path / "t.csv").write_text(csv_of())
    cli.fine("select", tmp_path / "t.csv", "-t", "y", *QUICK, "--out", model, "-q")
    command = [sys.executable, "-m", "greedyrls", "predict", str(model / "model.json"), "-"]
    found = subprocess.run(command, input=csv_of(), capture_output=True, text=True, check=True)
    assert found.stdout.startswith("prediction\n")
    assert found.stdout.count("\n") == 41


def test_a_terminal_has_no_data(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe(monkeypatch, b"")
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    assert "standard input has no data" in cli.refusal("select", "-", "-t", "y")


def test_a_format_may_be_told(tmp_path: Path) -> None:
    path = tmp_path / "data.log"
    path.write_text(csv_of())
    assert "or pass --format" in failure(path)
    assert read_table(path, format="csv").n_rows == 40
    (tmp_path / "d.json").write_text('{"a": 1}\n{"a": 2}\n')
    assert "Pass --format jsonl if each line is an object" in failure(tmp_path / "d.json")
    assert read_table(tmp_path / "d.json", format="jsonl").n_rows == 2
    packed = tmp_path / "d.json.gz"
    packed.write_bytes(gzip.compress(b'{"a": 1}\n'))
    assert read_table(packed, format="jsonl").n_rows == 1
    assert "--format 'doc' is not known" in failure(path, format="doc")
    assert tuple(FORMATS) == OPTION_FORMATS


# Folders of Parquet files.


def part(path: Path, **columns: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)
    return path


def test_a_folder_of_parquet_files(tmp_path: Path) -> None:
    files = [
        part(tmp_path / "year=2023/city=S%C3%A3o%20Paulo/b.parquet", x=[3.0], y=[1]),
        part(tmp_path / "year=2022/city=Rio/a.parquet", x=[1.0, 2.0], y=[1, 2]),
        part(
            tmp_path / "year=2024/city=__HIVE_DEFAULT_PARTITION__/c.pq",
            y=[4],
            x=pa.array([None], pa.null()),
        ),
    ]
    for name in ("_SUCCESS", ".part.crc", "_metadata", "notes.txt", "_temporary/x.parquet"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("nothing")
    table = read_table(tmp_path)
    assert table.notes == ("Read 3 Parquet files.",)
    assert values_of(table.columns["x"]) == [1, 2, 3, None]
    assert values_of(table.columns["y"]) == [1, 2, 1, 4]
    assert values_of(table.columns["year"]) == [2022, 2022, 2023, 2024]
    assert values_of(table.columns["city"]) == ["Rio", "Rio", "São Paulo", None]
    assert values_of(read_table(tmp_path, as_text=["year"]).columns["year"])[0] == "2022"
    assert read_table(tmp_path, format="parquet").n_rows == 4
    assert "--format csv is of single files" in failure(tmp_path, format="csv")
    files[0].write_bytes(files[0].read_bytes()[:-10])
    assert "city=S%C3%A3o%20Paulo/b.parquet cannot be read" in failure(tmp_path)


def test_folders_whose_files_differ(tmp_path: Path) -> None:
    assert "is a directory without Parquet files" in failure(tmp_path)
    part(tmp_path / "a.parquet", x=[1.0], y=[1])
    part(tmp_path / "b.parquet", x=["text"], y=[1])
    message = failure(tmp_path)
    assert "column 'x' differs between a.parquet and b.parquet: double in the first" in message
    assert "string in the second" in message
    part(tmp_path / "b.parquet", y=[1])
    message = failure(tmp_path)
    assert "of a.parquet and b.parquet only the first has a column 'x'" in message
    part(tmp_path / "b.parquet", x=[1.0], y=[1], z=[1])
    assert "only the second has a column 'z'" in failure(tmp_path)
    (tmp_path / "b.parquet").unlink()
    part(tmp_path / "k=1/b.parquet", x=[1.0], y=[1])
    assert "in folders of different partitions (none; 'k')" in failure(tmp_path)
    (tmp_path / "a.parquet").unlink()
    part(tmp_path / "k=1/b.parquet", k=[1.0], y=[1])
    assert "has a column 'k', and its folder is a partition" in failure(tmp_path)


def test_a_folder_on_the_command_line(tmp_path: Path, cli: CommandLine) -> None:
    names, rows = rows_of()
    folder = tmp_path / "data"
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    whole = pa.table(columns)
    files = []
    for number in range(2):
        half = whole.slice(20 * number, 20)
        files.append(part(folder / f"{number}.parquet", **{name: half[name] for name in names}))
    pq.write_table(whole, tmp_path / "whole.parquet")
    found = cli.result(folder, "-t", "y", *QUICK)
    assert found.model() == cli.result(tmp_path / "whole.parquet", "-t", "y", *QUICK).model()
    content = b"".join(file.read_bytes() for file in files)
    assert (found.data.file, found.data.n_bytes) == ("data", len(content))
    assert found.data.sha256 == hashlib.sha256(content).hexdigest()
