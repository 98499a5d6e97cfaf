"""Centres found by the engine against refits for every candidate and split."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from agreement import assert_follows
from conftest import EXAMPLES
from greedyrls import SelectionPath, StopReason, _kernel_matrix
from greedyrls._kernel_functions import Kernel
from greedyrls._kernel_matrix import KernelMatrix
from greedyrls._plan import make_plan
from greedyrls._problem import make_problem
from greedyrls._run import Limits, Watch, search_path
from kernel_twin import KernelCase, kernel_cases, literal_centers

FEWER = max(1, EXAMPLES // 20)


@pytest.fixture(autouse=True, scope="module")
def small_chunks() -> Any:
    """Several chunks also of a small problem."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_kernel_matrix, "_CHUNK_ELEMENTS", 60)
        patch.setattr(_kernel_matrix, "_RECENT_COLUMNS", 3)
        yield


def found(case: KernelCase, search: Any = "auto", n_runners_up: int = 0) -> SelectionPath:
    """By the engine."""
    kernel = Kernel(**case.kernel)
    problem = make_problem(
        KernelMatrix(kernel, case.points, case.pool),
        case.Y,
        fit_intercept=case.fit_intercept,
        sample_weight=case.weights,
        excluded_features=case.excluded,
    )
    plan = make_plan(problem, cv=case.cv, groups=case.groups, loss=case.loss, strategy=search)
    plan.prepare(problem, case.n_centers)
    data = plan.data(problem)
    watch = Watch(n_runners_up)
    return search_path(plan, data, case.alpha, Limits(case.n_centers), watch)


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
@given(case=kernel_cases())
def test_leave_one_out(case: KernelCase) -> None:
    compare(case, found(case, n_runners_up=2))


@pytest.mark.heavy
@settings(max_examples=FEWER)
@given(case=kernel_cases(folds=True))
def test_folds(case: KernelCase) -> None:
    compare(case, found(case, n_runners_up=1))


@pytest.mark.parametrize("loss", ["zero_one", "absolute"])
@pytest.mark.parametrize("folds", [False, True])
def test_other_losses(loss: str, folds: bool) -> None:
    @settings(max_examples=max(1, FEWER // 5))
    @given(case=kernel_cases(folds=folds, loss=loss))
    def run(case: KernelCase) -> None:
        compare(case, found(case))

    run()


@pytest.mark.heavy
@settings(max_examples=FEWER)
@given(case=kernel_cases())
def test_bounds_lose_no_centre(case: KernelCase) -> None:
    bounded, exhaustive = found(case, "bounded", 1), found(case, "exhaustive", 1)
    assert bounded.indices.tolist() == exhaustive.indices.tolist()
    assert bounded.losses == pytest.approx(exhaustive.losses, rel=1e-9)
