"""``greedyrls report``: a page of a result."""

from __future__ import annotations

from pathlib import Path

from .._selection_result import SelectionResult
from ._predict import read_json
from ._run import FINE
from ._show import show_line
from ._write import REPORT, check_file, write


def make_page(file: Path, out: Path | None, is_overwritten: bool) -> int:
    """Write the report of a result; the exit code."""
    from ..report import make_report

    page = out or file.with_name(REPORT)
    if out is not None:
        check_file(out, is_overwritten)
    result = read_json(file, SelectionResult.from_json)
    write(page, make_report(result))
    show_line(f"Written: {page}")
    return FINE
