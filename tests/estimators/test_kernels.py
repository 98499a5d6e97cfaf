"""Estimators on kernel centres: models, candidates, memory, penalties, wrong input."""

from __future__ import annotations

import pickle
import re
import tracemalloc
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.model_selection import GroupKFold, KFold

from greedyrls import (
    GreedyKernelRLS,
    GreedyKernelRLSClassifier,
    SelectionPath,
    StopReason,
)
from internals import make_kernel
from kernel_twin import KernelCase, fit, literal_centers, literal_kernel
from tuning import Tune


def data(m: int = 90, d: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, d))
    return X, np.sin(2.0 * X[:, 0]) + 0.2 * rng.standard_normal(m)


def rbf(X: Any, Y: Any) -> np.ndarray:
    return literal_kernel("rbf", np.asarray(X), np.asarray(Y), 0.7)


@pytest.mark.parametrize("name", ["rbf", "laplacian", "poly", "polynomial"])
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_matrix])
def test_kernels_are_those_of_scikit_learn(name: str, layout: Any) -> None:
    X, _ = data(30, 3)
    kernel = make_kernel(name, 0.4, 2, 0.5)
    parameters = {"degree": 2, "coef0": 0.5} if "poly" in name else {}
    expected = pairwise_kernels(X, X[:7], metric=name, gamma=0.4, **parameters)
    assert_allclose(kernel(layout(X), layout(X[:7])), expected, rtol=1e-12)
    assert_allclose(
        kernel.diagonal(layout(X)),
        pairwise_kernels(X, metric=name, gamma=0.4, **parameters).diagonal(),
    )


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("cv", ["loo", KFold(4)])
@pytest.mark.parametrize("targets", [0, 2])
def test_models_of_all_sizes(fit_intercept: bool, cv: Any, targets: int) -> None:
    X, y = data()
    rng = np.random.default_rng(1)
    weights = rng.random(len(X)) + 0.1
    weights[:3] = 0.0
    if targets:
        y = np.stack([y, np.cos(X[:, 1])], axis=1)
    model = GreedyKernelRLS(6, gamma=0.7, alpha=0.3, fit_intercept=fit_intercept, cv=cv)
    model.fit(X, y, sample_weight=weights)
    Y = y.reshape(len(y), -1)
    for k in range(1, 7):
        one = model.with_n_centers(k)
        C = X[one.center_indices_]
        assert_allclose(C, one.centers_)
        coef, intercept = fit(rbf(X, C), rbf(C, C), Y, weights, 0.3, fit_intercept)
        assert_allclose(one.predict(X).reshape(Y.shape), rbf(X, C) @ coef + intercept, atol=1e-9)
        assert_allclose(np.atleast_2d(one.dual_coef_).T, coef, rtol=1e-5, atol=1e-7)
        assert one.dual_coef_.shape == ((2, k) if targets else (k,))
    assert not set(model.center_indices_) & {0, 1, 2}  # rows without weight are none
    assert model.score(X, y) > 0.5


def test_a_path_of_centres_is_a_path() -> None:
    X, y = data()
    model = GreedyKernelRLS(5, gamma=0.7, alpha=0.3, n_runners_up=2).fit(X, y)
    path = SelectionPath.from_json(model.path_.to_json())
    assert path == model.path_
    assert_allclose(path.coef(), model.dual_coef_)
    assert_allclose(path.predict(rbf(X, X)), model.predict(X), rtol=1e-9)
    assert len(path.runners_up[0]) == 2
    again = pickle.loads(pickle.dumps(model))
    assert_allclose(again.predict(X), model.predict(X))


def test_the_engine_on_a_middling_problem() -> None:
    """Every candidate of every step by a fresh factorisation, all leave-one-out at once."""
    X, y = data(150, 3, seed=5)
    K, alpha, m = rbf(X, X), 0.05, 150
    model = GreedyKernelRLS(8, gamma=0.7, alpha=alpha).fit(X, y)
    chosen: list[int] = []
    for loss in model.path_.losses:
        losses = np.full(m, np.inf)
        for i in set(range(m)) - set(chosen):
            columns = [*chosen, i]
            centred = K[:, columns] - K[:, columns].mean(axis=0)
            A = centred.T @ centred + alpha * K[np.ix_(columns, columns)]
            hat = centred @ np.linalg.solve(A, centred.T) + 1.0 / m
            losses[i] = np.mean(((y - hat @ y) / (1.0 - hat.diagonal())) ** 2)
        chosen.append(int(losses.argmin()))
        assert loss == pytest.approx(losses.min(), rel=1e-9)
    assert model.center_indices_.tolist() == chosen


def test_of_equal_points_one_is_chosen() -> None:
    X, y = data(12)
    X, y = np.repeat(X, 3, axis=0), np.repeat(y, 3)
    y = y + 0.01 * np.random.default_rng(0).standard_normal(len(y))
    model = GreedyKernelRLS(30, gamma=5.0, alpha=1e-3).fit(X, y)
    assert model.path_.stop_reason is StopReason.SPANNED
    assert "span all others" in model.path_.sentence
    assert len(model.path_) == 12
    assert (model.center_indices_ % 3 == 0).all()
    assert len(set(model.center_indices_.tolist())) == 12
    assert np.isfinite(model.path_.losses).all()


class Recorder:
    """A kernel that notes how large the matrices are that it is asked for."""

    def __init__(self) -> None:
        self.shapes: list[tuple[int, int]] = []

    def __call__(self, X: Any, Y: Any) -> np.ndarray:
        self.shapes.append((len(X), len(Y)))
        values: np.ndarray = pairwise_kernels(X, Y, metric="rbf", gamma=0.5)
        return values


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["squared", "absolute"])
@pytest.mark.parametrize("cv", ["loo", 3])
def test_the_kernel_matrix_is_never_there(loss: str, cv: Any, tune: Tune) -> None:
    """All of it would take more than half of the memory that is allowed."""
    tune(kernel_chunk_elements=1 << 16)
    m, k = 1500, 4
    X, y = data(m)
    kernel = Recorder()
    model = GreedyKernelRLS(k, kernel=kernel, alpha=0.1, loss=loss, cv=cv, memory_limit="24MB")
    tracemalloc.start()
    try:
        model.fit(X, y)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert max(rows * columns for rows, columns in kernel.shapes) <= 128 * m  # for rough means
    assert peak < 0.7 * 8 * m * m
    # Nor is it evaluated more than a few times; another loss looks at all pairs at each step.
    passes = model.n_kernel_evaluations_ / m**2
    assert passes < (6 if loss == "squared" else 2 * k + 6)
    counted = sum(rows * columns for rows, columns in kernel.shapes)
    assert counted == pytest.approx(model.n_kernel_evaluations_, rel=0.02)  # and the diagonal
    # Predictions, too, are made in pieces.
    kernel.shapes.clear()
    tune(kernel_prediction_elements=400)
    model.predict(X)
    assert max(rows for rows, _ in kernel.shapes) <= 100


def test_memory_limit() -> None:
    X, y = data(400)
    expected = GreedyKernelRLS(5, alpha=0.1).fit(X, y)
    tight = GreedyKernelRLS(5, alpha=0.1, memory_limit="2MB").fit(X, y)
    assert tight.center_indices_.tolist() == expected.center_indices_.tolist()
    # With more memory it is evaluated once, for all penalties and outer folds.
    assert tight.n_kernel_evaluations_ > 2 * 400**2
    stored = GreedyKernelRLS(5, alpha=[0.1, 1.0], alpha_cv=3).fit(X, y)
    assert stored.n_kernel_evaluations_ < 1.1 * 400**2
    with pytest.raises(ValueError, match="memory_limit is 100 kB, but this search needs at least"):
        GreedyKernelRLS(5, alpha=0.1, memory_limit=100_000).fit(X, y)


def test_candidates() -> None:
    X, y = data(200)
    one = GreedyKernelRLS(5, alpha=0.1, max_candidates=20, random_state=3).fit(X, y)
    same = clone(one).fit(X, y)
    assert one.center_indices_.tolist() == same.center_indices_.tolist()
    assert one.candidate_indices_.shape == (20,)
    assert_allclose(one.centers_, X[one.center_indices_])
    assert one.candidate_indices_[one.path_.indices].tolist() == one.center_indices_.tolist()
    # The same points as a pool are the same candidates.
    pool = GreedyKernelRLS(5, alpha=0.1, gamma=one.gamma_, centers=X[one.candidate_indices_])
    pool.fit(X, y)
    assert pool.center_indices_.tolist() == one.path_.indices.tolist()
    assert_allclose(pool.predict(X), one.predict(X), rtol=1e-9)


def test_sparse_points() -> None:
    X, y = data(80, 3)
    X[np.abs(X) < 0.5] = 0.0
    for kernel in ("rbf", "poly", "laplacian"):
        dense = GreedyKernelRLS(4, alpha=0.1, kernel=kernel).fit(X, y)
        thin = GreedyKernelRLS(4, alpha=0.1, kernel=kernel).fit(sparse.csc_matrix(X), y)
        assert thin.gamma_ == pytest.approx(dense.gamma_)
        assert thin.center_indices_.tolist() == dense.center_indices_.tolist()
        assert_allclose(thin.predict(sparse.csr_matrix(X)), dense.predict(X), rtol=1e-7)
        assert sparse.issparse(thin.centers_)
        # Either kind is taken by the model of the other, and a dense pool by sparse points.
        assert_allclose(thin.predict(X), dense.predict(sparse.csr_matrix(X)), rtol=1e-7)
        mixed = GreedyKernelRLS(4, alpha=0.1, kernel=kernel, centers=X).fit(sparse.csr_matrix(X), y)
        assert mixed.center_indices_.tolist() == dense.center_indices_.tolist()
        assert_allclose(mixed.predict(X), dense.predict(X), rtol=1e-7)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_far_from_the_origin(kernel: str) -> None:
    X, y = data()
    near = GreedyKernelRLS(5, alpha=0.1, gamma=0.5, kernel=kernel).fit(X, y)
    far = GreedyKernelRLS(5, alpha=0.1, gamma=0.5, kernel=kernel).fit(X + 1e6, y)
    assert near.center_indices_.tolist() == far.center_indices_.tolist()
    assert_allclose(far.predict(X + 1e6), near.predict(X), atol=1e-6)


def test_gamma_is_chosen() -> None:
    X, y = data(120)
    model = GreedyKernelRLS(8, alpha=0.1, gamma=[30.0, 0.5, 1e-3]).fit(X, y)
    each = [
        GreedyKernelRLS(8, alpha=0.1, gamma=g).fit(X, y).path_.losses[-1] for g in (1e-3, 0.5, 30.0)
    ]
    assert_allclose(model.gamma_losses_, each)
    assert model.gamma_ == 0.5 == [1e-3, 0.5, 30.0][int(np.argmin(each))]
    assert GreedyKernelRLS(2, alpha=1.0, gamma="auto").fit(X, y).gamma_ == 0.5
    assert GreedyKernelRLS(2, alpha=1.0).fit(X, y).gamma_ == pytest.approx(0.5 / X.var())


@pytest.mark.parametrize("given_pool", [False, True])
def test_the_penalty_is_chosen_in_outer_folds(given_pool: bool) -> None:
    X, y = data(24)
    pool = X[:10] + 0.1 if given_pool else None
    folds = KFold(3)
    model = GreedyKernelRLS(
        3, gamma=0.7, alpha=[0.01, 1.0], alpha_cv=folds, refit_alpha="same", centers=pool
    ).fit(X, y)
    surface = model.path_.surface
    assert surface is not None
    assert surface.fold_losses is not None
    for fold, (train, test) in enumerate(folds.split(X)):
        for row, alpha in enumerate((0.01, 1.0)):
            # Found among the training rows alone, as if the others were not there.
            points = X[train] if pool is None else pool
            case = KernelCase(
                *(X[train], points, y[train, None], 3, {"name": "rbf", "gamma": 0.7}),
                alpha=alpha,
                fit_intercept=True,
            )
            twin, _ = literal_centers(case)
            for k in range(1, 4):
                C = points[twin.indices[:k]]
                fitted = rbf(X[train], C), rbf(C, C), y[train, None], np.ones(len(train))
                coef, intercept = fit(*fitted, alpha, True)
                loss = np.mean((y[test, None] - rbf(X[test], C) @ coef - intercept) ** 2)
                assert surface.fold_losses[fold, row, k - 1] == pytest.approx(loss, rel=1e-6)


def test_the_defaults_choose_penalty_and_size() -> None:
    X, y = data(100)
    model = GreedyKernelRLS(max_centers=12, size_rule="1se").fit(X, y)
    assert 2 <= model.n_centers_ <= 12
    assert model.path_.refit_alphas is not None
    assert "outer folds" in model.path_.sentence
    assert model.score(X, y) > 0.8
    joint = GreedyKernelRLS(4, alpha=[1e-3, 0.1, 100.0], alpha_rule="joint").fit(X, y)
    assert joint.alpha_ in (1e-3, 0.1, 100.0)
    grouped = GreedyKernelRLS(3, alpha=0.1, cv=GroupKFold(4))
    assert len(grouped.fit(X, y, groups=np.arange(100) % 7).path_) == 3


def test_classes() -> None:
    X, y = make_moons(200, noise=0.15, random_state=0)
    names = np.array(["left", "right"])[y]
    for loss in ("squared", "zero_one", "auc"):
        model = GreedyKernelRLSClassifier(12, alpha=0.01, gamma=2.0, loss=loss).fit(X, names)
        assert model.score(X, names) > 0.95
        assert model.decision_function(X).shape == (200,)
        assert model.dual_coef_.shape == (1, 12)
    three = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [0.0, 1.0])]
    model = GreedyKernelRLSClassifier(10, alpha=0.01, gamma=2.0).fit(X, three)
    assert model.decision_function(X).shape == (200, 3)
    assert model.score(X, three) > 0.9
    assert set(model.with_n_centers(2).predict(X)) <= {"a", "b", "c"}


def not_definite(X: Any, Y: Any) -> np.ndarray:
    distances = np.sum((np.asarray(X)[:, None] - np.asarray(Y)[None]) ** 2, axis=2)
    return 1.0 - distances


WRONG: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "unknown kernel": ({"kernel": "cosine"}, ValueError, "kernel must be one of 'rbf'"),
    "no kernel": ({"kernel": None}, ValueError, "got None"),
    "gamma 0": ({"gamma": 0.0}, ValueError, "gamma must be greater than 0, got 0.0"),
    "gamma of text": ({"gamma": "large"}, ValueError, "got 'large'"),
    "gamma of none": ({"gamma": []}, ValueError, "list of gamma is empty"),
    "gamma NaN": ({"gamma": np.nan}, ValueError, "gamma must be finite"),
    "gammas of a function": ({"gamma": [1.0, 2.0], "kernel": rbf}, ValueError, "callable has its"),
    "degree 0": ({"kernel": "poly", "degree": 0}, ValueError, "degree must be greater than 0"),
    "negative coef0": ({"kernel": "poly", "coef0": -1.0}, ValueError, "coef0 must not be negative"),
    "overflow": ({"kernel": "poly", "degree": 900, "gamma": 1e3}, ValueError, "overflows"),
    "wrong shape": (
        {"kernel": lambda X, Y: np.ones(len(X))},
        ValueError,
        r"returned an array of shape \(16,\) for 16 and 16 points",
    ),
    "not finite": (
        {"kernel": lambda X, Y: np.full((len(X), len(Y)), np.nan)},
        ValueError,
        "returned NaN or infinity",
    ),
    "complex": (
        {"kernel": lambda X, Y: np.ones((len(X), len(Y))) * 1j},
        TypeError,
        "must return real numbers",
    ),
    "negative diagonal": ({"kernel": lambda X, Y: -rbf(X, Y)}, ValueError, "positive semidefinite"),
    "not definite": ({"kernel": not_definite}, ValueError, "not positive semidefinite"),
    "not symmetric": (
        {"kernel": lambda X, Y: rbf(X, Y) + 0.1 * np.asarray(X)[:, :1]},
        ValueError,
        "not symmetric",
    ),
    "zero everywhere": (
        {"kernel": lambda X, Y: np.zeros((len(X), len(Y)))},
        ValueError,
        "0 everywhere",
    ),
    "pool of another space": ({"centers": np.ones((3, 5))}, ValueError, "centers has 5 columns"),
    "pool with NaN": ({"centers": np.full((3, 2), np.nan)}, ValueError, "centers contains NaN"),
    "too many": ({"n_centers": 91}, ValueError, "there are 90 candidates"),
    "share": ({"n_centers": 1.5}, ValueError, "share in"),
    "text": ({"n_centers": "many"}, ValueError, "n_centers must be"),
    "true": ({"n_centers": True}, TypeError, "n_centers must be"),
    "few candidates": ({"max_candidates": 0}, ValueError, "max_candidates must be"),
    "both": ({"max_candidates": 1, "centers": np.ones((3, 2))}, ValueError, "pass that many"),
    "most": ({"n_centers": "auto", "max_centers": 0}, ValueError, "max_centers must be"),
    "alpha": ({"alpha": 0.0}, ValueError, "alpha must be a finite number greater than 0"),
    "rule": ({"alpha": [1.0, 2.0], "alpha_rule": "all_features"}, ValueError, "at once"),
    "held out": (
        {"alpha": [1.0, 2.0], "max_candidates": 1, "n_centers": 1},
        ValueError,
        "held out by one outer fold",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_input(name: str) -> None:
    X, y = data()
    options, error, words = WRONG[name]
    with pytest.raises(error, match=words):
        GreedyKernelRLS(**({"n_centers": 5, "alpha": 0.1} | options)).fit(X, y)


def test_sizes_that_are_not_there() -> None:
    X, y = data()
    model = GreedyKernelRLS(3, alpha=0.1).fit(X, y)
    with pytest.raises(ValueError, match="k=4 is not on the path, which has 0 to 3 centres"):
        model.with_n_centers(4)
    with pytest.raises(TypeError, match="whole number"):
        model.with_n_centers(1.0)  # type: ignore[arg-type] # wrong on purpose
    assert GreedyKernelRLS(0.05, alpha=0.1).fit(X, y).n_centers_ == 4


def test_sentences_speak_of_centres() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    model = GreedyKernelRLS(3, alpha=[0.1, 1.0]).fit(X, np.sin(X[:, 0]))
    assert "The model on the chosen centres has the penalty " in model.path_.sentence
    assert "feature" not in model.path_.sentence
    assert model.path_.unit == "centre"
    assert repr(model.path_).startswith("<SelectionPath of 3 centres [")
    assert " 3 of 40 centres " in " ".join(
        re.sub("<[^>]*>", " ", model.path_._repr_html_()).split()
    )
