"""Whatever is changed in the document of a path: it loads, or says what is wrong."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greedyrls import SelectionPath, SizeChoice, extend_path, greedy_path
from path_documents import CLEAR, DOCUMENT, KINDS, at, load, small_path, verdict


def places(node: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The addresses of everything in a document, the root left out."""
    if place:
        yield place
    if isinstance(node, dict | list):
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            yield from places(value, (*place, key))


def changed(place: tuple[Any, ...], change: Callable[[Any, Any], None]) -> Any:
    """A copy of the document after `change(parent, key)`."""
    document = copy.deepcopy(DOCUMENT)
    change(at(document, place[:-1]), place[-1])
    return document


def replaced(place: tuple[Any, ...], value: Any) -> Any:
    return changed(place, lambda parent, key: parent.__setitem__(key, value))


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
# Keys that contradict another one, which is then the one named.
ELSEWHERE = {"alphas", "cv", "excluded_features", "n_features_in", "rule"}
CHOSEN_CELL = (
    "surface",
    "losses",
    DOCUMENT["surface"]["alphas"].index(DOCUMENT["surface"]["alpha"]),
    DOCUMENT["surface"]["size"] - 1,
)


def may_be(place: tuple[Any, ...], value: Any) -> bool:
    """Whether a value of another type is allowed at a place."""
    if place == ("settings", "refit_alpha"):
        return _kind(value) == "number"
    is_cell = place[:1] == ("surface",) and len(place) == {
        "losses": 4,
        "standard_errors": 4,
        "fold_losses": 5,
        "initial_fold_losses": 3,
    }.get(place[1] if len(place) > 1 else "")
    keys = ("feature_names_in", "size_choice", "surface", "size_surface", "standard_error")
    keys += ("initial_fold_losses",)
    return value is None and place != CHOSEN_CELL and (is_cell or place[-1] in keys)


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
    assert again == path
    assert again.to_json() == path.to_json()
    assert path.sentence


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
    if _kind(value) == _kind(at(DOCUMENT, place)) or may_be(place, value):
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
        (("settings", "loss"), "hinge"),
        (("settings", "loss"), ""),
        (("settings", "cv"), "loo"),  # there are losses by fold
        (("settings", "refit_alpha"), "best"),
        (("settings", "refit_alpha"), "same"),  # there are refit_alphas
        (("settings", "refit_alpha"), 0.0),
        (("settings", "refit_alpha"), -1.0),
        (("initial_loss",), -1.0),
        (("steps", 1, "runners_up", 0, "loss"), -1.0),
        (("steps", 1, "fold_losses", 0), -1.0),
        (("steps", 1, "fold_losses", 0), None),
        (("size_choice", "size"), -1),
        (("size_choice", "size"), 5),
        (("size_choice", "rule"), "max"),
        (("size_choice", "rule"), ["min"]),
        (("refit_alphas",), None),
        (("refit_alphas",), [1.0] * 3),
        (("refit_alphas", 0), 0.0),
        (("refit_alphas", 0), -1.0),
        (("refit_alphas", 0), None),
        (("surface", "rule"), "best"),
        (("surface", "rule"), "joint"),  # there are losses by fold
        (("surface", "rule"), "all_features"),
        (("surface", "alphas"), []),
        (("surface", "alphas"), [3.0, 0.1 + 0.2]),
        (("surface", "alphas"), [3.0, 3.0]),
        (("surface", "alphas"), [-1.0, 3.0]),
        (("surface", "alphas"), [0.0, 3.0]),
        (("surface", "alpha"), 2.0),
        (("surface", "alpha"), -1.0),
        (("surface", "size"), -1),
        (("surface", "initial_fold_losses"), [0.1]),  # there are more outer folds
        (("size_surface",), []),
        (("surface", "size"), 5),
        (("surface", "losses", 0, 0), -1.0),
        (CHOSEN_CELL, None),
        (("surface", "losses"), [[0.1] * 9] * 2),  # there are 8 features
        (("surface", "losses"), [[]] * 2),
        (("surface", "losses"), [0.1] * 8),
        (("surface", "standard_errors", 1, 1), -1.0),
        (("surface", "fold_losses"), None),
        (("surface", "fold_losses", 0, 0, 0), -1.0),
        (("surface", "fold_shares"), None),
        (("surface", "fold_shares"), [0.5, 0.6]),
        (("surface", "fold_shares"), [-0.5, 1.5]),
        (("surface", "folds"), None),
        (("stop_reason",), "bored"),
        (("stop_reason",), ["reached"]),
    ],
    ids=lambda part: ".".join(map(str, part)) if isinstance(part, tuple) else str(part)[:20],
)
def test_values_that_no_path_has(place: tuple[Any, ...], value: Any) -> None:
    with pytest.raises(ValueError, match=r"greedyrls\.path document is damaged") as caught:
        load(replaced(place, value))
    new = ("settings", "size_choice", "surface", "refit_alphas", "initial_loss")
    key = next(part for part in reversed(place) if isinstance(part, str))
    if place[0] in new and key not in ELSEWHERE:
        assert key in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "place", "value", "message"),
    [
        ("a number", ("refit_alphas",), [1.0] * 3, "refit_alphas is not null for .* 'same'"),
        ("a number", ("settings", "cv"), "4-fold", "fold_losses has 0 entries"),
        ("a number", ("steps", 1, "fold_losses"), [1.0], "fold_losses has 0 to 1 entries"),
        ("folds", ("steps", 1, "fold_losses"), [1.0], "fold_losses has 1 to 4 entries"),
        ("joint", ("surface", "fold_losses"), [[[1.0] * 3] * 3], "fold_losses of the surface"),
        ("joint", ("surface", "fold_shares"), [1.0], "fold_shares of the surface"),
        ("joint", ("settings", "alpha"), 55.0, "alpha .* not that of the path"),
        ("all features", ("surface", "size"), 1, "size has 1"),
        ("all features", ("surface", "losses"), [[1.0] * 2] * 3, "losses has 2 entries"),
        ("all features", ("surface", "rule"), "nested", "fold_losses of the surface is for"),
        ("function", ("steps", 1, "standard_error"), -1.0, "standard_error is -1"),
        ("function", ("settings", "loss"), "callable", "unknown loss"),
    ],
)
def test_values_that_contradict_each_other(
    kind: str, place: tuple[Any, ...], value: Any, message: str
) -> None:
    document = json.loads(small_path(**KINDS[kind]).to_json())
    at(document, place[:-1])[place[-1]] = value
    with pytest.raises(ValueError, match=rf"document is damaged: .*{message}"):
        load(document)


def test_a_size_choice_may_be_any_on_the_path() -> None:
    choice = {"size": 2, "rule": "1se", "sentence": "Because."}
    path = load(DOCUMENT | {"size_choice": choice})
    assert path.size_choice == SizeChoice(2, "1se", "Because.")
    assert path.chosen_size == 2


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
