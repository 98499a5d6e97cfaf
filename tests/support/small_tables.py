"""Small tables in memory, and results of selections from them, for tests of the command line."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from greedyrls import SelectionPath, SelectionResult
from internals import (
    Column,
    DataSummary,
    Float,
    InputError,
    Numbers,
    Origin,
    Prepared,
    Question,
    Roles,
    Table,
    Texts,
    Unusable,
    choose,
    make_texts,
    order_of,
    prepare,
)


def numbers(values: Iterable[Any]) -> Numbers:
    """A column of numbers; None is missing."""
    found = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    known = found[np.isfinite(found)]
    return Numbers(found, is_whole=bool((known == np.floor(known)).all()))


def flags(values: Iterable[Any]) -> Numbers:
    """A column of true and false; None is missing."""
    return replace(numbers(values), is_whole=False, is_flag=True)


def texts(values: Iterable[str | None]) -> Texts:
    """A column of text; None is missing."""
    return make_texts(list(values))


def table_of(columns: Mapping[str, Column], source: str = "data.csv") -> Table:
    """A table of columns of the same length."""
    rows = {len(one.is_missing) for one in columns.values() if not isinstance(one, Unusable)}
    (count,) = rows
    return Table(source, dict(columns), count)


def signal(m: int = 60, n: int = 5, seed: int = 0) -> tuple[Float, Float]:
    """Independent features (m × n), and a target (m) that depends on them, less and less."""
    generator = np.random.default_rng(seed)
    X = generator.standard_normal((m, n))
    return X, X @ (3.0 / np.arange(1, n + 1)) + generator.standard_normal(m)


def plain_table(m: int = 60, n: int = 5, seed: int = 0) -> dict[str, Column]:
    """Columns x0, x1, … and y."""
    X, y = signal(m, n, seed)
    columns: dict[str, Column] = {f"x{place}": numbers(X[:, place]) for place in range(n)}
    return {**columns, "y": numbers(y)}


def prepared_of(columns: Mapping[str, Column], target: str = "y", **roles: Any) -> Prepared:
    """What a search takes."""
    return prepare(table_of(columns), Roles(target=target, **roles))


def result_of(
    prepared: Prepared, path: SelectionPath | None = None, target: str = "y", **parts: Any
) -> SelectionResult:
    """A result as the command line makes it, of a path or of the shortest selection there is."""
    if path is None:
        path = choose(prepared, Question(min(3, len(prepared.features)), 0.7))
    features = tuple(prepared.features[index] for index in order_of(path))
    columns = dict.fromkeys(feature.column for feature in features)
    return SelectionResult(
        task=prepared.task,
        target=target,
        path=path,
        features=features,
        inputs=tuple(prepared.inputs[name] for name in columns),
        data=DataSummary(
            file="data.csv",
            n_bytes=123,
            sha256="0" * 64,
            n_rows=len(prepared.y),
            n_columns=prepared.n_columns,
            n_features=len(prepared.features),
            target=prepared.summaries[target],
            columns=tuple(prepared.summaries[name] for name in columns),
            notes=prepared.notes,
        ),
        origin=Origin(
            command="greedyrls select data.csv --target y",
            parameters={"target": target, "alpha": 0.7, "n_features": 3, "impute": None},
            versions={"greedyrls": "0", "numpy": "2"},
            date="2025-01-01T00:00:00+00:00",
            seconds=0.25,
        ),
        classes=prepared.classes,
        **parts,
    )


def refusal(columns: dict[str, Column], **roles: Any) -> str:
    """The one line that says what is wrong."""
    with pytest.raises(InputError) as caught:
        prepared_of(columns, **roles)
    message = str(caught.value)
    assert "\n" not in message
    assert message.isprintable()
    return message


def names_of(prepared: Prepared) -> list[str]:
    return [feature.name for feature in prepared.features]


def mixed(m: int = 90, seed: int = 3) -> dict[str, Column]:
    """Numbers of many scales, flags, text, gaps; y depends on most of them."""
    generator = np.random.default_rng(seed)
    X, y = signal(m, 5, seed)
    colours = [("red", "green", "blue")[place] for place in generator.integers(0, 3, m)]
    sexes = [("f", "m")[place] for place in generator.integers(0, 2, m)]
    is_gap = generator.random((4, m)) < 0.15
    y = y + [2.0 * (colour == "red") for colour in colours] + [1.5 * (sex == "m") for sex in sexes]
    return {
        "small": numbers(1e-5 * X[:, 0]),
        "far": numbers(1000.0 + X[:, 1]),
        "count": numbers(np.round(10 * X[:, 2])),
        "gaps": numbers(np.where(is_gap[0], np.nan, X[:, 3])),
        "flag": flags(X[:, 4] > 0),
        "flag gaps": flags(np.where(is_gap[1], np.nan, X[:, 0] > 1)),
        "colour": texts(colours),
        "colour gaps": texts(
            [None if gap else one for gap, one in zip(is_gap[2], colours, strict=True)]
        ),
        "sex": texts(sexes),
        "y": numbers(y),
        "sign": texts(["plus" if one > 0 else "minus" for one in y]),
        "third": numbers(np.digitize(y, [-2.0, 2.0])),
    }


def attempt(call: Callable[[], Any]) -> tuple[Any, str | None]:
    """What a call returns; or nothing, and what the ValueError says that it raises."""
    try:
        return call(), None
    except ValueError as error:
        message = str(error)
    assert "\n" not in message
    return None, message


def write_csv(path: Path, columns: Mapping[str, Sequence[Any]], delimiter: str = ",") -> Path:
    """A CSV file; None is an empty cell."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


def measured(m: int = 60, seed: int = 0) -> dict[str, list[Any]]:
    """Columns for a file: numbers, text, flags, an id, groups, weights, and three targets."""
    X, y = signal(m, 5, seed)
    generator = np.random.default_rng(seed + 1)
    colours = [("red", "green", "blue")[place] for place in generator.integers(0, 3, m)]
    effect = {"red": 2.0, "green": 0.0, "blue": -2.0}
    value = y + [effect[colour] for colour in colours]
    columns: dict[str, list[Any]] = {"id": [f"r{row:03}" for row in range(m)]}
    columns |= {f"x{place}": X[:, place].round(6).tolist() for place in range(5)}
    return {
        **columns,
        "colour": colours,
        "used": ["true" if one else "false" for one in (X[:, 0] + X[:, 4] > 0)],
        "site": [f"s{place}" for place in generator.integers(0, 8, m)],
        "weight": generator.integers(1, 4, m).tolist(),
        "y": value.round(6).tolist(),
        "outcome": ["yes" if one else "no" for one in value > 0.0],
        "grade": [("low", "mid", "top")[place] for place in np.digitize(value, [-1.5, 1.5])],
    }


def regression(m: int = 48, **more: Column) -> dict[str, Column]:
    """A table of numbers, and further columns."""
    return {**plain_table(m), **more}
