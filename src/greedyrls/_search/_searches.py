"""Searches in any direction, for one penalty or several on the same data."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from .._base import Float, in_threads
from .._criteria import LooData
from .._steppers import CompiledSearch
from ..path import Counters, SelectionPath
from ._checkpoint import Checkpoint
from ._known_steps import NOTHING_KNOWN, KnownSteps
from ._paths import backward_path
from ._run import Search
from ._setup import UNWATCHED, Setup, compiled_search_of, takes_no_pass


def search_path(
    setup: Setup,
    alpha: float,
    first_pass: int = 0,
    began: float | None = None,
    log: KnownSteps = NOTHING_KNOWN,
) -> SelectionPath:
    """Search a path from the empty model; `first_pass` counts the passes that made the data.

    Steps stored in the log are replayed, not searched again.
    """
    began = time.perf_counter() if began is None else began
    if setup.plan.direction.name == "backward":
        return backward_path(setup, alpha, first_pass, began, log)
    return Search(setup, alpha, first_pass, began, log).path()


def search_paths(
    setup: Setup,
    alphas: Float,
    checkpoint: Checkpoint | None = None,
    n_before: int = 0,
    n_jobs: int = 1,
) -> Iterator[SelectionPath]:
    """Yield the paths of several penalties on the same data, in their order.

    `n_before` is the number of earlier searches on these data. Compiled searches that nobody
    watches run in `n_jobs` threads; with a checkpoint, to which every step is written, one by one.
    """
    rows, watch, logs = range(len(alphas)), setup.watch, {}
    if checkpoint is not None:
        logs = {row: checkpoint.search(n_before + row) for row in rows}
    searches = Searches(setup, alphas, n_before == 0, logs)
    if n_jobs > 1 and not logs and watch.callback is None and not watch.verbose:
        # The first search makes what the others share.
        yield from searches.paths(rows[:1])
        rows, data = rows[1:], setup.data
        is_forward = setup.plan.direction.name == "forward"
        if is_forward and isinstance(data, LooData) and takes_no_pass(data):
            jobs = [partial(_only_path, searches, row) for row in rows]
            yield from in_threads(jobs, min(n_jobs, max(1, len(jobs))))
            return
    yield from searches.paths(rows)


def _only_path(searches: Searches, row: int) -> SelectionPath:
    (path,) = searches.paths([row])
    return path


class Reached(NamedTuple):
    """A search in compiled code that has reached a size."""

    search: CompiledSearch
    spent: Counters  # since the last time


class Searches:
    """Searches that can pause at a size, all or some of them, and continue later."""

    def __init__(
        self,
        setup: Setup,
        alphas: Float,
        is_first: bool = True,
        logs: Mapping[int, KnownSteps] | None = None,
    ) -> None:
        self._setup, self.alphas = setup, alphas
        self._first_pass = int(is_first)  # the first path reports the pass that made the data
        self._logs = {} if logs is None else logs  # steps that are replayed
        self._searches: dict[int, Search] = {}
        self._compiled: dict[int, CompiledSearch | None] = {}  # None: the general engine is needed
        self._reported: dict[int, Counters] = {}

    def paths(self, rows: Sequence[int], size: int | None = None) -> Iterator[SelectionPath]:
        """Yield the paths of penalties, to a size or to their end, in the order of `rows`.

        After an interrupt only searches that had begun have paths.
        """
        for row in rows:
            path = self._path(row, size)
            self._first_pass = 0
            yield path
            if path.interrupted:
                return

    def _path(self, row: int, size: int | None) -> SelectionPath:
        if self._setup.plan.direction.name == "backward":
            return search_path(self._setup, float(self.alphas[row]), self._first_pass)
        if row not in self._searches:
            alpha, log = float(self.alphas[row]), self._logs.get(row, NOTHING_KNOWN)
            self._searches[row] = Search(self._setup, alpha, self._first_pass, log=log)
        return self._searches[row].path(size)

    def reach(self, row: int, size: int) -> Reached | None:
        """Search to a size in compiled code that is not followed; None if that is not possible.

        Then `paths` makes the same search with the general engine, which may take any step.
        """
        if row in self._searches or self._logs.get(row, NOTHING_KNOWN).stored.steps:
            return None
        if row not in self._compiled:
            self._compiled[row] = self._compiled_search(row)
        search, limits = self._compiled[row], self._setup.limits
        began, passes_before = time.perf_counter(), 0 if search is None else search.passes
        if search is None or not search.reach(min(size, limits.size), limits.size):
            self._compiled[row] = None
            return None
        seconds = self._reported.get(row, Counters()).seconds + time.perf_counter() - began
        first, self._first_pass = self._first_pass, 0
        passes = self._reported.get(row, Counters()).passes + first + search.passes - passes_before
        counters = Counters(passes, search.exact_evaluations, 0, seconds)
        return Reached(search, self.spent(row, counters))

    def _compiled_search(self, row: int) -> CompiledSearch | None:
        """Return the search of a penalty in compiled code, if it needs no pass over X."""
        setup = self._setup
        if setup.limits.patience is not None or setup.watch != UNWATCHED:
            return None
        search = compiled_search_of(setup, float(self.alphas[row]), is_followed=False)
        return search if search is None or search.rows.needs_no_pass else None

    def spent(self, row: int, counters: Counters) -> Counters:
        """Return the cost of a path since the last call for it."""
        before = self._reported.get(row, Counters())
        self._reported[row] = counters
        return counters - before
