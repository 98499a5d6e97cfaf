"""Threads of BLAS: one while calls are short, as many as the user allows for long ones.

A step of a search is some hundred calls of a few microseconds each. Several threads of BLAS wait
for each other by spinning: on an idle machine that gains nothing, and beside any other process it
loses whole time slices (200,000 × 30 took 18 times as long with two threads as with one). A pass
over large data is one long call and does gain.

The limit is that of the whole process, so it is set once for each public call (`limits_threads`),
however many of them run at the same time, and lifted around long calls (`long_call`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

from threadpoolctl import ThreadpoolController

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

# Multiplications of a call from which on it gains by threads: some 50 ms with one.
_LONG = 1 << 28


@cache
def _controller() -> ThreadpoolController:
    """The BLAS libraries of NumPy and SciPy, which are loaded by now."""
    import scipy.linalg  # noqa: F401

    return ThreadpoolController()


class _Limit:
    """The limit of one thread, held by any number of calls at the same time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders = 0
        self._long_calls = 0
        self._limiter: Any = None

    def hold(self) -> None:
        """One more call that wants a single thread."""
        with self._lock:
            self._holders += 1
            self._set()

    def release(self) -> None:
        """One call less."""
        with self._lock:
            self._holders -= 1
            self._set()

    def lift(self, change: int) -> None:
        """A long call begins (1) or ends (−1)."""
        with self._lock:
            self._long_calls += change
            self._set()

    def _set(self) -> None:
        # With several public calls at a time the cores are busy: long calls get one thread, too.
        is_wanted = self._holders > 1 or (self._holders == 1 and not self._long_calls)
        if is_wanted and self._limiter is None:
            self._limiter = _controller().limit(limits=1, user_api="blas")
        elif not is_wanted and self._limiter is not None:
            self._limiter.restore_original_limits()
            self._limiter = None


_LIMIT = _Limit()
_IN_PUBLIC_CALL = threading.local()


@contextmanager
def short_calls() -> Iterator[None]:
    """One thread of BLAS, unless a call around this one has seen to it already."""
    if getattr(_IN_PUBLIC_CALL, "yes", False):
        yield
        return
    _IN_PUBLIC_CALL.yes = True
    _LIMIT.hold()
    try:
        yield
    finally:
        _LIMIT.release()
        _IN_PUBLIC_CALL.yes = False


def limits_threads(call: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """A public function or method whose calls of BLAS are short, but for those marked as long."""

    @wraps(call)
    def limited(*args: Parameters.args, **options: Parameters.kwargs) -> Result:
        with short_calls():
            return call(*args, **options)

    return limited


@contextmanager
def long_call(multiplications: float) -> Iterator[None]:
    """As many threads as the user allows, if so many multiplications are worth it."""
    if multiplications < _LONG:
        yield
        return
    _LIMIT.lift(1)
    try:
        yield
    finally:
        _LIMIT.lift(-1)
