"""BLAS has one thread within a public call, more for long calls, and afterwards what it had."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from greedyrls import GreedyRLSClassifier, GreedyRLSRegressor, extend_path, greedy_path
from greedyrls.assess import cross_validate_path
from traps import Traps
from tuning import Tune


def blas_threads() -> set[int]:
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def three_threads() -> Any:
    """A number that nothing else would set."""
    with threadpool_limits(3, user_api="blas"):
        if blas_threads() != {3}:
            pytest.skip("BLAS here has a fixed number of threads")
        yield
        assert blas_threads() == {3}


def data(m: int = 60, n: int = 12) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((m, n))
    return X, X[:, 0] - X[:, 3] + rng.standard_normal(m)


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "greedy_path": lambda X, y: greedy_path(X, y, 3),
    "folds": lambda X, y: greedy_path(X, y, 3, cv=4),
    "nested": lambda X, y: greedy_path(X, y, 3, alpha=[0.1, 10.0]),
    "extend_path": lambda X, y: extend_path(greedy_path(X, y, 2), X, y, 4),
    "regressor": lambda X, y: GreedyRLSRegressor(3, alpha=1.0).fit(X, y),
    "classifier": lambda X, y: GreedyRLSClassifier(3, alpha=1.0).fit(X, y > 0),
    "assess": lambda X, y: cross_validate_path(X, y, 2, cv=3, alpha=1.0),
}


@pytest.mark.parametrize("name", CALLS)
def test_one_thread_within_a_public_call(name: str, traps: Traps) -> None:
    seen: set[int] = set()

    def look(add: Any, *given: Any, **more: Any) -> Any:
        seen.update(blas_threads())
        return add(*given, **more)

    point = "add feature to folds" if name == "folds" else "add feature"
    traps.around(point, look)
    CALLS[name](*data())
    assert seen == {1}


def test_a_long_pass_has_all_threads(tune: Tune, traps: Traps) -> None:
    tune(long_call=1)
    seen: dict[str, set[int]] = {"multiply block by columns": set(), "add feature": set()}
    for point, threads in seen.items():

        def look(call: Any, *given: Any, threads: set[int] = threads, **more: Any) -> Any:
            threads.update(blas_threads())
            return call(*given, **more)

        traps.around(point, look)
    greedy_path(*data(), 5, search="bounded")
    assert seen == {"multiply block by columns": {3}, "add feature": {1}}


def test_errors_and_interrupts_leave_what_was_there() -> None:
    X, y = data()

    def stop(step: Any) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        greedy_path(X, y, 3, callback=stop)
    assert blas_threads() == {3}


def test_a_call_in_another_thread_ends_before_this_one() -> None:
    X, y = data()
    seen = []

    def callback(step: Any) -> None:
        other = threading.Thread(target=greedy_path, args=(X, y, 2))
        other.start()
        other.join()
        seen.append(blas_threads())

    greedy_path(X, y, 3, callback=callback)
    assert seen == [{1}] * 3
