"""Tables from folders of Parquet files: partitions, files that differ."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("click")

from command_line import QUICK, CommandLine  # noqa: E402
from format_files import failure, rows_of, values_of  # noqa: E402
from internals import read_table  # noqa: E402


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
    assert "--format csv reads single files" in failure(tmp_path, format="csv")
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
