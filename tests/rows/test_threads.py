"""Blocks of rows on a thread pool: the answer is that of one thread."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from greedyrls import extend_path, greedy_path

CASES: dict[str, dict[str, Any]] = {
    "leave-one-out": {},
    "bounded": {"search": "bounded"},
    "exhaustive": {"search": "exhaustive"},
    "absolute": {"loss": "absolute"},
    "without intercept": {"fit_intercept": False},
    "penalties": {"alpha": [0.1, 1.0, 10.0]},
    "small blocks": {"block_rows": 7},
    "folds": {"cv": 4},
}


def data(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(203, 30)) * (generator.random((203, 30)) < 0.4) + 5.0
    return X, X[:, :4].sum(axis=1) + generator.normal(size=203), generator.random(203)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("n_jobs", [2, 3, 8])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_any_number_of_threads(case: str, n_jobs: int, is_sparse: bool) -> None:
    X, y, weights = data()
    options: dict[str, Any] = {"alpha": 0.5, "sample_weight": weights, **CASES[case]}
    expected = greedy_path(X, y, 8, n_runners_up=2, **options)
    given = sparse.csr_array(X) if is_sparse else X
    path = greedy_path(given, y, 8, n_runners_up=2, n_jobs=n_jobs, **options)
    assert_array_equal(path.indices, expected.indices)
    assert_allclose(path.losses, expected.losses, rtol=1e-9)
    assert path.settings.alpha == expected.settings.alpha


def test_a_path_goes_on_with_threads() -> None:
    X, y, _ = data()
    path = greedy_path(X, y, 3, n_jobs=2)
    longer = extend_path(path, X, y, 6, n_jobs=3)
    assert_array_equal(longer.indices, greedy_path(X, y, 6).indices)


@pytest.mark.parametrize("n_jobs", [0, 1.5, "all", True])
def test_what_is_no_number_of_threads(n_jobs: Any) -> None:
    X, y, _ = data()
    with pytest.raises(ValueError, match="n_jobs must be None or a whole number other than 0"):
        greedy_path(X, y, 3, n_jobs=n_jobs)
