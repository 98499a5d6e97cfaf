"""Warnings of a path, of an assessment and of both: given when due, and not otherwise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from greedyrls import StopReason, greedy_path
from greedyrls.assess import (
    PathAssessment,
    PermutationNull,
    Stability,
    cross_validate_path,
    path_warnings,
)


def data(m: int = 60, n: int = 8, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    return X, X[:, :4] @ [4.0, 3.0, 2.0, 1.0] + 0.5 * rng.standard_normal(m)


def starts(found: tuple[str, ...]) -> list[str]:
    return [" ".join(words.split()[:2]) for words in found]


def test_nothing_to_tell() -> None:
    X, y = data()
    assert path_warnings(greedy_path(X, y, 8, n_runners_up=1)) == ()  # all there are
    assert path_warnings(greedy_path(X, y, 7)) == ()


def test_a_path_that_ends_too_early() -> None:
    X, y = data()
    path = greedy_path(X, y, 3)
    (words,) = path_warnings(path)
    assert words == (
        f"More than 3 features may do better: with the last feature the loss fell from "
        f"{path.losses[1]:.4g} to {path.losses[2]:.4g}."
    )
    # Not where the size was chosen, or the search was stopped.
    assert path_warnings(greedy_path(X, y, "auto", alpha=1.0)) == ()
    stopped = greedy_path(X, y, 8, callback=lambda step: step.index == path.indices[2])
    assert stopped.stop_reason is StopReason.CALLBACK
    assert path_warnings(stopped) == ()


def five_equal(k: Any, seed: int, snr: float = 4.0, **options: Any) -> tuple[str, ...]:
    """Warnings of a path on features of which five count equally, each for itself."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((200, 40))
    y = X[:, :5].sum(axis=1) + np.sqrt(5.0 / snr) * rng.standard_normal(200)
    return path_warnings(greedy_path(X, y, k, n_runners_up=2, **options))


@pytest.mark.parametrize("alpha", [1.0, [1.0, 1000.0]])
def test_a_path_of_the_true_size_has_nothing_to_tell(alpha: Any) -> None:
    """The runner-up of the last step would come next, and is noise."""
    for seed in range(6):
        assert five_equal(5, seed, alpha=alpha) == ()
        assert five_equal(5, seed, snr=1.0, alpha=alpha) == ()


@pytest.mark.parametrize("alpha", [1.0, [1.0, 1000.0]])
def test_a_path_that_ends_before_the_true_size(alpha: Any) -> None:
    found = [five_equal(3, seed, alpha=alpha) for seed in range(6)]
    due = [any("may do better" in words for words in one) for one in found]
    assert sum(due) >= (6 if alpha == 1.0 else 5)


def test_a_path_of_noise_does_not_fall() -> None:
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((100, 200)), rng.standard_normal(100)
        for k in (3, 20):
            for options in ({}, {"n_runners_up": 1}, {"alpha": [1.0, 100.0]}):
                found = path_warnings(greedy_path(X, y, k, **options))  # type: ignore[arg-type]  # options of several types
                assert not any("may do better" in words for words in found)


def test_a_budget_is_a_reason_to_stop() -> None:
    X, y = data()
    path = greedy_path(X, y, 3, alpha=1.0, feature_costs=np.ones(8).tolist(), budget=3.5)
    assert path.stop_reason is StopReason.REACHED
    assert not any("may do better" in words for words in path_warnings(path))


def test_a_path_knows_better_than_its_assessment_whether_to_go_on() -> None:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((200, 20))
    y = X[:, :3].sum(axis=1) + rng.standard_normal(200)
    tested = cross_validate_path(X, y, 3, cv=5, alpha=1.0, n_random=0)
    assert any("may do better" in words for words in tested.warnings)
    known = greedy_path(X, y, 3, alpha=1.0, n_runners_up=1)
    assert not any("may do better" in words for words in path_warnings(known, tested))
    short = cross_validate_path(X, y, 2, cv=5, alpha=1.0, n_random=0)
    known = greedy_path(X, y, 2, alpha=1.0, n_runners_up=1)
    (words,) = [one for one in path_warnings(known, short) if "may do better" in one]
    assert "test root mean squared" in words  # said once, by the test folds


def test_a_path_on_many_features() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((12, 121)), rng.standard_normal(12)
    found = path_warnings(greedy_path(X, y, 2))
    assert found[0].startswith("There are 121 features for 12 samples")
    assert "There are" not in starts(path_warnings(greedy_path(X[:, :120], y, 2)))


def test_near_ties_on_a_path() -> None:
    X, y = data()
    X[:, 6] = X[:, 0]
    names = list("abcdefgh")
    path = greedy_path(pd.DataFrame(X, columns=names), y, 7, n_runners_up=1)
    (words,) = path_warnings(path)
    assert words.startswith("Near ties: another feature would have given all but 5% of the gain")
    assert "('g' for 'a' at step 1)" in words
    (words,) = path_warnings(greedy_path(X, y, 7, n_runners_up=2))
    assert "('x6' for 'x0' at step 1)" in words
    assert path_warnings(greedy_path(X, y, 7)) == ()  # no runners-up were recorded


def test_runners_up_that_are_chosen_next_are_no_ties() -> None:
    """Unless they say the same, and bring nothing more once the other is in."""
    for seed in range(6):
        found = five_equal(5, seed, alpha=1.0)
        assert not any("Near ties" in words for words in found)
    X, y = data(200)
    X[:, 6] = X[:, 0] + 1e-3 * X[:, 7]
    path = greedy_path(X, y, 8, alpha=1e-3, n_runners_up=2)
    assert {0, 6} <= set(path.indices.tolist())
    (words,) = path_warnings(path)
    assert "'x6' for 'x0' at step 1" in words or "'x0' for 'x6' at step 1" in words


def test_the_next_runner_up_may_be_a_tie() -> None:
    """Of a feature that is chosen next, and one that is not."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 6))
    X[:, 5] = X[:, 0] + 0.05 * rng.standard_normal(300)
    y = X[:, 0] + X[:, 1] + 0.3 * rng.standard_normal(300)
    path = greedy_path(X, y, 2, alpha=1.0, n_runners_up=5)
    (words,) = [words for words in path_warnings(path) if "Near ties" in words]
    assert "x5" in words
    assert "'x1'" not in words.split("for")[0]


# Of an assessment --------------------------------------------------------------------------------


def assessment(**changes: Any) -> PathAssessment:
    """Three folds with nothing to warn of."""
    test = np.array([[1.0, 0.5, 0.52], [1.1, 0.6, 0.61], [0.9, 0.4, 0.42]])
    given: dict[str, Any] = {
        "measure": "squared",
        "test_losses": test,
        "selection_losses": test - [[0.02], [0.0], [-0.01]],
        "random_losses": np.ones((3, 0, 3)),
        "initial_losses": np.array([2.0, 2.1, 1.9]),
        "features": tuple(np.array([3, 1, 2]) for _ in range(3)),
        "alphas": np.ones(3),
        "chosen_sizes": np.array([3, 3, 3]),
        "shares": np.full(3, 1 / 3),
        "folds": "3-fold",
        "criterion": "leave-one-out, squared loss",
        "n_samples": 30,
        "n_features_in": 8,
        "n_available": 8,
        "n_asked": 3,
    }
    return PathAssessment(**(given | changes))


def test_an_assessment_with_nothing_to_tell() -> None:
    assert assessment().warnings == ()


def test_an_assessment_warns_of_many_features() -> None:
    (words,) = assessment(n_features_in=301).warnings
    assert words.startswith("There are 301 features for 30 samples")


def test_an_assessment_warns_of_an_overfitted_selection() -> None:
    found = assessment()
    (words,) = replace(found, selection_losses=0.5 * found.test_losses).warnings
    assert "with 3 features the selection's own estimate of the root mean squared error is" in words
    root = np.sqrt(found.test[0][2])
    assert f"is {root / np.sqrt(2.0):.4f}, the test folds say {root:.4f}" in words
    # Looked at where the size is chosen, in each fold.
    own = found.test_losses * [1.0, 0.5, 0.6]
    own[2] = found.test_losses[2] * [1.0, 1.0, 0.6]
    chosen = replace(
        found, selection_losses=own, chosen_sizes=np.array([2, 2, 3]), n_asked=None
    ).warnings
    assert "with 2 to 3 features" in chosen[0]
    own = found.test_losses * [1.0, 0.5, 1.0]
    assert replace(found, selection_losses=own).warnings == ()


def test_an_assessment_warns_of_models_that_are_no_use() -> None:
    (words,) = assessment(initial_losses=np.array([0.5, 0.6, 0.4])).warnings
    assert "of the chosen features, 0.7188, is not clearly better" in words
    assert words.endswith("without any, 0.7071.")


def test_an_assessment_warns_of_a_curve_that_still_falls() -> None:
    test = np.array([[1.0, 0.5, 0.2], [1.1, 0.6, 0.25], [0.9, 0.4, 0.2]])
    falling: dict[str, Any] = {"test_losses": test, "selection_losses": test}
    (words,) = assessment(**falling).warnings
    assert "with the last feature the test root mean squared error fell" in words
    assert assessment(**falling, n_asked=None).warnings == ()
    everything = tuple(np.array([0, 2, 1]) for _ in range(3))
    assert assessment(**falling, n_features_in=3, n_available=3, features=everything).warnings == ()


def test_excluded_features_cannot_be_selected() -> None:
    X, y = data()
    found = cross_validate_path(X, y, 3, cv=3, alpha=1.0, excluded_features=[3, 4, 5, 6, 7])
    assert not any("More features may" in words for words in found.warnings)


def test_an_assessment_tells_if_every_search_ended_early() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((12, 30)), rng.standard_normal(12)
    found = cross_validate_path(X, y, 11, cv=3, alpha=1e-13)
    assert any("search ended before 11 features" in words for words in found.warnings)


def test_an_assessment_warns_of_selections_that_differ() -> None:
    features = (np.array([3, 1, 2]), np.array([3, 4, 5]), np.array([6, 7, 0]))
    found = assessment(features=features)
    index = Stability(features, 8).index[2]
    assert index < 0.4
    (words,) = found.warnings
    assert f"(stability −{-index:.2f} at 3 features)" in words
    # What counts are the features chosen.
    same = tuple(np.array([3, *order[1:]]) for order in features)
    chosen = np.array([1, 1, 1])
    found = assessment(features=same, chosen_sizes=chosen, n_asked=None)
    assert not any("stability" in words for words in found.warnings)


def test_an_assessment_warns_of_searches_that_ended() -> None:
    found = assessment()
    test = found.test_losses.copy()
    test[1, 2] = np.nan
    changes: dict[str, Any] = {
        "test_losses": test,
        "selection_losses": test,
        "chosen_sizes": np.array([3, 2, 3]),
    }
    short = replace(found, **changes).warnings
    assert short[0].startswith("In 1 of 3 folds the search ended before 3 features, at 2 the")
    assert starts(short[1:]) == ["More than"]  # the curve ends where it falls
    assert replace(found, **changes, n_asked=None).warnings == ()


def test_a_single_fold_has_no_errors_and_no_stability() -> None:
    test = np.array([[1.0, 0.5, 0.52]])
    found = assessment(
        test_losses=test,
        selection_losses=0.5 * test,
        random_losses=np.ones((1, 0, 3)),
        initial_losses=np.array([2.0]),
        features=(np.array([3, 1, 2]),),
        alphas=np.ones(1),
        chosen_sizes=np.array([3]),
        shares=np.ones(1),
    )
    (words,) = found.warnings
    assert words.startswith("Overfitted selection")
    assert "nan" not in words + found.sentence


# All together ------------------------------------------------------------------------------------


def null(p_value: float) -> PermutationNull:
    """Of 99 permutations."""
    better = round(100 * p_value) - 1
    losses = np.where(np.arange(99) < better, 0.5, 2.0)
    return PermutationNull("squared", np.array([1.0]), losses[:, None], 1.0, losses, 3.0)


def test_everything_that_is_known_is_told_once() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((12, 121)), rng.standard_normal(12)
    path = greedy_path(X, y, 2)
    alone = path_warnings(path)
    found = assessment(n_features_in=121, n_samples=12, initial_losses=np.array([0.5, 0.6, 0.4]))
    together = path_warnings(path, found, null(0.3))
    assert together[: len(alone)] == alone
    assert sum(words.startswith("There are 121 features") for words in together) == 1
    assert any("not clearly better" in words for words in together)
    assert together[-1].endswith("permuted targets: p = 0.3.")
    assert len(set(together)) == len(together)


def test_a_significant_selection_needs_no_words() -> None:
    X, y = data()
    path = greedy_path(X, y, 8)
    assert path_warnings(path, assessment(), null(0.05)) == ()
    assert len(path_warnings(path, null=null(0.06))) == 1


def test_fewer_features_do_better_in_the_measure_of_the_assessment() -> None:
    """Four were chosen by squared loss; on test folds one has the smaller error rate."""
    X, y = data()
    path = greedy_path(X, y, 3, alpha=1.0)
    test = np.array([[0.15, 0.18, 0.2], [0.16, 0.2, 0.21], [0.17, 0.22, 0.21]])
    options: dict[str, Any] = {"test_losses": test, "selection_losses": test}
    found = assessment(measure="zero_one", **options)
    (words,) = [one for one in path_warnings(path, found) if "fewer may be better" in one]
    assert words == (
        "On test folds 1 feature has a higher accuracy than 3: 0.840 against 0.793. The number of "
        "features was chosen by the mean squared error; fewer may be better."
    )
    # By the loss itself the choice was made elsewhere, and where folds differ nothing is clear.
    same = assessment(**options)
    assert not any("fewer may be better" in one for one in path_warnings(path, same))
    unclear = test + np.array([[0.3, 0.0, 0.0], [0.0, 0.0, 0.0], [-0.2, 0.0, 0.0]])
    found = assessment(measure="zero_one", test_losses=unclear, selection_losses=unclear)
    assert not any("fewer may be better" in one for one in path_warnings(path, found))
