"""The paper's way to a penalty: leave-one-out with all features, against literal refits."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from greedyrls import (
    greedy_path,
)
from literal import criterion, middle_of_ties
from penalties import ALPHAS, labels, numbers

# All features ------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("loss", ["squared", "absolute", "zero_one", "balanced_zero_one", "auc"])
@pytest.mark.parametrize(("m", "n"), [(40, 6), (25, 50), (30, 30)])
def test_all_features_is_leave_one_out_with_all(
    m: int, n: int, loss: str, fit_intercept: bool, weighted: bool
) -> None:
    X, y = labels(m, n)
    weights = np.random.default_rng(1).choice([0.0, 1.0, 2.5], m) if weighted else None
    for cv, block_rows in (("loo", None), ("loo", 7), (3, None)):
        if cv == 3:
            cv = np.arange(m) % 3
            if loss in ("balanced_zero_one", "auc"):
                continue
        path = greedy_path(
            *(X, y, 2),
            alpha=ALPHAS,
            alpha_rule="all_features",
            loss=loss,
            cv=cv,
            block_rows=block_rows,
            fit_intercept=fit_intercept,
            sample_weight=weights,
            excluded_features=[3],
        )
        columns = [index for index in range(n) if index != 3]
        expected = [
            criterion(
                *(X, y, "loo", columns),
                loss=loss,
                alpha=alpha,
                fit_intercept=fit_intercept,
                weights=weights,
            )
            for alpha in ALPHAS
        ]
        surface = path.surface
        assert surface.rule == "all_features"
        assert surface.losses.shape == surface.standard_errors.shape == (3, 1)
        assert surface.size == 0
        # Leverages near 1 (more features than rows, a small penalty) cost digits.
        assert_allclose(surface.losses[:, 0], expected, rtol=1e-7 if n > m else 1e-9)
        assert surface.alpha == ALPHAS[middle_of_ties(np.round(expected, 9).tolist())]
        assert path.settings.refit_alpha == "same"


@pytest.mark.parametrize("targets", [(1,), (3,)])
def test_all_features_of_several_targets(targets: tuple[int, ...]) -> None:
    for m, n in ((30, 5), (20, 40)):
        X, y = numbers(m, n, targets=targets)
        path = greedy_path(X, y, 2, alpha=ALPHAS, alpha_rule="all_features")
        expected = [
            criterion(
                *(X, y, "loo", range(n)),
                loss="squared",
                alpha=alpha,
                fit_intercept=True,
                weights=None,
            )
            for alpha in ALPHAS
        ]
        assert_allclose(path.surface.losses[:, 0], expected, rtol=1e-9)
