"""A column of a CSV file from its cells: numbers, true and false, dates, or text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._table import Column, InputError, Numbers, Texts, Unusable
from ._arrow import texts_of
from ._columns import DATE, levelled, make_numbers, missing_numbers
from ._files import Source, shown
from ._header import number_pattern

Kind = Literal["number", "flag", "text"]

MISSING = (
    *("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan"),
    *("NULL", "null", "None", "?"),
)
TRUE = ("true", "True", "TRUE")
FALSE = ("false", "False", "FALSE")
# Missing only among numbers: among texts they may be a category, such as a strand of DNA.
_NO_NUMBER = ("-", "--", ".")
_TIME = r"^[0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.,][0-9]+)?)?( ?[aApP][mM])?$"
# A column with this share of numbers is one of numbers, some of which are mistyped.
_MOSTLY_NUMBERS = 0.9
# So is one with this share if the numbers are measurements rather than a few codes.
_PARTLY_NUMBERS = 0.5
_MOST_CODES = 20


def guessed_kinds(rows: list[list[str]], n: int, decimal: str) -> list[Kind]:
    """What the n columns seem to be, from some rows of cells."""
    is_number = re.compile(number_pattern(decimal)).match
    missing, flags = frozenset(MISSING), frozenset(TRUE + FALSE)
    kinds: list[Kind] = []
    for cells in zip(*rows, strict=True) if rows else [()] * n:
        present = {cell.strip() for cell in cells} - missing
        if present and all(map(is_number, present)):
            kinds.append("number")
        else:
            kinds.append("flag" if present and present <= flags else "text")
    return kinds


def column_of_cells(source: Source, name: str, cells: Any, decimal: str, as_text: bool) -> Column:
    """A column from strings of Arrow, null where missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if as_text:
        return texts_of(cells)
    if cells.null_count == len(cells):
        return missing_numbers(len(cells))
    cells = pc.utf8_trim_whitespace(cells)
    if decimal == ".":
        try:
            return make_numbers(cells.cast(pa.float64()).to_numpy())
        except pa.ArrowInvalid:
            pass  # not all are numbers
    encoded = cells.dictionary_encode().combine_chunks()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return _Different(source, name, encoded.dictionary, codes, decimal).column()


@dataclass(frozen=True, slots=True)
class _Different:
    """The different texts of a column, and which of them each row has."""

    source: Source
    name: str
    texts: Any  # (d) strings of Arrow, without blanks around them
    codes: NDArray[np.int32]  # (m) −1 where missing
    decimal: str

    def column(self) -> Column:
        """The column, or an error if it seems to be one of numbers that was damaged."""
        is_missing = self._among(MISSING)
        is_number = self._match(number_pattern(self.decimal))
        is_other = ~(is_missing | is_number)
        if is_number.any():
            is_other &= ~self._among(_NO_NUMBER)
        if not is_other.any():
            return self._numbers(is_number)
        if not is_number.any():
            if not (is_other & ~self._among(TRUE + FALSE)).any():
                return self._flags()
            for what, pattern in (("dates", DATE), ("times of day", _TIME)):
                if not (is_other & ~self._match(pattern)).any():
                    return Unusable(what)
        self._check_decimals(is_missing, is_number)
        self._check_mostly_numbers(is_missing, is_number)
        return self._categories(is_missing)

    def _among(self, known: tuple[str, ...]) -> NDArray[np.bool_]:
        import pyarrow as pa
        import pyarrow.compute as pc

        return _flags(pc.is_in(self.texts, pa.array(known, self.texts.type)))

    def _match(self, pattern: str) -> NDArray[np.bool_]:
        import pyarrow.compute as pc

        return _flags(pc.match_substring_regex(self.texts, pattern))

    def _numbers(self, is_number: NDArray[np.bool_]) -> Numbers:
        values = np.full(len(self.texts) + 1, np.nan)  # the last is for code −1
        texts = self.texts.filter(is_number).to_pylist()
        values[:-1][is_number] = [float(text.replace(self.decimal, ".")) for text in texts]
        return make_numbers(values[self.codes])

    def _flags(self) -> Numbers:
        values = np.full(len(self.texts) + 1, np.nan)
        values[:-1][self._among(TRUE)] = 1.0
        values[:-1][self._among(FALSE)] = 0.0
        return Numbers(values[self.codes], is_flag=True)

    def _categories(self, is_missing: NDArray[np.bool_]) -> Texts:
        texts = self.texts.to_pylist()
        return levelled(
            [None if gone else text for text, gone in zip(texts, is_missing, strict=True)],
            self.codes,
        )

    def _share(self, chosen: NDArray[np.bool_], among: NDArray[np.bool_]) -> float:
        """The share of rows with some texts, of those with others."""
        counts = np.bincount(self.codes[self.codes >= 0], minlength=len(self.texts))
        return float(counts[chosen].sum() / max(1, counts[among].sum()))

    def _first(self, chosen: NDArray[np.bool_]) -> str:
        """The first cell with one of some texts, and its row, in words."""
        row = int(np.flatnonzero(np.append(chosen, False)[self.codes])[0])
        return f"{shown(self.texts[self.codes[row]].as_py())} in row {row + 1}"

    def _check_decimals(self, is_missing: NDArray[np.bool_], is_number: NDArray[np.bool_]) -> None:
        other = "," if self.decimal == "." else "."
        is_swapped = self._match(number_pattern(other)) & ~is_number
        if not is_swapped.any():
            return
        if self._share(is_swapped | is_number, ~is_missing) >= _MOSTLY_NUMBERS:
            raise InputError(
                f"{self.source}: column {shown(self.name)} has numbers written with {other!r}, "
                f"such as {self._first(is_swapped)}; pass --decimal {other} if that is the "
                "decimal mark, take it out of the file if it separates thousands, or pass "
                f"--categorical {shown(self.name)} to take the column as text."
            )

    def _check_mostly_numbers(
        self, is_missing: NDArray[np.bool_], is_number: NDArray[np.bool_]
    ) -> None:
        share = self._share(is_number, ~is_missing)
        has_measurements = is_number.sum() > _MOST_CODES
        if share >= _MOSTLY_NUMBERS or (share >= _PARTLY_NUMBERS and has_measurements):
            is_text = ~(is_missing | is_number)
            raise InputError(
                f"{self.source}: column {shown(self.name)} has numbers in {share:.0%} of its "
                f"cells, but {self._first(is_text)}; mend the cells that are no numbers, empty "
                f"those that are missing, or pass --categorical {shown(self.name)} to take the "
                "column as text."
            )


def _flags(mask: Any) -> NDArray[np.bool_]:
    flags: NDArray[np.bool_] = mask.to_numpy(zero_copy_only=False)
    return flags
