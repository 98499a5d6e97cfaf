"""Kernel centres of points in a file: the same as of points in memory."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from column_source import by_columns
from greedyrls import GreedyKernelRLS, GreedyKernelRLSClassifier, files
from internals import DenseMatrix, MatrixPoints
from tuning import tuned

SMALL_CHUNKS = {"smallest_file_chunk": 500, "largest_file_chunk": 1000}


def data(m: int = 150, d: int = 3) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((m, d)) + 5.0
    return X, np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(m)


def in_file(X: Any, folder: Path, memory_limit: str = "30MB") -> Any:
    np.save(folder / "X.npy", X)
    return files.open_npy(folder / "X.npy", memory_limit=memory_limit)


def assert_same(model: Any, expected: Any, X: Any, points: Any) -> None:
    assert_array_equal(model.center_indices_, expected.center_indices_)
    assert_allclose(model.path_.losses, expected.path_.losses, rtol=1e-9)
    assert_allclose(model.centers_, expected.centers_, rtol=1e-15)
    if expected.gamma_ is not None:
        assert model.gamma_ == pytest.approx(expected.gamma_, rel=1e-12)
    assert_allclose(model.predict(points), expected.predict(X), rtol=1e-7)
    assert_allclose(model.predict(X), expected.predict(X), rtol=1e-7)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"cv": 3},
        {"loss": "absolute"},
        {"alpha": [0.1, 10.0], "alpha_cv": 3},
        {"gamma": [0.1, 1.0], "n_jobs": 2},
        {"kernel": "poly"},
        {"kernel": "laplacian", "max_candidates": 40},
        {"centers": np.random.default_rng(1).standard_normal((20, 3)) + 5.0},
    ],
    ids=str,
)
@pytest.mark.parametrize("share", [0.5, 0.0])
def test_a_regression(options: Any, share: float, tmp_path: Path) -> None:
    """Without memory for all of it the kernel matrix is computed by chunks of the points."""
    X, y = data()
    model = GreedyKernelRLS(4, **{"alpha": 0.1} | options)
    expected = model.fit(X, y)
    points = in_file(X, tmp_path)
    other = GreedyKernelRLS(4, **{"alpha": 0.1} | options)
    with tuned(**SMALL_CHUNKS, kernel_chunk_elements=1000, kernel_stored_share=share):
        assert_same(other.fit(points, y), expected, X, points)
    assert other.n_features_in_ == 3


def test_a_file_by_columns() -> None:
    X, y = data()
    expected, points = GreedyKernelRLS(4, alpha=0.1).fit(X, y), by_columns(X)
    with tuned(**SMALL_CHUNKS):
        assert_same(GreedyKernelRLS(4, alpha=0.1).fit(points, y), expected, X, points)


def test_classes_with_probabilities(tmp_path: Path) -> None:
    X, y = data()
    labels = np.where(y > y.mean(), "a", "b")
    weights = np.random.default_rng(2).choice([0.0, 1.0, 2.0], len(y))
    points = in_file(X.astype(np.float32), tmp_path)
    model, expected = (GreedyKernelRLSClassifier(4, alpha=0.1) for _ in range(2))
    with tuned(**SMALL_CHUNKS):
        model.fit(points, labels, sample_weight=weights)
        expected.fit(X.astype(np.float32), labels, sample_weight=weights)
        assert_array_equal(model.center_indices_, expected.center_indices_)
        assert_array_equal(model.predict(points), expected.predict(X.astype(np.float32)))
        assert_allclose(model.predict_proba(points), expected.predict_proba(X), rtol=1e-5)


def test_points_are_those_of_the_array() -> None:
    X, _ = data(50)
    points, origin = MatrixPoints(DenseMatrix(X)), X.mean(axis=0)
    rows = np.array([40, 3, 3, 17])
    assert_array_equal(points[rows], X[rows])
    assert_array_equal((points - origin)[rows], X[rows] - origin)
    assert_array_equal(points[5:9], X[5:9])
    assert_array_equal(np.concatenate(list((points - origin).chunks())), X - origin)
    assert points.var() == pytest.approx(X.var(), rel=1e-14)


def test_a_file_is_not_loaded(tmp_path: Path) -> None:
    """Neither the points (24 MB) nor their kernel matrix (48 MB) are in memory."""
    rng = np.random.default_rng(3)
    m, d = 20_000, 150
    X = rng.standard_normal((m, d))
    points = in_file(X, tmp_path, "20MB")
    y = X[:, 0]
    del X
    with tuned(largest_file_chunk=1 << 20):
        tracemalloc.start()
        try:
            model = GreedyKernelRLS(3, alpha=0.1, max_candidates=300).fit(points, y)
            model.predict(points)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak < 20e6
    assert model.n_centers_ == 3


def test_too_many_candidates(tmp_path: Path) -> None:
    X, y = data(2000, 40)
    match = "2000 candidates for centres take 640 kB, more than half of memory_limit, 1 MB. Use max"
    with pytest.raises(ValueError, match=match):
        GreedyKernelRLS(3, alpha=0.1).fit(in_file(X, tmp_path, "1MB"), y)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_missing_values(kernel: str, tmp_path: Path) -> None:
    X, y = data()
    model = GreedyKernelRLS(3, alpha=0.1, kernel=kernel).fit(X, y)
    X[17, 1] = np.nan
    points = in_file(X, tmp_path)
    with pytest.raises(ValueError, match="contains NaN or infinity: row 17"):
        model.predict(points)
    with pytest.raises(ValueError, match="contains NaN: row 17, column 1 is nan"):
        model.fit(points, y)


def test_other_columns_than_in_the_fit(tmp_path: Path) -> None:
    X, y = data()
    model = GreedyKernelRLS(3, alpha=0.1).fit(in_file(X, tmp_path), y)
    with pytest.raises(ValueError, match="X has 2 features, but GreedyKernelRLS is expecting 3"):
        model.predict(in_file(X[:, :2], tmp_path))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(in_file(X, tmp_path), y[:-1])
