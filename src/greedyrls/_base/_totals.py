"""Answers of blocks of rows, added up field by field."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from ._tolerances import TINY

Answer = TypeVar("Answer", bound=tuple[Any, ...])


# What is not a sum.
_EXTREMES: dict[str, Callable[[float, float], float]] = {
    "largest_d": max,
    "smallest_d": min,
    "largest_weight": max,
}


# Weighted means; the answer's `weight` is what each counts.
_MEANS = {"target_means"}


def _plus(one: Answer, other: Answer) -> Answer:
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


def add_up(answers: Iterable[Answer]) -> Answer:
    """The answers of all blocks, added up as they come."""
    total: Answer | None = None
    for answer in answers:
        total = answer if total is None else _plus(total, answer)
    if total is None:
        raise ValueError("there are no blocks")
    return total
