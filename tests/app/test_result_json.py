"""Results and assessments as JSON: there and back, whatever is in them."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from greedyrls import SelectionResult
from greedyrls.assess import (
    PathAssessment,
    PermutationNull,
    Predictions,
    Stability,
    cross_validate_path,
    permutation_null,
    resample_path,
)
from internals import Curve, Question, assess, choose, model_curve, permute, resample
from json_damage import ASSESSMENT, NULL, RESULT, STABILITY, refused
from small_tables import flags, numbers, plain_table, prepared_of, result_of, signal, texts


def signed(y_true: Any, y_pred: Any) -> float:
    """A loss that may be below 0."""
    return float(np.mean(np.square(y_true - y_pred))) - 100.0


def assert_comes_back(value: Any) -> Any:
    text = value.to_json()
    again = type(value).from_json(text)
    assert again.to_json() == text
    assert type(value).from_json(text.encode()).to_json() == text
    assert type(value).from_json(value.to_json(indent=1)).to_json() == text
    assert again.sentence == value.sentence
    for field in fields(value):
        assert_equal(getattr(again, field.name), getattr(value, field.name))
    return again


def assert_equal(own: Any, other: Any) -> None:
    assert type(own) is type(other)
    if isinstance(own, np.ndarray):
        assert own.dtype == other.dtype
        assert own.shape == other.shape
        assert_array_equal(own, other)
    elif isinstance(own, tuple) and any(isinstance(one, np.ndarray) for one in own):
        for one, its in zip(own, other, strict=True):
            assert_array_equal(one, its)
    elif hasattr(own, "to_json"):
        assert own.to_json() == other.to_json()
    elif isinstance(own, Predictions):
        for field in fields(own):
            assert_equal(getattr(own, field.name), getattr(other, field.name))
    else:
        assert own == other


# Results.


@pytest.mark.parametrize("has_assessment", [False, True])
@pytest.mark.parametrize("has_stability", [False, True])
@pytest.mark.parametrize("has_null", [False, True])
@pytest.mark.parametrize("has_curve", [False, True])
def test_results_with_any_of_their_parts(
    has_assessment: bool, has_stability: bool, has_null: bool, has_curve: bool
) -> None:
    given = {
        "assessment": has_assessment,
        "stability": has_stability,
        "null": has_null,
        "model_curve": has_curve,
    }
    without = {name: None for name, has in given.items() if not has}
    result = replace(RESULT, **without)
    again = assert_comes_back(result)
    assert again.rows() == result.rows()
    assert again.warnings == result.warnings
    assert again.model() == result.model()
    assert [getattr(again, name) is not None for name in given] == list(given.values())


@pytest.mark.parametrize(
    ("target", "classes"),
    [
        (texts(["b", "a"] * 20), ("a", "b")),
        (numbers([7, 3] * 20), (3, 7)),
        (flags([True, False] * 20), (False, True)),
        (texts(["é", "\x1b[31m", "[bold]"] * 13 + ["é"]), ("\x1b[31m", "[bold]", "é")),
    ],
)
def test_results_of_a_classification(target: Any, classes: Any) -> None:
    prepared = prepared_of({**plain_table(40), "y": target})
    result = result_of(prepared)
    again = assert_comes_back(result)
    assert again.classes == classes
    assert [type(label) for label in again.classes] == [type(label) for label in classes]
    assert again.model().predict({f"x{place}": [0.5] for place in range(5)}).shape == (1,)


def test_results_of_numbers_that_are_classes() -> None:
    prepared = prepared_of(
        {**plain_table(40), "y": numbers(row % 3 for row in range(40))}, task="classification"
    )
    assert assert_comes_back(result_of(prepared)).classes == (0, 1, 2)


def test_results_of_text_columns_with_gaps() -> None:
    columns = plain_table(40)
    _, y = signal(40)
    columns["kind"] = texts("ab"[int(one > 0)] if one > -2 else None for one in y)
    prepared = prepared_of(columns, impute="median")
    path = choose(prepared, Question(len(prepared.features), 0.5))
    again = assert_comes_back(result_of(prepared, path))
    (kind,) = [column for column in again.inputs if column.name == "kind"]
    assert (kind.levels, kind.fill) == (("a", "b"), "b")
    summary = next(one for one in again.data.columns if one.name == "kind")
    assert summary.kind == "text"
    assert summary.low is None


def test_results_of_fewer_samples_than_a_standard_error_takes() -> None:
    """Where a standard error is not a number, null is written."""
    curve = Curve(np.array([1.0, 2.0, 3.0]), np.array([0.5, np.nan, np.nan]))
    text = replace(RESULT, model_curve=curve).to_json()
    assert json.loads(text)["model_curve"]["standard_errors"] == [0.5, None, None]
    again = SelectionResult.from_json(text)
    assert again.model_curve is not None
    assert_array_equal(again.model_curve.error, curve.error)
    assert [row["standard_error"] for row in again.rows()] == [0.5, None, None]


def test_results_can_be_compared_and_kept_in_sets() -> None:
    """As those with arrays in them are: each equals itself only."""
    again = SelectionResult.from_json(RESULT.to_json())
    assert again != RESULT
    assert len({again, RESULT, again}) == 2


def test_the_text_is_plain_json_with_what_people_look_for() -> None:
    document = json.loads(RESULT.to_json())
    assert document["format"] == "greedyrls.result"
    assert document["version"] == 1
    assert document["sentence"] == RESULT.sentence
    assert document["warnings"] == list(RESULT.warnings)
    names = [feature.name for feature in RESULT.features]
    assert document["chosen"] == {"n_features": 3, "features": names}
    # The names of all features are there once.
    assert document["path"]["settings"]["feature_names_in"]
    assert document["assessment"]["feature_names_in"] is None
    assert document["stability"]["feature_names_in"] is None
    assert RESULT.to_json().isascii()


def test_parameters_of_every_kind() -> None:
    parameters = {"a": 1, "b": 0.1, "c": None, "d": True, "e": "text", "f": -0.0, "g": 10**20}
    result = replace(RESULT, origin=replace(RESULT.origin, parameters=parameters))
    again = SelectionResult.from_json(result.to_json())
    assert again.origin == result.origin
    assert [type(value) for value in again.origin.parameters.values()] == [
        type(value) for value in parameters.values()
    ]


# Assessments and the like, on their own.


def test_assessments_come_back() -> None:
    for assessment in (
        ASSESSMENT,
        replace(ASSESSMENT, feature_names_in=None, n_asked=3, forced=(1, 2), overlap=0.25),
    ):
        again = assert_comes_back(assessment)
        assert again.warnings == assessment.warnings
        assert_array_equal(again.test.mean, assessment.test.mean)


@pytest.mark.parametrize("n_random", [0, 1, 3])
@pytest.mark.parametrize("cv", [2, 5])
def test_assessments_with_any_number_of_random_sets(n_random: int, cv: int) -> None:
    X, y = signal(30)
    assessment = cross_validate_path(X, y, 2, cv=cv, alpha=1.0, n_random=n_random)
    assert assessment.random_losses.shape == (cv, n_random, 2)
    assert_comes_back(assessment)


def test_assessments_whose_folds_end_early() -> None:
    X, y = signal(30)
    assessment = cross_validate_path(X, y, "auto", cv=3, alpha=[1.0, 1e4], patience=1)
    losses = assessment.test_losses.copy()
    width = losses.shape[1]
    short = tuple(
        order[: max(1, width - number)] for number, order in enumerate(assessment.features)
    )
    for number, order in enumerate(short):
        losses[number, len(order) :] = np.nan
    chosen = np.array([min(1, len(order)) for order in short])
    ended = replace(assessment, test_losses=losses, features=short, chosen_sizes=chosen)
    assert_comes_back(ended)


def test_signed_losses_of_a_function() -> None:
    X, y = signal(30)
    options: dict[str, Any] = {"alpha": 1.0, "loss": signed}
    assessment = cross_validate_path(X, y, 2, cv=3, n_random=2, **options)
    assert assessment.measure == "callable:signed"
    assert (assessment.test_losses < 0.0).all()
    assert_comes_back(assessment)
    null = permutation_null(X, y, 2, n_permutations=2, **options)
    assert null.chosen_loss < 0.0
    assert_comes_back(null)
    for value in (assessment, null):
        document = json.loads(value.to_json())
        document["measure"] = "squared"
        assert "below 0" in refused(type(value), document)


def test_stabilities_come_back() -> None:
    X, y = signal(30)
    for stability in (
        STABILITY,
        resample_path(X, y, 2, n_resamples=2, alpha=1.0, forced_features=[4]),
        Stability((np.array([3, 1]), np.array([], dtype=int), np.array([0])), 5, None, "by hand"),
        Stability((np.array([1]),), 2, ("a", "b"), level=0.5, n_available=1),
    ):
        again = assert_comes_back(stability)
        assert_array_equal(again.index, stability.index)
        assert_array_equal(again.standard_error, stability.standard_error)


def test_permutations_come_back() -> None:
    gaps = NULL.null_losses.copy()
    gaps[0, 1:] = np.nan
    for null in (NULL, replace(NULL, null_losses=gaps)):
        again = assert_comes_back(null)
        assert_array_equal(again.p_values, null.p_values)
        assert again.chosen_p_value == null.chosen_p_value


def test_what_the_command_line_makes_comes_back() -> None:
    """With a chosen penalty and size, by folds, for classes."""
    columns = plain_table(45)
    _, y = signal(45)
    columns["y"] = texts(f"c{place}" for place in np.digitize(y, [-2.0, 2.0]))
    prepared = prepared_of(columns)
    for question in (Question("auto", [0.1, 10.0]), Question("auto", [0.1, 10.0], folds=3)):
        path = choose(prepared, question)
        result = result_of(
            prepared,
            path,
            assessment=assess(prepared, question, 3),
            stability=resample(prepared, question, path, 2),
            null=permute(prepared, question, path, 2),
            model_curve=model_curve(prepared, question, path),
        )
        again = assert_comes_back(result)
        assert again.rows() == result.rows()


@pytest.mark.parametrize("kind", [SelectionResult, PathAssessment, Stability, PermutationNull])
def test_only_text_is_read(kind: Any) -> None:
    for value in (None, 3, {}, ["{}"]):
        with pytest.raises(TypeError, match="from_json takes the text of a greedyrls"):
            kind.from_json(value)
