"""Searches are generators of steps; progress, callbacks, stops and interrupts consume them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from ._criterion import Criterion
from ._path import Step
from ._state import SelectionState


def replay(state: SelectionState, indices: Sequence[int], forced: bool) -> Iterator[Step]:
    """Add known features in their order, without a search."""
    for place, index in enumerate(indices):
        began = time.perf_counter()
        later = indices[place + 1 :]
        state.add(index, state.measure(index), lambda count: later[:count], len(later) + 1)  # noqa: B023
        yield _step(state, index, (), forced, began)


def forward(
    state: SelectionState, criterion: Criterion, n_features: int, n_runners_up: int = 0
) -> Iterator[Step]:
    """Add the best feature until there are n_features."""
    while state.size < n_features:
        began = time.perf_counter()
        remaining = n_features - state.size
        choice = criterion.choose(state, n_runners_up, remaining)
        runners_up = tuple((index, state.mean_loss(loss)) for index, loss in choice.runners_up)
        state.add(choice.feature, choice.pivot, choice.ranking, remaining)
        yield _step(state, choice.feature, runners_up, False, began)


def _step(
    state: SelectionState,
    index: int,
    runners_up: tuple[tuple[int, float], ...],
    forced: bool,
    began: float,
) -> Step:
    return Step(
        index=index,
        loss=state.loss,
        standard_error=state.standard_error,
        runners_up=runners_up,
        forced=forced,
        seconds=time.perf_counter() - began,
    )
