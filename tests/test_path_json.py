"""The JSON format: exact round trips, and a clear ValueError for whatever is not one of ours."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from greedyrls import SelectionPath, StopReason, extend_path, greedy_path

CLEAR = r"(is not a greedyrls\.path document|greedyrls\.path document (is damaged|has version))"
ODD_NAMES = [
    'say "hi"',
    "back\\slash",
    "Größe",
    "日本",
    "<script>alert(1)</script>",
    "new\nline",
    "",
    "\u2028",
]


def make_path(**options: Any) -> SelectionPath:
    """A path with everything that the format knows."""
    rng = np.random.default_rng(11)
    X = pd.DataFrame(rng.standard_normal((20, 8)), columns=ODD_NAMES)
    y = rng.standard_normal((20, 2))
    arguments = {
        "alpha": 0.1 + 0.2,
        "sample_weight": rng.random(20),
        "forced_features": [5],
        "excluded_features": [0, 3],
        "n_runners_up": 2,
    } | options
    return greedy_path(X, y, 4, **arguments)


DOCUMENT = json.loads(make_path().to_json())


def load(document: Any) -> SelectionPath:
    """Through the public door."""
    return SelectionPath.from_json(json.dumps(document))


def assert_identical(one: SelectionPath, other: SelectionPath) -> None:
    assert other.steps == one.steps
    assert other.initial_loss == one.initial_loss
    assert other.settings == one.settings
    assert other.counters == one.counters
    assert other.stop_reason is one.stop_reason
    for name in ("gram", "correlation", "feature_means", "target_means"):
        ours, theirs = getattr(one.moments, name), getattr(other.moments, name)
        assert ours.shape == theirs.shape
        assert ours.tobytes() == theirs.tobytes()
    X = np.random.default_rng(5).standard_normal((6, one.settings.n_features_in))
    for k in range(1, len(one) + 1):
        assert_array_equal(one.coef(k), other.coef(k))
        assert_array_equal(one.intercept(k), other.intercept(k))
        assert_array_equal(one.predict(X, k), other.predict(X, k))


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("as_bytes", [False, True])
def test_round_trip_is_exact(indent: int | None, as_bytes: bool) -> None:
    path = make_path()
    text = path.to_json(indent=indent)
    again = SelectionPath.from_json(text.encode() if as_bytes else text)
    assert_identical(path, again)
    assert again.to_json(indent=indent) == text
    assert again.names() == path.names()
    assert again.settings.feature_names_in == tuple(ODD_NAMES)


@settings(max_examples=50)
@given(
    seed=st.integers(0, 2**32 - 1),
    targets=st.sampled_from([(), (1,), (3,)]),
    fit_intercept=st.booleans(),
    exponent=st.integers(-6, 6),
)
def test_round_trip_of_any_path(
    seed: int, targets: tuple[int, ...], fit_intercept: bool, exponent: int
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((12, 5)) * 10.0 ** rng.integers(-8, 8)
    y = rng.standard_normal((12, *targets)) * 10.0 ** rng.integers(-8, 8)
    path = greedy_path(X, y, 4, alpha=10.0**exponent, fit_intercept=fit_intercept)
    assert_identical(path, SelectionPath.from_json(path.to_json()))


@pytest.mark.parametrize("reason", list(StopReason))
def test_stop_reasons_survive(reason: StopReason) -> None:
    assert load(DOCUMENT | {"stop_reason": reason.value}).stop_reason is reason


def test_a_path_equals_itself_read_back() -> None:
    path = make_path()
    assert path == SelectionPath.from_json(path.to_json())
    assert path != make_path(alpha=1.0)


def test_the_text_is_plain_json_with_a_name_and_a_version() -> None:
    def no_constants(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    document = json.loads(make_path().to_json(), parse_constant=no_constants)
    assert document["format"] == "greedyrls.path"
    assert document["version"] == 1


def test_unknown_additions_are_ignored() -> None:
    document = copy.deepcopy(DOCUMENT) | {"comment": "from a later minor release"}
    document["settings"]["comment"] = None
    document["steps"][0]["comment"] = []
    assert_identical(load(DOCUMENT), load(document))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not JSON"),
        ("not json", "is not JSON"),
        (b"\xff\xfe\x00", "is not JSON"),
        (b"\x80abc", "is not JSON"),
        ("[1, 2]", "its format is 'list'"),
        ("null", "its format is 'NoneType'"),
        ("{}", "its format is None"),
        ('{"format": "sklearn"}', "its format is 'sklearn'"),
        ('{"format": ["greedyrls.path"]}', "its format is"),
        ('{"format": "greedyrls.path"}', "version None"),
        ("[" * 100_000, "is not"),
        ('{"a":' * 100_000, "is not"),
    ],
)
def test_foreign_text(text: str | bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        SelectionPath.from_json(text)
    assert "greedyrls.path" in str(caught.value)


@pytest.mark.parametrize("version", [2, 99, 0, "1", None, [1], True])
def test_other_versions(version: Any) -> None:
    with pytest.raises(ValueError, match=r"has version .*; this release reads version 1"):
        load(DOCUMENT | {"version": version})


def test_every_truncation_of_the_text() -> None:
    text = make_path().to_json()
    for length in range(0, len(text), 7):
        with pytest.raises(ValueError, match=r"greedyrls\.path document: it is not JSON"):
            SelectionPath.from_json(text[:length])


# Damage ------------------------------------------------------------------------------------------


def places(node: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The addresses of everything in a document, the root left out."""
    if place:
        yield place
    if isinstance(node, dict | list):
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            yield from places(value, (*place, key))


def at(document: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        document = document[key]
    return document


def changed(place: tuple[Any, ...], change: Callable[[Any, Any], None]) -> Any:
    """A copy of the document after `change(parent, key)`."""
    document = copy.deepcopy(DOCUMENT)
    change(at(document, place[:-1]), place[-1])
    return document


def replaced(place: tuple[Any, ...], value: Any) -> Any:
    return changed(place, lambda parent, key: parent.__setitem__(key, value))


def verdict(document: Any) -> str:
    """ "refused" is the only right one for a damaged document."""
    try:
        load(document)
    except Exception as error:
        clear = type(error) is ValueError and re.search(CLEAR, str(error))
        return "refused" if clear else repr(error)
    return "accepted"


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    return type(value).__name__


PLACES = list(places(DOCUMENT))
KEYS = [place for place in PLACES if isinstance(place[-1], str)]
LISTS = [place for place in PLACES if isinstance(at(DOCUMENT, place), list)]
NUMBERS = [place for place in PLACES if _kind(at(DOCUMENT, place)) == "number"]
# Lists whose length nothing else in the document fixes.
FREE_LENGTH = {("settings", "excluded_features")} | {
    ("steps", step, "runners_up") for step in range(4)
}
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**400), 10**400)
    | st.floats()
    | st.text(max_size=4)
    | st.sampled_from(["1", "0.5", "nan", "add", 10**30, -1, 1e308]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=5,
)


@settings(max_examples=300)
@given(place=st.sampled_from(PLACES), value=values)
def test_whatever_is_changed_it_loads_or_is_a_value_error(
    place: tuple[Any, ...], value: Any
) -> None:
    text = json.dumps(replaced(place, value))
    try:
        path = SelectionPath.from_json(text)
    except ValueError:
        return
    # What loads is a whole path.
    assert repr(path)
    assert len(path.to_frame()) == len(path)
    again = SelectionPath.from_json(path.to_json())
    assert again.steps == path.steps
    assert again.settings == path.settings


@pytest.mark.parametrize("place", KEYS, ids=lambda place: ".".join(map(str, place)))
def test_every_missing_key(place: tuple[Any, ...]) -> None:
    document = changed(place, lambda parent, key: parent.pop(key))
    with pytest.raises(ValueError, match=CLEAR) as caught:
        load(document)
    if place[-1] not in ("format", "version"):
        assert place[-1] in str(caught.value)


@settings(max_examples=300)
@given(
    place=st.sampled_from(PLACES),
    value=st.sampled_from([None, True, 1.5, 1, "1", "no", [], [1.0], {}, {"index": 1}]),
)
def test_every_wrong_type(place: tuple[Any, ...], value: Any) -> None:
    old = at(DOCUMENT, place)
    if _kind(value) == _kind(old) or (place[-1] == "feature_names_in" and value is None):
        return
    with pytest.raises(ValueError, match=CLEAR):
        load(replaced(place, value))


@pytest.mark.parametrize(
    "number",
    [float("nan"), float("inf"), float("-inf"), 10**400],
    ids=["NaN", "inf", "-inf", "too long"],
)
def test_numbers_that_are_not_finite(number: Any) -> None:
    verdicts = {place: verdict(replaced(place, number)) for place in NUMBERS}
    assert {place: found for place, found in verdicts.items() if found != "refused"} == {}


@pytest.mark.parametrize(
    "change", [lambda old: old + 0.5, lambda old: -1 - old], ids=["half", "negative"]
)
def test_counts_and_indices_are_whole_and_not_negative(change: Callable[[int], Any]) -> None:
    integers = [place for place in NUMBERS if isinstance(at(DOCUMENT, place), int)]
    verdicts = {place: verdict(replaced(place, change(at(DOCUMENT, place)))) for place in integers}
    assert {place: found for place, found in verdicts.items() if found != "refused"} == {}


@pytest.mark.parametrize("place", LISTS, ids=lambda place: ".".join(map(str, place)))
@pytest.mark.parametrize("how", ["shorter", "longer", "empty", "scalar"])
def test_every_wrong_length(place: tuple[Any, ...], how: str) -> None:
    old = at(DOCUMENT, place)
    if place in FREE_LENGTH and how != "scalar":
        return
    new = {"shorter": old[:-1], "longer": [*old, *old[-1:]], "empty": [], "scalar": 1.0}[how]
    with pytest.raises(ValueError, match=CLEAR):
        load(replaced(place, new))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("settings", "alpha"), 0.0),
        (("settings", "alpha"), -1.0),
        (("settings", "n_samples"), 0),
        (("settings", "n_features_in"), 0),
        (("settings", "n_features_in"), 7),  # there are 8 names
        (("settings", "excluded_features"), [0, 8]),
        (("settings", "excluded_features"), [0, 0]),
        (("settings", "excluded_features"), [0, 5]),  # 5 was chosen
        (("settings", "feature_names_in"), "abcdefgh"),
        (("settings", "single_target"), True),  # there are two
        (("steps", 1, "index"), 5),  # chosen at the first step
        (("steps", 1, "index"), 8),
        (("steps", 1, "index"), 3),  # excluded
        (("steps", 1, "action"), "remove"),
        (("steps", 1, "loss"), -1.0),
        (("steps", 1, "standard_error"), -1.0),
        (("steps", 1, "runners_up", 0, "index"), 8),
        (("moments", "gram_lower", 2, 2), -1.0),  # a sum of squares
        (("moments", "correlation"), [0.1] * 8),  # 4 features × 2 targets, but flat
        (("moments", "correlation"), [[0.1] * 4] * 2),
        (("moments", "target_means"), [[0.0], [0.0]]),
        (("stop_reason",), "bored"),
        (("stop_reason",), ["reached"]),
    ],
    ids=lambda part: ".".join(map(str, part)) if isinstance(part, tuple) else str(part)[:20],
)
def test_values_that_no_path_has(place: tuple[Any, ...], value: Any) -> None:
    with pytest.raises(ValueError, match=r"greedyrls\.path document is damaged"):
        load(replaced(place, value))


def test_a_damaged_document_is_not_executed_or_formatted() -> None:
    name = "{0.__class__} %s %(x)s"
    document = replaced(("settings", "feature_names_in", 5), name)
    path = load(document)
    assert path.names()[0] == name
    assert name in repr(path)


def test_a_path_read_back_can_be_extended() -> None:
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((30, 6)), rng.standard_normal(30)
    path = SelectionPath.from_json(greedy_path(X, y, 2).to_json())
    assert extend_path(path, X, y, 5).indices.tolist() == greedy_path(X, y, 5).indices.tolist()


@pytest.mark.parametrize("thing", [Path("path.json"), None, 3, {"format": "greedyrls.path"}])
def test_only_text_is_read(thing: Any) -> None:
    with pytest.raises(TypeError, match=r"takes the text .* got .*read_text"):
        SelectionPath.from_json(thing)


def test_a_file_name_is_no_text() -> None:
    with pytest.raises(ValueError, match="not the name of a file"):
        SelectionPath.from_json("path.json")
