"""Time libraries on one problem, each in a process of its own, taking turns.

Every process makes the same X, imports one library and then waits. The first calls are made one
after another; the later calls go round the processes, so that a busy machine is busy for all of
them alike. Around each call the process times X'v on its own X, the unit of the tables.
"""

from __future__ import annotations

import gc
import time
import warnings
from dataclasses import dataclass
from multiprocessing.connection import Connection
from statistics import median
from typing import Any

from harness import machine
from harness.measure import SETTLE_SECONDS, ProcessFailed, Worker
from harness.problems import PROBLEMS, Array, Problem
from libraries import Answer, load

GEMV_REPEATS = 3  # before each call and again after it
SECONDS_FOR_LATER_CALLS = 15.0
MOST_LATER_CALLS = 11
TOO_SLOW_TO_REPEAT = 60.0  # seconds of a first call after which there are no later ones


@dataclass(frozen=True, slots=True)
class Call:
    """One timed call."""

    seconds: float
    gemv_seconds: tuple[float, ...]
    peak_bytes: int  # highest memory during the call, less the memory before the first one
    answer: Answer
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Measurement:
    """All calls of one library on one problem."""

    first_seconds: float
    later_seconds: float | None  # the median; None where the first call was too slow to repeat
    later_calls: int
    gemv_seconds: float  # the median
    ratio_to_k_gemv: float
    peak_bytes: int  # highest memory during a call, less the memory before the first call
    peak_over_X: float  # the same in sizes of X
    answer: Answer
    thread_pools: list[dict[str, Any]]
    note: str

    @property
    def seconds(self) -> float:
        """The time to compare by: later calls, or the only one."""
        return self.first_seconds if self.later_seconds is None else self.later_seconds


def measure(
    problem: Problem, libraries: list[str], timeout: float
) -> dict[str, Measurement | ProcessFailed]:
    """Measure the libraries on one problem, or say how they failed."""
    turns: dict[str, _Turns] = {}
    try:
        for library in libraries:
            turns[library] = _Turns(problem, library, timeout)
            turns[library].take()
        for round_number in range(MOST_LATER_CALLS):
            for turn in turns.values():
                if round_number < turn.later_calls():
                    turn.take()
    finally:
        for turn in turns.values():
            turn.stop()
    return {library: turn.result() for library, turn in turns.items()}


class _Turns:
    """The process of one library, seen from outside."""

    def __init__(self, problem: Problem, library: str, timeout: float) -> None:
        self._problem = problem
        self._worker = Worker(_serve, problem.name, library, timeout=timeout)
        self._calls: list[Call] = []
        self._thread_pools: list[dict[str, Any]] = []
        self._failure: ProcessFailed | None = None

    def take(self) -> None:
        """Have one call made and keep what it took."""
        if self._failure is not None:
            return
        try:
            if not self._calls:
                self._thread_pools = self._worker.receive()
            self._calls.append(self._worker.ask("call"))
        except ProcessFailed as failure:
            self._failure = failure
            self.stop()

    def later_calls(self) -> int:
        """How many later calls there is time for."""
        if self._failure is not None or self._calls[0].seconds > TOO_SLOW_TO_REPEAT:
            return 0
        wanted = SECONDS_FOR_LATER_CALLS / self._calls[0].seconds
        return int(min(max(wanted, 1), MOST_LATER_CALLS))

    def stop(self) -> None:
        """End the process."""
        self._worker.stop()

    def result(self) -> Measurement | ProcessFailed:
        """Sum up the calls."""
        if self._failure is not None:
            return self._failure
        first, *later = self._calls
        if any(call.answer.indices != first.answer.indices for call in later):
            return ProcessFailed("a later call gave another answer than the first")
        gemv = median(seconds for call in self._calls for seconds in call.gemv_seconds)
        later_seconds = median(call.seconds for call in later) if later else None
        seconds = first.seconds if later_seconds is None else later_seconds
        itemsize = 8 if self._problem.dtype == "float64" else 4
        bytes_of_X = self._problem.m * self._problem.n * itemsize
        peak = max(call.peak_bytes for call in self._calls)
        return Measurement(
            first_seconds=first.seconds,
            later_seconds=later_seconds,
            later_calls=len(later),
            gemv_seconds=gemv,
            ratio_to_k_gemv=seconds / (self._problem.k * gemv),
            peak_bytes=peak,
            peak_over_X=peak / bytes_of_X,
            answer=first.answer,
            thread_pools=self._thread_pools,
            note="; ".join(first.warnings),
        )


def _serve(problem_name: str, library_name: str, connection: Connection) -> None:
    """What the process of one library does: one timed call for each message."""
    X, y = PROBLEMS[problem_name].make()
    v = y.astype(X.dtype)
    _gemv_seconds(X, v)
    library = load(library_name)
    gc.collect()
    before = machine.resident_bytes()
    connection.send(machine.thread_pools())
    while connection.recv():
        gemv = _gemv_seconds(X, v)
        machine.reset_peak()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            time.sleep(SETTLE_SECONDS)
            start = time.perf_counter()
            answer = library.select(X, y, PROBLEMS[problem_name].k)
            seconds = time.perf_counter() - start
        peak = machine.peak_bytes() - before
        gemv += _gemv_seconds(X, v)
        kinds = tuple(sorted({warning.category.__name__ for warning in caught}))
        connection.send(Call(seconds, gemv, peak, answer, kinds))


def _gemv_seconds(X: Array, v: Array) -> tuple[float, ...]:
    """Times of X'v, the cheapest look at all of the data."""
    time.sleep(SETTLE_SECONDS)
    times = []
    for _ in range(GEMV_REPEATS):
        start = time.perf_counter()
        X.T.dot(v)
        times.append(time.perf_counter() - start)
    return tuple(times)
