"""The searches of an outer fold as jobs for threads or processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from .._base import Float, Part, without_runtime_warnings
from .._problem import Loss
from .._search import Limits, Searches
from ..path import Counters, Step
from ._outer_fold import HeldOut, OuterFold


class Searched(NamedTuple):
    """The path of a penalty in a fold, and the losses of its models on the rows held out."""

    row: int
    size: int  # the number of steps
    steps: tuple[Step, ...]  # none of a search in compiled code
    held_out: HeldOut
    measured: Float | None  # (k) in another measure
    counters: Counters


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
            fold = make()
            return list(self._searched(fold, self._searches(fold), self.rows))

    def inside(self, fold: OuterFold, is_spread: bool) -> Iterator[Searched | Part[Searched]]:
        """Run the first search or all; other threads may run the rest, if it `is_spread`."""
        searches, rows = self._searches(fold), self.rows
        if is_spread and fold.is_compiled:
            # The first search makes what the others share.
            yield from self._searched(fold, searches, rows[:1])
            rows = rows[1:]
            if fold.has_columns_in_memory:
                yield from (Part(partial(self._single, fold, searches, row)) for row in rows)
                return
        yield from self._searched(fold, searches, rows)

    def _searches(self, fold: OuterFold) -> Searches:
        return fold.searches(self.alphas, self.limits, self.done)

    def _searched(
        self, fold: OuterFold, searches: Searches, rows: Sequence[int]
    ) -> Iterator[Searched]:
        size = self.limits.size if self.until is None else self.until
        for row in rows:
            tested = fold.tested(searches, row, size, self.measure)
            if tested is not None:
                held_out, measured, reached = tested
                yield Searched(row, size, (), held_out, measured, reached.spent)
                continue
            for _, path, counters in fold.paths(searches, [row], self.until):
                measured = None
                if self.measure is not None:
                    measured = fold.held_out(path, self.measure).losses
                steps, held_out = path.steps, fold.held_out(path)
                yield Searched(row, len(steps), steps, held_out, measured, counters)

    def _single(self, fold: OuterFold, searches: Searches, row: int) -> Searched:
        (one,) = self._searched(fold, searches, [row])
        return one
