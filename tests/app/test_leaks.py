"""Columns that predict the target almost exactly alone: told of, and honest ones are not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import LeaveOneOut, cross_val_predict

from command_line import CommandLine
from greedyrls import SelectionResult, greedy_path
from greedyrls.assess import cross_validate_path, path_warnings
from internals import Column, Question, assess, choose, find_leaks
from small_tables import numbers, plain_table, prepared_of, result_of, signal, texts, write_csv

M = 60


def with_column(values: Column, m: int = M, y: Column | None = None, **roles: Any) -> Any:
    """A table with another column, prepared."""
    columns = plain_table(m)
    if y is not None:
        columns["y"] = y
    return prepared_of({**columns, "z": values}, **roles)


def labels(m: int = M, classes: int = 2) -> list[str]:
    edges = [0.0] if classes == 2 else [-2.0, 2.0]
    return [f"c{place}" for place in np.digitize(signal(m)[1], edges)]


# From the data.


@pytest.mark.parametrize("is_weighted", [False, True])
def test_copies_of_numbers(is_weighted: bool) -> None:
    _, y = signal(M)
    for copy in (y, 0.088 * y, -3.0 * y + 1e6, np.round(y, 1), y + 0.01 * np.sin(np.arange(M))):
        columns = plain_table(M) | {"z": numbers(copy), "w": numbers(np.arange(M) % 3 + 1)}
        roles: dict[str, Any] = {"weights": "w"} if is_weighted else {"dropped": ("w",)}
        assert find_leaks(prepared_of(columns, **roles)) == ("z",)
        assert find_leaks(prepared_of(columns, is_standardised=False, **roles)) == ("z",)
        assert find_leaks(prepared_of(columns, is_centred=False, **roles)) == ("z",)


def test_all_copies_are_named() -> None:
    _, y = signal(M)
    columns = plain_table(M) | {"z": numbers(y), "price eur": numbers(2.0 * y)}
    assert find_leaks(prepared_of(columns)) == ("z", "price eur")


def test_strong_signals_are_no_leaks() -> None:
    """By the loss of literal refits with each row left out, on both sides of the bar."""
    _, y = signal(M)
    noise = np.random.default_rng(1).standard_normal(M)
    told = []
    for share in (0.1, 0.01, 2e-3, 1.3e-3, 1e-3, 0.7e-3, 0.3e-3):
        z = y + np.sqrt(share * y.var()) * noise
        refitted = cross_val_predict(LinearRegression(), z[:, None], y, cv=LeaveOneOut())
        without = (y - y.mean()) * M / (M - 1)
        is_due = np.square(y - refitted).sum() <= 1e-3 * np.square(without).sum()
        found = find_leaks(with_column(numbers(z)))
        assert found == (("z",) if is_due else ())
        told.append(bool(found))
    assert told[:2] == [False, False]  # R² 0.9 and 0.99
    assert told[-1]
    assert told == sorted(told)


@pytest.mark.parametrize("m", [3, 4, 5, 6, 8, 12, 20])
def test_few_rows_and_many_columns_of_noise(m: int) -> None:
    rng = np.random.default_rng(m)
    for _ in range(5):
        columns: dict[str, Column] = {
            f"x{place}": numbers(rng.standard_normal(m)) for place in range(200)
        }
        prepared = prepared_of(columns | {"y": numbers(rng.standard_normal(m))})
        assert find_leaks(prepared) == ()
        sides = rng.permutation(np.arange(m) % 2)
        prepared = prepared_of(columns | {"y": texts(f"c{side}" for side in sides)})
        assert find_leaks(prepared) == ()


def test_outliers_are_few_rows() -> None:
    """Two rows that stand out in both columns say little of the others."""
    rng = np.random.default_rng(0)
    y, z = rng.standard_normal(M), rng.standard_normal(M)
    y[:2] = z[:2] = [1e4, 2e4]
    assert find_leaks(with_column(numbers(z), y=numbers(y))) == ()


@pytest.mark.parametrize("classes", [2, 3])
def test_copies_of_classes(classes: int) -> None:
    own = labels(classes=classes)
    y = texts(own)
    assert find_leaks(with_column(texts(f"copy of {label}" for label in own), y=y)) == ("z",)
    assert find_leaks(with_column(numbers([int(label[1]) for label in own]), y=y)) == ("z",)
    # Several texts for a class.
    finer = texts(f"{label}{row % 2}" for row, label in enumerate(own))
    assert find_leaks(with_column(finer, y=y)) == ("z",)
    wrong = own[:-5] + [own[0]] * 5
    assert find_leaks(with_column(texts(wrong), y=y)) == ()


def test_a_single_text_that_is_the_target() -> None:
    own = labels()
    rng = np.random.default_rng(0)
    status = ["fraud" if label == "c1" else f"s{rng.integers(3)}" for label in own]
    found = find_leaks(with_column(texts(status), y=texts(own)))
    assert found == ("z=fraud",)
    # And of numbers: what costs the same each time is known by its name.
    prices = {"a": 1.0, "b": 20.0, "c": 3.0}
    kinds = [("a", "b", "c")[row % 3] for row in range(M)]
    y = numbers([prices[kind] for kind in kinds])
    assert find_leaks(with_column(texts(kinds), y=y, task="regression")) == ("z",)


def test_rare_classes() -> None:
    rng = np.random.default_rng(0)
    rare = np.arange(M) < 4
    y = texts(np.where(rare, "yes", "no").tolist())
    assert find_leaks(with_column(numbers(rng.standard_normal(M)), y=y)) == ()
    assert find_leaks(with_column(numbers(rare.astype(float)), y=y)) == ("z",)
    one = texts(np.where(np.arange(M) < 1, "yes", "no").tolist())
    assert find_leaks(with_column(numbers(np.arange(M) < 1), y=one)) == ()


def test_names_of_rows_are_no_leak() -> None:
    """A text for every row or two has the target by itself, but says nothing of others."""
    names = texts(f"n{row // 2}" for row in range(24))
    assert find_leaks(with_column(names, m=24)) == ()
    own = texts(labels(24))
    assert find_leaks(with_column(texts(f"n{row}" for row in range(24)), m=24, y=own)) == ()


# From a path and an assessment.


def copied(m: int = M, scale: float = 1.0) -> tuple[Any, Any]:
    X, y = signal(m)
    return np.column_stack([X, scale * (y + 0.01 * np.sin(np.arange(m)))]), y


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 10.0, "auto"])
@pytest.mark.parametrize("cv", ["loo", 5])
def test_a_path_tells_of_leaks(alpha: Any, cv: Any) -> None:
    X, y = copied()
    path = greedy_path(X, y, 2, alpha=alpha, cv=cv)
    assert path_warnings(path)[0] == (
        "x5 alone predicts the target almost exactly: is it known before the target is? If not, "
        "leave it out."
    )


def test_a_path_tells_of_runners_up() -> None:
    X, y = copied()
    path = greedy_path(np.column_stack([X, -X[:, 5]]), y, 3, alpha=1e-3, n_runners_up=3)
    assert path_warnings(path)[0].startswith(
        "x5 and x6 each predict the target almost exactly alone: are they known before"
    )


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 10.0, "auto"])
def test_a_path_with_a_strong_signal_is_not_told_of(alpha: Any) -> None:
    X, y = signal(M)
    for seed in range(5):
        noise = np.random.default_rng(seed).standard_normal(M)
        Z = np.column_stack([X, y + 0.1 * y.std() * noise])
        found = path_warnings(greedy_path(Z, y, 3, alpha=alpha, n_runners_up=2))
        assert not any("almost exactly" in words for words in found)


@pytest.mark.parametrize("m", [4, 5, 6, 8])
def test_paths_of_few_rows(m: int) -> None:
    rng = np.random.default_rng(m)
    for _ in range(20):
        X, y = rng.standard_normal((m, 300)), rng.standard_normal(m)
        found = path_warnings(greedy_path(X, y, 1, alpha=1e-6, n_runners_up=3))
        assert not any("almost exactly" in words for words in found)


@pytest.mark.parametrize("is_classification", [False, True])
def test_an_assessment_tells_of_leaks(is_classification: bool) -> None:
    X, y = copied()
    target = np.where(y > 0.0, "yes", "no") if is_classification else y
    X[:, 5] = np.sign(y) if is_classification else X[:, 5]
    found = cross_validate_path(X, target, 2, cv=3, alpha=1e-3, n_random=0)
    assert found.leaks == ("x5",)
    assert found.warnings[0].startswith("x5 alone predicts the target almost exactly")
    assert "Report" not in found.sentence
    path = greedy_path(X, y, 2, alpha=1e-3)
    together = path_warnings(path, found)
    assert sum("almost exactly" in words for words in together) == 1
    honest = cross_validate_path(X[:, :5], target, 2, cv=3, alpha=1e-3, n_random=0)
    assert honest.leaks == ()
    assert "Report the first." in honest.sentence


# Of a result.


def result(has_leaks: bool, is_assessed: bool) -> SelectionResult:
    _, y = signal(M)
    prepared = with_column(numbers(2.0 * y + 0.02 * np.sin(np.arange(M))))
    question = Question(2, [0.01, 1.0])
    parts: dict[str, Any] = {"leaks": find_leaks(prepared)} if has_leaks else {}
    if is_assessed:
        parts["assessment"] = assess(prepared, question, 3)
    return result_of(prepared, choose(prepared, question), **parts)


@pytest.mark.parametrize("has_leaks", [False, True])
@pytest.mark.parametrize("is_assessed", [False, True])
def test_a_result_tells_of_leaks(has_leaks: bool, is_assessed: bool) -> None:
    """Also one that was written before the data were looked at for leaks."""
    found = result(has_leaks, is_assessed)
    words = "z alone predicts y almost exactly: is it known before y is? If not, leave it out"
    assert found.warnings[0] == f"{words} (--drop)."
    assert sum("almost exactly" in warning for warning in found.warnings) == 1
    assert f"{words} (--drop)." in found.sentence
    assert "Report the first" not in found.sentence
    assert "R² is" not in found.sentence
    again = SelectionResult.from_json(found.to_json())
    assert again.leaks == found.leaks
    assert again.sentence == found.sentence


def test_a_result_without_leaks_says_what_to_report() -> None:
    found = replace(result(has_leaks=False, is_assessed=True), leaks=())
    assert "almost exactly" not in found.sentence + "".join(found.warnings)
    assert " and R² is " in found.sentence


@pytest.fixture
def houses(tmp_path: Path) -> Path:
    rng = np.random.default_rng(2)
    area, rooms = rng.normal(120, 30, M), rng.integers(1, 8, M)
    price = (2000 * area + 9000 * rooms + rng.normal(0, 30000, M)).round()
    columns = {
        "area": area.round(1).tolist(),
        "rooms": rooms.tolist(),
        "price_eur": (0.088 * price).round().tolist(),
        "price": price.tolist(),
    }
    return write_csv(tmp_path / "houses.csv", columns)


@pytest.mark.parametrize("options", [(), ("--assess", "--folds", "3"), ("--cv", "3")])
def test_leaks_on_the_command_line(
    options: tuple[str, ...], houses: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cli, out = CommandLine(capsys), tmp_path / "out"
    shown = cli.fine("select", houses, "-t", "price", *options, "--out", out)
    words = "price_eur alone predicts price almost exactly: is it known before price is?"
    assert words in " ".join(shown.split())
    assert "Report the first" not in " ".join(shown.split())
    document = json.loads((out / "result.json").read_text())
    assert document["leaks"] == ["price_eur"]
    assert document["warnings"][0].startswith(words)
    assert words in (out / "report.html").read_text(encoding="utf-8")
    honest = cli.fine("select", houses, "-t", "price", "--drop", "price_eur", *options)
    assert "almost exactly" not in " ".join(honest.split())


def test_assess_tells_of_leaks(houses: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cli = CommandLine(capsys)
    options = ("-t", "price", "--alpha", "0.1", "--folds", "3")
    shown = " ".join(cli.fine("assess", houses, *options).split())
    assert "Warning: price_eur alone predicts price almost exactly" in shown
    assert "Report the first" not in shown
    document = json.loads(cli.fine("assess", houses, *options, "--json"))
    assert document["warnings"][0].startswith("price_eur alone predicts price almost exactly")
    assert "Report the first" not in document["sentence"]
    honest = cli.fine("assess", houses, *options, "--drop", "price_eur")
    assert "Report the first" in " ".join(honest.split())
