"""From a table to features: models in the units of the table, whatever its columns are like."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import Ridge
from sklearn.preprocessing import scale as in_scale

from greedyrls import LinearModel
from internals import Column, Numbers, Prepared, Question, Roles, Table, choose, prepare
from small_tables import (
    attempt,
    flags,
    mixed,
    names_of,
    numbers,
    plain_table,
    prepared_of,
    refusal,
    result_of,
    signal,
    table_of,
    texts,
)


def assert_same_in_both_units(
    table: Table, prepared: Prepared, target: str, question: Question, tolerance: float = 1e-9
) -> None:
    path = choose(prepared, question)
    result = result_of(prepared, path, target)
    for k in range(1, len(path) + 1):
        seen = path.predict(prepared.X, k)
        seen = seen if seen.ndim == 2 else seen[:, None]
        model = result.model(k)
        own = model.scores(table)
        assert own.shape == seen.shape
        assert_allclose(own, seen, rtol=0, atol=tolerance * np.abs(seen).max())
        again = LinearModel.from_json(model.to_json())
        assert again == model
        assert_array_equal(again.scores(table), own)
        assert len(model.terms) == k
        assert len({column.name for column in model.columns}) == len(model.columns)


@pytest.mark.parametrize("target", ["y", "sign", "third"])
@pytest.mark.parametrize("is_standardised", [True, False])
@pytest.mark.parametrize("has_intercept", [True, False])
def test_models_are_in_the_units_of_the_table(
    target: str, is_standardised: bool, has_intercept: bool
) -> None:
    columns = mixed()
    others = tuple({"y", "sign", "third"} - {target})
    roles = Roles(
        target=target,
        dropped=others,
        task="classification" if target == "third" else "auto",
        impute="median",
        is_standardised=is_standardised,
        is_centred=has_intercept,
    )
    table = table_of(columns)
    prepared = prepare(table, roles)
    assert np.isfinite(prepared.X).all()
    question = Question(len(prepared.features), 0.7, fit_intercept=has_intercept)
    assert_same_in_both_units(table, prepared, target, question)


@pytest.mark.parametrize("is_standardised", [True, False])
@pytest.mark.parametrize("has_intercept", [True, False])
def test_coefficients_are_those_of_a_ridge_on_hand_made_features(
    is_standardised: bool, has_intercept: bool
) -> None:
    """The whole way, against scikit-learn: codes, gaps, scale, and back."""
    columns = {name: values for name, values in mixed().items() if name not in ("sign", "third")}
    roles: dict[str, Any] = {"is_standardised": is_standardised, "is_centred": has_intercept}
    prepared = prepared_of(columns, impute="median", **roles)
    raw = []
    for feature in prepared.features:
        column = columns[feature.column]
        if isinstance(column, Numbers):
            gap = np.isnan(column.values)
            raw.append(np.where(gap, np.median(column.values[~gap]), column.values))
        else:
            strings = column.strings()
            known = [text for text in strings if text is not None]
            usual = max(sorted(set(known)), key=known.count)
            raw.append(np.array([(text or usual) == feature.level for text in strings], float))
    R = np.column_stack(raw)
    deviation = R.std(axis=0) if is_standardised else np.ones(R.shape[1])
    path = choose(prepared, Question(5, 0.7, fit_intercept=has_intercept))
    model = result_of(prepared, path).model()
    chosen = path.indices
    y = columns["y"]
    assert isinstance(y, Numbers)
    centre = R.mean(axis=0) if has_intercept else np.zeros(R.shape[1])
    Z = ((R - centre) / deviation)[:, chosen]
    ridge = Ridge(0.7, fit_intercept=has_intercept).fit(Z, y.values)
    own = np.array([term.coefficients[0] for term in model.terms])
    assert_allclose(own, ridge.coef_ / deviation[chosen], rtol=1e-9)
    intercept = ridge.intercept_ - own @ centre[chosen]
    assert_allclose(model.intercepts[0], intercept, rtol=1e-7, atol=1e-9)


def test_features_are_standardised_by_their_own_mean_and_deviation() -> None:
    columns = plain_table()
    prepared = prepared_of(columns)
    raw = np.column_stack([columns[f"x{place}"].values for place in range(5)])  # type: ignore[union-attr]
    assert_allclose(prepared.X, in_scale(raw), rtol=1e-12, atol=1e-12)
    assert_array_equal(prepared.y, columns["y"].values)  # type: ignore[union-attr]
    assert prepared.X.flags.f_contiguous


def test_values_far_from_zero_keep_their_digits() -> None:
    """1e9 ± 1: the search sees the ±1; only the rounding of 1e9·coefficient is lost again."""
    X, y = signal()
    columns: dict[str, Column] = {"far": numbers(1e9 + X[:, 0]), "near": numbers(X[:, 1])}
    columns["y"] = numbers(y)
    prepared = prepared_of(columns)
    far = 1e9 + X[:, 0] - 1e9
    # The mean is rounded to a number near 1e9; the intercept makes up for that.
    assert abs(prepared.X[:, 0].mean()) < 1e-7
    shifted = prepared.X[:, 0] - prepared.X[:, 0].mean()
    assert_allclose(shifted, in_scale(far), rtol=1e-12, atol=1e-12)
    table = table_of(columns)
    assert_same_in_both_units(table, prepared, "y", Question(2, 0.7), tolerance=1e-6)


@pytest.mark.parametrize("factor", [1e-200, 1e-310, 1e160, 1e200, 1e308])
@pytest.mark.parametrize("is_standardised", [True, False])
def test_numbers_that_cannot_be_squared(factor: float, is_standardised: bool) -> None:
    X, _ = signal()
    columns = plain_table()
    columns["odd one"] = numbers(np.clip(X[:, 0], -1.0, 1.0) * factor)
    message = refusal(columns, is_standardised=is_standardised)
    assert "'odd one' of data.csv has numbers too large or too close" in message
    assert "--drop 'odd one'" in message


@pytest.mark.parametrize("factor", [1e-100, 1e-12, 1e12, 1e100])
def test_other_scales_do_not_matter(factor: float) -> None:
    columns = plain_table()
    plain = choose(prepared_of(columns), Question(3, 0.7))
    x0 = columns["x0"]
    assert isinstance(x0, Numbers)
    columns["x0"] = numbers(x0.values * factor)
    prepared = prepared_of(columns)
    path = choose(prepared, Question(3, 0.7))
    assert_array_equal(path.indices, plain.indices)
    assert_allclose(path.losses, plain.losses, rtol=1e-12)
    assert_same_in_both_units(table_of(columns), prepared, "y", Question(3, 0.7))


@pytest.mark.parametrize("factor", [1e-200, 1e-80, 1e80, 1e200])
def test_targets_that_cannot_be_squared(factor: float) -> None:
    _, y = signal()
    columns = plain_table()
    columns["y"] = numbers(y * factor)
    message = refusal(columns)
    assert "'y' (the target) has numbers too large or too close" in message


@pytest.mark.parametrize("where", ["x1", "y"])
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_values(where: str, value: float) -> None:
    columns = plain_table()
    column = columns[where]
    assert isinstance(column, Numbers)
    column.values[6] = value
    message = refusal(columns, impute="median")
    assert f"{where!r}" in message
    assert "row 7" in message


# Text columns.


@pytest.mark.parametrize(("count", "expected"), [(2, 1), (3, 3), (7, 7), (50, 50)])
def test_text_is_coded(count: int, expected: int) -> None:
    m = 120
    columns = plain_table(m)
    levels = [f"level {place:02}" for place in range(count)]
    columns["kind"] = texts(levels[row % count] for row in range(m))
    prepared = prepared_of(columns)
    own = [feature for feature in prepared.features if feature.column == "kind"]
    assert len(own) == expected
    assert [one.level for one in own] == (levels if count > 2 else levels[1:])
    assert [one.name for one in own] == [f"kind={one.level}" for one in own]
    assert prepared.inputs["kind"].levels == tuple(levels)
    for feature in own:
        place = prepared.features.index(feature)
        is_it = np.array([levels[row % count] == feature.level for row in range(m)])
        assert_allclose(prepared.X[:, place], in_scale(is_it.astype(float)), rtol=1e-12)


def test_text_with_too_many_levels() -> None:
    columns = plain_table()
    columns["name of it"] = texts(f"n{row % 51}" for row in range(60))
    message = refusal(columns)
    assert "data.csv: there are text columns with more than 50 different values" in message
    assert "'name of it' (51)" in message
    assert "--drop 'name of it'" in message
    prepared = prepared_of(columns, dropped=("name of it",))
    assert len(prepared.features) == 5
    assert prepared.notes == ("Left out as asked: 'name of it'.",)


def test_numbers_as_categories() -> None:
    columns = plain_table()
    columns["code"] = numbers([(3, 10, 2)[row % 3] for row in range(60)])
    columns["half"] = numbers([(0.5, 1.5)[row % 2] for row in range(60)])
    columns["flag"] = flags(row % 4 == 0 for row in range(60))
    prepared = prepared_of(columns, categorical=("code", "half", "flag"))
    assert names_of(prepared)[5:] == ["code=10", "code=2", "code=3", "half=1.5", "flag=true"]
    assert_same_in_both_units(table_of(columns), prepared, "y", Question(10, 0.7))


def test_names_that_clash() -> None:
    """A column "colour=red" beside a column "colour" with a text "red"."""
    X, y = signal()
    columns: dict[str, Column] = {
        "colour": texts(("red", "green", "blue")[row % 3] for row in range(60)),
        "colour=red": numbers(X[:, 0]),
        "y": numbers(y + [row % 3 == 0 for row in range(60)]),
    }
    prepared = prepared_of(columns)
    assert names_of(prepared).count("colour=red") == 2
    table = table_of(columns)
    assert_same_in_both_units(table, prepared, "y", Question(4, 0.7))
    forced = prepared_of(columns, forced=("colour=red",))
    assert [forced.features[place].column for place in forced.forced] == ["colour=red"]
    result = result_of(prepared, choose(prepared, Question(4, 0.7)))
    assert type(result).from_json(result.to_json()).to_json() == result.to_json()


HOSTILE = [
    "it's",
    'say "hi"',
    "two\nlines",
    "[bold]x[/bold]",
    "\x1b[31mred",
    "a,b;c\td",
    "💥",
    "\u202eabc",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names(name: str) -> None:
    columns = plain_table()
    columns[name] = columns.pop("x0")
    columns["kind"] = texts([name, "b", "c"][row % 3] for row in range(60))
    prepared = prepared_of(columns, forced=(name, "kind"))
    assert f"kind={name}" in names_of(prepared)
    assert_same_in_both_units(table_of(columns), prepared, "y", Question(6, 0.7))
    constant = {**columns, name: numbers([1.0] * 60)}
    assert all(note.isprintable() for note in prepared_of(constant).notes)
    assert repr(name) in refusal(constant, forced=(name,))
    gaps = {**columns, name: numbers([None] + [1.0, 2.0] * 29 + [3.0])}
    assert repr(name) in refusal(gaps)
    target = prepared_of(columns, name, dropped=("y",))
    assert target.summaries[name].name == name


# Anything at all.


@st.composite
def columns_of_any_kind(draw: Any, m: int) -> dict[str, Column]:
    columns: dict[str, Column] = {}
    for place in range(draw(st.integers(1, 5))):
        kind = draw(st.sampled_from(["number", "whole", "flag", "text"]))
        gaps = draw(st.booleans())
        if kind == "text":
            values: Any = st.sampled_from(["a", "b", "", " c", "\n"])
        elif kind == "flag":
            values = st.sampled_from([0.0, 1.0])
        elif kind == "whole":
            values = st.integers(-3, 3)
        else:
            values = st.floats(-100.0, 100.0).map(lambda one: round(one, 3))
        entries = draw(
            st.lists(st.one_of(values, st.none()) if gaps else values, min_size=m, max_size=m)
        )
        name = f"c{place}"
        make = {"text": texts, "flag": flags}.get(kind, numbers)
        columns[name] = make(entries)
    return columns


@settings(max_examples=80)
@given(st.data())
def test_any_table_is_prepared_or_refused(data: Any) -> None:
    m = data.draw(st.integers(3, 12))
    columns = data.draw(columns_of_any_kind(m))
    generator = np.random.default_rng(m)
    target: Column = numbers(generator.standard_normal(m))
    if data.draw(st.booleans()):
        target = texts(["p", "q"][row % 2] for row in range(m))
    columns["y"] = target
    centred = data.draw(st.booleans())
    table = table_of(columns)
    roles = Roles(
        target="y",
        impute=data.draw(st.sampled_from([None, "median"])),
        is_standardised=data.draw(st.booleans()),
        is_centred=centred,
    )
    prepared, message = attempt(lambda: prepare(table, roles))
    if message is not None:
        return
    assert prepared.X.shape == (m, len(prepared.features))
    assert np.isfinite(prepared.X).all()
    assert (np.ptp(prepared.X, axis=0) > 0.0).all()
    question = Question(min(2, len(prepared.features)), 1.0, fit_intercept=centred)
    assert_same_in_both_units(table, prepared, "y", question, tolerance=1e-7)
