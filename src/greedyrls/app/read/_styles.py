"""Parse numbers as people write them: thousands, decimal commas, percent, currencies, limits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

# Currencies by sign and by code; PER_CENT is no currency, but is written in the same position.
PER_CENT = "%"
_SIGNS = r"(?:US|AU|NZ|HK|[ACRS])?\$|[€£¥₹₽₩₺₪฿₫₴₦₱₡₲₵₸]|[kK]r\.?|zł|Kč|Ft|Fr\.|лв\.?"
_CODES = (
    "USD|EUR|GBP|JPY|CHF|SEK|NOK|DKK|ISK|PLN|CZK|HUF|RON|BGN|CAD|AUD|NZD|CNY|RMB|INR|BRL|MXN|ZAR|"
    "RUB|TRY|KRW|SGD|HKD|ILS|THB|IDR|MYR|PHP|TWD|UAH|AED|SAR|ARS|CLP|COP|PEN|EGP|NGN|KES|VND|PKR"
)
_UNIT = f"{_SIGNS}|{_CODES}"
# Units; no single capital, which may be part of a code such as seat 12A.
_MEASURED = (
    "°C|°F|hours?|hrs?|h|minutes?|mins?|seconds?|secs?|s|ms|years?|yrs?|y|months?|weeks?|days?|d|"
    "kg|g|mg|µg|ug|ng|lbs?|oz|km|m|cm|mm|mi|miles?|ft|l|L|dl|dL|ml|mL|ha|m²|m2|km²|kWh|kW|MW|Hz|"
    "kHz|MHz|GHz|kB|MB|GB|TB|ppm|ppb|bpm|mmHg|hPa|kPa|bar|mol|mmol|pcs|pts?|x"
)
_BLANKS = " \u00a0\u202f\u2009"
_QUOTES = "'\u2019"
_CELL = re.compile(
    rf"(?P<limit>[<>≤≥]=?)?[{_BLANKS}]*(?P<minus>[-+\u2212]?)[{_BLANKS}]*"
    rf"(?:(?P<before>{_UNIT})[{_BLANKS}]*)?(?P<sign>[-+\u2212]?)"
    rf"(?P<body>[.,]?[0-9]+(?:[.,{_QUOTES}{_BLANKS}][0-9]+)*[.,]?)(?P<power>[eE][-+]?[0-9]+)?"
    rf"(?:[{_BLANKS}]*(?P<after>{_UNIT}|{PER_CENT}|{_MEASURED}))?"
)
# Digits and marks that form a number in some notation: 1.2.3 is none.
_PLAIN = r"[0-9]+[.,]?[0-9]*|[.,][0-9]+"
_GROUPED = r"[1-9][0-9]{0,2}([., '])(?:[0-9]{2,3}\1)*[0-9]{3}(?:(?!\1)[.,][0-9]*)?"
_NUMBER = re.compile(f"{_PLAIN}|{_GROUPED}")
# Negative numbers as accountants write them.
_ACCOUNTING = re.compile(rf"\((.*[0-9].*)\)|(.*[0-9])[{_BLANKS}]*[-\u2212]")
_INFINITE = re.compile(r"[+-]?([iI][nN][fF]|[iI]nfinity)")
# Signs that look alike are replaced by one.
_ALIKE = str.maketrans({**dict.fromkeys(_BLANKS, " "), **dict.fromkeys(_QUOTES, "'")})
_LONG = re.compile(r"[0-9]{4,}")


class Cell(NamedTuple):
    """The parts of a number in a cell."""

    body: str  # digits and the marks between them; "inf" for infinity
    sign: str  # "-" or ""
    power: str  # such as "e5"
    unit: str  # a currency, "%" or ""
    limit: str  # such as "<"
    is_accounting: bool = False  # a negative number written as (12) or 12-


@dataclass(frozen=True, slots=True)
class Style:
    """The meaning of the marks between digits."""

    decimal: str
    thousands: str | None = None
    # Advice in case a mark that seems to separate thousands does not.
    otherwise: str = ""

    def fits(self, body: str) -> bool:
        """Whether a number can be written in this style."""
        return bool(self._pattern().fullmatch(body))

    def misfit(self, bodies: Sequence[str]) -> int | None:
        """Return the index of the first number that is not written in this style."""
        match = self._pattern().fullmatch
        return next((index for index, body in enumerate(bodies) if not match(body)), None)

    def _pattern(self) -> re.Pattern[str]:
        mark = re.escape(self.decimal)
        plain = rf"[0-9]+(?:{mark}[0-9]*)?|{mark}[0-9]+|inf"
        if self.thousands is None:
            return re.compile(plain)
        group = re.escape(self.thousands)
        # In India all groups but the last have two digits.
        grouped = rf"[1-9][0-9]{{0,2}}(?:{group}[0-9]{{2,3}})*{group}[0-9]{{3}}(?:{mark}[0-9]*)?"
        return re.compile(f"{plain}|{grouped}")

    def value(self, cell: Cell) -> float:
        """Return the value of a cell."""
        body = cell.body if self.thousands is None else cell.body.replace(self.thousands, "")
        return float(cell.sign + body.replace(self.decimal, ".") + cell.power)


@dataclass(frozen=True, slots=True)
class Doubt:
    """The reason why cells cannot be read, with the indices of one or two examples."""

    words: str  # with braces for each example: "has {} beside {}: …"
    examples: tuple[int, ...]
    options: tuple[tuple[str, str], ...] = ()


def take_apart(text: str) -> Cell | None:
    """Parse a cell that may be a number in some notation; None for all others."""
    inner = _ACCOUNTING.fullmatch(text)
    if inner is not None:
        cell = take_apart(inner[1] or inner[2])
        is_plain = cell is not None and not (cell.sign or cell.limit or cell.is_accounting)
        return cell._replace(sign="-", is_accounting=True) if cell and is_plain else None
    match = _CELL.fullmatch(text)
    if match is None:
        if _INFINITE.fullmatch(text):
            return Cell("inf", "-" if text[0] == "-" else "", "", "", "")
        return None
    before, after = match["before"] or "", match["after"] or ""
    signs = (match["minus"] or "") + match["sign"]
    body = match["body"].translate(_ALIKE)
    if (before and after) or len(signs) > 1 or not _NUMBER.fullmatch(body):
        return None
    return Cell(
        body,
        "-" if signs in ("-", "\u2212") else "",
        match["power"] or "",
        (before or after).rstrip("."),
        match["limit"] or "",
    )


def choose_style(
    bodies: Sequence[str], decimal: str, thousands: str | None, has_commas: bool = False
) -> Style | Doubt:
    """Return the only way to read all numbers of a column, or why it is ambiguous.

    With `has_commas`, a comma is the decimal mark if that is possible: known for a column that was
    read before.
    """
    marks = set("".join(bodies)) - set("0123456789inf")
    other = "," if decimal == "." else "."
    if thousands is not None and thousands in marks:
        style = Style(decimal, thousands)
        misfit = style.misfit(bodies)
        words = f"has {{}}, where {thousands!r} does not separate thousands"
        return style if misfit is None else Doubt(words, (misfit,))
    separators = sorted(marks - {".", ","})
    if len(separators) > 1:
        words = "has numbers whose digits are separated in different ways, such as {} and {}"
        return Doubt(words, tuple(_first_with(bodies, sign) for sign in separators[:2]))
    if separators:
        styles = [Style(mark, separators[0]) for mark in (decimal, other)]
        misfits = [style.misfit(bodies) for style in styles]
        if None in misfits:
            return styles[misfits.index(None)]
        return Doubt("has digits separated as no number has them, such as {}", (misfits[0] or 0,))
    if other in marks:
        return _with_other_mark(bodies, decimal, other, has_commas)
    misfit = Style(decimal).misfit(bodies)
    if misfit is None:
        return Style(decimal)
    grouped = Style(other, decimal)
    if grouped.misfit(bodies) is None and _first_long(bodies) is None:
        return grouped
    return Doubt("has marks between digits as no number has them, such as {}", (misfit,))


def _with_other_mark(
    bodies: Sequence[str], decimal: str, other: str, has_commas: bool
) -> Style | Doubt:
    """Return the style of numbers that have the mark which is not the decimal mark."""
    has_both = any(decimal in body and other in body for body in bodies)
    has_decimal = any(decimal in body for body in bodies)
    thousands, swapped = Style(decimal, other), Style(other, decimal if has_decimal else None)
    may_group = thousands.misfit(bodies) is None
    may_swap = swapped.misfit(bodies) is None
    # A number with both marks, or with one of them twice, shows their meaning.
    if may_group and not may_swap and (has_both or any(body.count(other) > 1 for body in bodies)):
        return thousands
    if may_swap and (has_both or any(body.count(decimal) > 1 for body in bodies)):
        return swapped
    if may_swap and not has_decimal and has_commas and other == ",":
        return swapped
    groupable = [i for i, body in enumerate(bodies) if other in body and thousands.fits(body)]
    fractions = [i for i, body in enumerate(bodies) if other in body and not thousands.fits(body)]
    long = _first_long(bodies)
    if may_group and long is None and not (may_swap and has_decimal):
        # With points elsewhere in the column, no option can make the comma a decimal mark.
        return Style(
            decimal, other, f"pass --decimal '{other}'" if may_swap else "correct the cells"
        )
    if may_swap and not has_decimal and not groupable:
        return swapped
    rivals = [*groupable[:1], *fractions[:1]]
    if long is not None:
        rivals.append(long)
    rivals += [i for i, body in enumerate(bodies) if decimal in body][:1]
    options = []
    if may_swap and not has_decimal:
        options.append(("--decimal", other))
    if may_group:
        options.append(("--thousands", other))
    if len(rivals) < 2:
        return Doubt(f"has {{}}, where {other!r} is not in the place of a mark", (rivals[0],))
    words = f"has {{}} beside {{}}: {other!r} may be the decimal mark or separate thousands"
    return Doubt(words, (rivals[0], rivals[1]), tuple(options))


def doubtful_units(cells: Sequence[Cell]) -> Doubt | None:
    """Return why amounts of a column are not comparable: several currencies, or some with "%"."""
    first: dict[str, int] = {}
    for index, cell in enumerate(cells):
        if not cell.unit and not cell.body.strip("0.,"):
            continue  # zero in any currency
        first.setdefault(cell.unit, index)
    named = [unit for unit in first if unit]
    if len(named) > 1:
        return Doubt(
            "has amounts in different units, such as {} and {}", (first[named[0]], first[named[1]])
        )
    if named == [PER_CENT] and "" in first:
        return Doubt("has '%' in some cells only, such as {} beside {}", (first["%"], first[""]))
    return None


def _first_with(bodies: Sequence[str], sign: str) -> int:
    return next(index for index, body in enumerate(bodies) if sign in body)


def _first_long(bodies: Sequence[str]) -> int | None:
    """Return the first number with enough digits to be grouped that is not."""
    return next((index for index, body in enumerate(bodies) if _LONG.match(body)), None)
