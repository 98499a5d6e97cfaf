"""Penalties beyond the grid where the best is its last one, and ties, in numbers and in words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from greedyrls import GreedyRLSClassifier, GreedyRLSRegressor, SelectionPath, greedy_path
from internals import auto_grid, chosen_pair
from literal import best_pair, nested_surface
from penalties import numbers
from shuffled import shuffled_ids, shuffled_splits
from tuning import Tune

LAST = ("It is the largest value tried.", "It is the smallest value tried.")


def wide(seed: int) -> Any:
    """Many features that each say a little of one hidden number: a small penalty overfits."""
    rng = np.random.default_rng(seed)
    X, hidden = rng.standard_normal((60, 400)), rng.standard_normal(60)
    X[:, :100] += 0.5 * hidden[:, None]
    return X, hidden + 0.5 * rng.standard_normal(60)


def without_noise(m: int = 40) -> Any:
    X, _ = numbers(m)
    return X, X[:, :3] @ [2.0, -1.0, 1.0]


def held_out(path: SelectionPath) -> Any:
    assert path.surface is not None
    return path.surface.losses[:, path.surface.size - 1]


@pytest.mark.parametrize("seed", [2, 4, 5])
def test_the_grid_grows_where_its_end_is_best(seed: int) -> None:
    X, y = wide(seed)
    path = greedy_path(X, y, 25, alpha="auto")
    alphas = path.surface.alphas
    assert len(alphas) == 8
    assert_allclose(alphas[1:] / alphas[:-1], 10.0, rtol=1e-12)
    assert path.surface.row == np.argmin(held_out(path)) == 6
    assert not any(words in path.sentence for words in LAST)
    assert "was chosen from 8 values" in path.sentence
    # As if all had been asked for at once; a list of the user's own is never made longer.
    given = greedy_path(X, y, 25, alpha=alphas)
    assert_allclose(given.surface.losses, path.surface.losses, rtol=1e-9)
    assert given.settings.alpha == path.settings.alpha
    assert given.indices.tolist() == path.indices.tolist()
    short = greedy_path(X, y, 25, alpha=alphas[:7])
    assert len(short.surface.alphas) == 7
    assert short.surface.row == 6
    assert LAST[0] in short.sentence


@pytest.mark.parametrize("rule", ["nested", "joint", "all_features"])
def test_it_stops_growing(rule: Any, tune: Tune) -> None:
    # With smaller penalties the losses would be those of rounding, and tie.
    tune(auto_exponents=np.arange(-1.0, 2.5))
    X, y = without_noise()
    path = greedy_path(X, y, 3, alpha="auto", alpha_rule=rule, refit_alpha="same")
    assert path.surface.row == 0
    assert LAST[1] in path.sentence
    assert len(path.surface.alphas) == (10 if rule == "all_features" else 7)
    assert_allclose(path.surface.alphas[1:] / path.surface.alphas[:-1], 10.0, rtol=1e-12)
    assert (np.diff(held_out(path)) > 0.0).all()
    single = greedy_path(X, y, 3, alpha=path.surface.alpha)
    assert_array_equal(path.indices, single.indices)
    assert_allclose(path.losses, single.losses, rtol=1e-9)


@pytest.mark.slow
def test_what_grows_is_the_literal_surface(tune: Tune) -> None:
    """One penalty at a time, while the best is the last."""
    tune(auto_exponents=np.array([-4.0, -3.5, -3.0]))
    grew = set()
    for seed in range(3):
        X, y = numbers(24, 8, seed)
        path = greedy_path(X, y, 3, alpha="auto", refit_alpha="same")
        centred = X - X.mean(axis=0)
        alphas = (np.median((centred**2).sum(axis=0)) * 10.0 ** np.array([-4, -3.5, -3])).tolist()
        splits = shuffled_splits(24, 5)
        for turn in range(4):
            losses = nested_surface(X, y, splits, alphas, 3)["losses"]
            row, _ = best_pair(losses, 3)
            if turn == 3 or 0 < row < len(alphas) - 1:
                break
            step = np.sqrt(10.0)
            alphas = sorted([*alphas, alphas[0] / step if row == 0 else alphas[-1] * step])
        grew.add(len(alphas))
        assert_allclose(path.surface.alphas, alphas, rtol=1e-8)  # they have nine digits
        assert_allclose(path.surface.losses, losses, rtol=1e-8)
        assert path.surface.row == row
    assert len(grew) > 1


def test_all_penalties_that_find_the_same_features_say_so() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 8))
    y = X[:, :3] @ [5.0, 3.0, 2.0] + 0.5 * rng.standard_normal(300)
    path = GreedyRLSRegressor(3).fit(X, y).path_
    assert np.ptp(held_out(path)) < 1e-10
    assert path.surface.row == 3
    assert len(path.surface.alphas) == 7
    assert " All of them find the same features. The model" in path.sentence
    assert " value tried" not in path.sentence
    assert "All of them" not in greedy_path(*wide(2), 5, alpha="auto").sentence


def test_equal_error_rates_are_not_equal_features() -> None:
    """Nothing beats the more frequent class, whatever the features."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 12))
    y = np.repeat([1.0, -1.0], [4, 56])
    path = greedy_path(X, y, 1, alpha=[0.1, 10.0, 1e3], loss="zero_one", alpha_cv=np.arange(60) % 3)
    assert np.ptp(held_out(path)) == 0.0
    assert " All of them do equally well." in path.sentence


def test_a_single_penalty_is_not_chosen() -> None:
    X, y = numbers(40)
    model = GreedyRLSClassifier(2, alpha=[3.0]).fit(X, y > 0)
    assert "alpha=3 is the only value tried; its held-out loss is that of outer" in (
        model.path_.surface.sentence
    )
    assert "chosen from" not in model.path_.sentence


def test_one_standard_error_is_of_the_penalty_of_smallest_loss() -> None:
    found = set()
    for seed in range(40):
        rng = np.random.default_rng(seed)
        losses = rng.choice([1.0, 1.0, 1.1, 1.25, 2.0], (5, 4))
        initial, least = float(rng.choice([0.9, 1.0, 1.1, 2.0])), int(rng.integers(3))
        root = 0.3 * rng.standard_normal((5, 5))
        pair = chosen_pair(losses, initial, lambda row, root=root: (row + 1) * root @ root.T, least)
        assert pair is not None
        row, best = best_pair(losses, least)
        if least == 0 and initial <= losses[row, best - 1]:
            best = 0
        assert pair.best_size == best
        curve = [initial, *losses[row]]
        within = [
            size
            for size in range(least, best)
            if curve[size] - curve[best]
            <= np.sqrt(row + 1) * np.linalg.norm(root[size] - root[best]) * (1.0 + 1e-9)
        ]
        assert (pair.row, pair.size) == (row, min([*within, best]))
        smallest = chosen_pair(losses, initial, None, least)
        assert smallest == pair._replace(size=best, error=smallest.error)
        found.add((pair.size == best, best == 0))
    assert len(found) == 3


def test_a_grid_with_more_on_both_sides() -> None:
    assert_allclose(auto_grid(2.0), 2.0 * 10.0 ** np.arange(-4.0, 3.0))
    assert_allclose(auto_grid(2.0, 2), 2.0 * 10.0 ** np.arange(-6.0, 5.0))


def test_ids_of_the_folds_can_be_given() -> None:
    """What the twin of shuffled folds gives is what the choice goes by, penalties and all."""
    X, y = wide(2)
    path = greedy_path(X, y, "auto", alpha="auto", max_features=20)
    given = greedy_path(X, y, "auto", alpha="auto", max_features=20, alpha_cv=shuffled_ids(60, 5))
    assert_array_equal(given.surface.fold_losses, path.surface.fold_losses)
    assert given.settings.alpha == path.settings.alpha
