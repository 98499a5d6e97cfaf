"""Sets of a path that are not nested: from steps, in models, in files."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import replace

import numpy as np
import pytest

from greedyrls import SelectionPath, Step, greedy_path
from greedyrls.plots import plot_coefficients
from internals import (
    Action,
    BestLosses,
    FeatureSet,
    LooCurve,
    LooData,
    best_sets,
    chosen_of,
    held_out_components,
    make_plan,
    make_problem,
)

ALPHA = 0.7


def step(index: int, loss: float, action: Action = "add", *more: int) -> Step:
    return Step(index, loss, 0.1, action=action, features=(index, *more))


def data(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 6))
    return X, X[:, :3].sum(axis=1) + rng.normal(size=30)


def moving_path(X: np.ndarray, y: np.ndarray) -> SelectionPath:
    """A path whose sets are {0}, {0, 1}, {2, 3, 1}: made by hand."""
    path = greedy_path(X, y, 4, alpha=ALPHA, forced_features=[0, 1, 2, 3])
    steps = (step(0, 9.0), step(1, 8.0), step(0, 9.5, "remove"), step(2, 8.5), step(3, 5.0))
    return replace(path, steps=steps, sets=best_sets(steps), size_choice=None)


def test_sets_that_grow_are_the_first_features() -> None:
    sets = best_sets([step(4, 3.0), step(1, 2.0), step(7, 2.5)])
    assert [known.features for known in sets] == [(4,), (4, 1), (4, 1, 7)]
    assert [known.loss for known in sets] == [3.0, 2.0, 2.5]
    assert sets[0].order is sets[2].order


def test_the_best_set_of_each_size_is_kept() -> None:
    steps = [step(0, 9.0), step(1, 8.0), step(2, 6.0), step(0, 7.0, "remove"), step(3, 5.0)]
    sets = best_sets(steps)
    assert [known.features for known in sets] == [(0,), (1, 2), (1, 2, 3)]
    assert [known.loss for known in sets] == [9.0, 7.0, 5.0]


def test_among_equal_losses_the_first_set_stays() -> None:
    steps = [step(0, 9.0), step(1, 8.0), step(0, 9.0, "remove"), step(2, 8.0)]
    assert [known.features for known in best_sets(steps)] == [(0,), (0, 1)]


def test_a_search_from_all_features_is_nested_with_the_last_removed_first() -> None:
    start = FeatureSet((0, 1, 2, 3), 4, 5.0, 0.1)
    steps = [step(2, 4.0, "remove"), step(0, 4.5, "remove"), step(3, 6.0, "remove")]
    sets = best_sets(steps, start, most=3)
    assert [known.features for known in sets] == [(1,), (1, 3), (1, 3, 0)]
    assert [known.loss for known in sets] == [6.0, 4.5, 4.0]


def test_a_group_counts_as_one() -> None:
    steps = [step(0, 9.0, "add", 1, 2), step(5, 8.0), step(0, 8.5, "remove", 1, 2)]
    sets = best_sets(steps)
    assert [known.features for known in sets] == [(5,), (0, 1, 2, 5)]


def test_models_of_sets_that_are_not_nested_are_those_of_their_features() -> None:
    X, y = data()
    path = moving_path(X, y)
    assert not path.is_nested
    for k, features in enumerate([[0], [0, 1], [1, 2, 3]], 1):
        assert path.features(k).tolist() == features
        own = greedy_path(X, y, k, alpha=ALPHA, forced_features=features)
        np.testing.assert_allclose(path.coef(k), own.coef(), rtol=1e-12)
        np.testing.assert_allclose(path.predict(X, k), own.predict(X), rtol=1e-12)
        short = path.truncated(k)
        assert short.features(k).tolist() == features
        np.testing.assert_array_equal(short.coef(k), path.coef(k))
    assert path.changes() == ["x0", "x1", "x2, x3, −x0"]
    assert path.to_frame()["feature"].tolist() == path.changes()


@pytest.mark.parametrize("weighted", [False, True])
def test_losses_of_chains_are_those_of_single_models(weighted: bool) -> None:
    X, y = data(1)
    path = moving_path(X, y)
    weights = np.random.default_rng(2).uniform(0.5, 2.0, len(y)) if weighted else None
    problem = make_problem(X, y, sample_weight=weights)
    plan = make_plan(problem)
    given = plan.data(problem)
    assert isinstance(given, LooData)
    penalties = np.array([0.2, 0.7, 3.0])
    union = [0, 1, 2, 3]
    whole = greedy_path(X, y, 4, alpha=ALPHA, forced_features=union, sample_weight=weights)
    path = replace(path, moments=whole.moments)
    chosen = chosen_of(path)
    assert chosen.n_models == 3
    losses = LooCurve(given.samples, problem, chosen, plan.loss).losses(penalties)
    covariance = LooCurve(given.samples, problem, chosen, plan.loss).covariance(0.7)
    assert covariance is not None
    columns = X[:, list(chosen.indices)]
    given = chosen, penalties, np.zeros(1), columns, y[:, None], weights, plan.loss
    others = held_out_components(*given).values[1:]
    for k in (1, 2, 3):
        features = path.features(k).tolist()
        for row, penalty in enumerate(penalties):
            own = greedy_path(
                X, y, k, alpha=penalty, forced_features=features, sample_weight=weights
            )
            assert losses[row, k - 1] == pytest.approx(own.losses[-1], rel=1e-10)
            if row == k - 1:
                error = y - own.predict(X)
                expected = np.average(error**2, weights=weights)
                assert others[k - 1] == pytest.approx(expected, rel=1e-10)
        own = greedy_path(X, y, k, alpha=0.7, forced_features=features, sample_weight=weights)
        expected = own.standard_errors[-1] ** 2
        assert covariance[k - 1, k - 1] == pytest.approx(expected, rel=1e-9)


def test_a_penalty_matrix_is_used_in_models_and_curves() -> None:
    X, y = data(3)
    path = greedy_path(X, y, 3, alpha=ALPHA, fit_intercept=False)
    root = np.random.default_rng(4).normal(size=(3, 3))
    penalty = root @ root.T + np.eye(3)
    path = replace(path, moments=replace(path.moments, penalty=penalty))
    columns = X[:, path.indices]
    expected = np.linalg.solve(columns.T @ columns + ALPHA * penalty, columns.T @ y)
    np.testing.assert_allclose(path.coef(), expected, rtol=1e-10)
    again = SelectionPath.from_json(path.to_json())
    np.testing.assert_array_equal(again.coef(), path.coef())
    problem = make_problem(X, y, fit_intercept=False)
    plan = make_plan(problem)
    given = plan.data(problem)
    assert isinstance(given, LooData)
    losses = LooCurve(given.samples, problem, chosen_of(path), plan.loss).losses(np.array([ALPHA]))
    errors = []
    for row in range(len(y)):
        rest = np.arange(len(y)) != row
        A = columns[rest].T @ columns[rest] + ALPHA * penalty
        w = np.linalg.solve(A, columns[rest].T @ y[rest])
        errors.append(y[row] - columns[row] @ w)
    assert losses[0, -1] == pytest.approx(np.mean(np.square(errors)), rel=1e-10)


def test_a_path_that_moves_is_the_same_from_its_file_and_in_copies() -> None:
    path = moving_path(*data())
    for again in (
        SelectionPath.from_json(path.to_json()),
        pickle.loads(pickle.dumps(path)),
        copy.deepcopy(path),
    ):
        assert again == path
        assert again.sets == path.sets
        assert again.is_nested == path.is_nested
        np.testing.assert_array_equal(again.coef(2), path.coef(2))


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda path: path["steps"][2].update(index=5, features=[5]), "not there"),
        (lambda path: path["steps"][3].update(index=1, features=[1]), "more than once"),
        (lambda path: path["steps"][3].update(features=[4]), "not the first"),
        (lambda path: path["steps"][0].update(action="turn"), "action"),
        (lambda path: path.update(sets=None), "sets is null"),
        (lambda path: path["sets"].reverse(), "do not grow"),
        (lambda path: path["sets"][1].update(features=[0, 0]), "twice"),
        (lambda path: path["sets"][1].update(features=[0, 5]), "moments"),
        (lambda path: path["moments"]["features"].pop(), "moments"),
        (lambda path: path["settings"].update(direction="up"), "direction"),
    ],
)
def test_a_damaged_path_that_moves_is_refused(damage: object, words: str) -> None:
    document = json.loads(moving_path(*data()).to_json())
    assert callable(damage)
    damage(document)
    with pytest.raises(ValueError, match=words):
        SelectionPath.from_json(json.dumps(document))


def test_coefficients_of_a_path_that_moves_are_drawn() -> None:
    ax = plot_coefficients(moving_path(*data()))
    assert sorted(text.get_text() for text in ax.texts) == ["x1", "x2", "x3"]


def test_a_group_and_a_feature_of_the_same_name_are_two() -> None:
    X, y = data()
    path = greedy_path(X, y, 5, feature_groups={"x3": [0, 1]}, alpha=ALPHA)
    assert sorted(path.group_names()) == ["x2", "x3", "x3", "x4", "x5"]
    assert len(path.group_names(2)) == 2


def test_losses_kept_up_are_those_of_the_best_sets() -> None:
    generator = np.random.default_rng(0)
    steps: list[Step] = []
    chosen: list[int] = []
    best = BestLosses()
    for index in range(60):
        if len(chosen) > 1 and generator.random() < 0.4:
            gone = chosen.pop(int(generator.integers(len(chosen))))
            steps.append(Step(gone, generator.random(), 0.0, action="remove"))
        else:
            chosen.append(index)
            steps.append(Step(index, generator.random(), 0.0))
        best.add(steps[-1])
        assert best.losses == [known.loss for known in best_sets(steps)]
