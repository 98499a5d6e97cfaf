"""Searches that remove features, against slow twins that fit every set anew for every split."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from greedyrls import SelectionPath, Step, greedy_path
from internals import BackwardState, ClusterFolds, choose_removal, make_plan, make_problem
from literal_directions import Move, Search, literal_search, twin_of
from problems import FOLD_KINDS, Case, cases, fold_cases, named_problems
from sweeps import EXAMPLES
from tuning import Tune

DIRECTIONS = ["backward", "floating", "foba", "swap"]
COUNT = max(12, min(150, EXAMPLES // 12))


def assert_same_moves(
    steps: Sequence[Step], moves: Sequence[Move], search: Search, start: Sequence[int], floor: float
) -> None:
    """Every loss is that of its set; the moves are the same up to a tie of two features."""
    now = list(start)
    for place, step in enumerate(steps):
        if step.action == "add":
            now.append(step.index)
        else:
            now.remove(step.index)
        assert step.loss == pytest.approx(search.score(now), rel=1e-8, abs=floor)
        if place < len(moves) and (step.action, step.index) != moves[place][:2]:
            assert step.action == moves[place][0]
            assert step.loss == pytest.approx(moves[place][2], rel=1e-8, abs=floor)
            return  # what follows may go another way
    assert len(steps) == len(moves)


def check_moves(case: Case, direction: str, **options: Any) -> SelectionPath:
    """The path, after a comparison with the twin."""
    search = literal_search(case.X, case.y, **case.literal_options, **options)
    path = greedy_path(
        case.X, case.y, case.n_features, direction=direction, **case.options, **options
    )
    start = [] if path.start is None else path.start.features
    floor = 1e-12 * float(np.mean(np.square(case.y)))
    assert path.initial_loss == pytest.approx(search.initial_loss, rel=1e-9, abs=floor)
    if path.start is not None:
        assert path.start.loss == pytest.approx(search.score(start), rel=1e-8, abs=floor)
    moves = twin_of(direction, search, case.n_features)
    assert_same_moves(path.steps, moves, search, start, floor)
    return path


@pytest.mark.heavy
@pytest.mark.parametrize("direction", DIRECTIONS)
@settings(max_examples=COUNT)
@given(case=fold_cases(folds=["loo", "loo", "loo", *FOLD_KINDS], max_samples=20))
def test_squared_loss(direction: str, case: Case) -> None:
    path = check_moves(case, direction)
    assert len(path) == case.n_features


@pytest.mark.heavy
@pytest.mark.parametrize("direction", DIRECTIONS)
@settings(max_examples=COUNT)
@given(
    case=fold_cases(folds=["loo", "stratified"], kinds=["normal", "integer"], labelled=True),
    loss=st.sampled_from(["zero_one", "balanced_zero_one", "absolute", "auc"]),
)
def test_other_losses(direction: str, case: Case, loss: str) -> None:
    # Of predictions that are equal in theory rounding makes an order, which area counts.
    if loss == "auc" and (case.y.ndim == 2 or case.X.dtype.kind != "f"):
        loss = "zero_one"
    check_moves(case, direction, loss=loss)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("cv", ["loo", 3])
def test_a_function_as_loss(direction: str, cv: Any) -> None:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((18, 5))
    y = X[:, 0] - X[:, 3] + rng.standard_normal(18)
    folds = np.arange(18) * 3 // 18
    splits = [(np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)) for fold in range(3)]
    case = Case(X, y, 3, {"cv": cv}, "loo" if cv == "loo" else splits)
    check_moves(case, direction, loss=lambda true, given: float(np.mean(abs(true - given) ** 1.5)))


@pytest.mark.heavy
@pytest.mark.parametrize("direction", DIRECTIONS)
@settings(max_examples=COUNT)
@given(case=cases(max_samples=12, max_features=14))
def test_wide_problems(direction: str, case: Case) -> None:
    # With all features and a small penalty the definition itself loses its digits.
    case.options["alpha"] = max(case.options["alpha"], 1e-1 if direction == "backward" else 1e-3)
    check_moves(case, direction)


def astray(seed: int, size: int, m: int = 22) -> Case:
    """Four causes and their sum with noise, which a search forward takes first."""
    rng = np.random.default_rng(seed)
    causes = rng.standard_normal((m, 4))
    y = causes.sum(axis=1)
    X = np.column_stack([y + rng.standard_normal(m), causes, rng.standard_normal((m, 2))])
    return Case(X, y + 0.3 * rng.standard_normal(m), size, {"alpha": 0.01})


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_removals_and_exchanges_are_made_and_right(direction: str) -> None:
    removals = 0
    for seed in range(8):
        path = check_moves(astray(seed, 4 if direction == "swap" else 6), direction)
        removals += sum(step.action == "remove" for step in path.steps)
    assert removals > 5


@pytest.mark.parametrize("n_runners_up", [0, 2, 9])
def test_runners_up_of_an_exchange_are_the_other_removals_best_first(n_runners_up: int) -> None:
    ranks = set()  # of the feature that goes, among all removals
    for seed in range(8):
        case = astray(seed, 4)
        search = literal_search(case.X, case.y, **case.literal_options)
        path = greedy_path(
            *(case.X, case.y, 4), direction="swap", n_runners_up=n_runners_up, **case.options
        )
        now: list[int] = []
        for step in path.steps:
            if step.action == "add":
                now.append(step.index)
                continue
            removals = search.removals(now, ())
            ranks.add([index for _, index, _ in removals].index(step.index))
            others = [move for move in removals if move[1] != step.index][:n_runners_up]
            assert [index for index, _ in step.runners_up] == [index for _, index, _ in others]
            assert_allclose(
                [loss for _, loss in step.runners_up], [loss for _, _, loss in others], rtol=1e-8
            )
            now.remove(step.index)
    assert ranks == {0, 1, 2, 3}


@pytest.mark.parametrize("ratio", [0.1, 0.9])
def test_foba_with_another_ratio(ratio: float) -> None:
    removals = 0
    for seed in range(8):
        case = astray(seed, 6)
        search = literal_search(case.X, case.y, **case.literal_options)
        path = greedy_path(
            case.X, case.y, 6, direction="foba", backward_ratio=ratio, **case.options
        )
        moves = twin_of("foba", search, 6, ratio)
        assert_same_moves(path.steps, moves, search, (), 1e-12)
        removals += sum(step.action == "remove" for step in path.steps)
    assert removals > 5


@pytest.mark.parametrize("name", list(named_problems()))
@pytest.mark.parametrize("cv", ["loo", 4])
@pytest.mark.parametrize("alpha", [1e-4, 1.0, 1e6])
def test_a_state_at_any_set_is_that_of_adding_one_by_one(name: str, cv: Any, alpha: float) -> None:
    X, y = named_problems()[name]
    problem = make_problem(X, y)
    plan = make_plan(problem, cv=cv)
    data = plan.data(problem)
    rng = np.random.default_rng(5)
    features = [int(index) for index in rng.permutation(X.shape[1])[:8]]
    grown, criterion = plan.search(data, alpha, 8)
    moved, _ = plan.search(data, alpha, 2)
    for index in features:
        grown.add(index, grown.measure(index), lambda count: [], 1)
    for index in [*features[4:6], *features[:2]]:  # on the way there is another set
        moved.add(index, moved.measure(index), lambda count: [], 1)
    moved.move_to(features)
    assert list(moved.selected) == features
    assert moved.loss == pytest.approx(grown.loss, rel=1e-9)
    assert moved.standard_error == pytest.approx(grown.standard_error, rel=1e-7)
    wanted, found = (criterion.choose(state, 3, 1) for state in (grown, moved))
    assert found.feature == wanted.feature
    assert found.loss == pytest.approx(wanted.loss, rel=1e-9)
    assert_allclose(
        [loss for _, loss in found.runners_up], [loss for _, loss in wanted.runners_up], rtol=1e-9
    )
    for state in (grown, moved):
        state.add(found.feature, state.measure(found.feature), found.ranking, 1)
    assert moved.loss == pytest.approx(grown.loss, rel=1e-9)
    gram, wanted_gram = (state.moments().of(tuple(features)).gram for state in (moved, grown))
    assert_allclose(gram, wanted_gram, rtol=1e-9, atol=1e-9 * np.abs(wanted_gram).max())


@pytest.mark.parametrize("cv", ["loo", 4])
@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_removal_that_bounds_spare_is_none_that_is_best(cv: Any, loss: str, tune: Tune) -> None:
    tune(few_removals=0)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 40))
    y = X[:, :20] @ rng.standard_normal(20) + rng.standard_normal(300)
    problem = make_problem(X, y)
    plan = make_plan(problem, cv=cv, loss=loss)
    state, _ = plan.search(plan.data(problem), 1.0, 8)
    state.move_to(range(30))
    losses, _ = state.removal_losses(np.arange(30))
    bounds = state.removal_bounds()
    assert (bounds is None) == (loss != "squared")
    assert bounds is None or (bounds <= losses).all()
    order = np.argsort(losses).tolist()
    choice = choose_removal(state, n_runners_up=2)
    assert choice is not None
    assert [choice.feature, *(index for index, _ in choice.runners_up)] == order[:3]
    assert choice.loss == pytest.approx(losses.min(), rel=1e-12)
    protected = choose_removal(state, protected=order[:2])
    assert protected is not None
    assert protected.feature == order[2]
    assert choose_removal(state, protected=range(30)) is None
    assert choose_removal(state, below=losses.min() * (1 - 1e-12)) is None
    above = choose_removal(state, below=losses.min() * (1 + 1e-6), n_runners_up=1)
    assert above is not None
    assert (above.feature, above.runners_up[0][0]) == tuple(order[:2])


@pytest.mark.parametrize(("noise", "alpha"), [(1.0, 1.0), (1e-3, 1e-3), (1e-6, 1e-8), (0.0, 1e-8)])
def test_bounds_of_removals_leave_a_margin_for_rounding(noise: float, alpha: float) -> None:
    """With folds and squared loss, from half of the loss of the empty model to 1e-20 of it.

    Of eight equal features the last goes: bounds without a margin would spare it, as no more than
    four are looked at first.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 12))
    X[:, 5:] = X[:, [4]]
    y = X[:, :5] @ rng.standard_normal(5) + noise * rng.standard_normal(60)
    problem = make_problem(X, y)
    plan = make_plan(problem, cv=4)
    state, _ = plan.search(plan.data(problem), alpha, 12)
    state.move_to([4, 2, 9, 0, 7, 1, 5, 3, 6, 8, 10, 11])
    losses, _ = state.removal_losses(np.arange(12))
    bounds = state.removal_bounds()
    assert bounds is not None
    assert (bounds <= losses).all()
    margin = 1e-10 * losses + 2e-13 * state.initial_loss
    assert_allclose(losses - bounds, margin, rtol=0.05)
    for below in (np.inf, losses.min() * (1.0 + 1e-3)):
        choice = choose_removal(state, below=below)
        assert choice is not None
        assert choice.feature == 11
        assert choice.loss == pytest.approx(losses.min(), rel=1e-4)


@pytest.mark.parametrize("cv", ["loo", 4])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("kind", ["large", "negative", "far below that of the empty model"])
def test_tolerance_of_tied_removals(kind: str, scale: float, cv: Any) -> None:
    """Tied within 1e-10 of the loss plus 1e-13 of that of the empty model: the last feature goes.

    That is backward elimination with a loss other than squared error. Features 0 and 1 are equal
    up to a factor, which is set so that the removal of 0 is better by a given difference.
    """
    is_noisy = kind != "far below that of the empty model"
    rng = np.random.default_rng(2)
    x, others = rng.standard_normal(40), rng.standard_normal((40, 2))
    y = scale * (x + others @ [2.0, -1.0] + is_noisy * rng.standard_normal(40))
    folds = np.arange(40) // 10
    splits: Any = [
        (np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)) for fold in range(4)
    ]
    alpha = 1.0 if is_noisy else 1e-3

    def loss(true: np.ndarray, predicted: np.ndarray) -> float:
        error = float(np.mean(np.abs(true - predicted)))
        return -1.0 / error if kind == "negative" else error

    def data(excess: float) -> np.ndarray:
        return np.column_stack([x, (1.0 + excess) * x, others])

    search = literal_search(
        data(1e-5), y, cv="loo" if cv == "loo" else splits, loss=loss, alpha=alpha
    )
    without_1, without_0 = search.score([0, 2, 3]), search.score([1, 2, 3])
    tolerance = 1e-10 * abs(without_1) + 1e-13 * abs(search.initial_loss)
    slope = (without_1 - without_0) / 1e-5
    for difference, removed in ((0.6 * tolerance, 1), (1.6 * tolerance, 0)):
        X = data(difference / slope)
        path = greedy_path(X, y, 3, direction="backward", cv=cv, alpha=alpha, loss=loss)
        assert path.steps[0].index == removed


@pytest.mark.parametrize("shape", [(90, 150), (150, 90), (70, 71)])
@pytest.mark.parametrize("options", [{}, {"fit_intercept": False}, {"cv": 3}, {"loss": "absolute"}])
@pytest.mark.parametrize("alpha", [1e-3, 10.0])
def test_backward_stays_exact_over_many_removals(
    shape: tuple[int, int], options: dict[str, Any], alpha: float
) -> None:
    rng = np.random.default_rng(1)
    m = shape[0]
    X = rng.standard_normal(shape) + rng.standard_normal((m, 1)) + 10.0
    X[:, 5] = X[:, 4]  # equal up to the penalty: much cancels when one of them goes
    X[:, 7] = X[:, 6] + 1e-6 * rng.standard_normal(m)
    y = X[:, :10] @ rng.standard_normal(10) + rng.standard_normal(m)
    weights = rng.random(m) + 0.1
    problem = make_problem(
        X, y, sample_weight=weights, fit_intercept=options.get("fit_intercept", True)
    )
    rest = {name: value for name, value in options.items() if name != "fit_intercept"}
    plan = make_plan(problem, **rest)
    assert not isinstance(plan.folds, ClusterFolds)
    state = BackwardState(problem, plan.loss, plan.folds, alpha)
    checked = 0
    while state.size > 2:
        choice = choose_removal(state)
        assert choice is not None
        state.remove((choice.feature,))
        if state.size % 17 == 0 and (plan.folds is None) * state.size < 0.9 * m:
            fresh, _ = plan.search(plan.data(problem), alpha, state.size)
            fresh.move_to(sorted(state.selected))
            assert state.loss == pytest.approx(fresh.loss, rel=1e-7)
            assert state.standard_error == pytest.approx(fresh.standard_error, rel=1e-6)
            checked += 1
    assert checked >= 3
    assert state.rebuilds >= 2
