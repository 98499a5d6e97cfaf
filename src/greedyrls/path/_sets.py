"""From the steps of a search to the best set that it has seen of each size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from .._base import TIE
from ._steps import FeatureSet, Step


def best_sets(
    steps: Sequence[Step], start: FeatureSet | None = None, most: int | None = None
) -> tuple[FeatureSet, ...]:
    """Of the sizes 1, 2, … up to `most`, the set of smallest loss; the first among equals.

    `start` is where the search began, if not with nothing: it then only removes. What is added
    together counts as one.
    """
    if start is not None:
        sets = _shrinking(steps, start)
    elif all(step.action == "add" for step in steps):
        sets = _growing(steps)
    else:
        sets = _moving(steps)
    return sets if most is None else sets[:most]


def _growing(steps: Sequence[Step]) -> tuple[FeatureSet, ...]:
    """Nested sets, one for each step."""
    order = tuple(chain.from_iterable(step.features for step in steps))
    sets, count = [], 0
    for step in steps:
        count += len(step.features)
        sets.append(_set_of(step, order, count))
    return tuple(sets)


def _shrinking(steps: Sequence[Step], start: FeatureSet) -> tuple[FeatureSet, ...]:
    """Nested sets from the last that is left to all; the last to be removed comes first."""
    removed = {feature for step in steps for feature in step.features}
    kept = [feature for feature in start.features if feature not in removed]
    order = (*kept, *chain.from_iterable(step.features for step in reversed(steps)))
    sets, count = [replace(start, order=order)], len(order)
    for step in steps:
        count -= len(step.features)
        sets.append(_set_of(step, order, count))
    return tuple(reversed(sets))


def _moving(steps: Sequence[Step]) -> tuple[FeatureSet, ...]:
    """Sets of a search that adds and removes."""
    entries: list[tuple[int, ...]] = []
    best: dict[int, FeatureSet] = {}
    for step in steps:
        if step.action == "add":
            entries.append(step.features)
        else:
            entries.remove(step.features)
        size = len(entries)
        if size and (size not in best or _is_better(step.loss, best[size].loss)):
            order = tuple(chain.from_iterable(entries))
            best[size] = _set_of(step, order, len(order))
    return with_shared_order(tuple(best[size] for size in sorted(best)))


class BestLosses:
    """The smallest loss seen of each size, kept up as steps come.

    Those of `best_sets` of steps that began with nothing, for O(1) a step rather than all anew.
    """

    def __init__(self) -> None:
        self._size = 0
        self.losses: list[float] = []

    def add(self, step: Step) -> None:
        """One more step."""
        self._size += 1 if step.action == "add" else -1
        place = self._size - 1
        if place == len(self.losses):
            self.losses.append(step.loss)
        elif place >= 0 and _is_better(step.loss, self.losses[place]):
            self.losses[place] = step.loss


def _is_better(loss: float, known: float) -> bool:
    """By more than a tie, which goes to what was seen first."""
    return loss < known - TIE * abs(known)


def with_shared_order(sets: tuple[FeatureSet, ...]) -> tuple[FeatureSet, ...]:
    """The same sets; where each is the beginning of the next, they have one order."""
    order = sets[-1].features if sets else ()
    if any(known.features != order[: known.count] for known in sets):
        return sets
    return tuple(replace(known, order=order) for known in sets)


def _set_of(step: Step, order: tuple[int, ...], count: int) -> FeatureSet:
    return FeatureSet(
        order,
        count,
        step.loss,
        step.standard_error,
        step.fold_losses,
        step.runners_up,
        step.forced,
    )
