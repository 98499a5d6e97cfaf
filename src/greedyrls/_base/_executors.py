"""Executors, which call row blocks: in this thread, in several, or in other processes.

A question goes to every block, and the answers are added up in the order of the blocks, so that the
sum does not depend on which block answered first.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from threading import Lock
from typing import Any, Generic, TypeVar

from ._blas import short_calls
from ._tolerances import TINY

Answer = TypeVar("Answer")

# A block, or data of a block (such as z of some candidates), or a reference to either.
Handle = Any


@dataclass(frozen=True, slots=True)
class Question:
    """A function of a block with its arguments; data of the block are passed before these."""

    method: Callable[..., Any]
    arguments: tuple[Any, ...] = ()

    def __call__(self, block: Any, *parts: Any) -> Any:
        return self.method(block, *parts, *self.arguments)


def ask(method: Callable[..., Any], *arguments: Any) -> Question:
    """Return a question to a block: `ask(candidate_residuals, indices, beta)`."""
    return Question(method, arguments)


def in_threads(jobs: Sequence[Callable[[], Answer]], count: int) -> Iterator[Answer]:
    """Yield the results of jobs in order, running `count` at a time with one BLAS thread each.

    With `count=1` the jobs run in this thread. After an interrupt no further job is started.
    """
    if count == 1:
        yield from (job() for job in jobs)
        return

    def alone(job: Callable[[], Answer]) -> Answer:
        with short_calls():
            return job()

    pool = ThreadPoolExecutor(count, thread_name_prefix="greedyrls")
    try:
        yield from pool.map(alone, jobs)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


class CopiedLock:
    """A lock of this process: a copy of the object that has it gets another one."""

    def __init__(self) -> None:
        self._lock = Lock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *error: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type[CopiedLock], tuple[()]]:
        return CopiedLock, ()


@dataclass(frozen=True, slots=True)
class Part(Generic[Answer]):
    """The rest of a job, or a piece of it, that any thread may run."""

    call: Callable[[], Answer]

    def as_job(self) -> list[Answer | Part[Answer]]:
        """Return the answer, as a job that has no further parts."""
        return [self.call()]


# A job yields answers, then parts that can run at the same time.
Job = Callable[[], Iterable[Answer | Part[Answer]]]


def in_parts(jobs: Sequence[Job[Answer]], count: int) -> Iterator[tuple[int, Answer]]:
    """Yield (number of the job, answer) as answers come; `count` threads run jobs and their parts.

    Parts run before further jobs begin, so that few jobs have begun but not ended. With `count=1`
    everything runs in this thread, in order. After an error or interrupt nothing more is started.
    """
    if count == 1:
        for number, job in enumerate(jobs):
            for answer in job():
                yield number, answer.call() if isinstance(answer, Part) else answer
        return

    waiting = iter(enumerate(jobs))
    running: dict[Future[list[Answer | Part[Answer]]], int] = {}
    pool = ThreadPoolExecutor(count, thread_name_prefix="greedyrls")
    try:
        while True:
            while len(running) < count and (begun := next(waiting, None)) is not None:
                running[pool.submit(_listed, begun[1])] = begun[0]
            if not running:
                return
            ended = wait(running, return_when=FIRST_COMPLETED).done
            answers = [(running[one], answer) for one in ended for answer in one.result()]
            running = {one: number for one, number in running.items() if one not in ended}
            for number, answer in answers:
                if isinstance(answer, Part):
                    running[pool.submit(_listed, answer.as_job)] = number
            for number, answer in answers:
                if not isinstance(answer, Part):
                    yield number, answer
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def in_processes(
    jobs: Sequence[Callable[[], Iterable[Answer]]], count: int
) -> Iterator[tuple[int, Answer]]:
    """Yield (number of the job, answer) in order; jobs and answers are pickled."""
    from joblib import Parallel, delayed

    results = Parallel(n_jobs=count, return_as="generator")(delayed(_listed)(job) for job in jobs)
    for number, answers in enumerate(results):
        yield from ((number, answer) for answer in answers)


def _listed(job: Callable[[], Iterable[Answer]]) -> list[Answer]:
    with short_calls():
        return list(job())


Sums = TypeVar("Sums", bound=tuple[Any, ...])


# Fields of answers that are combined by a maximum or minimum instead of a sum.
_EXTREMES: dict[str, Callable[[float, float], float]] = {
    "largest_d": max,
    "smallest_d": min,
    "largest_weight": max,
}


# Fields that are weighted means; the weights are in the field `weight` of the answers.
_MEANS = {"target_means"}


def _plus(one: Sums, other: Sums) -> Sums:
    """Combine two answers into one."""
    names: tuple[str, ...] = getattr(one, "_fields", ())
    parts: list[Any] = []
    for name, a, b in zip(names, one, other, strict=True):
        if name in _EXTREMES:
            parts.append(_EXTREMES[name](a, b))
        elif name in _MEANS:
            first, second = (answer[names.index("weight")] for answer in (one, other))
            # In this form, the mean of two equal means is equal to the last bit.
            parts.append(a + (b - a) * (second / (first + second + TINY)))
        else:
            parts.append(a + b)
    return type(one)(*parts)


def add_up(answers: Iterable[Sums]) -> Sums:
    """Add up the answers of all blocks as they arrive."""
    total: Sums | None = None
    for answer in answers:
        total = answer if total is None else _plus(total, answer)
    if total is None:
        raise ValueError("there are no blocks")
    return total


class Executor(ABC):
    """Puts questions to all blocks; each of `parts` has an item for every block."""

    @abstractmethod
    def answers(self, question: Callable[..., Any], *parts: Sequence[Handle]) -> Iterable[Any]:
        """Return the answers in the order of the blocks."""

    def each(self, question: Callable[..., Any], *parts: Sequence[Handle]) -> list[Handle]:
        """Return references to the answers, which stay where the blocks are."""
        return list(self.answers(question, *parts))

    def total(self, question: Callable[..., Any], *parts: Sequence[Handle]) -> Any:
        """Return the sum of all answers, always added up in the same order."""
        return add_up(self.answers(question, *parts))

    def totals(
        self,
        first: Callable[..., Any],
        second: Callable[..., Any],
        *parts: Sequence[Handle],
    ) -> tuple[Any, Any]:
        """Return the totals of two questions; the second is passed the total of the first."""
        total = self.total(first, *parts)
        return total, self.total(second, *parts, [total] * len(parts[0]))


class SerialExecutor(Executor):
    """Calls one block after the other in this thread."""

    def answers(self, question: Callable[..., Any], *parts: Sequence[Handle]) -> Iterable[Any]:
        """Yield the answers in the order of the blocks, with one in memory at a time."""
        return (question(*items) for items in zip(*parts, strict=True))


class ThreadExecutor(Executor):
    """Calls blocks in several threads, since NumPy releases the interpreter lock."""

    def __init__(self, count: int) -> None:
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="greedyrls")

    def answers(self, question: Callable[..., Any], *parts: Sequence[Handle]) -> Iterable[Any]:
        """Return the answers in the order of the blocks."""
        return self._pool.map(question, *parts)
