"""Backward search, which runs to its end."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace

from .._base import progress_bar
from .._criteria import NumericalLimit, backward_state
from .._problem import Problem
from ..path import Counters, FeatureSet, SelectionPath, Step, StopReason, best_sets
from ._directions import backward
from ._known_steps import KnownSteps
from ._run import Run, is_same_loss, settings_of
from ._searching import costs_at_most, n_entries
from ._setup import Setup


def backward_path(
    setup: Setup, alpha: float, first_pass: int, began: float, log: KnownSteps
) -> SelectionPath:
    """Search a path from all features down to one; the smallest sets come last.

    Steps that are stored in the log are made at once.
    """
    plan, problem, watch = setup.plan, setup.data.problem, setup.watch
    folds = plan.folds
    assert folds is None or folds.remote is None
    steps = list(log.stored.steps)
    protected = [entry[0] for entry in problem.forced_entries]
    try:
        state = backward_state(problem, plan.loss, folds, alpha)
        start = state.as_set()
        total = n_entries(state) - 1
        if steps:
            state.leave_out([index for step in steps for index in step.features])
            if not is_same_loss(steps[-1], state.loss, state.initial_loss):
                error = log.refusal(steps[-1], state.loss)
                assert error is not None
                raise error
        with closing(progress_bar(watch.verbose, total, len(steps))) as bar:
            for step in backward(state, watch.n_runners_up, protected):
                steps.append(step)
                bar.update(step.loss)
                if watch.callback is not None and Run.says_stop(watch.callback(step)):
                    raise ValueError(
                        "The callback asked to stop, but direction='backward' reaches small sets "
                        "only at its end. Raise an exception to abort it, or use "
                        "direction='forward'."
                    )
                log.record(steps, False)
    except KeyboardInterrupt:
        log.record(steps, False)
        raise
    except NumericalLimit as error:
        sentence = StopReason.NUMERICAL_LIMIT.sentence.split(";")[0]
        raise ValueError(
            f"{sentence}, with {problem.n_available - len(steps)} features: {error}. Use a larger "
            "alpha, or another direction."
        ) from error
    sets, reason = _affordable_sets(problem, steps, start, setup.limits.size)
    seconds = time.perf_counter() - began
    return SelectionPath(
        steps=tuple(steps),
        initial_loss=state.initial_loss,
        settings=settings_of(problem, plan, alpha),
        moments=state.moments(sets[-1].features),
        counters=Counters(
            first_pass + state.passes, state.exact_evaluations, state.rebuilds, seconds
        ),
        stop_reason=reason,
        sets=sets,
        start=start,
    )


def _affordable_sets(
    problem: Problem, steps: Sequence[Step], start: FeatureSet, size: int
) -> tuple[tuple[FeatureSet, ...], StopReason]:
    """Return the best sets up to a size that the budget pays for, and why there are not more."""
    forced = set(problem.forced)
    sets = tuple(
        replace(feature_set, forced=feature_set.features[-1] in forced)
        for feature_set in best_sets(steps, start, size)
    )
    reason = StopReason.REACHED
    affordable = tuple(known for known in sets if costs_at_most(problem, known.features))
    if len(affordable) < len(sets):
        sets, reason = affordable, StopReason.BUDGET
    if not sets:
        raise ValueError(
            f"No set that direction='backward' reached costs at most budget={problem.budget}. "
            "Raise the budget, or use direction='forward', which chooses by costs."
        )
    return sets, reason
