"""Weights of classes: as weights of samples, and within outer folds those of their rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.class_weight import compute_class_weight

import literal
from assess_twin import Question
from greedyrls import GreedyKernelRLSClassifier, GreedyRLSClassifier
from greedyrls.assess import cross_validate_path, permutation_null, resample_path
from greedyrls.files import open_npy
from internals import draw_rows

ALPHAS = [0.1, 1.0, 30.0]
RULES = ["balanced", {"rare": 4.0}, {"rare": 2.5, "common": 0.5}]


def rare(m: int = 60, n: int = 7, classes: int = 2, seed: int = 0) -> Any:
    """Classes of which one has a tenth of the samples; weights; none in order."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n)) + rng.standard_normal(n)
    signal = X[:, 1] - X[:, 4] + 0.7 * rng.standard_normal(m)
    ranks = np.argsort(np.argsort(signal))
    y = np.where(ranks >= m - m // 10, "rare", "common").astype("U6")
    if classes == 3:
        y[ranks < m // 3] = "middle"
    return X, y, rng.integers(0, 4, m).astype(float)


def weights_of(rule: Any, y: Any, w: Any) -> Any:
    if rule == "balanced":
        return w * literal.balanced_factors(y, w, np.flatnonzero(w > 0))
    return w * np.array([rule.get(label, 1.0) for label in y.tolist()])


def given(kind: str, X: Any, folder: Path) -> Any:
    if kind == "file":
        np.save(folder / "X.npy", X)
        return open_npy(folder / "X.npy")
    return sparse.csr_array(X) if kind == "sparse" else np.asfortranarray(X)


@pytest.mark.parametrize("kind", ["array", "sparse", "file"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("rule", RULES)
def test_with_one_penalty_they_are_weights_of_samples(
    kind: str, classes: int, rule: Any, tmp_path: Path
) -> None:
    X, y, w = rare(classes=classes)
    for loss in ("squared", "zero_one", "balanced_zero_one"):
        for cv in ("loo", 3):
            if kind == "file" and cv == 3 and loss != "squared":
                continue
            own = GreedyRLSClassifier(4, alpha=0.5, loss=loss, cv=cv, class_weight=rule)
            own.fit(given(kind, X, tmp_path), y, sample_weight=w)
            plain = GreedyRLSClassifier(4, alpha=0.5, loss=loss, cv=cv)
            plain.fit(X, y, sample_weight=weights_of(rule, y, w))
            assert_array_equal(own.selected_, plain.selected_)
            assert_allclose(own.coef_, plain.coef_, rtol=1e-8, atol=1e-12)
            assert_allclose(own.path_.losses, plain.path_.losses, rtol=1e-8, atol=1e-12)


def test_balanced_weights_are_those_of_scikit_learn() -> None:
    X, y, _ = rare(classes=3)
    names = np.unique(y)
    of_classes = compute_class_weight("balanced", classes=names, y=y)
    rule = dict(zip(names.tolist(), of_classes.tolist(), strict=True))
    one = GreedyRLSClassifier(3, alpha=1.0, class_weight="balanced").fit(X, y)
    other = GreedyRLSClassifier(3, alpha=1.0, class_weight=rule).fit(X, y)
    assert_allclose(one.coef_, other.coef_, rtol=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("loss", ["squared", "zero_one"])
def test_outer_folds_have_balanced_weights_of_their_own(
    classes: int, is_weighted: bool, loss: str
) -> None:
    """Of the training rows; test rows count with these, and the model has those of all rows."""
    X, y, w = rare(classes=classes, seed=2)
    w = w if is_weighted else np.ones(len(y))
    splits = list(StratifiedKFold(3).split(X, y))
    codes = Question(X, y, 2, {}, is_classification=True).codes
    twin = literal.nested_surface(
        *(X, codes, splits, ALPHAS, 3), loss=loss, sample_weight=w, balanced=y
    )
    model = GreedyRLSClassifier(
        3, alpha=ALPHAS, alpha_cv=splits, loss=loss, refit_alpha="same", class_weight="balanced"
    )
    model.fit(X, y, sample_weight=w if is_weighted else None)
    assert_allclose(model.path_.surface.fold_losses, twin["fold_losses"], rtol=1e-8, atol=1e-12)
    assert_allclose(model.path_.surface.losses, twin["losses"], rtol=1e-8, atol=1e-12)
    plain = GreedyRLSClassifier(3, alpha=model.alpha_, loss=loss)
    plain.fit(X, y, sample_weight=weights_of("balanced", y, w))
    assert_allclose(model.coef_, plain.coef_, rtol=1e-8, atol=1e-12)
    # With the weights of all rows in every fold the losses are others.
    same = GreedyRLSClassifier(3, alpha=ALPHAS, alpha_cv=splits, loss=loss, refit_alpha="same")
    same.fit(X, y, sample_weight=weights_of("balanced", y, w))
    if loss == "squared" and is_weighted:
        assert np.abs(same.path_.surface.losses - twin["losses"]).max() > 1e-6


@pytest.mark.parametrize("kind", ["sparse", "file"])
def test_outer_folds_of_other_data(kind: str, tmp_path: Path) -> None:
    X, y, w = rare(seed=3)
    own = GreedyRLSClassifier(3, alpha=ALPHAS, class_weight="balanced", loss="squared")
    found = own.fit(given(kind, X, tmp_path), y, sample_weight=w).path_.surface.losses
    assert_allclose(found, own.fit(X, y, sample_weight=w).path_.surface.losses, rtol=1e-9)


@pytest.mark.parametrize("rule", RULES)
def test_kernel_centres(rule: Any) -> None:
    X, y, w = rare(seed=1)
    own = GreedyKernelRLSClassifier(4, alpha=0.1, gamma=0.2, class_weight=rule)
    plain = GreedyKernelRLSClassifier(4, alpha=0.1, gamma=0.2)
    own.fit(X, y, sample_weight=w)
    plain.fit(X, y, sample_weight=weights_of(rule, y, w))
    assert_array_equal(own.center_indices_, plain.center_indices_)
    assert_allclose(own.dual_coef_, plain.dual_coef_, rtol=1e-8)


def test_a_rare_class_is_predicted() -> None:
    X, y, _ = rare(400, seed=5)
    plain = GreedyRLSClassifier(2, alpha=1.0).fit(X, y)
    balanced = GreedyRLSClassifier(2, alpha=1.0, class_weight="balanced").fit(X, y)
    is_rare = y == "rare"
    found = [(model.predict(X)[is_rare] == "rare").mean() for model in (plain, balanced)]
    assert found[0] < 0.4
    assert found[1] > 0.8
    # The score is that of the labels alone.
    assert balanced.score(X, y) == pytest.approx((balanced.predict(X) == y).mean())


def test_permuted_labels_take_their_weights_along() -> None:
    X, y, w = rare(40)
    options: dict[str, Any] = {"alpha": 1.0, "class_weight": "balanced", "sample_weight": w}
    null = permutation_null(X, y, 2, n_permutations=3, measure="squared", **options)
    question = Question(X, y, 2, options | {"measure": "squared"}, is_classification=True)
    rows = np.arange(len(y))
    assert_allclose(null.losses, question.own_losses(question.select(rows), rows), rtol=1e-8)


def test_resamples_have_weights_of_their_own_rows() -> None:
    X, y, _ = rare(80, seed=4)
    options: dict[str, Any] = {"alpha": 1.0, "class_weight": "balanced"}
    question = Question(X, y, 3, options, is_classification=True)
    for kind in ("subsample", "bootstrap"):
        found = resample_path(X, y, 3, resample=kind, n_resamples=6, **options)
        draws, _ = draw_rows(
            np.ones(80, dtype=bool), y, None, kind, 6, 0.5, np.random.default_rng(0)
        )
        for order, (rows, counts) in zip(found.selections, draws, strict=True):
            assert order.tolist() == question.select(rows, counts).indices.tolist()


@pytest.mark.slow
def test_jobs_change_nothing() -> None:
    X, y, w = rare(seed=6)
    one, two = (
        cross_validate_path(
            X, y, 2, cv=3, alpha=1.0, class_weight="balanced", sample_weight=w, n_jobs=n_jobs
        )
        for n_jobs in (1, 2)
    )
    assert one.to_json() == two.to_json()


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("even", "class_weight must be None, 'balanced', or a dict .* got 'even'"),
        (2.0, "class_weight must be None, 'balanced', or a dict .* got 2.0"),
        ({"yes": 2.0}, "has a weight for 'yes', which no sample has; .*common.*rare"),
        ({"rare": 0.0}, "class_weight of 'rare' must be a finite number greater than 0, got 0.0"),
        ({"rare": -1}, "class_weight of 'rare' must be a finite number greater than 0, got -1"),
        ({"rare": np.nan}, "class_weight of 'rare' must be a finite number"),
        ({"rare": True}, "class_weight of 'rare' must be a finite number"),
        ({"rare": "3"}, "class_weight of 'rare' must be a finite number .* got '3'"),
    ],
)
def test_wrong_weights(rule: Any, message: str) -> None:
    X, y, _ = rare()
    for call in (
        lambda: GreedyRLSClassifier(2, alpha=1.0, class_weight=rule).fit(X, y),
        lambda: GreedyKernelRLSClassifier(2, alpha=1.0, class_weight=rule).fit(X, y),
        lambda: cross_validate_path(X, y, 2, alpha=1.0, class_weight=rule),
        lambda: permutation_null(X, y, 2, alpha=1.0, class_weight=rule),
        lambda: resample_path(X, y, 2, alpha=1.0, class_weight=rule),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_numbers_have_no_classes() -> None:
    X, _, _ = rare()
    with pytest.raises(ValueError, match="class_weight='balanced' is for classification"):
        cross_validate_path(X, X[:, 0], 2, alpha=1.0, class_weight="balanced")
