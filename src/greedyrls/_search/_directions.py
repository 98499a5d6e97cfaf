"""Searches that also remove features: floating, FoBa, exchanges, and backward elimination.

They are generators of steps, like those of `_searching`. They can move to any set of features
(`state.move_to`); the best set of each size follows from their steps.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

from .._base import LIKELY_ADDED
from .._criteria import BackwardState, Choice, Criterion, NumericalLimit, choose_removal
from .._steppers import Removed, moves_for
from ..path import Direction, FeatureSet, Step
from ._searching import (
    add_best,
    add_choice,
    affords_more,
    ignore_rounding,
    n_entries,
    runners_up_of,
    step_of,
)


class _Moves:
    """Additions and removals of a search, compiled where they can be."""

    def __init__(
        self,
        state: Any,
        criterion: Criterion,
        n_features: int,
        n_runners_up: int,
        is_compiled: bool,
    ) -> None:
        state.keep_columns()
        self._state, self._criterion = state, criterion
        self._n_features, self._n_runners_up = n_features, n_runners_up
        self._compiled = moves_for(state, criterion, n_runners_up) if is_compiled else None

    def add(self) -> Step:
        """Add the best feature; others will take the place of those that are removed again."""
        state, compiled, began = self._state, self._compiled, time.perf_counter()
        if compiled is not None:
            with ignore_rounding():
                feature = compiled.step(self._n_features)
            if feature is not None:
                runners_up = runners_up_of(state, compiled.runners_up)
                return step_of(state, (feature,), runners_up, False, began)
        remaining = max(self._n_features - n_entries(state), LIKELY_ADDED)
        step = add_best(state, self._criterion, remaining, self._n_runners_up)
        self._check()
        return step

    def _check(self) -> None:
        """Raise an error if compiled steps would have lost digits where the search is now."""
        if self._compiled is not None:
            self._compiled.check()

    def remove(self, protected: Collection[int], below: float) -> Step | None:
        """Remove the worst feature if the loss is below `below` without it.

        If a leverage is nearly 1, the predicted loss differs from that of the model without the
        feature. Searches terminate because the latter decreases: if it does not, the removal is
        undone.
        """
        state = self._state
        began, before = time.perf_counter(), list(state.selected)
        with ignore_rounding():
            if self._compiled is not None:
                removed = self._compiled.remove(protected, below)
                if removed is not None:
                    return self._removal(removed, began)
                self._compiled.complete()
            choice = _worst(state, protected, self._n_runners_up, below)
            if choice is None:
                return None
            gone = state.layout.members(choice.feature)
            self._move_to([index for index in before if index not in gone])
            if not state.loss < below:
                self._move_to(before, is_removal=False)
                return None
            self._check()
        return step_of(state, gone, choice.runners_up, False, began, "remove")

    def _removal(self, removed: Removed, began: float) -> Step | None:
        """The step of a compiled removal, if there was one."""
        if removed.feature is None:
            return None
        runners_up = runners_up_of(self._state, removed.runners_up)
        return step_of(self._state, (removed.feature,), runners_up, False, began, "remove")

    def _move_to(self, features: list[int], is_removal: bool = True) -> None:
        if self._compiled is None or not self._compiled.move_to(features, self._n_features):
            self._state.move_to(features, self._state.held() if is_removal else None)


def _worst(
    state: Any, protected: Collection[int], n_runners_up: int, below: float
) -> Choice | None:
    """The feature to remove, if the loss is below `below` without it; one at least stays."""
    if n_entries(state) < 2:
        return None
    with ignore_rounding():
        return choose_removal(state, protected, n_runners_up, below)


class _Visited:
    """Sets to which the best feature was added: no set of one more is better than what followed.

    So of a set {a, b} ∪ T, where T was visited, neither a nor b is worth removing: with the other
    one T has no lower loss than the best known of that size. The features that were added last are
    nearly always among those whose removal costs least, so that this spares most looks at the rows.
    """

    def __init__(self, state: Any, n_runners_up: int) -> None:
        # By cost, or beside kernel functions that span others, another than the best feature may be
        # added; runners-up name all removals.
        is_best = state.layout.is_single and state.layout.costs is None
        self._is_used = is_best and state.problem.X.centers is None and not n_runners_up
        self._sets: dict[int, list[frozenset[int]]] = {}

    def note(self, selected: Sequence[int]) -> None:
        """Note a set to which the best feature will be added."""
        if self._is_used:
            self._sets.setdefault(len(selected), []).append(frozenset(selected))

    def not_worth_removing(self, selected: Sequence[int]) -> set[int]:
        """Return features without which the loss is not below the best one known."""
        others = self._sets.get(len(selected) - 2, ())
        chosen = frozenset(selected)
        return {index for known in others if known < chosen for index in chosen - known}


def floating(
    state: Any,
    criterion: Criterion,
    n_features: int,
    n_runners_up: int = 0,
    protected: Collection[int] = (),
    done: Sequence[Step] = (),
    is_compiled: bool = True,
) -> Iterator[Step]:
    """Sequential floating forward selection, after the steps that are done.

    After each addition, features are removed while the smaller set is better than the best one of
    its size so far. The search ends at `n_features` when no removal helps. It terminates, because
    every removal lowers the best loss of a size and the number of sets is finite.
    """
    moves = _Moves(state, criterion, n_features, n_runners_up, is_compiled)
    size = n_entries(state)
    best, visited = {size: state.loss}, _Visited(state, n_runners_up)
    for count, step in _with_sizes(done):
        best[count] = min(step.loss, best.get(count, step.loss))
    may_remove = any(not step.forced for step in done)
    while True:
        while may_remove:
            known = best.get(size - 1, -float("inf"))
            kept = {*protected, *visited.not_worth_removing(state.selected)}
            removal = moves.remove(kept, known - state.tie(known))
            if removal is None:
                break
            size -= 1
            best[size] = min(removal.loss, known)
            yield removal
        if size >= n_features or not affords_more(state):
            return
        visited.note(state.selected)
        step = moves.add()
        size += 1
        best[size] = min(step.loss, best.get(size, step.loss))
        may_remove = True
        yield step


def _with_sizes(steps: Sequence[Step]) -> Iterator[tuple[int, Step]]:
    """Yield steps from the empty model, with the size after each."""
    size = 0
    for step in steps:
        size += 1 if step.action == "add" else -1
        yield size, step


def foba(
    state: Any,
    criterion: Criterion,
    n_features: int,
    ratio: float,
    n_runners_up: int = 0,
    protected: Collection[int] = (),
    earlier_gains: Mapping[int, float] | None = None,
    is_compiled: bool = True,
) -> Iterator[Step]:
    """Zhang's adaptive forward–backward search.

    After each addition that lowers the loss, features are removed while the loss rises by less than
    `ratio` of the gain with which the current size was last reached by an addition. Such a removal
    leaves a lower loss than its size had at the last visit. So the search terminates: the smallest
    size visited infinitely often would have infinitely many different losses, but the number of
    sets is finite.
    """
    moves = _Moves(state, criterion, n_features, n_runners_up, is_compiled)
    size, gains = n_entries(state), dict(earlier_gains or {})  # by size
    while True:
        while gains.get(size, 0.0) > 0.0:
            loss = state.loss
            allowed = loss + ratio * gains[size] - state.tie(loss)
            removal = moves.remove(protected, allowed)
            if removal is None:
                break
            size -= 1
            yield removal
        if size >= n_features or not affords_more(state):
            return
        before = state.loss
        step = moves.add()
        size += 1
        gains[size] = before - step.loss
        yield step


def exchanges(
    state: Any,
    criterion: Criterion,
    n_runners_up: int = 0,
    protected: Collection[int] = (),
    half: Step | None = None,
) -> Iterator[Step]:
    """Exchange one feature for another while that lowers the loss; each is two steps.

    `half` is the removal of an exchange that was chosen before, of which the addition is left.

    Features are tried in the order of the loss without them, and the first exchange that helps is
    made: the best one for that feature. In the end no single exchange helps. The same holds when
    always making the best exchange of all, which costs |S| searches per exchange instead of mostly
    one.
    """
    state.keep_columns()
    if half is not None:
        rest = [index for index in state.selected if index not in half.features]
        with ignore_rounding():
            made = _exchange(
                *(state, criterion, half.index, rest, state.held(), float("inf"), n_runners_up)
            )
        if made is not None:
            yield made[1]
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
    # What the budget does not pay for now it may pay for after a removal.
    has_others = state.problem.budget is not None or (state.barred < 0.0).any()
    if choice is None or not has_others:
        return None
    removals = [(choice.feature, choice.loss), *choice.runners_up]
    target, held = state.loss - state.tie(state.loss), state.held()
    for place, (index, _) in enumerate(removals):
        gone = state.layout.members(index)
        rest = [other for other in selected if other not in gone]
        others = tuple(removals[:place] + removals[place + 1 :])[:n_runners_up]
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
    affords_more(state)
    state.barred[index] = float("inf")  # to take it back is no exchange
    if not (state.barred < 0.0).any() or criterion.least(state) >= target:
        return None
    found = criterion.choose(state, n_runners_up, 1, by_cost=False)
    if not state.mean_loss(found.loss) < target:
        return None
    removed = step_of(state, state.layout.members(index), (), False, began, "remove")
    began = time.perf_counter()
    features = add_choice(state, found, 1)
    runners_up = runners_up_of(state, found.runners_up)
    # Made anew: else rounding, which piles up from exchange to exchange, might lower the loss of
    # equal sets for ever.
    state.move_to([*rest, *features])
    added = step_of(state, features, runners_up, False, began)
    return (removed, added) if added.loss < target else None


def moves(
    direction: Direction,
    state: Any,
    criterion: Criterion,
    n_features: int,
    n_runners_up: int,
    done: Sequence[Step],
    initial_loss: float,
    is_compiled: bool = True,
) -> Iterator[Step]:
    """Return the steps of a search that adds and removes features, after those that are done."""
    forced = state.problem.forced
    if direction.name == "floating":
        return floating(state, criterion, n_features, n_runners_up, forced, done, is_compiled)
    assert direction.ratio is not None
    gains, before = dict[int, float](), initial_loss
    for size, step in _with_sizes(done):
        if step.action == "add" and not step.forced:
            gains[size] = before - step.loss
        before = step.loss
    arguments = state, criterion, n_features, direction.ratio, n_runners_up, forced, gains
    return foba(*arguments, is_compiled)


def set_after(steps: Sequence[Step]) -> list[int]:
    """Return the features after steps from the empty model, in the order of the search."""
    features: dict[int, None] = {}
    for step in steps:
        if step.action == "add":
            features.update(dict.fromkeys(step.features))
        else:
            for index in step.features:
                del features[index]
    return list(features)


def steps_up_to(steps: Sequence[Step], size: int) -> tuple[Step, ...]:
    """Return the steps of a search that adds and removes features up to a size."""
    kept = takewhile(lambda visited: visited[0] <= size, _with_sizes(steps))
    return tuple(step for _, step in kept)


def retreat(path: Sequence[FeatureSet], size: int) -> Iterator[Step]:
    """From the last of nested sets back to one that is known, feature by feature."""
    for number in range(len(path) - 1, size - 1, -1):
        smaller = path[number - 1]
        gone = path[number].features[smaller.count :]
        yield Step(
            gone[0],
            smaller.loss,
            smaller.standard_error,
            action="remove",
            fold_losses=smaller.fold_losses,
            features=gone,
        )


def backward(
    state: BackwardState, n_runners_up: int = 0, forced: Sequence[int] = ()
) -> Iterator[Step]:
    """Remove the worst feature (or group) until one is left.

    Forced ones, which go by their first columns, are removed last, in reverse order.
    """
    while (size := n_entries(state)) > 1:
        began = time.perf_counter()
        protected = forced if size > len(forced) else forced[: size - 1]
        with ignore_rounding():
            choice = choose_removal(state, protected, n_runners_up)
            assert choice is not None  # some feature is not protected
            features = state.layout.members(choice.feature)
            state.remove(features)
        is_forced = choice.feature in forced
        yield step_of(state, features, choice.runners_up, is_forced, began, "remove")
