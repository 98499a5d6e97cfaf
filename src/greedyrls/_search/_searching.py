"""Searches are generators of steps; progress, callbacks, stops and interrupts consume them."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence

import numpy as np

from .._criteria import Choice, Criterion, Model, NumericalLimit, State
from .._steppers import stepping_for
from ..path import Action, Step


def replay(state: State, indices: Sequence[int], forced: bool) -> Iterator[Step]:
    """Add features in their order, without a search."""
    return replay_together(state, [(index,) for index in indices], forced)


def replay_together(
    state: State, entries: Sequence[tuple[int, ...]], forced: bool
) -> Iterator[Step]:
    """Add entries in their order, without a search; an entry may have several features."""
    later = [index for entry in entries for index in entry]
    for entry in entries:
        began = time.perf_counter()
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
    state: State, criterion: Criterion, n_features: int, n_runners_up: int = 0
) -> Iterator[Step]:
    """Add the best feature until there are n_features, as far as possible by a stepper."""
    stepping = stepping_for(state, criterion, n_runners_up)
    while state.size < n_features:
        began = time.perf_counter()
        feature = None
        if stepping is not None:
            with ignore_rounding():
                feature = stepping.step(n_features)
        if feature is None:
            yield add_best(state, criterion, n_features - state.size, n_runners_up)
        else:
            yield step_of(state, (feature,), (), False, began)


def add_best(state: State, criterion: Criterion, remaining: int, n_runners_up: int) -> Step:
    """Add the best feature; `remaining` is the number still to be added, including this one."""
    began = time.perf_counter()
    with ignore_rounding():
        choice = criterion.choose(state, n_runners_up, remaining)
        state.add(choice.feature, choice.pivot, choice.ranking, remaining)
    return step_of(state, (choice.feature,), runners_up_of(state, choice), False, began)


def runners_up_of(state: State, choice: Choice) -> tuple[tuple[int, float], ...]:
    """Return runners-up with a finite loss, in the units of the state's loss."""
    return tuple(
        (index, state.mean_loss(loss)) for index, loss in choice.runners_up if math.isfinite(loss)
    )


def ignore_rounding() -> np.errstate:
    """Silence warnings: a leverage of 1 divides by 0, and the infinite loss is handled later."""
    return np.errstate(divide="ignore", invalid="ignore", over="ignore")


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
    if not math.isfinite(loss) or math.isinf(error):
        raise NumericalLimit(f"the loss after feature {features[0]} is not finite")
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
