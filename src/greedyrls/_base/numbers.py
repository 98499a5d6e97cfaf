"""Numbers as people read them, the same in sentences, tables, pictures, pages and the terminal.

A value and its standard error have the same power of ten and the same decimals, as many as give the
error two digits. Thousands are separated from 10,000 on; powers of ten are for what is larger than
ten million or smaller than a ten-thousandth. The minus sign is that of print.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

# Shown in place of a missing number.
NONE = "–"
_THOUSANDS = 1e4
_SMALL, _LARGE = 1e-4, 1e7
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
# An error, or a value beside others, that is a smaller share than this is their rounding.
_SHOWN_ROUNDING = 1e-9
# A column whose values differ by more than this factor has no decimals in common.
_ALIKE = 1e4


def number(value: float | None, digits: int = 4) -> str:
    """Format to a number of significant digits without trailing zeros; a dash if it is missing.

    >>> [number(value) for value in (2967.586, -0.00012345, 1234567, 2e-7, float("nan"))]
    ['2968', '−0.0001234', '1,235,000', '2×10⁻⁷', '–']
    """
    return _rounded(value, digits, is_padded=False)


def padded(value: float | None, digits: int = 4) -> str:
    """Format like `number`, with trailing zeros.

    >>> [padded(value) for value in (-20.99964, 0.5, 1234567.0)]
    ['−21.00', '0.5000', '1,235,000']
    """
    return _rounded(value, digits, is_padded=True)


def with_error(value: float | None, error: float | None) -> str:
    """Format a value and its standard error, or the value alone if the error is not known.

    >>> with_error(2967.586, 186.23), with_error(0.0224719, 0.00568), with_error(1.897e9, 243121075)
    ('2970 ± 190', '0.0225 ± 0.0057', '1.90 ± 0.24 ×10⁹')
    >>> with_error(43612.0, 2107.0), with_error(1.5, float("nan")), with_error(0.5, 1.9e-17)
    ('43,600 ± 2,100', '1.5', '0.5')
    """
    return column([value], [error])[0]


def column(
    values: Iterable[float | None], errors: Iterable[float | None] | None = None, digits: int = 4
) -> list[str]:
    """Format values of one quantity with the same power and decimals, with errors if given.

    Without errors, `digits` is for the largest; values that are rounding noise beside it are 0.

    >>> column([2034.2, 675.3, 3.4e-14]), column([0.9712, 0.5], [0.0123, 0.04])
    (['2034', '675', '0'], ['0.971 ± 0.012', '0.500 ± 0.040'])
    """
    numbers = [_known(value) for value in values]
    spreads = [None] * len(numbers) if errors is None else [_known(error) for error in errors]
    sizes = [abs(value) for value in numbers if value is not None and math.isfinite(value)]
    largest = max(sizes, default=0.0)
    spreads = [
        error if error is not None and _SHOWN_ROUNDING * largest < error < math.inf else None
        for error in spreads
    ]
    sure = [error for error in spreads if error is not None]
    if not sure:
        return _alone(numbers, largest, digits)
    seen = [size for size in sizes if size > _SHOWN_ROUNDING * largest]
    if len(numbers) > 1 and largest > _ALIKE * min(seen, default=largest):
        return [with_error(value, error) for value, error in zip(numbers, spreads, strict=True)]
    power = _power(max(largest, *sure), 2)
    decimals = _decimals(sure, _ten(power))
    scaled = max(largest, *sure) / _ten(power)
    return [
        _pair(value, error, decimals, power, scaled)
        for value, error in zip(numbers, spreads, strict=True)
    ]


def interval(low: float, high: float) -> str:
    """Format the two ends of an interval, to two digits of its width.

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
    """Format a score whose best value is 1, such as AUC or R²; it is never rounded up to 1.

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
    """Format the scores of a table, all to the same number of decimals.

    >>> scores([0.5, 0.9972, float("nan")], 2)
    ['0.5000', '0.9972', '–']
    """
    listed = list(values)
    texts = [text for text in (score(value, decimals) for value in listed) if "." in text]
    most = max((len(text.split(".")[1]) for text in texts), default=decimals)
    return [score(value, most) for value in listed]


def percent(share: float) -> str:
    """Format a share as a percentage that is never rounded to 0% or 100%.

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
    """Format an integer with all its digits.

    >>> count(2010), count(442000)
    ('2010', '442,000')
    """
    return (f"{value:,}" if abs(value) >= _THOUSANDS else f"{value}").replace("-", "−")


def counted(value: int, word: str) -> str:
    """Format an integer with its noun in singular or plural.

    >>> counted(1, "feature"), counted(20000, "feature"), counted(3, "class")
    ('1 feature', '20,000 features', '3 classes')
    """
    return f"{count(value)} {word if value == 1 else plural(word)}"


def plural(word: str) -> str:
    """Return the plural of a noun.

    >>> plural("row"), plural("class"), plural("category"), plural("day")
    ('rows', 'classes', 'categories', 'days')
    """
    if word.endswith(("s", "x", "ch", "sh")):
        return f"{word}es"
    return f"{word[:-1]}ies" if word.endswith("y") and word[-2] not in "aeiou" else f"{word}s"


def agree(value: int, one: str, more: str) -> str:
    """Return the form of a word that agrees with a number.

    >>> agree(1, "was", "were"), agree(0, "was", "were")
    ('was', 'were')
    """
    return one if value == 1 else more


def seconds_in_words(seconds: float) -> str:
    """Format a time span.

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


# Helpers -----------------------------------------------------------------------------------------


def _known(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else float(value)


def _exponent(value: float, digits: int) -> int:
    """Return the exponent of ten of a number after rounding to a number of digits."""
    return int(f"{value:.{digits - 1}e}".split("e")[1])


def _power(largest: float, digits: int) -> int:
    """Return the exponent that is factored out: 0 unless numbers are very large or small."""
    if largest == 0.0 or not math.isfinite(largest):
        return 0
    rounded = float(f"{largest:.{digits - 1}e}")
    return 0 if _SMALL <= rounded < _LARGE else _exponent(largest, digits)


def _ten(power: int) -> float:
    """Return a power of ten that never underflows to 0."""
    return 10.0 ** max(power, -307)


def _decimals(errors: Sequence[float], scale: float) -> int:
    """Return the decimals that give the median error two digits and the smallest one digit."""
    scaled = sorted(error / scale for error in errors)
    decimals = 1 - _exponent(scaled[len(scaled) // 2], 2)
    return max(decimals, min(-_exponent(scaled[0], 1), decimals + 2))


def _fixed(value: float, decimals: int, largest: float = 0.0) -> str:
    """Format with a number of decimals, which may be negative: 43,600.

    Thousands are separated if they are in the largest number that is shown beside this one.
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
    """Format values without errors."""
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
    # From its digits: the smallest numbers are below every power of ten in float64.
    mantissa, ten = f"{value:.{digits - 1}e}".split("e")
    text = _fixed(float(mantissa) * 10.0 ** (int(ten) - power), decimals)
    if not is_padded and "." in text:
        text = text.rstrip("0").rstrip(".")
    return f"{text}{_times(power)}"
