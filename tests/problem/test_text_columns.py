"""X with text or dates: every door names the column and the value, and says what to do."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from greedyrls import (
    GreedyKernelRLS,
    GreedyKernelRLSClassifier,
    GreedyRLSClassifier,
    GreedyRLSRanker,
    GreedyRLSRegressor,
    greedy_path,
)
from greedyrls.assess import cross_validate_path, permutation_null, resample_path

Y = np.arange(12.0) + 0.25
CLASSES = np.array(["no", "yes"] * 6)
COLUMNS: dict[str, Any] = {"size": [float(row % 5) for row in range(12)]}
CITIES = [*[7.0] * 2, "Oslo", *["Turku"] * 9]
DAYS = [datetime(2024, 1, day) for day in range(1, 13)]

DOORS: dict[str, Callable[[Any], object]] = {
    "greedy_path": lambda X: greedy_path(X, Y, 1),
    "regressor": lambda X: GreedyRLSRegressor(1, alpha=1.0).fit(X, Y),
    "classifier": lambda X: GreedyRLSClassifier(1, alpha=1.0).fit(X, CLASSES),
    "ranker": lambda X: GreedyRLSRanker(1, alpha=1.0).fit(X, Y),
    "kernel": lambda X: GreedyKernelRLS(1, alpha=1.0).fit(X, Y),
    "kernel classifier": lambda X: GreedyKernelRLSClassifier(1, alpha=1.0).fit(X, CLASSES),
    "cross_validate_path": lambda X: cross_validate_path(X, Y, 1, alpha=1.0, cv=3),
    "resample_path": lambda X: resample_path(X, Y, 1, alpha=1.0),
    "permutation_null": lambda X: permutation_null(X, Y, 1, alpha=1.0),
    "predict": lambda X: fitted().predict(X),
}


def fitted() -> GreedyRLSRegressor:
    X = np.column_stack([COLUMNS["size"], Y % 3])
    return GreedyRLSRegressor(1, alpha=1.0).fit(X, Y)


def rows_of(second: Any) -> list[list[Any]]:
    return [list(row) for row in zip(COLUMNS["size"], second, strict=True)]


DATA: dict[str, tuple[Any, str]] = {
    "pandas": (
        pd.DataFrame({**COLUMNS, "city": pd.Series(CITIES, dtype=object)}),
        r"column 'city' has text \('Oslo' in row 2\)\. Encode it first.*OneHotEncoder",
    ),
    "pandas categories": (
        pd.DataFrame({**COLUMNS, "city": pd.Categorical(["a", "b"] * 6)}),
        r"column 'city' has text \('a' in row 0\)",
    ),
    "polars": (
        pl.DataFrame({**COLUMNS, "city": ["Oslo", "Turku"] * 6}),
        r"column 'city' has text \('Oslo' in row 0\)",
    ),
    "a list": (rows_of(CITIES), r"column 1 has text \('Oslo' in row 2\)"),
    "objects": (np.array(rows_of(CITIES), dtype=object), r"column 1 has text \('Oslo' in row 2\)"),
    "text": (
        np.array(rows_of(Y)).astype(str),
        r"column 0 has numbers written as text \('0\.0' in row 0\)\. Convert your data",
    ),
    "pandas dates": (
        pd.DataFrame({**COLUMNS, "when": DAYS}),
        r"column 'when' has dates \(2024-01-01.* in row 0\)\. Convert them to numbers.*the year",
    ),
    "dates only": (pd.DataFrame({"when": DAYS, "then": DAYS}), r"column 'when' has dates"),
    "durations": (
        pd.DataFrame({**COLUMNS, "took": pd.to_timedelta(range(12), unit="D")}),
        r"column 'took' has dates \(0 ",
    ),
    "polars dates": (
        pl.DataFrame({**COLUMNS, "when": DAYS}),
        r"column 'when' has dates \(2024-01-01",
    ),
    "dates among objects": (
        np.array(rows_of([date(2024, 1, 1)] * 12), dtype=object),
        r"column 1 has dates \(2024-01-01 in row 0\)",
    ),
    "an array of dates": (
        np.array([["2024-01-01", "2024-01-02"]] * 12, dtype="datetime64[D]"),
        r"column 0 has dates \(2024-01-01 in row 0\)",
    ),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("kind", DATA)
def test_the_column_and_the_value_are_named(kind: str, door: str) -> None:
    X, message = DATA[kind]
    if door == "predict" and hasattr(X, "columns"):
        pytest.skip("names differ, which is another error")
    if kind == "text" and "kernel" in door:
        pytest.skip("numbers as text are made numbers there, as everywhere in scikit-learn")
    with pytest.raises(ValueError, match=message):
        DOORS[door](X)


def test_numbers_in_any_wrapping_are_taken() -> None:
    """Whole numbers, flags, decimals among objects: nothing of that is text."""
    X = pd.DataFrame({**COLUMNS, "flag": [True, False] * 6, "rank": pd.array(range(12))})
    mixed = np.array([[1, 2.5], [True, 3]] * 6, dtype=object)
    assert GreedyRLSRegressor(1, alpha=1.0).fit(X, Y).n_features_in_ == 3
    assert GreedyRLSRegressor(1, alpha=1.0).fit(mixed, Y).n_features_in_ == 2


def test_long_texts_are_cut() -> None:
    X = pd.DataFrame({**COLUMNS, "note": ["long " * 500] * 12})
    with pytest.raises(ValueError, match="…") as caught:
        greedy_path(X, Y, 1)
    assert len(str(caught.value)) < 300
