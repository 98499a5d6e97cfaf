"""Dates: how they are written, what becomes of them, and models that look at their parts."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from greedyrls import LinearModel, SelectionResult
from internals import (
    MONTHS,
    WEEKDAYS,
    Column,
    DatePart,
    DateProblem,
    Dates,
    InputColumn,
    InputError,
    Numbers,
    Term,
    Texts,
    dates_of_values,
    read_dates,
    read_table,
)
from small_tables import names_of, plain_table, prepared_of, refusal, result_of

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
pytest.importorskip("click")


def written(*texts: str | None, order: Any = None) -> list[str]:
    moments, _ = read_dates(texts, order)
    return [str(one).removesuffix(".000000").removesuffix("T00:00:00") for one in moments]


# How dates are written.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-02-29", "2024-02-29"),
        ("2024/2/9", "2024-02-09"),
        ("2024.02.09", "2024-02-09"),
        ("31.1.2024", "2024-01-31"),
        ("1/31/2024", "2024-01-31"),
        ("2024-01-31T10:30", "2024-01-31T10:30:00"),
        ("2024-01-31 10:30:05.25", "2024-01-31T10:30:05.250000"),
        ("2024-01-31T10:30:05,123456789", "2024-01-31T10:30:05.123456"),
        ("2024-01-31 12:05 AM", "2024-01-31T00:05:00"),
        ("2024-01-31 12:05pm", "2024-01-31T12:05:00"),
        ("2024-01-31T23:30:00Z", "2024-01-31T23:30:00"),
        ("2024-01-31T23:30:00-02:00", "2024-02-01T01:30:00"),
        ("2024-01-31 00:30+0545", "2024-01-30T18:45:00"),
        ("2024-01-31 00:30:00 +02", "2024-01-30T22:30:00"),
        ("0001-01-01", "0001-01-01"),
        ("9999-12-31", "9999-12-31"),
    ],
)
def test_written_dates(text: str, expected: str) -> None:
    assert written(text, None) == [expected, "NaT"]


@pytest.mark.parametrize(
    ("texts", "order", "expected"),
    [
        (["01/02/2024", "13/02/2024"], None, ["2024-02-01", "2024-02-13"]),
        (["01/02/2024", "02/13/2024"], None, ["2024-01-02", "2024-02-13"]),
        (["01.02.2024"], "dmy", ["2024-02-01"]),
        (["01.02.2024"], "mdy", ["2024-01-02"]),
        (["01/01/2024", "3/3/2024"], None, ["2024-01-01", "2024-03-03"]),
        (["2024-01-02", "13/02/2024"], None, ["2024-01-02", "2024-02-13"]),
        (["2024-01-02"], "mdy", ["2024-01-02"]),
    ],
)
def test_the_order_of_day_and_month(texts: list[str], order: Any, expected: list[str]) -> None:
    assert written(*texts, order=order) == expected


@pytest.mark.parametrize(
    ("texts", "order", "words", "positions"),
    [
        (["01/01/2024", "01/02/2024"], None, "{} may have the day or the month first", (1,)),
        (["13/02/2024", "02/13/2024"], None, "{} has the day first and {} the month", (0, 1)),
        (["01/02/2024", "13/02/2024"], "mdy", "{} is not written as --date-order mdy", (1,)),
        (["2024-02-30"], None, "{} is not a calendar date", (0,)),
        (["2024-01-01", "29.02.2023"], None, "{} is not a calendar date", (1,)),
        (["13/13/2024"], None, "{} is not a calendar date", (0,)),
        (["0000-01-01"], None, "{} is not a calendar date", (0,)),
        (["9999-12-31T23:00-05:00"], None, "{} is not a calendar date", (0,)),
        (["1/2/24"], None, "{} has no year of four digits", (0,)),
        (["2024-01-01 25:00"], None, "{} has no time of day", (0,)),
        (["2024-01-01 13:00 pm"], None, "{} has no time of day", (0,)),
        (["soon"], None, "{} is not a date such as 2024-01-31", (0,)),
        (["2024-01-31 noon"], None, "{} is not a date such as 2024-01-31", (0,)),
        (["٢٠٢٤-٠١-٠١"], None, "{} is not a date such as 2024-01-31", (0,)),
    ],
)
def test_dates_that_are_none(
    texts: list[str], order: Any, words: str, positions: tuple[int, ...]
) -> None:
    with pytest.raises(DateProblem) as caught:
        read_dates(texts, order)
    assert caught.value.words.startswith(words)
    assert caught.value.positions == positions


def test_iso_dates_are_read_alike_alone_and_among_others() -> None:
    """SerialExecutor by NumPy, among others by the calendar of Python."""
    rng = np.random.default_rng(2)
    days = np.datetime64("0001-01-01") + rng.integers(0, 3_600_000, 300)
    forms = ("{}", "{}T23:59", "{} 00:00:59Z", "{}T12:00:00.5", "{} 12:30:01.1234567Z")
    texts = [forms[place % 5].format(day) for place, day in enumerate(days.astype(str))]
    alone, order = read_dates(texts, None)
    among, _ = read_dates([*texts, "2024/1/1"], None)
    assert order is None
    assert (alone == among[:-1]).all()
    for bad in ("2023-02-29", "2023-02-28T24:00", "2023-02-28 23:60", "0000-01-01"):
        with pytest.raises(DateProblem):
            read_dates([bad], None)


def test_files_name_the_cell(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("sold,y\n02/01/2024,1\n02/03/2024,2\n,3\n")
    with pytest.raises(InputError) as caught:
        read_table(path, as_dates=["sold"])
    assert str(caught.value) == (
        f"{path}: column 'sold' must have dates, but '02/01/2024' in line 2 may have the day or "
        "the month first, and no other cell shows which; pass --date-order dmy (day first) or "
        "--date-order mdy."
    )
    found = read_table(path, as_dates=["sold", "absent"], date_order={"sold": "dmy"})
    days = found.columns["sold"]
    assert isinstance(days, Dates)
    assert days.order == "dmy"
    assert days.moments.astype("M8[D]").astype(str).tolist() == ["2024-01-02", "2024-03-02", "NaT"]
    # Without being asked for they are only recognised.
    plain = read_table(path).columns["sold"]
    assert not isinstance(plain, Dates)
    assert isinstance(read_table(path, as_dates=["y"]).columns["y"], Numbers)
    with pytest.raises(InputError, match="--date-order must be dmy or mdy"):
        read_table(path, date_order="ymd")  # type: ignore[arg-type]  # an order that there is not


NOON = datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([NOON.date(), None]),
        pa.array([NOON.replace(tzinfo=None), None]),
        pa.array([NOON, None], pa.timestamp("ns", "UTC")),
        pa.array([NOON, None], pa.timestamp("us", "Europe/Berlin")),
        pa.array([NOON, None], pa.timestamp("s", "+05:30")),
        pa.array(["2024-02-29T12:00Z", None]),
        pa.array(["2024-02-29T14:00+02:00", "2024-02-29T14:00+02:00"]).dictionary_encode(),
    ],
    ids=lambda column: str(column.type),
)
def test_dates_of_arrow_are_in_utc(column: Any, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"sold": column}), tmp_path / "t.parquet")
    found = read_table(tmp_path / "t.parquet", as_dates=["sold"]).columns["sold"]
    assert isinstance(found, Dates)
    hour = 0 if pa.types.is_date(column.type) else 12
    assert found.moments[0] == np.datetime64(f"2024-02-29T{hour:02}:00")


def test_dates_of_numpy(tmp_path: Path) -> None:
    sold = np.array(["2024-02-29T12", "NaT"], "M8[ns]")
    np.savez(tmp_path / "t.npz", X=np.zeros((2, 1)), sold=sold)
    found = read_table(tmp_path / "t.npz", as_dates=["sold"]).columns["sold"]
    assert isinstance(found, Dates)
    assert found.moments.astype("M8[h]").astype(str).tolist() == ["2024-02-29T12", "NaT"]


# Their parts.


def dates(*texts: str | None) -> Dates:
    return Dates("dates", np.array([one or "NaT" for one in texts], "M8[us]"))


def test_parts_are_those_of_the_calendar() -> None:
    rng = np.random.default_rng(0)
    days = np.datetime64("1899-12-31") + rng.integers(0, 90_000, 400)
    moments = days.astype("M8[us]") + rng.integers(0, 86_400_000_000, 400).astype("m8[us]")
    column = Dates("dates", np.append(moments, np.datetime64("NaT", "us")))
    frame = pd.Series(moments)
    year = DatePart("d", "year").values(column)
    month = DatePart("d", "month").values(column)
    weekday = DatePart("d", "weekday").values(column)
    elapsed = DatePart("d", "days", "1950-06-01").values(column)
    assert isinstance(year, Numbers)
    assert year.is_whole
    assert year.values[:-1].tolist() == frame.dt.year.tolist()
    assert isinstance(month, Texts)
    assert month.strings()[:-1] == [MONTHS[one - 1] for one in frame.dt.month]
    assert isinstance(weekday, Texts)
    assert weekday.strings()[:-1] == [WEEKDAYS[one] for one in frame.dt.day_of_week]
    assert isinstance(elapsed, Numbers)
    expected = (frame - pd.Timestamp("1950-06-01")) / pd.Timedelta(days=1)
    assert_allclose(elapsed.values[:-1], expected, rtol=1e-12)
    for part in (year, month, weekday, elapsed):
        assert part.is_missing.tolist() == [False] * 400 + [True]


def dated(m: int = 60, **more: Column) -> dict[str, Column]:
    days = np.datetime64("2023-11-20") + np.random.default_rng(1).permutation(m)
    return {**plain_table(m), "sold": dates(*days.astype(str)), **more}


def test_dates_become_features() -> None:
    prepared = prepared_of(dated(), dates=("sold",))
    found = names_of(prepared)
    assert found[:6] == [*(f"x{place}" for place in range(5)), "sold: year"]
    assert found[6:9] == ["sold: month=Dec", "sold: month=Jan", "sold: month=Nov"]
    assert found[9:16] == [f"sold: weekday={day}" for day in sorted(WEEKDAYS)]
    assert found[16:] == ["sold: days"]  # which count the rows, but are no row numbers
    assert prepared.inputs["sold: days"].date == DatePart("sold", "days", "2023-11-20")
    assert prepared.notes[0] == (
        "'sold' is used by its year, month, weekday and the days since 2023-11-20 (sold: year, …)."
    )
    assert prepared.n_columns == 7
    # Days count from the first of the rows that are used.
    columns = dated()
    sold = columns["sold"]
    assert isinstance(sold, Dates)
    y = columns["y"]
    assert isinstance(y, Numbers)
    values = y.values.copy()
    values[np.argmin(sold.moments)] = np.nan
    fewer = prepared_of(
        columns | {"y": Numbers(values)}, dates=("sold",), drops_missing_target=True
    )
    assert fewer.inputs["sold: days"].date == DatePart("sold", "days", "2023-11-21")


def test_missing_dates_are_filled_in() -> None:
    columns = dated(sold=dates(None, *(f"2024-01-{day % 28 + 1:02}" for day in range(59))))
    assert "--impute median" in refusal(columns, dates=("sold",))
    prepared = prepared_of(columns, dates=("sold",), impute="median")
    assert prepared.inputs["sold: weekday"].fill in WEEKDAYS
    assert prepared.inputs["sold: days"].fill == pytest.approx(13.0, abs=1.0)
    nothing = prepared_of(dated(sold=dates(*[None] * 60)), dates=("sold",))
    assert "1 column without any value left out: 'sold'." in nothing.notes


def test_columns_that_are_no_dates() -> None:
    assert "--dates 'x0': the column of data.csv has numbers, not dates" in refusal(
        dated(), dates=("x0",)
    )
    assert "has no column 'solt'; did you mean 'sold'" in refusal(dated(), dates=("solt",))
    assert "cannot be both --drop and --dates" in refusal(
        dated(), dates=("sold",), dropped=("sold",)
    )
    taken = dated() | {"sold: year": plain_table()["x0"]}
    assert "makes a column 'sold: year', which data.csv has already" in refusal(
        taken, dates=("sold",)
    )


def test_dates_that_must_be_in() -> None:
    prepared = prepared_of(dated(), dates=("sold",), forced=("sold", "x1"))
    forced = [names_of(prepared)[place] for place in prepared.forced]
    assert forced[0] == "sold: year"
    assert forced[-2:] == ["sold: days", "x1"]
    assert len(forced) == 13


# Models.

PARTS = [
    InputColumn("sold: year", None, None, date=DatePart("sold", "year")),
    InputColumn("sold: month", ("Feb", "Jan"), None, date=DatePart("sold", "month")),
    InputColumn("sold: weekday", ("Sat", "Sun"), "Sun", date=DatePart("sold", "weekday")),
    InputColumn("sold: days", None, 3.0, date=DatePart("sold", "days", "2024-01-01", "dmy")),
    InputColumn("x"),
]
MODEL = LinearModel(
    "regression",
    "y",
    tuple(PARTS),
    (
        Term("sold: year", None, (0.001,)),
        Term("sold: month", "Feb", (10.0,)),
        Term("sold: weekday", "Sat", (100.0,)),
        Term("sold: days", None, (1000.0,)),
        Term("x", None, (1.0,)),
    ),
    (0.0,),
)
# A Saturday and a Thursday.
SOLD = [datetime.date(2024, 2, 3), datetime.date(2024, 2, 29)]
EXPECTED = [33_112.024 + 1.0, 59_012.024 + 2.0]


@pytest.mark.parametrize(
    "sold",
    [
        SOLD,
        pd.Series(pd.to_datetime(SOLD)),
        pd.Series(pd.to_datetime(SOLD)).dt.tz_localize("UTC"),
        pd.Series(SOLD),
        np.array(SOLD, "M8[D]"),
        ["2024-02-03", "29.02.2024"],
        ["3.2.2024", "2024-02-29T00:00Z"],  # the day first, as when it was fitted
        [np.datetime64("2024-02-03"), datetime.datetime(2024, 2, 29)],
    ],
    ids=lambda one: type(one).__name__,
)
def test_models_compute_the_parts(sold: Any) -> None:
    assert_allclose(MODEL.predict({"sold": sold, "x": [1.0, 2.0]}), EXPECTED, rtol=1e-12)
    if hasattr(sold, "dt"):
        frame = pd.DataFrame({"x": [1.0, 2.0], "sold": sold})
        assert_allclose(MODEL.predict(frame), EXPECTED, rtol=1e-12)


def test_models_take_the_parts_themselves() -> None:
    parts = {
        "sold: year": [2024, 2024],
        "sold: month": ["Feb", "Feb"],
        "sold: weekday": ["Sat", "Thu"],
        "sold: days": [33, 59],
        "x": [1.0, 2.0],
    }
    assert_allclose(MODEL.predict(parts), EXPECTED, rtol=1e-12)
    assert MODEL.unseen({"sold": SOLD, "x": [1, 2]}) == {"sold: weekday": ["Thu"]}
    with pytest.raises(InputError, match="has no column 'sold'"):
        MODEL.predict({"x": [1.0]})
    with pytest.raises(InputError, match="'sold' of the data must have dates, but 'soon' is no"):
        MODEL.predict({"x": [1.0], "sold": ["soon"]})
    with pytest.raises(InputError, match="'sold' of the data must have dates, but 3 is not a date"):
        MODEL.predict({"x": [1.0], "sold": [3]})
    with pytest.raises(InputError, match="'sold: year' of the data has 1 missing"):
        MODEL.predict({"x": [1.0, 2.0], "sold": [None, SOLD[0]]})


def test_values_that_are_missing_dates() -> None:
    found = dates_of_values([pd.NaT, None, float("nan"), pd.NA, "", SOLD[0]])
    assert found.is_missing.tolist() == [True] * 5 + [False]


def test_models_in_files() -> None:
    text = MODEL.to_json()
    assert json.loads(text)["version"] == 2
    assert LinearModel.from_json(text) == MODEL
    plain = LinearModel("regression", "y", (InputColumn("x"),), (), (0.0,))
    assert json.loads(plain.to_json())["version"] == 1
    assert "date" not in plain.to_json()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"part": "hour"}, "unknown part 'hour'"),
        ({"origin": "2024-02-30"}, "document is damaged"),
        ({"origin": "soon"}, "origin is 'soon', which is not a date"),
        ({"origin": None}, "origin is of days"),
        ({"order": "ymd"}, "unknown order"),
        ({"column": "when"}, "the date of a column does not fit"),
        ({"column": 3}, "column is 3, not a string"),
    ],
)
def test_damaged_dates_of_models(change: dict[str, Any], message: str) -> None:
    document = json.loads(MODEL.to_json())
    document["columns"][3]["date"] |= change
    with pytest.raises(ValueError, match=message):
        LinearModel.from_json(json.dumps(document))


def test_results_in_files() -> None:
    prepared = prepared_of(dated(), dates=("sold",), forced=("sold",))
    from internals import Question, choose

    result = result_of(prepared, choose(prepared, Question(14, 0.7)))
    again = SelectionResult.from_json(result.to_json())
    assert json.loads(result.to_json())["version"] == 2
    assert again.inputs == result.inputs
    assert again.model() == result.model()
    assert again.to_json() == result.to_json()
    plain = result_of(prepared_of(plain_table()))
    assert json.loads(plain.to_json())["version"] == 1


def test_exports_take_the_parts() -> None:
    import sqlite3

    from greedyrls.export import to_c, to_python, to_sql

    words = '"sold: days" is of the date "sold": days since 2024-01-01, with fractions'
    names = [column.name for column in MODEL.columns]
    rows = [(2024, "Feb", "Sat", 33.0, 1.0), (2024, "Feb", "Thu", 59.0, 2.0)]
    module: dict[str, Any] = {}
    code = to_python(MODEL)
    exec(code, module)
    found = [module["predict"](dict(zip(names, row, strict=True))) for row in rows]
    assert_allclose(found, EXPECTED, rtol=1e-12)
    database = sqlite3.connect(":memory:")
    database.execute(f"CREATE TABLE data ({', '.join(repr(name) for name in names)})")
    database.executemany("INSERT INTO data VALUES (?, ?, ?, ?, ?)", rows)
    statement = to_sql(MODEL)
    found = [row[-1] for row in database.execute(statement)]
    database.close()
    assert_allclose(found, EXPECTED, rtol=1e-12)
    c = to_c(MODEL)
    assert "double sold_days;" in c
    for text in (code, statement, c):
        assert words in text
        assert '"sold: weekday" is of the date "sold": the weekday (UTC), one of Mon Tue' in text
    nasty = DatePart("*/ x\n", "year")
    model = LinearModel(
        "regression",
        "y",
        (InputColumn(nasty.name, None, None, date=nasty),),
        (Term(nasty.name, None, (1.0,)),),
        (0.0,),
    )
    assert to_c(model).count("*/") == to_c(model).count("/*")
    assert "\n x" not in to_sql(model)
    compile(to_python(model), "model", "exec")
