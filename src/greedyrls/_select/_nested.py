"""The penalty that selects, and the size: losses by penalty and size, honest or optimistic.

Nested: in each outer fold the selection is made again on the training rows for every penalty, and
the models of all sizes predict the held-out rows. Gram columns serve all folds and penalties.

Where the size is chosen, what decides is the held-out loss, and it turns long before the search's
own loss does. So all searches advance together, until the best held-out loss is old: at twice its
size plus ten. Penalties that have fallen far behind do not go on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from typing import NamedTuple

import numpy as np

from .._base import Float, ask, in_threads, progress_bar, to_host, without_runtime_warnings
from .._cluster import ClusterFolds, LabelSums, Piece
from .._criteria import Summed, Tests, covariance_of, flat, make_tests, stratum_scales, unflat
from .._problem import Folds, Loss, Problem
from .._search import Data, FoldLog, FoldRecord, Limits, Plan, check_loss
from ..path import (
    AlphaSurface,
    Counters,
    Pair,
    SelectionPath,
    Step,
    best_pair,
    chosen_pair,
    fold_covariance,
)
from ._outer_fold import OuterFold, tested_weights
from ._request import Request

# The best held-out loss is old at so many times its size and so many features more. On surfaces of
# seven data sets, searches that went on to the end chose another size once in 21 times.
_FACTOR, _MORE = 2, 10
# A penalty does not go on if, at all sizes of the second half, its held-out loss is above the best
# by more than so many standard errors over folds.
_HOPELESS = 4.0
# Folds whose searches are kept between rounds may have this many bytes together.
_LIVE_BYTES = 1 << 29


class Nested(NamedTuple):
    """What outer folds say of penalties and sizes."""

    surface: AlphaSurface
    pair: Pair  # the choice, and what it was compared with
    measured: Float | None  # (F × A × k) the held-out losses in another measure
    counters: Counters


class Task(NamedTuple):
    """What is searched for in outer folds."""

    request: Request
    plan: Plan  # of the request, or the same with another loss
    data: Data  # of all rows
    limits: Limits

    @property
    def outer(self) -> Folds | ClusterFolds:
        """The outer folds."""
        assert self.request.outer is not None
        return self.request.outer

    @property
    def measure(self) -> Loss | None:
        """Another loss, in which losses are returned as well."""
        return self.request.rival

    @property
    def size(self) -> int | None:
        """The size that is asked for; None if it is chosen by the rule."""
        return None if self.request.is_automatic else self.limits.size

    @property
    def goes_in_rounds(self) -> bool:
        """Whether searches can pause: only those that add one feature after the other."""
        return self.size is None and self.plan.direction.name == "forward"


def nested_surface(
    task: Task, alphas: Float, log: Callable[[int], FoldLog] | None = None, n_more: int = 0
) -> Nested:
    """The held-out surface; the pair is chosen on all sizes by the rule, or at one size.

    While the best penalty is the first or last one, the next one beyond is tried, `n_more` times at
    most. `log` has a record for the grid (0) and for each penalty beyond; what it knows is not
    searched for again.
    """
    check_loss(task.plan.loss, task.data.problem, task.outer)
    folds = _Folds(task)
    stages = [_Stage(alphas, None if log is None else log(0))]
    limits = task.limits
    size = limits.size
    if task.goes_in_rounds:
        size = _wanted(task.data.problem.n_forced, limits)
    while True:
        for stage in stages:
            folds.advance(stage, size)
        found = _Found.of(stages, folds, size)
        if task.goes_in_rounds and (wanted := _wanted(found.best_size, limits)) > size:
            for stage in stages:
                stage.drop(found)
            size = wanted
            continue
        nested = found.choose()
        if len(stages) > n_more or (beyond := nested.surface.beyond) is None:
            return nested
        stages.append(_Stage(np.array([beyond]), None if log is None else log(len(stages))))


def _wanted(best: int, limits: Limits) -> int:
    """How far searches must go for the best size to be trusted."""
    return min(limits.size, max(limits.least, _FACTOR * best + _MORE))


class _Stage:
    """Some penalties in all outer folds, as far as they have come."""

    def __init__(self, alphas: Float, log: FoldLog | None) -> None:
        self.alphas = alphas
        self.log = log
        self.records: dict[int, FoldRecord] = {}  # of each fold
        self.rows = list(range(len(alphas)))  # that go on
        self.steps: dict[tuple[int, int], tuple[Step, ...]] = {}  # by fold and row

    def drop(self, found: _Found) -> None:
        """Let penalties that have fallen far behind end here."""
        self.rows = [row for row in self.rows if not found.is_hopeless(float(self.alphas[row]))]

    def reaches(self, place: int, size: int) -> bool:
        """Whether a fold has come so far already."""
        return place in self.records and self.records[place].losses.shape[1] >= size


class _Searched(NamedTuple):
    """What the searches of a fold have found."""

    record: FoldRecord
    steps: dict[int, tuple[Step, ...]]  # by row
    counters: Counters


class _Folds:
    """The outer folds, with their searches as far as memory has room for them."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.shares = _shares(task)
        self.tests = _tests(task, self.shares)
        self.counters = Counters()
        self._live: dict[int, OuterFold] = {}
        self._n_threads = min(task.request.n_jobs, task.outer.n_splits)

    def advance(self, stage: _Stage, size: int) -> None:
        """Take the searches of all folds on to a size."""
        task, places = self.task, range(self.task.outer.n_splits)
        before = task.data.passes
        total = len(places) * len(stage.rows)
        bar = progress_bar(task.request.options.verbose, total, what="nested")
        with closing(bar), without_runtime_warnings():
            for place in places:
                self._recall(stage, place)
            waiting = [place for place in places if not stage.reaches(place, size)]
            for _ in range(total - len(waiting) * len(stage.rows)):
                bar.update(None)
            jobs = [partial(self._searched, stage, place, size) for place in waiting]
            # A fold at a time says how far it is; of several, each does when it has ended.
            is_alone = self._n_threads == 1
            told = bar.update if is_alone else None
            found = (job(told) for job in jobs) if is_alone else in_threads(jobs, self._n_threads)
            for place, (record, steps, counters) in zip(waiting, found, strict=True):
                for row, taken in steps.items():
                    stage.steps[place, row] = taken
                    if not is_alone:
                        bar.update(float(record.losses[row][: len(taken)][-1]))
                self.counters += counters
                stage.records[place] = record
                if stage.log is not None:
                    stage.log.keep(place, record)
        self.counters += Counters(passes=task.data.passes - before)

    def _recall(self, stage: _Stage, place: int) -> None:
        """What a checkpoint knows of a fold."""
        if stage.log is not None and place not in stage.records:
            shape = (len(stage.alphas), self.n_strata)
            known = stage.log.stored(place, *shape, self.task.measure is not None)
            if known is not None:
                stage.records[place] = known

    def _searched(
        self, stage: _Stage, place: int, size: int, told: Callable[[float], None] | None = None
    ) -> _Searched:
        """The searches of a fold to a size; `told` is called with the loss of each."""
        task = self.task
        shape = (len(stage.alphas), self.n_strata)
        grown = _grown(stage.records.get(place), size, shape, task.measure is not None)
        fold = self._fold(place, len(stage.alphas))
        done = {row: stage.steps.get((place, row), ()) for row in stage.rows}
        until = size if task.goes_in_rounds else None
        steps: dict[int, tuple[Step, ...]] = {}
        total = Counters()
        paths = fold.paths(stage.alphas, stage.rows, task.limits, until, done)
        for row, (path, counters) in zip(stage.rows, paths, strict=True):
            grown = self._with_path(grown, row, path, fold)
            steps[row] = path.steps
            total += counters
            if told is not None:
                told(float(grown.losses[row][: len(path)][-1]))
        fold.forget()
        return _Searched(grown, steps, total)

    @property
    def n_strata(self) -> int:
        """Of the losses' standard errors; 0 without any."""
        return 0 if self.tests is None else len(self.tests[0].scales)

    def _with_path(
        self, record: FoldRecord, row: int, path: SelectionPath, fold: OuterFold
    ) -> FoldRecord:
        """A record with what the models of a path come to on the rows held out."""
        found = fold.held_out(path)
        record.losses[row, : len(found.losses)] = found.losses
        if self.task.measure is not None and record.measured is not None:
            measured = fold.held_out(path, self.task.measure).losses
            record.measured[row, : len(measured)] = measured
        if record.parts is not None and found.part is not None:
            record.parts[row] = flat(found.part, 1 + record.losses.shape[1])
        return record._replace(initial_loss=found.initial_loss)

    def _fold(self, place: int, n_searches: int) -> OuterFold:
        if place in self._live:
            return self._live[place]
        task = self.task
        tests = None if self.tests is None else self.tests[place]
        problem = task.data.problem
        # Gram columns of all rows are shared by folds that come one after the other: who fetches
        # them first would depend on threads, and with it their last digits.
        whole = task.data if self._n_threads == 1 else None
        fold = OuterFold(problem, task.plan, whole, task.outer, place, task.request.refit, tests)
        room = _LIVE_BYTES // _bytes_of(problem, n_searches, task.limits.capacity)
        if task.goes_in_rounds and len(self._live) < room:
            self._live[place] = fold
        return fold


def _bytes_of(problem: Problem, n_searches: int, capacity: int) -> int:
    """About the memory of a fold with its searches."""
    m, n = problem.X.shape
    numbers = n_searches * (n * (capacity + 8) + 8 * m)
    if problem.X.is_in_memory:
        numbers += m * n
    return 8 * int(numbers)


def _grown(
    record: FoldRecord | None, size: int, shape: tuple[int, int], is_measured: bool
) -> FoldRecord:
    """A record with room for a size, and what is known already."""
    count, n_strata = shape
    losses = np.full((count, size), np.nan)
    measured = np.full((count, size), np.nan) if is_measured else None
    width = 1 + size
    empty = flat(Summed.unknown(width, n_strata), width)
    parts = np.tile(empty, (count, 1)) if n_strata else None
    if record is None:
        return FoldRecord(losses, measured, np.nan, parts)
    known = record.losses.shape[1]
    losses[:, :known] = record.losses
    if measured is not None and record.measured is not None:
        measured[:, :known] = record.measured
    if parts is not None and record.parts is not None:
        for row, numbers in enumerate(record.parts):
            parts[row] = flat(unflat(numbers, 1 + known, n_strata), width)
    return FoldRecord(losses, measured, record.initial_loss, parts)


def _shares(task: Task) -> Float:
    """What each fold counts in the mean, (F)."""
    if task.outer.remote is not None:
        weights = task.outer.remote.weights
    else:
        problem = task.data.problem
        weights = np.array([tested_weights(problem, one).sum() for one in task.outer.splits])
    shares: Float = weights / weights.sum()
    return shares


def _tests(task: Task, shares: Float) -> list[Tests] | None:
    """What standard errors must know of each fold; None where there are none of the loss."""
    loss, problem, outer = task.plan.loss, task.data.problem, task.outer
    if not loss.has_components:
        return None
    if outer.remote is not None:
        counts = np.array([outer.remote.counts.sum()])
        if loss.n_strata(problem.n_targets) > 1:
            remote = problem.X.remote
            assert remote is not None
            sums: LabelSums = remote.executor.total(ask(Piece.label_sums), remote.pieces)
            counts = sums.classes
        scales = stratum_scales(counts)
        nobody = np.empty(0, dtype=np.intp)
        return [Tests(float(share), nobody, scales, True) for share in shares]
    (Y,) = to_host(problem.Y)
    design = make_tests(loss, Y, problem.host_weights, outer.splits, task.request.outer_groups)
    assert design is not None
    # Where folds are repeated, tests of the same samples are taken for equal: that can only be too
    # cautious, and no row for each sample needs to be kept.
    n_tests = sum(len(np.unique(tests.clusters)) for tests in design.of_folds)
    repeats = np.sqrt(n_tests / design.n_clusters)
    return [
        tests._replace(share=float(share), scales=repeats * tests.scales, is_closed=True)
        for tests, share in zip(design.of_folds, shares, strict=True)
    ]


class _Found:
    """The losses of all penalties up to a size."""

    def __init__(
        self, folds: _Folds, alphas: Float, records: list[list[FoldRecord]], size: int
    ) -> None:
        self._folds = folds
        self._size = size
        task = folds.task
        losses = [[record.losses[:, :size] for record in of_stage] for of_stage in records]
        order = np.argsort(alphas, kind="stable")
        self._alphas = alphas[order]
        self.fold_losses = np.concatenate(losses, axis=1)[:, order]  # (F × A × k)
        self.losses = np.einsum("f,fak->ak", folds.shares, self.fold_losses)
        self.initial_losses = np.array([record.initial_loss for record in records[0]])
        self.initial_loss = float(folds.shares @ self.initial_losses)
        self.measured: Float | None = None
        if task.measure is not None:
            parts = [[np.asarray(one.measured)[:, :size] for one in stage] for stage in records]
            self.measured = np.concatenate(parts, axis=1)[:, order]
        # Which stage, and which of its rows, each row is.
        rows = [
            (number, row) for number, one in enumerate(records) for row in range(len(one[0].losses))
        ]
        self._rows = [rows[place] for place in order]
        self._records = records

    @staticmethod
    def of(stages: Sequence[_Stage], folds: _Folds, size: int) -> _Found:
        """Those of all stages, in ascending order of the penalty."""
        places = range(folds.task.outer.n_splits)
        records = [[stage.records[place] for place in places] for stage in stages]
        return _Found(folds, np.concatenate([stage.alphas for stage in stages]), records, size)

    @property
    def best_size(self) -> int:
        """Of the smallest loss; 0 where no features at all do as well."""
        pair = chosen_pair(self.losses, self.initial_loss, None, self._n_forced)
        assert pair is not None
        return pair.size

    @property
    def _n_forced(self) -> int:
        return self._folds.task.data.problem.n_forced

    def is_hopeless(self, alpha: float) -> bool:
        """Whether a penalty has fallen so far behind that it will not win."""
        row, shares = int(np.flatnonzero(self._alphas == alpha)[0]), self._folds.shares
        best_row, best_size = best_pair(self.losses, self._n_forced)
        if row == best_row or len(shares) < 2:
            return False
        recent = self.fold_losses[:, row, self._size // 2 :]
        differences = recent - self.fold_losses[:, best_row, best_size - 1, None]
        covariance = fold_covariance(differences.T, shares)
        assert covariance is not None
        errors = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
        is_behind = shares @ differences > _HOPELESS * errors
        return bool((is_behind | np.isnan(errors)).all())

    def covariance(self, row: int) -> Float | None:
        """Of the losses of a row: without features and of all sizes, (1 + k × 1 + k)."""
        n_strata, width = self._folds.n_strata, 1 + self._size
        if n_strata == 0:
            losses = self.fold_losses[:, row].T
            return fold_covariance(np.vstack([self.initial_losses, losses]), self._folds.shares)
        stage, own = self._rows[row]
        parts = []
        for record in self._records[stage]:
            assert record.parts is not None
            known = unflat(record.parts[own], 1 + record.losses.shape[1], n_strata)
            parts.append(known.first(width))
        return covariance_of(parts)

    def choose(self) -> Nested:
        """The surface, and the pair chosen."""
        task, losses = self._folds.task, self.losses
        if task.size is None:
            rule = self.covariance if task.request.size_rule == "1se" else None
            pair = chosen_pair(losses, self.initial_loss, rule, self._n_forced)
            if pair is None:
                raise ValueError(
                    "size_rule='1se' needs standard errors, which are undefined for a single outer "
                    "fold with a callable loss; use size_rule='min', or other outer folds "
                    "(alpha_cv)."
                )
        else:
            row, size = pair_at(losses, task.size, self._n_forced)
            pair = Pair(row, size, size, np.nan)
        errors = np.full_like(losses, np.nan)
        for row in range(len(losses)):
            covariance = self.covariance(row)
            if covariance is not None:
                errors[row] = np.sqrt(np.maximum(np.diagonal(covariance)[1:], 0.0))
        surface = AlphaSurface(
            "nested",
            self._alphas,
            losses,
            errors,
            self.fold_losses,
            self._folds.shares,
            task.outer.description,
            float(self._alphas[pair.row]),
            pair.size,
            self.initial_losses,
        )
        return Nested(surface, pair, self.measured, self._folds.counters)


def pair_at(losses: Float, size: int | None, least: int) -> tuple[int, int]:
    """Row and size of the smallest loss, over all sizes or at one.

    Where every path ended before the size asked for, the last size that one reached counts.
    """
    if size is None:
        return best_pair(losses, least)
    reached = np.flatnonzero(np.isfinite(losses).any(axis=0))
    if len(reached) == 0:
        raise ValueError("No penalty gave a finite loss; use larger values of alpha.")
    last = min(size, int(reached[-1]) + 1)
    return best_pair(losses[:, :last], last)


def joint_surface(
    paths: Sequence[SelectionPath], length: int, size: int | None, least: int
) -> AlphaSurface:
    """The criterion's own losses along the path of each penalty."""
    alphas = np.array([path.settings.alpha for path in paths])
    losses = np.full((len(alphas), length), np.nan)
    errors = np.full((len(alphas), length), np.nan)
    for row, path in enumerate(paths):
        losses[row, : len(path)] = path.losses
        errors[row, : len(path)] = path.standard_errors
    row, chosen = pair_at(losses, size, least)
    return AlphaSurface("joint", alphas, losses, errors, None, None, "", float(alphas[row]), chosen)
