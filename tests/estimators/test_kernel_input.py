"""Kernel centres used with care and without: what is given wrongly is told in its own words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from greedyrls import GreedyKernelRLS, GreedyKernelRLSClassifier


def points() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    return X, np.sin(2.0 * X[:, 0])


def test_a_pool_with_other_columns_than_x() -> None:
    """Points whose columns are in another order are other points."""
    X, y = points()
    table = pd.DataFrame(X, columns=["a", "b"])
    model = GreedyKernelRLS(3, alpha=0.1, centers=table[:10]).fit(table, y)
    assert_allclose(model.centers_, X[model.center_indices_])
    with pytest.raises(ValueError, match="centers has the column 'b' where X has 'a'"):
        GreedyKernelRLS(3, alpha=0.1, centers=table[["b", "a"]]).fit(table, y)
    # Without names on one side there is nothing to compare.
    bare = GreedyKernelRLS(3, alpha=0.1, centers=X[:10]).fit(table, y)
    assert_array_equal(bare.center_indices_, model.center_indices_)


def test_weights_in_a_column_leave_out_candidates() -> None:
    X, y = points()
    weights = np.ones(40)
    weights[::2] = 0.0
    model = GreedyKernelRLS(3, alpha=0.1).fit(X, y, sample_weight=weights)
    column = GreedyKernelRLS(3, alpha=0.1).fit(X, y, sample_weight=weights[:, None])
    assert_array_equal(column.candidate_indices_, np.arange(1, 40, 2))
    assert_array_equal(column.center_indices_, model.center_indices_)


@pytest.mark.parametrize("estimator", [GreedyKernelRLS, GreedyKernelRLSClassifier])
def test_weights_that_are_no_numbers(estimator: Any) -> None:
    X, y = points()
    with pytest.raises(ValueError, match=r"sample_weight must be a number.*'heavy'"):
        estimator(3, alpha=0.1).fit(X, y > 0.0, sample_weight=["heavy"] * 40)


def test_a_function_may_return_a_sparse_matrix() -> None:
    X, y = points()

    def dense(A: Any, B: Any) -> Any:
        return np.maximum(0.0, 1.0 - np.abs(A[:, :1] - B[:, 0]))

    def thin(A: Any, B: Any) -> Any:
        return sparse.csr_array(dense(A, B))

    one, other = (GreedyKernelRLS(4, alpha=0.1, kernel=own).fit(X, y) for own in (dense, thin))
    assert_array_equal(one.center_indices_, other.center_indices_)
    assert_allclose(one.predict(X), other.predict(X))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"n_centers": 5, "max_centers": 3}, "n_centers=5 is more than max_centers=3"),
        ({"centers": "kmeans"}, "centers must be .* got the text 'kmeans'"),
        ({"refit_alpha": "cv", "cv": 4}, "refit_alpha='cv' is not supported .* kernel columns"),
        ({"kernel": lambda A, B: np.zeros((len(A), len(B)))}, "use another kernel"),
    ],
)
def test_refusals(options: dict[str, Any], told: str) -> None:
    X, y = points()
    with pytest.raises((TypeError, ValueError), match=told):
        GreedyKernelRLS(**{"n_centers": 3, "alpha": 0.1} | options).fit(X, y)
