"""Threads that take shares of a short call, a product of X with vectors: some columns each."""

from __future__ import annotations

import os
from _thread import allocate_lock, start_new_thread
from collections.abc import Callable
from queue import SimpleQueue

from ._blas import n_threads

# Columns of a share are a multiple of this: whole panels of compiled code. What a column gets does
# not depend on the columns beside it.
_ALIGNED = 24
# The fewest columns of a thread.
_LEAST = 192
# Calls of so many multiplications, about a quarter of a millisecond, gain from threads.
_SHARED_CALL = 1 << 24
# To read a number of X takes as long as so many multiplications.
_READ = 8


class _Job:
    """What a helper is to do, unless it was taken back before that."""

    def __init__(self, call: Callable[[], None]) -> None:
        self._call = call
        self._claim, self._done = allocate_lock(), allocate_lock()
        self._done.acquire()
        self._error: BaseException | None = None

    def run(self) -> None:
        """Do it, in the thread of a helper."""
        if not self._claim.acquire(blocking=False):
            return
        try:
            self._call()
        except BaseException as error:  # raised in the thread that waits
            self._error = error
        finally:
            self._done.release()

    def finish(self) -> None:
        """Take it back, or wait for its end: on a busy machine it may not have begun."""
        if self._claim.acquire(blocking=False):
            return
        self._done.acquire()
        if self._error is not None:
            raise self._error


class _Helpers:
    """Threads that wait for jobs; a forked process has none and starts its own."""

    def __init__(self) -> None:
        self._forget()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        self._lock = allocate_lock()
        self._jobs: SimpleQueue[_Job] = SimpleQueue()
        self._count = 0

    def give(self, jobs: list[_Job]) -> None:
        """Let as many helpers as there are jobs begin."""
        with self._lock:
            while self._count < len(jobs):
                start_new_thread(self._work, (self._jobs,))
                self._count += 1
        for job in jobs:
            self._jobs.put(job)

    @staticmethod
    def _work(jobs: SimpleQueue[_Job]) -> None:
        while True:
            jobs.get().run()


_HELPERS = _Helpers()


def in_shares(call: Callable[[int, int], None], m: int, n: int, n_vectors: int) -> None:
    """Run `call(start, stop)` for all of n columns, in several threads if that takes less time.

    This thread takes its share, and those of helpers that a busy machine has not let begin. The
    call multiplies X (m × n) by some vectors.
    """
    is_long = m * n * (_READ + n_vectors) >= _SHARED_CALL
    count = min(n_threads(), n // _LEAST) if is_long else 1
    if count <= 1:
        call(0, n)
        return
    # Two for each thread, as one may be slower than the others.
    width = -(-n // (count * _ALIGNED)) * _ALIGNED
    starts = list(range(0, n, width))[::-1]

    def take() -> None:
        while starts:
            try:
                start = starts.pop()
            except IndexError:  # another thread took the last one
                return
            call(start, min(start + width, n))

    jobs = [_Job(take) for _ in range(count - 1)]
    _HELPERS.give(jobs)
    try:
        take()
    finally:
        starts.clear()
        for job in jobs:
            job.finish()
