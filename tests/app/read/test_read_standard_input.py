"""Tables from standard input, and formats that are told rather than taken from a file's name."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import sys
from pathlib import Path

import pytest

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("click")

from command_line import QUICK, CommandLine  # noqa: E402
from format_files import csv_of, failure, rows_of, sheet  # noqa: E402
from internals import (  # noqa: E402
    FORMATS,
    OPTION_FORMATS,
    read_table,
)


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
    assert "--format 'doc' is not supported" in failure(path, format="doc")
    assert tuple(FORMATS) == OPTION_FORMATS
