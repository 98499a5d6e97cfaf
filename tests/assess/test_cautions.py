"""Warnings in words: there when due, not otherwise, and with the numbers they are about."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from greedyrls import greedy_path
from internals import Reading, cautions

LOSS, RATE = (Reading(name, name, "loss") for name in ("loss", "error rate"))


def curve(*values: float) -> Any:
    return np.array(values)


def test_many_features() -> None:
    assert cautions.many_features(500, 50) == []
    (words,) = cautions.many_features(501, 50)
    assert words.startswith("There are 501 features for 50 samples")
    assert "cross_validate_path" in words


def test_a_curve_that_still_falls() -> None:
    falling = curve(*np.linspace(1.0, 0.1, 20))
    (words,) = cautions.still_falling(falling, 2.0, False, LOSS, lambda first, last: 0.09)
    before = falling[-3]
    assert words == (
        "More than 20 features may do better: with the last 2 features the loss fell from "
        f"{before:.4f} to 0.1000."
    )
    (words,) = cautions.still_falling(curve(1.0, 0.9), 2.0, False, RATE)
    assert words.endswith("with the last feature the error rate fell from 1.000 to 0.900.")
    # Scores are told as such, and errors in the units of the target.
    score, root = Reading("accuracy", "accuracy", "score"), Reading("RMSE", "RMSE", "root")
    (words,) = cautions.still_falling(curve(0.3, 0.1), 0.5, False, score)
    assert words.endswith("the accuracy rose from 0.700 to 0.900.")
    (words,) = cautions.still_falling(curve(4.0, 1.0), 9.0, False, root)
    assert words.endswith("the RMSE fell from 2.000 to 1.000.")
    # Sizes that were not reached by all are no sizes.
    (words,) = cautions.still_falling(curve(1.0, 0.9, np.nan), 2.0, False, LOSS)
    assert words.startswith("More than 2 features")


@pytest.mark.parametrize(
    ("losses", "initial_loss", "is_exhausted"),
    [
        (curve(1.0, 0.5), 2.0, True),  # there are no more
        (curve(1.0, 0.5, 0.6), 2.0, False),  # it rises again
        (curve(1.0, 0.5, 0.5), 2.0, False),
        (curve(0.5), 2.0, False),
        (curve(1.0, 0.5, 0.495), 1.1, False),  # less than a hundredth of what was gained
        (curve(np.nan, np.nan), 2.0, False),
    ],
)
def test_a_curve_that_is_done(losses: Any, initial_loss: float, is_exhausted: bool) -> None:
    assert cautions.still_falling(losses, initial_loss, is_exhausted, LOSS) == []


def test_how_much_of_the_gain_is_falling() -> None:
    def told(losses: Any, error: float, initial_loss: float = 1.5) -> bool:
        asked = []

        def clear_drop(first: int, last: int) -> float:
            asked.append((first, last))
            return error

        found = cautions.still_falling(losses, initial_loss, False, LOSS, clear_drop)
        assert asked in ([], [(1, 2)])
        return bool(found)

    # A hundredth, if it is more than its error.
    assert told(curve(1.0, 0.5, 0.4894), 0.0)
    assert not told(curve(1.0, 0.5, 0.4906), 0.0)
    assert told(curve(1.0, 0.5, 0.45), 0.049)
    assert not told(curve(1.0, 0.5, 0.45), 0.051)
    # A twentieth, where that is not known.
    assert told(curve(1.0, 0.5, 0.447), np.nan)
    assert not told(curve(1.0, 0.5, 0.448), np.nan)
    # The gain counts from the model without features, or from the first if that was worse.
    assert not told(curve(9.0, 1.0, 0.8), np.nan, 0.5)
    assert told(curve(9.0, 1.0, 0.4), np.nan, 0.5)


def test_noise_brings_no_more_than_it_may() -> None:
    """Of features of noise that are selected, the best one's gain in squared loss."""
    rng = np.random.default_rng(0)
    for m, n in ((100, 20), (100, 200), (40, 1000)):
        above = 0
        for _ in range(60):
            path = greedy_path(rng.standard_normal((m, n)), rng.standard_normal(m), 1, alpha=1e-3)
            bound = cautions.gain_of_noise(path.initial_loss, m, n, 1)
            above += path.initial_loss - path.losses[0] > bound
        assert above <= 6


def test_an_overfitted_selection() -> None:
    (words,) = cautions.overfitted(1.2, 0.6, 0.2, "2 features", RATE)
    assert words == (
        "Overfitted selection: with 2 features the selection's own estimate of the error rate is "
        "0.600, the test folds say 1.200 (difference 0.60 ± 0.20). Report the latter."
    )
    assert cautions.overfitted(1.0, 0.95, 0.1, "1 feature", RATE) == []


@pytest.mark.parametrize(
    ("test", "own", "error", "is_due"),
    [
        (1.0, 0.89, 0.01, True),
        (1.0, 0.91, 0.01, False),  # less than a tenth of the loss
        (1.0, 0.5, 0.26, False),  # within two standard errors
        (1.0, 0.5, 0.24, True),
        (1.0, 0.74, np.nan, True),  # a single fold
        (1.0, 0.76, np.nan, False),
        (0.5, 1.0, 0.01, False),  # worse by its own estimate
    ],
)
def test_how_far_an_estimate_may_be_off(
    test: float, own: float, error: float, is_due: bool
) -> None:
    found = cautions.overfitted(test, own, error, "1 feature", RATE)
    assert bool(found) == is_due
    assert not any("nan" in words for words in found)


def test_no_better_than_without_features() -> None:
    assert cautions.no_better(0.5, 0.6, 0.1, 0.09, RATE) == []
    (words,) = cautions.no_better(0.5, 0.6, 0.1, 0.1, RATE)
    assert words == (
        "On test folds the error rate of the chosen features, 0.5000, is not clearly better than "
        "that of a model without any, 0.6000."
    )
    assert cautions.no_better(0.5, 0.51, 0.01, np.nan, RATE) == []
    assert cautions.no_better(0.5, 0.5, 0.0, np.nan, RATE)


def test_selections_that_differ() -> None:
    assert cautions.unstable(0.4, 5, 3) == []
    assert cautions.unstable(np.nan, 5, 10) == []
    assert cautions.unstable(0.5, 5, 10) != []  # that is what noise has in ten folds
    assert cautions.unstable(0.7, 5, 10) == []
    (words,) = cautions.unstable(0.394, 5, 2)
    assert "(stability 0.39 at 5 features)" in words
    assert "at 1 feature)" in cautions.unstable(0.1, 1, 10)[0]


def test_searches_that_ended_early() -> None:
    assert cautions.ended_early([5, 5], 5) == []
    (words,) = cautions.ended_early([5, 3, 4], 5)
    assert words.startswith("In 2 of 3 folds the search ended before 5 features, at 3 the earliest")


def test_near_ties() -> None:
    losses, names = curve(1.0, 0.8, 0.79, 0.9), ["a", "b", "c", "d"]
    runners: Any = [("x", 1.2), ("y", 0.809), None, ("z", 0.9)]
    (words,) = cautions.near_ties(losses, 2.0, names, runners)
    # A loss that rises is no gain that another feature could have given.
    assert "all but 5% of the gain ('y' for 'b' at step 2)." in words
    assert cautions.near_ties(losses, 2.0, names, [None] * 4) == []
    assert cautions.near_ties(curve(1.0), 2.0, ["a"], [("x", 1.05 - 1e-9)])
    assert not cautions.near_ties(curve(1.0), 2.0, ["a"], [("x", 1.05 + 1e-9)])
    many = curve(5.0, 4.0, 3.0, 2.0, 1.0)
    tied: Any = [(f"x{place}", value) for place, value in enumerate(many)]
    (words,) = cautions.near_ties(many, 6.0, list("abcde"), tied)
    assert "('x0' for 'a' at step 1, 'x1' for 'b' at step 2, 'x2' for 'c' at step 3, and 2" in words
    (words,) = cautions.near_ties(many[:3], 6.0, list("abc"), tied[:3])
    assert "more" not in words.split("(")[1].split(")")[0]


def test_noise() -> None:
    assert cautions.noise(0.05, 99) == []
    (words,) = cautions.noise(0.051, 99)
    assert words.endswith("permuted targets: p = 0.051.")
    (words,) = cautions.noise(0.1, 9)
    assert words.endswith("p = 0.1 (with so few permutations it could not be).")
