"""Documents to be damaged, and the ways to damage them."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from greedyrls import SelectionResult
from greedyrls.assess import cross_validate_path
from internals import (
    Question,
    assess,
    choose,
    choose_model,
    coefficient_errors,
    model_curve,
    own_predictions,
    own_rates,
    permute,
    resample,
)
from small_tables import plain_table, prepared_of, result_of, texts

Place = tuple[str | int, ...]


def _result() -> SelectionResult:
    """With all parts, and as small as may be."""
    columns = plain_table(24)
    columns["kind"] = texts(["a", "b", "c"] * 8)
    prepared = prepared_of(columns, impute="median", forced=("kind",))
    question = Question(3, [0.5, 5.0], seed=1)
    path = choose(prepared, question)
    return result_of(
        prepared,
        path,
        assessment=assess(prepared, question, 2),
        stability=resample(prepared, question, path, 2),
        null=permute(prepared, question, path, 2),
        model_curve=model_curve(prepared, question, path),
        leaks=("x0",),
    )


def _classified() -> SelectionResult:
    """Of classes, without an assessment of its own."""
    columns = plain_table(24)
    columns["y"] = texts(["yes" if row % 4 == 0 else "no" for row in range(24)])
    prepared = prepared_of(columns)
    question = Question(2, 1.0)
    path, sigmoids = choose_model(prepared, question)
    return result_of(
        prepared,
        path,
        own_rates=own_rates(prepared, path),
        own_predictions=own_predictions(prepared, question, path),
        coefficient_errors=coefficient_errors(prepared, question, path),
        sigmoids=sigmoids,
    )


RESULT = _result()
CLASSIFIED = _classified()
CLASSES = cross_validate_path(
    np.arange(72.0).reshape(24, 3) % 7, ["yes", "no", "no"] * 8, 2, alpha=1.0, cv=2, n_random=1
)
ASSESSMENT, STABILITY, NULL = RESULT.assessment, RESULT.stability, RESULT.null
assert ASSESSMENT is not None
assert STABILITY is not None
assert NULL is not None

# Deleting, and values of other types, signs and sizes.
GONE = object()
DAMAGE: dict[str, Any] = {
    "gone": GONE,
    "null": None,
    "true": True,
    "text": "text",
    "empty text": "",
    "list": [],
    "lists": [[[]]],
    "object": {},
    "NaN": math.nan,
    "infinity": -math.inf,
    "negative": -1,
    "fraction": 0.37,
    "huge": 10**30,
    "too long": 10**4000,
    "largest": 1.7e308,
    "bottomless": None,  # see below
}


def _nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


DAMAGE["bottomless"] = _nested(300)


def places(value: Any, here: Place = ()) -> Iterator[Place]:
    """Every key of a document, and the first entries of its lists."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield (*here, key)
            yield from places(one, (*here, key))
    elif isinstance(value, list) and value:
        yield (*here, 0)
        yield from places(value[0], (*here, 0))


def damaged(document: Any, place: Place, value: Any) -> Any:
    """A copy with another value in one place."""
    *way, last = place
    copied = copy.deepcopy(document)
    inner = copied
    for key in way:
        inner = inner[key]
    if value is GONE:
        del inner[last]
    else:
        inner[last] = value
    return copied


def refused(kind: Any, document: Any) -> str:
    """The one line that says what is wrong with a document."""
    text = document if isinstance(document, str | bytes) else json.dumps(document)
    with pytest.raises(ValueError, match="document") as caught:
        kind.from_json(text)
    message = str(caught.value)
    assert "\n" not in message
    assert "\x1b" not in message
    assert len(message) < 500
    return message
