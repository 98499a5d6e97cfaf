"""Files of every format and version that a release has written are read, now and later.

The files stand in golden/, what they said when they were written in golden/expected/; write.py has
made both.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checkpoints import assert_same
from golden_values import (
    CHECKPOINTS,
    KINDS,
    expected_of,
    numbers_in,
    read_golden,
)
from greedyrls import LinearModel, SelectionPath, SelectionResult, StopReason
from greedyrls.report import make_report
from internals import checkpoint
from project import GOLDEN

FILES = sorted(GOLDEN.glob("*.json"))
DOCUMENTS = [file for file in FILES if not file.name.startswith("checkpoint")]
# A reader makes these from the rest.
FOR_PEOPLE = {"sentence", "warnings", "version", "data", "origin"}
# Sentences whose losses were told as they are, and now in the units of the target or as scores; the
# losses themselves are among what is expected.
RETOLD = (
    "In the outer folds that chose",
    "On samples that took no part",
    "The search's own",
    "The same selection on permuted",
)


def of(kind: str) -> list[Path]:
    return [file for file in DOCUMENTS if file.name.startswith(kind)]


def by_name(file: Path) -> str:
    return file.stem


def content(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8"))


def assert_says(value: Any, expected: Any, key: str = "") -> None:
    """The same to rounding; of sentences the numbers, since words may be put better."""
    if isinstance(expected, dict):
        assert set(value) >= set(expected), key
        for name, part in expected.items():
            assert_says(value[name], part, f"{key}.{name}")
    elif key.endswith(".warnings"):
        assert_warns_no_more(value, expected)
    elif isinstance(expected, list):
        assert len(value) == len(expected), key
        for place, part in enumerate(expected):
            assert_says(value[place], part, f"{key}.{place}")
    elif isinstance(expected, float) and not isinstance(value, bool):
        assert value == pytest.approx(expected, rel=1e-8, abs=1e-10), key
    elif isinstance(expected, str) and key.endswith("sentence"):
        if any(words in expected for words in RETOLD):
            assert value, key
        else:
            assert numbers_in(value) == numbers_in(expected), key
    else:
        assert value == expected, key
        assert type(value) is type(expected), key


def assert_warns_no_more(warnings: Any, expected: list[str]) -> None:
    """A later release may put a warning better, or find that there is no reason for it."""
    assert len(warnings) <= len(expected), warnings
    assert all(warnings)


def assert_kept(before: Any, after: Any, key: str = "") -> None:
    """All that was there still is, to the last digit; later releases may add keys."""
    if isinstance(before, dict):
        for name, part in before.items():
            if key or name not in FOR_PEOPLE:
                assert name in after, f"{key}.{name}"
                assert_kept(part, after[name], f"{key}.{name}")
    elif isinstance(before, list):
        assert len(after) == len(before), key
        for place, part in enumerate(before):
            assert_kept(part, after[place], f"{key}.{place}")
    else:
        assert after == before or key == ".path.version", key


@pytest.mark.parametrize("file", DOCUMENTS, ids=by_name)
def test_files_say_what_they_said(file: Path) -> None:
    assert_says(expected_of(read_golden(file)), content(GOLDEN / "expected" / file.name))


@pytest.mark.parametrize("file", DOCUMENTS, ids=by_name)
def test_nothing_is_lost_by_writing_again(file: Path) -> None:
    value = read_golden(file)
    text = value.to_json()
    # The command line adds to an assessment what a result has.
    assert_kept(content(file), json.loads(text))
    again = type(value).from_json(text)
    assert again.to_json() == text
    assert expected_of(again) == expected_of(value)


@pytest.mark.parametrize("file", of("result"), ids=by_name)
def test_results_are_whole(file: Path) -> None:
    document, result = content(file), SelectionResult.from_json(file.read_bytes())
    assert [feature.name for feature in result.features_of(result.size)] == (
        document["chosen"]["features"]
    )
    assert numbers_in(result.sentence)[:2] == numbers_in(document["sentence"])[:2]
    assert result.target in result.sentence
    assert_warns_no_more(result.warnings, document["warnings"])
    assert result.target in make_report(result)
    same_run = file.with_name(file.name.replace("result", "model").replace("interr", "two-cl"))
    if same_run.exists():
        assert_says(
            expected_of(result.model()), expected_of(LinearModel.from_json(same_run.read_bytes()))
        )


def places(document: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Keys and what stands there."""
    if isinstance(document, dict):
        for name, value in document.items():
            yield name, value
            yield from places(value, name)
    elif isinstance(document, list):
        for value in document:
            yield from places(value, key)


def test_all_that_the_formats_can_hold_is_there() -> None:
    found: dict[str, set[str]] = {}
    for file in DOCUMENTS:
        document = content(file)
        for key, value in places(document):
            held = {True: "something", False: "nothing"}[value is not None]
            found.setdefault(f"{document['format'].split('.')[1]} {key}", set()).add(held)
            words = ("stop_reason", "direction", "rule", "action", "task", "kind", "loss")
            if key in words and isinstance(value, str):
                found.setdefault(key, set()).add(value)
    # What may be null is null in one file and has a value in another.
    both = {"something", "nothing"}
    for key in (
        "surface",
        "size_surface",
        "initial_fold_losses",
        "size_choice",
        "refit_alphas",
        "sets",
        "start",
        "penalty_lower",
    ):
        assert found[f"path {key}"] == both, key
    for key in ("feature_groups", "feature_costs", "budget", "backward_ratio", "feature_names_in"):
        assert found[f"path {key}"] == both, key
    assert found["path standard_error"] == both
    for key in ("assessment", "stability", "null", "model_curve", "missing", "classes", "level"):
        assert found[f"result {key}"] == both, key
    for key in ("fill", "levels", "level", "classes"):
        assert found[f"model {key}"] == both, key
    assert found["assessment held_out_covariance"] == {"something"}  # there is none in older files
    assert found["assessment n_asked"] == found["assessment feature_names_in"] == both
    assert found["stop_reason"] == {reason.value for reason in StopReason}
    assert found["direction"] == {"forward", "backward", "floating", "foba", "swap"}
    assert found["rule"] == {"given", "min", "1se", "nested", "joint", "all_features"}
    assert found["action"] == {"add", "remove"}
    assert found["task"] >= {"regression", "classification"}
    assert found["kind"] >= {"number", "flag", "text"}
    assert {content(file)["format"] for file in DOCUMENTS} == set(KINDS)
    models = [LinearModel.from_json(file.read_bytes()) for file in of("model")]
    labels = {type(label) for model in models for label in model.classes or ()}
    assert labels == {str, int, bool}
    assert {len(model.intercepts) for model in models} == {1, 3}
    paths = [SelectionPath.from_json(file.read_bytes()) for file in of("path")]
    assert {path.is_nested for path in paths} == {True, False}
    assert 0 in {path.chosen_size for path in paths}
    assert {path.settings.single_target for path in paths} == {True, False}
    assert {path.settings.fit_intercept for path in paths} == {True, False}
    assert {path.settings.weighted for path in paths} == {True, False}


def test_names_say_format_and_version() -> None:
    for file in FILES:
        document = content(file)
        form, version, _ = file.stem.split("-", 2)
        assert document["format"] == f"greedyrls.{form}"
        assert f"v{document['version']}" == version
        assert file.stat().st_size < 16_000


# Checkpoints.


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_a_checkpoint_is_continued(name: str, tmp_path: Path) -> None:
    file = tmp_path / "search.checkpoint"
    shutil.copy(GOLDEN / f"checkpoint-v2-{name}.json", file)
    document = content(file)
    new: list[Any] = []
    path = CHECKPOINTS[name](file, new.append)
    assert_same(path, CHECKPOINTS[name](None, None))
    # What the file knew was not searched for again.
    known = document["searches"][0]["steps"]
    assert known
    assert len(new) == (0 if name == "finished" else len(path) - len(known))
    assert [step.loss for step in path.steps[: len(known)]] == [step["loss"] for step in known]
    for fold, same in zip(document["outer_folds"], content(file)["outer_folds"], strict=True):
        assert fold == same


@pytest.mark.parametrize("name", CHECKPOINTS)
@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"version": 1}, "in version 1 of the format, and this release reads only version 2"),
        ({"version": 3}, "in version 3 of the format"),
        ({"parameters": {"horizon": 3}}, "was made with horizon 3, not None as in this call"),
        ({"path": {"version": 99}}, "has a path in version 99 of the format"),
        ({"fingerprint": {"X": "another digest"}}, "was made from other data"),
    ],
)
def test_a_checkpoint_of_another_release_is_refused(
    name: str, change: dict[str, Any], says: str, tmp_path: Path
) -> None:
    document = content(GOLDEN / f"checkpoint-v2-{name}.json") | {"made_by": "greedyrls 0.0.7"}
    del document["checksum"]
    for key, value in change.items():
        known = document[key]
        document[key] = {**(known or {}), **value} if isinstance(value, dict) else value
    file = tmp_path / "search.checkpoint"
    file.write_bytes(checkpoint._sealed(json.dumps(document).encode()))
    before = file.read_bytes()
    with pytest.raises(ValueError, match="checkpoint") as caught:
        CHECKPOINTS[name](file, None)
    message = str(caught.value)
    assert message.startswith(f"The checkpoint {file} ")
    assert says in message
    assert "written by greedyrls 0.0.7; this is greedyrls " in message
    assert message.endswith("delete it to start from scratch, or use another file.")
    assert file.read_bytes() == before


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_a_checkpoint_of_an_earlier_version_is_refused(name: str, tmp_path: Path) -> None:
    file = tmp_path / "search.checkpoint"
    shutil.copy(GOLDEN / f"checkpoint-v1-{name}.json", file)
    with pytest.raises(ValueError, match="is in version 1 of the format, and this release reads"):
        CHECKPOINTS[name](file, None)
