"""GreedyRLSRanker against pairs written out, and what goes with being an estimator."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold

from greedyrls import GreedyRLSRanker, GreedyRLSRegressor, SelectionPath
from greedyrls.metrics import mean_ndcg, pairwise_error
from literal_ranking import (
    all_pairs,
    criterion,
    fitted,
    left_out_scores,
    literal_ranking,
    query_losses,
    query_shares,
)
from ranking_cases import Ranking, assert_as_written_out, ranking, rankings
from sweeps import EXAMPLES
from tuning import tuned


@pytest.mark.heavy
@settings(max_examples=max(40, min(200, EXAMPLES // 10)))
@given(case=rankings(), name=st.sampled_from(["many", "large", "models", "compiled"]))
def test_selection_is_that_of_pairs_written_out(case: Ranking, name: str) -> None:
    with tuned(fold_engine=name):
        model = case.fit(n_runners_up=99)
    assert_as_written_out(model, case)


@settings(max_examples=max(30, min(100, EXAMPLES // 20)))
@given(case=rankings(), refit=st.sampled_from(["same", 0.5, "cv"]))
def test_measures_along_the_path_are_those_of_models_without_each_query(
    case: Ranking, refit: Any
) -> None:
    model = case.fit(refit_alpha=refit)
    path = model.path_
    penalties = path.refit_alphas or [case.alpha] * len(path)
    w = np.ones(len(case.y)) if case.weights is None else case.weights
    used = np.isin(case.groups, [q for q in range(99) if ((case.groups == q) & (w > 0)).sum() > 1])
    used &= w > 0
    for k in range(1, len(path) + 1):
        columns = path.indices[:k].tolist()
        scores = left_out_scores(
            case.X, case.y, case.groups, case.weights, columns, penalties[k - 1]
        )[used]
        if _has_near_ties(scores, case.groups[used]):
            continue  # which is first is a matter of rounding
        y, groups = case.y[used], case.groups[used]
        if all(len(set(y[groups == q].tolist())) == 1 for q in np.unique(groups)):
            assert np.isnan(model.ndcg_path_[k - 1])
            continue
        assert model.ndcg_path_[k - 1] == pytest.approx(mean_ndcg(y, scores, groups), rel=1e-9)
        expected = pairwise_error(y, scores, groups)
        assert model.pairwise_error_path_[k - 1] == pytest.approx(expected, abs=1e-12)
    assert model.ndcg_ == pytest.approx(model.ndcg_path_[-1], nan_ok=True)
    assert model.pairwise_error_ == pytest.approx(model.pairwise_error_path_[-1], nan_ok=True)


def _has_near_ties(scores: Any, groups: Any) -> bool:
    order = np.lexsort((scores, groups))
    gaps = np.diff(scores[order])[np.diff(groups[order]) == 0]
    return bool((gaps < 1e-9 * (1e-300 + np.abs(scores).max())).any())


def test_penalty_of_smallest_leave_query_out_loss() -> None:
    case = ranking(1)
    model = case.fit(refit_alpha="cv")
    pairs, path = case.pairs, model.path_
    assert path.refit_alphas is not None
    assert path.settings.refit_alpha == "cv"
    scale = np.median(pairs.weights @ pairs.D**2)
    grid = scale * 10.0 ** np.arange(-5.0, 1.25, 0.25)
    for k in range(1, len(path) + 1):
        columns = path.indices[:k].tolist()
        losses = [criterion(pairs, columns, penalty) for penalty in grid]
        assert path.refit_alphas[k - 1] == pytest.approx(grid[np.argmin(losses)], rel=1e-9)
    assert SelectionPath.from_json(path.to_json()) == path


@pytest.mark.parametrize("refit", ["same", "cv"])
def test_nested_penalties_keep_queries_together(refit: Any) -> None:
    case = ranking(2, queries=12)
    outer = np.arange(12) % 3
    alphas = [1.0, 100.0]
    model = GreedyRLSRanker(3, alpha=alphas, alpha_cv=outer[case.groups], refit_alpha=refit)
    model.fit(case.X, case.y, groups=case.groups)
    surface = model.path_.surface
    assert surface is not None
    for row, alpha in enumerate(alphas):
        for fold in range(3):
            held_out = outer[case.groups] == fold
            train = all_pairs(case.X[~held_out], case.y[~held_out], case.groups[~held_out], None)
            test = all_pairs(case.X[held_out], case.y[held_out], case.groups[held_out], None)
            chosen, _ = literal_ranking(train, 3, alpha)
            every = np.ones(len(train.d), dtype=bool)
            for k in range(1, 4):
                penalty = alpha
                if refit == "cv":
                    grid = np.median(train.weights @ train.D**2) * np.array([1e-3, 0.1, 1.0])
                    losses = [criterion(train, chosen[:k], one) for one in grid]
                    penalty = grid[np.argmin(losses)]
                errors = test.d - test.D[:, chosen[:k]] @ fitted(train, every, chosen[:k], penalty)
                assert surface.fold_losses is not None
                assert surface.fold_losses[fold, row, k - 1] == pytest.approx(
                    np.mean(errors**2), rel=1e-8
                )


def test_automatic_penalty_and_size() -> None:
    case = ranking(3)
    model = GreedyRLSRanker().fit(case.X, case.y, groups=case.groups)
    assert {1, 5} <= set(model.selected_.tolist())
    assert model.path_.surface is not None
    assert "merged of leave-query-out (20 queries)" in model.path_.sentence
    assert model.n_queries_ == 20
    again = clone(model).set_params(size_rule="1se").fit(case.X, case.y, groups=case.groups)
    assert again.n_features_ <= model.n_features_


def test_few_large_queries() -> None:
    """These have a model for each fold; the measures along the path do not care."""
    case = ranking(4, queries=4, size=150)
    model = case.fit()
    assert model.path_.losses[-1] == pytest.approx(
        criterion(case.pairs, model.selected_.tolist(), 1.0), rel=1e-9
    )
    scores = left_out_scores(case.X, case.y, case.groups, None, model.selected_.tolist(), 1.0)
    assert model.ndcg_ == pytest.approx(mean_ndcg(case.y, scores, case.groups), rel=1e-9)


def test_one_huge_query_and_many_small_ones() -> None:
    case = ranking(5, queries=80, size=5)
    case.groups[:200] = 0
    model = case.fit()
    columns = model.selected_.tolist()
    expected = criterion(case.pairs, columns, 1.0)
    assert model.path_.losses[-1] == pytest.approx(expected, rel=1e-9)
    assert_allclose(
        model.path_.standard_errors[-1],
        _standard_error(query_losses(case.pairs, columns, 1.0), query_shares(case.pairs)),
        rtol=1e-7,
    )


def _standard_error(losses: Any, shares: Any) -> float:
    spread = shares * (losses - shares @ losses)
    return float(np.sqrt(np.sum(spread**2) * len(shares) / (len(shares) - 1)))


def test_of_equal_columns_the_lowest_index_wins() -> None:
    case = ranking(6)
    case.X = case.X[:, [0, 1, 5, 1, 5, 2, 1]]
    case.k = 7
    order = case.fit().selected_.tolist()
    assert [index for index in order if index in (1, 3, 6)] == [1, 3, 6]
    assert [index for index in order if index in (2, 4)] == [2, 4]


def test_what_is_the_same_for_a_query_changes_nothing() -> None:
    case = ranking(7)
    model = case.fit()
    rng = np.random.default_rng(8)
    moved = 50.0 * rng.standard_normal((20, 12))[case.groups]
    other = GreedyRLSRanker(4, alpha=1.0)
    other.fit(case.X + moved, case.y + 30.0 * rng.random(20)[case.groups], groups=case.groups)
    assert_array_equal(other.selected_, model.selected_)
    assert_allclose(other.path_.losses, model.path_.losses, rtol=1e-8)


def test_order_and_names_of_queries_are_no_matter() -> None:
    case = ranking(8)
    model = case.fit()
    order = np.random.default_rng(9).permutation(len(case.y))
    names = np.array([f"query {number}" for number in case.groups])[order]
    other = GreedyRLSRanker(4, alpha=1.0).fit(case.X[order], case.y[order], names.tolist())
    assert_array_equal(other.selected_, model.selected_)
    assert_allclose(other.path_.losses, model.path_.losses, rtol=1e-10)
    assert other.ndcg_ == pytest.approx(model.ndcg_, rel=1e-12)


def test_whole_weights_are_repeated_samples() -> None:
    case = ranking(9)
    weights = np.random.default_rng(10).integers(0, 4, len(case.y))
    weights[::6] = 1
    weights[1::6] = 2
    case.weights = weights.astype(float)
    model = case.fit()
    rows = np.repeat(np.arange(len(case.y)), weights)
    twin = GreedyRLSRanker(4, alpha=1.0).fit(case.X[rows], case.y[rows], case.groups[rows])
    assert_array_equal(twin.selected_, model.selected_)
    assert_allclose(twin.coef_, model.coef_, rtol=1e-8)


def test_queries_of_one_sample_and_samples_without_weight_are_left_out() -> None:
    case = ranking(10)
    model = case.fit()
    rng = np.random.default_rng(11)
    X = np.vstack([case.X, rng.standard_normal((9, 12))])
    y = np.concatenate([case.y, np.full(9, 3)])
    groups = np.concatenate([case.groups, [90, 91, 92, 93, 94, 95, 96, 97, 3]])
    weights = np.ones(len(y))
    weights[-1] = 0.0
    other = GreedyRLSRanker(4, alpha=1.0).fit(X, y, groups, weights)
    assert_array_equal(other.selected_, model.selected_)
    assert_allclose(other.path_.losses, model.path_.losses, rtol=1e-12)
    assert other.n_queries_ == 20


def test_without_groups_all_samples_are_one_query() -> None:
    """Leave-one-out of ridge with an intercept, whose rows count as often as there are samples."""
    case = ranking(11)
    m = len(case.y)
    model = GreedyRLSRanker(4, alpha=1.0).fit(case.X, case.y)
    twin = GreedyRLSRegressor(4, alpha=1.0 / m).fit(case.X, case.y)
    assert_array_equal(model.selected_, twin.selected_)
    assert_allclose(model.path_.losses, twin.path_.losses, rtol=1e-10)
    assert_allclose(model.coef_, twin.coef_, rtol=1e-9)
    pairs = all_pairs(case.X, case.y, np.zeros(m), None)
    every = np.ones(len(pairs.d), dtype=bool)
    coef = fitted(pairs, every, model.selected_.tolist(), 1.0)
    assert_allclose(model.coef_[model.selected_], coef, rtol=1e-8)
    scores = np.empty(m)
    for row in range(m):
        rest = np.delete(np.arange(m), row)
        weights = np.full(m - 1, float(m))
        left_out = GreedyRLSRegressor(4, alpha=1.0, forced_features=model.selected_.tolist())
        left_out.fit(case.X[rest], case.y[rest], sample_weight=weights)
        scores[row] = left_out.predict(case.X[[row]])[0]
    assert model.pairwise_error_ == pytest.approx(pairwise_error(case.y, scores), abs=1e-9)
    assert model.ndcg_ == pytest.approx(mean_ndcg(case.y, scores), rel=1e-9)


def test_scores_and_score() -> None:
    case = ranking(12)
    model = case.fit()
    scores = model.predict(case.X)
    assert_allclose(scores, case.X @ model.coef_, rtol=1e-12)
    assert model.score(case.X, case.y, case.groups) == mean_ndcg(case.y, scores, case.groups)
    assert model.score(case.X, case.y) == mean_ndcg(case.y, scores)
    assert_array_equal(model.transform(case.X), case.X[:, np.sort(model.selected_)])
    smaller = model.with_n_features(2)
    assert smaller.ndcg_ == model.ndcg_path_[1]
    assert smaller.pairwise_error_ == model.pairwise_error_path_[1]


@pytest.mark.parametrize("convert", [sparse.csr_matrix, sparse.csc_array, np.asfortranarray])
def test_other_arrays(convert: Any) -> None:
    case = ranking(13)
    case.X[np.abs(case.X) < 1.0] = 0.0
    model = case.fit()
    given = convert(case.X)
    other = GreedyRLSRanker(4, alpha=1.0).fit(given, case.y, groups=case.groups)
    assert_array_equal(other.selected_, model.selected_)
    assert_allclose(other.predict(given), model.predict(case.X), rtol=1e-10)


def test_names_of_a_data_frame() -> None:
    pandas = pytest.importorskip("pandas")
    case = ranking(14)
    frame = pandas.DataFrame(case.X, columns=[f"feature {i}" for i in range(12)])
    model = GreedyRLSRanker(4, alpha=1.0, forced_features=["feature 9"])
    model.fit(frame, pandas.Series(case.y), groups=pandas.Series(case.groups))
    assert model.path_.names(1) == ["feature 9"]
    assert model.get_feature_names_out().tolist() == [
        f"feature {i}" for i in np.sort(model.selected_)
    ]


def test_a_thousand_queries_take_little_memory() -> None:
    """A model for each query would take 2·K·k·n numbers: 160 MB, where X has 24 MB."""
    rng = np.random.default_rng(15)
    queries, size, n, k = 1000, 6, 500, 20
    groups = np.repeat(np.arange(queries), size)
    X = rng.standard_normal((queries * size, n))
    y = X[:, :30] @ rng.standard_normal(30) + rng.standard_normal(len(X))
    model = GreedyRLSRanker(k, alpha=1.0)
    tracemalloc.start()
    try:
        model.fit(X, y, groups=groups)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(model.path_) == k
    assert set(model.selected_.tolist()) <= set(range(30))
    assert peak < 3 * X.nbytes
    assert np.diff(model.ndcg_path_)[:5].min() > 0.0


@pytest.mark.parametrize(
    ("groups", "options", "match"),
    [
        (np.zeros(40), {}, "groups has 1 query with two or more samples .* needs at least 2"),
        (np.arange(40), {}, "groups has 0 queries with two or more samples"),
        (
            np.arange(40) % 2,
            {"alpha": "auto"},
            "2 queries .* outer folds of queries needs at least 3",
        ),
        (np.arange(40) % 4, {"refit_alpha": "loo"}, "refit_alpha must be 'same', 'cv' or a number"),
        (
            np.arange(40) % 4,
            {"alpha_rule": "all_features"},
            "alpha_rule must be 'nested' or 'joint'",
        ),
        (np.arange(40) % 4, {"alpha": -1.0}, "alpha must be a finite number greater than 0"),
        (np.arange(39) % 4, {}, "groups has 39 values, but there are 40 rows"),
        ([*range(39), None], {}, "groups has a missing value: row 39 is None"),
    ],
)
def test_bad_input(groups: Any, options: dict[str, Any], match: str) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 5)), rng.integers(0, 3, 40)
    model = GreedyRLSRanker(2, **{"alpha": 1.0} | options)
    with pytest.raises(ValueError, match=match):
        model.fit(X, y, groups=groups)


def test_bad_weights() -> None:
    case = ranking(0)
    case.weights = -np.ones(len(case.y))
    with pytest.raises(ValueError, match="sample_weight must not be negative; row 0 has -1"):
        case.fit()
    case.weights = np.zeros(len(case.y))
    case.weights[[0, 7, 30]] = 1.0
    with pytest.raises(ValueError, match="groups has 0 queries with two or more samples"):
        case.fit()


def test_collections_need_a_cluster() -> None:
    array = pytest.importorskip("dask.array")
    case = ranking(0)
    with pytest.raises(ValueError, match="X is a Dask collection, but there is no cluster"):
        GreedyRLSRanker(2, alpha=1.0).fit(array.from_array(case.X), case.y, groups=case.groups)


def test_a_target_that_does_not_vary_in_any_query() -> None:
    case = ranking(0)
    case.y = case.groups.astype(float)
    model = case.fit()
    assert np.isnan(model.ndcg_)
    assert np.isnan(model.pairwise_error_path_).all()
    assert_allclose(model.path_.losses, 0.0, atol=1e-20)


@pytest.mark.parametrize(
    ("cv", "match"),
    [
        (KFold(4), r"Split 0 of alpha_cv \(4-fold\) tests a part of a query only, that of row 24;"),
        (np.arange(120) % 3, r"Split 0 of alpha_cv \(fold ids .* tests a part of a query only"),
        (np.arange(119) % 3, "alpha_cv has 119 values, but there are 120 rows"),
        ([(np.arange(60), np.arange(60, 120))], "alpha_cv"),
    ],
)
@pytest.mark.filterwarnings("ignore:The groups parameter is ignored by KFold")
def test_outer_folds_that_tear_queries(cv: Any, match: str) -> None:
    case = ranking(17, queries=15, size=8)
    with pytest.raises(ValueError, match=match):
        GreedyRLSRanker(3, alpha=[1.0, 10.0], alpha_cv=cv).fit(case.X, case.y, groups=case.groups)


@pytest.mark.parametrize("cv", [3, GroupKFold(4)])
def test_given_outer_folds(cv: Any) -> None:
    case = ranking(16)
    model = GreedyRLSRanker(3, alpha=[1.0, 10.0], alpha_cv=cv)
    model.fit(case.X, case.y, groups=case.groups)
    surface = model.path_.surface
    assert surface is not None
    assert surface.fold_losses is not None
    assert len(surface.fold_losses) == (cv if isinstance(cv, int) else 4)
    assert "by groups" in surface.folds
