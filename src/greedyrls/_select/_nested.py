"""Choice of the penalty of the search and of the size by held-out losses.

In each outer fold the selection is repeated on the training rows for every penalty, and the
models of all sizes predict the held-out rows. Gram columns are shared by all folds and penalties.

If the size is chosen, the held-out loss decides, and it has its minimum long before the search's
own loss. So all searches advance together in rounds, until they reach twice the size of the best
held-out loss plus ten. Penalties that have fallen far behind are dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .._base import (
    Float,
    Part,
    ask,
    in_parts,
    in_processes,
    progress_bar,
    to_host,
    without_runtime_warnings,
)
from .._cluster import LabelSums, Piece
from .._criteria import (
    Summed,
    Tests,
    covariance_of,
    flat,
    make_tests,
    stratum_scales,
    unflat,
    variances_of,
)
from .._problem import ClusterFolds, Folds, Loss, Problem
from .._search import Data, FoldLog, FoldRecord, Limits, Plan, check_loss
from ..path import (
    AlphaSurface,
    Counters,
    Pair,
    Step,
    best_pair,
    chosen_pair,
    fold_covariance,
    tie_of,
)
from ._fold_jobs import FoldJob
from ._joint import pair_at
from ._outer_fold import KeptData, OuterFold, Searched, tested_weights
from ._request import Request

# Searches end at so many times the size of the best held-out loss, and so many features more. On
# seven data sets, searches without this limit chose another size once in 21 times.
_FACTOR, _MORE = 2, 10
# A penalty is dropped if, at all sizes of the second half, its held-out loss exceeds the best by
# more than so many standard errors over folds.
_HOPELESS = 4.0
# Bytes that folds whose searches are kept between rounds may take together.
_LIVE_BYTES = 1 << 29


class Nested(NamedTuple):
    """The choice of penalty and size by outer folds."""

    surface: AlphaSurface
    pair: Pair  # the choice, and the pair it was compared with
    measured: Float | None  # (F × A × k) the held-out losses in another measure
    counters: Counters


class Task(NamedTuple):
    """The search to repeat in outer folds."""

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
        """Another loss, by which models are measured as well."""
        return self.request.rival

    @property
    def size(self) -> int | None:
        """The requested size; None if it is chosen by the rule."""
        return None if self.request.is_automatic else self.limits.size

    @property
    def goes_in_rounds(self) -> bool:
        """Whether searches run in rounds; only forward searches can pause."""
        return self.size is None and self.plan.direction.name == "forward"


def nested_surface(
    task: Task, alphas: Float, log: Callable[[int], FoldLog] | None = None, n_more: int = 0
) -> Nested:
    """Compute the held-out surface; the pair is chosen over all sizes by the rule, or at one size.

    While the best penalty is the first or last one, the next one beyond is tried, at most `n_more`
    times. `log` returns the records of the grid (0) and of each penalty beyond; recorded folds are
    not searched again.
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
        losses = _Losses(folds, stages, size)
        if task.goes_in_rounds and (wanted := _wanted(losses.best_size, limits)) > size:
            for stage in stages:
                stage.drop(losses)
            size = wanted
            continue
        nested = losses.choose()
        if len(stages) > n_more or (beyond := nested.surface.beyond) is None:
            return nested
        stages.append(_Stage(np.array([beyond]), None if log is None else log(len(stages))))


def _wanted(best: int, limits: Limits) -> int:
    """Return the size that searches must reach for the best size to be reliable."""
    return min(limits.size, max(limits.least, _FACTOR * best + _MORE))


class _Stage:
    """The records of a set of penalties in all outer folds so far."""

    def __init__(self, alphas: Float, log: FoldLog | None) -> None:
        self.alphas = alphas
        self.log = log
        self.records: dict[int, FoldRecord] = {}  # by fold
        self.rows = list(range(len(alphas)))  # penalties that are not dropped
        self.sums: dict[tuple[int, int], Summed] = {}  # for standard errors, by fold and row
        self.steps: dict[tuple[int, int], tuple[Step, ...]] = {}  # by fold and row, if noted
        self.sizes: dict[tuple[int, int], int] = {}  # by fold and row

    def drop(self, losses: _Losses) -> None:
        """Drop penalties that have fallen far behind."""
        self.rows = [row for row in self.rows if not losses.is_hopeless(float(self.alphas[row]))]

    def taken(self, fold: int, row: int) -> tuple[Step, ...]:
        """Return the steps of a penalty in a fold so far."""
        return self.steps.get((fold, row), ())

    def reaches(self, fold: int, size: int) -> bool:
        """Return whether a fold has losses up to a size."""
        return fold in self.records and self.records[fold].losses.shape[1] >= size


class _Folds:
    """The outer folds, with their searches as far as they fit into memory."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.shares = _shares(task)
        self.tests = _tests(task, self.shares)
        self.counters = Counters()
        self._kept: dict[int, OuterFold] = {}
        self._open: dict[int, OuterFold] = {}  # those at work

    def advance(self, stage: _Stage, size: int) -> None:
        """Continue the searches of all folds to a size."""
        task, numbers = self.task, range(self.task.outer.n_splits)
        before = task.data.passes
        total = len(numbers) * len(stage.rows)
        bar = progress_bar(task.request.options.verbose, total, what="nested")
        with closing(bar), without_runtime_warnings():
            for number in numbers:
                self._recall(stage, number)
            waiting = [number for number in numbers if not stage.reaches(number, size)]
            bar.advance(total - len(waiting) * len(stage.rows))
            found: dict[int, list[Searched]] = {number: [] for number in waiting}
            for position, one in self._answers(stage, waiting, size):
                number = waiting[position]
                found[number].append(one)
                bar.update(float(one.held_out.losses[-1]))
                if task.request.report is not None:
                    task.request.report(one.size - stage.sizes.get((number, one.row), 0))
                if len(found[number]) == len(stage.rows):
                    self._keep(stage, number, size, found.pop(number))
            for number in found:  # all penalties were dropped
                self._keep(stage, number, size, [])
        self.counters += Counters(passes=task.data.passes - before)

    def _answers(
        self, stage: _Stage, numbers: Sequence[int], size: int
    ) -> Iterator[tuple[int, Searched]]:
        """Run the searches of folds, in processes, threads or one after the other."""
        task, request = self.task, self.task.request
        jobs = {
            number: FoldJob(
                stage.alphas,
                stage.rows,
                task.limits,
                size if task.goes_in_rounds else None,
                {row: stage.taken(number, row) for row in stage.rows},
                task.measure,
            )
            for number in (numbers if stage.rows else ())
        }
        # With folds as the criterion a step is few and long calls: there threads are as fast.
        is_numpy = request.n_jobs > 1 and task.plan.folds is None
        if is_numpy and request.pays_processes(task.plan):
            made = {number: self._maker(number, None) for number in jobs}
            calls = [partial(job.apart, made[number]) for number, job in jobs.items()]
            return in_processes(calls, min(request.n_jobs, max(1, len(jobs))))
        n_searches = max(1, len(jobs) * len(stage.rows))
        parts = [partial(self._search, number, job) for number, job in jobs.items()]
        return in_parts(parts, min(request.n_jobs, n_searches))

    def _search(self, number: int, job: FoldJob) -> Iterator[Searched | Part[Searched]]:
        fold = self._open[number] = self._fold(number, len(job.alphas))
        return job.inside(fold, self.task.request.n_jobs > 1)

    def _recall(self, stage: _Stage, number: int) -> None:
        """Use the record of a fold in a checkpoint, if there is one."""
        if stage.log is not None and number not in stage.records:
            shape = (len(stage.alphas), self.n_strata)
            record = stage.log.stored(number, *shape, self.task.measure is not None)
            if record is not None:
                stage.records[number] = record
                width = 1 + record.losses.shape[1]
                for row, numbers in enumerate(() if record.parts is None else record.parts):
                    stage.sums[number, row] = unflat(numbers, width, self.n_strata)

    def _keep(self, stage: _Stage, number: int, size: int, found: list[Searched]) -> None:
        """Add the results of a fold, whose searches have all reached the size, to its record."""
        count = len(stage.alphas)
        record = _grown(stage.records.get(number), size, count, self.task.measure is not None)
        for one in sorted(found, key=lambda one: one.row):
            stage.steps[number, one.row] = one.steps
            stage.sizes[number, one.row] = one.size
            self.counters += one.counters
            record.losses[one.row, : len(one.held_out.losses)] = one.held_out.losses
            if one.measured is not None and record.measured is not None:
                record.measured[one.row, : len(one.measured)] = one.measured
            if one.held_out.part is not None:
                stage.sums[number, one.row] = one.held_out.part
            record = record._replace(initial_loss=one.held_out.initial_loss)
        stage.records[number] = record
        if stage.log is not None:
            if self.n_strata:
                parts = [flat(stage.sums[number, row], 1 + size) for row in range(count)]
                record = record._replace(parts=np.array(parts))
            stage.log.keep(number, record)
        if (fold := self._open.pop(number, None)) is not None:
            fold.forget()

    @property
    def n_strata(self) -> int:
        """The number of strata of the standard errors; 0 if the loss has none."""
        return 0 if self.tests is None else len(self.tests[0].scales)

    def _fold(self, number: int, n_searches: int) -> OuterFold:
        if number in self._kept:
            return self._kept[number]
        task = self.task
        fold = self._maker(number, task.request.kept)()
        by_folds = task.plan.folds is not None
        needed = _bytes_of(task.data.problem, n_searches, task.limits.capacity, by_folds)
        if task.goes_in_rounds and number < _LIVE_BYTES // needed:
            self._kept[number] = fold
        return fold

    def _maker(self, number: int, kept: KeptData | None) -> Callable[[], OuterFold]:
        """Return a function that makes a fold."""
        task, problem = self.task, self.task.data.problem
        tests = None if self.tests is None else self.tests[number]
        refit = task.request.refit
        return partial(OuterFold, problem, task.plan, task.outer, number, refit, tests, kept)


def _bytes_of(problem: Problem, n_searches: int, capacity: int, by_folds: bool) -> int:
    """Estimate the memory of a fold with its searches, in bytes.

    Those that go by folds may keep what the models of all folds leave of each candidate.
    """
    m, n = problem.X.shape
    numbers = n_searches * (n * (capacity + 8 + (m if by_folds else 0)) + 8 * m)
    if problem.X.is_in_memory:
        numbers += m * n
    return 8 * int(numbers)


def _grown(record: FoldRecord | None, size: int, count: int, is_measured: bool) -> FoldRecord:
    """Return a record of `count` penalties up to a size, with the numbers of the given one."""
    losses = np.full((count, size), np.nan)
    measured = np.full((count, size), np.nan) if is_measured else None
    if record is None:
        return FoldRecord(losses, measured, np.nan, None)
    size_before = record.losses.shape[1]
    losses[:, :size_before] = record.losses
    if measured is not None and record.measured is not None:
        measured[:, :size_before] = record.measured
    return FoldRecord(losses, measured, record.initial_loss, None)


def _shares(task: Task) -> Float:
    """Return the weight of each fold in the mean, (F)."""
    if task.outer.remote is not None:
        weights = task.outer.remote.weights
    else:
        problem = task.data.problem
        weights = np.array([tested_weights(problem, one).sum() for one in task.outer.splits])
    shares: Float = weights / weights.sum()
    return shares


def _tests(task: Task, shares: Float) -> list[Tests] | None:
    """Return the tests of each fold for standard errors; None if the loss has none."""
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
    # If folds are repeated, tests of the same sample are treated as equal. That is conservative,
    # and no row for each sample has to be kept.
    n_tests = sum(len(np.unique(tests.clusters)) for tests in design.of_folds)
    repeats = np.sqrt(n_tests / design.n_clusters)
    return [
        tests._replace(share=float(share), scales=repeats * tests.scales, is_closed=True)
        for tests, share in zip(design.of_folds, shares, strict=True)
    ]


class _Losses:
    """The held-out losses of all penalties up to a size."""

    def __init__(self, folds: _Folds, stages: Sequence[_Stage], size: int) -> None:
        self._folds, self._size = folds, size
        task, numbers = folds.task, range(folds.task.outer.n_splits)
        # The rows of all stages, in ascending order of the penalty.
        rows = [(stage, row) for stage in stages for row in range(len(stage.alphas))]
        self._rows = sorted(rows, key=lambda one: float(one[0].alphas[one[1]]))
        self._alphas = np.array([stage.alphas[row] for stage, row in self._rows])

        def table(losses: Callable[[FoldRecord], Any]) -> Float:
            """Return losses by fold, row and size, (F × A × k)."""
            of_folds = (
                [losses(stage.records[number])[row, :size] for stage, row in self._rows]
                for number in numbers
            )
            return np.array(list(of_folds))

        self.fold_losses = table(lambda record: record.losses)
        self.losses = np.einsum("f,fak->ak", folds.shares, self.fold_losses)
        records = stages[0].records
        self.initial_losses = np.array([records[number].initial_loss for number in numbers])
        self.initial_loss = float(folds.shares @ self.initial_losses)
        is_measured = task.measure is not None
        self.measured = table(lambda record: record.measured) if is_measured else None

    @property
    def best_size(self) -> int:
        """The size of the smallest loss; 0 if a model without features is as good."""
        pair = chosen_pair(self.losses, self.initial_loss, None, self._n_forced)
        assert pair is not None
        return pair.size

    @property
    def _n_forced(self) -> int:
        return self._folds.task.data.problem.n_forced

    def is_hopeless(self, alpha: float) -> bool:
        """Return whether a penalty has fallen so far behind that it will not be chosen."""
        row, shares = int(np.flatnonzero(self._alphas == alpha)[0]), self._folds.shares
        best_row, best_size = best_pair(self.losses, self._n_forced, self.initial_loss)
        if row == best_row or len(shares) < 2:
            return False
        recent = self.fold_losses[:, row, self._size // 2 :]
        differences = recent - self.fold_losses[:, best_row, best_size - 1, None]
        covariance = fold_covariance(differences.T, shares)
        assert covariance is not None
        errors = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
        tie = tie_of(self.losses[best_row, best_size - 1], self.initial_loss)
        is_behind = shares @ differences > np.maximum(_HOPELESS * errors, tie)
        return bool((is_behind | np.isnan(errors)).all())

    def covariance(self, row: int) -> Float | None:
        """Return the covariance (1 + k × 1 + k) of a row's losses, without features first."""
        n_strata, width = self._folds.n_strata, 1 + self._size
        if n_strata == 0:
            losses = self.fold_losses[:, row].T
            return fold_covariance(np.vstack([self.initial_losses, losses]), self._folds.shares)
        return covariance_of(self._parts(row, width))

    def _parts(self, row: int, width: int) -> list[Summed]:
        """Return the sums of all folds for a row."""
        stage, row_of_stage = self._rows[row]
        numbers = range(self._folds.task.outer.n_splits)
        return [stage.sums[number, row_of_stage].first(width) for number in numbers]

    def standard_errors(self, row: int) -> Float:
        """Return the standard errors of a row's losses, (k); NaN where they are undefined."""
        if self._folds.n_strata:
            variances = variances_of(self._parts(row, 1 + self._size))
        else:
            covariance = self.covariance(row)
            if covariance is None:
                return np.full(self._size, np.nan)
            variances = np.diagonal(covariance)
        errors: Float = np.sqrt(np.maximum(variances[1:], 0.0))
        return errors

    def choose(self) -> Nested:
        """Choose a pair of penalty and size; returns it with the surface."""
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
            row, size = pair_at(losses, task.size, self._n_forced, self.initial_loss)
            pair = Pair(row, size, size, np.nan)
        errors = np.array([self.standard_errors(row) for row in range(len(losses))])
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
