"""Targets of every kind, and what columns are for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from internals import Column, Question, choose
from small_tables import flags, mixed, names_of, numbers, plain_table, prepared_of, refusal, texts

# Targets.


def with_target(values: Column) -> dict[str, Column]:
    return {**plain_table(), "y": values}


def test_a_target_of_one_value() -> None:
    for values, shown in (
        (texts(["a"] * 60), "'a'"),
        (numbers([2.0] * 60), "2"),
        (flags([1] * 60), "True"),
    ):
        message = refusal(with_target(values))
        assert f"'y' (the target) has a single value, {shown}, in all rows" in message


TARGETS = {
    "two texts": (texts(["b", "a"] * 30), ("a", "b")),
    "two whole numbers": (numbers([3, 1] * 30), (1, 3)),
    "flags": (flags([True, False] * 30), (False, True)),
    "three texts": (texts(["b", "a", "c"] * 20), ("a", "b", "c")),
    "fractions": (numbers([0.5, 1.5] * 30), None),
    "many whole numbers": (numbers(range(60)), None),
    "large whole numbers": (numbers([2.0**60, 2.0**61, 1.0] * 20), None),
}


@pytest.mark.parametrize("kind", TARGETS)
def test_the_task_is_told_from_the_target(kind: str) -> None:
    values, classes = TARGETS[kind]
    prepared = prepared_of(with_target(values))
    assert prepared.classes == classes
    if classes is None:
        assert prepared.task == "regression"
        assert prepared.y.dtype == np.float64
    else:
        assert prepared.task == "classification"
        assert [type(label) for label in prepared.classes or ()] == [
            type(label) for label in classes
        ]
        assert set(prepared.y.tolist()) == set(classes)
    assert any("whole numbers" in note for note in prepared.notes) == kind.startswith("large")


@pytest.mark.parametrize("count", [3, 5, 20])
def test_few_whole_numbers_are_numbers_with_a_note(count: int) -> None:
    values = numbers([row % count for row in range(60)])
    prepared = prepared_of(with_target(values))
    assert prepared.task == "regression"
    (note,) = prepared.notes
    assert f"The target has {count} different whole numbers, which are taken as numbers" in note
    assert "--task classification" in note
    assert not prepared_of(with_target(values), task="regression").notes
    classes = prepared_of(with_target(values), task="classification")
    assert classes.classes == tuple(range(count))
    assert not classes.notes


def test_a_task_that_does_not_fit() -> None:
    message = refusal(with_target(texts(["b", "a"] * 30)), task="regression")
    assert "'y' (the target) has text ('a', 'b'" in message
    assert "--task classification" in message
    message = refusal(plain_table(), task="classification")
    assert "'y' (the target) has 60 different numbers" in message
    assert "--task regression" in message
    assert prepared_of(with_target(numbers([3, 1] * 30)), task="regression").classes is None
    assert prepared_of(with_target(flags([1, 0] * 30)), task="regression").y.dtype == np.float64


def test_too_many_classes() -> None:
    columns = {**plain_table(500), "y": texts(f"c{row % 200}" for row in range(500))}
    message = refusal(columns)
    assert "'y' (the target) has 200 different values in 500 rows" in message
    columns = {**plain_table(12), "y": texts(f"c{row % 7}" for row in range(12))}
    assert "has 7 different values in 12 rows" in refusal(columns)
    columns = {**plain_table(12), "y": texts(f"c{row % 6}" for row in range(12))}
    assert len(prepared_of(columns).classes or ()) == 6


def test_classes_of_a_single_row_are_noted() -> None:
    values = texts(["rare", *["a"] * 29, *["b"] * 30])
    assert prepared_of(with_target(values)).notes == ("Classes with a single row: 'rare'.",)


# Roles.


def test_roles_take_columns_out_of_the_features() -> None:
    columns = mixed()
    prepared = prepared_of(
        columns,
        ids=("colour",),
        dropped=("sign", "third", "gaps", "flag gaps", "colour gaps"),
        groups="sex",
        forced=("flag", "far"),
    )
    assert names_of(prepared) == ["small", "far", "count", "flag"]
    assert prepared.forced == (3, 1)
    assert prepared.groups is not None
    assert prepared.groups.tolist() == [int(one == "m") for one in columns["sex"].strings()]  # type: ignore[union-attr]
    assert "Left out as asked: 'colour', 'sign', 'third', 'gaps', 'flag gaps' and 1 more." in (
        prepared.notes
    )
    assert set(prepared.summaries) == {"small", "far", "count", "flag", "y"}
    assert prepared.n_columns == len(columns)


def test_all_features_of_a_forced_text_column_are_forced() -> None:
    columns = plain_table()
    columns["kind"] = texts(("a", "b", "c")[row % 3] for row in range(60))
    prepared = prepared_of(columns, forced=("kind", "x0", "kind"))
    assert [prepared.features[place].name for place in prepared.forced] == [
        "kind=a",
        "kind=b",
        "kind=c",
        "x0",
    ]
    path = choose(prepared, Question(5, 0.7))
    assert tuple(path.indices[:4]) == prepared.forced


@pytest.mark.parametrize(
    ("roles", "told"),
    [
        ({"dropped": ("y",)}, "both --target and --drop"),
        ({"ids": ("y",)}, "both --target and --id"),
        ({"groups": "y"}, "both --target and --cv"),
        ({"weights": "y"}, "both --target and --weight"),
        ({"forced": ("y",)}, "both --target and --force"),
        ({"ids": ("x0",), "dropped": ("x0",)}, "both --id and --drop"),
        ({"groups": "x0", "weights": "x0"}, "both --cv and --weight"),
        ({"dropped": ("x0",), "forced": ("x0",)}, "both --drop and --force"),
        ({"ids": ("x0",), "categorical": ("x0",)}, "both --id and --categorical"),
        ({"weights": "x0", "forced": ("x0",)}, "both --weight and --force"),
    ],
)
def test_a_column_has_one_role(roles: dict[str, Any], told: str) -> None:
    message = refusal(plain_table(), **roles)
    assert told in message
    assert "'y'" in message or "'x0'" in message


@pytest.mark.parametrize(
    "roles",
    [
        {"target": "X0"},
        {"ids": ("X0",)},
        {"dropped": ("X0",)},
        {"groups": "X0"},
        {"weights": "X0"},
        {"forced": ("X0",)},
        {"categorical": ("X0",)},
    ],
)
def test_a_column_that_is_not_there(roles: dict[str, Any]) -> None:
    message = refusal(plain_table(), **roles)
    assert message == "data.csv has no column 'X0'; did you mean 'x0'?"


def test_the_same_role_twice_is_no_error() -> None:
    columns = plain_table()
    prepared = prepared_of(columns, dropped=("x0", "x0"), forced=("x1", "x1"), categorical=())
    assert names_of(prepared) == ["x1", "x2", "x3", "x4"]
    assert prepared.forced == (0,)


def test_weights() -> None:
    columns = plain_table()
    columns["w"] = numbers([0.0, 1.5, 2.0] * 20)
    prepared = prepared_of(columns, weights="w")
    assert prepared.weights is not None
    assert prepared.weights.tolist() == [1.5, 2.0] * 20
    assert "20 rows of weight 0 left out." in prepared.notes
    # As if rows were there as often as they weigh.
    assert_allclose(np.average(prepared.X, axis=0, weights=prepared.weights), 0.0, atol=1e-12)
    spread = np.average(np.square(prepared.X), axis=0, weights=prepared.weights)
    assert_allclose(spread, 1.0)
    assert "w" not in names_of(prepared)
    for values, told in (
        ([-1.0] + [1.0] * 59, "see row 1"),
        ([1.0] * 9 + [None] + [1.0] * 50, "see row 10"),
        ([1.0] * 59 + [np.inf], "see row 60"),
        ([0.0] * 60, "0 in all rows"),
    ):
        message = refusal({**columns, "w": numbers(values)}, weights="w")
        assert "'w' (weights)" in message
        assert told in message
    message = refusal({**columns, "w": texts(["1"] * 60)}, weights="w")
    assert "'w' (weights) must have numbers" in message


def test_groups() -> None:
    columns = plain_table()
    columns["site"] = numbers([30.0, -1.0, 7.5] * 20)
    prepared = prepared_of(columns, groups="site")
    assert prepared.groups is not None
    assert prepared.groups.tolist() == [2, 0, 1] * 20
    columns["site"] = texts([None, *["a", "b"] * 29, "a"])
    assert "'site' (groups) has missing values, first in row 1" in refusal(columns, groups="site")
    columns["site"] = texts(["a"] * 60)
    assert "'site' (groups) has a single group" in refusal(columns, groups="site")
