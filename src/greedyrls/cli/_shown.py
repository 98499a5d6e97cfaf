"""Text and numbers as a terminal shows them; names in files are untrusted."""

from __future__ import annotations

import codecs
import math
import sys

from .._base import numbers, printable

# Replacements for terminals with ASCII or Latin encodings.
_PLAIN = {"±": "+-", "−": "-", "×": "x", "…": "...", "–": "-", "’": "'", "²": "2"}
_POWERS = dict(zip("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789", strict=True))


def one_line(text: str) -> str:
    """Return a message as one printable line."""
    return printable(" ".join(text.split()))


def number(value: float | None, digits: int = 4) -> str:
    """Return a number with some significant digits; an empty text for None and NaN."""
    return "" if value is None or math.isnan(value) else numbers.number(value, digits)


def replace_unprintable() -> None:
    """Let stdout replace characters that its encoding does not have.

    A table with a "?" is better than an error after hours of work.
    """
    codecs.register_error("greedyrls", _in_plain)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="greedyrls")


def _in_plain(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    signs = error.object[error.start : error.end]
    if error.object[: error.start].endswith("10") and set(signs) <= set(_POWERS):
        return "^" + "".join(_POWERS[sign] for sign in signs), error.end
    return "".join(_PLAIN.get(sign, "?") for sign in signs), error.end
