"""Run a search to its end, an early stop or an interrupt, and make a path from its steps."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np

from .._base import NumericalWarning, Progress, counted, progress_bar
from .._criteria import NumericalLimit, Spanned
from .._problem import Problem
from .._steppers import LostDigits
from ..path import (
    BestLosses,
    Counters,
    SelectionPath,
    Settings,
    Step,
    StopReason,
    best_sets,
    features_of,
)
from ._directions import exchanges, retreat, set_after
from ._engine import Engine, Searched
from ._known_steps import NOTHING_KNOWN, KnownSteps
from ._plan import AnyState, Data, Plan, has_compiled_steps
from ._searching import ignore_rounding, replay_together
from ._setup import Limits, Setup, Watch

# Recorded and replayed losses may differ by rounding only.
_SAME_LOSS = 1e-6


class Run:
    """The steps of a search so far; `consume` decides when it ends."""

    def __init__(
        self,
        limits: Limits,
        watch: Watch,
        done: tuple[Step, ...] = (),
        log: KnownSteps = NOTHING_KNOWN,
        adds_first: bool = False,
    ) -> None:
        self._limits = limits
        self._adds_first = adds_first  # features are exchanged after all were added
        self._callback = watch.callback
        self._verbose = watch.verbose
        self._log = log
        self.steps = list(done)
        self._best, self._n_seen, self._n_forced = BestLosses(), 0, 0
        # Whether the search may be repeated without compiled steps, which have other rounding.
        self.may_repeat: Callable[[], bool] = lambda: False
        self._n_reported = 0  # before that
        self.stop_reason = StopReason.REACHED

    def restart(self, done: Sequence[Step]) -> None:
        """Take all steps after those that are done again; what was reported is not repeated."""
        self._n_reported = len(self.steps)
        self.steps = list(done)
        self._best, self._n_seen, self._n_forced = BestLosses(), 0, 0

    def consume(
        self, steps: Iterator[Step], is_growing: bool = True, until: int | None = None
    ) -> None:
        """Run to the end, an early stop or an interrupt, or until there are `until` steps.

        The number of steps is unknown, unless `is_growing`: the search only adds features.
        """
        if not self._verbose:
            self._consume(steps, until, None)
            return
        total = self._limits.size if is_growing else None
        with closing(progress_bar(self._verbose, total, len(self.steps))) as bar:
            self._consume(steps, until, bar)

    def _consume(self, steps: Iterator[Step], until: int | None, bar: Progress | None) -> None:
        """Consume the steps, with a progress bar or without."""
        try:
            for step in steps:
                self.steps.append(step)
                if len(self.steps) <= self._n_reported:
                    continue
                if bar is not None:
                    bar.update(step.loss)
                if self._callback is not None and self.says_stop(self._callback(step)):
                    self.stop_reason = StopReason.CALLBACK
                    break
                # Only after the callback has returned: if the process is killed in between, the
                # callback is called again.
                self._record()
                if self.is_stale():
                    self.stop_reason = StopReason.NO_IMPROVEMENT
                    break
                if len(self.steps) == until:
                    break
        except KeyboardInterrupt:
            if not self.steps:
                raise
            self.stop_reason = StopReason.INTERRUPTED
        except NumericalLimit as error:
            if self.may_repeat():
                raise LostDigits from error
            self._reach_numerical_limit(error)
        except Spanned as error:
            if not self.steps:
                raise ValueError(
                    "The kernel of all candidates is 0 everywhere; use another kernel, or "
                    "other points."
                ) from error
            self.stop_reason = StopReason.SPANNED
        self._record()

    @property
    def is_out_of_budget(self) -> bool:
        """Whether the search ended because of the budget."""
        limits = self._limits
        ended = self.stop_reason is StopReason.REACHED
        return ended and (limits.by_budget or len(self.steps) < limits.size)

    def _record(self) -> None:
        self._log.record(self.steps, self.stop_reason is StopReason.CALLBACK)

    def is_stale(self) -> bool:
        """Return whether the losses have not improved for `patience` steps."""
        if self._limits.patience is None:
            return False
        for step in self.steps[self._n_seen :]:
            if self._adds_first and step.action == "remove":
                break  # exchanges, which come after the stop
            self._best.add(step)
            self._n_forced += step.forced
        self._n_seen = len(self.steps)
        return self._limits.is_stale(self._best.losses, self._n_forced)

    def exchange(self, steps: Iterator[Step]) -> None:
        """Run exchanges after a search that reached its end or stopped improving."""
        reason = self.stop_reason
        if reason in (StopReason.REACHED, StopReason.NO_IMPROVEMENT):
            self._limits = replace(self._limits, patience=None)
            self.consume(steps, is_growing=False)
            if self.stop_reason is StopReason.REACHED:
                self.stop_reason = reason

    def _reach_numerical_limit(self, error: NumericalLimit) -> None:
        """Keep the steps made so far, with a warning; without any, raise an error."""
        sentence = StopReason.NUMERICAL_LIMIT.sentence
        if not self.steps:
            raise ValueError(f"{sentence.split(';')[0]}: {error}. Use a larger alpha.") from error
        warnings.warn(
            f"{sentence} Asked for {counted(self._limits.size, 'feature')}, found "
            f"{len(best_sets(self.steps))}: {error}. "
            "Use a larger alpha, or ask for fewer features.",
            NumericalWarning,
            stacklevel=2,
        )
        self.stop_reason = StopReason.NUMERICAL_LIMIT

    @staticmethod
    def says_stop(answer: Any) -> bool:
        """Return whether a callback returned True, also NumPy's; other values are ignored."""
        return isinstance(answer, bool | np.bool_) and bool(answer)


class Search:
    """A search from the empty model that can pause at a size and continue from there."""

    def __init__(
        self,
        setup: Setup,
        alpha: float,
        first_pass: int = 0,
        began: float | None = None,
        log: KnownSteps = NOTHING_KNOWN,
    ) -> None:
        self._setup, self._alpha = setup, alpha
        self._began = time.perf_counter() if began is None else began
        done, stopped = log.stored
        self._engine = Engine(setup, alpha, is_new=not done)
        self._engine.spent += Counters(passes=first_pass)
        is_swap = setup.plan.direction.name == "swap"
        self._half: Step | None = None  # of an exchange
        if is_swap and not stopped and done and done[-1].action == "remove":
            *whole, half = done
            done, stopped = self._replayed(tuple(whole), stopped, log)
            if done:
                self._half, done = half, (*done, half)
        else:
            done, stopped = self._replayed(done, stopped, log)
        self._done = done
        self._run = Run(setup.limits, setup.watch, done, log, is_swap)
        if stopped:
            self._run.stop_reason = StopReason.CALLBACK
        elif self._run.is_stale():
            self._run.stop_reason = StopReason.NO_IMPROVEMENT
        self._steps = self._engine.steps(done)

    def _replayed(
        self, done: tuple[Step, ...], stopped: bool, log: KnownSteps
    ) -> tuple[tuple[Step, ...], bool]:
        """Replay recorded steps; returns those that could be replayed."""
        if not done:
            return done, stopped
        try:
            different = first_difference(self._engine.state, done, self._engine.initial_loss)
        except NumericalLimit:
            pass  # rounding may decide whether a step can still be computed
        else:
            if different is None:
                return done, stopped
            if (error := log.refusal(*different)) is not None:
                raise error
        self._engine.restart(self._engine.has_stepper)
        return (), False

    def path(self, size: int | None = None) -> SelectionPath:
        """Return the path to a size, or to the end; only a search that adds can pause."""
        try:
            return self._path(size)
        except LostDigits:
            self._repeat()
            return self._path(size)

    def _repeat(self) -> None:
        """Begin again with the general engine alone: losses have lost digits.

        From there on rounding might decide, and the answer would depend on whether steps are
        compiled. To let the general engine take over is not enough: its own rounding depends on how
        it came to a model.
        """
        self._engine.restart(has_stepper=False)
        self._done, _ = self._replayed(self._done, False, NOTHING_KNOWN)
        self._run.restart(self._done)
        self._steps = self._engine.steps(self._done)

    def _path(self, size: int | None) -> SelectionPath:
        plan, run, engine = self._setup.plan, self._run, self._engine
        # No reference to the search itself, which would be in a cycle with the run.
        data, has_stepper = self._setup.data, engine.has_stepper
        run.may_repeat = lambda: has_stepper and has_compiled_steps(data)
        is_open = run.stop_reason is StopReason.REACHED
        if is_open and (size is None or len(run.steps) < size):
            run.consume(self._steps, plan.direction.name in ("forward", "swap"), size)
        if plan.direction.name == "swap":
            run.exchange(engine.exchanges(self._half))
        problem, model, spent = self._setup.data.problem, engine.searched, engine.spent
        arguments = self._alpha, run, engine.initial_loss, self._began, spent
        return make_path(plan, problem, model, *arguments)


def exchange_path(
    plan: Plan, data: Data, path: SelectionPath, size: int, watch: Watch
) -> SelectionPath:
    """Improve the set of one size of a forward path by exchanges of single features."""
    began, alpha = time.perf_counter(), path.settings.alpha
    forced = data.problem.forced
    state, criterion = plan.search(data, alpha, size)
    state.keep_columns(path.indices.tolist())

    def steps() -> Iterator[Step]:
        state.move_to(path.features(size).tolist())  # may raise NumericalLimit
        yield from exchanges(state, criterion, watch.n_runners_up, forced)

    run = Run(Limits(size), watch, (*path.steps, *retreat(path.sets, size)))
    run.exchange(steps())
    is_whole = run.stop_reason is StopReason.REACHED
    reason = path.stop_reason if is_whole else run.stop_reason
    if len(run.steps) == len(path.steps) + len(path) - size:  # nothing was exchanged
        return replace(path, settings=settings_of(data.problem, plan, alpha), stop_reason=reason)
    arguments = alpha, run, path.initial_loss, began, path.counters
    longer = make_path(plan, data.problem, state, *arguments)
    longer = replace(longer, surface=path.surface, size_surface=path.size_surface)
    return replace(longer, stop_reason=reason)


def first_difference(
    state: AnyState, recorded: Sequence[Step], initial_loss: float
) -> tuple[Step, float] | None:
    """Replay recorded steps; returns the first whose loss differs, with the loss it has now.

    If features were removed, the state moves to the last set at once, and only its loss is known.
    """
    every = [index for step in recorded for index in step.features]
    # In one pass for all columns.
    state.problem.X.fetch(every)
    if any(step.action == "remove" for step in recorded):
        state.keep_columns(list(dict.fromkeys(every)))
        with ignore_rounding():
            state.move_to(set_after(recorded))
        losses = iter([state.loss])
        recorded = recorded[-1:]
    else:
        again = replay_together(state, [step.features for step in recorded], False)
        losses = (step.loss for step in again)
    for step, loss in zip(recorded, losses, strict=True):
        if not is_same_loss(step, loss, initial_loss):
            return step, loss
    return None


def is_same_loss(recorded: Step, loss: float, initial_loss: float) -> bool:
    """Return whether a replayed loss is that of the recorded step, up to rounding."""
    scale = max(abs(initial_loss), abs(recorded.loss))
    return abs(recorded.loss - loss) <= _SAME_LOSS * scale


def make_path(
    plan: Plan,
    problem: Problem,
    model: Searched,
    alpha: float,
    run: Run,
    initial_loss: float,
    began: float,
    spent: Counters,
) -> SelectionPath:
    """Make a path from the steps of a run; the model may have more features than these."""
    counters = Counters(
        model.passes, model.exact_evaluations, model.rebuilds, time.perf_counter() - began
    )
    reason = run.stop_reason
    sets = best_sets(run.steps)
    if reason is StopReason.REACHED and len(sets) == problem.n_available:
        reason = StopReason.EXHAUSTED
    elif problem.budget is not None and run.is_out_of_budget:
        reason = StopReason.BUDGET
    return SelectionPath(
        steps=tuple(run.steps),
        initial_loss=initial_loss,
        settings=settings_of(problem, plan, alpha),
        moments=model.moments().of(features_of(sets)),
        counters=spent + counters,
        stop_reason=reason,
        sets=sets,
    )


def settings_of(problem: Problem, plan: Plan, alpha: float) -> Settings:
    """Return the settings on which the result depends."""
    return Settings(
        alpha=alpha,
        fit_intercept=problem.fit_intercept,
        n_samples=problem.n_samples,
        n_features_in=problem.n_features,
        excluded_features=problem.excluded,
        feature_names_in=problem.feature_names,
        weighted=problem.is_weighted,
        single_target=problem.single_target,
        loss=plan.loss.name,
        cv=plan.cv,
        direction=plan.direction.name,
        backward_ratio=plan.direction.ratio,
        **grouping_settings(problem),
    )


def grouping_settings(problem: Problem) -> dict[str, Any]:
    """Return the settings of groups of several features, costs and the budget."""
    groups, names, costs = problem.groups, problem.group_names, problem.costs
    wide: list[tuple[tuple[int, ...], str]] = []
    if groups is not None and names is not None:
        wide = [pair for pair in zip(groups, names, strict=True) if len(pair[0]) > 1]
    return {
        "feature_groups": tuple(group for group, _ in wide) or None,
        "group_names": tuple(name for _, name in wide) or None,
        "feature_costs": None if costs is None else tuple(costs.tolist()),
        "budget": problem.budget,
    }
