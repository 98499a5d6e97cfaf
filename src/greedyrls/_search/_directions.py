"""Searches that also remove features: floating, FoBa, exchanges, and backward elimination.

They are generators of steps, like those of `_searching`. They can move to any set of features
(`state.move_to`); the best set of each size follows from their steps.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

from .._criteria import BackwardState, Choice, Criterion, NumericalLimit, choose_removal
from ..path import Direction, FeatureSet, Step
from ._searching import add_best, forward, ignore_rounding, runners_up_of, step_of

# The least number of features that a search with removals will likely still add.
_LIKELY = 32


def _add(state: Any, criterion: Criterion, n_features: int, n_runners_up: int) -> Step:
    """Add the best feature; expect more additions than a forward search, for removed features."""
    remaining = max(n_features - state.size, _LIKELY)
    return add_best(state, criterion, remaining, n_runners_up)


def _removed(
    state: Any, protected: Collection[int], n_runners_up: int, below: float
) -> Step | None:
    """Remove the worst feature if the loss is below `below` without it.

    If a leverage is nearly 1, the predicted loss differs from that of the model without the
    feature. Searches terminate because the latter decreases: if it does not, the removal is undone.
    """
    began, before = time.perf_counter(), list(state.selected)
    choice = _worst(state, protected, n_runners_up, below)
    if choice is None:
        return None
    with ignore_rounding():
        state.move_to([index for index in before if index != choice.feature])
        if not state.loss < below:
            state.move_to(before)
            return None
    return step_of(state, (choice.feature,), choice.runners_up, False, began, "remove")


def _worst(
    state: Any, protected: Collection[int], n_runners_up: int, below: float
) -> Choice | None:
    """Return the feature to remove, if the loss is below `below` without it; one always stays."""
    if state.size < 2:
        return None
    with ignore_rounding():
        return choose_removal(state, protected, n_runners_up, below)


def floating(
    state: Any,
    criterion: Criterion,
    n_features: int,
    n_runners_up: int = 0,
    protected: Collection[int] = (),
) -> Iterator[Step]:
    """Sequential floating forward selection.

    After each addition, features are removed while the smaller set is better than the best one of
    its size so far. The search ends at `n_features` when no removal helps. It terminates, because
    every removal lowers the best loss of a size and the number of sets is finite.
    """
    state.keep_columns()
    best = {state.size: state.loss}
    while state.size < n_features:
        step = _add(state, criterion, n_features, n_runners_up)
        best[state.size] = min(step.loss, best.get(state.size, step.loss))
        yield step
        while True:
            best_smaller = best.get(state.size - 1, -float("inf"))
            removal = _removed(
                state, protected, n_runners_up, best_smaller - state.tie(best_smaller)
            )
            if removal is None:
                break
            best[state.size] = min(removal.loss, best_smaller)
            yield removal


def foba(
    state: Any,
    criterion: Criterion,
    n_features: int,
    ratio: float,
    n_runners_up: int = 0,
    protected: Collection[int] = (),
) -> Iterator[Step]:
    """Zhang's adaptive forward–backward search.

    After each addition that lowers the loss, features are removed while the loss rises by less than
    `ratio` of the gain with which the current size was last reached by an addition. Such a removal
    leaves a lower loss than its size had at the last visit. So the search terminates: the smallest
    size visited infinitely often would have infinitely many different losses, but the number of
    sets is finite.
    """
    state.keep_columns()
    gains: dict[int, float] = {}
    while state.size < n_features:
        before = state.loss
        step = _add(state, criterion, n_features, n_runners_up)
        gains[state.size] = before - step.loss
        yield step
        while gains.get(state.size, 0.0) > 0.0:
            loss = state.loss
            allowed = loss + ratio * gains[state.size] - state.tie(loss)
            removal = _removed(state, protected, n_runners_up, allowed)
            if removal is None:
                break
            yield removal


def exchanges(
    state: Any, criterion: Criterion, n_runners_up: int = 0, protected: Collection[int] = ()
) -> Iterator[Step]:
    """Exchange one feature for another while that lowers the loss; each is two steps.

    Features are tried in the order of the loss without them, and the first exchange that helps is
    made: the best one for that feature. In the end no single exchange helps. The same holds when
    always making the best exchange of all, which costs |S| searches per exchange instead of mostly
    one.
    """
    state.keep_columns()
    while True:
        made = _first_exchange(state, criterion, n_runners_up, protected)
        if made is None:
            return
        yield from made


def _first_exchange(
    state: Any, criterion: Criterion, n_runners_up: int, protected: Collection[int]
) -> tuple[Step, Step] | None:
    """Make the first exchange that helps; None, with the state unchanged, if none does."""
    selected = list(state.selected)
    choice = _worst(state, protected, len(selected), float("inf"))
    if choice is None or not len(state.candidates):
        return None
    removals = [(choice.feature, choice.loss), *choice.runners_up]
    target, held = state.loss - state.tie(state.loss), state.held()
    for position, (index, _) in enumerate(removals):
        rest = [other for other in selected if other != index]
        others = tuple(removals[:position] + removals[position + 1 :])[:n_runners_up]
        try:
            with ignore_rounding():
                made = _exchange(state, criterion, index, rest, held, target, n_runners_up)
        except NumericalLimit:  # skip an exchange that cannot be computed
            continue
        if made is not None:
            removed, added = made
            return replace(removed, runners_up=others), added
    with ignore_rounding():
        state.move_to(selected)
    return None


def _exchange(
    state: Any,
    criterion: Criterion,
    index: int,
    rest: Sequence[int],
    held: Any,
    target: float,
    n_runners_up: int,
) -> tuple[Step, Step] | None:
    """Replace a feature by the best other one, if the loss is then below the target."""
    began = time.perf_counter()
    state.move_to(rest, held)
    state.barred[index] = float("inf")  # adding it again would be no exchange
    if criterion.least(state) >= target:
        return None
    choice = criterion.choose(state, n_runners_up, 1)
    if not state.mean_loss(choice.loss) < target:
        return None
    removed = step_of(state, (index,), (), False, began, "remove")
    began = time.perf_counter()
    state.add(choice.feature, choice.pivot, choice.ranking, 1)
    runners_up = runners_up_of(state, choice)
    # Recompute the model: otherwise rounding, which accumulates over exchanges, might lower the
    # loss of equal sets forever.
    state.move_to([*rest, choice.feature])
    added = step_of(state, (choice.feature,), runners_up, False, began)
    return (removed, added) if added.loss < target else None


def moves(
    direction: Direction, state: Any, criterion: Criterion, n_features: int, n_runners_up: int = 0
) -> Iterator[Step]:
    """Return the steps of a search that adds features; for "swap", `exchanges` follow."""
    forced = state.problem.forced
    if direction.name == "floating":
        return floating(state, criterion, n_features, n_runners_up, forced)
    if direction.name == "foba":
        assert direction.ratio is not None
        return foba(state, criterion, n_features, direction.ratio, n_runners_up, forced)
    return forward(state, criterion, n_features, n_runners_up)


def retreat(path: Sequence[FeatureSet], size: int) -> Iterator[Step]:
    """Yield removals from the last of nested sets back to the one of `size`, without a search."""
    for larger, smaller in zip(reversed(path), reversed(path[:-1]), strict=False):
        if smaller.count < size:
            return
        (gone,) = larger.features[smaller.count :]
        yield Step(
            gone,
            smaller.loss,
            smaller.standard_error,
            action="remove",
            fold_losses=smaller.fold_losses,
        )


def backward(
    state: BackwardState, n_runners_up: int = 0, forced: Sequence[int] = ()
) -> Iterator[Step]:
    """Remove the worst feature until one is left; forced ones go last, in reverse order."""
    while state.size > 1:
        began = time.perf_counter()
        protected: Sequence[int] = forced
        if state.size <= len(forced):
            protected = forced[: state.size - 1]
        with ignore_rounding():
            choice = state.choose(protected, n_runners_up)
            state.remove(choice.feature)
        is_forced = choice.feature in forced
        yield step_of(state, (choice.feature,), choice.runners_up, is_forced, began, "remove")
