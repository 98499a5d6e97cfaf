"""What an assessment says: means, words, honesty; and what it may not depend on."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import GroupKFold, RepeatedKFold

from assess_checks import ALPHAS, labels, noise, numbers
from greedyrls.assess import (
    PathAssessment,
    cross_validate_path,
    permutation_null,
    resample_path,
)
from literal import huberish, largest
from pictures import make_assessment
from traps import Traps

IDS = np.array([0, 1, 2, 1, 0, -1, 2, 0, 1, 2, -1] * 2)


# The result --------------------------------------------------------------------------------------


def by_hand(losses: Any, shares: Any) -> tuple[Any, Any]:
    mean = np.average(losses, axis=0, weights=shares)
    K = len(shares)
    spread = shares[:, None] * (losses - mean)
    return mean, np.sqrt(np.sum(spread**2, axis=0) * K / (K - 1))


def test_means_and_errors_over_folds() -> None:
    X, y = numbers()
    weights = np.random.default_rng(0).random(22)
    found = cross_validate_path(
        *(X, y, "auto"), cv=IDS, alpha=1.0, sample_weight=weights, patience=2, n_random=2
    )
    k = int(found.chosen_sizes.max())
    assert_allclose(found.test.mean, by_hand(found.test_losses, found.shares)[0])
    for curve, losses in (
        (found.selection, found.selection_losses),
        (found.random, found.random_losses.mean(axis=1)),
        (found.optimism, found.test_losses - found.selection_losses),
    ):
        for one, other in zip(curve, by_hand(losses[:, :k], found.shares), strict=True):
            assert_allclose(one[:k], other, rtol=1e-9)
    assert found.initial_loss == pytest.approx(found.shares @ found.initial_losses)
    chosen = [
        row[size - 1] for row, size in zip(found.test_losses, found.chosen_sizes, strict=True)
    ]
    assert_array_equal(found.chosen_losses, chosen)
    assert found.estimate[0] == pytest.approx(
        by_hand(np.array(chosen)[:, None], found.shares)[0][0]
    )
    assert found.is_size_chosen
    assert len(set(found.chosen_sizes.tolist())) > 1
    selections = found.stability.selections
    assert [len(order) for order in selections] == found.chosen_sizes.tolist()
    for order, features in zip(selections, found.features, strict=True):
        assert_array_equal(order, features[: len(order)])
    assert_array_equal(found.sizes, np.arange(1, found.test_losses.shape[1] + 1))


def test_words_and_frame() -> None:
    X, y = labels()
    found = cross_validate_path(X, y, 3, cv=3, alpha=1.0)
    mean, error = found.estimate
    right = f"{1.0 - mean:.2f} ± {error:.2f}"
    assert f"the accuracy is {right} (95% interval roughly " in found.sentence
    assert found.class_rates is not None
    assert (
        f"and the AUC is {found.class_rates.auc:.3f}, with 3 features, as asked" in found.sentence
    )
    assert "as asked (3-fold, stratified, shuffled with" in found.sentence
    own, without = 1.0 - found.selection[0][2], 1.0 - found.initial_loss
    assert f"own estimate is {own:.3f}; without features it is {without:.3f}." in found.sentence
    assert repr(found) == f"<PathAssessment of 3 sizes in 3 folds: accuracy {right}>"
    assert found.criterion == "leave-one-out, squared loss"
    both = cross_validate_path(X, y, 1, cv=3, alpha=[1.0, 2.0], n_random=0)
    assert both.criterion == "leave-one-out, squared or zero_one loss"
    by_folds = cross_validate_path(X, y, 1, cv=3, alpha=1.0, inner_cv=4, loss="auc", n_random=0)
    assert by_folds.criterion == "4-fold, stratified, auc loss"
    assert " the AUC is " in by_folds.sentence
    assert " and the accuracy is " in by_folds.sentence
    assert "with 1 feature, as asked" in by_folds.sentence
    frame = found.to_frame()
    assert frame.index.name == "n_features"
    assert frame.index.tolist() == [1, 2, 3]
    for name in ("test", "selection", "random", "optimism"):
        assert_array_equal(frame[name], getattr(found, name)[0])
        assert_array_equal(frame[f"{name}_error"], getattr(found, name)[1])
    assert_array_equal(frame["stability"], found.stability.index)
    chosen = cross_validate_path(*numbers(), "auto", cv=3, alpha=1.0, n_random=0)
    low, high = chosen.chosen_sizes.min(), chosen.chosen_sizes.max()
    assert f"with {low} to {high} features" in chosen.sentence
    assert "chosen in each fold" in chosen.sentence


def test_results_are_pickled_and_copied_but_not_changed() -> None:
    X, y = numbers()
    found = cross_validate_path(X, y, 3, cv=3, alpha=1.0)
    for twin in (pickle.loads(pickle.dumps(found)), copy.copy(found), copy.deepcopy(found)):
        assert isinstance(twin, PathAssessment)
        assert twin.sentence == found.sentence
        assert twin.warnings == found.warnings
        assert_array_equal(twin.random_losses, found.random_losses)
        for name in ("test_losses", "selection_losses", "random_losses", "alphas", "chosen_sizes"):
            with pytest.raises(ValueError, match="read-only"):
                getattr(twin, name)[0] = 1
    with pytest.raises(AttributeError):
        found.measure = "absolute"


def test_features_are_not_changed() -> None:
    X, y = numbers()
    found = cross_validate_path(X, y, 3, cv=3, alpha=1.0, n_random=0)
    with pytest.raises(ValueError, match="read-only"):
        found.features[0][0] = 5


def test_progress_is_shown_if_asked_for() -> None:
    X, y = numbers()
    quiet = cross_validate_path(X, y, 2, cv=3, alpha=1.0)
    told = cross_validate_path(X, y, 2, cv=3, alpha=1.0, verbose=1)
    assert_array_equal(told.test_losses, quiet.test_losses)
    permutation_null(X, y, 2, alpha=1.0, n_permutations=2, verbose=1)
    resample_path(X, y, 2, alpha=1.0, n_resamples=2, verbose=1)


def test_data_are_left_as_they_were() -> None:
    X, y = numbers()
    weights = np.ones(22)
    before = X.copy(), y.copy()
    for array in (X, y, weights):
        array.flags.writeable = False
    cross_validate_path(X, y, 3, cv=3, alpha=ALPHAS, sample_weight=weights)
    cross_validate_path(X, y, 3, cv=3, alpha=1.0, loss="absolute", inner_cv=3)
    assert_array_equal(X, before[0])
    assert_array_equal(y, before[1])


# Honest ------------------------------------------------------------------------------------------


def test_noise_is_told_from_signal() -> None:
    """Many more features than samples, none of any use."""
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((50, 600)), rng.standard_normal(50)
    found = cross_validate_path(X, y, 6, cv=5, alpha=100.0, n_random=3)
    test, own = found.test[0], found.selection[0]
    assert own[-1] < 0.7 * found.initial_loss
    assert (test > 0.9 * found.initial_loss).all()
    assert found.optimism[0][-1] > 2.0 * found.optimism[1][-1]
    mean, error = found.estimate
    assert abs(mean - found.initial_loss) < 3.0 * error
    assert mean == pytest.approx(found.initial_loss, rel=0.25)
    assert_allclose(found.random[0], found.initial_loss, rtol=0.15)
    (caution,) = [words for words in found.warnings if words.startswith("Overfitted selection")]
    roots = np.sqrt(own[-1]), np.sqrt(test[-1])
    assert f"is {roots[0]:.3f}, the test folds say {roots[1]:.3f}" in caution
    assert any("not clearly better" in words for words in found.warnings)


def test_signal_is_told_from_noise() -> None:
    rng = np.random.default_rng(7)
    X = rng.standard_normal((120, 8))
    y = X[:, :3] @ [3.0, 2.0, 1.0] + 0.5 * rng.standard_normal(120)
    found = cross_validate_path(X, y, 3, cv=5, alpha=1.0)
    assert {tuple(sorted(order)) for order in found.features} == {(0, 1, 2)}
    assert found.test[0][2] < 0.05 * found.initial_loss
    assert found.test[0][2] < 0.1 * found.random[0][2]
    assert found.stability.index[2] == pytest.approx(1.0)
    assert not any(
        words.startswith(("Overfitted", "On test folds", "The selections"))
        for words in found.warnings
    )


def test_searches_that_end_early_leave_gaps() -> None:
    """A penalty lost in rounding ends a search; the curves go as far as every fold does."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((15, 30)), rng.standard_normal(15)
    sizes = [4, 6, 5]  # a fold trains on so many rows
    rows = [np.arange(15)[:size] for size in sizes]
    splits = [(train, np.arange(10, 15)) for train in rows]
    found = cross_validate_path(X, y, 8, cv=splits, alpha=1e-13, n_random=2)
    reached = [len(order) for order in found.features]
    assert max(reached) == found.test_losses.shape[1] < 8
    assert min(reached) < max(reached)
    for number, count in enumerate(reached):
        for losses in (found.test_losses, found.selection_losses, found.random_losses):
            assert np.isfinite(losses[number, ..., :count]).all()
            assert np.isnan(losses[number, ..., count:]).all()
    assert_array_equal(np.isnan(found.test[0]), found.sizes > min(reached))
    assert_array_equal(found.chosen_sizes, reached)
    assert np.isfinite(found.estimate).all()


def test_an_interrupt_is_the_callers(traps: Traps) -> None:
    """Half of a selection is no selection: nothing is returned."""
    X, y = numbers()
    traps.interrupt("advance rows", 5)
    with pytest.raises(KeyboardInterrupt):
        cross_validate_path(X, y, 3, cv=3, alpha=1.0)


# Processes ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_processes_change_nothing() -> None:
    X, y = numbers()
    for options in (
        {"alpha": ALPHAS, "n_random": 2},
        {"alpha": 1.0, "loss": huberish, "measure": largest, "n_random": 0},
    ):
        one = cross_validate_path(X, y, 3, cv=5, **options)
        two = cross_validate_path(X, y, 3, cv=5, n_jobs=2, **options)
        for name in ("test_losses", "selection_losses", "random_losses", "alphas", "chosen_sizes"):
            assert_allclose(getattr(two, name), getattr(one, name), rtol=1e-12)
        assert_array_equal(np.array(two.features), np.array(one.features))
    drawn = resample_path(X, y, 2, alpha=1.0, n_resamples=5)
    again = resample_path(X, y, 2, alpha=1.0, n_resamples=5, n_jobs=2)
    assert_array_equal(np.array(drawn.selections), np.array(again.selections))


# Losses and rows by name -------------------------------------------------------------------------


def test_functions_of_the_same_name_are_different_losses() -> None:
    X, y = numbers()
    squares = lambda y_true, y_pred: float(np.mean((y_true - y_pred) ** 2))  # noqa: E731
    thousands = lambda y_true, y_pred: 1000.0 * squares(y_true, y_pred)  # noqa: E731
    found = cross_validate_path(X, y, 2, cv=3, alpha=1.0, loss=squares, measure=thousands)
    assert_allclose(
        found.selection[0],
        1000.0 * cross_validate_path(X, y, 2, cv=3, alpha=1.0, loss=squares).selection[0],
        rtol=1e-9,
    )


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"inner_cv": 3},
        {"loss": "absolute"},
    ],
)
def test_a_missing_value_is_named_by_its_row_in_x(options: dict[str, Any]) -> None:
    X, y = numbers()
    X[15, 2] = np.nan
    with pytest.raises(ValueError, match="row 15, column 2 is nan"):
        cross_validate_path(X, y, 2, cv=2, alpha=1.0, **options)


@pytest.mark.slow
def test_processes_measure_inner_folds_as_well() -> None:
    X, y = noise()
    one = permutation_null(X, y, 3, alpha=1.0, inner_cv=3, n_permutations=4)
    two = permutation_null(X, y, 3, alpha=1.0, inner_cv=3, n_permutations=4, n_jobs=2)
    assert_allclose(two.null_losses, one.null_losses, rtol=1e-12)
    alone = cross_validate_path(X, y, 3, cv=4, alpha=1.0, inner_cv=3, n_random=1)
    shared = cross_validate_path(X, y, 3, cv=4, alpha=1.0, inner_cv=3, n_random=1, n_jobs=2)
    assert_allclose(shared.selection_losses, alone.selection_losses, rtol=1e-12)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_without_features_a_class_is_guessed(fit_intercept: bool) -> None:
    X, _ = noise(60)
    y = np.arange(60) % 2
    found = cross_validate_path(X, y, 2, cv=5, alpha=1.0, fit_intercept=fit_intercept)
    assert found.initial_loss == pytest.approx(0.5)
    assert any("not clearly better" in words for words in found.warnings)
    three = cross_validate_path(X, np.arange(60) % 3, 2, cv=5, alpha=1.0, task="classification")
    assert three.initial_loss == pytest.approx(2 / 3)
    null = permutation_null(X, y, 2, alpha=1.0, n_permutations=2, fit_intercept=fit_intercept)
    assert null.initial_loss == pytest.approx(0.5)


def test_a_classification_is_measured_on_its_inner_folds() -> None:
    # Near copies of each sample: leaving one of them out is as good as leaving none out.
    generator = np.random.default_rng(3)
    groups = np.repeat(np.arange(12), 8)
    X = generator.standard_normal((12, 20))[groups] + 0.01 * generator.standard_normal((96, 20))
    y = generator.permutation(np.arange(12) % 2)[groups]
    options: dict[str, Any] = {"alpha": 0.1, "groups": groups, "cv": 3, "n_random": 0}
    folds = cross_validate_path(X, y, 4, inner_cv=GroupKFold(4), loss="squared", **options)
    single = cross_validate_path(X, y, 4, loss="squared", **options)
    assert single.selection.mean[-1] < 0.05
    assert folds.selection.mean[-1] > single.selection.mean[-1] + 0.05


def test_repeated_folds_are_not_independent() -> None:
    X, y = noise(60)
    plain = cross_validate_path(X, y, 2, cv=5, alpha=1.0, n_random=0)
    repeated = RepeatedKFold(n_splits=5, n_repeats=6, random_state=0)
    many = cross_validate_path(X, y, 2, cv=repeated, alpha=1.0, n_random=0)
    for found in (plain, many):
        assert found.overlap == pytest.approx(0.25)
        assert found.test_ratio == pytest.approx(1.25)
        assert found.n_independent == 60
    # Six tests of a sample say little more than one: the error does not fall by √6.
    assert many.estimate[1] > 0.6 * plain.estimate[1]

    def squares(y_true: Any, y_pred: Any) -> float:
        return float(np.mean((y_true - y_pred) ** 2))

    for cv, count in ((5, 5), (repeated, 30)):
        of_folds = cross_validate_path(X, y, 2, cv=cv, alpha=1.0, n_random=0, measure=squares)
        spread = of_folds.chosen_losses.std(ddof=1)
        assert of_folds.held_out_covariance is None
        assert of_folds.estimate[1] == pytest.approx(spread * np.sqrt(1 / count + 0.25), rel=1e-6)
        low, high = of_folds.interval
        t = {5: 2.7764451, 30: 2.0452296}[count]
        assert (high - low) / 2.0 == pytest.approx(t * of_folds.estimate[1], rel=1e-6)


def test_a_gain_is_judged_within_folds() -> None:
    # Folds differ much more than what the features gain in each.
    losses = np.array([[1.0], [5.0], [9.0]])
    found = make_assessment(
        folds=3, k=1, test_losses=losses, selection_losses=losses, features=(np.array([3]),) * 3
    )
    for gains, is_told in (([0.2, 0.21, 0.19], False), ([0.2, -0.2, 0.1], True)):
        changed = replace(found, initial_losses=losses[:, 0] + gains)
        assert any("not clearly better" in words for words in changed.warnings) == is_told


def test_words_where_searches_ended_early() -> None:
    X, y = noise(40, 12)
    found = cross_validate_path(X, y, 12, cv=3, alpha=1.0, patience=1, n_random=0)
    assert found.chosen_sizes.max() < 12
    assert "where the searches ended (12 were asked for)" in found.sentence
    one = cross_validate_path(X, y, 2, cv=[(np.arange(30), np.arange(30, 40))], alpha=1.0)
    assert "1 fold:" in repr(one)
    assert "nan" not in repr(one)
