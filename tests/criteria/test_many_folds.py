"""Many folds by one factor: against literal refits, a model for each fold, and fresh inverses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import mean_absolute_error
from sklearn.model_selection import LeaveOneGroupOut

from agreement import assert_follows
from greedyrls import extend_path, greedy_path
from internals import (
    DENSE_ROWS,
    FoldData,
    FoldInverses,
    Judge,
    ManyFoldData,
    ManyFoldState,
    Plan,
    _SmallFolds,
    make_plan,
    make_problem,
    replay_together,
)
from literal import literal_path
from problems import DATA_KINDS, Case, fold_cases, named_problems
from sweeps import EXAMPLES
from tuning import tuned

SAME = 1e-9
# Columns are known to eps·|mean|/spread, as for leave-one-out: far from the origin (1e6 spreads)
# that is 2e-10, and a training set of few rows multiplies it by a few thousand.
FAR = 1e-6
NEAR_KINDS = [kind for kind in DATA_KINDS if kind != "far"]
PARTITIONS = ["k-fold", "shuffled", "groups", "leave one group out", "unequal"]


ENGINES = ["many", "large", "compiled"]


def uses(case: Case) -> type:
    problem = make_problem(case.X, case.y, sample_weight=case.options.get("sample_weight"))
    folds = {name: case.options[name] for name in ("cv", "groups") if name in case.options}
    return type(make_plan(problem, **folds).data(problem))


def scale_of(case: Case) -> float:
    return float(np.mean(case.y.astype(float) ** 2))


@pytest.mark.heavy
@settings(max_examples=max(30, min(150, EXAMPLES // 10)))
@given(case=fold_cases(folds=PARTITIONS, kinds=NEAR_KINDS), name=st.sampled_from(ENGINES))
def test_path_and_all_candidates_are_those_of_literal_refits(case: Case, name: str) -> None:
    with tuned(fold_engine=name):
        assert uses(case) is ManyFoldData
        path = greedy_path(case.X, case.y, case.n_features, n_runners_up=99, **case.options)
    twin = literal_path(case.X, case.y, case.n_features, **case.literal_options)
    assert_follows(path, twin, SAME, 1e-12 * scale_of(case))


@settings(max_examples=50)
@given(case=fold_cases(folds=PARTITIONS, kinds=["far"]), name=st.sampled_from(ENGINES))
def test_far_from_the_origin(case: Case, name: str) -> None:
    with tuned(fold_engine=name):
        path = greedy_path(case.X, case.y, case.n_features, n_runners_up=99, **case.options)
    twin = literal_path(case.X, case.y, case.n_features, **case.literal_options)
    assert_follows(path, twin, FAR, FAR * scale_of(case))


@pytest.mark.heavy
@settings(max_examples=max(30, min(150, EXAMPLES // 10)))
@given(case=fold_cases(folds=PARTITIONS, kinds=NEAR_KINDS), name=st.sampled_from(ENGINES))
def test_all_that_a_path_tells_is_that_of_a_model_for_each_fold(case: Case, name: str) -> None:
    with tuned(fold_engine="models"):
        assert uses(case) is FoldData
        expected = greedy_path(case.X, case.y, case.n_features, n_runners_up=2, **case.options)
    with tuned(fold_engine=name):
        path = greedy_path(case.X, case.y, case.n_features, n_runners_up=2, **case.options)
    assert path.initial_loss == pytest.approx(expected.initial_loss, rel=SAME)
    assert expected.fold_losses is not None
    assert path.fold_losses is not None
    floor = 1e-12 * (scale_of(case) + expected.fold_losses.max())
    apart = path.indices != expected.indices
    if apart.any():  # a near-tie, resolved differently: up to there all is the same
        place = int(np.argmax(apart))
        assert path.losses[place] == pytest.approx(expected.losses[place], rel=SAME, abs=floor)
        return
    assert_allclose(path.losses, expected.losses, rtol=SAME, atol=floor)
    assert_allclose(path.fold_losses, expected.fold_losses, rtol=SAME, atol=floor)
    assert_allclose(path.standard_errors, expected.standard_errors, rtol=1e-6, atol=10 * floor)
    assert_allclose(path.coef(), expected.coef(), rtol=1e-7, atol=1e-9)
    for ours, theirs in zip(path.runners_up, expected.runners_up, strict=True):
        assert_allclose([x for _, x in ours], [x for _, x in theirs], rtol=SAME, atol=floor)


def test_losses_of_the_best_are_measured_on_the_rows() -> None:
    """Those of the others are as accurate as the recurrences."""
    case = grouped()
    problem = make_problem(case.X, case.y)
    with tuned(fold_engine="many"):
        plan = make_plan(problem, cv=case.options["cv"])
        state = plan.search(plan.data(problem), 0.5, 8)[0]
    assert isinstance(state, ManyFoldState)
    assert len(list(replay_together(state, [(3,), (0,)], False))) == 2
    judge = Judge(None, state.loss)
    expected, _ = state.candidate_losses(state.candidates, judge, 2)
    order = np.argsort(expected)
    state.features.delta *= 1.0 + 1e-9  # as if errors had grown
    losses, _ = state.candidate_losses(state.candidates, judge, 2)
    assert_allclose(losses[order[:2]], expected[order[:2]], rtol=1e-13)
    assert (np.abs(losses / expected - 1.0)[order[2:]] > 1e-12).any()


def grouped(seed: int = 0, m: int = 300, n: int = 25, count: int = 60) -> Case:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    groups = np.concatenate([np.arange(count), rng.integers(0, count, m - count)])
    X += 0.5 * rng.standard_normal((count, n))[groups]
    y = X[:, :5].sum(axis=1) + rng.standard_normal(m) + rng.standard_normal(count)[groups]
    return Case(X, y, 8, {"cv": groups, "alpha": 0.5})


@pytest.mark.slow
@pytest.mark.parametrize(("weighted", "refit"), [(False, "same"), (True, "loo"), (True, 0.1)])
def test_penalty_by_nested_selection(weighted: bool, refit: Any) -> None:
    """In an outer fold rows, and whole folds, have weight 0."""
    case = grouped(1)
    options = case.options | {"alpha": [0.1, 10.0, 1000.0], "refit_alpha": refit}
    if weighted:
        weights = np.random.default_rng(2).choice([0.0, 0.5, 2.0], len(case.y))
        weights[:60] = 1.0  # every fold has a row that counts
        options["sample_weight"] = weights
    found = []
    for name in ("models", *ENGINES):
        with tuned(fold_engine=name):
            found.append(greedy_path(case.X, case.y, "auto", max_features=5, **options))
    expected = found[0]
    assert expected.surface is not None
    for path in found[1:]:
        assert path.surface is not None
        assert_array_equal(path.indices, expected.indices)
        assert_allclose(path.surface.losses, expected.surface.losses, rtol=SAME)
        assert path.size_choice == expected.size_choice
        assert_allclose(path.refit_alphas or (), expected.refit_alphas or ())


@pytest.mark.parametrize("rule", ["min", "1se"])
def test_size_by_rule(rule: Any) -> None:
    case = grouped(3)
    found = []
    for name in ("models", "many", "compiled"):
        with tuned(fold_engine=name):
            found.append(greedy_path(case.X, case.y, "auto", size_rule=rule, **case.options))
    assert found[0].size_choice == found[1].size_choice == found[2].size_choice


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("name", sorted(named_problems().keys() - {"outliers"}))
def test_named_problems(name: str, alpha: float) -> None:
    X, y = named_problems()[name]
    ids = np.random.default_rng(0).integers(0, len(y) // 4, len(y))
    paths = []
    for which in ("models", "many", "compiled"):
        with tuned(fold_engine=which):
            paths.append(greedy_path(X, y, 12, cv=ids, alpha=alpha))
    rtol = FAR if name == "far from the origin" else SAME
    for path in paths[1:]:
        assert_array_equal(paths[0].indices, path.indices)
        assert_allclose(paths[0].losses, path.losses, rtol=rtol)


@pytest.mark.parametrize("name", ENGINES)
def test_of_equal_columns_the_lowest_index_wins(name: str) -> None:
    case = grouped(4)
    X = case.X[:, [0, 1, 2, 1, 3, 1, 2]]
    with tuned(fold_engine=name):
        order = greedy_path(X, case.y, 7, n_runners_up=2, **case.options).indices.tolist()
    assert [index for index in order if index in (1, 3, 5)] == [1, 3, 5]
    assert [index for index in order if index in (2, 6)] == [2, 6]


@pytest.mark.parametrize("name", ENGINES)
def test_tiny_losses_of_a_target_without_noise(name: str) -> None:
    case = grouped(5)
    y = case.X[:, [7, 2, 9]] @ [1.0, -2.0, 0.5] + 3.0
    groups = case.options["cv"]
    with tuned(fold_engine=name):
        path = greedy_path(case.X, y, 5, cv=groups, alpha=1e-8, n_runners_up=2)
    splits = [(np.flatnonzero(groups != q), np.flatnonzero(groups == q)) for q in range(60)]
    twin = literal_path(case.X, y, 3, cv=splits, alpha=1e-8)
    assert_array_equal(path.indices[:3], twin.indices)
    for loss, expected in zip(path.losses, twin.losses, strict=False):
        floor = 1e-14 * (np.sqrt(expected) + 1e-14)
        assert loss == pytest.approx(expected, rel=SAME, abs=floor)


@pytest.mark.parametrize("name", ENGINES)
def test_forced_excluded_and_extended(name: str) -> None:
    case = grouped(6)
    options = case.options | {
        "forced_features": [9, 3],
        "excluded_features": list(range(10, 20)),
    }
    with tuned(fold_engine="models"):
        expected = greedy_path(case.X, case.y, 7, **options)
    with tuned(fold_engine=name):
        path = greedy_path(case.X, case.y, 7, **options)
        longer = extend_path(path.truncated(4), case.X, case.y, 7, cv=case.options["cv"])
    assert_array_equal(path.indices, expected.indices)
    assert_array_equal(longer.indices, expected.indices)
    assert_allclose(longer.losses, expected.losses, rtol=SAME)


def state_of(case: Case, steps: int, alpha: float = 0.01) -> ManyFoldState:
    problem = make_problem(case.X, case.y)
    plan = make_plan(problem, cv=case.options["cv"])
    data = plan.data(problem)
    assert isinstance(data, ManyFoldData)
    state, criterion = plan.search(data, alpha, steps)
    assert isinstance(state, ManyFoldState)
    for _ in range(steps):
        choice = criterion.choose(state, 0, 1)
        state.add(choice.feature, state.measure(choice.feature), choice.ranking, 1)
    return state


def literal_errors(case: Case, state: ManyFoldState, alpha: float) -> Any:
    """M_q r_q with M from the hat matrix of all rows."""
    X = case.X[:, state.features.selected]
    X = X - X.mean(axis=0)
    m = len(X)
    H = X @ np.linalg.solve(X.T @ X + alpha * np.eye(X.shape[1]), X.T) + 1.0 / m
    r = case.y - case.y.mean() - (H - 1.0 / m) @ (case.y - case.y.mean())
    errors = np.empty(m)
    for q in np.unique(case.options["cv"]):
        (rows,) = (case.options["cv"] == q).nonzero()
        errors[rows] = np.linalg.solve(np.eye(len(rows)) - H[np.ix_(rows, rows)], r[rows])
    return errors


@pytest.mark.slow
@pytest.mark.parametrize("name", ENGINES)
def test_after_many_steps_the_inverses_are_those_of_a_fresh_factor(name: str) -> None:
    case = grouped(7, m=260, n=120, count=90)
    with tuned(fold_engine=name):
        state = state_of(case, 100)
    expected = literal_errors(case, state, 0.01)
    assert_allclose(state.errors[0], expected, rtol=1e-8, atol=1e-9 * np.abs(expected).max())


def test_inverses_that_have_drifted_are_made_anew() -> None:
    case = grouped(8)
    with tuned(fold_engine="many"):
        plain = state_of(case, 15)
        with tuned(fold_inverse_drift=1e-15):
            renewed = state_of(case, 15)
    assert renewed.rebuilds > plain.rebuilds
    assert renewed.features.selected == plain.features.selected
    assert_allclose(renewed.errors, plain.errors, rtol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("elements", [1, 1 << 10])
@pytest.mark.parametrize("name", ENGINES)
def test_small_tiles_change_nothing(elements: int, name: str) -> None:
    case = grouped(9)
    for X in (case.X, np.asfortranarray(case.X), case.X.astype(np.float32)):
        with tuned(fold_engine=name):
            path = greedy_path(X, case.y, 6, **case.options)
            with tuned(small_fold_elements=elements, small_fold_least_columns=1):
                again = greedy_path(X, case.y, 6, **case.options)
        assert_array_equal(again.indices, path.indices)
        assert_allclose(again.losses, path.losses, rtol=1e-12)


def test_one_huge_fold_and_many_small_ones() -> None:
    rng = np.random.default_rng(10)
    m, n = 500, 20
    X = rng.standard_normal((m, n))
    y = X[:, :4].sum(axis=1) + rng.standard_normal(m)
    ids = np.concatenate([np.zeros(200, dtype=int), 1 + np.arange(300) // 3])
    ids = rng.permutation(ids)
    assert (np.bincount(ids) > DENSE_ROWS).sum() == 1
    with tuned(fold_engine="models"):
        expected = greedy_path(X, y, 8, cv=ids)
    with tuned(fold_engine="many"):
        path = greedy_path(X, y, 8, cv=ids)
    assert_array_equal(path.indices, expected.indices)
    assert_allclose(path.fold_losses, expected.fold_losses, rtol=SAME)


def test_a_feature_of_a_single_fold_predicts_nothing_there() -> None:
    """Its rows out, the feature is 0: the loss stays as it was, and nothing is divided by 0."""
    case = grouped(11)
    X = np.column_stack([case.X, case.options["cv"] == 3])
    with tuned(fold_engine="many"):
        path = greedy_path(X, case.y, 3, forced_features=[25], cv=case.options["cv"], alpha=1e-3)
    with tuned(fold_engine="models"):
        expected = greedy_path(
            X, case.y, 3, forced_features=[25], cv=case.options["cv"], alpha=1e-3
        )
    assert_array_equal(path.indices, expected.indices)
    assert_allclose(path.losses, expected.losses, rtol=SAME)


def test_a_penalty_lost_in_rounding_ends_the_search() -> None:
    rng = np.random.default_rng(12)
    X = rng.standard_normal((30, 40))
    y = X[:, 0] + rng.standard_normal(30)
    with (
        tuned(fold_engine="many"),
        pytest.warns(RuntimeWarning, match="smaller than the rounding"),
    ):
        path = greedy_path(X, y, 40, cv=np.arange(30) // 2, alpha=1e-14)
    assert 10 < len(path) < 40


def folds_of(case: Case) -> Plan:
    problem = make_problem(case.X, case.y)
    folds = {name: case.options[name] for name in ("cv", "groups") if name in case.options}
    return make_plan(problem, **folds)


@pytest.mark.parametrize(
    ("m", "n", "count", "expected"),
    [
        (400, 200, 100, ManyFoldData),  # folds of 4
        (400, 10, 100, FoldData),  # so few features that it is no matter
        (400, 200, 20, FoldData),  # few folds
        (1500, 200, 50, FoldData),  # folds of 30, little memory
    ],
)
def test_the_cheaper_engine_is_taken(m: int, n: int, count: int, expected: type) -> None:
    case = grouped(0, m, n, count)
    with tuned(fold_engine="numpy"):
        assert uses(case) is expected


def test_overlapping_folds_and_rows_of_no_fold_have_models_for_each() -> None:
    case = grouped(0, 400, 200, 100)
    ids = case.options["cv"]
    some = np.where(ids == 5, -1, ids)
    pairs = list(LeaveOneGroupOut().split(case.X, groups=ids))
    with tuned(fold_engine="many"):
        assert uses(Case(case.X, case.y, 3, {"cv": some})) is FoldData
        assert uses(Case(case.X, case.y, 3, {"cv": [*pairs, pairs[0]]})) is FoldData
        assert uses(Case(case.X, case.y, 3, {"cv": [(t[1:], f) for t, f in pairs]})) is FoldData
        assert uses(Case(case.X, case.y, 3, {"cv": pairs})) is ManyFoldData
        weights = (ids != 5).astype(float)
        left = [pair for pair in pairs if ids[pair[1][0]] != 5]
        weighted = Case(case.X, case.y, 3, {"cv": left, "sample_weight": weights})
        assert uses(weighted) is ManyFoldData


def test_losses_of_all_rows_together_have_models_for_each() -> None:
    case = grouped(0, 400, 200, 100)
    problem = make_problem(case.X, case.y)
    for loss, expected in [("absolute", ManyFoldData), (mean_absolute_error, FoldData)]:
        plan = make_plan(problem, cv=case.options["cv"], loss=loss)
        assert type(plan.data(problem)) is expected


def labelled(case: Case) -> Case:
    """Labels of which each fold has both among the first 30 rows."""
    y = np.sign(case.y)
    y[:15], y[15:30] = 1.0, -1.0
    return Case(case.X, y, case.n_features, case.options | {"cv": np.arange(len(y)) % 15})


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("loss", ["squared", "absolute", "zero_one", "balanced_zero_one"])
@pytest.mark.parametrize("direction", ["forward", "floating", "foba", "swap"])
@pytest.mark.parametrize("weighted", [False, True])
def test_losses_and_directions_are_those_of_a_model_for_each_fold(
    name: str, loss: str, direction: str, weighted: bool
) -> None:
    case = grouped(13, m=120, count=15)
    if "zero_one" in loss:
        case = labelled(case)
    y = case.y
    options = case.options | {"loss": loss, "direction": direction, "n_runners_up": 3}
    if weighted:
        weights = np.random.default_rng(3).choice([0.0, 0.5, 2.0], len(y))
        weights[:30] = 1.0  # every fold has rows that count
        options["sample_weight"] = weights
    with tuned(fold_engine="models"):
        expected = greedy_path(case.X, y, 8, **options)
    with tuned(fold_engine=name):
        path = greedy_path(case.X, y, 8, **options)
    assert [step.index for step in path.steps] == [step.index for step in expected.steps]
    assert [step.action for step in path.steps] == [step.action for step in expected.steps]
    for one, other in zip(path.steps, expected.steps, strict=True):
        assert one.loss == pytest.approx(other.loss, rel=SAME)
        assert_allclose(one.fold_losses, other.fold_losses, rtol=SAME, atol=1e-12)
        assert [index for index, _ in one.runners_up] == [index for index, _ in other.runners_up]
        losses = [[loss for _, loss in step.runners_up] for step in (one, other)]
        assert_allclose(*losses, rtol=SAME)


@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_several_targets(loss: str) -> None:
    case = grouped(14, m=120, count=15)
    Y = np.column_stack([case.y, case.X[:, 7:9].sum(axis=1) - 0.3 * case.y])
    paths = []
    for name in ("models", *ENGINES):
        with tuned(fold_engine=name):
            options = case.options | {"loss": loss, "direction": "floating"}
            paths.append(greedy_path(case.X, Y, 8, **options))
    for path in paths[1:]:
        assert [step.index for step in path.steps] == [step.index for step in paths[0].steps]
        assert_allclose(path.losses, paths[0].losses, rtol=SAME)


@pytest.mark.parametrize("loss", ["squared", "zero_one"])
@pytest.mark.parametrize("direction", ["forward", "floating"])
def test_costs_and_a_budget(loss: str, direction: str) -> None:
    case = grouped(15, m=120, count=15)
    y = case.y if loss == "squared" else labelled(case).y
    costs = np.random.default_rng(4).uniform(0.5, 3.0, case.X.shape[1])
    options = case.options | {"loss": loss, "direction": direction, "feature_costs": costs}
    paths = []
    for name in ("models", "many", "compiled"):
        with tuned(fold_engine=name):
            paths.append(greedy_path(case.X, y, 10, budget=8.0, n_runners_up=2, **options))
    assert [step.index for step in paths[1].steps] == [step.index for step in paths[0].steps]
    assert_allclose(paths[1].losses, paths[0].losses, rtol=SAME)


def test_memory_is_not_a_matter_of_how_many_folds_are_left_out() -> None:
    folds = np.split(np.arange(12_000), np.cumsum(np.tile([1, 2, 3], 2000))[:-1])
    inverses = FoldInverses(folds)
    numbers = sum(
        batch.inverse.size for batch in inverses._batches if isinstance(batch, _SmallFolds)
    )
    assert numbers == 2000 * (1 + 4 + 9)


def test_a_fold_that_outweighs_all_others_has_models_for_each() -> None:
    case = grouped(0, 400, 200, 100)
    weights = np.ones(400)
    weights[7] = 1e13
    with tuned(fold_engine="many"):
        assert uses(Case(case.X, case.y, 3, case.options | {"sample_weight": weights})) is FoldData
        path = greedy_path(case.X, case.y, 3, sample_weight=weights, **case.options)
    assert len(path) == 3


@pytest.mark.parametrize("factor", [1e3, 1e5])
@pytest.mark.parametrize("name", ENGINES)
def test_a_fold_that_has_all_of_the_features(name: str, factor: float) -> None:
    """What the others know is not lost in the rounding of one factor for all."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        folds = np.arange(40) % 10
        X = rng.standard_normal((40, 6))
        y = X[:, :3] @ rng.standard_normal(3) + rng.standard_normal(40)
        X[folds == 0] *= factor
        with tuned(fold_engine=name):
            path = greedy_path(X, y, 4, cv=folds, n_runners_up=5)
        with tuned(fold_engine="models"):
            twin = greedy_path(X, y, 4, cv=folds, n_runners_up=5)
        assert path.indices.tolist() == twin.indices.tolist()
        np.testing.assert_allclose(path.losses, twin.losses, rtol=1e-8)
        for one, other in zip(path.runners_up, twin.runners_up, strict=True):
            assert [feature for feature, _ in one] == [feature for feature, _ in other]
            known = [loss for _, loss in other]
            np.testing.assert_allclose([loss for _, loss in one], known, rtol=1e-8)
