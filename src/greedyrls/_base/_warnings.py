"""Warning categories of this package, by which the command line decides what to show."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


class GreedyRLSWarning(UserWarning):
    """A warning about the data or the request."""


class NumericalWarning(GreedyRLSWarning, RuntimeWarning):
    """A warning that rounding errors ended the search."""


class _Silence:
    """Silences warnings while any thread asks for it, since filters belong to the process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders = 0
        self._before = warnings.catch_warnings()

    def change(self, holders: int) -> None:
        """Register (1) or unregister (−1) a thread that asks for silence."""
        with self._lock:
            was_silent = self._holders > 0
            self._holders += holders
            if self._holders and not was_silent:
                self._before = warnings.catch_warnings()
                self._before.__enter__()
                warnings.simplefilter("ignore", RuntimeWarning)
            elif was_silent and not self._holders:
                self._before.__exit__(None, None, None)


_SILENCE = _Silence()


@contextmanager
def without_runtime_warnings() -> Iterator[None]:
    """Suppress warnings of searches in outer folds, whose losses show that they ended early."""
    _SILENCE.change(1)
    try:
        yield
    finally:
        _SILENCE.change(-1)
