"""Shuffled folds: a bijection of the rows that each row can compute for itself."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_diabetes

from greedyrls import (
    GreedyKernelRLS,
    GreedyKernelRLSClassifier,
    GreedyRLSClassifier,
    GreedyRLSRanker,
    GreedyRLSRegressor,
    greedy_path,
)
from greedyrls.assess import cross_validate_path
from greedyrls.files import open_npy
from internals import Shuffle, make_folds, make_shuffle
from shuffled import place_of, shuffled_ids


def ids_of(m: int, n_folds: int, seed: int = 0, labels: Any = None, weights: Any = None) -> Any:
    folds = make_folds(
        n_folds, m, y=None, labels=labels, groups=None, weights=weights, shuffle=Shuffle(seed)
    )
    assert folds is not None
    assert folds.is_partition
    ids = np.empty(m, dtype=np.intp)
    for fold, split in enumerate(folds.splits):
        ids[split.test] = fold
    return ids


def test_the_folds_of_a_seed_never_change() -> None:
    """Results that were told with their seed can be had again, on any machine."""
    expected = {0: [0, 0, 2, 0, 1, 2, 1, 0, 1, 2], 1: [2, 1, 0, 0, 2, 1, 0, 1, 0, 2]}
    for seed, ids in expected.items():
        assert ids_of(10, 3, seed).tolist() == ids
    far = Shuffle(7).positions(np.array([0, 1, 10**12 - 1]), 10**12, 0)
    assert far.tolist() == [place_of(number, 10**12, 7) for number in (0, 1, 10**12 - 1)]


@pytest.mark.parametrize("m", [1, 2, 3, 5, 16, 17, 442, 20_000])
def test_places_are_a_permutation(m: int) -> None:
    for seed in (0, 1, 2**70):
        places = Shuffle(seed).positions(np.arange(m), m, 3)
        assert_array_equal(np.sort(places), np.arange(m))
        some = np.random.default_rng(0).permutation(m)[:50]
        assert_array_equal(Shuffle(seed).positions(some, m, 3), places[some])
        assert places[: min(m, 9)].tolist() == [place_of(i, m, seed, 3) for i in range(min(m, 9))]


@pytest.mark.parametrize("n_folds", [2, 5, 7])
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("has_classes", [False, True])
def test_folds_are_those_of_the_twin_and_balanced(
    n_folds: int, is_weighted: bool, has_classes: bool
) -> None:
    generator = np.random.default_rng(n_folds)
    m = 103
    weights = generator.choice([0.0, 1.0, 2.5], m) if is_weighted else None
    labels = generator.choice(["z", "x", "y"], m, p=[0.6, 0.2, 0.2]) if has_classes else None
    ids = ids_of(m, n_folds, 4, labels, weights)
    assert_array_equal(ids, shuffled_ids(m, n_folds, 4, labels, weights))
    used = np.ones(m, dtype=bool) if weights is None else weights > 0.0
    parts = [used] if labels is None else [used, *(used & (labels == name) for name in "xyz")]
    for part in parts:
        counts = np.bincount(ids[part], minlength=n_folds)
        assert counts.max() - counts.min() <= 1
    assert (ids[~used] == 0).all()


def test_rows_without_weight_are_no_rows() -> None:
    weights = np.tile([1.0, 0.0, 2.0], 20)
    assert_array_equal(ids_of(60, 4, weights=weights)[weights > 0.0], ids_of(40, 4))


def test_names_of_classes_are_no_matter() -> None:
    y = np.random.default_rng(0).integers(0, 3, 50)
    for names in (["a", "b", "c"], ["c", "a", "b"], [3, 2, 1]):
        assert_array_equal(ids_of(50, 5, labels=np.array(names)[y]), ids_of(50, 5, labels=y))


@pytest.mark.parametrize(("m", "n_folds"), [(10, 5), (20, 5), (60, 4)])
def test_any_two_rows_are_as_often_together_as_by_chance(m: int, n_folds: int) -> None:
    """No pattern of neighbours, distances or halves."""
    count = 1500
    ids = np.array([ids_of(m, n_folds, seed) for seed in range(count)])
    together = (ids[:, :, None] == ids[:, None, :]).mean(axis=0)[np.triu_indices(m, 1)]
    chance = (m / n_folds - 1) / (m - 1)
    errors = (together - chance) / np.sqrt(chance * (1.0 - chance) / count)
    assert np.abs(errors).max() < 4.5
    assert 0.8 < errors.std() < 1.2
    shares = (ids == 0).mean(axis=0) * n_folds
    assert np.abs(shares - 1.0).max() < 5.0 * np.sqrt((n_folds - 1) / count)


def test_seeds_and_generators() -> None:
    assert make_shuffle(3) == Shuffle(3)
    assert Shuffle(3).words == ", shuffled with seed 3"
    one, two = (make_shuffle(np.random.default_rng(1)) for _ in range(2))
    assert one == two
    assert one.words == ", shuffled"
    assert make_shuffle(np.random.RandomState(1)) == make_shuffle(np.random.RandomState(1))
    assert make_shuffle(None) != make_shuffle(None)
    for wrong in (-1, 1.5, "seed", True):
        with pytest.raises(ValueError, match=f"random_state must be None.*got {wrong!r}"):
            make_shuffle(wrong)


# What it is for ----------------------------------------------------------------------------------


def held_out(model: Any) -> float:
    surface = model.path_.surface
    return float(surface.losses[surface.row, surface.size - 1])


def test_the_order_of_rows_changes_nothing_but_noise() -> None:
    """In their order, rows sorted by the target gave a loss of 4,974 instead of 2,986."""
    X, y = load_diabetes(return_X_y=True)
    usual = held_out(GreedyRLSRegressor().fit(X, y))
    for order in (np.argsort(y, kind="stable"), np.argsort(X[:, 2]), np.arange(len(y))[::-1]):
        model = GreedyRLSRegressor().fit(X[order], y[order])
        assert held_out(model) == pytest.approx(usual, rel=0.03)
        by_folds = GreedyRLSRegressor(4, cv=10, alpha=[0.01, 0.1, 1.0]).fit(X[order], y[order])
        assert held_out(by_folds) == pytest.approx(usual, rel=0.05)
    order = np.argsort(y, kind="stable")
    one, two = (cross_validate_path(X[o], y[o], 4, alpha=0.1) for o in (order, order[::-1]))
    assert one.estimate[0] == pytest.approx(two.estimate[0], rel=0.03)
    assert one.folds == "10-fold, shuffled with seed 0"


@pytest.mark.parametrize("cv", ["loo", 4])
def test_the_seed_decides(cv: Any) -> None:
    X, y = load_diabetes(return_X_y=True)
    options: dict[str, Any] = {"alpha": [0.1, 1.0], "cv": cv}
    count = 5 if cv == "loo" else cv
    found = Counter()
    for seed in (0, 0, 1, np.random.default_rng(0)):
        path = greedy_path(X, y, 3, random_state=seed, **options)
        told = f" with seed {seed}" if isinstance(seed, int) else ""
        assert path.surface.folds == f"{count}-fold, shuffled{told}"
        found[path.surface.losses.tobytes()] += 1
        if isinstance(seed, int):
            ids = shuffled_ids(len(y), count, seed)
            given = greedy_path(X, y, 3, alpha_cv=ids, **options)
            assert_array_equal(given.surface.losses, path.surface.losses)
    assert sorted(found.values()) == [1, 1, 2]
    path = greedy_path(X, y, 3, random_state=1, **options)
    regressor = GreedyRLSRegressor(3, random_state=1, **options).fit(X, y)
    assert_array_equal(regressor.path_.surface.losses, path.surface.losses)


def test_classes_are_spread() -> None:
    X, y = load_diabetes(return_X_y=True)
    order = np.argsort(y)
    labels = np.where(y > 230.0, "high", "low")
    model = GreedyRLSClassifier(2, alpha=[0.1, 1.0], loss="squared").fit(X[order], labels[order])
    assert model.path_.surface.folds == "5-fold, stratified, shuffled with seed 0"
    given = GreedyRLSClassifier(
        *(2,),
        alpha=[0.1, 1.0],
        loss="squared",
        alpha_cv=shuffled_ids(len(y), 5, labels=labels[order]),
    ).fit(X[order], labels[order])
    assert_array_equal(given.path_.surface.losses, model.path_.surface.losses)


def test_a_loss_that_needs_rare_classes_in_each_fold_keeps_the_folds_of_the_search() -> None:
    """Shuffled outer folds would leave a fold of the search without its only positive row."""
    generator = np.random.default_rng(0)
    X = generator.standard_normal((60, 4))
    y = np.repeat([0, 1], [54, 6])
    X[:, 0] += 2.0 * y
    rare = GreedyRLSClassifier(2, alpha=[0.1, 1.0], loss="auc", cv=6).fit(X, y)
    assert rare.path_.surface.folds == "6-fold, stratified"
    frequent = GreedyRLSClassifier(2, alpha=[0.1, 1.0], loss="auc", cv=3).fit(X, y)
    assert frequent.path_.surface.folds == "3-fold, stratified, shuffled with seed 0"


@pytest.mark.parametrize("cv", ["loo", 4])
@pytest.mark.parametrize("kind", ["sparse", "file", "torch"])
def test_the_same_folds_wherever_the_rows_are(kind: str, cv: Any, tmp_path: Path) -> None:
    """Dask: tests/cluster/test_dask_folds.py."""
    X, y = load_diabetes(return_X_y=True)
    X, y = X[np.argsort(y)], np.sort(y)
    weights = np.random.default_rng(0).choice([0.0, 1.0, 2.0], len(y))
    given: Any = X
    target, own = y, weights
    if kind == "sparse":
        given = sparse.csr_array(X)
    elif kind == "file":
        np.save(tmp_path / "X.npy", X)
        given = open_npy(tmp_path / "X.npy", memory_limit="20MB")
    else:
        torch = pytest.importorskip("torch")
        given, target, own = (torch.from_numpy(each) for each in (X, y, weights))
    options: dict[str, Any] = {"alpha": "auto", "cv": cv, "max_features": 6}
    expected = greedy_path(X, y, "auto", sample_weight=weights, **options)
    found = greedy_path(given, target, "auto", sample_weight=own, **options)
    assert found.surface.folds == expected.surface.folds
    assert_allclose(found.surface.fold_losses, expected.surface.fold_losses, rtol=1e-9)
    assert_allclose(found.settings.alpha, expected.settings.alpha, rtol=1e-12)
    assert found.chosen_size == expected.chosen_size
    assert found.indices.tolist() == expected.indices.tolist()


@pytest.mark.parametrize(
    "estimator",
    [
        GreedyKernelRLS,
        GreedyKernelRLSClassifier,
        GreedyRLSClassifier,
        GreedyRLSRanker,
        GreedyRLSRegressor,
    ],
)
def test_estimators_are_the_same_at_every_fit_unless_told_otherwise(estimator: Any) -> None:
    assert estimator().get_params()["random_state"] == 0
    assert estimator(random_state=3).get_params()["random_state"] == 3
