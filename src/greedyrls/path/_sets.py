"""The best set of each size among the steps of a search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from .._base import TIE
from ._steps import FeatureSet, Step


def best_sets(
    steps: Sequence[Step], start: FeatureSet | None = None, most: int | None = None
) -> tuple[FeatureSet, ...]:
    """Return the set of smallest loss of each size 1, 2, … up to `most`; the first if tied.

    `start` is the set that a backward search began with; it then only removes features. Features
    that are added together count as one.
    """
    if start is not None:
        sets = _shrinking(steps, start)
    elif all(step.action == "add" for step in steps):
        sets = _growing(steps)
    else:
        sets = _moving(steps)
    return sets if most is None else sets[:most]


def features_of(sets: Sequence[FeatureSet]) -> tuple[int, ...]:
    """Return all features of some sets, those of the largest set first."""
    features: dict[int, None] = {}
    order: tuple[int, ...] | None = None
    for feature_set in reversed(sets):
        if feature_set.order is not order:  # smaller sets of the same order are part of it
            features.update(dict.fromkeys(feature_set.features))
        order = feature_set.order
    return tuple(features)


def _growing(steps: Sequence[Step]) -> tuple[FeatureSet, ...]:
    """Return the nested sets of a search that only adds, one for each step."""
    order = tuple(chain.from_iterable(step.features for step in steps))
    sets, count = [], 0
    for step in steps:
        count += len(step.features)
        sets.append(_set_of(step, order, count))
    return tuple(sets)


def _shrinking(steps: Sequence[Step], start: FeatureSet) -> tuple[FeatureSet, ...]:
    """Return the nested sets of a search that only removes, from the smallest to the start."""
    removed = {feature for step in steps for feature in step.features}
    kept = [feature for feature in start.features if feature not in removed]
    order = (*kept, *chain.from_iterable(step.features for step in reversed(steps)))
    sets, count = [replace(start, order=order)], len(order)
    for step in steps:
        count -= len(step.features)
        sets.append(_set_of(step, order, count))
    return tuple(reversed(sets))


def _moving(steps: Sequence[Step]) -> tuple[FeatureSet, ...]:
    """Return the best sets of a search that adds and removes."""
    entries: list[tuple[int, ...]] = []
    best: dict[int, FeatureSet] = {}
    for step in steps:
        if step.action == "add":
            entries.append(step.features)
        else:
            entries.remove(step.features)
        size = len(entries)
        order = tuple(chain.from_iterable(entries))
        known = best.get(size)
        # Only rounding makes a set better than itself, in another order.
        is_other = known is None or set(order) != set(known.features)
        if size and is_other and (known is None or _is_better(step.loss, known.loss)):
            best[size] = _set_of(step, order, len(order))
    return with_shared_order(tuple(best[size] for size in sorted(best)))


class BestLosses:
    """The smallest loss of each size so far, updated with each step.

    These are the losses of `best_sets` without a start, for O(1) per step instead of a new search
    through all steps.
    """

    def __init__(self) -> None:
        self._size = 0
        self.losses: list[float] = []

    def add(self, step: Step) -> None:
        """Take a step into account."""
        self._size += 1 if step.action == "add" else -1
        index = self._size - 1
        if index == len(self.losses):
            self.losses.append(step.loss)
        elif index >= 0 and _is_better(step.loss, self.losses[index]):
            self.losses[index] = step.loss


def _is_better(loss: float, earlier: float) -> bool:
    """Whether a loss is smaller than an earlier one by more than a tie."""
    return loss < earlier - TIE * abs(earlier)


def with_shared_order(sets: tuple[FeatureSet, ...]) -> tuple[FeatureSet, ...]:
    """Return the sets; if each is a prefix of the next, they share one tuple of features."""
    order = sets[-1].features if sets else ()
    if any(best.features != order[: best.count] for best in sets):
        return sets
    return tuple(replace(best, order=order) for best in sets)


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
