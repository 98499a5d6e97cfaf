"""Dates: parse cells as moments, and compute the parts of a date that are features."""

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
    """The part of a date column that a column of a model contains.

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
        """The name of the column of the model."""
        return f"{self.column}: {self.part}"

    @property
    def words(self) -> str:
        """A description for people who have to compute the part."""
        if self.part == "days":
            return f"days since {self.origin}, with fractions for times of day (UTC)"
        if self.part == "year":
            return "the year (UTC), such as 2024"
        names = MONTHS if self.part == "month" else WEEKDAYS
        return f"the {self.part} (UTC), one of {' '.join(names)}"

    def values(self, dates: Dates) -> Numbers | Texts:
        """Return the part of some dates, (m)."""
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
    present = values[~is_missing]
    is_whole = bool(len(present) and (present == np.floor(present)).all())
    return Numbers(np.where(is_missing, np.nan, values), is_whole=is_whole)


def _texts(
    indices: NDArray[np.int64], names: Sequence[str], is_missing: NDArray[np.bool_]
) -> Texts:
    used = np.unique(indices[~is_missing]).tolist()
    levels = sorted(names[index] for index in used)
    codes = np.full(len(names), -1, dtype=np.int32)
    for index in used:
        codes[index] = levels.index(names[index])
    return Texts(np.where(is_missing, -1, codes[indices]).astype(np.int32), tuple(levels))


def with_parts(
    table: Table, names: Sequence[str], notes: list[str]
) -> tuple[Table, dict[str, DatePart]]:
    """Replace date columns of a table by their parts; also return what each part is."""
    parts: dict[str, DatePart] = {}
    columns: dict[str, Column] = {}
    for name, values in table.columns.items():
        if name not in names:
            columns[name] = values
            continue
        if not isinstance(values, Dates):
            raise InputError(
                f"--dates {name!r}: the column of {table.source} has {_kind_of(values)}, not dates "
                "such as 2024-01-31."
            )
        if values.is_missing.all():
            notes.append(f"1 column without any value left out: {name!r}.")
            continue
        first = np.nanmin(values.moments.astype("M8[D]"))
        for part in PARTS:
            origin = str(first) if part == "days" else None
            order: Any = values.order
            computed = DatePart(name, part, origin, order)
            if computed.name in table.columns:
                raise InputError(
                    f"--dates {name!r} makes a column {computed.name!r}, which {table.source} has "
                    "already; rename it in the file."
                )
            parts[computed.name], columns[computed.name] = computed, computed.values(values)
        notes.append(
            f"{name!r} is used by its year, month, weekday and the days since {first} ({name}: "
            "year, …)."
        )
    return replace(table, columns=columns), parts


def with_computed(table: Table, parts: Collection[DatePart]) -> Table:
    """Add to a table the date parts that a model needs; precomputed parts are kept."""
    columns = dict(table.columns)
    for part in parts:
        values = columns.get(part.column)
        if isinstance(values, Dates):
            columns[part.name] = part.values(values)
        elif part.name not in columns:
            table.column(part.column)  # raises an error that suggests similar names
            kind = _kind_of(table.columns[part.column])
            raise InputError(
                f"Column {part.column!r} of {table.source} has {kind}; the model takes dates there."
            )
    return replace(table, columns=columns)


def _kind_of(values: Column) -> str:
    if isinstance(values, Unusable):
        return values.what
    return "numbers" if isinstance(values, Numbers) else "text"


def left_out_notes(
    table: Table, columns: Mapping[str, Column], wanted: Collection[str]
) -> list[str]:
    """Return notes on columns that are neither numbers nor text, or fail if one is wanted."""
    odd = {
        name: column.what
        for name, column in columns.items()
        if isinstance(column, Unusable) and not column.why
    }
    dated = [name for name, kind in odd.items() if kind == "dates"]
    for name, kind in odd.items():
        if name in wanted:
            advice = f"pass {options_for('--dates', [name])}" if name in dated else "leave it out"
            raise InputError(
                f"Column {name!r} of {table.source} has {kind}, which cannot be used as features "
                f"directly: {advice}."
            )
    notes = []
    if dated:
        notes.append(
            f"Left out, as dates: {listed(dated)}. To use year, month, weekday and elapsed days, "
            f"pass {options_for('--dates', dated)}."
        )
    others = [f"{name!r} ({kind})" for name, kind in odd.items() if name not in dated]
    if others:
        more = f" and {len(others) - SHOWN} more" if len(others) > SHOWN else ""
        notes.append(
            f"Left out, as neither numbers nor text: {', '.join(others[:SHOWN])}{more}. To use "
            "one, convert it to numbers or text."
        )
    return notes


class DateProblem(ValueError):
    """Texts that are no dates, or whose order is ambiguous; `words` has {} for each of them."""

    def __init__(self, words: str, *positions: int) -> None:
        super().__init__(words)
        self.words = words
        self.positions = positions


class _Fields(NamedTuple):
    position: int
    year: int
    numbers: tuple[int, int]  # month and day, or in the written order before a year
    is_last: bool  # whether the year is written last
    time: datetime.timedelta  # since midnight, UTC


def read_dates(texts: Sequence[str | None], order: Order | None) -> tuple[Moments, Order | None]:
    """Return the moments of texts, and the order of day and month if years are written last.

    The order is inferred from the texts, which must all have the same; `order` is needed if they
    are ambiguous. Raises DateProblem.
    """
    plain = _iso_moments(texts)
    if plain is not None:
        return plain, None
    fields = [_fields(text, position) for position, text in enumerate(texts) if text is not None]
    last = [entry for entry in fields if entry.is_last]
    inferred = _order_of(last, order) if last else None
    moments = np.full(len(texts), "NaT", dtype="M8[us]")
    for entry in fields:
        month, day = entry.numbers[::-1] if entry.is_last and inferred == "dmy" else entry.numbers
        try:
            moment = datetime.datetime(entry.year, month, day) + entry.time
        except (ValueError, OverflowError):
            raise DateProblem("{} is not a calendar date", entry.position) from None
        moments[entry.position] = np.datetime64(moment, "us")
    return moments, inferred


def _iso_moments(texts: Sequence[str | None]) -> Moments | None:
    """Return the moments of texts by NumPy, which is faster, if all are ISO dates in UTC."""
    is_iso = _ISO.fullmatch
    if not all(text is None or is_iso(text) for text in texts):
        return None
    try:
        # Digits beyond microseconds are cut off.
        plain = ["NaT" if text is None else text[:26].rstrip("Z") for text in texts]
        return np.array(plain, dtype="M8[us]")
    except ValueError:  # not a calendar date
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
    elapsed = datetime.timedelta(hours=hour, minutes=minute, seconds=second, microseconds=fraction)
    zone = match["zone"]
    if zone is None or zone[0] not in "+-":
        return elapsed
    digits = zone[1:].replace(":", "").ljust(4, "0")
    offset = datetime.timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return elapsed - offset if zone[0] == "+" else elapsed + offset


def _order_of(last: list[_Fields], order: Order | None) -> Order:
    """Return whether the day or the month comes first."""
    proofs: dict[Order, _Fields] = {}
    for entry in last:
        first, second = entry.numbers
        if first > 12 and second > 12:
            raise DateProblem("{} is not a calendar date", entry.position)
        if first > 12 or second > 12:
            proofs.setdefault("dmy" if first > 12 else "mdy", entry)
    if len(proofs) == 2:
        positions = (proofs["dmy"].position, proofs["mdy"].position)
        raise DateProblem("{} has the day first and {} the month; write them alike", *positions)
    inferred = next(iter(proofs), None)
    if inferred is not None and order is not None and inferred != order:
        raise DateProblem(
            f"{{}} is not written as --date-order {order} says", proofs[inferred].position
        )
    doubtful = next((entry for entry in last if entry.numbers[0] != entry.numbers[1]), None)
    if inferred is None and order is None and doubtful is not None:
        raise DateProblem(
            "{} may have the day or the month first, and no other cell shows which; pass "
            "--date-order dmy (day first) or --date-order mdy",
            doubtful.position,
        )
    return inferred or order or "dmy"


def dates_of_values(values: Sequence[Any], order: Order | None = None) -> Dates:
    """Convert dates of Python, NumPy and pandas, and texts. Raises DateProblem."""
    array = np.asarray(values) if hasattr(values, "__array__") else None
    if array is not None and array.dtype.kind == "M":
        return Dates("dates", array.astype("M8[us]"))
    entries = list(values)
    texts: list[str | None] = [
        value if isinstance(value, str) and value else None for value in entries
    ]
    moments, inferred = read_dates(texts, order)
    for position, value in enumerate(entries):
        if isinstance(value, np.datetime64):
            moments[position] = value.astype("M8[us]")
        elif isinstance(
            value, datetime.datetime
        ):  # pandas.NaT is a datetime that differs from itself
            if value == value:
                moments[position] = _in_utc(value)
        elif isinstance(value, datetime.date):
            moments[position] = np.datetime64(value, "us")
        elif not (value is None or isinstance(value, str) or _is_missing(value)):
            raise DateProblem("{} is not a date", position)
    return Dates("dates", moments, inferred)


def _in_utc(moment: datetime.datetime) -> np.datetime64:
    if moment.tzinfo is not None:
        moment = moment.astimezone(datetime.UTC).replace(tzinfo=None)
    plain = datetime.datetime(*moment.timetuple()[:6], moment.microsecond)
    return np.datetime64(plain, "us")


def _is_missing(value: Any) -> bool:
    differs = value != value
    return type(value).__name__ == "NAType" or (isinstance(differs, bool) and differs)


def orders_of(parts: Collection[DatePart]) -> dict[str, Order | None]:
    """Return the order of day and month in the dates of some parts, by column."""
    orders: dict[str, Order | None] = {}
    for part in parts:
        orders[part.column] = orders.get(part.column) or part.order
    return orders


def order_for(order: Order | Mapping[str, Order] | None, name: str) -> Order | None:
    """Return the order of a column, from one order for all columns or from orders by column."""
    return order.get(name) if isinstance(order, Mapping) else order
