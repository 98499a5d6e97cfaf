"""Columns that are left out, columns with gaps, and summaries of columns."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose
from sklearn.preprocessing import scale as in_scale

from internals import Numbers, Unusable
from small_tables import flags, mixed, names_of, numbers, plain_table, prepared_of, refusal, texts

# Columns that are left out.


def test_constant_and_empty_columns_are_left_out() -> None:
    columns = plain_table()
    columns["same"] = numbers([4.0] * 60)
    columns["word"] = texts(["a"] * 60)
    columns["empty"] = numbers([None] * 60)
    columns["no text"] = texts([None] * 60)
    columns["one and gaps"] = numbers([2.0, None] * 30)
    columns["true and gaps"] = flags([True, None] * 30)
    columns["text and gaps"] = texts(["a", None] * 30)
    prepared = prepared_of(columns, impute="median")
    assert names_of(prepared) == [f"x{place}" for place in range(5)]
    assert prepared.n_columns == 13
    notes = " ".join(prepared.notes)
    assert "2 columns without any value left out: 'empty', 'no text'." in notes
    assert (
        "5 columns with a single value left out: 'same', 'word', 'one and gaps', 'true and gaps', "
        "'text and gaps'." in notes
    )
    for name in ("same", "word", "empty", "no text"):
        message = refusal(columns, impute="median", forced=(name,))
        assert message == f"--force {name!r}: the column has a single value, or none."


def test_empty_columns_need_no_filling() -> None:
    columns = plain_table()
    columns["empty"] = numbers([None] * 60)
    assert prepared_of(columns).notes == ("1 column without any value left out: 'empty'.",)


def test_nothing_to_choose_from() -> None:
    columns = {"same": numbers([1.0] * 60), "y": plain_table()["y"]}
    assert "data.csv has no column to choose from besides 'y'" in refusal(columns)
    assert "data.csv has no column to choose from" in refusal({"y": columns["y"]})
    columns["x"] = plain_table()["x0"]
    assert "data.csv has no column to choose from" in refusal(columns, ids=("x",))
    assert "data.csv has no column to choose from" in refusal(
        columns, weights="same", dropped=("x",)
    )


def test_columns_that_are_neither_numbers_nor_text() -> None:
    columns = plain_table()
    columns["when"] = Unusable("dates")
    columns["lists"] = Unusable("lists")
    prepared = prepared_of(columns)
    assert len(prepared.features) == 5
    assert prepared.notes == (
        "Left out, as dates: 'when'. To use year, month, weekday and elapsed days, pass --dates "
        "when.",
        "Left out, as neither numbers nor text: 'lists' (lists). To use one, convert it to "
        "numbers or text.",
    )
    assert "has dates, which cannot be used as features directly: pass --dates when" in refusal(
        columns, forced=("when",)
    )
    assert "has lists, which cannot be used as features directly: leave it out" in refusal(
        columns, forced=("lists",)
    )
    assert len(prepared_of(columns, dropped=("when", "lists")).features) == 5
    assert len(prepared_of(columns, ids=("when", "lists")).features) == 5
    message = refusal(columns, target="when", dropped=("lists",))
    assert "'when' (the target) has dates" in message
    message = refusal(columns, weights="when", dropped=("lists",))
    assert "'when' (weights) must have numbers" in message
    message = refusal(columns, groups="when", dropped=("lists",))
    assert "'when' (groups) has dates" in message


# Missing values.


def test_missing_values_are_named() -> None:
    columns = plain_table()
    for place, name in enumerate(("x0", "x1", "x2")):
        column = columns[name]
        assert isinstance(column, Numbers)
        column.values[5 : 7 + place] = np.nan
    message = refusal(columns)
    assert (
        "data.csv: there are missing values in 3 columns: 'x2' (4), 'x1' (3), 'x0' (2)" in message
    )
    assert "'x2' first in row 6" in message
    assert "--impute median" in message
    assert "--drop x2" in message
    assert len(prepared_of(columns, dropped=("x0", "x1", "x2")).features) == 2


def test_of_many_columns_with_gaps_some_are_named() -> None:
    columns = plain_table(n=9)
    for place in range(9):
        column = columns[f"x{place}"]
        assert isinstance(column, Numbers)
        column.values[place] = np.nan
    message = refusal(columns)
    assert "in 9 columns: 'x0' (1), 'x1' (1), 'x2' (1), 'x3' (1), 'x4' (1) and 4 more" in message


def test_gaps_are_filled_by_median_and_most_frequent_text() -> None:
    columns = plain_table(8, 2)
    columns["number"] = numbers([1.0, None, 4.0, 5.0, None, 9.0, 7.0, 100.0])
    columns["text"] = texts(["b", "a", None, "b", "a", "c", None, "d"])
    prepared = prepared_of(columns, impute="median")
    assert prepared.inputs["number"].fill == 6.0
    assert prepared.inputs["text"].fill == "a"  # of equally frequent ones the first
    assert prepared.inputs["x0"].fill is not None  # new rows may have gaps where these have none
    place = names_of(prepared).index("number")
    assert_allclose(prepared.X[:, place], in_scale([1.0, 6.0, 4.0, 5.0, 6.0, 9.0, 7.0, 100.0]))
    place = names_of(prepared).index("text=a")
    assert_allclose(prepared.X[:, place], in_scale([0.0, 1, 1, 0, 1, 0, 1, 0]))
    assert "in 2 columns: 'number', 'text'" in prepared.notes[0]
    assert prepared.summaries["number"].n_missing == 2
    assert prepared.summaries["text"].n_missing == 2
    assert prepared_of(plain_table()).inputs["x0"].fill is None


def test_missing_targets() -> None:
    columns = mixed()
    y, sign = columns["y"], columns["sign"]
    assert isinstance(y, Numbers)
    y.values[[3, 10]] = np.nan
    others = ("third", "gaps", "flag gaps", "colour gaps")
    message = refusal(columns, dropped=(*others, "sign"))
    assert "'y' (the target) is missing in 2 of 90 rows, first in row 4" in message
    assert "--drop-missing-target" in message
    prepared = prepared_of(columns, dropped=(*others, "sign"), drops_missing_target=True)
    assert len(prepared.y) == len(prepared.X) == 88
    assert prepared.notes[0] == "2 rows without a target left out."
    assert prepared.summaries["y"].n_missing == 0
    strings = sign.strings()  # type: ignore[union-attr]
    columns["sign"] = texts([None, *strings[1:]])
    prepared = prepared_of(columns, "sign", dropped=(*others, "y"), drops_missing_target=True)
    assert prepared.y.tolist() == strings[1:]
    assert prepared.notes[0] == "1 row without a target left out."
    columns["y"] = numbers([None] * 90)
    assert "(the target) is empty" in refusal(
        columns, dropped=(*others, "sign"), drops_missing_target=True
    )


def test_rows_without_a_target_are_forgotten() -> None:
    """Text that is only there tells nothing of what the model has seen."""
    columns = plain_table()
    y = columns["y"]
    assert isinstance(y, Numbers)
    y.values[:2] = np.nan
    columns["kind"] = texts(["only here", None, *["a", "b", "c", "c"] * 14, "a", None])
    columns["long"] = texts([f"n{row}" if row < 2 else f"n{row % 50}" for row in range(60)])
    columns["weight"] = numbers([-1.0, None, *[1.0, 2.0] * 29])
    columns["site"] = texts([None, "alone", *["p", "q"] * 29])
    prepared = prepared_of(
        columns, drops_missing_target=True, impute="median", weights="weight", groups="site"
    )
    assert prepared.inputs["kind"].levels == ("a", "b", "c")
    assert prepared.inputs["kind"].fill == "c"
    assert prepared.summaries["kind"].levels == (("c", 28), ("a", 15), ("b", 14))
    assert prepared.summaries["kind"].n_missing == 1
    assert prepared.groups is not None
    assert set(prepared.groups.tolist()) == {0, 1}
    assert [name for name in names_of(prepared) if name.startswith("kind")] == [
        "kind=a",
        "kind=b",
        "kind=c",
    ]


# Summaries.


def test_summaries() -> None:
    columns = plain_table()
    columns["kind"] = texts(f"k{row % 12:02}" if row else None for row in range(60))
    columns["flag"] = flags([1, 0, 1, 1] * 15)
    x0 = columns["x0"]
    assert isinstance(x0, Numbers)
    summaries = prepared_of(columns, impute="median").summaries
    assert list(summaries) == ["x0", "x1", "x2", "x3", "x4", "kind", "flag", "y"]
    number = summaries["x0"]
    assert (number.kind, number.n_missing, number.n_levels) == ("number", 0, None)
    assert (number.low, number.high) == (x0.values.min(), x0.values.max())
    assert_allclose([number.mean, number.deviation], [x0.values.mean(), x0.values.std()])
    kind = summaries["kind"]
    assert (kind.kind, kind.n_missing, kind.n_levels, kind.low) == ("text", 1, 12, None)
    assert len(kind.levels) == 10
    assert kind.levels[0] == ("k01", 5)
    assert (summaries["flag"].kind, summaries["flag"].mean) == ("flag", 0.75)
