"""Values as JSON by their fields: what annotations say, what a codec adds, what is refused."""

from __future__ import annotations

import enum
import json
import math
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from internals import ArrayOf, Codec, Document, Float, Key, Number, Whole


class Colour(enum.Enum):
    RED = "red"


class Pair(NamedTuple):
    left: int
    right: str


@dataclass(frozen=True, eq=False)
class Value:
    """Every kind of annotation."""

    n: int
    rate: float
    names: tuple[str, ...]
    losses: Float
    means: Float
    colour: Colour
    kind: Literal["a", "b"]
    pair: Pair
    counts: tuple[tuple[str, int], ...]
    versions: dict[str, str]
    limit: float | None = None
    weights: tuple[float, ...] | None = None
    is_new: bool = True
    note: str = "none"


FORMAT = Document(
    "greedyrls.test",
    (1, 2),
    Codec(
        Value,
        {
            "n": Whole(1, binds="n"),
            "rate": Number("positive"),
            "losses": ArrayOf("n k", Number("not negative", has_gaps=True)),
            "means": Key(ArrayOf("k"), name="averages"),
            "weights": ArrayOf("n"),
            "is_new": Key(since=2),
            "note": Key(is_omitted=True),
        },
    ),
)
VALUE = Value(
    2,
    0.5,
    ("x", "é"),
    np.array([[1.0, math.nan, 0.1 + 0.2], [0.0, 2.0, 3.0]]),
    np.array([1.0, -2.0, 1e-300]),
    Colour.RED,
    "b",
    Pair(3, "right"),
    (("p", 1), ("q", 2)),
    {"python": "3"},
    weights=(1.0, 2.0),
    is_new=False,
)
DOCUMENT = json.loads(FORMAT.encode(VALUE))


def load(**changes: Any) -> Value:
    value: Value = FORMAT.decode(json.dumps(DOCUMENT | changes))
    return value


def test_round_trip() -> None:
    assert list(DOCUMENT)[:4] == ["format", "version", "n", "rate"]
    assert DOCUMENT["losses"] == [[1.0, None, 0.1 + 0.2], [0.0, 2.0, 3.0]]
    assert DOCUMENT["averages"] == [1.0, -2.0, 1e-300]
    assert DOCUMENT["pair"] == {"left": 3, "right": "right"}
    assert DOCUMENT["colour"] == "red"
    assert DOCUMENT["counts"] == [["p", 1], ["q", 2]]
    assert "note" not in DOCUMENT
    again = load()
    assert_array_equal(again.losses, VALUE.losses)
    assert_array_equal(again.means, VALUE.means)
    for name in ("n", "rate", "names", "colour", "kind", "pair", "counts", "versions", "weights"):
        assert getattr(again, name) == getattr(VALUE, name), name
    assert again.limit is None
    assert again.note == "none"
    assert again.is_new is False
    assert load(note="some", limit=3).note == "some"


def test_versions_that_lack_a_key_have_the_default() -> None:
    assert load(version=1, is_new="whatever").is_new is True
    with pytest.raises(ValueError, match="'is_new' is missing in document"):
        FORMAT.decode(json.dumps({k: v for k, v in DOCUMENT.items() if k != "is_new"}))


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("n", 0, "n has 0, which is not a whole number in the allowed range"),
        ("n", True, "n has True"),
        ("n", 3, "losses has 2 entries, expected 3"),
        ("rate", 0.0, "rate is 0.0, which is not above 0"),
        ("rate", "1", "rate has '1', which is not a number"),
        ("names", "xy", "names is not a list"),
        ("names", ["x", 1], "names is 1, not a string"),
        ("losses", [[1.0, 2.0], [3.0]], "losses has 1 entries, expected 2"),
        ("losses", [[1.0, 2.0, -3.0]] * 2, r"losses has -3\.0, which is below 0"),
        ("averages", [1.0, None, 2.0], "averages has None, which is not a number"),
        ("averages", [1.0], "averages has 1 entries, expected 3"),
        ("colour", "blue", "unknown colour 'blue'"),
        ("kind", ["a"], "unknown kind"),
        ("pair", [3, "right"], "pair is not an object"),
        ("pair", {"left": 3}, "'right' is missing in pair"),
        ("counts", [["p"]], "counts has 1 entries, expected 2"),
        ("versions", {"python": 3}, "versions is 3, not a string"),
        ("weights", [1.0], "weights has 1 entries, expected 2"),
        ("is_new", 1, "is_new is 1, not true or false"),
    ],
)
def test_refused(key: str, value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"greedyrls.test document is damaged: {message}"):
        load(**{key: value})


def test_a_number_that_is_not_finite_is_not_written() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        FORMAT.encode(replace(VALUE, rate=math.inf))
