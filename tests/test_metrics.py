"""NDCG and misordered pairs against scikit-learn and counting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score, roc_auc_score

from greedyrls import metrics
from greedyrls.metrics import mean_ndcg, pairwise_error


@st.composite
def rankings(draw: st.DrawFn) -> tuple[Any, Any, Any, int | None]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m = draw(st.integers(2, 50))
    y = rng.integers(0, draw(st.integers(2, 6)), m) - draw(st.sampled_from([0, 0, 2]))
    y[:2] = 0, 1
    scores = rng.standard_normal(m) if draw(st.booleans()) else rng.integers(-3, 3, m)
    queries = rng.integers(0, draw(st.integers(1, 8)), m)
    queries[1] = queries[0]
    names = queries if draw(st.booleans()) else np.array([f"q{one}" for one in queries])
    return y, scores, names, draw(st.sampled_from([None, None, 1, 3]))


@given(rankings())
def test_ndcg_is_that_of_scikit_learn_for_each_query(
    given: tuple[Any, Any, Any, int | None],
) -> None:
    y, scores, queries, k = given
    gains = y - min(0, y.min())
    expected = [
        ndcg_score(gains[None, queries == q], scores[None, queries == q], k=k)
        for q in np.unique(queries)
        if len(set(y[queries == q].tolist())) > 1
    ]
    assert mean_ndcg(y, scores, queries, k) == pytest.approx(np.mean(expected), rel=1e-12)


@given(rankings())
def test_pairwise_error_is_the_share_of_pairs_counted(given: tuple[Any, Any, Any, Any]) -> None:
    y, scores, queries, _ = given
    wrong = pairs = 0.0
    for i in range(len(y)):
        for j in range(len(y)):
            if queries[i] == queries[j] and y[i] > y[j]:
                pairs += 1
                wrong += 1.0 if scores[i] < scores[j] else 0.5 * (scores[i] == scores[j])
    assert pairwise_error(y, scores, queries) == pytest.approx(wrong / pairs, rel=1e-12, abs=1e-15)


def test_two_relevances_of_one_query_are_the_area_under_the_curve() -> None:
    rng = np.random.default_rng(0)
    y, scores = rng.integers(0, 2, 500), rng.integers(0, 40, 500) / 7
    assert pairwise_error(y, scores) == pytest.approx(1.0 - roc_auc_score(y, scores), rel=1e-12)


def test_queries_of_equal_relevances_are_left_out() -> None:
    y, scores = [2, 1, 5, 5, 7], [2.0, 1.0, 1.0, 2.0, 3.0]
    queries = ["a", "a", "b", "b", "c"]
    assert mean_ndcg(y, scores, queries) == 1.0
    assert pairwise_error(y, scores, queries) == 0.0


@pytest.mark.parametrize("metric", [mean_ndcg, pairwise_error])
@pytest.mark.parametrize(
    ("given", "match"),
    [
        (([1, 1, 2], [1.0, 2.0, 3.0], [0, 0, 1]), "No query has two samples of different relev"),
        (([], []), "No query has two samples"),
        (([1, 2], [1.0, 2.0, 3.0]), "y has 2 values and scores 3; give one of each"),
        (([1, 2], [1.0, np.nan]), "scores must be finite; row 1 is nan"),
        (([1, np.inf], [1.0, 2.0]), "y must be finite; row 1 is inf"),
        (([[1, 2], [2, 3]], [1.0, 2.0]), r"y must have a value for each sample, got shape \(2, 2"),
        (([1, 2], [1.0, 2.0], [0]), "groups has 1 values, but there are 2 rows"),
        (([1, 2], [1.0, 2.0], [0, None]), "groups has a missing value: row 1 is None"),
    ],
)
def test_bad_input(metric: Any, given: tuple[Any, ...], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        metric(*given)


@pytest.mark.parametrize("k", [0, -1, 1.5, True, "1"])
def test_bad_number_of_places(k: Any) -> None:
    with pytest.raises(ValueError, match="k must be None or a whole number, 1 or more; got"):
        mean_ndcg([1, 2], [1.0, 2.0], k=k)


def test_public_names() -> None:
    assert metrics.__all__ == sorted(metrics.__all__)


def test_metrics_name_what_is_no_number() -> None:
    with pytest.raises(ValueError, match=r"y must be a number for each sample.*'good'"):
        mean_ndcg(["good", "bad"], [1.0, 2.0])
    with pytest.raises(ValueError, match=r"scores must be a number for each sample.*'high'"):
        pairwise_error([1, 2], ["high", "low"])
