"""Data and penalties for tests of penalties that are chosen."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from greedyrls import SelectionPath
from internals import penalty_scale, refit_grid
from literal import criterion
from problems import Case

ALPHAS = [1e-2, 1.0, 100.0]
OUTER = KFold(3, shuffle=True, random_state=2)
SAME = 1e-9


def numbers(m: int = 36, n: int = 7, seed: int = 0, targets: tuple[int, ...] = ()) -> Any:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n)) * rng.uniform(0.5, 2.0, n) + rng.standard_normal(n)
    y = X[:, :3] @ rng.standard_normal((3, *targets)) + 2.0 * rng.standard_normal((m, *targets))
    return X, y


def labels(m: int = 36, n: int = 7, seed: int = 0) -> Any:
    X, y = numbers(m, n, seed)
    return X, np.where(y > np.median(y), 1.0, -1.0)


def diagonal(X: Any, weights: Any, fit_intercept: bool) -> Any:
    """Sums of squares of the columns, about their means with an intercept."""
    centred = X - np.average(X, axis=0, weights=weights) if fit_intercept else X
    squares = weights @ centred**2
    return np.where(squares > 1e-25, squares, 0.0)  # a constant column has rounding only


def assert_best_penalties(path: SelectionPath, case: Case, splits: Any) -> None:
    """Of each size no penalty of the grid has a smaller loss on these splits."""
    intercept = case.options["fit_intercept"]
    weights = case.options.get("sample_weight", np.ones(len(case.X)))
    kept = np.setdiff1d(np.arange(case.X.shape[1]), case.options.get("excluded_features", []))
    grid = refit_grid(penalty_scale(diagonal(case.X[:, kept], weights, intercept)), is_fine=True)
    Y = case.y.reshape(len(case.X), -1)
    assert path.refit_alphas is not None
    for k in range(1, len(path) + 1):
        losses = [
            criterion(
                *(case.X, Y, splits, path.features(k).tolist()),
                loss="squared",
                alpha=float(alpha),
                fit_intercept=intercept,
                weights=weights,
            )
            for alpha in grid
        ]
        (place,) = np.flatnonzero(np.isclose(grid, path.refit_alphas[k - 1], rtol=1e-6, atol=0))
        assert losses[place] <= min(losses) * (1 + 1e-9)
