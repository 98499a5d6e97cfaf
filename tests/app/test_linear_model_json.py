"""The model as a file: exact round trips, and a clear ValueError for what is none of ours."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exported import Case, cases, small_model
from greedyrls import LinearModel
from internals import InputColumn, Sigmoid, Term

CLEAR = r"(is not a greedyrls\.model document|greedyrls\.model document (is damaged|has version))"
MODEL = LinearModel(
    task="classification",
    target="kind",
    columns=(InputColumn("size", None, 0.5), InputColumn("colour", ("red", "blue"), "red")),
    terms=(Term("size", None, (0.1, 1e-17, -3.0)), Term("colour", "blue", (1.0, 2.0, 1 / 3))),
    intercepts=(0.1 + 0.2, 0.0, -1.5),
    classes=("a", "b", "c"),
    made_by="greedyrls 0.1.0",
    sigmoids=(Sigmoid(1.5, 0.25), Sigmoid(0.0, -1.0), Sigmoid(1 / 3, 1e-9)),
)
DOCUMENT = json.loads(MODEL.to_json())


def load(document: Any) -> LinearModel:
    """Through the public door."""
    return LinearModel.from_json(json.dumps(document))


# Round trips.


@given(cases(), st.sampled_from([None, 2]), st.booleans())
def test_round_trips_are_exact(case: Case, indent: int | None, as_bytes: bool) -> None:
    text = case.model.to_json(indent=indent)
    again = LinearModel.from_json(text.encode() if as_bytes else text)
    assert again == case.model
    assert again.to_json() == case.model.to_json()
    before, after = case.model.classes or (), again.classes or ()
    assert [type(label) for label in before] == [type(label) for label in after]


@given(st.text(st.characters(), max_size=5), st.integers(-(10**40), 10**40))
def test_any_text_and_any_whole_label(text: str, label: int) -> None:
    model = small_model(
        target=text,
        columns=(InputColumn(text, (text,), text),),
        terms=(Term(text, text, (1.0,)),),
        task="classification",
        classes=(label, label + 1),
    )
    again = LinearModel.from_json(model.to_json())
    assert again == model
    assert again.predict({text: [None]}).tolist() == [label + 1]


def test_what_is_not_known_is_ignored() -> None:
    document = copy.deepcopy(DOCUMENT) | {"future": 1}
    document["columns"][0]["unit"] = "cm"
    document["terms"][0]["note"] = None
    assert load(document) == MODEL


def test_numbers_that_are_not_finite_are_not_written() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        small_model(intercepts=(math.nan,)).to_json()


# Damaged documents.


def places(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in the document."""
    if path:
        yield path
    if isinstance(document, dict | list):
        for key in document if isinstance(document, dict) else range(len(document)):
            yield from places(document[key], (*path, key))


def at(document: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        document = document[key]
    return document


PLACES = list(places(DOCUMENT))


@pytest.mark.parametrize("place", PLACES, ids=lambda place: ".".join(map(str, place)))
def test_no_key_may_be_missing(place: tuple[Any, ...]) -> None:
    if isinstance(place[-1], int) and place[0] in ("terms", "columns") and len(place) < 3:
        return  # fewer terms are another model; a column without terms is none that is needed
    if place[-2:-1] == ("levels",) or place == ("sigmoids",):
        return  # files of the first days have no sigmoids
    document = copy.deepcopy(DOCUMENT)
    del at(document, place[:-1])[place[-1]]
    with pytest.raises(ValueError, match=CLEAR) as caught:
        load(document)
    if isinstance(place[-1], str) and place[-1] not in ("format", "version"):
        assert repr(place[-1]) in str(caught.value)


WRONG = [None, True, 3, -1.5, "text", "", [], [None], {}, {"a": 1}, 10**400, "1e400", [[1.0]]]


@pytest.mark.parametrize("place", PLACES, ids=lambda place: ".".join(map(str, place)))
def test_values_of_another_type(place: tuple[Any, ...]) -> None:
    for wrong in WRONG:
        document = copy.deepcopy(DOCUMENT)
        before = at(document, place)
        at(document, place[:-1])[place[-1]] = wrong
        number = isinstance(before, float) and type(wrong) in (int, float) and wrong != 10**400
        text = isinstance(before, str) and isinstance(wrong, str)
        empty = place[-1] in ("levels", "terms") and wrong == []
        nothing = place[-1] in ("fill", "level", "levels", "sigmoids") and wrong is None
        if number or text or empty or nothing:
            continue  # fits, or contradicts something else, which has a test below
        with pytest.raises(ValueError, match=CLEAR) as caught:
            load(document)
        assert len(str(caught.value)) < 900


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity", "1e999", "9" * 500, "9" * 5000])
@pytest.mark.parametrize("where", ["intercepts", "coefficients", "fill", "classes", "version"])
def test_numbers_that_are_none(word: str, where: str) -> None:
    document = copy.deepcopy(DOCUMENT)
    marks = {
        "intercepts": ["mark", 0.0, 0.0],
        "version": "mark",
        "classes": [1.0, 2.0, "mark"],
    }
    if where in marks:
        document[where] = marks[where]
    elif where == "fill":
        document["columns"][0]["fill"] = "mark"
    else:
        document["terms"][0]["coefficients"][1] = "mark"
    with pytest.raises(ValueError, match=CLEAR):
        LinearModel.from_json(json.dumps(document).replace('"mark"', word))


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("task",), "ranking", "unknown task 'ranking'"),
        (("task",), "regression", "a regression has classes"),
        (("classes",), ["a"], "two labels or more"),
        (("classes",), ["a", "b"], "intercepts has 3 entries for 1 outputs"),
        (("classes",), ["a", "b", "c", "d"], "intercepts has 3 entries for 4 outputs"),
        (("classes",), ["a", "b", 3], "of one kind"),
        (("classes",), [1, 2, 3.5], "of one kind"),
        (("classes",), [True, False, 1], "of one kind"),
        (("classes",), [None, None, None], "classes has None"),
        (("classes",), [["a"], ["b"], ["c"]], "not a number"),
        (("classes",), ["a", "b", "a"], "a class appears more than once"),
        (("intercepts",), [], "coefficients has 3 entries, expected 0"),
        (("intercepts",), [1.0, 2.0], "coefficients has 3 entries, expected 2"),
        (("columns", 1, "name"), "size", "a column appears more than once"),
        (("columns", 1, "name"), "shape", "'colour', which is not among the columns"),
        (("columns", 0, "levels"), ["a"], "fill is 0.5, not a string"),
        (("columns", 1, "levels"), None, "not a number"),
        (("columns", 1, "fill"), 0.5, "fill is 0.5, not a string"),
        (("columns", 0, "fill"), "red", "fill has 'red', which is not a number"),
        (("terms", 0, "level"), "red", "level of a term of column 'size' does not fit"),
        (("terms", 1, "level"), None, "level of a term of column 'colour' does not fit"),
        (("terms", 1, "column"), "size", "level of a term of column 'size' does not fit"),
        (("terms", 1, "column"), "x" * 999, "'x{40}', which is not among"),
        (("terms", 1, "coefficients"), [1.0], "coefficients has 1 entries, expected 3"),
    ],
)
def test_values_that_contradict_each_other(place: Any, value: Any, message: str) -> None:
    document = copy.deepcopy(DOCUMENT)
    at(document, place[:-1])[place[-1]] = value
    with pytest.raises(ValueError, match=rf"document is damaged: .*{message}"):
        load(document)


def test_a_regression_must_have_an_output() -> None:
    document = json.loads(small_model(columns=(), terms=()).to_json())
    with pytest.raises(ValueError, match="intercepts has 0 entries"):
        load(document | {"intercepts": []})
    with pytest.raises(ValueError, match="'classes' is missing"):
        load({key: value for key, value in document.items() if key != "classes"})


@pytest.mark.parametrize("version", [3, 0, -1, 1.0, "1", None, True, [1], 10**30])
def test_other_versions(version: Any) -> None:
    with pytest.raises(ValueError, match=r"has version .*reads versions 1 and 2\. A newer"):
        load(DOCUMENT | {"version": version})


FOREIGN = ["", "model.json", "{", "[]", "null", "3", "[" * 100_000, "\ufeff{}"]
FOREIGN += ['{"format": "greedyrls.path"}', '{"format": ["greedyrls.model"]}']


@pytest.mark.parametrize("text", [*FOREIGN, b"\xff\xfe\x00", b"PK\x03\x04", b"\x80"])
def test_what_is_no_model(text: Any) -> None:
    with pytest.raises(ValueError, match=r"is not a greedyrls\.model document"):
        LinearModel.from_json(text)


@pytest.mark.parametrize("thing", [Path("model.json"), None, 3, {"format": "greedyrls.model"}])
def test_only_text_is_read(thing: Any) -> None:
    with pytest.raises(TypeError, match=r"takes the text .* got .*read_text"):
        LinearModel.from_json(thing)


def test_the_decimal_mark_of_a_column() -> None:
    """Written where it is a comma only: earlier files have none."""
    model = LinearModel("regression", "y", (InputColumn("a"),), (Term("a", None, (2.0,)),), (0.5,))
    text = model.to_json()
    assert "decimal" not in text
    commas = replace(model, columns=(InputColumn("a", decimal=","),))
    assert LinearModel.from_json(commas.to_json()) == commas
    damaged = commas.to_json().replace('"decimal": ","', '"decimal": ";"')
    with pytest.raises(ValueError, match="the decimal mark ';' is neither"):
        LinearModel.from_json(damaged)
