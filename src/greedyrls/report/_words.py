"""Numbers and names as people read them."""

from __future__ import annotations

from datetime import UTC, datetime

from .._base import NONE as NONE
from .._base import count as count
from .._base import counted as counted
from .._base import number as number
from .._base import numbers
from .._base import percent as percent
from .._base import seconds_in_words as seconds_in_words

# Most characters of a sentence; the middle of a longer one is left out.
TEXT_LENGTH = 4000
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
_UNITS = ("bytes", "kB", "MB", "GB", "TB")


def capitalised(text: str) -> str:
    """Return the text with a capital first letter; the rest is unchanged."""
    return text[:1].upper() + text[1:]


def with_error(value: float | None, error: float | None) -> str:
    """Return a value and its standard error, which stay on one line.

    >>> with_error(2967.586, 186.23)
    '2970\xa0±\xa0190'
    """
    return unbroken(numbers.with_error(value, error))


def unbroken(text: str) -> str:
    """Return a number that stays on one line."""
    return text.replace(" ", "\u00a0")


def plain(text: str, length: int = TEXT_LENGTH) -> str:
    """Return any text on one line, without unprintable and bidirectional control characters.

    >>> plain("two\\nlines"), plain("x" * 20, 10)
    ('two lines', 'xxxxxx…xxx')
    """
    # Only as much as can be shown is processed: a "name" may be a whole file.
    if len(text) > 4 * length:
        text = f"{text[: 2 * length]}{text[-2 * length :]}"
    words = "".join(sign if sign.isprintable() or sign == "\u00a0" else " " for sign in text)
    line = " ".join(part for part in words.split(" ") if part)
    if len(line) > length:
        tail = (length - 1) // 3
        line = f"{line[: length - 1 - tail]}…{line[len(line) - tail :]}"
    return line


def plain_name(name: str, length: int = 300) -> str:
    """Return a name that can be shown; "(blank)" if it has only blanks."""
    return plain(name, length) or "(blank)"


def bytes_in_words(size: int) -> str:
    """Return the size of a file in words.

    >>> bytes_in_words(21345), bytes_in_words(1)
    ('21.3 kB', '1 byte')
    """
    if size < 1000:
        return counted(size, "byte")
    value, unit = float(size), 0
    while value >= 999.5 and unit < len(_UNITS) - 1:
        value, unit = value / 1000.0, unit + 1
    return f"{value:.3g} {_UNITS[unit]}"


def date_in_words(date: str) -> str:
    """Return an ISO date in words; any other text unchanged.

    >>> date_in_words("2026-11-15T16:00:00+00:00"), date_in_words("yesterday")
    ('15 November 2026, 16:00 UTC', 'yesterday')
    """
    try:
        moment = datetime.fromisoformat(date)
        zone = "" if moment.tzinfo is None else " UTC"
        moment = moment.astimezone(UTC) if zone else moment
    except (ValueError, OverflowError):
        return date
    day = f"{moment.day} {_MONTHS[moment.month - 1]} {moment.year}"
    return f"{day}, {moment.hour:02}:{moment.minute:02}{zone}"
