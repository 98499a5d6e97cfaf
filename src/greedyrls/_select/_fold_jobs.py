"""The searches of an outer fold as jobs for threads or processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from .._base import Float, Part, without_runtime_warnings
from .._problem import Loss
from .._search import Limits
from ..path import Step
from ._outer_fold import OuterFold, Searched


class FoldJob(NamedTuple):
    """Searches of some penalties in a fold, to a size or to their end."""

    alphas: Float
    rows: Sequence[int]  # of the penalties to search
    limits: Limits
    until: int | None
    done: Mapping[int, tuple[Step, ...]]  # steps of earlier rounds, by row
    measure: Loss | None

    def apart(self, make: Callable[[], OuterFold]) -> list[Searched]:
        """Run all searches, in a process that has no fold yet."""
        with without_runtime_warnings():
            return list(map(self._search_in(make()), self.rows))

    def inside(self, fold: OuterFold, is_spread: bool) -> Iterator[Searched | Part[Searched]]:
        """Run the first search or all; other threads may run the rest, if it `is_spread`."""
        search, rows = self._search_in(fold), self.rows
        if is_spread and fold.is_compiled:
            # The first search makes what the others share.
            yield from map(search, rows[:1])
            rows = rows[1:]
            if fold.has_columns_in_memory:
                yield from (Part(partial(search, row)) for row in rows)
                return
        yield from map(search, rows)

    def _search_in(self, fold: OuterFold) -> Callable[[int], Searched]:
        """Return a function that searches with the penalty of a row."""
        searches = fold.searches(self.alphas, self.limits, self.done)
        size = self.limits.size if self.until is None else self.until
        return lambda row: fold.searched(searches, row, size, self.until, self.measure)
