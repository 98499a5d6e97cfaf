"""Columns that identify rows or groups instead of measuring something, by values and names."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import Float
from ._table import MOST_LEVELS, Column, Numbers, Texts, Unusable, listed, options_for

# With fewer rows than this, a name or a sequence alone does not justify leaving a column out.
_FEW_ROWS = 20
# Row numbers have at least this share of the whole numbers in their range, and random whole numbers
# from that range would have no ties with at most this probability.
_DENSE = 0.75
_BY_CHANCE = 1e-6
# Numbers with this many digits, all of the same length, are codes: no measurement is so exact.
_CODE_DIGITS = 7
# Group numbers denote at least this many groups.
_LEAST_GROUPS = 10
_LEAST_NAMED_GROUPS = 5
# If more columns than this (or this share) look alike, they are measurements of one kind.
_MOST_ALIKE = (3, 0.2)
_YEARS = (1800, 2100)


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_ROW_NAMES = _set(
    "id ids uuid guid index idx row rowid rownum rownumber rownr nr no pk key identifier recordid "
    "unnamed0"
)
_ID_WORDS = _set("id uuid guid identifier")
# Names of unique whole numbers in a sequence that do measure something.
_SEQUENCES = _set(
    "year years yr jahr month months monat week weeks woche day days tag hour hours hr minute "
    "minutes min second seconds sec time times t date age ages alter period quarter season visit "
    "wave round rank ranking position pos level grade dose step"
)
_CODE_WORDS = _set(
    "phone telephone telefon tel mobile fax zip zipcode postcode postalcode postal plz "
    "postleitzahl iban account ssn isbn ean gtin sku barcode"
)
_GROUP_WORDS = _set(
    "patient subject participant person proband household family cluster plate batch site store "
    "shop school class hospital clinic centre center group user customer client farm herd litter "
    "animal mouse cage tank well run session block"
)
_NUMBER_WORDS = _set("number num nr no code")

Kind = Literal["sequence", "name", "code", "category", "group"]


class Finding(NamedTuple):
    """Kind of a column that is no measurement, and the evidence in words."""

    kind: Kind
    why: str = ""


def identifiers_among(
    names: Collection[str], findings: Mapping[str, Finding], notes: list[str]
) -> set[str]:
    """Return the columns that are row numbers or identifiers, and add notes on them.

    `findings` are what columns look like with all rows of the file: if some rows are left out, row
    numbers are no longer consecutive.
    """
    for kind in ("code", "group"):
        alike = [name for name, (seen, why) in findings.items() if seen == kind and why]
        if len(alike) > max(_MOST_ALIKE[0], _MOST_ALIKE[1] * len(names)):
            findings = {name: value for name, value in findings.items() if name not in alike}
    left_out = [name for name, value in findings.items() if value.kind in ("sequence", "name")]
    if len(left_out) == len(names):
        left_out = []  # a doubtful column is better than none
    if left_out:
        is_single = len(left_out) == 1
        notes.append(
            f"Left out, as {'it seems' if is_single else 'they seem'} to number or name rows: "
            f"{listed(left_out)}. To keep {'it' if is_single else 'one'} as a feature, pass "
            f"{options_for('--keep', left_out)}."
        )
    notes += _remarks({name: value for name, value in findings.items() if name not in left_out})
    return set(left_out)


def _remarks(findings: Mapping[str, Finding]) -> list[str]:
    """Return notes on columns that stay although they may not be measurements."""

    def named(*kinds: Kind) -> list[str]:
        return [name for name, finding in findings.items() if finding.kind in kinds]

    remarks = []
    if names := named("sequence", "name", "code"):
        remarks.append(
            f"May be identifiers or codes rather than amounts: {listed(names)}. If so, leave out "
            f"with {options_for('--id', names)}."
        )
    if names := named("category"):
        remarks.append(
            f"May be codes rather than amounts: {listed(names)}. If so, pass "
            f"{options_for('--categorical', names)}, or leave out with "
            f"{options_for('--id', names)}."
        )
    remarks += [
        f"{name!r} {findings[name].why or 'may number groups of rows'}: if it numbers groups, keep "
        f"their rows together in all folds with {options_for('--cv', [name])}, or leave it out "
        f"with {options_for('--id', [name])}."
        for name in named("group")
    ]
    return remarks


def looks_like(name: str, values: Column) -> Finding | None:
    """Return what a column seems to be if it is no measurement, or None."""
    if isinstance(values, Unusable) or values.is_missing.any():
        return None
    words = _words(name)
    if isinstance(values, Texts):
        return _text(words, values)
    if not values.is_whole or values.is_flag or not len(values.values):
        return None
    return _number(words, values)


def _text(words: list[str], values: Texts) -> Finding | None:
    """Return a finding if the column is named like an identifier and each row has its own text."""
    is_unique = len(values.levels) == len(values.codes) >= _FEW_ROWS
    return Finding("name") if is_unique and _names_rows(words) else None


def _number(words: list[str], column: Numbers) -> Finding | None:
    values = column.values
    different, counts = np.unique(values, return_counts=True)
    is_unique = len(different) == len(values)
    has_few = len(values) < _FEW_ROWS
    is_consecutive = different[-1] - different[0] == len(values) - 1.0
    if is_unique and _names_rows(words) and (is_consecutive or not has_few):
        return Finding("name")
    if has_few or _is_measure(words, different):
        return None
    if is_unique and _is_sequence(different):
        return Finding("sequence")
    if _names_codes(words) and len(different) >= _LEAST_NAMED_GROUPS:
        return Finding("code" if is_unique or len(different) > MOST_LEVELS else "category")
    if is_unique:
        return Finding("code", "by its digits") if _are_codes(different) else None
    return _group(words, different, counts)


def _is_sequence(different: Float) -> bool:
    """Whether unique whole numbers (sorted) nearly fill their range."""
    count, reach = len(different), float(different[-1] - different[0]) + 1.0
    if count < _DENSE * reach:
        return False
    # reach! / (reach − count)! / reach^count: the probability that random numbers have no ties.
    chance = math.lgamma(reach + 1.0) - math.lgamma(reach - count + 1.0) - count * math.log(reach)
    return chance < math.log(_BY_CHANCE)


def _are_codes(different: Float) -> bool:
    """Whether whole numbers (sorted) are long and all of the same length."""
    if different[0] < 10.0 ** (_CODE_DIGITS - 1) or different[-1] >= 2.0**53:
        return False
    is_rounded = bool((different % 10.0 == 0.0).all())
    return not is_rounded and len(str(int(different[0]))) == len(str(int(different[-1])))


def _group(words: list[str], different: Float, counts: NDArray[np.intp]) -> Finding | None:
    """Return a finding if numbers denote groups, by the name or by equal frequencies."""
    n_groups, each = len(different), int(counts[0])
    is_often = counts.sum() >= 2 * n_groups and different[0] >= 0.0
    if _names_groups(words) and is_often and n_groups >= _LEAST_NAMED_GROUPS:
        return Finding("group")
    if n_groups < max(_LEAST_GROUPS, each) or each < 2 or (counts != each).any():
        return None
    steps = np.diff(different)
    if steps[0] > 1.0 and (steps == steps[0]).all():
        return None  # a grid of settings
    return Finding("group", f"has {n_groups} whole numbers, each in {each} rows")


def _is_measure(words: list[str], different: Float) -> bool:
    """Whether the column is a time, an age or a rank, which may be unique in each row."""
    is_year = _YEARS[0] <= different[0] and different[-1] <= _YEARS[1]
    return bool(is_year or not _SEQUENCES.isdisjoint(words))


def _words(name: str) -> list[str]:
    """Return the words of a name in lower case: CustomerID and customer_id are customer and id."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    return [word for word in re.split(r"[^0-9a-zà-öø-ÿ]+", parted.casefold()) if word]


def _names_rows(words: list[str]) -> bool:
    return "".join(words) in _ROW_NAMES or (
        bool(words) and not _ID_WORDS.isdisjoint((words[0], words[-1]))
    )


def _core(words: list[str]) -> list[str]:
    """Return the words without "number" or "code" at the end."""
    return words[:-1] if len(words) > 1 and words[-1] in _NUMBER_WORDS else words


def _names_codes(words: list[str]) -> bool:
    return bool(words) and (_core(words)[-1] in _CODE_WORDS or "".join(words) in _CODE_WORDS)


def _names_groups(words: list[str]) -> bool:
    # The whole name: an income_group is no group of rows.
    return _names_rows(words) or (len(_core(words)) == 1 and _core(words)[0] in _GROUP_WORDS)
