"""SQL that is written for a model is run in SQLite and says what the model says."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given

import exported
from exported import Case, Row, cases, small_model
from greedyrls import LinearModel
from greedyrls.export import to_sql
from internals import InputColumn, Term


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@contextmanager
def database(model: LinearModel, rows: list[Row], table: str = "data") -> Iterator[Any]:
    """SQLite in memory, with the rows in a table; not a number is NULL there."""
    connection = sqlite3.connect(":memory:")
    kinds = {one.name: "REAL" if one.levels is None else "TEXT" for one in model.columns}
    declared = ", ".join(f"{quoted(name)} {kinds.get(name, '')}" for name in rows[0])
    connection.execute(f"CREATE TABLE {quoted(table)} ({declared})")
    marks = ", ".join("?" * len(rows[0]))
    values = [tuple(row.values()) for row in rows]
    connection.executemany(f"INSERT INTO {quoted(table)} VALUES ({marks})", values)
    try:
        yield connection
    finally:
        connection.close()


def check(case: Case, table: str = "data") -> None:
    model, rows = case.model, case.rows
    width = len(model.intercepts)
    statement = to_sql(model, table=table)
    with database(model, rows, table) as connection:
        cursor = connection.execute(statement)
        found = cursor.fetchall()
        names = [entry[0] for entry in cursor.description]
        assert connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (1,)
    given_ = len(rows[0])
    assert names[:given_] == list(rows[0])
    # The columns of the table come first and are as they were.
    for before, after in zip(rows, found, strict=True):
        values = [None if exported.is_missing(one) else one for one in before.values()]
        assert list(after[:given_]) == values
    scores = [[math.nan if one is None else one for one in row[given_:][:width]] for row in found]
    exported.assert_scores(case, scores)
    if model.classes is None:
        assert len(names) == given_ + width
        assert all(name.startswith("prediction") for name in names[given_:])
    else:
        assert names[-1] == "prediction"
        labels = [row[-1] for row in found]
        if isinstance(model.classes[0], bool):
            labels = [None if one is None else bool(one) for one in labels]
        exported.assert_labels(case, labels)


@given(cases())
def test_says_what_the_model_says(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("table", ["data", "scored", 'a "table"; DROP TABLE data; --', "温\n度"])
def test_nasty_names_stay_names(table: str) -> None:
    check(exported.nasty_case(), table)


def test_nasty_labels_stay_labels() -> None:
    check(exported.nasty_labels())


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_ties(n_classes: int) -> None:
    check(exported.ties(n_classes))


def test_many_terms() -> None:
    case = exported.many_terms()
    check(case)
    model = case.model
    classes = LinearModel(
        "classification",
        "y",
        model.columns,
        tuple(Term(term.column, None, term.coefficients * 3) for term in model.terms),
        (0.5, 0.75, 0.25),
        ("a", "b", "c"),
    )
    check(Case(classes, case.rows, True))


def test_many_classes() -> None:
    count = 120
    coefficients = tuple(float(place * 7 % count) for place in range(count))
    model = small_model(
        task="classification",
        classes=tuple(range(count)),
        columns=(InputColumn("size"),),
        terms=(Term("size", None, coefficients),),
        intercepts=(0.0,) * count,
    )
    check(Case(model, [{"size": 1.0}, {"size": 0.0}, {"size": -1.0}, {"size": math.nan}], True))


def test_a_model_without_terms() -> None:
    check(Case(small_model(columns=(), terms=()), [{"other": 1.0}], True))


def test_a_column_that_is_not_there_is_an_error() -> None:
    # SQLite takes "size" for the text 'size' where no table stands before it.
    with (
        database(small_model(), [{"kind": "a", "other": 1.0}]) as connection,
        pytest.raises(sqlite3.OperationalError, match=r"no such column: data\.size"),
    ):
        connection.execute(to_sql(small_model()))


@pytest.mark.parametrize("name", ["score", "score_0", "SCORE_1", "prediction", "scored"])
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_columns_called_like_the_outputs(name: str, outputs: int, task: str) -> None:
    model = small_model(
        task=task,
        classes=None if task == "regression" else tuple("abc"[: max(outputs, 2)]),
        columns=(InputColumn(name),),
        terms=(Term(name, None, (3.0, -2.0, 1.0)[:outputs]),),
        intercepts=(0.5, 4.0, 1.0)[:outputs],
    )
    # Among them columns that the model does not know, as a result of another statement has.
    others = dict.fromkeys(("score", "score_0", "score_1", "prediction"), 99.0)
    others = {one: value for one, value in others.items() if one != name.casefold()}
    for table in ("data", "scored"):
        rows = [{name: value, **others} for value in (4.0, -4.0, 0.25)]
        check(Case(model, rows, True), table)


def test_infinite_values_leave_the_class_open() -> None:
    for classes in (("a", "b"), ("a", "b", "c")):
        outputs = 1 if len(classes) == 2 else 3
        model = small_model(
            task="classification",
            classes=classes,
            columns=(InputColumn("size"),),
            terms=(Term("size", None, (2.0,) * outputs),),
            intercepts=(1.0,) * outputs,
        )
        rows = [{"size": math.inf}, {"size": -math.inf}, {"size": 0.0}]
        with database(model, rows) as connection:
            found = [row[-1] for row in connection.execute(to_sql(model))]
        assert found == [None, None, classes[outputs == 1]]


def test_numbers_stand_for_text() -> None:
    model = small_model(columns=(InputColumn("size"), InputColumn("kind", ("3", "b"), "b")))
    model = LinearModel(
        "regression", "y", model.columns, (*model.terms, Term("kind", "3", (4.0,))), (1.0,)
    )
    with sqlite3.connect(":memory:") as connection:
        connection.execute("CREATE TABLE data (size INTEGER, kind INTEGER)")
        connection.execute("INSERT INTO data VALUES (2, 3), (TRUE, NULL)")
        found = [row[-1] for row in connection.execute(to_sql(model))]
    connection.close()
    assert found == [9.0, 3.5]


@pytest.mark.parametrize(("text", "message"), [("a\0b", "a null character"), ("\ud800", "Unicode")])
def test_texts_that_sql_cannot_hold(text: str, message: str) -> None:
    column = (InputColumn(text),)
    with pytest.raises(ValueError, match=f"The column .*{message}"):
        to_sql(small_model(columns=column, terms=(Term(text, None, (1.0,)),)))
    column = (InputColumn("kind", (text,), text),)
    with pytest.raises(ValueError, match=f"The text .*{message}"):
        to_sql(small_model(columns=column, terms=(Term("kind", text, (1.0,)),)))
    with pytest.raises(ValueError, match=f"The text .*{message}"):
        to_sql(small_model(task="classification", classes=("a", text)))
    with pytest.raises(ValueError, match=f"The table .*{message}"):
        to_sql(small_model(), table=text)
    assert "\0" not in to_sql(small_model(target=text, made_by=text))


@pytest.mark.parametrize("table", ["", None, 3])
def test_a_table_must_have_a_name(table: Any) -> None:
    with pytest.raises(ValueError, match="table must be the name of a table"):
        to_sql(small_model(), table=table)


def test_whole_labels_of_64_bits() -> None:
    with pytest.raises(ValueError, match="does not fit into the 64 bits of SQL"):
        to_sql(small_model(task="classification", classes=(0, 2**63)))
    to_sql(small_model(task="classification", classes=(-(2**63), 2**63 - 1)))


@pytest.mark.parametrize(
    ("table", "source"),
    [
        ("sales.customers", '"sales"."customers"'),
        (("sales", "customers"), '"sales"."customers"'),
        (["sales", "customers"], '"sales"."customers"'),
        ('sales."customers"', '"sales"."customers"'),
        ('"sales.customers"', '"sales.customers"'),
        (("sales.customers",), '"sales.customers"'),
        ('"sales"."my.""own"" table"', '"sales"."my.""own"" table"'),
        ("db.sales.customers", '"db"."sales"."customers"'),
        ('x"; DROP TABLE data; --', '"x""; DROP TABLE data; --"'),
        ("a\n.b\n", '"a\n"."b\n"'),
    ],
)
def test_tables_in_a_schema(table: Any, source: str) -> None:
    statement = to_sql(small_model(), table=table)
    assert f"FROM {source};" in statement


@pytest.mark.parametrize(
    "table", ["", ".", "a.", ".a", "a..b", '"a', '"a"b.c', (), ("",), ("a", 3), None, 3, b"data"]
)
def test_what_is_no_table(table: Any) -> None:
    with pytest.raises(ValueError, match=r"table must be the name of a table.*'sales\.customers'"):
        to_sql(small_model(), table=table)


@pytest.mark.parametrize("table", ["other.people", 'other."my.table"'])
def test_a_schema_is_looked_at(table: str) -> None:
    """SQLite calls schemas databases."""
    model = small_model()
    name = table.removeprefix("other.")
    with database(model, [{"size": 1.0, "kind": "a"}]) as connection:
        connection.execute("ATTACH ':memory:' AS other")
        connection.execute(f"CREATE TABLE other.{name} (size REAL, kind TEXT)")
        connection.execute(f"INSERT INTO other.{name} VALUES (2.0, 'b')")
        rows = connection.execute(to_sql(model, table=table)).fetchall()
    assert rows == [(2.0, "b", 5.5)]
