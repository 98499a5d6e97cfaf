"""A checkpoint that is damaged, or of another search, is an error in words; never an answer."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import KFold

from checkpoints import SEARCHES, Search, assert_same, largest_error
from column_source import by_columns
from greedyrls import GreedyRLSClassifier, GreedyRLSRegressor, greedy_path
from internals import checkpoint as room
from json_damage import DAMAGE, damaged, places

BASE = SEARCHES["leave-one-out"]
WEIGHTS = np.linspace(1.0, 2.0, 60)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "search.checkpoint"


def refused(search: Search, file: Path, says: str = "") -> str:
    """The sentence that says why a file is not taken; the file is left as it is."""
    before = file.read_bytes()
    with pytest.raises(ValueError, match="checkpoint") as caught:
        search.run(file)
    message = str(caught.value)
    assert str(file) in message
    assert "delete it to start from scratch, or use another file." in message
    assert "\n" not in message
    assert len(message) < 500
    assert says in message
    assert file.read_bytes() == before
    return message


def interrupt(*args: Any) -> None:
    raise KeyboardInterrupt


def begun(search: Search, file: Path) -> None:
    """A search that was cut off after its first step."""
    assert search.run(file, callback=interrupt).interrupted


def with_value(X: Any) -> Any:
    other = X.copy()
    other[17, 13] = np.nextafter(other[17, 13], np.inf)
    return other


DATA: dict[str, tuple[Callable[[Search], Search], str]] = {
    "a value": (lambda s: s._replace(X=with_value(s.X)), "other data (different: X)"),
    "rows": (lambda s: s._replace(X=s.X[::-1], y=s.y[::-1]), "X, y"),
    "columns": (lambda s: s._replace(X=s.X[:, [1, 0, *range(2, 14)]]), ": X)"),
    "targets": (lambda s: s._replace(y=s.y + 1e-9), ": y)"),
    "two dimensions": (lambda s: s._replace(y=s.y[:, None]), ": y)"),
    "fewer columns": (lambda s: s._replace(X=s.X[:, :13]), "shape of X '60 × 14', not '60 × 13'"),
    "fewer rows": (lambda s: s._replace(X=s.X[:50], y=s.y[:50]), "'60 × 14', not '50 × 14'"),
    "type": (lambda s: s._replace(X=s.X.astype(np.float32)), "type of X 'float64', not 'float32'"),
    "sparse": (lambda s: s._replace(X=sparse.csr_array(s.X)), "'float64', not 'sparse float64'"),
    "names": (
        lambda s: s._replace(X=pd.DataFrame(s.X, columns=[f"c{i}" for i in range(14)])),
        ": the names of the columns)",
    ),
}

PARAMETERS: dict[str, tuple[dict[str, Any], str]] = {
    "weights": ({"sample_weight": WEIGHTS}, ": sample_weight)"),
    "alpha": ({"alpha": 2.0}, "alpha 1.0, not 2.0"),
    "alphas": ({"alpha": [1.0, 2.0]}, "alpha 1.0, not [1.0, 2.0]"),
    "folds": ({"cv": 5}, "cv 'loo', not '5-fold'"),
    "loss": ({"loss": "absolute"}, "loss 'squared', not 'absolute'"),
    "function": ({"loss": largest_error}, "not 'checkpoints.largest_error'"),
    "intercept": ({"fit_intercept": False}, "fit_intercept True, not False"),
    "forced": ({"forced_features": [3]}, "forced_features [], not [3]"),
    "excluded": ({"excluded_features": [3]}, "excluded_features [], not [3]"),
    "runners-up": ({"n_runners_up": 1}, "n_runners_up 2, not 1"),
    "patience": ({"patience": 3}, "patience None, not 3"),
    "tol": ({"tol": 0.1}, "patience None, not 1"),
    "refit": ({"refit_alpha": 3.0}, "refit_alpha 'same', not 3.0"),
}


@pytest.mark.parametrize("finished", [False, True])
@pytest.mark.parametrize("change", DATA)
def test_other_data(change: str, finished: bool, file: Path) -> None:
    _ = BASE.run(file) if finished else begun(BASE, file)
    other, says = DATA[change]
    refused(other(BASE), file, says)


def test_another_value_of_a_file_by_columns(file: Path) -> None:
    search = BASE._replace(X=by_columns(BASE.X))
    begun(search, file)
    refused(BASE._replace(X=by_columns(with_value(BASE.X))), file, "other data (different: X)")
    assert_same(search.run(file), search.run())


@pytest.mark.parametrize("finished", [False, True])
@pytest.mark.parametrize("change", PARAMETERS)
def test_other_parameters(change: str, finished: bool, file: Path) -> None:
    _ = BASE.run(file) if finished else begun(BASE, file)
    other, says = PARAMETERS[change]
    refused(BASE._replace(options=BASE.options | other), file, says)


@pytest.mark.parametrize(
    ("other", "says"),
    [
        ({"feature_groups": {"pair": [0, 1]}}, "feature_groups [[0, 1]], not None"),
        ({"feature_costs": [1.0] * 13 + [2.0]}, "feature_costs [1.0, 1.0, 1.0, 1.0, 1.0, 1.0"),
    ],
)
@pytest.mark.parametrize("finished", [False, True])
def test_parameters_that_are_left_out(
    other: dict[str, Any], says: str, finished: bool, file: Path
) -> None:
    search = BASE._replace(options=BASE.options | other)
    _ = search.run(file) if finished else begun(search, file)
    refused(BASE, file, says)


def test_fewer_features(file: Path) -> None:
    begun(BASE, file)
    refused(BASE._replace(n_features=5), file, "the larger n_features 8, not 5")
    refused(BASE._replace(n_features="auto"), file, "n_features 8, not 'auto'")


def test_more_features_where_the_penalty_is_chosen_for_them(file: Path) -> None:
    search = SEARCHES["nested"]
    begun(search, file)
    refused(search._replace(n_features=6), file, "n_features 5, not 6")


@pytest.mark.parametrize(
    ("other", "says"),
    [
        ({"alpha_rule": "joint"}, "alpha_rule 'nested', not 'joint'"),
        ({"alpha": [0.1, 1.0]}, "alpha [0.1, 1.0, 10.0, 100.0], not [0.1, 1.0]"),
        ({"alpha_cv": 4}, "alpha_cv '3-fold, shuffled with seed 0', not '4-f"),
        ({"alpha_cv": KFold(3)}, "alpha_cv '3-fold, shuffled with seed 0', not '3-fold'"),
        ({"random_state": 1}, "with seed 0', not '3-fold, shuffled with seed 1'"),
        # In the same words, but of other rows.
        (
            {"alpha_cv": KFold(3, shuffle=True, random_state=0)},
            "(different: the rows of the outer folds (alpha_cv))",
        ),
        ({"alpha_cv": np.arange(60) % 3}, "seed 0', not 'fold ids (3 folds)'"),
    ],
)
def test_other_ways_to_choose_the_penalty(other: Any, says: str, file: Path) -> None:
    search = SEARCHES["nested"]
    search.run(file)
    refused(search._replace(options=search.options | other), file, says)


@pytest.mark.parametrize(
    ("option", "says"), [("cv", "folds (cv)"), ("alpha_cv", "outer folds (alpha_cv)")]
)
def test_folds_of_the_same_words(option: str, says: str, file: Path) -> None:
    search = SEARCHES["nested"]
    ids = np.arange(60) % 3
    search.run(file, **{option: ids})
    other = search._replace(options=search.options | {option: np.sort(ids)})
    refused(other, file, f"the rows of the {says}")


def test_time_series_folds_by_their_training_rows(file: Path) -> None:
    rows = np.arange(60)
    search = BASE._replace(options={"cv": [(rows[:30], rows[40:])]})
    search.run(file)
    refused(search._replace(options={"cv": [(rows[10:40], rows[40:])]}), file, "folds (cv)")


def test_loss_chosen_or_given(file: Path) -> None:
    search = SEARCHES["classifier"]
    search.run(file)
    other = search._replace(options=search.options | {"loss": "squared"})
    refused(other, file, "loss 'auto', not 'squared'")


@pytest.mark.parametrize("finished", [False, True])
def test_a_function_that_was_changed(finished: bool, file: Path) -> None:
    def loss(y_true: Any, y_pred: Any) -> float:
        return float(np.mean(np.abs(y_true - y_pred) ** power))

    search = BASE._replace(options={"loss": loss})
    power = 1.0
    _ = search.run(file) if finished else begun(search, file)
    power = 3.0
    refused(search, file, "was the loss function changed?")


def test_every_truncation(file: Path) -> None:
    SEARCHES["nested"].run(file)
    data = file.read_bytes()
    for length in [*range(0, len(data) - 100, 61), *range(len(data) - 100, len(data))]:
        file.write_bytes(data[:length])
        refused(SEARCHES["nested"], file)


@pytest.mark.slow
def test_every_kind_of_flipped_byte(file: Path) -> None:
    search = SEARCHES["nested"]
    search.run(file)
    data = file.read_bytes()
    for place in range(0, len(data), 37):
        for bit in (1, 4, 128):
            other = bytearray(data)
            other[place] ^= bit
            file.write_bytes(other)
            refused(search, file)


def test_reformatted_or_appended(file: Path) -> None:
    BASE.run(file)
    data = file.read_bytes()
    for other in (data + b" ", data + data, data[:-1], json.dumps(json.loads(data)).encode()):
        file.write_bytes(other)
        refused(BASE, file)


def resealed(document: Any) -> bytes:
    """A document with a checksum as if it had been written so."""
    document.pop("checksum", None)
    return room._sealed(json.dumps(document).encode())


def _damages(name: str) -> list[tuple[Any, str]]:
    # Each place in two ways, and neighbours in different ones.
    ways = list(DAMAGE)
    return [
        (place, ways[(2 * number + turn) % len(ways)])
        for number, place in enumerate(_places(name))
        for turn in range(2)
    ]


def _places(name: str) -> list[Any]:
    """Places in a document, those in the path left out, which has tests of its own."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "file"
        begun(SEARCHES[name], file)
        document = json.loads(file.read_bytes())
    found = [place for place in places(document) if place[0] not in ("checksum", "made_by")]
    # Of the many numbers for standard errors the first few will do.
    return [place for place in found if "parts" not in place or place[-1] in ("parts", 0, 1)]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["nested size", "folds", "all features"])
def test_wrong_values_under_a_right_checksum(name: str, file: Path) -> None:
    search = SEARCHES[name]
    begun(search, file)
    document = json.loads(file.read_bytes())
    for place, damage in _damages(name):
        other = damaged(document, place, DAMAGE[damage])
        file.write_bytes(resealed(other))
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # a loss may be said to be huge
                path = search.run(file)
        except ValueError as error:
            message = str(error)
            assert "\n" not in message
            assert str(file) in message
            assert len(message) < 500
            continue
        # Who knows how to make a checksum may write a search that stopped, or knows less.
        assert path.steps


def test_newer_or_foreign_documents(file: Path) -> None:
    path = BASE.run(file)
    document = json.loads(file.read_bytes())
    file.write_bytes(resealed(document | {"version": 3}))
    refused(BASE, file, "is in version 3 of the format, and this release reads only version 2")
    file.write_text(path.to_json())
    refused(BASE, file, "its format is 'greedyrls.path'")
    for text in ("", "null", "[]", "{}", "12", "nothing", "[" * 100_000, "\x00\xff"):
        file.write_bytes(text.encode("latin-1"))
        refused(BASE, file)


def test_features_that_are_not_there(file: Path) -> None:
    begun(BASE, file)
    document = json.loads(file.read_bytes())
    document["searches"][0]["steps"][0].update(index=14)
    file.write_bytes(resealed(document))
    refused(BASE, file, "not the first of the features")
    document["searches"][0]["steps"][0].update(features=[14])
    file.write_bytes(resealed(document))
    refused(BASE, file, "a feature is unknown or appears twice")
    document["searches"][0]["steps"][0].update(index=7, features=[7])
    file.write_bytes(resealed(document))
    refused(BASE, file, "does not fit: with feature 7 the loss is")


def test_names_that_are_no_files(tmp_path: Path) -> None:
    for wrong in (3, b"file", True, ["file"]):
        with pytest.raises(TypeError, match="checkpoint must be None or the name of a file"):
            BASE.run(wrong)
    with pytest.raises(ValueError, match="is a folder; name a file"):
        BASE.run(tmp_path)
    with pytest.raises(ValueError, match="is a folder; name a file"):
        greedy_path(BASE.X, BASE.y, 3, checkpoint="")
    with pytest.raises(FileNotFoundError, match="does not exist; create it"):
        BASE.run(tmp_path / "missing" / "file")
    if os.path.exists(os.devnull) and sys.platform != "win32":
        with pytest.raises(ValueError, match="no plain file"):
            BASE.run(Path(os.devnull))


def test_a_folder_that_cannot_be_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Any] = []
    with monkeypatch.context() as patched:
        patched.setattr("os.access", lambda *args: False)  # whoever runs the tests
        with pytest.raises(PermissionError, match="cannot be written to"):
            BASE.run(tmp_path / "file", callback=told.append)

    def full(*args: Any, **options: Any) -> Any:
        raise OSError(28, "No space left on device", "/some/other/name")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(OSError, match="the checkpoint cannot be written") as caught:
        BASE.run(tmp_path / "file", callback=told.append)
    assert caught.value.filename == str(tmp_path / "file")
    assert not told


def test_a_link_is_followed(tmp_path: Path) -> None:
    link, file = tmp_path / "link", tmp_path / "file"
    link.symlink_to(file)
    BASE.run(link)
    assert link.is_symlink()
    assert_same(BASE.run(file), BASE.run())


def test_the_file_holds_no_code_and_no_data(file: Path) -> None:
    BASE.run(file)
    text = file.read_text(encoding="utf-8")
    assert str(BASE.y[0]) not in text
    assert json.loads(text)["parameters"]["alpha"] == 1.0


@pytest.mark.parametrize("kind", [GreedyRLSRegressor, GreedyRLSClassifier])
def test_estimators_pass_it_on(kind: Any, file: Path) -> None:
    y = BASE.y > 0 if kind is GreedyRLSClassifier else BASE.y
    model = kind(3, alpha=1.0, checkpoint=file)
    assert clone(model).get_params()["checkpoint"] == file
    assert not file.exists()
    first = model.fit(BASE.X, y)
    again = clone(model).fit(BASE.X, y)
    assert again.path_ == first.path_
    with pytest.raises(ValueError, match="other data"):
        model.fit(BASE.X[::-1], y)
    with pytest.raises(TypeError, match="checkpoint must be"):
        kind(3, checkpoint=7).fit(BASE.X, y)
