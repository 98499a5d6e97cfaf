"""Who asks the row blocks: this thread, several, or whoever holds them.

A question goes to every block, and the answers are added up in the order of the blocks, so that the
sum does not depend on who was ready first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from ._blas import short_calls
from ._tolerances import TINY

Answer = TypeVar("Answer")

# A block, or something of a block (z of some candidates), or where it is kept.
Handle = Any


@dataclass(frozen=True, slots=True)
class Question:
    """A method of a block with its arguments; things of the block itself come before these."""

    method: Callable[..., Any]
    arguments: tuple[Any, ...] = ()

    def __call__(self, block: Any, *own: Any) -> Any:
        return self.method(block, *own, *self.arguments)


def ask(method: Callable[..., Any], *arguments: Any) -> Question:
    """A question to a block: `ask(RowBlock.residuals, indices, beta)`."""
    return Question(method, arguments)


def in_threads(jobs: Sequence[Callable[[], Answer]], count: int) -> Iterator[Answer]:
    """What some jobs answer, in their order, `count` of them at a time with one BLAS thread each.

    One at a time runs in this thread. After an interrupt no further job begins.
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


Sums = TypeVar("Sums", bound=tuple[Any, ...])


# What is not a sum.
_EXTREMES: dict[str, Callable[[float, float], float]] = {
    "largest_d": max,
    "smallest_d": min,
    "largest_weight": max,
}


# Weighted means; the answer's `weight` is what each counts.
_MEANS = {"target_means"}


def _plus(one: Sums, other: Sums) -> Sums:
    """Two answers as one."""
    names: tuple[str, ...] = getattr(one, "_fields", ())
    parts: list[Any] = []
    for name, a, b in zip(names, one, other, strict=True):
        if name in _EXTREMES:
            parts.append(_EXTREMES[name](a, b))
        elif name in _MEANS:
            first, second = (answer[names.index("weight")] for answer in (one, other))
            # Equal means stay what they are, to the last bit.
            parts.append(a + (b - a) * (second / (first + second + TINY)))
        else:
            parts.append(a + b)
    return type(one)(*parts)


def add_up(answers: Iterable[Sums]) -> Sums:
    """The answers of all blocks, added up as they come."""
    total: Sums | None = None
    for answer in answers:
        total = answer if total is None else _plus(total, answer)
    if total is None:
        raise ValueError("there are no blocks")
    return total


class Executor(Protocol):
    """Puts questions to all blocks; each of `own` has something of every block."""

    def each(self, question: Callable[..., Any], *own: Sequence[Handle]) -> list[Handle]:
        """What each block answers, left where the block is."""

    def answers(self, question: Callable[..., Any], *own: Sequence[Handle]) -> Iterable[Any]:
        """What each block answers, in the order of the blocks."""

    def total(self, question: Callable[..., Any], *own: Sequence[Handle]) -> Any:
        """The answers of all blocks, added up in an order that is always the same."""


class SerialExecutor:
    """One block after the other, in this thread."""

    def each(self, question: Callable[..., Any], *own: Sequence[Handle]) -> list[Handle]:
        """What each block answers."""
        return [question(*things) for things in zip(*own, strict=True)]

    def answers(self, question: Callable[..., Any], *own: Sequence[Handle]) -> Iterable[Any]:
        """The same as they come: one answer in memory at a time."""
        return (question(*things) for things in zip(*own, strict=True))

    def total(self, question: Callable[..., Any], *own: Sequence[Handle]) -> Any:
        """The answers, added up."""
        return add_up(self.answers(question, *own))


class ThreadExecutor:
    """Blocks asked by several threads: NumPy lets go of the interpreter while it computes."""

    def __init__(self, count: int) -> None:
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="greedyrls")

    def each(self, question: Callable[..., Any], *own: Sequence[Handle]) -> list[Handle]:
        """What each block answers."""
        return list(self._pool.map(question, *own))

    def answers(self, question: Callable[..., Any], *own: Sequence[Handle]) -> Iterable[Any]:
        """The same."""
        return self._pool.map(question, *own)

    def total(self, question: Callable[..., Any], *own: Sequence[Handle]) -> Any:
        """The answers, added up in the order of the blocks."""
        return add_up(self.answers(question, *own))
