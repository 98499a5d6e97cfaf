"""Gram columns of likely centres come ahead of their use: fewer passes, and the same centres."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from compiled_steps import needs_compiled_steps
from greedyrls import GreedyKernelRLS
from tuning import tuned

pytestmark = needs_compiled_steps

Array = NDArray[np.float64]
# All candidates are followed where X has more than 2 million values.
M = 1_480


def data(t: int, d: int = 22) -> tuple[Array, Array]:
    """Points in many dimensions: the centres that are chosen have few neighbours."""
    rng = np.random.default_rng(t)
    X = rng.standard_normal((M, d))
    signal = X[:, :t] * X[:, 1 : t + 1]
    return X, np.squeeze(np.sign(signal + 0.5 * rng.standard_normal((M, t))))


@pytest.mark.parametrize("t", [1, 3])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_a_pass_brings_centres_that_are_chosen_later(t: int, is_weighted: bool) -> None:
    X, y = data(t)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, M) if is_weighted else None
    model = GreedyKernelRLS(20, alpha=0.1).fit(X, y, sample_weight=weights)
    with tuned(compiled_steps=False):
        expected = GreedyKernelRLS(20, alpha=0.1).fit(X, y, sample_weight=weights)
    assert model.center_indices_.tolist() == expected.center_indices_.tolist()
    if not is_weighted:  # otherwise those that were scored are compared
        assert GreedyKernelRLS(10, alpha=0.1).fit(X, y).path_.counters.passes <= 5


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_rows_in_any_order(kernel: str) -> None:
    """The sample of the rows is spread over all of them."""
    X, y = data(1, d=3)
    order = np.argsort(X[:, 0] + 10.0 * y)
    options: dict[str, Any] = {"alpha": 0.1, "kernel": kernel}
    model = GreedyKernelRLS(12, **options).fit(X[order], y[order])
    with tuned(compiled_steps=False):
        expected = GreedyKernelRLS(12, **options).fit(X[order], y[order])
    assert model.center_indices_.tolist() == expected.center_indices_.tolist()
    assert model.path_.counters.passes <= 8


def test_points_that_are_twice_there() -> None:
    X, y = data(1)
    X[M // 2 :] = X[: M // 2]
    y[M // 2 :] = y[: M // 2]
    model = GreedyKernelRLS(12, alpha=0.1).fit(X, y)
    assert (model.center_indices_ < M // 2).all()
    assert len(set(model.center_indices_.tolist())) == 12
