"""Groups and costs with rows on a Dask cluster: the answer is that of the same rows in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clusters import assert_same_path, cut, problem
from greedyrls import greedy_path

pytest_plugins = ["cluster_fixture"]
pytestmark = [pytest.mark.usefixtures("client"), pytest.mark.xdist_group("dask"), pytest.mark.slow]

WAYS: list[dict[str, Any]] = [
    {"feature_groups": [[0, 3], [5, 6, 7]]},
    {"feature_groups": {"one": [1, 2, 4]}, "feature_costs": np.arange(1.0, 9.0), "budget": 20.0},
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("loss", "cv", "is_weighted"),
    [
        ("squared", "loo", True),
        ("squared", 3, False),
        ("absolute", "loo", False),
        ("absolute", 3, True),
    ],
)
def test_the_same_answer(way: Any, loss: str, cv: Any, is_weighted: bool) -> None:
    X, y, weights = problem()
    folds = cv if cv == "loo" else np.arange(len(y)) % cv
    options = {"sample_weight": weights} if is_weighted else {}
    there = {name: cut(values) for name, values in options.items()}
    own = folds if cv == "loo" else cut(folds)
    found = greedy_path(cut(X), cut(y), 3, cv=own, loss=loss, **there, **way)
    expected = greedy_path(X, y, 3, cv=folds, loss=loss, **options, **way)
    assert_same_path(found, expected)
    assert [step.features for step in found.steps] == [step.features for step in expected.steps]
