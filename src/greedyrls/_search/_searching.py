"""Searches are generators of steps; progress, callbacks, stops and interrupts consume them."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence

import numpy as np

from .._criteria import (
    Choice,
    Criterion,
    HasSelection,
    Model,
    NumericalLimit,
    State,
    open_candidates,
)
from .._problem import BUDGET_ROUNDING, Problem
from .._steppers import CompiledSearch, Stop, check_digits, stepping_for
from ..path import Action, Step

# Columns that are likely to follow those of a group.
_LIKELY = 64


def replay_together(
    state: State, entries: Sequence[tuple[int, ...]], forced: bool
) -> Iterator[Step]:
    """Add entries in their order, without a search; an entry may have several features."""
    later = [index for entry in entries for index in entry]
    for entry in entries:
        began = time.perf_counter()
        if forced and float(state.barred[entry[0]]) > 0.0:
            # It is no candidate, but it is not excluded either, so that it is spanned.
            raise ValueError(
                f"The forced centre {entry[0]} adds nothing: its kernel function is a combination "
                "of those of the centres forced before it, up to rounding. Leave it out."
            )
        with ignore_rounding():
            add_together(state, entry, later[len(entry) :], len(later))
        later = later[len(entry) :]
        yield step_of(state, entry, (), forced, began)


def add_together(
    state: State, features: Sequence[int], later: Sequence[int], remaining: int
) -> None:
    """Add several features one after the other as one step of a search.

    `later` are likely to follow; `remaining` is the number still to be added, including these.
    """
    for position, index in enumerate(features):
        likely = [*features[position + 1 :], *later]

        def ranking(count: int, likely: list[int] = likely) -> list[int]:
            return likely[:count]

        state.add(index, state.measure(index), ranking, max(1, remaining - position))


def forward(
    state: State,
    criterion: Criterion,
    n_features: int,
    n_runners_up: int = 0,
    has_stepper: bool = True,
    is_in_doubt: bool = False,
) -> Iterator[Step]:
    """Add the best feature (or group) until there are n_features, or the budget is spent.

    Where there is a stepper, it takes the steps that it can; the first one is in doubt if compiled
    code has left it to the criterion.
    """
    stepping = stepping_for(state, criterion, n_runners_up) if has_stepper else None
    if stepping is not None and is_in_doubt:
        stepping.pause(1)
    while (count := n_entries(state)) < n_features and affords_more(state):
        began, feature = time.perf_counter(), None
        if stepping is not None:
            with ignore_rounding():
                feature = stepping.step(n_features)
        if feature is None:
            step = add_best(state, criterion, n_features - count, n_runners_up)
            if stepping is not None:
                stepping.check()
            yield step
        else:
            assert stepping is not None
            runners_up = runners_up_of(state, stepping.runners_up)
            yield step_of(state, (feature,), runners_up, False, began)


def compiled_steps(search: CompiledSearch, size: int) -> Iterator[Step]:
    """Yield the steps of a search in C, to a size or until the general engine is needed."""
    while len(search.indices) < size:
        began = time.perf_counter()
        with ignore_rounding():
            batch = search.take(size, size)
            if isinstance(batch, Stop):
                check_digits(batch)
                return
            losses, errors, others = search.measured(batch)
        seconds = (time.perf_counter() - began) / len(losses)
        rows = batch.best.tolist(), losses.tolist(), errors.tolist(), others.tolist()
        for row in zip(*rows, strict=True):
            yield compiled_step(*row, seconds)


def compiled_step(
    best: list[int], loss: float, error: float, losses: list[float], seconds: float
) -> Step:
    """Return a step that C has taken, from the best candidates with their losses."""
    index = best[0]
    check_finite(index, loss, error)
    runners_up: tuple[tuple[int, float], ...] = ()
    if len(best) > 1:
        others = zip(best[1:], losses[1:], strict=True)
        runners_up = tuple(pair for pair in others if pair[0] >= 0 and math.isfinite(pair[1]))
    return Step(index, loss, error, runners_up, False, seconds, features=(index,))


def n_entries(state: HasSelection) -> int:
    """How many features, or groups of them, are chosen."""
    layout, selected = state.layout, state.selected
    return len(selected) if layout.is_single else len(layout.entries(selected))


def affords_more(state: State) -> bool:
    """Whether the budget, if there is one, pays for another candidate; others are barred."""
    costs, left = state.layout.costs, left_of_budget(state.problem, state.selected)
    if costs is None or left == math.inf:
        return True
    open_candidates(state, costs > left)
    return bool((state.barred < 0.0).any())


def left_of_budget(problem: Problem, features: Sequence[int]) -> float:
    """What is left of the budget after some features are paid for."""
    if problem.budget is None or problem.costs is None:
        return math.inf
    spent = math.fsum(problem.costs[list(features)].tolist())
    return problem.budget * (1.0 + BUDGET_ROUNDING) - spent


def costs_at_most(problem: Problem, features: Sequence[int]) -> bool:
    """Whether the budget, if there is one, pays for some features."""
    return left_of_budget(problem, features) >= 0.0


def add_best(state: State, criterion: Criterion, count: int, n_runners_up: int) -> Step:
    """Add the best candidate; `count` of them are likely to be added yet, this one included."""
    began = time.perf_counter()
    with ignore_rounding():
        remaining = n_columns(state, count)
        choice = criterion.choose(state, n_runners_up, remaining)
        features = add_choice(state, choice, remaining)
    return step_of(state, features, runners_up_of(state, choice.runners_up), False, began)


def n_columns(state: State, count: int) -> int:
    """How many columns that many candidates have, roughly."""
    if state.layout.is_single:
        return count
    widths = state.layout.widths(state.candidates)
    return math.ceil(min(count, len(widths)) * float(widths.mean()))


def add_choice(state: State, choice: Choice, remaining: int) -> tuple[int, ...]:
    """Add a candidate that was chosen; its columns."""
    features = state.layout.members(choice.feature)
    if len(features) == 1:
        pivot = state.measure(choice.feature) if choice.pivot is None else choice.pivot
        state.add(choice.feature, pivot, choice.ranking, remaining)
    else:
        likely = state.layout.entries(choice.ranking(_LIKELY))
        others = [first for first in likely if first != choice.feature]
        later = state.layout.columns(np.array(others, dtype=np.intp)).tolist()
        add_together(state, features, later, max(remaining, len(features)))
    return features


def runners_up_of(
    state: State, runners_up: tuple[tuple[int, float], ...]
) -> tuple[tuple[int, float], ...]:
    """Return runners-up with a finite loss, in the units of the state's loss."""
    return tuple(
        (index, state.mean_loss(loss)) for index, loss in runners_up if math.isfinite(loss)
    )


def ignore_rounding() -> np.errstate:
    """Silence warnings: a leverage of 1 divides by 0, and the infinite loss is handled later."""
    return np.errstate(divide="ignore", invalid="ignore", over="ignore")


def check_finite(index: int, loss: float, error: float) -> None:
    """Raise an error if the loss after a feature, or its standard error, is infinite."""
    if not math.isfinite(loss) or math.isinf(error):
        raise NumericalLimit(f"the loss after feature {index} is not finite")


def step_of(
    state: Model,
    features: tuple[int, ...],
    runners_up: tuple[tuple[int, float], ...],
    forced: bool,
    began: float,
    action: Action = "add",
) -> Step:
    """Return the step that led to the current state."""
    loss, error = state.loss, state.standard_error
    check_finite(features[0], loss, error)
    folds = state.fold_losses
    return Step(
        features[0],
        loss,
        error,
        runners_up,
        forced,
        time.perf_counter() - began,
        action,
        fold_losses=() if folds is None else tuple(folds.tolist()),
        features=features,
    )
