"""Searches to be cut off and continued, and what must be equal then."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from greedyrls import GreedyRLSClassifier, GreedyRLSRegressor, SelectionPath, greedy_path


class Search(NamedTuple):
    """A call of `greedy_path`, or of the fit of an estimator."""

    X: Any
    y: Any
    n_features: Any
    options: dict[str, Any]
    estimator: Any = None

    def run(self, checkpoint: Path | None = None, **more: Any) -> SelectionPath:
        options = self.options | more
        if self.estimator is None:
            return greedy_path(self.X, self.y, self.n_features, checkpoint=checkpoint, **options)
        fitted = self.estimator(self.n_features, checkpoint=checkpoint, **options)
        path: SelectionPath = fitted.fit(self.X, self.y).path_
        return path


def largest_error(y_true: Any, y_pred: Any) -> float:
    return float(np.quantile(np.abs(y_true - y_pred), 0.9))


def _searches() -> dict[str, Search]:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 14))
    y = X[:, :6] @ [3.0, -2.0, 1.5, 1.0, -0.7, 0.5] + rng.standard_normal(60)
    several = X[:, :4] @ rng.standard_normal((4, 2)) + rng.standard_normal((60, 2))
    signs = np.where(y > 0.3, 1.0, -1.0)
    weights = rng.integers(0, 4, 60) + 0.5
    zeros = np.where(rng.random(X.shape) < 0.6, 0.0, X)
    auto = {"alpha": "auto", "max_features": 9, "patience": 3}
    # With little noise the best penalty is below the grid, which grows.
    exact = X[:, :3] @ [3.0, -2.0, 1.5] + 0.03 * rng.standard_normal(60)
    beyond = {"alpha": "auto", "refit_alpha": "same"}
    return {
        "leave-one-out": Search(X, y, 8, {"n_runners_up": 2}),
        "bounded": Search(X, y, 8, {"search": "bounded", "fit_intercept": False}),
        "columns": Search(np.asfortranarray(X).astype(np.float32), y, 6, {"alpha": 0.1}),
        "folds": Search(X, y, 7, {"cv": 5, "n_runners_up": 1}),
        "weights": Search(X, y, 6, {"sample_weight": weights}),
        "targets": Search(X, several, 6, {"alpha": 0.3}),
        "forced": Search(X, y, 7, {"forced_features": [9, 4, 2], "excluded_features": [0]}),
        "absolute": Search(X, y, 6, {"loss": "absolute"}),
        "zero-one": Search(X, signs, 6, {"loss": "zero_one"}),
        "auc": Search(X, signs, 5, {"loss": "auc", "cv": 3}),
        "function": Search(X, y, 5, {"loss": largest_error}),
        "sparse": Search(sparse.csr_array(zeros), y, 6, {"alpha": 0.5}),
        "all": Search(X[:, :7], y, 7, {}),
        "patience": Search(X, y, 14, {"patience": 2, "tol": 0.01}),
        "size": Search(X, y, "auto", {"size_rule": "1se", "patience": 3}),
        "nested": Search(X, y, 5, {"alpha": [0.1, 1.0, 10.0, 100.0], "alpha_cv": 3}),
        "nested size": Search(X, y, "auto", {**auto, "size_rule": "1se", "cv": 4}),
        "nested beyond": Search(X, exact, 4, {**beyond, "alpha_cv": 3}),
        "joint beyond": Search(X, exact, 4, {**beyond, "alpha_rule": "joint"}),
        "joint": Search(X, y, 5, {"alpha": [0.1, 1.0, 50.0], "alpha_rule": "joint"}),
        "joint size": Search(X, y, "auto", {**auto, "alpha_rule": "joint"}),
        "all features": Search(X, y, 5, {"alpha": "auto", "alpha_rule": "all_features"}),
        "regressor": Search(X, y, 0.4, {"alpha": 0.5}, GreedyRLSRegressor),
        "classifier": Search(
            X, signs > 0, "auto", {"max_features": 6, "probability": False}, GreedyRLSClassifier
        ),
    }


SEARCHES = _searches()


def _moving() -> dict[str, Search]:
    """Searches that remove features."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 14))
    y = X[:, :6] @ [3.0, -2.0, 1.5, 1.0, -0.7, 0.5] + rng.standard_normal(60)
    # A feature that sums up four others is taken first, and removed later.
    sums = np.column_stack([X[:, :4].sum(axis=1) + rng.standard_normal(60), X])
    summed = X[:, :4].sum(axis=1) + 0.3 * rng.standard_normal(60)
    pairs = {f"pair {place}": [place, place + 7] for place in range(7)}
    return {
        "floating": Search(sums, summed, 7, {"direction": "floating", "n_runners_up": 2}),
        "floating, folds": Search(sums, summed, 7, {"direction": "floating", "cv": 5}),
        "floating, forced": Search(
            sums, summed, 7, {"direction": "floating", "forced_features": [9, 12]}
        ),
        "floating, patience": Search(sums, summed, 15, {"direction": "floating", "patience": 2}),
        "floating, function": Search(sums, y, 4, {"direction": "floating", "loss": largest_error}),
        "foba": Search(sums, summed, 8, {"direction": "foba", "backward_ratio": 0.9}),
        "foba, forced": Search(
            sums, summed, 7, {"direction": "foba", "backward_ratio": 0.9, "forced_features": [5]}
        ),
        "swap": Search(sums, summed, 4, {"direction": "swap", "n_runners_up": 1}),
        "swap, patience": Search(sums, summed, 12, {"direction": "swap", "patience": 1}),
        "swap, groups": Search(
            sums[:, :14], summed, 2, {"direction": "swap", "feature_groups": pairs}
        ),
        "swap, size": Search(sums, summed, "auto", {"direction": "swap", "alpha_cv": 3}),
        "backward": Search(sums, summed, 5, {"direction": "backward", "n_runners_up": 2}),
        "backward, folds": Search(sums, summed, 5, {"direction": "backward", "cv": 5}),
        "backward, forced": Search(
            sums, summed, 5, {"direction": "backward", "forced_features": [0, 9]}
        ),
        "floating, nested": Search(
            sums, summed, 4, {"direction": "floating", "alpha": [0.1, 10.0], "alpha_cv": 3}
        ),
    }


MOVING = _moving()


def assert_same(path: SelectionPath, whole: SelectionPath) -> None:
    """The same path up to rounding."""
    assert path.stop_reason is whole.stop_reason
    assert_same_steps(path, whole)
    assert path.chosen_size == whole.chosen_size
    assert path.settings.loss == whole.settings.loss
    assert_allclose(path.settings.alpha, whole.settings.alpha, rtol=1e-12)
    assert_allclose(path.initial_loss, whole.initial_loss, rtol=1e-12)
    assert (path.surface is None) == (whole.surface is None)
    if path.surface is not None and whole.surface is not None:
        assert path.surface.size == whole.surface.size
        assert path.surface.folds == whole.surface.folds
        assert_allclose(path.surface.losses, whole.surface.losses, rtol=1e-9, equal_nan=True)
    assert path.sentence == whole.sentence
    for size in range(1, len(path) + 1):
        assert_allclose(path.coef(size), whole.coef(size), rtol=1e-8, atol=1e-12)


def assert_same_steps(path: SelectionPath, whole: SelectionPath) -> None:
    """The same steps, as far as the path goes."""
    k = len(path)
    assert_array_equal(path.indices, whole.indices[:k])
    assert_allclose(path.losses, whole.losses[:k], rtol=1e-12)
    assert_allclose(path.standard_errors, whole.standard_errors[:k], rtol=1e-9, equal_nan=True)
    for step, same in zip(path.steps, whole.steps, strict=False):
        assert step.forced == same.forced
        assert_allclose(step.fold_losses, same.fold_losses, rtol=1e-11)
        assert [index for index, _ in step.runners_up] == [index for index, _ in same.runners_up]
        losses = [loss for _, loss in same.runners_up]
        assert_allclose([loss for _, loss in step.runners_up], losses, rtol=1e-11)
