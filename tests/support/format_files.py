"""Small files of several formats, and what is read of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from internals import InputError, Numbers, Texts, read_table
from small_tables import signal


def failure(path: Path, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        read_table(path, **options)
    message = str(caught.value)
    assert message.isprintable()
    return message


def values_of(column: Any) -> list[Any]:
    if isinstance(column, Texts):
        return column.strings()
    assert isinstance(column, Numbers)
    return [None if value != value else value for value in column.values.tolist()]


def sheet(path: Path, rows: list[list[Any]], title: str = "Data", *others: str) -> Path:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.title = title
    for row in rows:
        book.active.append(row)
    for name in others:
        book.create_sheet(name).append([f"of {name}"])
    book.save(path)
    return path


def rows_of(m: int = 40) -> tuple[list[str], list[list[Any]]]:
    X, y = signal(m, 2)
    city = ["Oslo" if row % 3 else "Bergen" for row in range(m)]
    return ["a", "b", "city", "y"], [
        [round(float(a), 6), round(float(b), 6), text, round(float(target), 6)]
        for (a, b), text, target in zip(X, city, y, strict=True)
    ]


def csv_of(m: int = 40) -> str:
    names, rows = rows_of(m)
    lines = [",".join(names), *(",".join(map(str, row)) for row in rows)]
    return "\n".join(lines) + "\n"
