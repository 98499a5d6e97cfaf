"""Searches are generators of steps; progress, callbacks, stops and interrupts consume them."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence

import numpy as np

from ._choice import Criterion, NumericalLimit, State
from ._direction import Direction
from ._steps import Step


def replay(state: State, indices: Sequence[int], forced: bool) -> Iterator[Step]:
    """Add known features in their order, without a search."""
    for place, index in enumerate(indices):
        began = time.perf_counter()
        later = indices[place + 1 :]

        def ranking(count: int, later: Sequence[int] = later) -> Sequence[int]:
            return later[:count]

        with _rounding_is_no_news():
            state.add(index, state.measure(index), ranking, len(later) + 1)
        yield _step(state, index, (), forced, began)


def forward(
    state: State, criterion: Criterion, n_features: int, n_runners_up: int = 0
) -> Iterator[Step]:
    """Add the best feature until there are n_features."""
    while state.size < n_features:
        began = time.perf_counter()
        remaining = n_features - state.size
        with _rounding_is_no_news():
            choice = criterion.choose(state, n_runners_up, remaining)
            state.add(choice.feature, choice.pivot, choice.ranking, remaining)
        runners_up = tuple(
            (index, state.mean_loss(loss))
            for index, loss in choice.runners_up
            if math.isfinite(loss)
        )
        yield _step(state, choice.feature, runners_up, False, began)


def moves(
    direction: Direction, state: State, criterion: Criterion, n_features: int, n_runners_up: int = 0
) -> Iterator[Step]:
    """The steps of a search that goes some way."""
    if direction.name != "forward":
        raise ValueError(f"direction={direction.name!r} is not there yet.")
    return forward(state, criterion, n_features, n_runners_up)


def _rounding_is_no_news() -> np.errstate:
    """A leverage of 1 up to rounding divides by 0; its loss is then seen not to be finite."""
    return np.errstate(divide="ignore", invalid="ignore", over="ignore")


def _step(
    state: State,
    index: int,
    runners_up: tuple[tuple[int, float], ...],
    forced: bool,
    began: float,
) -> Step:
    loss, error = state.loss, state.standard_error
    if not math.isfinite(loss) or math.isinf(error):
        raise NumericalLimit(f"the loss with feature {index} is not finite")
    folds = state.fold_losses
    return Step(
        index,
        loss,
        error,
        runners_up,
        forced,
        time.perf_counter() - began,
        fold_losses=() if folds is None else tuple(folds.tolist()),
    )
