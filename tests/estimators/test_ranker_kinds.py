"""GreedyRLSRanker on sparse data and files: centred without a dense copy, the same numbers."""

from __future__ import annotations

import tempfile
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from column_source import by_columns
from greedyrls import GreedyRLSRanker, files
from internals import CentredMatrix, CentredSparse, make_pairs, make_problem
from ranking_cases import Ranking, assert_as_written_out, ranking, rankings
from sweeps import EXAMPLES
from traps import Traps
from tuning import tuned

SMALL_CHUNKS = {"smallest_file_chunk": 200, "largest_file_chunk": 400}


def in_file(X: Any, folder: Path, memory_limit: str = "30MB") -> Any:
    np.save(folder / "X.npy", X)
    return files.open_npy(folder / "X.npy", memory_limit=memory_limit)


@pytest.mark.heavy
@settings(max_examples=max(40, min(200, EXAMPLES // 10)))
@given(case=rankings(), name=st.sampled_from(["many", "large", "models", "compiled"]))
def test_sparse_data_against_pairs_written_out(case: Ranking, name: str) -> None:
    with tuned(fold_engine=name):
        model = case.fit(sparse.csr_array(case.X), n_runners_up=99)
    assert_as_written_out(model, case)


@pytest.mark.heavy
@settings(max_examples=max(40, min(200, EXAMPLES // 10)))
@given(case=rankings())
def test_files_against_pairs_written_out(case: Ranking) -> None:
    with tempfile.TemporaryDirectory() as folder, tuned(**SMALL_CHUNKS):
        model = case.fit(in_file(case.X, Path(folder)), n_runners_up=99)
        assert_as_written_out(model, case)


def kinds(X: Any, folder: Path) -> list[Any]:
    """Sparse matrices, and files by rows and by columns."""
    return [sparse.csr_array(X), sparse.csc_matrix(X), in_file(X, folder), by_columns(X)]


def zeros_among(case: Ranking) -> Ranking:
    case.X[np.abs(case.X) < 1.0] = 0.0
    return case


@pytest.mark.parametrize("options", [{}, {"alpha": "auto"}])
def test_all_that_a_model_knows_is_the_same(options: Any, tmp_path: Path) -> None:
    case = zeros_among(ranking(20, queries=40))
    order = np.random.default_rng(0).permutation(len(case.y))
    case.X, case.y, case.groups = case.X[order], case.y[order], case.groups[order]
    case.groups[:3] = [90, 91, 92]  # queries of one sample
    expected = case.fit(**options)
    for X in kinds(case.X, tmp_path):
        with tuned(**SMALL_CHUNKS):
            model = case.fit(X, **options)
        assert_array_equal(model.selected_, expected.selected_)
        assert_allclose(model.path_.losses, expected.path_.losses, rtol=1e-10)
        assert_allclose(model.coef_, expected.coef_, rtol=1e-9, atol=1e-14)
        assert model.alpha_ == pytest.approx(expected.alpha_, rel=1e-12)
        assert_allclose(model.ndcg_path_, expected.ndcg_path_, rtol=1e-12)
        assert_allclose(model.pairwise_error_path_, expected.pairwise_error_path_, rtol=1e-12)
        assert_allclose(model.predict(X), expected.predict(case.X), rtol=1e-9)
        assert model.n_queries_ == expected.n_queries_


def test_without_groups(tmp_path: Path) -> None:
    case = zeros_among(ranking(21))
    case.groups = None
    expected = case.fit()
    for X in kinds(case.X, tmp_path):
        model = case.fit(X)
        assert_array_equal(model.selected_, expected.selected_)
        assert_allclose(model.path_.losses, expected.path_.losses, rtol=1e-10)
        assert_allclose(model.ndcg_path_, expected.ndcg_path_, rtol=1e-12)


@pytest.mark.parametrize("refit", ["same", "cv"])
def test_outer_folds_of_sparse_data(refit: Any) -> None:
    case = zeros_among(ranking(22, queries=30))
    options = {"alpha": [0.1, 10.0, 1000.0], "refit_alpha": refit, "alpha_cv": 3}
    expected, model = case.fit(**options), case.fit(sparse.csr_array(case.X), **options)
    assert_array_equal(model.selected_, expected.selected_)
    assert expected.path_.surface is not None
    assert model.path_.surface is not None
    assert_allclose(model.path_.surface.fold_losses, expected.path_.surface.fold_losses, rtol=1e-9)
    assert_allclose(model.coef_, expected.coef_, rtol=1e-9, atol=1e-14)


def test_fold_ids_of_rows_without_pairs(tmp_path: Path) -> None:
    """In a file these rows stay where they are, and may be in any outer fold."""
    case = ranking(23, queries=9)
    case.groups[[5, 17]] = [90, 91]
    folds = case.groups % 3
    folds[[5, 17]] = [0, 1]
    options = {"alpha": [1.0, 100.0], "alpha_cv": folds, "refit_alpha": "same"}
    expected, model = case.fit(**options), case.fit(in_file(case.X, tmp_path), **options)
    assert_array_equal(model.selected_, expected.selected_)
    assert_allclose(model.coef_, expected.coef_, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("shift", [1e3, 1e6, 1e9])
def test_queries_far_from_the_origin(shift: float, tmp_path: Path) -> None:
    """As many digits are lost as X itself has lost: queries have means of their own."""
    case = ranking(24)
    rng = np.random.default_rng(25)
    case.X = case.X + shift * rng.standard_normal((20, 12))[case.groups]
    case.X[:, 3] = np.where(rng.random(len(case.y)) < 0.5, 0.0, case.X[:, 1])
    expected = case.fit()
    for X in kinds(case.X, tmp_path):
        model = case.fit(X)
        assert_array_equal(model.selected_, expected.selected_)
        assert_allclose(model.path_.losses, expected.path_.losses, rtol=1e-15 * max(1e3, shift))


@pytest.mark.parametrize("kind", ["sparse", "file"])
def test_matrices_answer_as_the_dense_copy(kind: str, tmp_path: Path) -> None:
    """Every operation of the protocol, with weights and rows that are in no pair."""
    case, rng = zeros_among(ranking(26)), np.random.default_rng(27)
    m, n = case.X.shape
    y, groups, weights = np.zeros(m), rng.permutation(case.groups), rng.choice([0.0, 0.5, 2.0], m)
    copied = make_pairs(case.X, y, groups, weights)
    with tuned(**SMALL_CHUNKS):
        if kind == "sparse":
            expected, X = copied.X, make_pairs(sparse.csr_array(case.X), y, groups, weights).X
            assert isinstance(X, CentredSparse)
        else:
            file = make_problem(in_file(case.X, tmp_path), y).X
            X = make_pairs(file, y, groups, weights).X
            assert isinstance(X, CentredMatrix)
            expected = np.zeros((m, n))
            expected[copied.rows] = copied.X
        count, indices = len(expected), np.array([7, 0, 3])
        rows, V, w = np.arange(0, count, 3), rng.standard_normal((4, count)), rng.random(count)
        products, squares = X.sums(V, w, True)
        assert_allclose(products, V @ expected, atol=1e-12)
        assert_allclose(squares, w @ expected**2, rtol=1e-12)
        assert_allclose(X.columns(indices), expected[:, indices].T, atol=1e-13)
        some = expected[np.ix_(rows, indices)]
        assert_allclose(X.columns(indices, rows), some.T, atol=1e-13)
        assert_allclose(X.part(rows, indices), some, atol=1e-13)
        whole = np.concatenate([chunk.part(slice(None)) for _, chunk in X.chunks()])
        assert_allclose(whole, expected, atol=1e-13)
        parts = X.map_tiles(lambda at, tile: tile.sums(V[:, at], None, False)[0], 4)
        assert_allclose(sum(parts), V @ expected, atol=1e-12)
        for _, members, tile in X.tiles_by_set([np.arange(5, 20), None], np.zeros(n), {}):
            product, square = tile.sums(V[:, members], w[members], True)
            assert_allclose(product, V[:, members] @ expected[members], atol=1e-12)
            assert_allclose(square, w[members] @ expected[members] ** 2, rtol=1e-12, atol=1e-30)


def test_sparse_data_are_never_dense() -> None:
    """The dense copy would take 160 MB, of which 1 % are nonzero."""
    rng = np.random.default_rng(28)
    queries, size, n = 500, 20, 2000
    groups = np.repeat(np.arange(queries), size)
    X = sparse.random_array((len(groups), n), density=0.01, format="csr", rng=rng)
    y = X[:, :10] @ rng.standard_normal(10) + 0.1 * rng.standard_normal(len(groups))
    tracemalloc.start()
    try:
        model = GreedyRLSRanker(3, alpha=1.0).fit(X, y, groups=groups)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert set(model.selected_.tolist()) <= set(range(10))
    assert peak < 8 * len(groups) * n / 3


def test_a_limit_that_has_no_room_for_the_means(tmp_path: Path, traps: Traps) -> None:
    rng = np.random.default_rng(29)
    X = rng.standard_normal((4000, 300)).astype(np.float32)
    groups = np.arange(4000) // 2  # the means of queries are as large as X
    file = in_file(X, tmp_path, "8MB")
    reads = traps.watch("read rows of a file")
    with pytest.raises(ValueError, match="memory_limit is 8 MB, but this search needs at least"):
        GreedyRLSRanker(2, alpha=1.0).fit(file, rng.random(4000), groups=groups)
    assert not reads  # refused before they are computed


def test_a_value_of_a_file_that_is_missing(tmp_path: Path) -> None:
    case = ranking(30)
    case.X[17, 3] = np.nan
    with pytest.raises(ValueError, match="contains NaN: row 17, column 3 is nan"):
        case.fit(in_file(case.X, tmp_path))
