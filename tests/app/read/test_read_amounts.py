"""Numbers as people write them: thousands, commas, percent, money, limits, words for missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from internals import Style, Table, Unusable, read_table, take_apart
from table_files import plain, write, write_bytes


def table_from(cells: list[str], folder: Path, **options: Any) -> Table:
    """A table whose column "a" has these cells; quoted, so that they may have any delimiter."""
    rows = "".join('"' + cell.replace('"', '""') + '";1\n' for cell in cells)
    return read_table(write_bytes(folder / "data.csv", f"a;b\n{rows}"), **options)


def read(cells: list[str], folder: Path, **options: Any) -> tuple[tuple[Any, ...], tuple[str, ...]]:
    """The values of a column, and the notes on it."""
    table = table_from(cells, folder, **options)
    return plain(table.column("a")), table.notes


THOUSANDS = "thousands separators taken out"
MAY_BE = (
    "Column 'a': ',' taken as a thousands separator, since three digits follow each; if it is the "
    "decimal mark, pass --decimal ','."
)


@pytest.mark.parametrize(
    ("cells", "values", "note"),
    [
        (["1,337", "950", "12,000"], (1337, 950, 12000), MAY_BE),
        (["1,337.5", "950"], (1337.5, 950), f"Column 'a': {THOUSANDS}."),
        (["1,234,567", "1,337"], (1234567, 1337), f"Column 'a': {THOUSANDS}."),
        (["12,34,567", "1,337"], (1234567, 1337), f"Column 'a': {THOUSANDS}."),
        (["1,337", "2.5"], (1337, 2.5), "if it is the decimal mark, correct the cells."),
        (["1 337", "12 000 000", "5"], (1337, 12000000, 5), f"Column 'a': {THOUSANDS}."),
        (["1\u00a0337", "2 337"], (1337, 2337), f"Column 'a': {THOUSANDS}."),
        (["1'337.5", "2’337"], (1337.5, 2337), f"Column 'a': {THOUSANDS}."),
        (["1,5", "-0,25", "3"], (1.5, -0.25, 3), "Column 'a': ',' taken as the decimal mark."),
        (["0,337", "3"], (0.337, 3), "Column 'a': ',' taken as the decimal mark."),
        (["13.4%", "5 %", "0"], (13.4, 5, 0), "'%' taken out, so that 5% is the number 5."),
        (["$1,101.50", "-$3", "$-4", "$ 5"], (1101.5, -3, -4, 5), f"'$' and {THOUSANDS}."),
        (["€ 5", "7,5 €"], (5, 7.5), "Column 'a': '€' taken out."),
        (["1 200 kr", "50 kr."], (1200, 50), f"'kr' and {THOUSANDS}."),
        (["USD 5", "7 USD", "0"], (5, 7, 0), "Column 'a': 'USD' taken out."),
        (["\u22125", "3"], (-5, 3), None),
        (["1e3", "1,337.5"], (1000, 1337.5), THOUSANDS),
        (["inf", "1,337.5"], (np.inf, 1337.5), THOUSANDS),
        (["<0.5", "0.7", "1.2", ">100"], None, None),
        (["<0.5", "0.7", "1.2", "<0.5"], (0.5, 0.7, 1.2, 0.5), "limits such as '<0.5', in 2 rows"),
        (
            ["≤ 5", "7", "8.5", ">= 100", "9"],
            (5, 7, 8.5, 100, 9),
            "limits such as '≤ 5', in 2 rows",
        ),
    ],
)
def test_amounts(cells: list[str], values: Any, note: str | None, tmp_path: Path) -> None:
    found, notes = read(cells, tmp_path)
    if values is None:  # as many limits as numbers are categories
        assert found == ("text", *cells)
        return
    assert found[0] in ("number", "whole")
    assert found[1:] == values
    assert note is None or note in " ".join(notes)
    if note is None:
        assert notes == ()
    # The same without a note on columns that nobody uses.
    assert table_from(cells, tmp_path, leave_out=["a"]).notes == ()


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["109.771,00", "1.337,5", "12,25"], (109771, 1337.5, 12.25)),
        (["1.337", "950"], (1337, 950)),
        (["1,5", "1,337"], (1.5, 1.337)),
        (["€ 1.200,50", "€ 7"], (1200.5, 7)),
        (["2.5", "0.25"], (2.5, 0.25)),
    ],
)
def test_amounts_with_decimal_commas(cells: list[str], values: Any, tmp_path: Path) -> None:
    assert read(cells, tmp_path, decimal=",")[0][1:] == values
    if "1,337" not in cells and "1.337" not in cells:  # which nobody can tell without the option
        assert read(cells, tmp_path)[0][1:] == values


@pytest.mark.parametrize(
    ("cells", "why", "options"),
    [
        (["1,337", "1,5"], "'1,337' in line 2 beside '1,5' in line 3: ',' may be", ["--decimal"]),
        (
            ["950", "1,337", "12345"],
            "'1,337' in line 3 beside '12345' in line 4: ',' may be the decimal mark or separate",
            ["--decimal", "--thousands"],
        ),
        (["1,5", "2.5"], "'1,5' in line 2 beside '2.5' in line 3", []),
        (["1,337", "1.337"], "'1,337' in line 2 beside '1.337'", ["--thousands"]),
        (["$5", "€7"], "different units, such as '$5' in line 2 and '€7' in line 3", []),
        (["13%", "0.5"], "'%' in some cells only, such as '13%' in line 2 beside '0.5'", []),
        (["1 337", "1'337"], "separated in different ways", []),
        (["12.345.678", "12345"], "marks between digits as no number has them, such as '12.", []),
    ],
)
def test_doubts_are_told(cells: list[str], why: str, options: list[str], tmp_path: Path) -> None:
    column = table_from(cells, tmp_path).column("a")
    assert isinstance(column, Unusable)
    assert why in column.why
    assert [option for option, _ in column.options] == options
    # Each piece of advice works.
    for option, value in column.options:
        settings = {option.removeprefix("--"): value}
        assert read(cells, tmp_path, **settings)[0][0] in ("number", "whole")


def test_thousands_as_asked(tmp_path: Path) -> None:
    assert read(["1,337", "12345"], tmp_path, thousands=",")[0] == ("whole", 1337, 12345)
    assert read(["1.337", "1.5e3"], tmp_path)[0] == ("number", 1.337, 1500)
    assert read(["1.337"], tmp_path, thousands=".", decimal=",")[0] == ("whole", 1337)
    column = table_from(["1,337", "1,5"], tmp_path, thousands=",").column("a")
    assert isinstance(column, Unusable)
    assert column.why == "has '1,5' in line 3, where ',' does not separate thousands"


def test_a_column_known_to_have_decimal_commas(tmp_path: Path) -> None:
    """What a file does not tell, an earlier one does."""
    for cells in (["1,337"], ["1,337", "1,5"], ["1,337", "12345"]):
        numbers = tuple(float(cell.replace(",", ".")) for cell in cells)
        table = table_from(cells, tmp_path, comma_columns=["a"])
        assert plain(table.column("a"))[1:] == numbers
        assert table.comma_columns == {"a"}
    # Where commas are thousands for sure, they are.
    assert read(["1,337.5"], tmp_path, comma_columns=["a"])[0] == ("number", 1337.5)
    assert table_from(["1,337.5"], tmp_path).comma_columns == frozenset()
    assert table_from(["1,5"], tmp_path, decimal=",").comma_columns == {"a", "b"}
    assert table_from(["2.5"], tmp_path, decimal=",").comma_columns == {"b"}


WORDS = ["n.d.", "N.D.", "-", "--", ".", "unknown", "Missing", "n/d", "not available", "#DIV/0!"]


@pytest.mark.parametrize("word", WORDS)
def test_words_for_missing(word: str, tmp_path: Path) -> None:
    found, notes = read(["1.5", word, "2.5", word, "$3" if word == "-" else "3"], tmp_path)
    assert found == ("number", 1.5, None, 2.5, None, 3)
    assert f"{word!r} in 2 rows of 'a' counts as missing." in notes
    # Among texts a word may be a category.
    assert read(["x", word, "y"], tmp_path)[0] == ("text", "x", word, "y")
    assert read([word, word], tmp_path)[0][0] == "text"


def test_words_for_missing_are_no_texts(tmp_path: Path) -> None:
    """Nine numbers and one text are mostly numbers, however many cells are missing."""
    column = table_from([*"123456789", "x", *["n.d."] * 5], tmp_path).column("a")
    assert isinstance(column, Unusable)
    assert column.why == "has numbers in 90% of its cells, but 'x' in line 11"


def test_notes_on_columns_alike_are_one(tmp_path: Path) -> None:
    path = write_bytes(tmp_path / "data.csv", 'a;b;c\n"1,5";"2,5";n.d.\n-;"0,1";2\n-;"1,1";n.d.\n')
    assert read_table(path).notes == (
        "2 columns ('a', 'b'): ',' taken as the decimal mark.",
        "'-' in 2 rows of 'a' counts as missing.",
        "'n.d.' in 2 rows of 'c' counts as missing.",
    )


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow", ".npz"])
def test_missing_as_asked(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"data{suffix}"
    numbers, texts = [1.5, -999.0, 3.0], ["x", "gone", "y"]
    if suffix == ".npz":
        np.savez(path, X=np.array([[one] for one in numbers]), names=["a"], b=np.array(texts))
    else:
        write(pa.table({"a": numbers, "b": texts}), path)
    table = read_table(path, missing=["-999", "gone"])
    assert plain(table.column("a")) == ("number", 1.5, None, 3)
    assert plain(table.column("b")) == ("text", "x", None, "y")
    assert table.notes == ()
    assert plain(read_table(path, missing=["gone"], as_text=["b"]).column("b"))[2] is None


def test_columns_that_must_be_numbers(tmp_path: Path) -> None:
    """A small file tells little: where numbers are expected, one decides."""
    cells = ["1.5", "low", "medium", "high"]
    assert read(cells, tmp_path)[0] == ("text", *cells)
    column = table_from(cells, tmp_path, as_numbers=["a"]).column("a")
    assert isinstance(column, Unusable)
    assert "has numbers in 25% of its cells, but 'low' in line 3 (and 2 more)" in column.why
    assert read(["<5", ">7"], tmp_path)[0][0] == "text"
    assert read(["<5", ">7"], tmp_path, as_numbers=["a"])[0] == ("whole", 5, 7)
    assert read(["x", "y"], tmp_path, as_numbers=["a"])[0] == ("text", "x", "y")


@pytest.mark.parametrize(
    "cells",
    [
        ["1.2.3", "1.2.4"],
        ["12.05.20", "13.05.20"],
        ["192.168.0.1", "10.0.0.7"],
        ["040 123 456", "040 123 457"],
        ["123 45", "543 21"],
        ["12A", "7A"],
        ["(1)", "(2)"],
        ["5 kg", "7 apples"],
        ["1-3", "4-6"],
        ["$", "%"],
        ["EURO 5", "5 EUROS"],
        ["1,,5", "2,,5"],
        ["--5", "+-3"],
        ["$5 €", "$7 €"],
    ],
)
def test_text_stays_text(cells: list[str], tmp_path: Path) -> None:
    assert read(cells, tmp_path) == (("text", *cells), ())


NEGATIVE = "numbers as (12) or 12- taken as negative"


@pytest.mark.parametrize(
    ("cells", "values", "taken"),
    [
        (["7", "(12)", "(3)"], (7, -12, -3), [NEGATIVE]),
        (["1.3", "0.3-", "2.5"], (1.3, -0.3, 2.5), [NEGATIVE]),
        (["$5", "($7)", "$0"], (5, -7, 0), ["'$' taken out", NEGATIVE]),
        (["11.0 °C", "-3.5 °C", "0 °C"], (11.0, -3.5, 0), ["'°C' taken out"]),
        (["6h", "23h", "14h"], (6, 23, 14), ["'h' taken out"]),
        (
            ["5 kg", "7 kg", "1,200.5 kg"],
            (5, 7, 1200.5),
            ["'kg' and thousands separators taken out"],
        ),
    ],
)
def test_accounts_and_measurements(
    cells: list[str], values: tuple[float, ...], taken: list[str], tmp_path: Path
) -> None:
    (_, *found), notes = read(cells, tmp_path)
    assert tuple(found) == values
    assert notes == tuple(f"Column 'a': {one}." for one in taken)


def test_different_measures_are_not_mixed(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("a\n5 kg\n300 g\n7 kg\n")
    column = read_table(path).columns["a"]
    assert isinstance(column, Unusable)
    assert "different units, such as '5 kg' in line 2 and '300 g' in line 3" in column.why


def written(value: float, thousands: str, decimal: str, digits: int) -> str:
    text = f"{value:,.{digits}f}"
    return text.replace(",", "T").replace(".", decimal).replace("T", thousands)


@settings(max_examples=60)
@given(
    st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=6),
    st.sampled_from([(",", "."), (".", ","), (" ", "."), (" ", ","), ("'", "."), ("\u202f", ",")]),
    st.sampled_from(["", "$", "%", " EUR"]),
    st.integers(1, 4),
)
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory,
    values: list[float],
    marks: tuple[str, str],
    unit: str,
    digits: int,
) -> None:
    """However numbers are written: read as they are, or not at all; never as others."""
    cells = [written(value, *marks, digits) + unit for value in values]
    expected = [float(f"{value:.{digits}f}") for value in values]
    folder = tmp_path_factory.getbasetemp()
    # With the marks said, all can be read.
    known = read(cells, folder, decimal=marks[1], thousands=marks[0].replace("\u202f", " "))[0]
    assert list(known[1:]) == expected
    table = table_from(cells, folder)
    column = table.column("a")
    if not isinstance(column, Unusable) and list(plain(column)[1:]) != expected:
        # Only what can be read in two ways: three digits behind every mark, or points.
        assert marks[1] == ","
        bare = [cell.removesuffix(unit).lstrip("-") for cell in cells]
        assert digits == 3 or all(cell.count(".") <= 1 for cell in bare)
        assert any("--decimal ," in note for note in table.notes) or not any("." in b for b in bare)


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_text_in_stores_where_numbers_are_needed(suffix: str, tmp_path: Path) -> None:
    cells = pa.array(["1.5", "n.d.", None, "3"])
    path = write(pa.table({"a": cells, "b": cells.dictionary_encode()}), tmp_path / f"data{suffix}")
    assert plain(read_table(path).column("a")) == ("text", "1.5", "n.d.", None, "3")
    table = read_table(path, as_numbers=["a", "b"])
    for name in ("a", "b"):
        assert plain(table.column(name)) == ("number", 1.5, None, None, 3)
    assert table.notes == ("'n.d.' in 2 rows of 2 columns ('a', 'b') counts as missing.",)


@settings(max_examples=100)
@given(
    st.from_regex(
        r"[+-]?([0-9]{1,6}\.?[0-9]{0,3}|\.[0-9]{1,3})([eE][+-]?[0-9]{1,2})?", fullmatch=True
    )
)
def test_plain_numbers_are_amounts_too(text: str) -> None:
    cell = take_apart(text)
    assert cell is not None
    assert Style(".").value(cell) == float(text)
