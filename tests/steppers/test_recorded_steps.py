"""Steps whose bounds, candidates and recurrences are kernels, against the plain ones.

On a GPU where there is one, elsewhere in Triton's interpreter (conftest.py), where what is recorded
is simply done.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest

from greedyrls import extend_path, greedy_path
from internals import (
    DenseMatrix,
    DeviceMatrix,
    Float,
    LeaveOneOut,
    LooData,
    Problem,
    RecordedStepper,
    SelectionState,
    Stop,
    bound_terms,
    follow_spread,
    leverage_growth,
    lower_bounds,
    make_problem,
    numpy_of,
    replay_together,
    stepping_for,
)
from traps import Traps
from tuning import Tune

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("triton", reason="Triton is not installed")

HAS_GPU = torch.cuda.is_available()
_STEPS = 6
_ALIKE = ("rows", "L", "gram", "_inverse", "_overlap", "_weights", "_chosen")


class Done:
    """What `Replay` records, done at once."""

    def __init__(
        self, work: Any, inputs: Sequence[Any], is_loaded: bool = True, is_sent: bool = True
    ) -> None:
        self._work, self.inputs, self._is_sent = work, inputs, is_sent
        self.host_input = np.zeros(inputs[0].shape)

    def wait(self) -> None:
        """Nothing is under way."""

    def start(self) -> None:
        if self._is_sent:
            self.inputs[0].copy_(torch.from_numpy(self.host_input))
        self.outputs = self._work(*self.inputs)

    def run(self) -> Float:
        self.start()
        return numpy_of(self.outputs[0])


@pytest.fixture
def kernels(tune: Tune) -> None:
    """Have kernels on the processor, too."""
    tune(recorded_step_elements=0)
    if not HAS_GPU:
        tune(launched_steps=2, kernels_on_processor=True)
        tune(round_recorder=Done, step_recorder=Done)


def tensor(values: Any) -> Any:
    return torch.tensor(values, device="cuda" if HAS_GPU else "cpu")


def random_problem(m: int, n: int, dtype: str = "float64") -> tuple[Any, Any]:
    rng = np.random.default_rng(m + n)
    y = np.sign(rng.standard_normal(m))
    X = rng.standard_normal((m, n)) + 0.2 * y[:, None] * rng.standard_normal(n) + 0.3
    return X.astype(dtype), y


def states_of(
    m: int, n: int, with_anchor: bool, with_spread: bool, flies: bool
) -> tuple[Any, Any, list[int]]:
    """The same search, with kernels and on the host, some steps after its start.

    And the steps that were left to the device.
    """
    X, y = random_problem(m, n)
    found, taken = [], []
    for matrix, target in (
        (DeviceMatrix(tensor(X)), tensor(y[:, None])),
        (DenseMatrix(X), y[:, None]),
    ):
        problem = Problem(matrix, target, None, True, (), (), None, True)
        state = SelectionState(LooData(problem), 1.5, 8)
        state.features.spread = None
        if with_spread:
            follow_spread(state.features)
        criterion = LeaveOneOut("bounded")
        stepping = stepping_for(state, criterion, 0) if flies else None
        for step in range(_STEPS):
            if step == 2 and with_anchor:
                state.set_anchor([])
            last = 2 if step < 2 else _STEPS
            if stepping is not None and stepping.step(last) is not None:
                taken.append(step)
            else:
                choice = criterion.choose(state, 0, last - step)
                state.add(choice.feature, choice.pivot, choice.ranking, _STEPS)
            if stepping is not None and state.size == last:
                # Steps under way end before the anchor, and at the end.
                assert stepping.step(last) is None
        found.append(state)
    return found[0], found[1], taken


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize(
    ("m", "n", "flies", "with_anchor", "with_spread"),
    [
        (60, 40, True, False, True),
        (60, 40, True, True, False),
        (60, 40, False, True, True),
        (300, 1030, True, False, False),
    ],
)
def test_kernels_leave_the_same(
    m: int, n: int, flies: bool, with_anchor: bool, with_spread: bool
) -> None:
    there, here, taken = states_of(m, n, with_anchor, with_spread, flies)
    assert {0, 1} <= set(taken) if flies else not taken
    assert there.features.selected == here.features.selected
    assert here.samples.score_lowest(here.features, partial(bound_terms, here), 1) is None
    assert there.samples.exact_evaluations > 0
    for name in _ALIKE:
        values = numpy_of(getattr(there.features, name))
        np.testing.assert_allclose(values, getattr(here.features, name), rtol=1e-9, atol=1e-9)
    for values, others in zip(there.statistics, here.statistics, strict=True):
        np.testing.assert_allclose(values, others, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(numpy_of(there.barred), here.barred)
    for c in (1, 3, 8):
        # The lowest bounds, raised by what growing leverages add; scores teach what that is.
        bounds = lower_bounds(here) + leverage_growth(here, np.arange(n))
        order = np.argsort(bounds)
        lowest = there.samples.score_lowest(there.features, partial(bound_terms, there), c)
        np.testing.assert_array_equal(lowest.indices, order[:c])
        assert lowest.beyond == pytest.approx(bounds[order[c]], rel=1e-9)
        here.samples.forget()
        expected = here.score(order[:c])
        for values, others in zip(lowest.scores, expected, strict=True):
            np.testing.assert_allclose(values, others, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize(
    ("dtype", "options"),
    [("float32", {}), ("float64", {"fit_intercept": False}), ("float64", {"n_runners_up": 2})],
)
def test_same_path(dtype: str, options: dict[str, Any], traps: Traps) -> None:
    X, y = random_problem(90, 30, dtype)
    taken = traps.watch("note a step of the device")
    path = greedy_path(tensor(X), y, 8, search="bounded", **options)
    assert len(taken) >= (0 if "n_runners_up" in options else 3)
    other = greedy_path(X, y, 8, search="bounded", **options)
    np.testing.assert_array_equal(path.indices, other.indices)
    np.testing.assert_allclose(path.losses, other.losses, rtol=1e-9)
    longer = extend_path(path, tensor(X), y, 10)
    np.testing.assert_array_equal(longer.indices, extend_path(other, X, y, 10).indices)


@pytest.mark.slow
@pytest.mark.usefixtures("kernels")
def test_doubt_is_left_to_the_plain_step() -> None:
    # Equal columns tie, a constant one is no candidate, and a sum of two others nearly is none.
    X, y = random_problem(120, 20)
    X[:, 7] = X[:, 3]
    X[:, 8] = 1.0
    X[:, 9] = X[:, 1] + X[:, 2] + 1e-7 * X[:, 4]
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 120)
    options: dict[str, Any] = {"sample_weight": weights, "alpha": 1e-6, "search": "bounded"}
    path = greedy_path(tensor(X), y, 18, **options)
    other = greedy_path(X, y, 18, **options)
    np.testing.assert_array_equal(path.indices, other.indices)
    np.testing.assert_allclose(path.losses, other.losses, rtol=1e-9)


@pytest.mark.usefixtures("kernels")
def test_drift_rebuilds(tune: Tune) -> None:
    tune(rebuild_every_step=True)
    X, y = random_problem(100, 30)
    path = greedy_path(tensor(X), y, 8, search="bounded")
    assert path.counters.rebuilds == 8
    np.testing.assert_array_equal(path.indices, greedy_path(X, y, 8, search="bounded").indices)


@pytest.mark.usefixtures("kernels")
def test_scoring_every_candidate_begins_where_recorded_steps_end(tune: Tune, traps: Traps) -> None:
    X, y = random_problem(90, 30)
    tune(exhaustive_elements=90 * 23)  # from 7 features on
    taken = traps.watch("note a step of the device")
    path = greedy_path(tensor(X), y, 9)
    assert len(taken) >= 3
    other = greedy_path(X, y, 9)
    np.testing.assert_array_equal(path.indices, other.indices)
    np.testing.assert_allclose(path.losses, other.losses, rtol=1e-9)


@pytest.mark.usefixtures("kernels")
def test_a_tie_with_a_candidate_of_lower_bound_is_in_doubt() -> None:
    X, y = random_problem(60, 30)
    first, second, third = greedy_path(X, y, 3, search="bounded").indices.tolist()
    column, place = X[:, third].copy(), 0 if third else 1

    def with_twin(difference: Any) -> Any:
        """How much higher its bound and its loss are, relatively, with such a copy of a column."""
        X[:, place] = column + difference
        state = SelectionState(LooData(make_problem(X, y)), 1.0, 8)
        assert len(list(replay_together(state, [(first,), (second,)], False))) == 2
        both = np.array([third, place])
        known = np.array([lower_bounds(state)[both], state.score(both).losses[0]])
        return known[:, 1] / known[:, 0] - 1.0

    # The bound of the copy is lower, its loss higher by less than a tie.
    D = 1e-9 * np.random.default_rng(0).standard_normal((2, 60))
    slopes = np.array([with_twin(difference) for difference in D])
    bound, loss = with_twin(np.linalg.solve(slopes.T, [-2e-11, 1e-11]) @ D)
    assert bound < -1e-11
    assert 5e-12 < loss < 2e-11
    problem = Problem(DeviceMatrix(tensor(X)), tensor(y[:, None]), None, True, (), (), None, True)
    state = SelectionState(LooData(problem), 1.0, 8)
    criterion = LeaveOneOut("bounded")
    choice = criterion.choose(state, 0, 4)
    state.add(choice.feature, choice.pivot, choice.ranking, 4)
    stepper = RecordedStepper(state, criterion)
    assert stepper.begin(4) is None
    assert [stepper.step(4), stepper.step(4)] == [second, Stop.IN_DOUBT]


@pytest.mark.usefixtures("kernels")
def test_a_stepper_says_why_it_stops() -> None:
    X, y = random_problem(60, 30)
    first, second, third = greedy_path(X, y, 3, search="bounded").indices.tolist()
    X[:, third - 1 if third else 1] = X[:, third]  # a tie

    def stepper_after_a_step() -> tuple[Any, RecordedStepper]:
        problem = Problem(
            DeviceMatrix(tensor(X)), tensor(y[:, None]), None, True, (), (), None, True
        )
        state = SelectionState(LooData(problem), 1.0, 8)
        criterion = LeaveOneOut("bounded")
        stepper = RecordedStepper(state, criterion)
        assert stepper.begin(1) is None
        assert [stepper.step(1), stepper.step(1)] == [first, Stop.DONE]
        return state, stepper

    state, stepper = stepper_after_a_step()
    assert stepper.begin(1) is Stop.DONE
    assert stepper.begin(2) is None
    assert [stepper.step(2), stepper.step(2)] == [second, Stop.DONE]
    assert stepper.begin(4) is None
    assert stepper.step(4) is Stop.IN_DOUBT
    state, _ = stepper_after_a_step()
    state.gram.take(second, lambda count: [], 1)
    stepper = RecordedStepper(state, LeaveOneOut("bounded"))
    assert stepper.begin(4) is None
    assert stepper.step(4) == second  # after a pass that fetches its column
    for index in list(state.gram.waiting):
        state.gram.take(index, lambda count: [], 1)
    assert stepper.begin(4) is Stop.NEEDS_COLUMNS
