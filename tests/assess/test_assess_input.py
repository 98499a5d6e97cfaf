"""What a reader with fresh eyes found in assessments, so that it stays mended."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import GroupKFold, KFold, RepeatedKFold

from greedyrls import greedy_path
from greedyrls.assess import (
    Stability,
    cross_validate_path,
    path_warnings,
    permutation_null,
    resample_path,
)
from internals import draw_order
from pictures import make_assessment


def noise(m: int = 30, n: int = 12, seed: int = 1) -> tuple[Any, Any]:
    generator = np.random.default_rng(seed)
    return generator.standard_normal((m, n)), generator.standard_normal(m)


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


def test_stability_of_what_could_be_selected() -> None:
    X, y = noise(40, 40)
    excluded = list(range(5, 40))
    found = cross_validate_path(X, y, 3, cv=5, alpha=1.0, excluded_features=excluded).stability
    by_hand = Stability(tuple(order for order in found.selections), 5)
    assert_allclose(found.index, by_hand.index)
    drawn = resample_path(X, y, 3, alpha=1.0, n_resamples=5, excluded_features=excluded)
    assert_allclose(drawn.index, Stability(drawn.selections, 5).index)


def test_forced_features_are_no_sign_of_stability() -> None:
    generator = np.random.default_rng(0)
    forced = (0, 1, 2)
    free = [generator.permutation(np.arange(3, 30))[:3] for _ in range(8)]
    given = Stability(tuple(np.concatenate([forced, order]) for order in free), 30, forced=forced)
    alone = Stability(tuple(order - 3 for order in free), 27)
    assert np.isnan(given.index[:3]).all()
    assert_allclose(given.index[3:], alone.index)
    assert_allclose(given.standard_error[3:], alone.standard_error)
    assert "besides the 3 forced" in given.sentence
    X, y = noise(40, 30)
    found = cross_validate_path(X, y, 4, cv=4, alpha=1.0, forced_features=[5, 6])
    assert found.stability.forced == (5, 6)


def test_weights_move_with_the_targets() -> None:
    generator = np.random.default_rng(2)
    y = (np.arange(120) % 8 == 0).astype(int)
    X = generator.standard_normal((120, 6)) + 1.2 * y[:, None] * (np.arange(6) < 2)
    weights = np.where(y == 1, 7.0, 1.0)
    null = permutation_null(X, y, 2, alpha=1.0, sample_weight=weights, n_permutations=39)
    assert null.chosen_p_value == pytest.approx(1 / 40)


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


def test_groups_are_permuted_as_wholes() -> None:
    groups = np.array(list("aabbccddd"))
    counted = np.ones(9, dtype=bool)
    seen = set()
    for seed in range(20):
        order = draw_order(counted, np.random.default_rng(seed), groups)
        assert_array_equal(np.sort(order), np.arange(9))
        assert_array_equal(order[6:], [6, 7, 8])  # no other group has three
        for first in (0, 2, 4):
            assert order[first] % 2 == 0
            assert order[first + 1] == order[first] + 1
        seen.add(tuple(order))
    assert len(seen) == 6
    X, y = noise(9, 3)
    with pytest.raises(ValueError, match="no two have the same number of samples"):
        permutation_null(X, y, 1, alpha=1.0, groups=[0, 1, 1, 2, 2, 2, 2, 2, 2])


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


def test_columns_of_a_frame_are_labels() -> None:
    X, _ = noise(24, 4)
    for values in (["a", "b"], [True, False], [0, 1]):
        frame = pd.DataFrame({"y": values * 12})
        column = cross_validate_path(X, frame, 1, cv=3, alpha=1.0, n_random=0)
        series = cross_validate_path(X, frame["y"], 1, cv=3, alpha=1.0, n_random=0)
        assert column.measure == series.measure == "zero_one"
        assert_array_equal(column.test_losses, series.test_losses)


def test_labels_of_odd_kinds() -> None:
    X, _ = noise(24, 4)
    options: dict[str, Any] = {"cv": 3, "alpha": 1.0, "n_random": 0}
    objects = cross_validate_path(X, np.array([0, 1] * 12, dtype=object), 1, **options)
    assert objects.measure == "zero_one"
    three = pd.Series(pd.Categorical([0, 1, 2] * 8))
    assert cross_validate_path(X, three, 1, **options).measure == "zero_one"
    text = pd.Series(["a", "b", None, "a"] * 6, dtype="string")
    with pytest.raises(ValueError, match="y has a missing value: row 2"):
        cross_validate_path(X, text, 1, **options)
    with pytest.raises(ValueError, match="y has a missing value: row 1 is nan"):
        cross_validate_path(X, ["a", float("nan"), "b", "a"] * 6, 1, **options)
    with pytest.raises(ValueError, match="dates or times"):
        cross_validate_path(X, pd.Series(pd.date_range("2020", periods=24)), 1, **options)


def test_seeds_and_generators() -> None:
    X, y = noise(24, 6)
    options: dict[str, Any] = {"cv": KFold(3), "alpha": 1.0}
    seed = cross_validate_path(X, y, 2, random_state=5, **options)
    given = cross_validate_path(X, y, 2, random_state=np.random.default_rng(5), **options)
    assert_array_equal(seed.random_losses, given.random_losses)
    for call in (cross_validate_path, permutation_null, resample_path):
        with pytest.raises(ValueError, match=r"random_state must be None, a whole number.*got -1"):
            call(X, y, 2, random_state=-1, alpha=1.0)


def test_groups_beside_given_folds_are_for_the_penalty() -> None:
    X, y = noise(24, 4)
    groups = np.arange(24) // 2
    ids = (np.arange(24) // 2) % 3
    found = cross_validate_path(X, y, 2, cv=ids, groups=groups, alpha=[0.1, 1.0], n_random=0)
    assert len(found.features) == 3


def test_a_class_without_weight() -> None:
    X, _ = noise(24, 4)
    y = np.array(["a", "b"] * 12)
    for call in (cross_validate_path, permutation_null, resample_path):
        with pytest.raises(ValueError, match="all samples of positive weight have the label 'a'"):
            call(X, y, 2, sample_weight=(y == "a").astype(float), alpha=1.0)


def test_draws_of_few_samples() -> None:
    X, _ = noise(8, 3)
    found = resample_path(X, ["a", "a", *"bbbbbb"], 1, alpha=1.0, n_resamples=3)
    assert len(found.selections) == 3
    found = resample_path(
        X[:5], np.arange(5.0) ** 2, 1, alpha=1.0, n_resamples=3, task="regression"
    )
    assert len(found.selections) == 3


def test_errors_say_where_they_come_from() -> None:
    X, y = noise(24, 4)
    with pytest.raises(ValueError, match="measure='zero_one' needs labels"):
        cross_validate_path(X, y, 2, cv=3, alpha=1.0, measure="zero_one")
    with pytest.raises(ValueError, match="In outer fold 0: "):
        cross_validate_path(X[:5], y[:5], 1, cv=2, alpha=[0.1, 1.0])
    with pytest.raises(TypeError, match="assessment must be a PathAssessment or None, got int"):
        path_warnings(greedy_path(X, y, 1), 3)
    with pytest.raises(TypeError, match="path must be a SelectionPath"):
        path_warnings(3)


def test_words_where_searches_ended_early() -> None:
    X, y = noise(40, 12)
    found = cross_validate_path(X, y, 12, cv=3, alpha=1.0, patience=1, n_random=0)
    assert found.chosen_sizes.max() < 12
    assert "where the searches ended (12 were asked for)" in found.sentence
    one = cross_validate_path(X, y, 2, cv=[(np.arange(30), np.arange(30, 40))], alpha=1.0)
    assert "1 fold:" in repr(one)
    assert "nan" not in repr(one)


@pytest.mark.parametrize(
    ("selections", "options", "message"),
    [
        (([0, 5],), {}, "column numbers from 0 to 4"),
        (([-1],), {}, "column numbers from 0 to 4"),
        (([1, 1],), {}, "more than once"),
        (([1], [2]), {"level": 2.0}, "level must be between 0 and 1"),
    ],
)
def test_what_is_no_selection(selections: Any, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Stability(tuple(np.array(order) for order in selections), 5, **options)


def test_no_selections_at_all() -> None:
    empty = Stability((), 5)
    assert len(empty.index) == 0
    with pytest.raises(ValueError, match="There are no selections"):
        empty.frequencies()
