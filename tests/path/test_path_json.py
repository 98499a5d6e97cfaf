"""The JSON format: exact round trips, and a clear ValueError for whatever is not one of ours."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from greedyrls import SelectionPath, StopReason, extend_path, greedy_path
from path_documents import (
    DOCUMENT,
    GRID,
    KINDS,
    ODD_NAMES,
    at,
    load,
    make_path,
    opposite_correlation,
    small_path,
    verdict,
)
from project import GOLDEN

VERSION_1 = (GOLDEN / "path-v1-leave-one-out.json").read_text(encoding="utf-8")
VERSION_2 = (GOLDEN / "path-v2-nested.json").read_text(encoding="utf-8")
# The data behind version 1.
X_1 = [
    [1.0, 2.0, 0.0, 1.0],
    [2.0, 0.0, 1.0, 1.0],
    [0.0, 1.0, 3.0, 0.0],
    [1.0, 1.0, 1.0, 2.0],
    [3.0, 2.0, 0.0, 0.0],
]
Y_1 = [1.0, 2.0, 0.0, 1.5, 3.0]


def assert_identical(one: SelectionPath, other: SelectionPath) -> None:
    assert other.steps == one.steps
    assert other.initial_loss == one.initial_loss
    assert other.settings == one.settings
    assert other.counters == one.counters
    assert other.stop_reason is one.stop_reason
    assert other.size_choice == one.size_choice
    assert other.surface == one.surface
    assert other.refit_alphas == one.refit_alphas
    assert other == one
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
    assert document["version"] == 4


@pytest.mark.parametrize("kind", KINDS)
def test_round_trip_of_every_kind_of_path(kind: str) -> None:
    path = small_path(**KINDS[kind])
    again = SelectionPath.from_json(path.to_json())
    assert_identical(path, again)
    assert again.to_json() == path.to_json()
    assert again.sentence == path.sentence
    assert again.chosen_size == path.chosen_size
    assert_array_equal(again.standard_errors, path.standard_errors)
    if path.surface is not None and again.surface is not None:
        assert again.surface.losses.flags.writeable is False


def test_a_loss_without_standard_error() -> None:
    path = small_path(loss=opposite_correlation)
    assert np.isnan(path.standard_errors).all()
    document = json.loads(path.to_json())
    assert [step["standard_error"] for step in document["steps"]] == [None] * 3
    assert np.isnan(load(document).standard_errors).all()
    assert load(document) == path


def test_losses_of_a_function_may_be_below_0() -> None:
    path = small_path(loss=opposite_correlation, cv=3, alpha=GRID, n_runners_up=1)
    assert (path.losses < 0.0).all()
    assert path.settings.loss == "callable:opposite_correlation"
    document = json.loads(path.to_json())
    document["initial_loss"] = -1.0
    assert load(document).initial_loss == -1.0
    document["settings"]["loss"] = "squared"
    assert verdict(document) == "refused"


def test_cells_without_a_loss() -> None:
    document = json.loads(small_path(alpha=GRID, alpha_rule="joint").to_json())
    row = (GRID.index(document["surface"]["alpha"]) + 1) % 3
    document["surface"]["losses"][row][2] = None
    document["surface"]["standard_errors"][row][1] = None
    surface = load(document).surface
    assert surface is not None
    assert np.argwhere(np.isnan(surface.losses)).tolist() == [[row, 2]]
    assert np.argwhere(np.isnan(surface.standard_errors)).tolist() == [[row, 1]]
    assert json.loads(load(document).to_json()) == document


# Versions 1 and 2 --------------------------------------------------------------------------------


def test_version_2_is_read() -> None:
    X = [[1, 0, 2], [0, 1, 1], [2, 1, 0], [1, 3, 1], [0, 2, 2], [3, 1, 1], [2, 2, 3], [1, 1, 0]]
    y = [1, 2, 3, 5, 2, 6, 7, 1]
    path = SelectionPath.from_json(VERSION_2)
    again = greedy_path(X, y, 2, alpha=[0.5, 2.0], cv=4, alpha_cv=2, n_runners_up=1)
    assert path.settings == again.settings
    assert [known.features for known in path.sets] == [(0,), (0, 1)]
    assert [step.features for step in path.steps] == [(0,), (1,)]
    assert path.start is None
    assert path.moments.features == (0, 1)
    np.testing.assert_allclose(path.losses, again.losses, rtol=1e-12)
    np.testing.assert_allclose(path.coef(2), again.coef(2), rtol=1e-12)
    assert path.refit_alphas == pytest.approx(again.refit_alphas)
    assert path.size_choice == again.size_choice
    assert_identical(path, SelectionPath.from_json(path.to_json()))


def test_version_1_is_read() -> None:
    path = SelectionPath.from_json(VERSION_1)
    assert path.names() == ["a", "b"]
    assert path.losses.tolist() == [0.13524614072241453, 0.17102938399383144]
    assert path.settings.loss == "squared"
    assert path.settings.cv == "loo"
    assert path.settings.refit_alpha == "same"
    assert path.fold_losses is None
    assert path.size_choice is None
    assert path.surface is None
    assert path.refit_alphas is None
    assert path.chosen_size == 2
    assert_identical(path, SelectionPath.from_json(path.to_json()))
    assert json.loads(path.to_json())["version"] == 4


def test_version_1_is_the_path_of_today() -> None:
    X = pd.DataFrame(X_1, columns=list("abcd"))
    path = greedy_path(X, Y_1, 2, alpha=0.5, n_runners_up=1, excluded_features=["d"])
    old = SelectionPath.from_json(VERSION_1)
    assert old.settings == path.settings
    assert old.indices.tolist() == path.indices.tolist()
    assert_allclose(old.losses, path.losses, rtol=1e-12)
    assert_allclose(old.coef(), path.coef(), rtol=1e-12)
    assert extend_path(old, X, Y_1, 3).names() == ["a", "b", "c"]


def test_version_1_has_none_of_what_came_later() -> None:
    document = json.loads(VERSION_1) | {"surface": 3, "size_choice": "?", "refit_alphas": [1.0]}
    document["settings"]["loss"] = "auc"
    document["steps"][0]["fold_losses"] = [1.0]
    assert load(document) == SelectionPath.from_json(VERSION_1)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("initial_loss",), -1.0),
        (("steps", 0, "standard_error"), None),
        (("steps", 0, "index"), 9),
        (("settings",), []),
        (("moments", "gram_lower"), None),
    ],
)
def test_version_1_is_checked_as_well(place: tuple[Any, ...], value: Any) -> None:
    document = json.loads(VERSION_1)
    at(document, place[:-1])[place[-1]] = value
    with pytest.raises(ValueError, match=rf"document is damaged: .*{place[-1]}"):
        load(document)


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


@pytest.mark.parametrize("version", [5, 99, 0, -1, "1", "2", 2.0, None, [1], True])
def test_other_versions(version: Any) -> None:
    with pytest.raises(
        ValueError, match=r"has version .*; this release reads versions 1 and 2 and"
    ):
        load(DOCUMENT | {"version": version})


def test_every_truncation_of_the_text() -> None:
    text = make_path().to_json()
    for length in range(0, len(text), 7):
        with pytest.raises(ValueError, match=r"greedyrls\.path document: it is not JSON"):
            SelectionPath.from_json(text[:length])


def test_a_single_column() -> None:
    path = greedy_path(np.array(X_1)[:, :1], Y_1, 1)
    assert_identical(path, SelectionPath.from_json(path.to_json()))
