"""Measures of the ranker where scores are tied or nearly so, against one model for each query."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import ndcg_score

from greedyrls import GreedyRLSRanker
from greedyrls.metrics import mean_ndcg, pairwise_error
from tuning import tuned


def left_out(X: np.ndarray, y: np.ndarray, groups: np.ndarray, columns: list[int]) -> np.ndarray:
    """Scores of each query by the pairs of all others, alpha 1; rounded, to have ties as ties."""
    scores = np.zeros(len(y))
    for query in np.unique(groups):
        A, right = np.eye(len(columns)), np.zeros(len(columns))
        for other in np.unique(groups[groups != query]):
            (own,) = (groups == other).nonzero()
            for i in own:
                for j in own[own > i]:
                    d = X[i, columns] - X[j, columns]
                    A, right = A + np.outer(d, d), right + d * (y[i] - y[j])
        scores[groups == query] = X[groups == query][:, columns] @ np.linalg.solve(A, right)
    rounded: np.ndarray = scores.round(9)
    return rounded


def misordered(y: np.ndarray, scores: np.ndarray, groups: np.ndarray) -> float:
    """Pair by pair."""
    found = [
        0.5 * (1.0 - np.sign((y[i] - y[j]) * (scores[i] - scores[j])))
        for i in range(len(y))
        for j in range(i)
        if groups[i] == groups[j] and y[i] != y[j]
    ]
    return float(np.mean(found))


@pytest.mark.slow
@pytest.mark.parametrize("size", [5, 70])
def test_tied_scores_count_half(size: int) -> None:
    """Features of few values: no order by rounding of samples that no model tells apart."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(6), size)
    X = (rng.random((len(groups), 4)) < 0.3).astype(float)
    y = rng.integers(0, 4, len(groups)) + X[:, 1]
    model = GreedyRLSRanker(3, alpha=1.0).fit(X, y, groups=groups)
    for k in (1, 2, 3):
        scores = left_out(X, y, groups, model.path_.features(k).tolist())
        ndcg = [ndcg_score(y[None, groups == q], scores[None, groups == q]) for q in range(6)]
        assert model.ndcg_path_[k - 1] == pytest.approx(np.mean(ndcg), abs=1e-9)
        error = misordered(y, scores, groups)
        assert model.pairwise_error_path_[k - 1] == pytest.approx(error, abs=1e-12)


@pytest.mark.parametrize("is_weighted", [False, True])
def test_a_model_that_knows_nothing(is_weighted: bool) -> None:
    """A feature that is constant within queries orders nothing."""
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(6), 5)
    y = rng.integers(0, 4, 30)
    weights = rng.uniform(0.2, 2.0, 30) if is_weighted else None
    X = np.stack([groups, np.where(groups == 0, rng.random(30), 0.0)], axis=1)
    for feature in (0, 1):  # the other one varies only where there is nothing to learn it from
        model = GreedyRLSRanker(1, alpha=1.0, forced_features=[feature])
        model.fit(X, y, groups=groups, sample_weight=weights)
        assert model.pairwise_error_ == 0.5
        assert model.ndcg_ == pytest.approx(mean_ndcg(y, np.zeros(30), groups), abs=1e-12)


def test_small_differences_are_no_ties() -> None:
    """A large penalty makes scores small, not equal."""
    rng = np.random.default_rng(2)
    groups = np.repeat(np.arange(8), 6)
    X = rng.standard_normal((48, 3))
    y = X[:, 0] + rng.standard_normal(48)
    large = GreedyRLSRanker(1, alpha=1e8, forced_features=[0]).fit(X, y, groups=groups)
    scores = X[:, 0]  # its coefficient is above 0 without any query
    assert large.pairwise_error_ == pytest.approx(pairwise_error(y, scores, groups), abs=1e-12)


def test_a_query_that_has_all_of_the_features() -> None:
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(10), 5)
    X = rng.standard_normal((50, 4))
    y = X[:, 0] - X[:, 1] + rng.standard_normal(50)
    X[:5] *= 1e4
    with tuned(fold_engine="many"):
        model = GreedyRLSRanker(3, alpha=1.0).fit(X, y, groups=groups)
    for k in (1, 2, 3):
        scores = left_out(X, y, groups, model.path_.features(k).tolist())
        error = misordered(y, scores, groups)
        assert model.pairwise_error_path_[k - 1] == pytest.approx(error, abs=1e-12)
