"""Choosing among groups: by loss, or by what a loss gains for its cost; which are affordable."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import Float
from .._problem import GroupLayout
from ._choice import NumericalLimit, best_first, first_of_best


class GroupChoice(NamedTuple):
    """The group to add and the next best ones; losses in the units of the criterion."""

    group: int
    runners_up: tuple[tuple[int, float], ...]
    likely: list[int]  # the groups that may well be chosen next, best first


class GroupCriterion(ABC):
    """Chooses the next group to add."""

    def __init__(self, layout: GroupLayout) -> None:
        self.layout = layout

    @abstractmethod
    def choose(
        self, state: Any, candidates: NDArray[np.intp], n_runners_up: int, remaining: int
    ) -> GroupChoice:
        """The best of some groups; `remaining` columns, roughly, are to be added yet."""


class Judge(NamedTuple):
    """Which loss is better, for a model that has the loss `now`.

    With costs (of all groups) the largest (now − loss)/cost is the best. Where no group lowers the
    loss by more than a tie, the smallest loss is: what raises a loss is no better for costing much.
    """

    costs: Float | None
    now: float

    def best(
        self, groups: NDArray[np.intp], losses: Float, tolerances: Float, count: int
    ) -> list[int]:
        """Places of the best, the best of the others, and so on; lowest number among ties."""
        lost = ~(losses < np.inf)
        left, tolerances = np.where(lost, np.inf, losses), np.where(lost, 0.0, tolerances)
        places: list[int] = []
        while len(places) < min(count, len(losses)):
            values, allowed = left, tolerances
            if self.costs is not None:
                gains = left < self.now - tolerances
                if gains.any():
                    costs = self.costs[groups]
                    values = np.where(gains, (left - self.now) / costs, np.inf)
                    allowed = tolerances / costs
            places.append(first_of_best(groups, values, allowed))
            left = left.copy()
            left[places[-1]] = np.inf
        return places

    def keys(self, groups: NDArray[np.intp], bounds: Float) -> Float:
        """In the order of these the groups with bounds (of all groups) are best looked at."""
        own = bounds[groups] - self.now
        if self.costs is None:
            return own
        return np.where(own < 0.0, own / self.costs[groups], own)

    def limits(
        self, groups: NDArray[np.intp], losses: Float, tolerances: Float, count: int
    ) -> Float | float:
        """No group whose loss is above its limit (or this) is among the best `count`."""
        if len(losses) < count:
            return np.inf
        place = self.best(groups, losses, tolerances, count)[-1]
        loss, tolerance = float(losses[place]), float(tolerances[place])
        if not loss < np.inf:
            return np.inf
        if self.costs is None or not loss < self.now - tolerance:
            return loss + tolerance
        score = (loss - self.now + tolerance) / self.costs[groups[place]]
        limits: Float = self.now + self.costs * score
        return limits


def choose_group(
    judge: Judge,
    groups: NDArray[np.intp],
    losses: Float,
    tolerances: Float,
    n_runners_up: int,
    likely: list[int] | None = None,
) -> GroupChoice:
    """The best of groups whose losses are known."""
    place, *others = judge.best(groups, losses, tolerances, n_runners_up + 1)
    if not losses[place] < np.inf:
        raise NumericalLimit("no candidate has a finite loss")
    if likely is None:
        likely = [int(groups[some]) for some in best_first(losses, 64)]
    runners_up = tuple((int(groups[other]), float(losses[other])) for other in others)
    return GroupChoice(int(groups[place]), runners_up, likely)
