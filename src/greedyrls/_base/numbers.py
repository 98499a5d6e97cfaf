"""Numbers as people read them, the same in sentences, tables, pictures, pages and the terminal.

A value and its standard error have the same power of ten and the same decimals, as many as give the
error two digits. Thousands are separated from 10,000 on; powers of ten are for what is larger than
ten million or smaller than a ten-thousandth. The minus sign is that of print.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

# Where there is no number.
NONE = "–"
_THOUSANDS = 1e4
_SMALL, _LARGE = 1e-4, 1e7
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
# An error, or a value beside others, that is a smaller share than this is their rounding.
_SHOWN_ROUNDING = 1e-9
# A column whose values differ by more than this factor has no decimals in common.
_ALIKE = 1e4


def number(value: float | None, digits: int = 4) -> str:
    """To some significant digits, without zeros at the end; a dash where there is none.

    >>> [number(value) for value in (2967.586, -0.00012345, 1234567, 2e-7, float("nan"))]
    ['2968', '−0.0001234', '1,235,000', '2×10⁻⁷', '–']
    """
    return _rounded(value, digits, is_padded=False)


def padded(value: float | None, digits: int = 4) -> str:
    """As `number`, with zeros at the end.

    >>> [padded(value) for value in (-20.99964, 0.5, 1234567.0)]
    ['−21.00', '0.5000', '1,235,000']
    """
    return _rounded(value, digits, is_padded=True)


def with_error(value: float | None, error: float | None) -> str:
    """A value and its standard error; the value alone where the error is unknown or rounding.

    >>> with_error(2967.586, 186.23), with_error(0.0224719, 0.00568), with_error(1.897e9, 243121075)
    ('2970 ± 190', '0.0225 ± 0.0057', '1.90 ± 0.24 ×10⁹')
    >>> with_error(43612.0, 2107.0), with_error(1.5, float("nan")), with_error(0.5, 1.9e-17)
    ('43,600 ± 2,100', '1.5', '0.5')
    """
    return column([value], [error])[0]


def column(
    values: Iterable[float | None], errors: Iterable[float | None] | None = None, digits: int = 4
) -> list[str]:
    """Values of one quantity to the same power and decimals, with their errors if they have any.

    Without errors, the largest has some significant digits; what is rounding beside it is 0.

    >>> column([2034.2, 675.3, 3.4e-14]), column([0.9712, 0.5], [0.0123, 0.04])
    (['2034', '675', '0'], ['0.971 ± 0.012', '0.500 ± 0.040'])
    """
    given = [_known(value) for value in values]
    spreads = [None] * len(given) if errors is None else [_known(error) for error in errors]
    sizes = [abs(value) for value in given if value is not None and math.isfinite(value)]
    largest = max(sizes, default=0.0)
    spreads = [
        error if error is not None and _SHOWN_ROUNDING * largest < error < math.inf else None
        for error in spreads
    ]
    sure = [error for error in spreads if error is not None]
    if not sure:
        return _alone(given, largest, digits)
    seen = [size for size in sizes if size > _SHOWN_ROUNDING * largest]
    if len(given) > 1 and largest > _ALIKE * min(seen, default=largest):
        return [with_error(value, error) for value, error in zip(given, spreads, strict=True)]
    power = _power(max(largest, *sure), 2)
    decimals = _decimals(sure, _ten(power))
    scaled = max(largest, *sure) / _ten(power)
    return [
        _pair(value, error, decimals, power, scaled)
        for value, error in zip(given, spreads, strict=True)
    ]


def to_digits(value: float, digits: int = 6) -> float:
    """The nearest number of some significant digits, for files that programs read.

    >>> to_digits(152.13348416289594), to_digits(1.0 / 3.0, 3)
    (152.133, 0.333)
    """
    return float(f"{value:.{digits}g}")


def interval(low: float, high: float) -> str:
    """The two ends of an interval, to two digits of its width.

    >>> interval(51.2931, 57.8412), interval(41203.4, 48119.0), interval(0.0, 0.0)
    ('51.3 to 57.8', '41,200 to 48,100', '0 to 0')
    """
    width = high - low
    largest = max(abs(low), abs(high))
    if not math.isfinite(width) or width <= _SHOWN_ROUNDING * largest:
        return f"{number(low)} to {number(high)}"
    power = _power(largest, 2)
    decimals = 1 - _exponent(width / _ten(power), 2)
    scale = _ten(power)
    ends = " to ".join(_fixed(end / scale, decimals, largest / scale) for end in (low, high))
    return f"{ends}{_times(power, ' ')}"


def score(value: float | None, decimals: int = 3) -> str:
    """A score of which 1 is the best, such as AUC or R²: 1 only where it is 1.

    >>> score(0.5), score(0.99972), score(1.0), score(0.719, 2), score(-0.012, 2)
    ('0.500', '0.99972', '1.000', '0.72', '−0.01')
    """
    if value is None or not math.isfinite(value):
        return number(value)
    left = 1.0 - value
    if left > _SHOWN_ROUNDING:
        decimals = max(decimals, 1 - _exponent(left, 2))
    return _fixed(value, min(decimals, 6))


def scores(values: Iterable[float | None], decimals: int = 3) -> list[str]:
    """Scores of one table, all to the same decimals.

    >>> scores([0.5, 0.9972, float("nan")], 2)
    ['0.5000', '0.9972', '–']
    """
    given = list(values)
    known = [text for text in (score(value, decimals) for value in given) if "." in text]
    most = max((len(text.split(".")[1]) for text in known), default=decimals)
    return [score(value, most) for value in given]


def percent(share: float) -> str:
    """A share of one; nearly all of it is not all, and next to nothing is not nothing.

    >>> [percent(share) for share in (0.0, 0.003, 0.5, 0.997, 0.99962, 0.9999999, 1.0)]
    ['0%', '0.3%', '50%', '99.7%', '99.96%', '>99.99%', '100%']
    """
    if not math.isfinite(share):
        return number(share)
    whole = round(100.0 * share)
    if not 0.0 < share < 1.0 or 1 <= whole <= 99:
        return f"{whole}%".replace("-", "−")
    left = 100.0 * min(share, 1.0 - share)
    if left < 0.01:
        return "<0.01%" if share < 0.5 else ">99.99%"
    return f"{100.0 * share:.{-_exponent(left, 1)}f}%"


def count(value: int) -> str:
    """A whole number, all of it.

    >>> count(2010), count(442000)
    ('2010', '442,000')
    """
    return (f"{value:,}" if abs(value) >= _THOUSANDS else f"{value}").replace("-", "−")


def counted(value: int, word: str) -> str:
    """A whole number of things.

    >>> counted(1, "feature"), counted(20000, "feature"), counted(3, "class")
    ('1 feature', '20,000 features', '3 classes')
    """
    return f"{count(value)} {word if value == 1 else plural(word)}"


def plural(word: str) -> str:
    """More than one of them.

    >>> plural("row"), plural("class"), plural("category"), plural("day")
    ('rows', 'classes', 'categories', 'days')
    """
    if word.endswith(("s", "x", "ch", "sh")):
        return f"{word}es"
    return f"{word[:-1]}ies" if word.endswith("y") and word[-2] not in "aeiou" else f"{word}s"


def agree(value: int, one: str, more: str) -> str:
    """The form of a word that goes with a number.

    >>> agree(1, "was", "were"), agree(0, "was", "were")
    ('was', 'were')
    """
    return one if value == 1 else more


def seconds_in_words(seconds: float) -> str:
    """A time span.

    >>> seconds_in_words(3.21), seconds_in_words(3725.0)
    ('3.2 seconds', '1 h 2 min')
    """
    if seconds < 100.0:
        text = number(seconds, 2)
        return f"{text} {'second' if text == '1' else 'seconds'}"
    minutes = round(seconds / 60.0)
    if minutes < 60:
        return f"{minutes} min"
    return f"{count(minutes // 60)} h {minutes % 60} min"


# How it is done ----------------------------------------------------------------------------------


def _known(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else float(value)


def _exponent(value: float, digits: int) -> int:
    """The power of ten of a number once it is rounded to some digits."""
    return int(f"{value:.{digits - 1}e}".split("e")[1])


def _power(largest: float, digits: int) -> int:
    """The power of ten that is written apart: none, unless numbers are very large or small."""
    if largest == 0.0 or not math.isfinite(largest):
        return 0
    rounded = float(f"{largest:.{digits - 1}e}")
    return 0 if _SMALL <= rounded < _LARGE else _exponent(largest, digits)


def _ten(power: int) -> float:
    """A power of ten, above 0 also where float64 has none."""
    return 10.0 ** max(power, -307)


def _decimals(errors: Sequence[float], scale: float) -> int:
    """As many as give the middle error two digits, and the smallest one."""
    scaled = sorted(error / scale for error in errors)
    decimals = 1 - _exponent(scaled[len(scaled) // 2], 2)
    return max(decimals, min(-_exponent(scaled[0], 1), decimals + 2))


def _fixed(value: float, decimals: int, largest: float = 0.0) -> str:
    """Rounded to decimals, of which there may be fewer than none: 43,600.

    Beside a number that has its thousands apart, 2,100 has them, too.
    """
    rounded = round(value, decimals)
    separator = "," if max(abs(rounded), largest) >= _THOUSANDS else ""
    text = f"{rounded:{separator}.{max(decimals, 0)}f}"
    return text.removeprefix("-") if rounded == 0.0 else text.replace("-", "−")


def _times(power: int, blank: str = "") -> str:
    return f"{blank}×10{str(power).translate(_SUPERSCRIPTS)}" if power else ""


def _pair(
    value: float | None, error: float | None, decimals: int, power: int, largest: float
) -> str:
    if value is None:
        return NONE
    if math.isinf(value):
        return number(value)
    scale = _ten(power)
    spread = "" if error is None else f" ± {_fixed(error / scale, decimals, largest)}"
    return (
        f"{_fixed(value / scale, decimals, largest)}{spread}{_times(power, ' ' if spread else '')}"
    )


def _alone(values: Sequence[float | None], largest: float, digits: int) -> list[str]:
    """Values without errors."""
    if len(values) == 1:
        return [number(values[0], digits)]
    if largest == 0.0:
        return [number(value, digits) for value in values]
    power = _power(largest, digits)
    decimals = digits - 1 - _exponent(largest / _ten(power), digits)
    scaled = largest / _ten(power)
    return [_pair(value, None, decimals, power, scaled) for value in values]


def _rounded(value: float | None, digits: int, is_padded: bool) -> str:
    if value is None or math.isnan(value):
        return NONE
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0.0:
        return "0"
    exponent = _exponent(value, digits)
    power = _power(abs(value), digits)
    decimals = digits - 1 - (exponent - power)
    # By its digits: the smallest numbers are below every power of ten that can be divided by.
    mantissa, ten = f"{value:.{digits - 1}e}".split("e")
    text = _fixed(float(mantissa) * 10.0 ** (int(ten) - power), decimals)
    if not is_padded and "." in text:
        text = text.rstrip("0").rstrip(".")
    return f"{text}{_times(power)}"
