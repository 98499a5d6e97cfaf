"""Choosing among groups: by loss, or by the decrease of the loss per cost."""

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
    """A criterion that chooses the next group to add."""

    def __init__(self, layout: GroupLayout) -> None:
        self.layout = layout

    @abstractmethod
    def choose(
        self, state: Any, candidates: NDArray[np.intp], n_runners_up: int, remaining: int
    ) -> GroupChoice:
        """Return the best of the candidates; about `remaining` more columns will be added."""


class Judge(NamedTuple):
    """The order of losses of groups, for a model that has the loss `now`.

    With costs (of all groups) the largest (now − loss)/cost is the best. If no group lowers the
    loss by more than a tie, the smallest loss is the best: dividing an increase of the loss by the
    cost would favour expensive groups.
    """

    costs: Float | None
    now: float

    def best(
        self, groups: NDArray[np.intp], losses: Float, tolerances: Float, count: int
    ) -> list[int]:
        """Return positions of the best, the best of the others, …; lowest number among ties."""
        lost = ~(losses < np.inf)
        left, tolerances = np.where(lost, np.inf, losses), np.where(lost, 0.0, tolerances)
        positions: list[int] = []
        while len(positions) < min(count, len(losses)):
            values, allowed = left, tolerances
            if self.costs is not None:
                gains = left < self.now - tolerances
                if gains.any():
                    costs = self.costs[groups]
                    values = np.where(gains, (left - self.now) / costs, np.inf)
                    allowed = tolerances / costs
            positions.append(first_of_best(groups, values, allowed))
            left = left.copy()
            left[positions[-1]] = np.inf
        return positions

    def keys(self, groups: NDArray[np.intp], bounds: Float) -> Float:
        """Return keys by which to sort groups for scoring, from the bounds of all groups."""
        changes = bounds[groups] - self.now
        if self.costs is None:
            return changes
        return np.where(changes < 0.0, changes / self.costs[groups], changes)

    def limits(
        self, groups: NDArray[np.intp], losses: Float, tolerances: Float, count: int
    ) -> Float | float:
        """Return limits: a group with a loss above its limit is not among the best `count`."""
        if len(losses) < count:
            return np.inf
        position = self.best(groups, losses, tolerances, count)[-1]
        loss, tolerance = float(losses[position]), float(tolerances[position])
        if not loss < np.inf:
            return np.inf
        if self.costs is None or not loss < self.now - tolerance:
            return loss + tolerance
        score = (loss - self.now + tolerance) / self.costs[groups[position]]
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
    """Choose the best of groups whose losses are all computed."""
    position, *others = judge.best(groups, losses, tolerances, n_runners_up + 1)
    if not losses[position] < np.inf:
        raise NumericalLimit("no candidate has a finite loss")
    if likely is None:
        likely = [int(groups[number]) for number in best_first(losses, 64)]
    runners_up = tuple((int(groups[other]), float(losses[other])) for other in others)
    return GroupChoice(int(groups[position]), runners_up, likely)
