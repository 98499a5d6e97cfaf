"""Outer folds that advance in rounds: the slow twin goes to the end, and then applies the rule."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.model_selection import GroupKFold

from greedyrls import GreedyRLSClassifier, GreedyRLSRegressor, greedy_path
from literal import best_pair, nested_surface
from problems import two_classes
from shuffled import shuffled_splits
from traps import interrupted_at
from tuning import Tune

ALPHAS = [0.01, 1.0, 100.0, 1e4]


def numbers(m: int, n: int, seed: int, n_true: int = 5, noise: float = 1.0) -> Any:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    return X, X[:, :n_true].sum(axis=1) + noise * rng.standard_normal(m)


def all_the_way(X: Any, y: Any, alphas: Sequence[float], size: int, splits: Any) -> Any:
    """Losses by fold (F × A × k), without any rule on when to stop; of no features (F)."""
    folds = np.full((len(splits), len(alphas), size), np.nan)
    initial = np.empty(len(splits))
    for fold, (train, test) in enumerate(splits):
        initial[fold] = np.mean((y[test] - y[train].mean()) ** 2)
        for row, alpha in enumerate(alphas):
            path = greedy_path(X[train], y[train], size, alpha=alpha)
            for k in range(1, len(path) + 1):
                folds[fold, row, k - 1] = np.mean((y[test] - path.predict(X[test], k)) ** 2)
    return folds, initial


def by_the_rule(folds: Any, initial: Any, shares: Any, least: int = 0) -> Any:
    """What is left of losses to the end (F × A × k): not a number where nobody looked."""
    known = np.full_like(folds, np.nan)
    rows, most = set(range(folds.shape[1])), folds.shape[2]
    size = min(most, 2 * least + 10)
    while True:
        for row in rows:
            known[:, row, :size] = folds[:, row, :size]
        losses = np.einsum("f,fak->ak", shares, known[:, :, :size])
        best_row, best = best_pair(losses, least)
        found = 0 if least == 0 and shares @ initial <= losses[best_row, best - 1] else best
        if 2 * found + 10 <= size or size == most:
            return known[:, :, :size]
        for row in sorted(rows - {best_row}):
            behind = known[:, row, size // 2 : size] - known[:, [best_row], best - 1]
            spread = shares[:, None] * (behind - shares @ behind)
            errors = np.sqrt((spread**2).sum(axis=0) * len(shares) / (len(shares) - 1))
            if (shares @ behind > 4.0 * errors).all():
                rows.discard(row)
        size = min(most, 2 * found + 10)


PROBLEMS: dict[str, Any] = {
    "noise": (60, 30, 0, 0, 1.0),
    "few": (60, 30, 1, 3, 1.0),
    "ten": (90, 30, 2, 10, 0.3),
    "all": (90, 30, 3, 30, 0.3),
}


# Where a penalty falls so far behind that it does not go on.
DROPPED = ("few", "ten")


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("is_live", [pytest.param(True, marks=pytest.mark.slow), False])
def test_rounds_are_the_whole_cut_by_the_rule(name: str, is_live: bool, tune: Tune) -> None:
    """Also where searches are not kept between rounds."""
    if not is_live:
        tune(live_bytes=0)
    X, y = numbers(*PROBLEMS[name])
    splits = shuffled_splits(len(y), 5)
    folds, initial = all_the_way(X, y, ALPHAS, 30, splits)
    shares = np.array([len(test) for _, test in splits]) / len(y)
    expected = by_the_rule(folds, initial, shares)
    path = greedy_path(X, y, "auto", alpha=ALPHAS, refit_alpha="same", size_rule="min")
    surface = path.surface
    assert_allclose(surface.fold_losses, expected, rtol=1e-8)
    assert_allclose(surface.initial_fold_losses, initial, rtol=1e-10)
    assert len(path) == expected.shape[2]
    losses = np.einsum("f,fak->ak", shares, expected)
    row, size = best_pair(losses)
    assert surface.row == row
    assert path.chosen_size == (0 if shares @ initial <= losses[row, size - 1] else size)
    assert (path.chosen_size == 0) == (name == "noise")
    assert np.isnan(expected).any() == (name in DROPPED)


@pytest.mark.parametrize("rule", ["min", "1se"])
@pytest.mark.parametrize("seed", range(3))
def test_the_size_is_that_of_the_literal_covariance(seed: int, rule: Any) -> None:
    X, y = numbers(40, 7, seed, 3)
    weights = np.random.default_rng(seed).choice([0.5, 1.0, 2.0], 40)
    splits = shuffled_splits(40, 5)
    twin = nested_surface(X, y, splits, [0.1, 10.0], 7, sample_weight=weights)
    path = greedy_path(
        X, y, "auto", alpha=[0.1, 10.0], refit_alpha="same", size_rule=rule, sample_weight=weights
    )
    row, best = best_pair(twin["losses"])
    initial = np.average(twin["initial_row_losses"], weights=weights)
    rows = np.vstack([twin["initial_row_losses"], twin["row_losses"][row]])
    curve = np.array([initial, *twin["losses"][row]])
    share = weights / weights.sum()
    difference = rows - rows[best]
    spread = share * (difference - (difference @ share)[:, None])
    errors = np.sqrt((spread**2).sum(axis=1) * 40 / 39)
    within = np.flatnonzero(curve - curve[best] <= errors * (1.0 + 1e-9))
    assert path.chosen_size == (best if rule == "min" else within[0])
    assert path.surface.row == row
    assert path.surface.initial_loss == pytest.approx(initial, rel=1e-10)
    if rule == "1se" and within[0] < best:
        assert f"difference ({errors[within[0]]:.6g})" in path.sentence


def test_a_number_for_alpha_is_judged_by_held_out_losses() -> None:
    """100 features of which 5 are true, and pure noise: 26 and 24 by the search's own loss."""
    sizes = []
    for seed in range(3):
        X, y = numbers(120, 100, seed, 5)
        sizes.append(greedy_path(X, y, "auto", alpha=10.0).chosen_size)
        noise = np.random.default_rng(seed).standard_normal(120)
        assert greedy_path(X, noise, "auto", alpha=10.0).chosen_size <= 1
    assert max(sizes) <= 8
    assert min(sizes) == 5


def test_copies_are_not_taken() -> None:
    """b = 2a and c ≈ a: the smallest loss takes two or three of three."""
    sizes: dict[Any, list[int]] = {"min": [], "1se": []}
    for seed in range(6):
        rng = np.random.default_rng(seed)
        a = rng.standard_normal(150)
        X = np.column_stack([a, 2.0 * a, a + 0.1 * rng.standard_normal(150)])
        y = a + 0.5 * rng.standard_normal(150)
        for rule, found in sizes.items():
            found.append(GreedyRLSRegressor(size_rule=rule).fit(X, y).n_features_)
    assert sizes["1se"] == [1] * 6
    assert max(sizes["min"]) > 1
    assert GreedyRLSRegressor().size_rule == "1se"


def test_a_given_number_never_stops_early() -> None:
    X, y = numbers(60, 40, 0, 0)
    path = greedy_path(X, y, 35, alpha=ALPHAS)
    assert len(path) == 35
    assert np.isfinite(path.surface.losses).all()


def test_the_searches_own_loss_does_not_end_them() -> None:
    """On noise it goes on falling; what ends them is the held-out loss."""
    lengths = []
    for seed in range(5):
        X, y = numbers(60, 300, seed, 0)
        path = greedy_path(X, y, "auto", alpha=[1.0, 1e2, 1e4])
        lengths.append(len(path))
        assert path.surface.losses.shape[1] == len(path)
        assert path.losses[-1] < path.losses[0] < path.initial_loss
    assert sorted(lengths)[2] <= 12


def test_floating_searches_go_to_their_end() -> None:
    X, y = numbers(60, 14, 0, 2)
    path = greedy_path(X, y, "auto", alpha=[0.1, 10.0], direction="floating", max_features=12)
    assert path.surface.losses.shape == (2, 12)
    assert 2 <= path.chosen_size <= 4


def test_classes_and_folds_and_groups_and_weights() -> None:
    X, y = two_classes(60, 12, signal=0.6)
    groups = np.arange(60) // 3
    options: dict[str, Any]
    for options in ({"loss": "zero_one"}, {"loss": "auc", "alpha": 1.0}, {"cv": 5, "alpha": 1.0}):
        model = GreedyRLSClassifier(alpha_cv=5, **options).fit(X, y, groups=groups)
        again = GreedyRLSClassifier(alpha_cv=5, **options).fit(
            sparse.csr_array(X), y, groups=groups
        )
        assert model.n_features_ == again.n_features_
        surface = model.path_.surface or model.path_.size_surface
        assert np.isfinite(surface.standard_errors[surface.row, 0])
        assert_array_equal(model.path_.indices, again.path_.indices)


def test_samples_of_a_group_are_one_in_standard_errors() -> None:
    """The same rows three times over, in groups, tell no more than once."""
    X, y = numbers(40, 6, 1, 2)
    ids = np.repeat(np.arange(40), 3)
    one = greedy_path(X, y, "auto", alpha=1.0, cv=GroupKFold(5), groups=np.arange(40))
    three = greedy_path(X[ids], y[ids], "auto", alpha=3.0, cv=GroupKFold(5), groups=ids)
    assert_allclose(three.size_surface.losses, one.size_surface.losses, rtol=1e-8)
    assert_allclose(three.size_surface.standard_errors, one.size_surface.standard_errors, rtol=1e-8)
    alone = greedy_path(X[ids], y[ids], "auto", alpha=3.0, cv=np.arange(120) // 3 % 5)
    errors = alone.size_surface.standard_errors
    assert_allclose(errors, one.size_surface.standard_errors / np.sqrt(3.0), rtol=0.1)


@pytest.mark.parametrize("is_after", [False, True])
@pytest.mark.slow
def test_rounds_go_on_from_every_fold(is_after: bool, tmp_path: Path) -> None:
    """Interrupted in one round or the next, before a fold is written or after."""
    X, y = numbers(120, 30, 2, 10, 0.3)
    select = partial(greedy_path, X, y, "auto", alpha=ALPHAS, refit_alpha="same")
    whole = select(checkpoint=tmp_path / "whole.json")
    widths = set()
    for number in (1, 4, 6, 9):
        file = tmp_path / f"{number}.json"
        with (
            interrupted_at("keep outer fold", number, after=is_after),
            pytest.raises(KeyboardInterrupt),
        ):
            select(checkpoint=file)
        of_stages = json.loads(file.read_bytes())["outer_folds"]
        folds = of_stages[0] if of_stages else []
        assert len(folds) == min(5, number - (not is_after))
        widths |= {len(fold["losses"][0]) for fold in folds}
        again = select(checkpoint=file)
        assert_allclose(again.surface.fold_losses, whole.surface.fold_losses, rtol=1e-10)
        assert_allclose(again.surface.standard_errors, whole.surface.standard_errors, rtol=1e-8)
        assert again.chosen_size == whole.chosen_size
        assert_array_equal(again.indices, whole.indices)
    assert widths == {10, len(whole)}
    assert np.isnan(whole.surface.losses).any()  # a penalty was dropped on the way
