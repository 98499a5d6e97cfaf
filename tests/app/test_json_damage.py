"""Damaged, foreign and newer documents: one line that says so, never code run, never a crash."""

from __future__ import annotations

import ast
import copy
import json
import math
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import greedyrls
from greedyrls import SelectionResult
from json_damage import (
    ASSESSMENT,
    CLASSES,
    CLASSIFIED,
    DAMAGE,
    GONE,
    NULL,
    RESULT,
    STABILITY,
    Place,
    damaged,
    places,
    refused,
)
from small_tables import attempt

VALUES = {"result": RESULT, "assessment": ASSESSMENT, "stability": STABILITY, "null": NULL}
MORE = VALUES | {"result of classes": CLASSIFIED, "assessment of classes": CLASSES}
# Keys that files of older releases lack.
ADDED = ("class_rates", "probabilities", "predictions", "coefficient_errors", "sigmoids")
# Made anew from the rest when a document is read.
DERIVED = ("sentence", "warnings", "chosen")
# What a document inside another has in it is damaged on its own.
INSIDE = ("path", "assessment", "stability", "null")
# Keys of assessments that files of earlier releases do not have.
LATER = {"held_out_covariance", "n_independent", "test_ratio", "own_initial_losses"}
# Where null means that there is none; every other key of an object must have a value.
OPTIONAL = {
    *ADDED,
    "sets",
    "start",
    "size_surface",
    "initial_fold_losses",
    "penalty_lower",
    "confusion",
    "roc",
    "reliability",
    "backward_ratio",
    "classes",
    "level",
    "levels",
    "fill",
    "low",
    "mean",
    "high",
    "deviation",
    "n_levels",
    "assessment",
    "stability",
    "null",
    "model_curve",
    "leaks",
    "sigmoids",
    "missing",
    "n_asked",
    "n_available",
    "feature_names_in",
    "standard_errors",
    "impute",
    "target",
    "alpha",
    "n_features",
    "surface",
    "size_choice",
    "refit_alphas",
    "excluded_features",
    *LATER,
}


def looked_at(kind: str) -> list[Place]:
    document = json.loads(MORE[kind].to_json())
    return [
        place
        for place in places(document)
        if not (kind.startswith("result") and place[0] in INSIDE and len(place) > 2)
    ]


def use(value: Any) -> None:
    """All that is asked of what was read."""
    assert value.sentence
    repr(value)
    assert type(value).from_json(value.to_json()).to_json() == value.to_json()
    if isinstance(value, SelectionResult):
        assert len(value.rows()) == len(value.path)
        assert all(isinstance(warning, str) for warning in value.warnings)
        assert value.model().to_json()


@pytest.mark.parametrize("damage", [name for name in DAMAGE if name != "largest"])
@pytest.mark.parametrize("kind", MORE)
def test_damage_anywhere(kind: str, damage: str) -> None:
    """A ValueError, or a document that means something: never another error, now or later."""
    value, damage_value = MORE[kind], DAMAGE[damage]
    document = json.loads(value.to_json())
    accepted = []
    for place in looked_at(kind):
        text = json.dumps(damaged(document, place, damage_value))
        again, message = attempt(partial(type(value).from_json, text))
        if message is not None:
            assert message.startswith("This ")
            continue
        accepted.append(place)
        use(again)
        if place[0] in DERIVED:
            assert again.to_json() == value.to_json()
    keys = [place for place in accepted if place[0] not in DERIVED]
    if damage == "gone":
        # Entries of lists may be fewer, parameters are whatever they are, and files of the first
        # days have no leaks.
        rest = [place for place in keys if place[-1] not in {*ADDED, *LATER}]
        free = ("origin", "leaks")
        assert all(isinstance(place[-1], int) or place[0] in free for place in rest), rest
    elif damage == "null":
        entries = (place for place in keys if isinstance(place[-1], str))
        assert {str(place[-1]) for place in entries} <= OPTIONAL
    elif damage in ("lists", "bottomless", "true", "object", "infinity", "NaN"):
        flags = ("is_weighted",) if damage == "true" else ()
        parameters = (
            place
            for place in keys
            if place[:2] != ("origin", "parameters") and place[-1] not in flags
        )
        plain = {"origin": ("versions",), "path": ()}
        assert [
            place
            for place in parameters
            if not (damage == "object" and place[-1] in plain.get(str(place[0]), ()))
        ] == []


@pytest.mark.parametrize("kind", VALUES)
def test_keys_that_are_not_known_are_ignored(kind: str) -> None:
    value = VALUES[kind]
    document = json.loads(value.to_json()) | {"new": {"__class__": "os.system"}, "__reduce__": [1]}
    assert type(value).from_json(json.dumps(document)).to_json() == value.to_json()


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("version", [0, 3, 99, -1, "1", 1.0, True, None, [1], 10**4000])
def test_other_versions(kind: str, version: Any) -> None:
    value = VALUES[kind]
    document = json.loads(value.to_json()) | {"version": version}
    message = refused(type(value), document)
    known = "versions 1 and 2" if kind == "result" else "version 1"
    assert f"this release reads {known}." in message
    assert "A newer greedyrls may be needed" in message


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("form", ["greedyrls.path", "greedyrls.model", "", None, 3, ["x"], {}])
def test_other_formats(kind: str, form: Any) -> None:
    value = VALUES[kind]
    document = json.loads(value.to_json()) | {"format": form}
    assert f"This is not a greedyrls.{kind} document: its format is" in refused(
        type(value), document
    )


@pytest.mark.parametrize("kind", VALUES)
def test_documents_of_other_kinds(kind: str) -> None:
    own = type(VALUES[kind])
    for other, value in VALUES.items():
        if other != kind:
            message = refused(own, value.to_json())
            assert f"its format is 'greedyrls.{other}'" in message
    for text in ("3", "null", '"text"', "[]", "{}", "true", "NaN"):
        assert "This is not a greedyrls" in refused(own, text)


@pytest.mark.parametrize("kind", VALUES)
def test_text_that_is_no_json(kind: str) -> None:
    own = type(VALUES[kind])
    text = VALUES[kind].to_json()
    for length in [0, 1, *range(2, len(text), max(1, len(text) // 40)), len(text) - 1]:
        assert "it is not JSON" in refused(own, text[:length])
    for content in (b"\xff\xfe", b"\x80\x04\x95", "a,b\n1,2\n", "result.json", "\0", text + "x"):
        assert "it is not JSON" in refused(own, content)


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("opening", ["[", '{"format":', '{"path":'])
def test_bottomless_text(kind: str, opening: str) -> None:
    assert "it is not JSON" in refused(type(VALUES[kind]), opening * 200_000)


def test_long_whole_numbers() -> None:
    text = RESULT.to_json().replace('"n_bytes": 123', f'"n_bytes": {"9" * 100_000}')
    assert "it is not JSON" in refused(SelectionResult, text)


# What does not fit together.


def changed(place: Place, value: Any) -> str:
    document = json.loads(RESULT.to_json())
    return refused(SelectionResult, damaged(document, place, value))


def test_parts_that_do_not_fit_together() -> None:
    n, m = RESULT.data.n_features, RESULT.data.n_rows
    assert "a regression has classes" in changed(("classes",), ["a", "b"])
    assert "another number of rows or features" in changed(("data", "n_rows"), m + 1)
    assert "another number of rows or features" in changed(("data", "n_features"), n + 1)
    for part in ("assessment", "stability"):
        for number in (n + 1, 2**62, 10**30, None, "x"):
            message = changed((part, "n_features_in"), number)
            assert f"{part} is of another number of features" in message
    assert "another number of samples" in changed(("assessment", "n_samples"), m + 1)
    assert "features are not those of the path" in changed(("features",), [])
    columns = json.loads(RESULT.to_json())["columns"]
    assert "more than once" in changed(("columns",), [*columns, columns[0]])
    assert "not among the columns" in changed(("columns",), [])
    assert "not one of its column" in changed(("columns", 0, "levels"), ["a", "c"])
    assert "null at a size that was chosen" in changed(("assessment", "test_losses", 0, 2), None)
    assert "below 0" in changed(("assessment", "initial_losses", 0), -1.0)
    assert "below 0" in changed(("model_curve", "losses", 0), -1.0)
    assert "below 0" in changed(("null", "losses", 0), -1.0)
    assert "unknown measure" in changed(("null", "measure"), "worst")
    assert "unknown measure" in changed(("assessment", "measure"), "worst")
    assert "no number" in changed(("null", "null_chosen_losses"), [None, None])
    assert "sum" in changed(("assessment", "shares", 0), 0.9)
    assert "not symmetric" in changed(("assessment", "held_out_covariance", 0, 1), 7.0)
    assert "diagonal" in changed(("assessment", "held_out_covariance", 0, 0), -1.0)
    assert "test_ratio" in changed(("assessment", "test_ratio"), None)
    for scale in (0.0, -1.0):
        assert "scale is" in changed(("features", 0, "scale"), scale)


@pytest.mark.parametrize("value", [math.nan, math.inf, [], {}, [1]])
def test_parameters_that_could_not_be_written_again(value: Any) -> None:
    assert "parameters has an entry" in changed(("origin", "parameters", "alpha"), value)


def test_a_path_of_more_targets_is_no_regression() -> None:
    document = json.loads(RESULT.to_json())
    moments = document["path"]["moments"]
    moments["target_means"] *= 2
    moments["correlation"] = [row * 2 for row in moments["correlation"]]
    document["path"]["settings"]["single_target"] = False
    assert "another number of targets" in refused(SelectionResult, document)
    document["task"], document["classes"] = "classification", ["a", "b", "c"]
    assert "another number of targets" in refused(SelectionResult, document)


def test_numbers_too_large_to_compute_with() -> None:
    """They are numbers, so they are read; what is computed from them may overflow."""
    document = json.loads(RESULT.to_json())
    for place in (("features", 0, "scale"), ("path", "initial_loss"), ("origin", "seconds")):
        again = SelectionResult.from_json(json.dumps(damaged(document, place, 1.7e308)))
        assert again.sentence


HOSTILE = "\x1b[31mred\nand a second line"


def test_messages_quote_the_document_in_short_and_escaped() -> None:
    document = json.loads(RESULT.to_json())
    for value in (HOSTILE, "x" * 10_000, DAMAGE["bottomless"], 10**4000):
        for place in (
            ("data", "n_bytes"),
            ("features", 0, "mean"),
            ("path", "settings", "weighted"),
        ):
            refused(SelectionResult, damaged(document, place, value))


# Code.

PACKAGE = Path(greedyrls.__file__).parent
FORBIDDEN = {
    *("pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve", "yaml", "subprocess"),
    *("eval", "exec", "compile", "__import__", "loads_pickle", "system", "popen"),
}


@pytest.mark.parametrize("file", sorted(PACKAGE.rglob("*.py")), ids=lambda file: file.stem)
def test_nothing_that_could_run_what_it_reads(file: Path) -> None:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            assert not {alias.name.split(".")[0] for alias in node.names} & FORBIDDEN
        elif isinstance(node, ast.ImportFrom):
            assert (node.module or "").split(".")[0] not in FORBIDDEN
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in FORBIDDEN
        elif isinstance(node, ast.keyword) and node.arg == "allow_pickle":
            assert isinstance(node.value, ast.Constant)
            assert node.value.value is False


def test_documents_are_not_changed_by_reading() -> None:
    document = json.loads(RESULT.to_json())
    before = copy.deepcopy(document)
    damaged(document, ("path",), GONE)
    assert document == before
