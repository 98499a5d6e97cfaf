"""``greedyrls report``: write a page about a result."""

from __future__ import annotations

from pathlib import Path

from ..app import InputError
from ._documents import load_result
from ._run import FINE
from ._show import show_line
from ._write import REPORT, check_file, write


def make_page(file: Path, out: Path | None, is_overwritten: bool) -> int:
    """Write the report of a result; return the exit code."""
    from ..report import make_report

    if out is not None:
        check_file(out, is_overwritten)
    file, result = load_result(file)
    page = out or file.with_name(REPORT)
    if out is None and page.exists() and not is_overwritten:
        raise InputError(
            f"{page} already exists; pass --overwrite to replace it, or --out FILE to write "
            "another one."
        )
    write(page, make_report(result))
    show_line(f"Written: {page}")
    return FINE
