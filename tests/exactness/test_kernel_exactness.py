"""Centres found by the engine against refits for every candidate and split."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from agreement import assert_follows
from greedyrls import SelectionPath, StopReason
from internals import (
    ComputedKernelMatrix,
    DenseMatrix,
    Kernel,
    KernelMatrix,
    Limits,
    LooData,
    MatrixPoints,
    SelectionState,
    Setup,
    StoredKernelMatrix,
    Watch,
    make_plan,
    make_problem,
    search_path,
)
from kernel_twin import KernelCase, kernel_cases, literal_centers, literal_kernel
from sweeps import EXAMPLES
from tuning import tuned

FEWER = max(1, EXAMPLES // 20)
# Computed whenever they are asked for, or in memory.
KINDS = st.sampled_from([ComputedKernelMatrix, StoredKernelMatrix])
IN_FILE = st.booleans()  # whether points are read when they are used


@pytest.fixture(autouse=True, scope="module")
def small_chunks() -> Any:
    """Several chunks also of a small problem."""
    with tuned(kernel_chunk_elements=60, kernel_recent_columns=3):
        yield


def found(
    case: KernelCase,
    search: Any = "auto",
    n_runners_up: int = 0,
    kind: type[KernelMatrix] = ComputedKernelMatrix,
    in_file: bool = False,
) -> SelectionPath:
    """By the engine."""
    row_of = np.arange(len(case.points)) if case.pool is case.points else None
    points = MatrixPoints(DenseMatrix(case.points)) if in_file else case.points
    problem = make_problem(
        kind(Kernel(**case.kernel), points, case.pool, row_of=row_of),
        case.Y,
        fit_intercept=case.fit_intercept,
        sample_weight=case.weights,
        excluded_features=case.excluded,
    )
    plan = make_plan(problem, cv=case.cv, groups=case.groups, loss=case.loss, strategy=search)
    plan.prepare(problem, case.n_centers)
    data = plan.data(problem)
    setup = Setup(plan, data, Limits(case.n_centers), Watch(n_runners_up))
    return search_path(setup, case.alpha)


def compare(case: KernelCase, path: SelectionPath) -> None:
    twin, share = literal_centers(case)
    # What is left of a column that is nearly spanned is a difference of nearly equal numbers.
    rel = 1e-8 + 5e-13 / share
    floor = 1e-11 * max(1e-3, twin.initial_loss)
    # A centre that is spanned up to the very limit may be one for either of the two.
    if len(path) != len(twin.indices):
        assert min(share, 2e-8) < 2e-8 or path.stop_reason is StopReason.SPANNED
        short = min(len(path), len(twin.indices))
        assert path.losses[:short] == pytest.approx(twin.losses[:short], rel=rel, abs=floor)
        return
    assert_follows(path, twin, rel, floor)


@pytest.mark.heavy
@settings(max_examples=FEWER)
@given(case=kernel_cases(), kind=KINDS, in_file=IN_FILE)
def test_leave_one_out(case: KernelCase, kind: type[KernelMatrix], in_file: bool) -> None:
    compare(case, found(case, n_runners_up=2, kind=kind, in_file=in_file))


@pytest.mark.heavy
@settings(max_examples=FEWER)
@given(case=kernel_cases(folds=True), kind=KINDS, in_file=IN_FILE)
def test_folds(case: KernelCase, kind: type[KernelMatrix], in_file: bool) -> None:
    compare(case, found(case, n_runners_up=1, kind=kind, in_file=in_file))


@pytest.mark.parametrize("loss", ["zero_one", "absolute"])
@pytest.mark.parametrize("folds", [False, True])
def test_other_losses(loss: str, folds: bool) -> None:
    @settings(max_examples=max(1, FEWER // 5))
    @given(case=kernel_cases(folds=folds, loss=loss), kind=KINDS)
    def run(case: KernelCase, kind: type[KernelMatrix]) -> None:
        compare(case, found(case, kind=kind))

    run()


@pytest.mark.heavy
@settings(max_examples=FEWER)
@given(case=kernel_cases(), kind=KINDS)
def test_bounds_lose_no_centre(case: KernelCase, kind: type[KernelMatrix]) -> None:
    bounded, exhaustive = (found(case, search, 1, kind) for search in ("bounded", "exhaustive"))
    assert bounded.indices.tolist() == exhaustive.indices.tolist()
    assert bounded.losses == pytest.approx(exhaustive.losses, rel=1e-9)


def state_of(m: int, targets: int, fit_intercept: bool) -> tuple[SelectionState, Any, float]:
    """A search on rows with weights, and what is left of a column after the chosen ones."""
    rng = np.random.default_rng(m)
    points, weights, alpha = rng.standard_normal((m, 3)), 0.2 + rng.random(m), 0.05
    Y = rng.standard_normal((m, targets)) + np.sin(points[:, :1])
    kernel = Kernel("rbf", 0.4)
    X = ComputedKernelMatrix(kernel, points, points)
    problem = make_problem(X, Y, fit_intercept=fit_intercept, sample_weight=weights)
    plan = make_plan(problem)
    plan.prepare(problem, 12)
    K = literal_kernel("rbf", points, points, 0.4)
    root = np.sqrt(weights)[:, None]
    columns, values = K, Y
    if fit_intercept:
        columns = K - weights @ K / weights.sum()
        values = Y - weights @ Y / weights.sum()
    data = plan.data(problem)
    assert isinstance(data, LooData)
    return SelectionState(data, alpha, 2), (K, root * columns, root * values), alpha


@pytest.mark.parametrize("targets", [1, 2])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("is_rebuilt", [True, False])
def test_feature_space_knows_what_the_rows_say(
    targets: int, fit_intercept: bool, is_rebuilt: bool
) -> None:
    state, (K, X, Y), alpha = state_of(50, targets, fit_intercept)
    chosen: list[int] = []
    anchor = None
    for step, index in enumerate([7, 30, 2, 49, 11, 25]):
        if step == 3:
            state.set_anchor([])
            anchor = np.concatenate([block.anchor for block in state.samples.blocks], axis=1)
        state.add(index, state.measure(index), lambda count: [], 1)
        chosen.append(index)
        if anchor is not None:
            anchor = np.concatenate([block.anchor for block in state.samples.blocks], axis=1)
        if is_rebuilt:
            state.rebuild()
            anchor = None
        A = X.T @ X + alpha * K
        beta = np.linalg.solve(A[np.ix_(chosen, chosen)], A[chosen])
        w = np.linalg.solve(A[np.ix_(chosen, chosen)], X[:, chosen].T @ Y)
        Z, r = X - X[:, chosen] @ beta, Y - X[:, chosen] @ w
        others = np.delete(np.arange(50), chosen)
        features = state.features
        expected = {
            "delta": A.diagonal() - np.sum(A[chosen] * beta, axis=0),
            "norms": np.sum(Z * Z, axis=0),
            "tau": (Z.T @ Y).T,
            "inner": (Z.T @ r).T,
        }
        if anchor is not None:
            expected["anchored"] = anchor @ Z
        for name, values in expected.items():
            found = getattr(features, name)[..., others]
            scale = np.abs(values).max()
            assert_allclose(found, values[..., others], rtol=1e-8, atol=1e-11 * scale, err_msg=name)


@pytest.mark.parametrize("seed", range(6))
def test_bounds_lose_no_centre_of_many(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((240, 1 + seed))
    signal = np.sin(2.0 * points[:, :1]) + points[:, -1:] ** 2
    case = KernelCase(
        *(points, points, signal + 0.1 * rng.standard_normal((240, 1 + seed % 2)), 12),
        kernel={"name": ("rbf", "laplacian")[seed % 2], "gamma": (0.2, 1.0)[seed % 2]},
        alpha=10.0 ** (1 - seed),
        fit_intercept=seed != 2,
    )
    bounded, exhaustive = found(case, "bounded", 1), found(case, "exhaustive", 1)
    assert bounded.indices.tolist() == exhaustive.indices.tolist()
    assert bounded.losses == pytest.approx(exhaustive.losses, rel=1e-9)
    assert bounded.counters.exact_evaluations < exhaustive.counters.exact_evaluations


@pytest.mark.parametrize("cv", ["loo", 5])
@pytest.mark.parametrize("name", ["an equal point", "a sum of linear functions"])
def test_a_forced_centre_that_is_spanned_is_an_error(name: str, cv: Any) -> None:
    """What is left of its function is 0, by which a step would be divided."""
    rng = np.random.default_rng(0)
    points = rng.standard_normal((30, 2))
    points[7] = points[3]
    kernel: dict[str, Any] = {"name": "rbf", "gamma": 0.5}
    forced = [3, 7, 2]
    if name == "a sum of linear functions":
        kernel, forced = {"name": "poly", "gamma": 1.0, "degree": 1.0, "coef0": 0.0}, [0, 1, 7]
    X = StoredKernelMatrix(Kernel(**kernel), points, points, row_of=np.arange(30))
    problem = make_problem(X, points[:, 0] + rng.standard_normal(30), forced_features=forced)
    plan = make_plan(problem, cv=cv)
    setup = Setup(plan, plan.data(problem), Limits(6))
    with pytest.raises(ValueError, match=r"forced centre 7 adds nothing.* Leave it out"):
        search_path(setup, 1.0)
