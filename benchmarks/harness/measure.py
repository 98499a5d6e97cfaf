"""Times and memory: repeated calls that take turns, in this process or in processes of their own.

A busy machine is busy for all calls of a round alike, so ratios are taken within rounds.
"""

from __future__ import annotations

import gc
import multiprocessing
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from statistics import median
from typing import Any, TypeVar

from . import machine

T = TypeVar("T")

# Idle BLAS threads may spin for a while after their last task (OpenBLAS: a tenth of a second) and
# share the cores with what is timed next, which may use another BLAS (NumPy's and SciPy's differ)
# or be another process.
SETTLE_SECONDS = 0.2
FINISH_SECONDS = 30.0  # a process may have others to end, such as the workers of a cluster


def timed(call: Callable[[], T]) -> tuple[float, T]:
    """Seconds of a call, and its answer."""
    began = time.perf_counter()
    answer = call()
    return time.perf_counter() - began, answer


@dataclass(frozen=True, slots=True)
class Turns:
    """Seconds of every call by name, round by round, and the last answers."""

    seconds: dict[str, list[float]]
    answers: dict[str, Any]

    def median(self, name: str) -> float:
        """Median seconds of one call."""
        return median(self.seconds[name])

    def ratio(self, name: str, unit: str) -> float:
        """Median over rounds of the time of one call divided by that of another."""
        pairs = zip(self.seconds[name], self.seconds[unit], strict=True)
        return median(own / other for own, other in pairs)


def in_turns(calls: Mapping[str, Callable[[], Any]], rounds: int, repeat_first: int = 1) -> Turns:
    """Time calls that take turns.

    The first call is made `repeat_first` times in each round: more than once where it is so short
    that a single call would measure the moods of the machine.
    """
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    answers: dict[str, Any] = {}
    for _ in range(rounds):
        for number, (name, call) in enumerate(calls.items()):
            for _ in range(repeat_first if number == 0 else 1):
                time.sleep(SETTLE_SECONDS)
                spent, answers[name] = timed(call)
                seconds[name].append(spent)
    return Turns(seconds, answers)


def peak_of(call: Callable[[], T]) -> tuple[int | None, T]:
    """Highest memory during a call minus that before it, and the answer.

    None where the system cannot reset its peak.
    """
    gc.collect()
    can_reset = machine.reset_peak()
    before = machine.resident_bytes()
    answer = call()
    return (machine.peak_bytes() - before if can_reset else None), answer


class ProcessFailed(Exception):
    """A process raised, died or took too long."""


class Worker:
    """A process of its own that runs `serve(*arguments, connection)`, seen from outside."""

    def __init__(
        self, serve: Callable[..., None], *arguments: Any, timeout: float | None = None
    ) -> None:
        # Forked processes would have the libraries, threads and memory of this one.
        context = multiprocessing.get_context("spawn")
        self._timeout = timeout
        self._connection, theirs = context.Pipe()
        self._process = context.Process(
            target=_guarded, args=(serve, arguments, theirs), daemon=False
        )
        self._process.start()
        theirs.close()

    def ask(self, question: Any) -> Any:
        """Send a question and wait for the answer."""
        self._connection.send(question)
        return self.receive()

    def receive(self) -> Any:
        """Wait for an answer; raises ProcessFailed where there is none."""
        try:
            if self._timeout is not None and not self._connection.poll(self._timeout):
                raise ProcessFailed(f"stopped after {self._timeout:.0f} s")
            answer = self._connection.recv()
        except (EOFError, ConnectionError) as error:
            raise ProcessFailed("its process died, for want of memory perhaps") from error
        if isinstance(answer, ProcessFailed):
            raise answer
        return answer

    def finish(self) -> None:
        """Let the process end by itself, if it does soon: closing the connection ends its loop."""
        self._connection.close()
        self._process.join(FINISH_SECONDS)
        self.stop()

    def stop(self) -> None:
        """End the process at once; it holds nothing worth waiting for."""
        self._connection.close()
        self._process.terminate()
        self._process.join()


def in_a_process(function: Callable[..., T], *arguments: Any) -> T:
    """The answer of a function called in a process of its own."""
    worker = Worker(_answer, function, arguments)
    try:
        answer: T = worker.receive()
    finally:
        worker.finish()
    return answer


def _answer(function: Callable[..., Any], arguments: tuple[Any, ...], there: Connection) -> None:
    there.send(function(*arguments))


def _guarded(
    serve: Callable[..., None], arguments: tuple[Any, ...], connection: Connection
) -> None:
    """Serve until the other end closes the connection; a failure is sent as the answer."""
    try:
        serve(*arguments, connection)
    except (EOFError, KeyboardInterrupt):
        return
    except Exception as error:
        connection.send(ProcessFailed(f"{type(error).__name__}: {error}"))
