"""Dates: cells read as moments, and the parts of a date that are features."""

from __future__ import annotations

import datetime
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import Float
from ._table import (
    SHOWN,
    Column,
    Dates,
    InputError,
    Numbers,
    Table,
    Texts,
    Unusable,
    listed,
    options_for,
)

Order = Literal["dmy", "mdy"]
Part = Literal["year", "month", "weekday", "days"]
Moments = NDArray[np.datetime64]

ORDERS: tuple[Order, ...] = ("dmy", "mdy")
PARTS: tuple[Part, ...] = ("year", "month", "weekday", "days")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

_DAY = 86_400_000_000  # microseconds
_WRITTEN = re.compile(
    r"(?P<first>[0-9]{1,4})[-/.](?P<second>[0-9]{1,2})[-/.](?P<third>[0-9]{1,4})"
    r"([T ]+(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(:(?P<second_of>[0-9]{2})"
    r"([.,](?P<fraction>[0-9]+))?)?( ?(?P<half>[aApP])[mM])?"
    r" ?(?P<zone>Z|UTC|GMT|[+-][0-9]{2}(:?[0-9]{2})?)?)?"
)
_ISO = re.compile(
    r"(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?Z?)?"
)


@dataclass(frozen=True, slots=True)
class DatePart:
    """What a column of a model is of a column of dates.

    Attributes
    ----------
    column : str
        The column of dates.
    part : {"year", "month", "weekday", "days"}
        Year and days are numbers, month and weekday texts ("Mar", "Sat"); all in UTC.
    origin : str or None
        The date from which days are counted, as 2024-01-31; None for other parts.
    order : {"dmy", "mdy"} or None
        How the dates were written, if the year came last.
    """

    column: str
    part: Part
    origin: str | None = None
    order: Order | None = None

    @property
    def name(self) -> str:
        """What the column of the model is called."""
        return f"{self.column}: {self.part}"

    @property
    def words(self) -> str:
        """What it is, for people who have to compute it."""
        if self.part == "days":
            return f"days since {self.origin}, with fractions for times of day (UTC)"
        if self.part == "year":
            return "the year (UTC), such as 2024"
        known = MONTHS if self.part == "month" else WEEKDAYS
        return f"the {self.part} (UTC), one of {' '.join(known)}"

    def values(self, dates: Dates) -> Numbers | Texts:
        """Of some dates, (m)."""
        moments, is_missing = dates.moments, dates.is_missing
        if self.part == "days":
            elapsed = moments - np.datetime64(self.origin or "", "us")
            return _numbers((elapsed.astype(np.int64) / _DAY).astype(np.float64), is_missing)
        if self.part == "year":
            return _numbers(
                moments.astype("M8[Y]").astype(np.int64) + np.float64(1970.0), is_missing
            )
        if self.part == "month":
            return _texts(moments.astype("M8[M]").astype(np.int64) % 12, MONTHS, is_missing)
        # The first of January 1970 was a Thursday.
        days = moments.astype("M8[D]").astype(np.int64)
        return _texts((days + 3) % 7, WEEKDAYS, is_missing)


def _numbers(values: Float, is_missing: NDArray[np.bool_]) -> Numbers:
    known = values[~is_missing]
    is_whole = bool(len(known) and (known == np.floor(known)).all())
    return Numbers(np.where(is_missing, np.nan, values), is_whole=is_whole)


def _texts(places: NDArray[np.int64], names: Sequence[str], is_missing: NDArray[np.bool_]) -> Texts:
    used = np.unique(places[~is_missing]).tolist()
    levels = sorted(names[place] for place in used)
    codes = np.full(len(names), -1, dtype=np.int32)
    for place in used:
        codes[place] = levels.index(names[place])
    return Texts(np.where(is_missing, -1, codes[places]).astype(np.int32), tuple(levels))


def with_parts(
    table: Table, names: Sequence[str], notes: list[str]
) -> tuple[Table, dict[str, DatePart]]:
    """A table with the parts of some columns of dates in their places, and what each is."""
    parts: dict[str, DatePart] = {}
    columns: dict[str, Column] = {}
    for name, values in table.columns.items():
        if name not in names:
            columns[name] = values
            continue
        if not isinstance(values, Dates):
            raise InputError(
                f"--dates {name!r}: the column of {table.source} has {_what(values)}, not dates "
                "such as 2024-01-31."
            )
        if values.is_missing.all():
            notes.append(f"1 column without any value left out: {name!r}.")
            continue
        first = np.nanmin(values.moments.astype("M8[D]"))
        for part in PARTS:
            origin = str(first) if part == "days" else None
            order: Any = values.order
            found = DatePart(name, part, origin, order)
            if found.name in table.columns:
                raise InputError(
                    f"--dates {name!r} makes a column {found.name!r}, which {table.source} has "
                    "already; rename it in the file."
                )
            parts[found.name], columns[found.name] = found, found.values(values)
        notes.append(
            f"{name!r} is used by its year, month, weekday and the days since {first} ({name}: "
            "year, …)."
        )
    return replace(table, columns=columns), parts


def with_computed(table: Table, parts: Collection[DatePart]) -> Table:
    """A table with the parts that a model looks at, from its dates; those given stay if not."""
    columns = dict(table.columns)
    for part in parts:
        values = columns.get(part.column)
        if isinstance(values, Dates):
            columns[part.name] = part.values(values)
        elif part.name not in columns:
            table.column(part.column)  # or an error that names those like it
            what = _what(table.columns[part.column])
            raise InputError(
                f"Column {part.column!r} of {table.source} has {what}; the model takes dates there."
            )
    return replace(table, columns=columns)


def _what(values: Column) -> str:
    if isinstance(values, Unusable):
        return values.what
    return "numbers" if isinstance(values, Numbers) else "text"


def left_out_notes(
    table: Table, columns: Mapping[str, Column], wanted: Collection[str]
) -> list[str]:
    """What to say of columns that are neither numbers nor text, or an error if one is wanted."""
    odd = {
        name: one.what for name, one in columns.items() if isinstance(one, Unusable) and not one.why
    }
    dated = [name for name, what in odd.items() if what == "dates"]
    for name, what in odd.items():
        if name in wanted:
            advice = f"pass {options_for('--dates', [name])}" if name in dated else "leave it out"
            raise InputError(
                f"Column {name!r} of {table.source} has {what}, which cannot be used as features "
                f"directly: {advice}."
            )
    notes = []
    if dated:
        notes.append(
            f"Left out, as dates: {listed(dated)}. To use year, month, weekday and elapsed days, "
            f"pass {options_for('--dates', dated)}."
        )
    others = [f"{name!r} ({what})" for name, what in odd.items() if name not in dated]
    if others:
        more = f" and {len(others) - SHOWN} more" if len(others) > SHOWN else ""
        notes.append(
            f"Left out, as neither numbers nor text: {', '.join(others[:SHOWN])}{more}. To use "
            "one, convert it to numbers or text."
        )
    return notes


class DateProblem(ValueError):
    """Texts that are no dates, or whose order is in doubt; `words` has {} for each of them."""

    def __init__(self, words: str, *positions: int) -> None:
        super().__init__(words)
        self.words = words
        self.positions = positions


class _Fields(NamedTuple):
    position: int
    year: int
    numbers: tuple[int, int]  # month and day, or as they are written before a year
    is_last: bool  # the year
    time: datetime.timedelta  # since midnight, UTC


def read_dates(texts: Sequence[str | None], order: Order | None) -> tuple[Moments, Order | None]:
    """Moments of texts, and the order of day and month where years are written last.

    The order is told by the texts, all of which have the same; `order` is needed where they do not
    tell. Raises DateProblem.
    """
    plain = _iso_moments(texts)
    if plain is not None:
        return plain, None
    fields = [_fields(text, position) for position, text in enumerate(texts) if text is not None]
    last = [one for one in fields if one.is_last]
    found = _order_of(last, order) if last else None
    moments = np.full(len(texts), "NaT", dtype="M8[us]")
    for one in fields:
        month, day = one.numbers[::-1] if one.is_last and found == "dmy" else one.numbers
        try:
            moment = datetime.datetime(one.year, month, day) + one.time
        except (ValueError, OverflowError):
            raise DateProblem("{} is not a calendar date", one.position) from None
        moments[one.position] = np.datetime64(moment, "us")
    return moments, found


def _iso_moments(texts: Sequence[str | None]) -> Moments | None:
    """Moments of texts that are all ISO dates in UTC, by NumPy, which is faster."""
    is_iso = _ISO.fullmatch
    if not all(text is None or is_iso(text) for text in texts):
        return None
    try:
        # Digits beyond microseconds are cut off.
        known = ["NaT" if text is None else text[:26].rstrip("Z") for text in texts]
        return np.array(known, dtype="M8[us]")
    except ValueError:  # a day that the calendar does not have
        return None


def _fields(text: str, position: int) -> _Fields:
    match = _WRITTEN.fullmatch(text.strip())
    if match is None:
        raise DateProblem("{} is not a date such as 2024-01-31", position)
    first, second, third = (match[name] for name in ("first", "second", "third"))
    if len(first) == 4 and len(third) <= 2:
        year, numbers, is_last = int(first), (int(second), int(third)), False
    elif len(third) == 4 and len(first) <= 2:
        year, numbers, is_last = int(third), (int(first), int(second)), True
    else:
        raise DateProblem("{} has no year of four digits", position)
    return _Fields(position, year, numbers, is_last, _time(match, position))


def _time(match: re.Match[str], position: int) -> datetime.timedelta:
    if match["hour"] is None:
        return datetime.timedelta()
    hour, minute, second = int(match["hour"]), int(match["minute"]), int(match["second_of"] or 0)
    if match["half"]:
        is_hour = 1 <= hour <= 12
        hour = hour % 12 + 12 * (match["half"] in "pP")
    else:
        is_hour = hour <= 23
    if not is_hour or minute > 59 or second > 59:
        raise DateProblem("{} has no time of day", position)
    fraction = int((match["fraction"] or "0")[:6].ljust(6, "0"))
    found = datetime.timedelta(hours=hour, minutes=minute, seconds=second, microseconds=fraction)
    zone = match["zone"]
    if zone is None or zone[0] not in "+-":
        return found
    digits = zone[1:].replace(":", "").ljust(4, "0")
    offset = datetime.timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return found - offset if zone[0] == "+" else found + offset


def _order_of(last: list[_Fields], order: Order | None) -> Order:
    """Whether the day or the month comes first."""
    proofs: dict[Order, _Fields] = {}
    for one in last:
        first, second = one.numbers
        if first > 12 and second > 12:
            raise DateProblem("{} is not a calendar date", one.position)
        if first > 12 or second > 12:
            proofs.setdefault("dmy" if first > 12 else "mdy", one)
    if len(proofs) == 2:
        both = (proofs["dmy"].position, proofs["mdy"].position)
        raise DateProblem("{} has the day first and {} the month; write them alike", *both)
    told = next(iter(proofs), None)
    if told is not None and order is not None and told != order:
        raise DateProblem(
            f"{{}} is not written as --date-order {order} says", proofs[told].position
        )
    doubtful = next((one for one in last if one.numbers[0] != one.numbers[1]), None)
    if told is None and order is None and doubtful is not None:
        raise DateProblem(
            "{} may have the day or the month first, and no other cell shows which; pass "
            "--date-order dmy (day first) or --date-order mdy",
            doubtful.position,
        )
    return told or order or "dmy"


def dates_of_values(values: Sequence[Any], order: Order | None = None) -> Dates:
    """Dates from Python's own, those of NumPy and pandas, and texts. Raises DateProblem."""
    array = np.asarray(values) if hasattr(values, "__array__") else None
    if array is not None and array.dtype.kind == "M":
        return Dates("dates", array.astype("M8[us]"))
    entries = list(values)
    texts: list[str | None] = [one if isinstance(one, str) and one else None for one in entries]
    moments, found = read_dates(texts, order)
    for position, one in enumerate(entries):
        if isinstance(one, np.datetime64):
            moments[position] = one.astype("M8[us]")
        elif isinstance(one, datetime.datetime):  # pandas.NaT is one, and differs from itself
            if one == one:
                moments[position] = _in_utc(one)
        elif isinstance(one, datetime.date):
            moments[position] = np.datetime64(one, "us")
        elif not (one is None or isinstance(one, str) or _is_missing(one)):
            raise DateProblem("{} is not a date", position)
    return Dates("dates", moments, found)


def _in_utc(moment: datetime.datetime) -> np.datetime64:
    if moment.tzinfo is not None:
        moment = moment.astimezone(datetime.UTC).replace(tzinfo=None)
    plain = datetime.datetime(*moment.timetuple()[:6], moment.microsecond)
    return np.datetime64(plain, "us")


def _is_missing(value: Any) -> bool:
    differs = value != value
    return type(value).__name__ == "NAType" or (isinstance(differs, bool) and differs)


def orders_of(parts: Collection[DatePart]) -> dict[str, Order | None]:
    """How the dates of some parts were written, by column."""
    found: dict[str, Order | None] = {}
    for part in parts:
        found[part.column] = found.get(part.column) or part.order
    return found


def order_for(order: Order | Mapping[str, Order] | None, name: str) -> Order | None:
    """The order of a column, of one for all or of those of some."""
    return order.get(name) if isinstance(order, Mapping) else order
