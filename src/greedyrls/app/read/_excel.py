"""Read sheets of Excel files (.xlsx, .xlsm) with openpyxl."""

from __future__ import annotations

import re
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from ..._base import counted
from .._table import InputError, Table, listed
from ._files import Source, guarded, need, need_pyarrow, shortened, shown
from ._header import Dialect
from ._values import table_of_values, written
from ._wanted import Wanted

# Errors of formulas in Excel cells, which count as missing.
_ERRORS = frozenset(
    ("#N/A", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!", "#GETTING_DATA")
)
# A formula in the XML of a sheet, searched in overlapping parts.
_FORMULA = re.compile(rb"<(\w{1,20}:)?f[ />]")
_PART, _LONGEST_TAG = 1 << 20, 32
# Rows above a table that may be titles.
_MOST_TITLES = 10


def read_excel(
    source: Source, wanted: Wanted, dialect: Dialect, sheet: str | None, matrix_limit: int
) -> Table:
    """Read a table from a sheet; the first one unless it is named."""
    need_pyarrow(source)
    need(source, "openpyxl", "excel")
    with guarded(source, "its workbook"):
        has_formulas = _look_into(source, matrix_limit)
        with _workbook(source, has_values=True) as book:
            names = [each.title for each in book.worksheets]
            name, notes = _chosen(source, names, sheet)
            rows = _filled(_rows(book, name))
        if has_formulas:
            _check_formulas(source, name, rows)
        if not rows:
            raise InputError(f"{source}: sheet {shown(name)} is empty; name another with --sheet.")
        used = sorted({column for row in rows.values() for column in row})
        if len(used) * len(rows) * 8 > matrix_limit:
            raise InputError(
                f"{source}: sheet {shown(name)} has {len(rows)} rows and {len(used)} columns, more "
                f"than {matrix_limit / 2**30:.2f} GiB; save the sheet as CSV."
            )
        kept = list(rows.values())
        titles = dialect.skip_lines or (_titles(kept) if dialect.header else 0)
        if titles and not dialect.skip_lines:
            notes = (
                *notes,
                f"The first {counted(titles, 'row')} of the sheet, {_first(kept[0])}, taken as a "
                f"title and skipped.",
            )
        kept = kept[titles:]
        if not kept:
            raise InputError(
                f"{source}: sheet {shown(name)} has {counted(len(rows), 'row')}, all of which "
                f"--skip-lines {dialect.skip_lines} skips; pass a smaller number."
            )
        used = sorted({column for row in kept for column in row})
        head = [f"x{number}" for number in range(len(used))]
        if dialect.header:
            first = kept.pop(0)
            head = [written(first[column], ".") if column in first else "" for column in used]
        others = [other for other in names if other != name]
        table = table_of_values(
            source,
            head,
            lambda column: [_value(row.get(used[column])) for row in kept],
            len(kept),
            wanted,
            dialect,
            is_typed=False,
            notes=notes,
        )
    hint = f"This is sheet {name!r}; others are {listed(others)} (--sheet NAME)." if others else ""
    return replace(table, hint=hint)


def _titles(rows: list[dict[int, Any]]) -> int:
    """Return how many rows at the top have a single text, above a table of several columns."""
    count = 0
    for row in rows[:_MOST_TITLES]:
        if len(row) > 1 or not isinstance(next(iter(row.values())), str):
            break
        count += 1
    below = list(rows[count].values()) if count < len(rows) else []
    are_names = len(below) > 1 and all(isinstance(value, str) for value in below)
    return count if are_names else 0


def _first(row: dict[int, Any]) -> str:
    return shown(shortened(written(next(iter(row.values())), "."), 40))


def _look_into(source: Source, limit: int) -> bool:
    """Whether a sheet has formulas; fails if the archive unpacks to more than the limit."""
    try:
        with zipfile.ZipFile(source.path) as archive:
            members = archive.infolist()
            size = sum(member.file_size for member in members)
            if size > limit:
                raise InputError(
                    f"{source}: unpacks to {size / 2**30:.2f} GiB, the limit is "
                    f"{limit / 2**30:.2f} GiB; save the sheet as CSV."
                )
            sheets = [file for file in members if file.filename.startswith("xl/worksheets/")]
            return any(_has_formulas(archive, member) for member in sheets)
    except zipfile.BadZipFile as error:
        raise InputError(
            f"{source}: is not an Excel workbook (.xlsx) despite its suffix; is it protected by a "
            "password, or another kind of file?"
        ) from error


def _has_formulas(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bool:
    with archive.open(member) as file:
        before = b""
        while part := file.read(_PART):
            if _FORMULA.search(before + part):
                return True
            before = part[-_LONGEST_TAG:]
    return False


@contextmanager
def _workbook(source: Source, has_values: bool) -> Iterator[Any]:
    """Open a workbook whose sheets are read row by row, with values of formulas or formulas."""
    from openpyxl import load_workbook

    # Given a name, openpyxl would insist on a suffix that it knows.
    with source.path.open("rb") as file, warnings.catch_warnings():
        # Parts that openpyxl does not support, such as drop-down lists, hold no data.
        warnings.simplefilter("ignore")
        book = load_workbook(file, read_only=True, data_only=has_values, keep_links=False)
        try:
            yield book
        finally:
            book.close()


def _rows(book: Any, name: str) -> Iterator[tuple[Any, ...]]:
    """Return the cells of a sheet, row by row."""
    sheet = next(each for each in book.worksheets if each.title == name)
    sheet.reset_dimensions()  # the recorded size may be wrong, and huge
    return iter(sheet.iter_rows())


def _chosen(source: Source, names: list[str], sheet: str | None) -> tuple[str, tuple[str, ...]]:
    """Return the sheet to read, and notes on it."""
    if not names:
        raise InputError(f"{source}: has no sheet with cells.")
    if sheet is not None:
        if sheet not in names:
            raise InputError(f"{source}: has no sheet {shown(sheet)}; it has {listed(names)}.")
        return sheet, ()
    others = "" if len(names) == 1 else f"; others are {listed(names[1:])} (--sheet NAME)"
    notes = (f"Read the first sheet, {names[0]!r}{others}.",) if others else ()
    return names[0], notes


def _filled(rows: Iterator[tuple[Any, ...]]) -> dict[int, dict[int, Any]]:
    """Return values by row and column, without empty cells.

    A single distant cell must not create a table of millions of empty ones.
    """
    filled: dict[int, dict[int, Any]] = {}
    for number, cells in enumerate(rows, 1):
        values = {
            column: value for column, cell in enumerate(cells) if (value := _cell(cell)) is not None
        }
        if values:
            filled[number] = values
    return filled


def _cell(cell: Any) -> Any:
    """Return the value of a cell; an empty text if a formula returned one."""
    if cell.value is None and cell.data_type == "str":
        return ""
    return cell.value


def _value(value: Any) -> Any:
    """Return a value, or None if it counts as missing."""
    if isinstance(value, str):
        return None if value in _ERRORS or not value.strip() else value
    return None if value != value else value


def _check_formulas(source: Source, name: str, rows: dict[int, dict[int, Any]]) -> None:
    """Fail if a formula has no value because the file was saved by a program without them."""
    with _workbook(source, has_values=False) as book:
        for number, cells in enumerate(_rows(book, name), 1):
            filled = rows.get(number, {})
            for column, cell in enumerate(cells):
                if cell.data_type == "f" and column not in filled:
                    raise InputError(
                        f"{source}: cell {cell.coordinate} of sheet {shown(name)} has a formula "
                        "without a value; open the file in a spreadsheet program and save it, so "
                        "that its formulas are computed."
                    )
