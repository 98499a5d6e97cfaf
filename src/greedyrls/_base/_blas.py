"""BLAS threads: one for short calls, as many as the user allows for long ones.

A step of a search is some hundred calls of a few microseconds each. Several BLAS threads wait
for each other by spinning: on an idle machine this gains nothing, and beside any other process it
loses whole time slices (200,000 × 30 took 18 times as long with two threads as with one). A pass
over large data is one long call, which is faster with several threads.

The limit applies to the whole process, so it is set once for each public call (`limits_threads`),
however many of them run concurrently, and lifted around long calls (`long_call`).
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

# Calls of at least this many multiplications gain from threads: about 50 ms with a single one.
LONG_CALL = 1 << 28


@cache
def _libraries() -> list[Any]:
    """Return controllers of the BLAS libraries that NumPy and SciPy have loaded."""
    import scipy.linalg  # noqa: F401

    found: list[Any] = ThreadpoolController().select(user_api="blas").lib_controllers
    return found


class _Limit:
    """A limit of one BLAS thread that several concurrent calls can hold."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders = 0
        self._long_calls = 0
        self._before: list[int] | None = None  # threads of each library, while there is a limit
        self._n_threads = 1  # as the user allows them

    def n_threads(self) -> int:
        """How many threads a call may use: one if several public calls keep the cores busy."""
        return self._n_threads if self._holders == 1 else 1

    def hold(self) -> None:
        """Register a call that wants a single thread."""
        with self._lock:
            self._holders += 1
            self._set()

    def release(self) -> None:
        """Unregister a call that wanted a single thread."""
        with self._lock:
            self._holders -= 1
            self._set()

    def lift(self, change: int) -> None:
        """Register the beginning (1) or the end (−1) of a long call."""
        with self._lock:
            self._long_calls += change
            self._set()

    def _set(self) -> None:
        # Concurrent public calls keep the cores busy: then long calls get one thread, too.
        is_wanted = self._holders > 1 or (self._holders == 1 and not self._long_calls)
        if is_wanted and self._before is None:
            self._before = [library.num_threads or 1 for library in _libraries()]
            self._n_threads = max(self._before, default=1)
            for library in _libraries():
                library.set_num_threads(1)
        elif not is_wanted and self._before is not None:
            for library, count in zip(_libraries(), self._before, strict=True):
                library.set_num_threads(count)
            self._before = None


_LIMIT = _Limit()
_IN_PUBLIC_CALL = threading.local()


@contextmanager
def short_calls() -> Iterator[None]:
    """Limit BLAS to one thread, unless an enclosing call has done so already."""
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


def n_threads() -> int:
    """How many threads a part of a public call may use."""
    return _LIMIT.n_threads()


def limits_threads(call: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Decorate a public function or method: limit BLAS to one thread except in `long_call`."""

    @wraps(call)
    def limited(*args: Parameters.args, **options: Parameters.kwargs) -> Result:
        with short_calls():
            return call(*args, **options)

    return limited


@contextmanager
def long_call(multiplications: float) -> Iterator[None]:
    """Allow all BLAS threads if the call has enough multiplications to gain from them."""
    if multiplications < LONG_CALL:
        yield
        return
    _LIMIT.lift(1)
    try:
        yield
    finally:
        _LIMIT.lift(-1)
