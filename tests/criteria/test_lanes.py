"""Searches for several penalties that take their steps together, against one search for each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose

from greedyrls import StopReason, greedy_path
from internals import (
    Limits,
    LooData,
    LooLanes,
    Problem,
    TrainingColumns,
    make_folds,
    make_plan,
    make_problem,
    search_path,
    search_paths,
    share_columns,
)
from problems import Case, cases, named_problems, two_classes
from sweeps import EXAMPLES
from tuning import Tune, tuned

ALPHAS = np.array([0.03, 1.0, 1.5, 40.0, 2000.0])


def never(losses: Any) -> bool:
    return False


def problem_of(case: Case) -> Problem:
    options = {name: value for name, value in case.options.items() if name != "alpha"}
    return make_problem(case.X, case.y, **options)


def compare(problem: Problem, size: int, alphas: np.ndarray = ALPHAS) -> int:
    """How many lanes were made to the end; those that were are as the single searches."""
    data = LooData(problem, None, is_shared=True)
    lanes = LooLanes(data, alphas, size, never)
    lanes.run()
    plan = make_plan(problem)
    finished = 0
    for alpha, lane in zip(alphas, lanes.paths, strict=True):
        if lane is None:
            continue
        finished += 1
        # Without compiled steps, whose Gram matrix is more exact where columns have a large mean.
        with tuned(compiled_steps=False):
            path = search_path(plan, LooData(problem), float(alpha), Limits(size))
        assert [step.index for step in lane.steps] == path.indices.tolist()
        scale = path.initial_loss
        losses = [step.loss for step in lane.steps]
        assert_allclose(losses, path.losses, rtol=1e-9, atol=1e-13 * scale)
        errors = [step.standard_error for step in lane.steps]
        assert_allclose(errors, path.standard_errors, rtol=1e-7, atol=1e-10 * scale)
        diagonal = np.abs(np.diagonal(path.moments.gram)).max(initial=1.0)
        assert_allclose(lane.gram, path.moments.gram, rtol=1e-9, atol=1e-11 * diagonal)
    return finished


@pytest.mark.heavy
@settings(max_examples=max(20, EXAMPLES // 4))
@given(case=cases())
def test_lanes_are_single_searches(case: Case) -> None:
    compare(problem_of(case), case.n_features)


@pytest.mark.parametrize("name", list(named_problems()))
@pytest.mark.parametrize("weighted", [False, True])
def test_lanes_on_troublesome_data(name: str, weighted: bool) -> None:
    X, y = named_problems()[name]
    weights = None
    if weighted:
        weights = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    compare(make_problem(X, y, sample_weight=weights), 10)


def test_most_lanes_are_made_together_on_plain_data() -> None:
    X, y = two_classes(600, 80, signal=0.3)
    assert compare(make_problem(X, y), 12, np.logspace(-2, 4, 9)) == 9
    Y = np.column_stack([y, X[:, 3] - X[:, 7]])
    assert compare(make_problem(X, Y), 8, np.logspace(0, 4, 5)) == 5


@pytest.mark.parametrize("elements", [1, 3000])
def test_any_group_size_gives_the_same(elements: int, tune: Tune) -> None:
    tune(lane_elements=elements)
    X, y = two_classes(600, 60, signal=0.3)
    assert compare(make_problem(X, y), 8) == len(ALPHAS)


def test_columns_that_are_not_kept_are_gathered_anew(tune: Tune) -> None:
    tune(chosen_share=0.0, spare_bytes=3 * 8 * 600)
    X, y = two_classes(600, 60, signal=0.3)
    assert compare(make_problem(X, y), 8) == len(ALPHAS)


def test_a_lane_with_loose_bounds_is_left_to_a_single_search(
    tune: Tune,
) -> None:
    tune(lane_late_candidates=0)
    X, y = named_problems()["outliers"]
    assert compare(make_problem(X, y), 10) < len(ALPHAS)


def test_duplicates_go_to_the_lowest_index() -> None:
    X, y = two_classes(300, 30, signal=0.3)
    doubled = make_problem(np.concatenate([X[:, ::-1], X], axis=1), y)
    assert compare(doubled, 6) > 0
    lanes = LooLanes(LooData(doubled, None, is_shared=True), ALPHAS, 1, never)
    lanes.run()
    assert all(lane is not None and lane.steps[0].index < 30 for lane in lanes.paths)


def test_lanes_stop_when_stale(tune: Tune) -> None:
    tune(lanes="always")
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((120, 40)), rng.standard_normal(120)
    problem = make_problem(X, y)
    plan = make_plan(problem)
    limits = Limits(30, patience=4, tol=1e-4)
    data = LooData(problem, None, is_shared=True)
    paths = list(search_paths(plan, data, ALPHAS, limits))
    for alpha, path in zip(ALPHAS, paths, strict=True):
        alone = search_path(plan, LooData(problem), float(alpha), limits)
        assert path.indices.tolist() == alone.indices.tolist()
        assert path.stop_reason is alone.stop_reason
    assert any(path.stop_reason is StopReason.NO_IMPROVEMENT for path in paths)


@pytest.mark.parametrize("alpha_rule", ["joint", "nested"])
def test_the_procedure_with_lanes_and_without(alpha_rule: Any, tune: Tune) -> None:
    X, y = two_classes(400, 70, signal=0.2)
    together = greedy_path(X, y, 9, alpha=ALPHAS, alpha_rule=alpha_rule)
    tune(lanes="never")
    apart = greedy_path(X, y, 9, alpha=ALPHAS, alpha_rule=alpha_rule)
    assert together.indices.tolist() == apart.indices.tolist()
    assert together.surface is not None
    assert apart.surface is not None
    assert_allclose(together.surface.losses, apart.surface.losses, rtol=1e-9)
    assert together.surface.alpha == apart.surface.alpha


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("fit_intercept", "shift"), [(False, 0.0), (True, 0.0), (True, 1e6)])
def test_columns_of_training_rows_from_those_of_all(
    weighted: bool, fit_intercept: bool, shift: float
) -> None:
    X, y = two_classes(300, 20)
    X = X + shift
    weights = np.random.default_rng(0).integers(0, 3, 300).astype(float) if weighted else None
    problem = make_problem(X, y, fit_intercept=fit_intercept, sample_weight=weights)
    whole = LooData(problem, None, is_shared=True)
    folds = make_folds(4, 300, y=y, labels=None, groups=None, weights=weights)
    assert folds is not None
    for split in folds.splits:
        left = np.zeros(300)
        left[split.train] = 1.0 if weights is None else weights[split.train]
        training = LooData(replace(problem, weights=left), None, is_shared=True)
        expected = training.samples.products([3, 17, 4])
        share_columns(whole, training)
        assert isinstance(training.gram.fetch, TrainingColumns)
        scale = np.abs(expected).max()
        found = training.gram.fetch([3, 17, 4])
        assert_allclose(found, expected, rtol=1e-9, atol=(1e-12 + 1e-15 * shift) * scale)
    assert whole.samples.passes == 2


def test_no_columns_at_all() -> None:
    # Of lanes that are scored in several groups, those of a group may have nothing to score.
    X = np.random.default_rng(0).normal(size=(20_000, 3))
    (block,) = LooData(make_problem(X, X[:, 0] ** 2), None, is_shared=True).samples.blocks
    assert block.columns.get(np.array([], dtype=np.intp)).shape == (0, 20_000)
