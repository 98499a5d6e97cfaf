"""y of dates is refused with a sentence, not taken as nanoseconds."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pytest

from greedyrls import (
    GreedyKernelRLS,
    GreedyKernelRLSClassifier,
    GreedyRLSClassifier,
    GreedyRLSRanker,
    GreedyRLSRegressor,
    greedy_path,
)
from greedyrls.assess import cross_validate_path

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

X = np.random.default_rng(0).standard_normal((12, 3))
DAYS = pd.date_range("2024-01-01", periods=12)
TARGETS: dict[str, Any] = {
    "datetime64": DAYS.to_numpy(),
    "timedelta64": (DAYS - DAYS[0]).to_numpy(),
    "column": DAYS.to_numpy()[:, None],
    "series": pd.Series(DAYS),
    "with a time zone": pd.Series(DAYS.tz_localize("Europe/Berlin")),
    "periods": pd.Series([day.date() for day in DAYS]),
    "frame": pd.DataFrame({"a": DAYS}),
    "frame with a time zone": pd.DataFrame({"a": DAYS.tz_localize("UTC")}),
    "polars": pl.Series(DAYS.to_list()),
    "polars dates": pl.Series([day.date() for day in DAYS]),
    "list": [day.to_pydatetime() for day in DAYS],
    "dates": [day.date() for day in DAYS],
    "times": [datetime.time(hour) for hour in range(12)],
    "objects": np.array([None, *DAYS[1:].to_list()], dtype=object),
}
TAKERS: dict[str, Any] = {
    "path": lambda y: greedy_path(X, y, 1),
    "assess": lambda y: cross_validate_path(X, y, 1, alpha=1.0, cv=3),
    "regressor": lambda y: GreedyRLSRegressor(1, alpha=1.0).fit(X, y),
    "classifier": lambda y: GreedyRLSClassifier(1, alpha=1.0).fit(X, y),
    "ranker": lambda y: GreedyRLSRanker(1, alpha=1.0).fit(X, y),
    "kernel": lambda y: GreedyKernelRLS(1, alpha=1.0).fit(X, y),
    "kernel classifier": lambda y: GreedyKernelRLSClassifier(1, alpha=1.0).fit(X, y),
}


@pytest.mark.parametrize("taker", TAKERS)
@pytest.mark.parametrize("kind", TARGETS)
def test_dates_are_refused(kind: str, taker: str) -> None:
    with pytest.raises(ValueError, match=r"y has dates or times \(.*\); convert them to numbers"):
        TAKERS[taker](TARGETS[kind])


@pytest.mark.parametrize("kind", ["objects", "strings"])
def test_others_are_taken(kind: str) -> None:
    y = np.arange(12.0)
    given: Any = y.astype(object) if kind == "objects" else pd.Series(y)
    path = greedy_path(X, given, 1)
    assert path.indices.tolist() == greedy_path(X, y, 1).indices.tolist()
    labels = pd.Series(["a", "b"] * 6)
    assert set(GreedyRLSClassifier(1, alpha=1.0).fit(X, labels).predict(X)) <= {"a", "b"}
