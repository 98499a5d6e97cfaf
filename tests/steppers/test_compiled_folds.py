"""Compiled searches by folds against those of NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from compiled_steps import Answers, n_taken, needs_compiled_steps
from greedyrls import GreedyRLSRanker, SelectionPath, greedy_path
from internals import Stop
from problems import Case
from traps import trapped
from tuning import Tune, tuned

pytestmark = needs_compiled_steps


def problem(seed: int) -> Case:
    """Folds of one to many rows, weights, equal and constant columns, several targets."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, rng.choice([2, 6, 20, 90]), rng.integers(6, 40))
    m, n = int(sizes.sum()), int(rng.integers(5, 70))
    X = rng.standard_normal((m, n))
    if seed % 2:
        X += 2.0 * rng.standard_normal((m, 3)) @ rng.standard_normal((3, n))
    if seed % 3 == 0:
        X[:, 1], X[:, 0] = X[:, 3], -X[:, 3]
    if seed % 3 == 1:
        X[:, 2] = 1.5
    if seed % 4 == 2:
        X = np.sign(X)
    if seed % 5 == 4:
        X[:, 4] = X[:, :3].sum(axis=1) + 1e-3 * rng.standard_normal(m)
    t = 3 if seed % 6 == 5 else 1
    y = X[:, :5] @ rng.standard_normal((5, t)) + rng.choice([1e-4, 1.0, 3.0]) * (
        rng.standard_normal((m, t))
    )
    folds = np.repeat(np.arange(len(sizes)), sizes)
    options: dict[str, Any] = {
        "cv": rng.permutation(folds) if seed % 2 else folds,
        "alpha": float(10.0 ** rng.uniform(-4, 3)),
        "fit_intercept": bool(rng.integers(2)),
        "n_runners_up": int(rng.choice([0, 3])),
    }
    if seed % 3 == 2:
        options["sample_weight"] = rng.uniform(0.1, 3.0, m)
    X = np.asfortranarray(X) if seed % 7 == 1 else X.astype(np.float32 if seed % 7 == 2 else float)
    return Case(X, y[:, 0] if t == 1 else y, min(n, m - 2, int(rng.integers(3, 30))), options)


def compiled(case: Case, **options: Any) -> tuple[SelectionPath, Answers]:
    """The path, and what the stepper answered each time that it was asked."""
    answers: Answers = []

    def noted(original: Any, *arguments: Any) -> int | Stop:
        answers.append(original(*arguments))
        return answers[-1]

    with tuned(fold_engine="compiled"), trapped() as traps:
        traps.around("take a compiled step", noted)
        path = greedy_path(case.X, case.y, case.n_features, **(case.options | options))
    return path, answers


def assert_same(path: SelectionPath, other: SelectionPath) -> None:
    assert_array_equal(path.indices, other.indices)
    assert path.stop_reason is other.stop_reason
    scale = path.initial_loss
    assert scale == pytest.approx(other.initial_loss, rel=1e-13)
    assert_allclose(path.losses, other.losses, rtol=0, atol=1e-12 * scale)
    assert_allclose(path.standard_errors, other.standard_errors, rtol=1e-9, atol=1e-12 * scale)
    assert path.fold_losses is not None
    assert other.fold_losses is not None
    assert_allclose(path.fold_losses, other.fold_losses, rtol=1e-9, atol=1e-11 * scale)
    assert_allclose(path.moments.gram, other.moments.gram, rtol=1e-12, atol=1e-9)
    for ours, theirs in zip(path.runners_up, other.runners_up, strict=True):
        assert [index for index, _ in ours] == [index for index, _ in theirs]
        assert_allclose([x for _, x in ours], [x for _, x in theirs], atol=1e-12 * scale)


@pytest.mark.parametrize("seed", range(42))
@pytest.mark.parametrize("engine", ["many", "models"])
def test_steps_are_those_of_numpy(seed: int, engine: str) -> None:
    case = problem(seed)
    path, _ = compiled(case)
    with tuned(fold_engine=engine):
        other = greedy_path(case.X, case.y, case.n_features, **case.options)
    assert_same(path, other)


def test_all_steps_of_a_plain_problem_are_compiled() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 40))
    y = X[:, :5].sum(axis=1) + rng.standard_normal(300)
    path, answers = compiled(Case(X, y, 20, {"cv": np.arange(300) // 6}))
    assert answers == path.indices.tolist()


def test_more_room_is_made(tune: Tune) -> None:
    case = problem(7)
    whole, _ = compiled(case)
    tune(compiled_first_room=2)
    path, answers = compiled(case)
    assert_same(path, whole)
    assert n_taken(answers) == len(path)


def test_a_feature_that_others_nearly_span_is_left_to_numpy() -> None:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((200, 12))
    X[:, 6] = X[:, 0] + 1e-4 * rng.standard_normal(200)
    y = X[:, 0] + 3e4 * (X[:, 6] - X[:, 0]) + 0.1 * rng.standard_normal(200)
    case = Case(X, y, 8, {"cv": np.arange(200) // 5, "alpha": 1e-6})
    path, answers = compiled(case)
    assert Stop.LOST_DIGITS in answers
    with tuned(fold_engine="many"):
        assert_same(path, greedy_path(case.X, case.y, 8, **case.options))


def test_the_default_ranker() -> None:
    rng = np.random.default_rng(4)
    queries = np.repeat(np.arange(40), 6)
    X = rng.standard_normal((240, 15)) + rng.standard_normal((40, 15))[queries]
    y = (X[:, 3] - X[:, 7] + rng.standard_normal(240) > 1.0).astype(int)
    model = GreedyRLSRanker().fit(X, y, groups=queries)
    with tuned(fold_engine="numpy"):
        other = GreedyRLSRanker().fit(X, y, groups=queries)
    assert_array_equal(model.selected_, other.selected_)
    assert model.alpha_ == pytest.approx(other.alpha_, rel=1e-12)
    assert_allclose(model.coef_, other.coef_, rtol=1e-9)
    assert_allclose(model.ndcg_path_, other.ndcg_path_, rtol=1e-12)
    assert_allclose(model.pairwise_error_path_, other.pairwise_error_path_, rtol=1e-12)
