"""Columns that name rows or groups rather than measure something, told from values and names."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import Float
from ._table import MOST_LEVELS, Column, Numbers, Texts, Unusable, listed, options_for

# Below this many rows a name or a sequence alone is too little to leave a column out.
_FEW_ROWS = 20
# Row numbers have this share of all whole numbers in their range, and whole numbers drawn at random
# from that range would have ties but for this probability.
_DENSE = 0.75
_BY_CHANCE = 1e-6
# Numbers of so many digits, all as long as each other, are codes: no measurement is so exact.
_CODE_DIGITS = 7
# Numbers of a group stand for so many groups at least.
_LEAST_GROUPS = 10
_LEAST_NAMED_GROUPS = 5
# Where more of the columns than this look alike, they are measurements of one kind.
_MOST_ALIKE = (3, 0.2)
_YEARS = (1800, 2100)


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_ROW_NAMES = _set(
    "id ids uuid guid index idx row rowid rownum rownumber rownr nr no pk key identifier recordid "
    "unnamed0"
)
_ID_WORDS = _set("id uuid guid identifier")
# Whole numbers in a sequence, each once, that do measure something.
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
    """What a column seems to be, and the words that say why."""

    kind: Kind
    why: str = ""


def without_identifiers(
    columns: Mapping[str, Column],
    evidence: Mapping[str, Column],
    wanted: Collection[str],
    notes: list[str],
) -> dict[str, Column]:
    """The columns that may be features, without row numbers and identifiers; notes tell of both.

    `evidence` are the columns with all rows of the file: where some are left out, row numbers are
    no longer consecutive. Columns that were asked for (`wanted`) stay, without a note.
    """
    found = {
        name: finding
        for name in columns
        if name not in wanted and (finding := looks_like(name, evidence[name])) is not None
    }
    for kind in ("code", "group"):
        alike = [name for name, (own, why) in found.items() if own == kind and why]
        if len(alike) > max(_MOST_ALIKE[0], _MOST_ALIKE[1] * len(columns)):
            found = {name: one for name, one in found.items() if name not in alike}
    left_out = [name for name, one in found.items() if one.kind in ("sequence", "name")]
    if len(left_out) == len(columns):
        left_out = []  # rather a doubtful column than none
    if left_out:
        one = len(left_out) == 1
        notes.append(
            f"Left out, as {'it seems' if one else 'they seem'} to number or name rows: "
            f"{listed(left_out)}. To keep {'it' if one else 'one'} as a feature, pass "
            f"{options_for('--keep', left_out)}."
        )
    notes += _remarks({name: one for name, one in found.items() if name not in left_out})
    return {name: values for name, values in columns.items() if name not in set(left_out)}


def _remarks(found: Mapping[str, Finding]) -> list[str]:
    """What to say of columns that stay, though they may be something else."""

    def named(*kinds: Kind) -> list[str]:
        return [name for name, one in found.items() if one.kind in kinds]

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
        f"{name!r} {found[name].why or 'may number groups of rows'}: if it numbers groups, keep "
        f"their rows together in all folds with {options_for('--cv', [name])}, or leave it out "
        f"with {options_for('--id', [name])}."
        for name in named("group")
    ]
    return remarks


def looks_like(name: str, values: Column) -> Finding | None:
    """What a column is if not a measurement; None where nothing says so."""
    if isinstance(values, Unusable) or values.is_missing.any():
        return None
    words = _words(name)
    if isinstance(values, Texts):
        return _text(words, values)
    if not values.is_whole or values.is_flag or not len(values.values):
        return None
    return _number(words, values)


def _text(words: list[str], values: Texts) -> Finding | None:
    """Text is left out by its name alone, and only where each row has its own."""
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
    """Whether whole numbers (sorted), each there once, are nearly all those of their range."""
    count, reach = len(different), float(different[-1] - different[0]) + 1.0
    if count < _DENSE * reach:
        return False
    # reach! / (reach − count)! / reach^count: of numbers drawn at random none comes twice.
    chance = math.lgamma(reach + 1.0) - math.lgamma(reach - count + 1.0) - count * math.log(reach)
    return chance < math.log(_BY_CHANCE)


def _are_codes(different: Float) -> bool:
    """Whether whole numbers (sorted) are long, and all of the same length."""
    if different[0] < 10.0 ** (_CODE_DIGITS - 1) or different[-1] >= 2.0**53:
        return False
    is_rounded = bool((different % 10.0 == 0.0).all())
    return not is_rounded and len(str(int(different[0]))) == len(str(int(different[-1])))


def _group(words: list[str], different: Float, counts: NDArray[np.intp]) -> Finding | None:
    """Numbers of groups: by the name, or as each comes equally often, more of them than of each."""
    many, each = len(different), int(counts[0])
    is_often = counts.sum() >= 2 * many and different[0] >= 0.0
    if _names_groups(words) and is_often and many >= _LEAST_NAMED_GROUPS:
        return Finding("group")
    if many < max(_LEAST_GROUPS, each) or each < 2 or (counts != each).any():
        return None
    steps = np.diff(different)
    if steps[0] > 1.0 and (steps == steps[0]).all():
        return None  # a grid of settings
    return Finding("group", f"has {many} whole numbers, each in {each} rows")


def _is_measure(words: list[str], different: Float) -> bool:
    """Whether it is a time, an age or a rank, which may come once each."""
    is_year = _YEARS[0] <= different[0] and different[-1] <= _YEARS[1]
    return bool(is_year or not _SEQUENCES.isdisjoint(words))


def _words(name: str) -> list[str]:
    """The words of a name in small letters: CustomerID and customer_id are customer and id."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    return [word for word in re.split(r"[^0-9a-zà-öø-ÿ]+", parted.casefold()) if word]


def _names_rows(words: list[str]) -> bool:
    return "".join(words) in _ROW_NAMES or (
        bool(words) and not _ID_WORDS.isdisjoint((words[0], words[-1]))
    )


def _core(words: list[str]) -> list[str]:
    """The words without "number" or "code" at the end."""
    return words[:-1] if len(words) > 1 and words[-1] in _NUMBER_WORDS else words


def _names_codes(words: list[str]) -> bool:
    return bool(words) and (_core(words)[-1] in _CODE_WORDS or "".join(words) in _CODE_WORDS)


def _names_groups(words: list[str]) -> bool:
    # The whole name: an income_group is no group of rows.
    return _names_rows(words) or (len(_core(words)) == 1 and _core(words)[0] in _GROUP_WORDS)
