"""Searches for several penalties on the same data, in lockstep where possible."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence

from .._base import Float, native
from .._criteria import LanePath, LooData, LooLanes
from .._steppers import can_compile
from ..path import Counters, Moments, SelectionPath, Step, StopReason
from ._checkpoint import Checkpoint
from ._plan import Data, Plan
from ._run import UNWATCHED, Limits, Search, Watch, search_path, settings_of

# The most searches in lockstep: their feature spaces must fit beside X.
_LANES = 12
# With fewer elements of X a single search, which scores every candidate, is as fast.
_WORTH_LANES = 20_000


def search_paths(
    plan: Plan,
    data: Data,
    alphas: Float,
    limits: Limits,
    watch: Watch = UNWATCHED,
    checkpoint: Checkpoint | None = None,
    n_before: int = 0,
) -> Iterator[SelectionPath]:
    """Yield the paths of several penalties on the same data, in their order.

    With a checkpoint they run one by one, since every step is written. `n_before` is the number of
    earlier searches on these data.
    """
    if checkpoint is None:
        searches = Searches(plan, data, alphas, limits, watch, is_first=n_before == 0)
        yield from searches.paths(range(len(alphas)))
        return
    for number, alpha in enumerate(alphas.tolist(), n_before):
        log = checkpoint.search(number)
        path = search_path(plan, data, alpha, limits, watch, first_pass=int(number == 0), log=log)
        yield path
        if path.interrupted:
            return


class Searches:
    """Searches that can pause at a size, all or some of them, and continue later.

    They run in lockstep where possible; the results are the same.
    """

    def __init__(
        self,
        plan: Plan,
        data: Data,
        alphas: Float,
        limits: Limits,
        watch: Watch = UNWATCHED,
        is_first: bool = True,
        done: Mapping[int, tuple[Step, ...]] | None = None,
    ) -> None:
        self._plan, self._data, self._alphas = plan, data, alphas
        self._limits, self._watch = limits, watch
        self._first_pass = int(is_first)  # the first path reports the pass that made the data
        self._done = {} if done is None else done  # steps that are replayed
        self._alone: dict[int, Search] = {}
        self._reported: dict[int, Counters] = {}
        self._together: list[_Together] = []
        if isinstance(data, LooData) and _take_steps_together(plan, data, watch):
            for first in range(0, len(alphas), _LANES):
                rows = range(first, min(first + _LANES, len(alphas)))
                self._together.append(_Together(plan, data, alphas, limits, rows))

    def paths(self, rows: Sequence[int], size: int | None = None) -> Iterator[SelectionPath]:
        """Yield the paths of penalties, to a size or to their end, in the order of `rows`.

        After an interrupt only searches that had begun have paths.
        """
        parts: list[_Together | None] = [*self._together] or [None]
        for part in parts:
            rows_of_part = [row for row in rows if part is None or row in part.rows]
            lane_paths: dict[int, SelectionPath] = {}
            if part is not None and rows_of_part:
                lane_paths = part.paths(rows_of_part, size, self._first_pass)
            interrupted = any(path.interrupted for path in lane_paths.values())
            for row in rows_of_part:
                if row in lane_paths:
                    path = lane_paths[row]
                elif interrupted:
                    continue
                else:
                    path = self._path_alone(row, size)
                self._first_pass = 0
                yield path
                if path.interrupted and row not in lane_paths:
                    return
            if interrupted:
                return

    def _path_alone(self, row: int, size: int | None) -> SelectionPath:
        alpha = float(self._alphas[row])
        if self._plan.direction.name == "backward":
            return search_path(
                self._plan, self._data, alpha, self._limits, self._watch, self._first_pass
            )
        if row not in self._alone:
            self._alone[row] = Search(
                self._plan,
                self._data,
                alpha,
                self._limits,
                self._watch,
                self._first_pass,
                done=self._done.get(row, ()),
            )
        return self._alone[row].path(size)

    def spent(self, row: int, path: SelectionPath) -> Counters:
        """Return the cost of a path since the last call for it."""
        before = self._reported.get(row, Counters())
        self._reported[row] = path.counters
        return path.counters - before


class _Together:
    """Searches in lockstep, one lane for each penalty."""

    def __init__(
        self, plan: Plan, data: LooData, alphas: Float, limits: Limits, rows: range
    ) -> None:
        self.rows = rows
        self._plan, self._data = plan, data
        self._alphas = alphas[rows.start : rows.stop]
        self._lanes = LooLanes(data, self._alphas, limits.size, limits.is_stale)
        self._passes = 0
        self._began = time.perf_counter()

    def paths(
        self, rows: Sequence[int], size: int | None, first_pass: int
    ) -> dict[int, SelectionPath]:
        """Return the paths, by row, of searches that the lanes could finish."""
        before = self._data.passes
        first = self.rows.start
        self._lanes.run(size, [row - first for row in rows])
        self._passes += first_pass + self._data.passes - before
        lane_paths, passes = {}, self._passes
        for row in rows:
            lane = self._lanes.paths[row - first]
            if lane is not None:
                alpha = float(self._alphas[row - first])
                lane_paths[row] = _lane_path(
                    self._plan, self._data, alpha, lane, passes, self._began
                )
                passes = 0  # the first path reports the passes of all lanes
        return lane_paths


def _take_steps_together(plan: Plan, data: LooData, watch: Watch) -> bool:
    """Return whether these searches can run in lockstep, and are faster then."""
    return (
        plan.loss.name == "squared"
        and plan.folds is None
        and plan.direction.name == "forward"
        and data.problem.groups is None
        and data.problem.costs is None
        and plan.strategy == "auto"
        and plan.block_rows is None
        and plan.n_jobs == 1
        and not data.problem.forced
        and watch.n_runners_up == 0
        and watch.callback is None
        # Lanes read single columns of X in memory.
        and data.problem.X.is_in_memory
        and not data.problem.X.location.on_device
        and data.problem.n_samples * data.problem.n_features > _WORTH_LANES
        and not (native() is not None and can_compile(data, plan.loss))
    )


def _lane_path(
    plan: Plan, data: LooData, alpha: float, lane: LanePath, passes: int, began: float
) -> SelectionPath:
    """Make a path from the steps of a lane."""
    problem = data.problem
    chosen = [step.index for step in lane.steps]
    reason = StopReason.REACHED
    if lane.interrupted:
        reason = StopReason.INTERRUPTED
    elif lane.is_stale:
        reason = StopReason.NO_IMPROVEMENT
    elif len(chosen) == problem.n_available:
        reason = StopReason.EXHAUSTED
    return SelectionPath(
        steps=tuple(Step(step.index, step.loss, step.standard_error) for step in lane.steps),
        initial_loss=data.loss_and_error(data.statistics)[0],
        settings=settings_of(problem, plan, alpha),
        moments=Moments(
            tuple(chosen),
            lane.gram,
            data.start.correlation[:, chosen].T.copy(),
            data.start.means[chosen],
            data.start.target_means.copy(),
        ),
        counters=Counters(passes, lane.exact_evaluations, 0, time.perf_counter() - began),
        stop_reason=reason,
    )
