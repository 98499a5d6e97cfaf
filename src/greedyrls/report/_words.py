"""Numbers and names as people read them."""

from __future__ import annotations

import math
from datetime import UTC, datetime

# Where there is no number.
NONE = "–"
# Characters of a sentence; of a longer one the middle is left out.
TEXT_LENGTH = 4000
# Numbers from 10,000 on have their thousands apart; those outside these have a power of ten.
_THOUSANDS = 1e4
_SMALL, _LARGE = 1e-4, 1e9
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
_UNITS = ("bytes", "kB", "MB", "GB", "TB")


def number(value: float | None, digits: int = 4) -> str:
    """To four digits that count, with a minus sign as in print; a dash where there is none.

    >>> [number(value) for value in (2967.586, -0.00012345, 1234567, 2e-7, float("nan"))]
    ['2968', '−0.0001234', '1,235,000', '2×10⁻⁷', '–']
    """
    if value is None or math.isnan(value):
        return NONE
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    rounded = float(f"{value:.{digits}g}")
    size = abs(rounded)
    if rounded == 0.0:
        return "0"
    if size < _SMALL or size >= _LARGE:
        mantissa, exponent = f"{rounded:.{digits - 1}e}".split("e")
        if "." in mantissa:
            mantissa = mantissa.rstrip("0").rstrip(".")
        text = f"{mantissa}×10{str(int(exponent)).translate(_SUPERSCRIPTS)}"
    elif size >= _THOUSANDS:
        text = f"{rounded:,.0f}"
    else:
        text = f"{rounded:.0f}" if size >= 10 ** (digits - 1) else f"{rounded:.{digits}g}"
    return text.replace("-", "−")


def exactly(value: float) -> str:
    """As `number`, but with zeros at the end, as numbers of one table should have.

    >>> [exactly(value) for value in (-20.99964, 0.5, 1234567.0)]
    ['−21.00', '0.5000', '1,235,000']
    """
    text = number(value)
    digits = sum(sign.isdigit() for sign in text.lstrip("−0.,"))
    if text == "0" or "×" in text or not digits or digits >= 4:
        return text
    return f"{text}{'' if '.' in text else '.'}{'0' * (4 - digits)}"


def capitalised(text: str) -> str:
    """With a capital to start with; the rest is left as it is."""
    return text[:1].upper() + text[1:]


def with_error(value: float | None, error: float | None) -> str:
    """A value give or take its standard error, if it has one, of two digits.

    >>> with_error(2967.586, 186.23), with_error(0.0224719, 0.00568), with_error(1.5, float("nan"))
    ('2968\xa0±\xa0186', '0.02247\xa0±\xa00.0057', '1.5')
    """
    if value is None or math.isnan(value) or error is None or math.isnan(error):
        return number(value)
    # From 10 on as whole numbers: 186 rather than 190, which would look exact.
    shown = number(round(error), 9) if 10.0 <= error < _LARGE else number(error, 2)
    return f"{number(value)}\u00a0±\u00a0{shown}"


def count(value: int) -> str:
    """A whole number, all of it."""
    return f"{value:,}" if abs(value) >= _THOUSANDS else str(value)


def counted(value: int, word: str) -> str:
    """A whole number of things.

    >>> counted(1, "feature"), counted(20000, "feature")
    ('1 feature', '20,000 features')
    """
    return f"{count(value)} {word}{'' if value == 1 else 's'}"


def percent(share: float) -> str:
    """A share of one; what is not all of it is not said to be, nor what is not nothing.

    >>> [percent(share) for share in (0.0, 0.001, 0.5, 0.999, 1.0)]
    ['0%', '1%', '50%', '99%', '100%']
    """
    whole = round(100.0 * share)
    if 0.0 < share < 1.0:
        whole = min(max(whole, 1), 99)
    return f"{whole}%"


def plain(text: str, length: int = TEXT_LENGTH) -> str:
    """Any text on one line, without signs that cannot be printed or turn the direction of text.

    >>> plain("two\\nlines"), plain("x" * 20, 10)
    ('two lines', 'xxxxxx…xxx')
    """
    # No more is looked at than can be shown: a "name" may be a whole file.
    if len(text) > 4 * length:
        text = f"{text[: 2 * length]}{text[-2 * length :]}"
    words = "".join(sign if sign.isprintable() or sign == "\u00a0" else " " for sign in text)
    line = " ".join(part for part in words.split(" ") if part)
    if len(line) > length:
        tail = (length - 1) // 3
        line = f"{line[: length - 1 - tail]}…{line[len(line) - tail :]}"
    return line


def plain_name(name: str, length: int = 300) -> str:
    """A name that can be shown; one of blanks only must not look like none."""
    return plain(name, length) or "(blank)"


def bytes_in_words(size: int) -> str:
    """The size of a file.

    >>> bytes_in_words(21345), bytes_in_words(1)
    ('21.3 kB', '1 byte')
    """
    if size < 1000:
        return f"{size} byte{'' if size == 1 else 's'}"
    value, place = float(size), 0
    while value >= 999.5 and place < len(_UNITS) - 1:
        value, place = value / 1000.0, place + 1
    return f"{value:.3g} {_UNITS[place]}"


def seconds_in_words(seconds: float) -> str:
    """A time span.

    >>> seconds_in_words(3.21), seconds_in_words(3725.0)
    ('3.2 seconds', '1 h 2 min')
    """
    if seconds < 100.0:
        return f"{number(seconds, 2)} seconds"
    minutes = round(seconds / 60.0)
    if minutes < 60:
        return f"{minutes} min"
    return f"{count(minutes // 60)} h {minutes % 60} min"


def date_in_words(date: str) -> str:
    """A date of the ISO form in words; any other text as it is.

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
