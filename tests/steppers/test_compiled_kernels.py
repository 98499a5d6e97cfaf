"""Compiled steps for kernel centres against the general engine, and against scoring all of them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiled_steps import Answers, answers_noted, n_taken, needs_compiled_steps
from greedyrls import GreedyKernelRLS, SelectionPath, StopReason
from internals import (
    Kernel,
    Limits,
    LooData,
    NumericalWarning,
    Setup,
    StoredKernelMatrix,
    Watch,
    make_plan,
    make_problem,
    native,
    search_path,
)
from sweeps import EXAMPLES
from traps import trapped
from tuning import Tune, tuned

pytestmark = needs_compiled_steps

Array = np.ndarray


def _linear(X: Array, C: Array) -> Array:
    product: Array = X @ C.T
    return product


@dataclass
class Centers:
    """Points, candidates for centres and all that decides which are chosen."""

    points: Array
    Y: Array
    k: int
    kernel: dict[str, Any]
    alpha: float = 1.0
    rows: Array | None = None  # of the points, as candidates; None: `pool`
    pool: Array | None = None
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def candidates(self) -> Array:
        """The points that may become centres."""
        if self.pool is not None:
            return self.pool
        return self.points if self.rows is None else self.points[self.rows]

    def data(self, search: Any = "auto") -> tuple[Any, Any]:
        """A plan and the data of its searches."""
        rows = self.rows
        if rows is None and self.pool is None:
            rows = np.arange(len(self.points))
        X = StoredKernelMatrix(Kernel(**self.kernel), self.points, self.candidates, row_of=rows)
        problem = make_problem(X, self.Y, **self.options)
        plan = make_plan(problem, cv="loo", loss="squared", strategy=search)
        plan.prepare(problem, self.k)
        return plan, plan.data(problem)

    def path(self, search: Any = "auto", n_runners_up: int = 0) -> SelectionPath:
        """The path as far as rounding allows."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NumericalWarning)
            plan, data = self.data(search)
            setup = Setup(plan, data, Limits(self.k), Watch(n_runners_up))
            return search_path(setup, self.alpha)


def by_numpy(case: Centers, **options: Any) -> SelectionPath:
    """The path of the general engine."""
    with tuned(compiled_steps=False):
        return case.path(**options)


def compiled(case: Centers, **options: Any) -> tuple[SelectionPath, Answers]:
    """The path, the features of compiled steps, and why there were no more of them."""
    with answers_noted() as answers:
        return case.path(**options), answers


def shares(case: Centers, path: SelectionPath) -> Array:
    """What the centres before it leave of each one, as a share of it."""
    A = path.moments.gram + case.alpha * path.moments.penalty
    scale = np.sqrt(np.maximum(np.diagonal(A), 1e-300))
    A = A / np.outer(scale, scale)
    left = np.ones(len(A))
    for s in range(1, len(A)):
        solved = np.linalg.lstsq(A[:s, :s], A[:s, s], rcond=1e-15)[0]
        left[s] = max(0.0, A[s, s] - A[:s, s] @ solved)
    return left


def largest_leverage(case: Centers, path: SelectionPath) -> float:
    """Of the rows that count, in the last model."""
    K = Kernel(**case.kernel)(case.points, case.candidates[list(path.moments.features)])
    weights = case.options.get("sample_weight")
    weights = np.ones(len(K)) if weights is None else weights
    leverages = np.zeros(len(K))
    if case.options.get("fit_intercept", True):
        K = K - np.average(K, axis=0, weights=weights)
        leverages += weights / weights.sum()
    K = K * np.sqrt(weights)[:, None]
    A = path.moments.gram + case.alpha * path.moments.penalty
    leverages += np.sum(K * np.linalg.lstsq(A, K.T, rcond=1e-15)[0].T, axis=1)
    return float(leverages[weights > 0.0].max())


def assert_same(case: Centers, path: SelectionPath, other: SelectionPath) -> None:
    """The same centres, losses, runners-up and moments, up to where rounding decides.

    That is where one is nearly spanned by those before it: it may be a candidate for either, and
    the losses of later models have few digits.
    """
    both = shares(case, path), shares(case, other)
    n_same = min(int(np.argmax(np.append(share, 0.0) < 1e-6)) for share in both)
    left = max(1e-9, 1.0 - largest_leverage(case, other)) if len(other) else 1.0
    rel, floor = 1e-10 + 1e-12 / min([1.0, *both[1][:n_same]]) / left, 1e-11 * other.initial_loss
    for step, twin in zip(path.steps[:n_same], other.steps, strict=False):
        assert step.loss == pytest.approx(twin.loss, rel=rel, abs=floor)
        if step.index != twin.index:
            return  # a tie up to rounding
        losses = [loss for _, loss in step.runners_up]
        expected = pytest.approx([loss for _, loss in twin.runners_up], rel=1e3 * rel, abs=floor)
        assert losses == expected
    if n_same < len(path) or n_same < len(other):
        return
    assert path.stop_reason is other.stop_reason
    assert path.initial_loss == pytest.approx(other.initial_loss, rel=1e-14)
    assert path.moments.features == other.moments.features
    np.testing.assert_array_equal(path.moments.penalty, other.moments.penalty)
    close = 1e-12 * len(case.points) * np.abs(other.moments.gram).max(initial=0.0)
    np.testing.assert_allclose(path.moments.gram, other.moments.gram, rtol=0, atol=close)


def _points(rng: np.random.Generator, kind: str) -> Array:
    points = rng.standard_normal((int(rng.integers(12, 120)), int(rng.integers(1, 8))))
    if kind == "rounded":
        return np.round(points)
    if kind == "repeated":
        some = rng.integers(0, len(points), (2, len(points) // 3))
        points[some[0]] = points[some[1]]
    return points


@st.composite
def center_cases(draw: st.DrawFn) -> Centers:
    """Equal points, pools of other points, weights, several targets, any penalty."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    points = _points(rng, draw(st.sampled_from(["normal", "rounded", "repeated"])))
    m, d = points.shape
    rows, pool = None, None
    pools = draw(st.sampled_from(["all rows", "some rows", "other points"]))
    if pools == "some rows":
        rows = np.sort(rng.permutation(m)[: m // 2])
    elif pools == "other points":
        pool = rng.standard_normal((int(rng.integers(2, 80)), d))
        pool[0] = pool[-1]
    t = draw(st.sampled_from([1, 1, 2, 3, 10]))
    Y = np.sin(2.0 * points[:, :1]) + 0.3 * rng.standard_normal((m, t))
    n = m if pools == "all rows" else m // 2 if pool is None else len(pool)
    k = int(rng.integers(1, min(n, 20) + 1))
    options: dict[str, Any] = {"fit_intercept": draw(st.booleans())}
    weighting = draw(st.sampled_from(["none", "positive", "zeros"]))
    if weighting != "none":
        weights = 0.2 + rng.random(m)
        weights[: m // 5] *= weighting == "positive"
        options["sample_weight"] = weights
    order = rng.permutation(n)
    if draw(st.booleans()):
        options["excluded_features"] = order[k : k + int(rng.integers(0, n - k + 1))].tolist()
    name = draw(st.sampled_from(["rbf", "rbf", "laplacian", "poly", "linear"]))
    if name in ("rbf", "laplacian") and draw(st.booleans()):
        options["forced_features"] = order[:1].tolist()
    kernel: dict[str, Any] = {"name": "callable", "function": _linear}
    if name != "linear":
        gamma = draw(st.sampled_from([0.01, 0.05, 0.5, 3.0]))
        degree, coef0 = draw(st.sampled_from([1.0, 2.0, 3.0])), draw(st.sampled_from([0.0, 1.0]))
        kernel = {"name": name, "gamma": gamma, "degree": degree, "coef0": coef0}
    alpha = 10.0 ** draw(st.integers(-8, 6))
    return Centers(points, Y, k, kernel, alpha, rows, pool, options)


@pytest.mark.heavy
@settings(max_examples=3 * EXAMPLES)
@given(case=center_cases(), n_runners_up=st.sampled_from([0, 0, 1, 4]))
def test_squared_loss(case: Centers, n_runners_up: int) -> None:
    path, _ = compiled(case, n_runners_up=n_runners_up)
    assert_same(case, path, by_numpy(case, n_runners_up=n_runners_up))


def many(seed: int, m: int = 500, n: int = 400, t: int = 1, **others: Any) -> Centers:
    """Enough candidates for bounds, anchors and products that come ahead of their use."""
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((m, 6))
    signal = np.sin(2.0 * points[:, :1]) + points[:, 1:2] * points[:, 2:3]
    Y = signal + 0.5 * rng.standard_normal((m, t))
    rows = np.sort(rng.permutation(m)[:n])
    case = {"kernel": {"name": "rbf", "gamma": 0.15}, "alpha": 0.1, "rows": rows} | others
    return Centers(points, Y, 30, **case)


@pytest.mark.parametrize("t", [1, 4])
@pytest.mark.parametrize("seed", range(3))
def test_bounds_rule_out_no_best_candidate(seed: int, t: int) -> None:
    case = many(seed, t=t)
    path, answers = compiled(case, n_runners_up=3)
    assert n_taken(answers) == 30
    exhaustive = by_numpy(case, search="exhaustive", n_runners_up=3)
    assert_same(case, path, exhaustive)
    assert path.indices.tolist() == exhaustive.indices.tolist()
    assert path.counters.exact_evaluations < exhaustive.counters.exact_evaluations


def test_columns_come_ahead_of_their_use() -> None:
    """A pass brings what is likely needed next, so that there are fewer passes than steps."""
    path, answers = compiled(many(1))
    assert n_taken(answers) == 30
    assert path.counters.passes < 30


def test_thousands_of_rows() -> None:
    """Bounds use how much leverages grow, which depends on no penalty."""
    case = many(2, m=4200, n=150, t=2)
    path, answers = compiled(case, n_runners_up=2)
    assert n_taken(answers) == 30
    assert_same(case, path, by_numpy(case, n_runners_up=2, search="exhaustive"))


def test_little_room(tune: Tune) -> None:
    """Searches that start again with more room, and columns that are forgotten."""
    case = many(3)
    expected = by_numpy(case)
    tune(compiled_first_room=3, compiled_gram_bytes=0, compiled_least_kept=5)
    with tuned(compiled_room_bytes=0):
        path, answers = compiled(case)
    assert n_taken(answers) >= 30
    assert_same(case, path, expected)
    assert path.indices.tolist() == expected.indices.tolist()


@pytest.mark.parametrize("t", [1, 2])
def test_spanned_centres_are_none(t: int) -> None:
    """A linear kernel of three dimensions has three centres; all third ones are as good."""
    rng = np.random.default_rng(t)
    points = rng.standard_normal((60, 3))
    Y = points[:, :t] + 0.1 * rng.standard_normal((60, t))
    case = Centers(points, Y, 10, {"name": "callable", "function": _linear}, 0.1)
    path, answers = compiled(case)
    assert len(path) == 3
    assert path.stop_reason is StopReason.SPANNED
    assert n_taken(answers) == 2
    assert_same(case, path, by_numpy(case))


def test_centres_at_the_same_point() -> None:
    """The second one is spanned as soon as the first is chosen."""
    rng = np.random.default_rng(4)
    points = np.repeat(rng.standard_normal((15, 2)), 3, axis=0)
    Y = np.sin(3.0 * points[:, :1]) + 0.1 * rng.standard_normal((45, 1))
    case = Centers(points, Y, 20, {"name": "laplacian", "gamma": 1.0}, 0.01)
    path, _ = compiled(case)
    assert len(path) == 15
    assert sorted(index % 3 for index in path.indices) == [0] * 15  # the first of equal ones
    assert_same(case, path, by_numpy(case))


def test_indefinite_kernels_are_refused_by_both() -> None:
    rng = np.random.default_rng(0)
    points = rng.standard_normal((80, 3))
    kernel = {"name": "callable", "function": lambda X, C: np.tanh(2.0 * X @ C.T + 1.0)}
    case = Centers(points, rng.standard_normal((80, 1)), 20, kernel, 1.0)
    for search in (by_numpy, compiled):
        with pytest.raises(ValueError, match="not positive semidefinite"):
            search(case)


def test_penalty_and_size_are_chosen_alike() -> None:
    rng = np.random.default_rng(5)
    X = rng.standard_normal((90, 3))
    y = np.sin(2.0 * X[:, 0]) + 0.2 * rng.standard_normal(90)

    def fitted() -> GreedyKernelRLS:
        return GreedyKernelRLS(max_centers=12, gamma=[0.1, 0.5]).fit(X, y)

    model = fitted()
    with tuned(compiled_steps=False):
        twin = fitted()
    assert model.path_.indices.tolist() == twin.path_.indices.tolist()
    assert (model.alpha_, model.gamma_) == (twin.alpha_, twin.gamma_)
    np.testing.assert_allclose(model.predict(X), twin.predict(X), rtol=1e-8)


def test_steps_need_the_kernel_of_a_column() -> None:
    module = native()
    assert module is not None
    X, one, row = np.ones((8, 3)), np.ones(8), np.ones((1, 8))
    arguments = (None, None, None, one, one, 1.0, np.ones(3), np.ones((1, 3)), row, one, row, 1, 0)
    rows = module.new_rows(X, *arguments, np.ones(3))
    with pytest.raises(ValueError, match="kernel functions need their values"):
        module.products(rows, np.array([0]), np.ones((1, 3)), None, None)


def test_likely_centres_are_candidates() -> None:
    plan, data = many(6).data()
    assert isinstance(data, LooData)
    guesses = []

    def noted(original: Any, self: Any, anchor: Any, indices: Any = ()) -> Any:
        guesses.append(list(indices))
        return original(self, anchor, indices)

    with trapped() as traps:
        traps.around("make the anchor of compiled steps", noted)
        path = search_path(Setup(plan, data, Limits(30), Watch(0)), 0.1)
    assert any(len(features) > 1 for features in guesses)
    for features in guesses:
        assert len(set(features)) == len(features)
    assert len(path) == 30
