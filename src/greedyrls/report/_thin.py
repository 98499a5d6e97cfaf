"""Which sizes are shown if all of them would be too many for one file."""

from __future__ import annotations

from collections.abc import Iterable

# The first sizes are always shown: losses change most among them.
_FIRST = 20
# At most about this many sizes are listed.
_LISTED = 400


def thinned(count: int, keep: Iterable[int], most: int) -> tuple[list[int], int]:
    """Return numbers from 1 to `count`, about `most` of them, and the step between them.

    The first ones, the last and those to keep are always included.

    >>> thinned(6, [3], 10)
    ([1, 2, 3, 4, 5, 6], 1)
    >>> numbers, step = thinned(1000, [333], 100)
    >>> numbers[18:23], 333 in numbers, numbers[-1], step, len(numbers)
    ([19, 20, 30, 40, 50], True, 1000, 10, 119)
    """
    step = next(step for step in _steps() if count <= step * most)
    return _numbers(count, keep, step), step


def shown_sizes(count: int, chosen: int) -> list[int]:
    """Return the sizes that are listed: all, unless they are too many."""
    return thinned(count, [chosen], _LISTED)[0]


def thinned_models(count: int, keep: Iterable[int], outputs: int, most: int) -> list[int]:
    """Return sizes whose models have about `most` coefficients in all, (size × outputs) each.

    >>> thinned_models(4, [2], 1, 10)
    [1, 2, 3, 4]
    >>> len(thinned_models(500, [123], 1, 50_000))
    117
    """
    kept = list(keep)
    for step in _steps():
        sizes = _numbers(count, kept, step)
        if step >= count or outputs * sum(sizes) <= most:
            break
    return sizes


def _steps() -> Iterable[int]:
    power = 1
    while True:
        yield from (power, 2 * power, 5 * power)
        power *= 10


def _numbers(count: int, keep: Iterable[int], step: int) -> list[int]:
    numbers = {*range(1, min(count, _FIRST) + 1), *range(step, count + 1, step), count, *keep}
    return sorted(number for number in numbers if 1 <= number <= count)
