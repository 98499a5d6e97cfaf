"""Text and numbers as a terminal shows them; names in files are untrusted."""

from __future__ import annotations

import codecs
import math
import sys

from .._text import printable

# For terminals that know ASCII or Latin only.
_PLAIN = {"±": "+-", "−": "-", "×": "x", "…": "...", "–": "-", "’": "'"}


def one_line(text: str) -> str:
    """A message as one printable line."""
    return printable(" ".join(text.split()))


def number(value: float | None, digits: int = 4) -> str:
    """A number with some significant digits; nothing where there is none."""
    if value is None or math.isnan(value):
        return ""
    # Nobody counts the digits of very large numbers.
    is_readable = 10**digits <= abs(value) < 1e6
    return f"{value:,.0f}" if is_readable else f"{value:.{digits}g}"


def show_what_can_be_shown() -> None:
    """Let stdout put something else for signs that its encoding does not have.

    A table with a "?" is better than an error after hours of work.
    """
    codecs.register_error("greedyrls", _in_plain)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="greedyrls")


def _in_plain(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    signs = error.object[error.start : error.end]
    return "".join(_PLAIN.get(sign, "?") for sign in signs), error.end
