"""Standard errors of assessments: from the samples held out, and whatever folds look like.

The literal twin, a loss for every held-out row, is in assess_twin.py; every call of
`assert_is_literal` compares it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binomtest
from sklearn.model_selection import GroupKFold, KFold, RepeatedKFold, RepeatedStratifiedKFold

from assess_checks import ALPHAS, assert_is_literal, labels, numbers
from assess_twin import Question
from greedyrls.assess import PathAssessment, cross_validate_path
from internals import corrected, held_out_errors, make_folds, make_loss, rate_interval
from literal import largest


def rare(m: int = 1200, seed: int = 9) -> tuple[Any, Any]:
    """4 % positives, well told by two features, which a threshold at 0 never reaches."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, 6))
    chance = 1.0 / (1.0 + np.exp(6.5 - 2.5 * X[:, 0] - 2.0 * X[:, 1]))
    return X, rng.random(m) < chance


def over_folds(found: PathAssessment) -> float:
    """The standard error from the spread of the folds, as if they were independent samples."""
    K = len(found.shares)
    spread = found.shares * (found.chosen_losses - found.estimate[0])
    return float(np.sqrt(np.sum(spread**2) * K / (K - 1)))


# What is wanted of them --------------------------------------------------------------------------


def test_stratified_folds_do_not_make_an_error_rate_certain() -> None:
    X, y = rare()
    found = cross_validate_path(X, y, 2, alpha=10.0, n_random=0)
    rate, error = found.estimate
    binomial = np.sqrt(rate * (1.0 - rate) / len(y))
    assert over_folds(found) < 0.5 * binomial
    assert binomial <= error < 1.5 * binomial
    low, high = found.interval
    assert low < rate - 1.6 * binomial < rate + 2.0 * binomial < high
    assert f"± {error:.2g}" in found.sentence
    assert f"(95% interval {1.0 - high:.3f} to {1.0 - low:.3f})" in found.sentence


def test_errors_of_a_stable_selection_are_those_of_the_losses() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 8))
    y = X[:, :2] @ [3.0, 2.0] + rng.standard_normal(300)
    found = cross_validate_path(X, y, 2, alpha=1.0, n_random=0)
    assert found.stability.index[-1] == pytest.approx(1.0)
    # (y − p)² of noise of variance 1 has the variance 2.
    assert found.estimate[1] == pytest.approx(np.sqrt(2.0 / 300), rel=0.25)
    low, high = found.interval
    assert (high - low) / 2.0 == pytest.approx(1.9679296 * found.estimate[1], rel=1e-6)
    assert found.test.error[1] == pytest.approx(found.estimate[1])


def test_unstable_selections_have_larger_errors() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((200, 300)), rng.standard_normal(200)
    found = cross_validate_path(X, y, 3, alpha=1.0, n_random=0)
    assert found.held_out_covariance is not None
    (own, common), (_, none) = found.held_out_covariance[:2, :2]
    index = found.stability.index[-1]
    rho = 10 / 9  # in full
    assert index < 0.75
    assert own + none - 2.0 * common < own  # part of the loss is there without features, too
    expected = own + rho * np.sqrt(own * (own + none - 2.0 * common))
    assert found.estimate[1] == pytest.approx(np.sqrt(expected))
    assert found.estimate[1] > 1.2 * np.sqrt(own)
    assert found.gain[1] == pytest.approx(np.sqrt((own + none - 2.0 * common) * (1.0 + rho)))


def test_selections_that_agree_share_little() -> None:
    """From a stability of ¾ on the correction gets smaller, and it is nothing at 1."""
    given = np.full(4, 4.0), np.full(4, 9.0), np.array([0.2, 0.75, 0.875, 1.0]), 10 / 9, 10
    assert_allclose(corrected(*given) ** 2, 4.0 * (1.0 + 10 / 9 * np.array([1.0, 1.0, 0.5, 0.0])))


@pytest.mark.parametrize(("wrong", "count"), [(3, 40), (10, 200), (77, 200), (199, 200)])
def test_intervals_of_rates_are_wilsons(wrong: int, count: int) -> None:
    rate = wrong / count
    error = np.sqrt(rate * (1.0 - rate) / count)
    expected = binomtest(wrong, count).proportion_ci(0.95, "wilson")
    assert_allclose(rate_interval(rate, error, 1.9599639845), expected, rtol=1e-8)
    assert rate_interval(0.0, 0.0, 2.0) == (0.0, 0.0)
    assert_allclose(rate_interval(0.0, 0.0, 2.0, 96), (0.0, 0.04), atol=1e-15)  # z²/(n + z²)
    assert_allclose(rate_interval(1.0, 0.0, 2.0, 96), (0.96, 1.0), atol=1e-15)
    assert np.isnan(rate_interval(rate, np.nan, 2.0)).all()


@pytest.mark.parametrize(("signal", "is_smaller"), [(2.0, True), (0.0, False)])
def test_thresholds_move_with_the_share_of_a_class(signal: float, is_smaller: bool) -> None:
    """With more positives a threshold finds more of them: right where there is a signal."""
    rng = np.random.default_rng(6)
    ratios = []
    for _ in range(5):
        X = rng.standard_normal((200, 100))
        latent = signal / np.sqrt(5.0) * X[:, :5].sum(axis=1) + rng.standard_normal(200)
        y = latent > 1.0364 * np.sqrt(1.0 + signal**2)  # 15 %
        found = cross_validate_path(X, y, 5, alpha=10.0, n_random=0)
        covariance = found.held_out_covariance
        assert covariance is not None
        ratios.append(covariance[0, 0] / covariance[-1, -1])  # of the same models
        squared = cross_validate_path(X, y, 5, alpha=10.0, n_random=0, measure="squared")
        covariance = squared.held_out_covariance
        assert covariance is not None
        assert covariance[0, 0] == pytest.approx(covariance[-1, -1])
    assert (np.mean(ratios) < 0.95) if is_smaller else (np.mean(ratios) > 1.05)


def test_samples_of_a_group_are_one_observation() -> None:
    """Every sample five times over is not more than each once."""
    X, y = numbers(40, 5)
    only: dict[str, Any] = {"alpha": 2.0, "forced_features": [0, 1], "n_random": 0}
    once = cross_validate_path(X, y, 2, cv=KFold(4), **only)
    five = np.repeat(np.arange(40), 5)
    folds = np.arange(40)[five] // 10
    only["alpha"] = 10.0
    copies = cross_validate_path(X[five], y[five], 2, cv=folds, groups=five, **only)
    naive = cross_validate_path(X[five], y[five], 2, cv=folds, **only)
    assert copies.n_independent == once.n_independent == 40
    assert copies.estimate == pytest.approx(once.estimate)
    assert_allclose(copies.test.error, once.test.error)
    assert naive.n_independent == 200
    assert naive.estimate[1] < 0.5 * once.estimate[1]


def test_a_single_split_has_an_error() -> None:
    X, y = rare()
    train = np.arange(len(y)) < 800
    found = cross_validate_path(X, y, 2, cv=[(train, ~train)], alpha=10.0, n_random=0)
    rate, error = found.estimate
    # No row is called positive: the loss is the one without features, whatever is selected.
    assert found.gain == (0.0, 0.0)
    assert error == pytest.approx(np.sqrt(rate * (1.0 - rate) / 399))
    assert "± " in found.sentence


def test_words_for_few_samples() -> None:
    X, y = numbers(199, 4)
    few = cross_validate_path(X, y, 2, cv=5, alpha=1.0, n_random=0)
    assert "95% interval roughly " in few.sentence
    X, y = numbers(200, 4)
    many = cross_validate_path(X, y, 2, cv=5, alpha=1.0, n_random=0)
    assert "95% interval " in many.sentence
    assert "roughly" not in many.sentence
    grouped = cross_validate_path(
        *(X, y, 2), cv=5, alpha=1.0, n_random=0, groups=np.arange(200) // 2
    )
    assert "roughly" in grouped.sentence  # 100 groups


def test_intervals_stay_where_losses_can_be() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    easy = cross_validate_path(X, X[:, 0] > -0.5, 1, cv=4, alpha=1.0, n_random=0)
    assert 0.0 < easy.interval[0] < easy.estimate[0]
    hard = cross_validate_path(X, np.arange(40) % 2 == 0, 1, cv=4, alpha=1.0, n_random=0)
    assert hard.interval[1] <= 1.0

    def signed(y_true: Any, y_pred: Any) -> float:
        return float(np.mean(y_true * y_pred))

    below = cross_validate_path(X, X[:, 0], 1, cv=4, alpha=1.0, n_random=0, measure=signed)
    assert below.interval[1] == pytest.approx(2 * below.estimate[0] - below.interval[0])


def test_rounding_is_no_error() -> None:
    X, y = rare(400)
    found = cross_validate_path(X, y, 1, alpha=10.0, n_random=0, measure="balanced_zero_one")
    assert found.estimate == (pytest.approx(0.5), 0.0)  # no row is ever called positive
    assert found.gain == (pytest.approx(0.0), 0.0)
    assert "the balanced accuracy is 0.500 and the AUC is" in found.sentence


# The same from a loss for every row --------------------------------------------------------------

WEIGHTS = np.random.default_rng(5).integers(0, 4, 26) * 0.5
MEASURES = ("zero_one", "balanced_zero_one", "auc", "squared")


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("kind", ["groups", "groups across folds", "repeated"])
def test_clusters_are_literal(measure: str, kind: str) -> None:
    X, y = labels()
    options: dict[str, Any] = {"alpha": 2.0, "measure": measure, "sample_weight": WEIGHTS + 0.5}
    cv: Any = RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0)
    splits = list(cv.split(X, y))
    if kind != "repeated":
        options["groups"] = np.random.default_rng(3).permutation(26) % 9
        splits = list(GroupKFold(2).split(X, y, options["groups"]))
        cv = 2
    if kind == "groups across folds":
        cv = np.arange(26) % 2
        splits = [(np.flatnonzero(cv != fold), np.flatnonzero(cv == fold)) for fold in range(2)]
    found = assert_is_literal(Question(X, y, 3, options, is_classification=True), cv, splits)
    assert found.n_independent == (26 if kind == "repeated" else 9)


def test_sizes_chosen_in_folds_are_literal() -> None:
    X, y = numbers()
    question = Question(X, y, "auto", {"alpha": 1.0, "max_features": 5})
    found = assert_is_literal(question, KFold(4), list(KFold(4).split(X)))
    assert len(set(found.chosen_sizes.tolist())) > 1


def test_folds_may_be_added_up_or_kept_by_cluster() -> None:
    rng = np.random.default_rng(2)
    y = np.where(rng.random(60) < 0.4, 1.0, -1.0)
    P, weights = rng.standard_normal((1, 5, 60)), rng.random(60)
    folds = make_folds(4, 60, y=y, labels=None, groups=None, weights=None)
    for name in ("auc", "balanced_zero_one", "squared"):
        loss = make_loss(name)
        design = held_out_errors.make_tests(loss, y[:, None], weights, folds.splits, None)
        found = []
        for is_closed in (True, False):
            parts = []
            for split, tests in zip(folds.splits, design.of_folds, strict=True):
                rows = split.test
                given = loss.components(y[rows, None], P[:, :, rows], weights[rows])
                parts.append(held_out_errors.part_of(given, tests._replace(is_closed=is_closed)))
            found.append(design.covariance(parts))
            if is_closed:
                variances = held_out_errors.variances_of(parts)
        assert_allclose(*found, rtol=1e-9)
        assert_allclose(variances, np.diagonal(found[0]), rtol=1e-9)
        assert_array_equal(found[0], found[0].T)
        assert np.linalg.eigvalsh(found[0]).min() > -1e-12


def test_processes_and_json_keep_them() -> None:
    X, y = numbers()
    one = cross_validate_path(X, y, 3, cv=5, alpha=ALPHAS, n_random=0)
    two = cross_validate_path(X, y, 3, cv=5, alpha=ALPHAS, n_random=0, n_jobs=2)
    assert_allclose(two.held_out_covariance, one.held_out_covariance, rtol=1e-9)
    again = PathAssessment.from_json(one.to_json())
    assert_array_equal(again.held_out_covariance, one.held_out_covariance)
    assert again.interval == one.interval
    assert again.gain == one.gain
    assert again.sentence == one.sentence


def test_functions_have_errors_of_folds() -> None:
    X, y = numbers(40)
    found = cross_validate_path(X, y, 3, cv=5, alpha=1.0, n_random=0, measure=largest)
    assert found.held_out_covariance is None
    assert found.n_independent is None
    assert found.estimate[1] == pytest.approx(over_folds(found) * np.sqrt(1.0 + 5 / 4))
    low, high = found.interval
    assert (high - low) / 2.0 == pytest.approx(2.7764451 * found.estimate[1], rel=1e-6)
    again = PathAssessment.from_json(found.to_json())
    assert again.interval == found.interval


def test_large_losses_lose_no_digits() -> None:
    """The variance is not a difference of large sums."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 3)), 1e6 + rng.standard_normal(60)
    options: dict[str, Any] = {"cv": 5, "alpha": 1e9, "n_random": 0, "fit_intercept": False}
    found = cross_validate_path(X, y, 1, measure="absolute", **options)
    assert found.estimate[0] == pytest.approx(1e6, rel=1e-3)
    assert found.held_out_covariance is not None
    losses = np.abs(y)
    expected = np.sum((losses - losses.mean()) ** 2) / 60**2 * 60 / 59
    assert found.held_out_covariance[1, 1] == pytest.approx(expected, rel=1e-6)


def test_repeats_do_not_make_samples_more_certain() -> None:
    X, y = rare(400)
    plain = cross_validate_path(X, y, 2, cv=5, alpha=10.0, n_random=0)
    repeated = RepeatedKFold(n_splits=5, n_repeats=4, random_state=0)
    many = cross_validate_path(X, y, 2, cv=repeated, alpha=10.0, n_random=0)
    assert many.estimate[1] == pytest.approx(plain.estimate[1], rel=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("share", [None, 0.15])
def test_intervals_cover_the_truth(share: float | None) -> None:
    """A small part of the benchmark coverage: noise, of which the true loss is known."""
    rng = np.random.default_rng(4)
    covered = []
    for _ in range(60):
        X, y = rng.standard_normal((200, 20)), rng.standard_normal(200)
        if share is not None:
            found = cross_validate_path(X, y > 1.0364, 5, alpha=1e5, n_random=0)
            truth = share  # so large a penalty guesses the most frequent class
        else:
            found = cross_validate_path(X, y, 1, alpha=1e5, n_random=0)
            truth = 1.0 + 1.0 / 180
        low, high = found.interval
        covered.append(low <= truth <= high)
    assert np.mean(covered) > 0.88
