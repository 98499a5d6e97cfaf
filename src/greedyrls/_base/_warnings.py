"""The categories of our own warnings, by which the command line knows what to show."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


class GreedyRLSWarning(UserWarning):
    """Something about the data or the request that the user should know."""


class NumericalWarning(GreedyRLSWarning, RuntimeWarning):
    """Rounding has ended the search."""


class _Silence:
    """Filters of warnings are those of the process: changed once for all threads that ask."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders = 0
        self._before = warnings.catch_warnings()

    def change(self, holders: int) -> None:
        """One more thread asks for silence, or one less."""
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
    """Where searches in outer folds end early, their losses say so."""
    _SILENCE.change(1)
    try:
        yield
    finally:
        _SILENCE.change(-1)
