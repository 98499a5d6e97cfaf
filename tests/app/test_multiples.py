"""Features that are others in another unit are told of by the factor, and only these."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from internals import Column
from small_tables import numbers, plain_table, prepared_of, signal, texts

M = 60
X = signal(M)[0]


def told(columns: dict[str, Column], **roles: Any) -> str:
    return " ".join(prepared_of(plain_table(M) | columns, **roles).notes)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (X[:, 1], "'z' is 'x1'"),
        (2.0 * X[:, 1], "'z' is 2 × 'x1'"),
        (-0.1 * X[:, 1], "'z' is −0.1 × 'x1'"),
        (1.8 * X[:, 1] + 32.0, "'z' is 1.8 × 'x1' + 32"),
        (X[:, 1] - 273.15, "'z' is 'x1' − 273.15"),
        (1e-30 * X[:, 1], "'z' is 1e−30 × 'x1'"),
    ],
)
@pytest.mark.parametrize(
    "roles", [{}, {"is_standardised": False}, {"is_centred": False}, {"weights": "x2"}]
)
def test_multiples_are_told_of(values: Any, words: str, roles: dict[str, Any]) -> None:
    columns: dict[str, Column] = {"z": numbers(values), "x2": numbers(np.arange(M) % 3 + 1)}
    assert f"The same in all rows, in other units: {words}." in told(columns, **roles)


def test_columns_that_are_nearly_multiples_are_not() -> None:
    tiny = np.sin(np.arange(M))
    for values in (X[:, 1] + 1e-9 * tiny, X[:, 1] ** 3, np.round(X[:, 1], 6), X[:, 1] + X[:, 2]):
        assert told({"z": numbers(values)}) == ""


def test_far_from_zero_digits_are_lost() -> None:
    assert "'z' is 'x1' + 1e+06" in told({"z": numbers(X[:, 1] + 1e6)})


def test_each_is_told_of_by_the_first() -> None:
    columns: dict[str, Column] = {f"z{k}": numbers(k * X[:, 1]) for k in (2, 3, 4, 5, 6)}
    columns["u"] = numbers(5.0 * X[:, 0])
    note = told(columns)
    assert "'z2' is 2 × 'x1'; 'z3' is 3 × 'x1'; 'z4' is 4 × 'x1'; and 3 more." in note


def test_texts_that_say_the_same() -> None:
    cities = ["Oslo", "Turku", "Riga"] * 20
    ends = {"Oslo": "Norway", "Turku": "Finland", "Riga": "Latvia"}
    columns: dict[str, Column] = {
        "city": texts(cities),
        "land": texts(ends[city] for city in cities),
    }
    note = told(columns)
    assert "'land=Norway' is 'city=Oslo'" in note
    assert "'land=Latvia' is 'city=Riga'" in note


def test_many_columns() -> None:
    """None of independent ones, and the one pair there is."""
    rng = np.random.default_rng(0)
    values = rng.integers(0, 2, (40, 5000)).astype(float)
    values[:, 4321] = 1.0 - values[:, 17]
    columns: dict[str, Column] = {f"g{place}": numbers(one) for place, one in enumerate(values.T)}
    prepared = prepared_of(columns | {"y": numbers(rng.standard_normal(40))})
    (note,) = prepared.notes
    assert note == "The same in all rows, in other units: 'g4321' is −1 × 'g17' + 1."
