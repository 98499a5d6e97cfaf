"""`n_jobs` spreads searches over threads or processes, and changes no answer."""

from __future__ import annotations

import _thread
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from greedyrls import (
    GreedyRLSClassifier,
    GreedyRLSRanker,
    GreedyRLSRegressor,
    SelectionPath,
    greedy_path,
)
from greedyrls.assess import cross_validate_path, permutation_null, resample_path
from internals import native
from traps import Traps
from tuning import Tune

compiled = pytest.mark.skipif(native() is None, reason="needs compiled steps")
JOBS = (2, 3, -1)
RNG = np.random.default_rng(21)
X = RNG.standard_normal((90, 40))
Y = X[:, :4] @ [1.0, -0.8, 0.6, 0.4] + RNG.standard_normal(90)
WEIGHTS = RNG.integers(0, 4, 90).astype(float)
THIN = np.where(np.abs(X) > 1.2, X, 0.0)
GRID = [0.1, 10.0, 1000.0]
# Too large for z of all candidates: bounds, with packed columns and Gram columns that are shared.
WIDE = RNG.standard_normal((400, 700))
WIDE_Y = WIDE[:, :6].sum(axis=1) + 2.0 * RNG.standard_normal(400)


def regression(X: Any = X, y: Any = Y, weights: Any = None, **options: Any) -> Callable[[Any], Any]:
    options = {"max_features": 8, **options}
    return lambda jobs: GreedyRLSRegressor(**options, n_jobs=jobs).fit(X, y, weights).path_


def classes(count: int, **options: Any) -> Callable[[Any], Any]:
    labels = np.digitize(Y, np.quantile(Y, np.linspace(0, 1, count + 1)[1:-1]))
    options = {"max_features": 6, **options}
    return lambda jobs: GreedyRLSClassifier(**options, n_jobs=jobs).fit(X, labels).path_


def paths(**options: Any) -> Callable[[Any], Any]:
    return lambda jobs: greedy_path(X, Y, 5, n_jobs=jobs, **options)


CASES: dict[str, Callable[[Any], SelectionPath]] = {
    "the default": regression(),
    "bounds": regression(WIDE, WIDE_Y, max_features=20),
    "Fortran order": regression(np.asfortranarray(X)),
    "float32": regression(X.astype(np.float32)),
    "sparse": regression(sparse.csr_array(THIN)),
    "weights": regression(weights=WEIGHTS),
    "several targets": regression(y=np.column_stack([Y, X[:, 7] - X[:, 3]])),
    "absolute loss": regression(loss="absolute", alpha=GRID),
    "folds": regression(cv=4, alpha=GRID),
    "backward and forward": regression(direction="floating", alpha=GRID),
    "groups of features": regression(feature_groups=np.arange(40) // 2, alpha=GRID),
    "two classes": classes(2),
    "three classes, balanced": classes(3, class_weight="balanced", alpha=GRID),
    "joint": paths(alpha=GRID, alpha_rule="joint"),
    "joint, a wide grid": paths(alpha="auto", alpha_rule="joint"),
    "nested": paths(alpha=GRID),
    "all features": paths(alpha=GRID, alpha_rule="all_features"),
    "ranking": lambda jobs: (
        GreedyRLSRanker(3, alpha=GRID, n_jobs=jobs).fit(X, Y, groups=np.arange(90) // 6).path_
    ),
}


def assert_same_path(one: SelectionPath, other: SelectionPath) -> None:
    assert_array_equal(other.indices, one.indices)
    assert other.chosen_size == one.chosen_size
    assert other.settings.alpha == pytest.approx(one.settings.alpha, rel=1e-12)
    assert other.sentence == one.sentence
    assert_allclose(other.losses, one.losses, rtol=1e-10)
    if one.surface is not None:
        assert other.surface is not None
        assert_allclose(other.surface.alphas, one.surface.alphas, rtol=1e-12)
        assert_allclose(other.surface.losses, one.surface.losses, rtol=1e-10)
        assert_allclose(other.surface.standard_errors, one.surface.standard_errors, rtol=1e-8)
    if one.refit_alphas is not None:
        assert other.refit_alphas == pytest.approx(one.refit_alphas, rel=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_no_number_of_jobs_changes_a_path(name: str, tune: Tune) -> None:
    tune(threads_over_searches=0)
    one = CASES[name](None)
    for jobs in JOBS:
        assert_same_path(one, CASES[name](jobs))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sparse", "backward and forward", "groups of features"])
def test_processes_change_nothing(name: str, tune: Tune) -> None:
    one = CASES[name](None)
    tune(worth_processes=0.0)
    assert_same_path(one, CASES[name](2))


def test_processes_are_for_long_searches_by_numpy(traps: Traps, tune: Tune) -> None:
    begun: list[int] = []

    def here(calls: Any, count: int) -> Any:
        begun.append(count)
        return [(number, answer) for number, call in enumerate(calls) for answer in call()]

    traps.replace("search outer folds in processes", here)
    tune(compiled_steps=False)
    for seconds, expected in ((0.5, []), (0.0, [2])):
        tune(worth_processes=seconds)
        greedy_path(X, Y, 3, alpha=[0.1, 10.0], n_jobs=2)
        assert begun == expected


@pytest.mark.parametrize("live_bytes", [0, 1 << 18])
def test_folds_that_are_not_kept_between_rounds(live_bytes: int, tune: Tune) -> None:
    tune(threads_over_searches=0)
    one = CASES["the default"](None)
    tune(live_bytes=live_bytes)
    assert_same_path(one, CASES["the default"](2))


def test_probabilities_do_not_depend_on_jobs(tune: Tune) -> None:
    tune(threads_over_searches=0)
    labels = Y > 0
    one, two = (
        GreedyRLSClassifier(alpha=GRID, max_features=5, n_jobs=jobs).fit(X, labels)
        for jobs in (1, 2)
    )
    assert_allclose(one.predict_proba(X), two.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("options", [{}, {"inner_cv": 3}, {"sample_weight": WEIGHTS}], ids=list)
def test_no_number_of_jobs_changes_an_assessment(options: Any) -> None:
    options = {"alpha": GRID, "max_features": 5, **options}
    one, *others = (
        cross_validate_path(X, Y, "auto", cv=4, n_random=2, n_jobs=jobs, **options)
        for jobs in (None, *JOBS)
    )
    for other in others:
        assert_array_equal(other.chosen_sizes, one.chosen_sizes)
        assert_allclose(other.alphas, one.alphas, rtol=1e-12)
        assert_allclose(other.test_losses, one.test_losses, rtol=1e-10)
        assert_allclose(other.random_losses, one.random_losses, rtol=1e-10)
        assert_allclose(other.held_out_covariance, one.held_out_covariance, rtol=1e-8, atol=1e-14)


def test_no_number_of_jobs_changes_permutations_and_resamples() -> None:
    nulls = [
        permutation_null(X, Y, 3, alpha=GRID, n_permutations=6, n_jobs=jobs) for jobs in (1, 2, 3)
    ]
    for null in nulls[1:]:
        assert_allclose(null.null_losses, nulls[0].null_losses, rtol=1e-10)
    drawn = [resample_path(X, Y, 3, alpha=1.0, n_resamples=6, n_jobs=jobs) for jobs in (1, 2, 3)]
    for one in drawn[1:]:
        for order, expected in zip(one.selections, drawn[0].selections, strict=True):
            assert_array_equal(order, expected)


@compiled
def test_penalties_of_a_fold_are_parts_of_their_own(traps: Traps, tune: Tune) -> None:
    tune(threads_over_searches=0)
    begun = traps.watch("begin outer fold")
    used = traps.watch("search outer folds in threads")
    GreedyRLSRegressor(alpha=GRID, max_features=8, alpha_cv=5, n_jobs=8).fit(X, Y)
    assert len(begun) == 5
    assert {threads for _, threads in used} == {8}


@compiled
def test_small_data_have_one_thread(traps: Traps) -> None:
    used = traps.watch("search outer folds in threads")
    GreedyRLSRegressor(alpha=GRID, max_features=4, n_jobs=8).fit(X, Y)
    assert {threads for _, threads in used} == {1}


def test_an_error_in_a_part_is_an_error(traps: Traps, tune: Tune) -> None:
    tune(threads_over_searches=0)

    def fails() -> None:
        raise RuntimeError("the third fold")

    traps.at("begin outer fold", 3, fails)
    with pytest.raises(RuntimeError, match="the third fold"):
        GreedyRLSRegressor(alpha=GRID, max_features=4, n_jobs=3).fit(X, Y)


@compiled
def test_an_interrupt_ends_the_selections_of_other_threads(traps: Traps) -> None:
    """They do not go on to their end, which might take minutes."""
    begun = traps.watch("begin outer fold")
    started = threading.Event()

    def first(original: Any, *arguments: Any, **options: Any) -> Any:
        # The main thread is interrupted while selections are under way.
        if threading.current_thread() is not threading.main_thread() and not started.is_set():
            started.set()
            _thread.interrupt_main()
        return original(*arguments, **options)

    traps.around("select in a fold", first)
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        cross_validate_path(
            WIDE, WIDE_Y, "auto", cv=8, alpha=GRID, max_features=10, n_random=0, n_jobs=2
        )
    ended = time.monotonic() + 20.0
    while threading.active_count() > before and time.monotonic() < ended:
        time.sleep(0.01)
    assert threading.active_count() <= before  # threads of other tests may end meanwhile
    assert len(begun) < 8 * 5
