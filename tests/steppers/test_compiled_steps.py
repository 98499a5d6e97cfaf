"""Compiled steps against the general engine and against literal refits."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose

from agreement import assert_follows
from compiled_steps import (
    LABELS,
    LOOPS,
    ORDERS,
    assert_same_path,
    compiled_path,
    far_from_origin,
    in_loop,
    n_taken,
    needs_compiled_steps,
    numpy_path,
    ordered,
    step_cases,
)
from greedyrls import SelectionPath, Step, StopReason, extend_path, greedy_path
from internals import Stop
from literal import literal_path
from problems import Case, cases, fold_cases, named_problems, two_classes
from sweeps import EXAMPLES
from traps import interrupted_at, trapped
from tuning import Tune, tuned

pytestmark = needs_compiled_steps

LOSSES = ["squared", "absolute", *LABELS]
TYPES = ["float64", "float32", "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32"]
TYPES += ["int64", "uint64", "longlong", "ulonglong"]


@pytest.mark.parametrize("loop", LOOPS)
def test_each_loop_runs(loop: str) -> None:
    X, y = two_classes(40, 6)
    with in_loop(loop) as rows:
        greedy_path(X, y, 3)
    expected = {"kept": (True, False), "packed": (False, True), "gathered": (False, False)}
    assert [(one.keeps_z, one.is_packed) for one in rows] == [expected[loop]]


@pytest.mark.heavy
@pytest.mark.parametrize("loop", LOOPS)
@settings(max_examples=3 * EXAMPLES)
@given(case=step_cases())
def test_squared_loss(loop: str, case: Case) -> None:
    path, _ = compiled_path(case, loop)
    assert_same_path(path, numpy_path(case), case)


@pytest.mark.heavy
@settings(max_examples=3 * EXAMPLES)
@given(case=step_cases())
def test_absolute_loss(case: Case) -> None:
    path, _ = compiled_path(case, loss="absolute")
    assert_same_path(path, numpy_path(case, loss="absolute"), case)


@pytest.mark.heavy
@pytest.mark.parametrize("loss", LABELS)
@settings(max_examples=3 * EXAMPLES)
@given(case=step_cases(is_labelled=True))
def test_wrong_classes(loss: str, case: Case) -> None:
    path, _ = compiled_path(case, loss=loss)
    assert_same_path(path, numpy_path(case, loss=loss), case)


def assert_is_literal(case: Case, loop: str, loss: str) -> None:
    path, _ = compiled_path(case, loop, loss=loss, n_runners_up=60)
    twin = literal_path(case.X, case.y, case.n_features, loss=loss, **case.literal_options)
    same = 1e-9 + 4e-15 * far_from_origin(case, path.indices)
    assert_follows(path, twin, same, 1e-12 * float(np.mean(np.abs(case.y))))


@pytest.mark.heavy
@pytest.mark.parametrize("loop", LOOPS)
@settings(max_examples=max(1, EXAMPLES // 3))
@given(case=fold_cases(folds=["loo"]))
def test_refits_squared_loss(loop: str, case: Case) -> None:
    assert_is_literal(case, loop, "squared")


@pytest.mark.heavy
@settings(max_examples=max(1, EXAMPLES // 3))
@given(case=fold_cases(folds=["loo"]))
def test_refits_absolute_loss(case: Case) -> None:
    assert_is_literal(case, "kept", "absolute")


@pytest.mark.heavy
@pytest.mark.parametrize("loss", LABELS)
@settings(max_examples=max(1, EXAMPLES // 3))
@given(case=fold_cases(folds=["loo"], labelled=True))
def test_refits_wrong_classes(loss: str, case: Case) -> None:
    assert_is_literal(case, "kept", loss)


@pytest.mark.heavy
@pytest.mark.parametrize("loop", ["packed", "gathered"])
@settings(max_examples=max(1, EXAMPLES // 5))
@given(case=cases(max_samples=120, max_features=200))
def test_bounds_rule_out_no_best_candidate(loop: str, case: Case) -> None:
    """Larger problems: anchors are set, columns fetched in batches, recent ones dropped."""
    case.n_features = min(3 * case.n_features, case.X.shape[1], len(case.X) // 3 + 1)
    path, _ = compiled_path(case, loop, n_runners_up=2)
    assert_same_path(path, numpy_path(case, n_runners_up=2, search="exhaustive"), case)


@pytest.mark.parametrize("loop", ["packed", "gathered"])
@pytest.mark.parametrize("tail", [1.0, 50.0])
@pytest.mark.parametrize("seed", range(5))
def test_bounds_of_correlated_columns(loop: str, tail: float, seed: int) -> None:
    """Few of many columns are left to score; with heavy tails, leverages differ much."""
    rng = np.random.default_rng(seed)
    X = rng.standard_t(tail, (90, 12)) @ rng.standard_normal((12, 400))
    X += 0.3 * rng.standard_t(tail, (90, 400))
    y = 0.2 * X[:, :5].sum(axis=1) + 3.0 * rng.standard_t(tail, 90)
    case = Case(X, y, 25, {"alpha": 10.0 ** (seed - 2)})
    path, answers = compiled_path(case, loop, n_runners_up=8)
    # Of heavy tails, rows with a leverage near 1 cost digits.
    assert n_taken(answers) == 25 or (tail < 2.0 and n_taken(answers) >= 10)
    assert_same_path(path, numpy_path(case, n_runners_up=8, search="exhaustive"), case)


def test_passes_for_anchors_are_counted(tune: Tune) -> None:
    """C makes the products of an anchor if X is in C order; else NumPy does, which counts them."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 12)) @ rng.standard_normal((12, 400))
    X += 0.3 * rng.standard_normal((90, 400))
    y = 0.2 * X[:, :5].sum(axis=1) + 3.0 * rng.standard_normal(90)
    tune(compiled_fetches=False)
    passes = []
    for columns in (X, np.asfortranarray(X)):
        with trapped() as traps:
            asked = traps.watch("make the anchor of compiled steps")
            path, answers = compiled_path(Case(columns, y, 12), "gathered")
        assert n_taken(answers) == 12
        passes.append((path.counters.passes, len(asked)))
    (by_c, none), (by_numpy, n_asked) = passes
    assert by_c == by_numpy
    assert none == 0 or none == n_asked  # the baseline variant leaves products to BLAS
    assert n_asked > 0


@pytest.mark.parametrize("name", named_problems())
@pytest.mark.parametrize("loop", LOOPS)
def test_troublesome_data(loop: str, name: str) -> None:
    X, y = named_problems()[name]
    weights = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    for options in ({}, {"sample_weight": weights}, {"alpha": 1e-4}):
        case = Case(X, y, 10, {"alpha": 1.0, **options})
        path, answers = compiled_path(case, loop, n_runners_up=3)
        assert n_taken(answers) >= 3 or name == "far from the origin"
        assert_same_path(path, numpy_path(case, n_runners_up=3), case)


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("n_targets", [1, 3])
def test_many_rows_and_candidates(loop: str, n_targets: int, tune: Tune) -> None:
    """More rows than a tile; padding; room for a few features at first."""
    tune(compiled_first_room=3)
    rng = np.random.default_rng(n_targets)
    X = rng.standard_normal((1203, 310))
    Y = X[:, :40] @ rng.standard_normal((40, n_targets)) + rng.standard_normal((1203, n_targets))
    case = Case(X, Y, 30, {"alpha": 0.3})
    path, answers = compiled_path(case, loop, n_runners_up=5)
    assert n_taken(answers) == 30
    assert_same_path(path, numpy_path(case, n_runners_up=5), case)


@pytest.mark.parametrize("loop", ["packed", "gathered"])
def test_more_candidates_than_are_kept(loop: str) -> None:
    """What is kept of candidates for later is not overwritten while it is in use."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((16_000, 10)) @ rng.standard_normal((10, 100))
        X += 0.5 * rng.standard_normal(X.shape)
        case = Case(X, X[:, :20].sum(axis=1) + rng.standard_normal(len(X)), 10, {"alpha": 1.0})
        path, _ = compiled_path(case, loop, n_runners_up=40)
        assert_same_path(path, numpy_path(case, n_runners_up=40), case)


@pytest.mark.parametrize("loop", ["packed", "gathered"])
@pytest.mark.parametrize("n_targets", [1, 2])
def test_bounds_by_the_spread_over_rows(loop: str, n_targets: int) -> None:
    """From thousands of rows on, bounds use how much leverages grow; some rows are outliers."""
    rng = np.random.default_rng(8)
    X = rng.standard_t(3, (4301, 90))
    Y = X[:, :30] @ rng.standard_normal((30, n_targets)) + rng.standard_t(2, (4301, n_targets))
    case = Case(X, Y, 20, {"alpha": 1.0})
    path, answers = compiled_path(case, loop, n_runners_up=4)
    assert n_taken(answers) == 20
    assert_same_path(path, numpy_path(case, n_runners_up=4, search="exhaustive"), case)


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("order", ORDERS)
def test_types_and_memory_order(loop: str, dtype: str, order: str) -> None:
    """The same steps as for the same numbers in float64, to the last bit."""
    rng = np.random.default_rng(5)
    # Up to the largest of a type: one that is read as another is seen.
    most = np.iinfo(dtype).max if np.dtype(dtype).kind in "iu" else 1 if dtype == "bool" else 9
    most = min(most, 100_000)
    values = rng.integers(0, most, (67, 35), endpoint=True)
    y = rng.standard_normal(67) + 2.0 / most * values[:, 3]
    expected, _ = compiled_path(Case(values.astype(float), y, 8), loop)
    X = ordered(values.astype(dtype), order)
    assert X.dtype == dtype
    path, answers = compiled_path(Case(X, y, 8), loop)
    assert n_taken(answers) == 8
    assert path.indices.tolist() == expected.indices.tolist()
    assert_allclose(path.losses, expected.losses, rtol=1e-13)
    assert_allclose(path.moments.gram, expected.moments.gram, rtol=1e-13)


def test_other_types_are_left_to_the_general_engine() -> None:
    X, y = two_classes(40, 6)
    for other in (X.astype(np.float16), X.astype(X.dtype.newbyteorder()), X.astype("longdouble")):
        case = Case(other, y, 3)
        path, answers = compiled_path(case)
        assert not answers
        assert path.indices.tolist() == numpy_path(case).indices.tolist()


@pytest.mark.parametrize(
    "options", [{"search": "bounded"}, {"block_rows": 20}, {"cv": 5, "loss": "absolute"}]
)
def test_what_is_not_compiled(options: dict[str, Any]) -> None:
    X, y = two_classes(40, 6)
    _, answers = compiled_path(Case(X, y, 3), **options)
    assert not answers


# Around the search ------------------------------------------------------------------------------


def assert_same_run(path: SelectionPath, full: SelectionPath) -> None:
    assert path.indices.tolist() == full.indices.tolist()
    assert_allclose(path.losses, full.losses, rtol=1e-12)
    assert_allclose(path.standard_errors, full.standard_errors, rtol=1e-9)
    assert_allclose(path.moments.gram, full.moments.gram, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("loss", LOSSES)
def test_paths_are_extended(loop: str, loss: str) -> None:
    X, y = two_classes(90, 20, signal=0.4)
    with in_loop(loop):
        full = greedy_path(X, y, 9, loss=loss, n_runners_up=2)
        assert_same_run(extend_path(full.truncated(3), X, y, 9, loss=loss, n_runners_up=2), full)


@pytest.mark.parametrize("loop", LOOPS)
def test_steps_are_those_that_a_callback_sees(loop: str) -> None:
    X, y = two_classes(90, 20, signal=0.4)
    seen: list[Step] = []

    def callback(step: Step) -> bool:
        seen.append(step)
        return len(seen) == 5

    with in_loop(loop):
        full = greedy_path(X, y, 9)
        path = greedy_path(X, y, 9, callback=callback)
    assert path.steps == tuple(seen)
    assert path.stop_reason is StopReason.CALLBACK
    assert_same_run(path, full.truncated(5))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("after", [False, True])
def test_an_interrupted_search(loss: str, after: bool) -> None:
    X, y = two_classes(90, 20, signal=0.4)
    full = greedy_path(X, y, 9, loss=loss)
    for call in (2, 5, 9):
        with interrupted_at("take a compiled step", call, after=after):
            path = greedy_path(X, y, 9, loss=loss)
        assert path.interrupted
        assert_same_run(path, full.truncated(call - 1))
        assert_same_run(extend_path(path, X, y, 9, loss=loss), full)


@pytest.mark.parametrize("loss", LOSSES)
def test_an_interrupt_while_c_takes_steps(loss: str) -> None:
    """Python handles it when C returns: steps that nobody has seen yet are lost."""
    X, y = two_classes(90, 20, signal=0.4)
    with tuned(compiled_steps_ahead=3):
        full = greedy_path(X, y, 9, loss=loss)
        for call in (2, 3):
            with interrupted_at("call C for steps", call, after=True):
                path = greedy_path(X, y, 9, loss=loss)
            assert path.interrupted
            assert_same_run(path, full.truncated(3 * (call - 1)))


@pytest.mark.parametrize("loss", LOSSES)
def test_an_interrupt_while_a_search_gets_more_room(loss: str) -> None:
    """It begins again without features; until they are all added, the earlier one stays."""
    X, y = two_classes(90, 20, signal=0.4)
    with tuned(compiled_first_room=2, compiled_room_bytes=0):
        full = greedy_path(X, y, 9, loss=loss)
        for call, size in ((2, 2), (3, 4)):
            with interrupted_at("begin a search in C", call, after=True):
                path = greedy_path(X, y, 9, loss=loss)
            assert path.interrupted
            assert_same_run(path, full.truncated(size))


def test_a_search_that_gets_no_more_room_keeps_its_steps() -> None:
    """Memory may end while it begins again; then the general engine goes on from where it was."""
    X, y = two_classes(90, 20, signal=0.4)
    calls = []

    def stopping(original: Any, search: Any, selected: Any, last: int) -> Any:
        calls.append(len(selected))
        if calls != [0, 2]:
            return original(search, selected, last)
        search._start(last, len(selected))
        return Stop.NOT_AVAILABLE

    full = greedy_path(X, y, 9)
    with trapped() as traps, tuned(compiled_first_room=2, compiled_room_bytes=0):
        traps.around("add known features in C", stopping)
        path = greedy_path(X, y, 9)
    assert calls[:2] == [0, 2]
    assert_same_run(path, full)


@pytest.mark.parametrize("call", [1, 2, 3])
def test_an_interrupt_while_the_general_engine_takes_over(call: int) -> None:
    """The features of compiled steps are added to its state first."""
    X, y = two_classes(90, 20, signal=0.4)
    full, calls = greedy_path(X, y, 9), []

    def doubting(original: Any, *arguments: Any) -> Any:
        calls.append(arguments)
        return Stop.IN_DOUBT if len(calls) == 2 else original(*arguments)

    with trapped() as traps, tuned(compiled_steps_ahead=3):
        traps.around("let C take steps", doubting)
        assert_same_run(greedy_path(X, y, 9), full)
        calls.clear()
        added = traps.interrupt("add to feature space", call)
        path = greedy_path(X, y, 9)
    assert len(added) == call
    assert path.interrupted
    assert_same_run(path, full.truncated(3))


def test_passes_of_the_general_engine_count_once() -> None:
    """Small X: compiled steps need no pass, and the general engine fetches Gram columns."""
    X, y = two_classes(90, 20, signal=0.4)
    calls = []

    def doubting(original: Any, *arguments: Any) -> Any:
        calls.append(arguments)
        return Stop.IN_DOUBT if len(calls) == 2 else original(*arguments)

    with trapped() as traps, tuned(compiled_steps_ahead=3, exhaustive_elements=0):
        traps.around("let C take steps", doubting)
        products = traps.watch("multiply columns")
        path = greedy_path(X, y, 9)
    assert len(products) > 0
    assert path.counters.passes == 1 + len(products)


@pytest.mark.parametrize("alpha_rule", ["nested", "joint"])
def test_several_penalties_share_the_rows(alpha_rule: Any) -> None:
    """Searches pause and continue, and each has a penalty of its own."""
    X, y = two_classes(150, 30, signal=0.3)
    options: dict[str, Any] = {"alpha": [0.1, 10.0, 1000.0], "alpha_rule": alpha_rule}
    for loop in LOOPS:
        with in_loop(loop):
            path = greedy_path(X, y, 8, **options)
        with tuned(compiled_steps=False):
            other = greedy_path(X, y, 8, **options)
        assert path.settings.alpha == other.settings.alpha
        assert_same_run(path, other)


@pytest.mark.parametrize("loop", LOOPS)
def test_searches_in_threads(loop: str) -> None:
    X, y = two_classes(400, 60, signal=0.3)
    weights = np.random.default_rng(3).random(400)
    options: list[dict[str, Any]] = [
        {"alpha": alpha, "loss": loss, "sample_weight": given}
        for alpha in (0.1, 30.0)
        for loss in LOSSES
        for given in (None, weights)
    ]

    def search(one: dict[str, Any]) -> SelectionPath:
        return greedy_path(X, y, 12, n_runners_up=2, **one)

    with in_loop(loop), ThreadPoolExecutor(4) as threads:
        one_by_one = [search(one) for one in options]
        together = list(threads.map(search, options))
    for path, other in zip(together, one_by_one, strict=True):
        assert path.indices.tolist() == other.indices.tolist()
        assert path.losses.tolist() == other.losses.tolist()
        assert path.runners_up == other.runners_up


@pytest.mark.parametrize("loop", LOOPS)
def test_more_runners_up_than_candidates(loop: str) -> None:
    X, y = two_classes(40, 30)
    case = Case(X, y, 29, {"excluded_features": [4]})
    path, answers = compiled_path(case, loop, n_runners_up=60)
    assert n_taken(answers) == 29
    assert [len(step.runners_up) for step in path.steps] == [*range(28, -1, -1)]
    assert_same_path(path, numpy_path(case, n_runners_up=60), case)
    _, answers = compiled_path(case, loop, n_runners_up=65)
    assert not answers
