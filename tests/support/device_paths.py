"""Problems for searches on devices, and what makes two paths the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from greedyrls import SelectionPath

Array = NDArray[Any]


def random_problem(seed: int, m: int, n: int, targets: int = 1) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n)) + rng.standard_normal(n)
    Y = X[:, :4] @ rng.standard_normal((4, targets)) + rng.standard_normal((m, targets))
    return X, Y if targets > 1 else Y[:, 0]


def assert_same_path(path: SelectionPath, other: SelectionPath) -> None:
    np.testing.assert_array_equal(path.indices, other.indices)
    np.testing.assert_allclose(path.losses, other.losses, rtol=1e-10)
    np.testing.assert_allclose(path.standard_errors, other.standard_errors, rtol=1e-7)
    np.testing.assert_allclose(path.moments.gram, other.moments.gram, rtol=1e-9, atol=1e-9)
    k = len(path)
    np.testing.assert_allclose(path.coef(k), other.coef(k), rtol=1e-7, atol=1e-10)
    assert path.initial_loss == pytest.approx(other.initial_loss, rel=1e-12)
    for step, again in zip(path.steps, other.steps, strict=True):
        assert [index for index, _ in step.runners_up] == [index for index, _ in again.runners_up]
        assert step.forced == again.forced
