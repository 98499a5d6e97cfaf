"""Parse a column of cells of a CSV file: numbers, true and false, dates, or text."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._table import Column, Numbers, Texts, Unusable, row_in_words
from ._arrow import texts_of
from ._columns import DATE, levelled, make_numbers, missing_numbers
from ._files import shown
from ._header import Dialect, number_pattern
from ._remarks import Remarks
from ._styles import PER_CENT, Cell, Doubt, Style, choose_style, doubtful_units, take_apart
from ._wanted import Wanted

Kind = Literal["number", "flag", "text"]

MISSING = (
    *("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan"),
    *("NULL", "null", "None", "?"),
)
TRUE = ("true", "True", "TRUE")
FALSE = ("false", "False", "FALSE")
# Missing values only among numbers, in lower case: among texts they may be categories, such as a
# strand of DNA.
_NO_NUMBER = frozenset(
    {
        *(
            "-",
            "--",
            "---",
            "–",
            "—",
            ".",
            "..",
            "...",
            "…",
            "*",
            "na",
            "n.a.",
            "n.a",
            "n. a.",
            "n/a",
        ),
        *("nd", "n.d.", "n.d", "n. d.", "n/d", "unknown", "unk", "missing", "not available"),
        *("not applicable", "not detected", "not measured", "not recorded", "no data", "nodata"),
        *("none", "null", "nan", "empty", "blank", "tbd", "k.a.", "k. a.", "keine angabe"),
        *("unbekannt", "fehlt", "inconnu", "desconocido", "#div/0!", "#value!", "#ref!", "#name?"),
        *("#num!", "#null!", "#n/a", "#n/a n/a", "<na>"),
    }
)
_TIME = r"^[0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.,][0-9]+)?)?( ?[aApP][mM])?$"
# A column with this share of numbers is numeric, with some cells mistyped.
_MOSTLY_NUMBERS = 0.9
# So is a column with this share, if the numbers are measurements and not a few codes.
_PARTLY_NUMBERS = 0.5
_MOST_CODES = 20
# Up to this many different words in a numeric column may all mean a missing value.
_FEW_WORDS = 3


def guessed_kinds(
    rows: list[list[str]], n: int, decimal: str, more_missing: tuple[str, ...] = ()
) -> list[Kind]:
    """Return what the n columns seem to be, from some rows of cells."""
    is_number = re.compile(number_pattern(decimal)).match
    missing, flags = frozenset((*MISSING, *more_missing)), frozenset(TRUE + FALSE)
    kinds: list[Kind] = []
    for cells in zip(*rows, strict=True) if rows else [()] * n:
        present = {cell.strip() for cell in cells} - missing
        if present and all(map(is_number, present)):
            kinds.append("number")
        else:
            kinds.append("flag" if present and present <= flags else "text")
    return kinds


def column_of_cells(
    name: str,
    cells: Any,
    wanted: Wanted,
    dialect: Dialect,
    remarks: Remarks,
    location_of: Callable[[int], str] = row_in_words,
) -> Column:
    """Parse a column from strings of Arrow, null if missing.

    Cells that are ambiguous make the column unusable, which is an error if it is used. A column in
    `as_numbers` must have numbers in all cells if it has any.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if name in wanted.as_text:
        return texts_of(cells)
    if cells.null_count == len(cells):
        return missing_numbers(len(cells))
    cells = pc.utf8_trim_whitespace(cells)
    if dialect.decimal == ".":
        try:
            return make_numbers(cells.cast(pa.float64()).to_numpy())
        except pa.ArrowInvalid:
            pass  # not all cells are numbers
    encoded = cells.dictionary_encode().combine_chunks()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return _Distinct(
        name,
        encoded.dictionary,
        codes,
        dialect.decimal,
        dialect.thousands,
        (*MISSING, *wanted.missing),
        name in wanted.as_numbers,
        name in wanted.comma_columns,
        location_of,
        remarks,
    ).column()


@dataclass(frozen=True, slots=True)
class _Distinct:
    """The distinct texts of a column, and the code of each row."""

    name: str
    texts: Any  # (d) stripped strings of Arrow
    codes: NDArray[np.int32]  # (m) −1 if missing
    decimal: str
    thousands: str | None
    missing: tuple[str, ...]
    as_number: bool
    has_commas: bool  # a comma is the decimal mark if that is possible
    location_of: Callable[[int], str]
    remarks: Remarks

    def column(self) -> Column:
        """Return the column; unusable if it seems to have damaged numbers."""
        is_missing = self._among(self.missing)
        is_number = self._match(number_pattern(self.decimal))
        is_other = ~(is_missing | is_number)
        if not is_other.any():
            return self._numbers(is_number)
        if not is_number.any():
            if not (is_other & ~self._among(TRUE + FALSE)).any():
                return self._flags()
            for kind, pattern in (("dates", DATE), ("times of day", _TIME)):
                if not (is_other & ~self._match(pattern)).any():
                    return Unusable(kind)
        return self._written_otherwise(is_missing, is_number, is_other)

    def _written_otherwise(
        self,
        is_missing: NDArray[np.bool_],
        is_number: NDArray[np.bool_],
        is_other: NDArray[np.bool_],
    ) -> Column:
        """Return a column in which some cells are no plain numbers."""
        others = np.flatnonzero(is_other).tolist()
        texts = self.texts.filter(is_other).to_pylist()
        cells = {
            index: cell
            for index, text in zip(others, texts, strict=True)
            if (cell := take_apart(text)) is not None
        }
        remaining = [
            (index, text) for index, text in zip(others, texts, strict=True) if index not in cells
        ]
        is_amount = is_number.copy()
        is_amount[list(cells)] = True
        words = {index: text for index, text in remaining if text.casefold() in _NO_NUMBER}
        if not is_amount.any() and not (self.as_number and len(words) == len(remaining)):
            return self._categories(is_missing)
        is_text = is_other & ~is_amount
        is_text[list(words)] = False
        if not is_text.any():
            amounts = self._amounts(is_number, cells)
            if isinstance(amounts, Unusable):
                return amounts
            if amounts is not None:
                counts = self._counts()
                for index, word in words.items():
                    self.remarks.missed(word, self.name, int(counts[index]))
                return amounts
        is_counted = ~is_missing
        is_counted[list(words)] = False
        return self._mixed(is_missing, is_amount, is_text, is_counted)

    def _amounts(
        self, is_number: NDArray[np.bool_], cells: dict[int, Cell]
    ) -> Numbers | Unusable | None:
        """Return the numbers if there is one way to read all; None if they are mostly limits."""
        if not cells:
            return self._numbers(is_number)
        plain = np.flatnonzero(is_number).tolist()
        for index, text in zip(plain, self.texts.filter(is_number).to_pylist(), strict=True):
            cell = take_apart(text)
            assert cell is not None
            cells[index] = cell
        indices, parsed = list(cells), list(cells.values())
        if all(cell.is_accounting for cell in parsed):
            return None  # (1), (2), … need not be negative numbers
        n_limits = sum(bool(cell.limit) for cell in parsed)
        if 2 * n_limits >= len(parsed) and n_limits and not self.as_number:
            return None
        style = choose_style(
            [cell.body for cell in parsed], self.decimal, self.thousands, self.has_commas
        )
        doubt = style if isinstance(style, Doubt) else doubtful_units(parsed)
        if doubt is not None:
            examples = [self._first_of(indices[example]) for example in doubt.examples]
            why = doubt.words.format(*examples)
            return Unusable("numbers", why=why, options=doubt.options)
        assert isinstance(style, Style)
        values = np.full(len(self.texts) + 1, np.nan)  # the last entry is for code −1
        values[indices] = [style.value(cell) for cell in parsed]
        self._remark(style, parsed, indices)
        return make_numbers(values[self.codes])

    def _remark(self, style: Style, cells: list[Cell], indices: list[int]) -> None:
        """Record how the cells were interpreted."""
        unit = next((cell.unit for cell in cells if cell.unit), "")
        taken = [repr(unit)] if unit else []
        if style.decimal == ",":
            self.remarks.comma_columns.add(self.name)
        else:
            self.remarks.comma_columns.discard(self.name)
        if style.otherwise:
            self.remarks.did(
                f"{style.thousands!r} taken as a thousands separator, since three digits follow "
                f"each; if it is the decimal mark, {style.otherwise}",
                self.name,
            )
        elif style.thousands is not None:
            taken.append("thousands separators")
        if taken:
            kept = ", so that 5% is the number 5" if unit == PER_CENT else ""
            self.remarks.did(f"{' and '.join(taken)} taken out{kept}", self.name)
        if any(cell.is_accounting for cell in cells):
            self.remarks.did("numbers as (12) or 12- taken as negative", self.name)
        if style.decimal != self.decimal:
            self.remarks.did(f"{style.decimal!r} taken as the decimal mark", self.name)
        limited = [index for index, cell in zip(indices, cells, strict=True) if cell.limit]
        if limited:
            count = int(self._counts()[limited].sum())
            rows = f"{count} row{'s' * (count != 1)}"
            self.remarks.did(
                f"limits such as {shown(self.texts[limited[0]].as_py())}, in {rows}, taken as the "
                "numbers themselves",
                self.name,
            )

    def _mixed(
        self,
        is_missing: NDArray[np.bool_],
        is_amount: NDArray[np.bool_],
        is_text: NDArray[np.bool_],
        is_counted: NDArray[np.bool_],
    ) -> Column:
        """Return numbers and texts as categories, unless the texts seem to be mistakes."""
        share = self._share(is_amount, is_counted)
        has_measurements = is_amount.sum() > _MOST_CODES and share >= _PARTLY_NUMBERS
        if not is_text.any() or not (
            self.as_number or share >= _MOSTLY_NUMBERS or has_measurements
        ):
            return self._categories(is_missing)
        texts = self.texts.filter(is_text).to_pylist()
        others = f" (and {len(texts) - 1} more)" if len(texts) > 1 else ""
        options = tuple(("--missing", text) for text in texts) if len(texts) <= _FEW_WORDS else ()
        return Unusable(
            "numbers and text",
            why=f"has numbers in {share:.0%} of its cells, but {self._first(is_text)}{others}",
            options=options,
        )

    def _among(self, texts: tuple[str, ...]) -> NDArray[np.bool_]:
        import pyarrow as pa
        import pyarrow.compute as pc

        return _flags(pc.is_in(self.texts, pa.array(texts, self.texts.type)))

    def _match(self, pattern: str) -> NDArray[np.bool_]:
        import pyarrow.compute as pc

        return _flags(pc.match_substring_regex(self.texts, pattern))

    def _numbers(self, is_number: NDArray[np.bool_]) -> Numbers:
        values = np.full(len(self.texts) + 1, np.nan)  # the last entry is for code −1
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

    def _counts(self) -> NDArray[np.intp]:
        """Return the number of rows with each text, (d)."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.texts))

    def _share(self, chosen: NDArray[np.bool_], among: NDArray[np.bool_]) -> float:
        """Return the number of rows with some texts, as a share of those with others."""
        counts = self._counts()
        return float(counts[chosen].sum() / max(1, counts[among].sum()))

    def _first(self, chosen: NDArray[np.bool_]) -> str:
        """Return the first cell with one of some texts, and its location, in words."""
        row = int(np.flatnonzero(np.append(chosen, False)[self.codes])[0])
        return f"{shown(self.texts[self.codes[row]].as_py())} in {self.location_of(row)}"

    def _first_of(self, text: int) -> str:
        """Return the first cell with the text of this index, and its location, in words."""
        chosen = np.zeros(len(self.texts), dtype=bool)
        chosen[text] = True
        return self._first(chosen)


def _flags(mask: Any) -> NDArray[np.bool_]:
    flags: NDArray[np.bool_] = mask.to_numpy(zero_copy_only=False)
    return flags
