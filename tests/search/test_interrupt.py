"""Ctrl-C at any moment of a search keeps the steps made so far, and they are right."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import Ridge

from greedyrls import (
    GreedyRLSClassifier,
    GreedyRLSRegressor,
    SelectionPath,
    Step,
    StopReason,
    extend_path,
    greedy_path,
)
from internals import ENGINE_MODULES
from traps import Traps, interrupt, interrupted_at, trapped
from tuning import Tune

SIZE = 8
ALPHA = 0.5
POINTS = [
    "score candidates",
    "advance rows",
    "multiply columns",
    "ask for statistics",
    "solve for coefficients",
    "add to feature space",
    "take Gram columns",
]


def data(seed: int = 6, targets: tuple[int, ...] = ()) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 15))
    y = X[:, :6] @ rng.standard_normal((6, *targets)) + rng.standard_normal((60, *targets))
    return X, y


def run(X: Any, y: Any, size: int = SIZE, **options: Any) -> SelectionPath:
    # Several blocks, so that an interrupt may come between two of them.
    return greedy_path(X, y, size, alpha=ALPHA, block_rows=25, **options)


def assert_right_so_far(path: SelectionPath, X: Any, y: Any, full: SelectionPath) -> None:
    """A true beginning of the full path, with its models, that can be stored and extended."""
    k = len(path)
    assert 1 <= k <= len(full)
    assert path.interrupted
    assert path.stop_reason is StopReason.INTERRUPTED
    assert_array_equal(path.indices, full.indices[:k])
    assert_allclose(path.losses, full.losses[:k], rtol=1e-12)
    assert_allclose(path.standard_errors, full.standard_errors[:k], rtol=1e-9)
    for size in range(1, k + 1):
        columns = X[:, path.indices[:size]]
        model = Ridge(alpha=ALPHA).fit(columns, y)
        assert_allclose(path.coef(size), model.coef_, rtol=1e-9, atol=1e-12)
        assert_allclose(path.predict(X, size), model.predict(columns), rtol=1e-9, atol=1e-9)
    again = SelectionPath.from_json(path.to_json())
    assert again.interrupted
    extended = extend_path(again, X, y, len(full))
    assert_array_equal(extended.indices, full.indices)
    assert_allclose(extended.losses, full.losses, rtol=1e-12)
    assert not extended.interrupted


@pytest.fixture
def sigint() -> Iterator[None]:
    """Python's own handling of Ctrl-C, whatever the test runner has set."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("at", [1, 2, 5, SIZE])
@pytest.mark.parametrize("search", ["exhaustive", "bounded"])
def test_interrupt_in_the_callback(at: int, search: Any) -> None:
    X, y = data()
    seen: list[Step] = []

    def callback(step: Step) -> None:
        seen.append(step)
        if len(seen) == at:
            raise KeyboardInterrupt

    path = run(X, y, search=search, callback=callback)
    assert len(path) == at
    assert path.steps == tuple(seen)
    assert_right_so_far(path, X, y, run(X, y))


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("search", ["exhaustive", "bounded"])
def test_interrupt_inside_the_engine(point: str, search: Any, after: bool) -> None:
    X, y = data()
    full = run(X, y, search=search)
    with trapped() as traps:
        calls = traps.watch(point)
        run(X, y, search=search)
    sizes = []
    for n in range(1, len(calls) + 1):
        try:
            with interrupted_at(point, n, after=after):
                path = run(X, y, search=search)
        except KeyboardInterrupt:
            sizes.append(0)  # before the first step there is nothing to return
            continue
        sizes.append(len(path))
        assert_right_so_far(path, X, y, full)
    assert sizes == sorted(sizes)
    # Calls before the first step propagate, others do not.
    assert sizes[0] == 0
    assert sizes[-1] >= (SIZE - 1 if point != "multiply columns" else 0)


class _Tracer:
    """Raises KeyboardInterrupt at the n-th line that the engine executes after the first step."""

    def __init__(self, n: int) -> None:
        self._left = n
        self.lines = 0
        self._before = sys.gettrace()

    def start(self) -> None:
        sys.settrace(self._call)

    def stop(self) -> None:
        sys.settrace(self._before)

    def _call(self, frame: FrameType, event: str, arg: Any) -> Any:
        name = frame.f_globals.get("__name__", "")
        return self._line if name in ENGINE_MODULES else None

    def _line(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line":
            self.lines += 1
            if self.lines == self._left:
                raise KeyboardInterrupt
        return self._line


@pytest.mark.slow
@pytest.mark.parametrize(
    ("search", "rebuilding"), [("exhaustive", False), ("bounded", False), ("bounded", True)]
)
def test_interrupt_at_any_line_of_the_engine(search: Any, rebuilding: bool, tune: Tune) -> None:
    X, y = data()
    tune(rebuild_every_step=rebuilding)
    full = run(X, y, search=search)

    def traced(n: int) -> tuple[SelectionPath, int]:
        tracer = _Tracer(n)

        def callback(step: Step) -> None:
            # The last step ends the watch: what follows is no part of the search.
            if step.index == full.indices[-1]:
                tracer.stop()
            else:
                tracer.start()

        try:
            path = run(X, y, search=search, callback=callback)
        finally:
            tracer.stop()
        return path, tracer.lines

    whole, lines = traced(-1)
    assert not whole.interrupted
    assert bool(whole.counters.rebuilds) == rebuilding
    assert lines > 500
    for n in np.unique(np.linspace(1, lines, 40).astype(int)).tolist():
        path, _ = traced(n)
        assert len(path) < SIZE
        assert_right_so_far(path, X, y, full)


@pytest.mark.parametrize("where", ["callback", "engine"])
def test_a_real_signal(where: str, sigint: None) -> None:
    X, y = data()
    full = run(X, y)

    def send() -> None:
        signal.raise_signal(signal.SIGINT)

    if where == "callback":
        third = full.indices[2]
        path = run(X, y, callback=lambda step: send() if step.index == third else None)
    else:
        with trapped() as traps:
            traps.at("advance rows", 4, send)
            path = run(X, y)
    assert len(path) == 3
    assert_right_so_far(path, X, y, full)


def test_before_the_first_step_the_interrupt_is_the_callers() -> None:
    X, y = data()
    for point in ("start rows", "score candidates", "advance rows"):
        with interrupted_at(point, 1), pytest.raises(KeyboardInterrupt):
            run(X, y)


def test_interrupt_among_forced_features() -> None:
    X, y = data()
    with interrupted_at("advance rows", 3, after=True):
        path = run(X, y, forced_features=[14, 13, 12, 11])
    assert path.indices.tolist() == [14, 13]
    assert all(step.forced for step in path.steps)
    assert_right_so_far(path, X, y, run(X, y, forced_features=[14, 13]))


@pytest.mark.parametrize("targets", [(), (2,)])
def test_interrupt_while_extending(targets: tuple[int, ...]) -> None:
    X, y = data(targets=targets)
    full = run(X, y)
    short = full.truncated(3)
    before = short.to_json()
    for n, size in ((4, 3), (5, 4), (8, 7)):
        with interrupted_at("advance rows", n, after=True):
            path = extend_path(short, X, y, SIZE)
        assert len(path) == size
        assert_right_so_far(path, X, y, full)
    assert short.to_json() == before


def test_interrupt_while_the_known_part_is_made_again(traps: Traps) -> None:
    X, y = data()
    short = run(X, y, 3)
    before = short.to_json()
    traps.interrupt("advance rows", 2, after=True)
    with pytest.raises(KeyboardInterrupt):
        extend_path(short, X, y, SIZE)
    assert short.to_json() == before


def test_the_progress_bar_is_closed(capsys: pytest.CaptureFixture[str]) -> None:
    tqdm = pytest.importorskip("tqdm.auto").tqdm
    X, y = data()
    path = run(X, y, verbose=1, callback=lambda step: interrupt())
    assert len(path) == 1
    assert not list(getattr(tqdm, "_instances", ()))
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("n_features", [SIZE, 0.6])
def test_an_interrupted_fit_warns_and_is_a_model(n_features: Any) -> None:
    X, y = data()
    full = greedy_path(X, y, SIZE, alpha=ALPHA)
    model = GreedyRLSRegressor(n_features, alpha=ALPHA)
    with (
        interrupted_at("advance rows", 4, after=True),
        pytest.warns(
            UserWarning, match="interrupted; the model has 3 of the 3 features found so far"
        ),
    ):
        model.fit(X, y)
    assert model.path_.interrupted
    assert_array_equal(model.path_.indices, full.indices[:3])
    assert_array_equal(model.selected_, full.indices[:3])
    ridge = Ridge(alpha=ALPHA).fit(X[:, model.selected_], y)
    assert_allclose(model.predict(X), ridge.predict(X[:, model.selected_]), rtol=1e-9)
    assert model.transform(X).shape == (60, 3)
    model.fit(X, y)
    assert not model.path_.interrupted


def test_a_fit_interrupted_among_forced_features(traps: Traps) -> None:
    X, y = data()
    traps.interrupt("advance rows", 3, after=True)
    model = GreedyRLSClassifier(SIZE, alpha=1.0, forced_features=[14, 13, 12, 11])
    with pytest.warns(UserWarning, match="interrupted; the model has 2 of the 2 features"):
        model.fit(X, y > 0)
    assert model.selected_.tolist() == [14, 13]
    assert model.predict(X).dtype == bool


def test_without_a_size_there_is_no_model_to_keep() -> None:
    """Where outer folds are interrupted, nothing was chosen yet."""
    X, y = data()
    model = GreedyRLSRegressor(alpha=ALPHA)
    point = "search and test in an outer fold"
    with interrupted_at(point, 4, after=True), pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not hasattr(model, "coef_")


def test_a_fit_interrupted_before_the_first_step(traps: Traps) -> None:
    X, y = data()
    model = GreedyRLSRegressor(3, alpha=1.0)
    traps.interrupt("start rows", 1, after=True)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not hasattr(model, "coef_")
