"""Write the report of a selection: one HTML file for any browser.

The file is self-contained: it loads nothing else, can be read and printed without scripts, and
shows the model of any size with scripts enabled. Needs Jinja2: ``pip install 'greedyrls[cli]'``.
"""

from __future__ import annotations

import os
from pathlib import Path

from .._base import replace_file
from ..app import SelectionResult

__all__ = ["make_report", "write_report"]


def make_report(result: SelectionResult) -> str:
    """Return the report of a result as the text of an HTML file.

    The same result gives the same text, byte for byte.

    Parameters
    ----------
    result : SelectionResult
        A result, such as `SelectionResult.from_json` reads from ``result.json``.

    Returns
    -------
    str
        The HTML, below two megabytes for paths of up to a thousand features, however long their
        names.
    """
    if not isinstance(result, SelectionResult):
        raise TypeError(f"result must be a SelectionResult, got {type(result).__name__}.")
    if not result.features:
        raise ValueError("The path has no features: there is nothing to report.")
    from ._page import render

    return render(result)


def write_report(result: SelectionResult, path: str | os.PathLike[str]) -> None:
    """Write the report of a result to a file; a partial file is never left behind.

    Parameters
    ----------
    result : SelectionResult
        The result to show.
    path : path-like
        Name of the file, such as ``report.html``; an existing file is replaced.
    """
    replace_file(Path(path), make_report(result).encode("utf-8"))
