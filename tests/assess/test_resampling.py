"""`permutation_null` and `resample_path` against selections made one by one; draws of rows."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import GroupKFold

from assess_checks import ALPHAS, labels, noise, numbers
from assess_twin import Question
from greedyrls import greedy_path
from greedyrls.assess import (
    PermutationNull,
    Stability,
    permutation_null,
    resample_path,
)
from internals import Options, draw_order, draw_rows, make_procedure
from literal import huberish, largest
from traps import Traps

SAME = 1e-8


# Permuted targets --------------------------------------------------------------------------------

ASKED: dict[str, tuple[Any, dict[str, Any]]] = {
    "a number": (3, {"alpha": 0.5}),
    "grid": (2, {"alpha": ALPHAS}),
    "all features": (2, {"alpha": ALPHAS, "alpha_rule": "all_features", "refit_alpha": "loo"}),
    "joint": (2, {"alpha": ALPHAS, "alpha_rule": "joint"}),
    "folds": (2, {"alpha": 0.5, "inner_cv": 3}),
    "absolute": (2, {"alpha": 0.5, "loss": "absolute"}),
    "another measure": (2, {"alpha": 0.5, "measure": "absolute"}),
    "functions": (2, {"alpha": 0.5, "loss": huberish, "measure": largest}),
    "forced": (3, {"alpha": 0.5, "forced_features": [4], "excluded_features": [0]}),
    "no intercept": (3, {"alpha": 0.5, "fit_intercept": False}),
    "size": ("auto", {"alpha": 2.0, "patience": 99, "size_rule": "1se"}),
}


def orders_of(question: Question, count: int, seed: int = 0) -> list[Any]:
    generator = np.random.default_rng(seed)
    groups = question.options.get("groups")
    return [draw_order(question.weights > 0.0, generator, groups) for _ in range(count)]


def assert_is_literal(question: Question, count: int = 3) -> PermutationNull:
    found = permutation_null(
        question.X, question.y, question.n_features, n_permutations=count, **question.options
    )
    everything = np.arange(len(question.data))
    rows = np.flatnonzero(question.weights)
    given = question.select(everything)
    expected = question.own_losses(given, rows)
    assert_allclose(found.losses, expected, rtol=SAME)
    assert found.chosen_loss == pytest.approx(expected[given.chosen_size - 1], rel=SAME)
    assert found.null_losses.shape == (count, len(expected))
    for place, order in enumerate(orders_of(question, count)):
        path = question.select(everything, order=order)
        own = question.own_losses(path, rows, order)
        assert_allclose(found.null_losses[place], own[: len(expected)], rtol=SAME)
        chosen = own[path.chosen_size - 1] if path.chosen_size else path.initial_loss
        assert found.null_chosen_losses[place] == pytest.approx(chosen, rel=SAME)
    return found


@pytest.mark.parametrize("name", ASKED)
def test_null_losses_are_those_of_permuted_targets(name: str) -> None:
    n_features, options = ASKED[name]
    X, y = numbers()
    if list(ASKED).index(name) % 2:
        weights = np.random.default_rng(3).choice([0.0, 0.5, 1.0, 2.0], len(y))
        options = options | {"sample_weight": weights}
    assert_is_literal(Question(X, y, n_features, options))


@pytest.mark.parametrize("classes", [2, 3])
def test_null_losses_of_classes(classes: int) -> None:
    X, y = labels(classes=classes)
    for options in (
        {"alpha": 0.5},
        {"alpha": ALPHAS},
        {"alpha": ALPHAS, "inner_cv": 3, "loss": "squared"},
    ):
        found = assert_is_literal(Question(X, y, 2, options, is_classification=True), 2)
        assert found.measure == "zero_one"


def test_null_losses_of_several_targets_and_groups() -> None:
    X, y = numbers(targets=(2,))
    groups = np.arange(22) % 6
    options = {"alpha": ALPHAS, "inner_cv": GroupKFold(3), "groups": groups}
    assert_is_literal(Question(X, y, 2, options), 2)


def test_rows_without_weight_keep_their_targets() -> None:
    counted = np.array([True, False, True, True, False, True, True, True])
    generator = np.random.default_rng(0)
    orders = [draw_order(counted, generator) for _ in range(60)]
    for order in orders:
        assert_array_equal(np.sort(order), np.arange(8))
        assert_array_equal(order[~counted], [1, 4])
    # Every target comes to every row that counts, about equally often.
    places = np.array(orders)[:, counted]
    for row in np.flatnonzero(counted):
        assert (np.count_nonzero(places == row, axis=0) > 1).all()


def test_p_values_count_the_targets_as_given() -> None:
    null = PermutationNull(
        "squared",
        losses=np.array([1.0, 0.5, 0.4]),
        null_losses=np.array(
            [[2.0, 0.5, np.nan], [1.0 + 1e-13, 0.6, np.nan], [0.5, 0.7, 0.5], [3.0, 0.4, 0.6]]
        ),
        chosen_loss=0.4,
        null_chosen_losses=np.array([0.5, 0.4, 0.6, 0.3]),
        initial_loss=2.0,
    )
    # Equal losses, and searches that ended before a size, count as better.
    assert_allclose(null.p_values, [3 / 5, 3 / 5, 3 / 5])
    assert null.chosen_p_value == pytest.approx(3 / 5)
    assert "median mean squared error of 0.4500" in null.sentence
    assert "against 0.4000 on the targets as given: p = 0.6 from 4 permutations." in null.sentence
    assert repr(null) == "<PermutationNull of 3 sizes, 4 permutations: p = 0.6>"
    low, high = null.band(0.5)
    assert_allclose((low[:2], high[:2]), np.quantile(null.null_losses[:, :2], (0.25, 0.75), axis=0))
    assert np.isnan([low[2], high[2]]).all()
    for twin in (pickle.loads(pickle.dumps(null)), copy.copy(null), copy.deepcopy(null)):
        assert twin.sentence == null.sentence
        assert_array_equal(twin.null_losses, null.null_losses)
        with pytest.raises(ValueError, match="read-only"):
            twin.null_losses[0] = 1.0


@pytest.mark.parametrize("level", [0, 1, 1.5, -0.1])
def test_levels_of_bands(level: Any) -> None:
    X, y = numbers()
    null = permutation_null(X, y, 1, alpha=1.0, n_permutations=2)
    with pytest.raises(ValueError, match=f"level must be between 0 and 1, got {level}"):
        null.band(level)


@pytest.mark.parametrize("n_permutations", [7, 30])
def test_the_best_of_all_sizes_is_judged_as_permutations_are(n_permutations: int) -> None:
    """min-p, written out: the p-value of every row among all, its smallest, the rank of that."""
    rng = np.random.default_rng(n_permutations)
    for _ in range(20):
        losses = rng.integers(0, 6, (n_permutations + 1, 4)).astype(float)  # many ties
        null = PermutationNull("squared", losses[0], losses[1:].copy(), 1.0, losses[1:, 0], 9.0)
        smallest = [
            min(np.mean(losses[:, size] <= row[size]) for size in range(4)) for row in losses
        ]
        assert null.best_p_value == np.mean([value <= smallest[0] for value in smallest])
        assert null.best_p_value >= null.p_values.min()


def test_permutations_that_ended_early_count_as_better() -> None:
    null_losses = np.array([[1.0, np.nan], [2.0, 5.0], [3.0, 6.0]])
    null = PermutationNull(
        "squared", np.array([1.5, 4.0]), null_losses, 4.0, null_losses[:, 0], 9.0
    )
    assert_allclose(null.p_values, [2 / 4, 2 / 4])
    assert null.best_p_value == 2 / 4


def test_on_noise_the_best_p_value_is_uniform_where_the_smallest_is_not() -> None:
    rng = np.random.default_rng(3)
    best, smallest = [], []
    for _ in range(400):
        losses = rng.standard_normal((200, 6))
        null = PermutationNull("squared", losses[0], losses[1:], 1.0, losses[1:, 0], 9.0)
        best.append(null.best_p_value)
        smallest.append(null.p_values.min())
    assert 0.05 < np.mean(np.array(best) <= 0.1) < 0.13
    assert np.mean(np.array(smallest) <= 0.1) > 0.3


def test_on_noise_p_values_are_uniform() -> None:
    rng = np.random.default_rng(5)
    p_values = []
    for _ in range(40):
        X, y = rng.standard_normal((16, 5)), rng.standard_normal(16)
        null = permutation_null(
            X, y, 2, alpha=1.0, n_permutations=9, random_state=int(rng.integers(1000))
        )
        p_values.append([*null.p_values, null.chosen_p_value])
    values = np.array(p_values)  # 0.1, 0.2, … 1.0, equally likely
    assert (np.abs(values.mean(axis=0) - 0.55) < 4 * 0.2872 / np.sqrt(40)).all()
    assert (np.abs((values <= 0.3).mean(axis=0) - 0.3) < 4 * np.sqrt(0.3 * 0.7 / 40)).all()
    assert values.min() >= 0.1 - 1e-12
    assert values.max() <= 1.0


@pytest.mark.parametrize("n_features", [3, "auto"])
def test_on_signal_p_values_are_the_smallest_there_can_be(n_features: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 6))
    y = X[:, 0] + X[:, 1] + 0.3 * rng.standard_normal(60)
    null = permutation_null(X, y, n_features, alpha=1.0, n_permutations=19)
    assert_allclose(null.p_values, 1 / 20)
    assert null.chosen_p_value == pytest.approx(1 / 20)
    assert (null.band(0.9)[0] > null.losses).all()


def test_permutations_are_those_of_the_seed() -> None:
    X, y = numbers()
    options: dict[str, Any] = {"alpha": 1.0}
    three = permutation_null(X, y, 2, n_permutations=3, **options)
    five = permutation_null(X, y, 2, n_permutations=5, **options)
    assert_allclose(five.null_losses[:3], three.null_losses, rtol=1e-9)
    other = permutation_null(X, y, 2, n_permutations=3, random_state=1, **options)
    assert_array_equal(other.losses, three.losses)
    assert (other.null_losses != three.null_losses).all()


@pytest.mark.usefixtures("numpy_steps")
def test_permutations_share_their_gram_columns(traps: Traps) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((80, 12)), rng.standard_normal(80)
    calls = traps.watch("multiply columns")
    greedy_path(X, y, 4, alpha=1.0)
    once = sum(len(indices) for _, indices, *_ in calls)
    calls.clear()
    count = 25
    permutation_null(X, y, 4, alpha=1.0, n_permutations=count)
    # Each column once for the targets as given, and once for all permutations.
    assert sum(len(indices) for _, indices, *_ in calls) <= 2 * 12 < count * once / 5


@pytest.mark.parametrize(
    "options",
    [
        {"alpha": 1.0},
        {"alpha": ALPHAS, "alpha_rule": "joint"},
        {"alpha": ALPHAS, "alpha_rule": "all_features"},
        {"alpha": ALPHAS},
    ],
)
def test_permutations_do_not_stop_before_the_targets_as_given(options: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 8))
    y = X[:, :3] @ [1.0, 0.5, 0.3] + rng.standard_normal(40)
    null = permutation_null(X, y, "auto", patience=1, n_permutations=10, **options)
    assert len(null.losses) > 2
    assert np.isfinite(null.null_losses).all()


# Draws of rows -----------------------------------------------------------------------------------


def draws_of(
    question: Question, resample: str, count: int, share: float = 0.5, seed: int = 0
) -> list[Any]:
    """As `resample_path` makes them."""
    draws, _ = draw_rows(
        question.weights > 0.0,
        np.asarray(question.y) if question.is_classification else None,
        question.options.get("groups"),
        resample,
        count,
        share,
        np.random.default_rng(seed),
    )
    return draws


@pytest.mark.parametrize(("share", "size"), [(0.5, 11), (0.7, 15), (0.3, 7)])
def test_subsamples_are_a_share_of_the_rows(share: float, size: int) -> None:
    X, y = numbers()
    draws = draws_of(Question(X, y, 1, {}), "subsample", 30, share)
    assert len(draws) == 30
    for rows, counts in draws:
        assert counts is None
        assert len(rows) == len(set(rows.tolist())) == size
        assert_array_equal(rows, np.sort(rows))
    assert len({tuple(rows) for rows, _ in draws}) > 25
    drawn = np.bincount(np.concatenate([rows for rows, _ in draws]), minlength=22) / 30
    assert (np.abs(drawn - size / 22) < 4.5 * np.sqrt(0.25 / 30)).all()


def test_subsamples_keep_the_shares_of_classes() -> None:
    y = np.array(["a"] * 20 + ["b"] * 8 + ["c"] * 5)
    question = Question(np.zeros((33, 1)), y, 1, {}, is_classification=True)
    for rows, _ in draws_of(question, "subsample", 20):
        assert [np.count_nonzero(y[rows] == name) for name in "abc"] == [10, 4, 2]


@pytest.mark.parametrize("resample", ["subsample", "bootstrap"])
def test_groups_are_drawn_whole(resample: str) -> None:
    rng = np.random.default_rng(1)
    groups = rng.permutation(np.array(list("aaabbcccddeeefff")))
    y = rng.standard_normal(16)
    question = Question(np.zeros((16, 1)), y, 1, {"groups": groups})
    for rows, counts in draws_of(question, resample, 20):
        own = np.ones(len(rows)) if counts is None else counts
        times = {name: set(own[groups[rows] == name]) for name in set(groups[rows])}
        assert all(len(values) == 1 for values in times.values())
        for name in times:
            assert np.count_nonzero(groups[rows] == name) == np.count_nonzero(groups == name)
        drawn = sum(values.pop() for values in times.values())
        assert drawn == (3 if resample == "subsample" else 6)


def test_bootstrap_samples_have_as_many_rows_as_there_are() -> None:
    X, y = numbers()
    weights = np.where(np.arange(22) % 4 == 0, 0.0, 2.0)
    for options in ({}, {"sample_weight": weights}):
        question = Question(X, y, 1, options)
        counted = np.flatnonzero(question.weights)
        draws = draws_of(question, "bootstrap", 40)
        for rows, counts in draws:
            assert counts.sum() == len(counted)
            assert counts.min() >= 1.0
            assert set(rows) <= set(counted)
        left_out = 1.0 - np.mean([len(rows) / len(counted) for rows, _ in draws])
        assert left_out == pytest.approx((1.0 - 1.0 / len(counted)) ** len(counted), abs=0.06)


@pytest.mark.parametrize("resample", ["subsample", "bootstrap"])
def test_every_draw_has_two_samples_of_each_class(resample: str) -> None:
    y = np.array(["rare"] * 4 + ["common"] * 16)
    question = Question(np.zeros((20, 1)), y, 1, {}, is_classification=True)
    for rows, _ in draws_of(question, resample, 50):
        assert np.unique(y[rows], return_counts=True)[1].min() >= 2


def test_draws_that_cannot_be_had() -> None:
    X, _ = numbers()
    rare = np.array(["rare"] + ["common"] * 21)
    for resample in ("subsample", "bootstrap"):
        with pytest.raises(ValueError, match=rf"100 draws \({resample}\) in a row .*merge rare"):
            resample_path(X, rare, 2, alpha=1.0, resample=resample)
    groups = np.arange(22) // 2
    with pytest.raises(ValueError, match="fewer than 4 samples; draw a larger share"):
        resample_path(*numbers(), 2, alpha=1.0, share=0.1, groups=groups)


# Selections on them ------------------------------------------------------------------------------

RESAMPLED: dict[str, tuple[Any, dict[str, Any]]] = {
    "a number": (3, {"alpha": 0.5}),
    "grid": (2, {"alpha": ALPHAS}),
    "size": ("auto", {"alpha": 2.0, "patience": 2}),
    "folds": (3, {"alpha": 0.5, "inner_cv": 3}),
    "absolute": (2, {"alpha": 0.5, "loss": "absolute"}),
    "forced": (3, {"alpha": 0.5, "forced_features": [4], "excluded_features": [0]}),
}


def assert_selections_are_literal(question: Question, resample: str, count: int) -> Stability:
    options: dict[str, Any] = {"resample": resample, "n_resamples": count, **question.options}
    found = resample_path(question.X, question.y, question.n_features, **options)
    draws = draws_of(question, resample, count)
    assert len(found.selections) == count
    for selection, (rows, counts) in zip(found.selections, draws, strict=True):
        path = question.select(rows, counts)
        assert selection.tolist() == path.indices[: path.chosen_size].tolist()
    assert found.n_features_in == question.data.shape[1]
    return found


@pytest.mark.parametrize("name", RESAMPLED)
def test_selections_on_subsamples(name: str) -> None:
    n_features, options = RESAMPLED[name]
    X, y = numbers(40)
    if list(RESAMPLED).index(name) % 2:
        options = options | {"sample_weight": np.arange(40) % 4 * 0.5}
    found = assert_selections_are_literal(Question(X, y, n_features, options), "subsample", 4)
    assert found.source == "4 subsamples of 50% of the samples"


@pytest.mark.parametrize("name", RESAMPLED)
def test_selections_on_bootstrap_samples_count_rows(name: str) -> None:
    n_features, options = RESAMPLED[name]
    X, y = numbers(40, 8, seed=1)
    if name == "absolute":
        options = options | {"sample_weight": np.arange(40) % 4 * 0.5}
    found = assert_selections_are_literal(Question(X, y, n_features, options), "bootstrap", 10)
    assert found.source == "10 bootstrap samples of samples"


@pytest.mark.parametrize("resample", ["subsample", "bootstrap"])
def test_gram_columns_are_those_of_the_rows_drawn(resample: str) -> None:
    X, y = numbers(30)
    procedure = make_procedure(X, y, Options(4, size_rule="min"), task="regression")
    ((rows, counts),) = draws_of(Question(X, y, 4, {}), resample, 1)
    trial = procedure.trial(rows, counts, procedure.shared())
    times = 1 if counts is None else counts.astype(int)
    drawn = X[np.repeat(rows, times)]
    expected = len(drawn) * np.cov(drawn.T, bias=True)
    assert_allclose(trial.data.gram.columns([0, 3]), expected[[0, 3]], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("resample", ["subsample", "bootstrap"])
def test_selections_for_classes_and_groups(resample: str) -> None:
    X, y = labels(40, seed=3)
    options: dict[str, Any] = {"alpha": 0.5, "loss": "zero_one"}
    assert_selections_are_literal(Question(X, y, 2, options, is_classification=True), resample, 3)
    groups = np.array(list("abcdefghij"))[np.arange(40) % 10]
    options = {"alpha": 0.5, "inner_cv": 2, "groups": groups}
    found = assert_selections_are_literal(
        Question(X, y, 2, options, is_classification=True), resample, 3
    )
    assert "of the groups" in found.source or found.source.endswith("samples of groups")


def test_names_and_seeds_of_resampled_selections() -> None:

    X, y = numbers(40)
    frame = pd.DataFrame(X, columns=list("pqrstu"))
    found = resample_path(frame, y, 2, alpha=1.0, n_resamples=6)
    assert found.feature_names_in == tuple("pqrstu")
    again = resample_path(frame, y, 2, alpha=1.0, n_resamples=6)
    other = resample_path(frame, y, 2, alpha=1.0, n_resamples=6, random_state=1, share=0.4)
    assert_array_equal(np.array(found.selections), np.array(again.selections))
    assert (np.array(found.selections) != np.array(other.selections)).any()
    assert other.source == "6 subsamples of 40% of the samples"
    strong = resample_path(X, 5.0 * X[:, 3] + X[:, 1], 2, alpha=1e-3, n_resamples=6)
    assert_array_equal(np.array(strong.selections), [[3, 1]] * 6)
    assert_allclose(strong.index, 1.0)


def test_weights_move_with_the_targets() -> None:
    generator = np.random.default_rng(2)
    y = (np.arange(120) % 8 == 0).astype(int)
    X = generator.standard_normal((120, 6)) + 1.2 * y[:, None] * (np.arange(6) < 2)
    weights = np.where(y == 1, 7.0, 1.0)
    null = permutation_null(X, y, 2, alpha=1.0, sample_weight=weights, n_permutations=39)
    assert null.chosen_p_value == pytest.approx(1 / 40)


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


def test_draws_of_few_samples() -> None:
    X, _ = noise(8, 3)
    found = resample_path(X, ["a", "a", *"bbbbbb"], 1, alpha=1.0, n_resamples=3)
    assert len(found.selections) == 3
    found = resample_path(
        X[:5], np.arange(5.0) ** 2, 1, alpha=1.0, n_resamples=3, task="regression"
    )
    assert len(found.selections) == 3
