"""Searches among groups of features: a step adds all columns of a group; costs and a budget."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._choice import State
from ._grouping import ROUNDING
from ._group_choice import GroupCriterion
from ._group_layout import GroupLayout
from ._search import rounding_is_no_news, step_of
from ._steps import Step


class GroupState:
    """A model that grows by groups: which are in, which may come in, what they cost."""

    def __init__(
        self, state: Any, layout: GroupLayout, excluded: Sequence[int], budget: float | None
    ) -> None:
        self.state = state
        self.layout = layout
        self._budget = budget
        self._is_free = np.ones(len(layout), dtype=bool)
        self._is_free[layout.owner[list(excluded)]] = False
        self.groups: list[int] = []

    @property
    def size(self) -> int:
        """How many groups are in."""
        return len(self.groups)

    @property
    def spent(self) -> float:
        """What they cost."""
        costs = self.layout.costs
        return 0.0 if costs is None else math.fsum(costs[self.groups].tolist())

    @property
    def candidates(self) -> NDArray[np.intp]:
        """Groups that may be added, and that what is left of the budget pays for."""
        is_open = self._is_free
        if self._budget is not None:
            assert self.layout.costs is not None
            allowed = self._budget * (1.0 + ROUNDING) - self.spent
            is_open = is_open & (self.layout.costs <= allowed)
        return np.flatnonzero(is_open)

    def add(self, group: int, likely: Sequence[int], remaining: int) -> None:
        """Add all columns of a group, one after the other: the model is the same.

        Some groups are likely to be chosen next; roughly `remaining` columns are to be added yet.
        """
        state: State = self.state
        own = self.layout.members[group]
        others = [other for other in likely if self._is_free[other] and other != group]
        next_ones = self.layout.columns(np.array(others, dtype=np.intp)).tolist()
        for place, column in enumerate(own):
            later = [*own[place + 1 :], *next_ones]

            def ranking(count: int, later: list[int] = later) -> list[int]:
                return later[:count]

            state.add(column, state.measure(column), ranking, max(1, remaining - place))
        self._is_free[group] = False
        self.groups.append(group)


def replay_groups(
    grouped: GroupState, groups: Sequence[int], forced: bool
) -> Iterator[Step]:
    """Add known groups in their order, without a search."""
    for place, group in enumerate(groups):
        began = time.perf_counter()
        later = groups[place:]
        remaining = int(grouped.layout.widths[list(later)].sum())
        with rounding_is_no_news():
            grouped.add(group, later, remaining)
        yield _step(grouped, group, (), forced, began)


def forward_groups(
    grouped: GroupState, criterion: GroupCriterion, n_groups: int, n_runners_up: int = 0
) -> Iterator[Step]:
    """Add the best group until there are n_groups, or nothing is affordable."""
    layout = grouped.layout
    while grouped.size < n_groups:
        candidates = grouped.candidates
        if not len(candidates):
            return
        began = time.perf_counter()
        left = min(n_groups - grouped.size, len(candidates))
        remaining = math.ceil(left * float(layout.widths[candidates].mean()))
        with rounding_is_no_news():
            choice = criterion.choose(grouped.state, candidates, n_runners_up, remaining)
            remaining = max(remaining, int(layout.widths[choice.group]))
            grouped.add(choice.group, choice.likely, remaining)
        runners_up = tuple(
            (int(layout.firsts[group]), grouped.state.mean_loss(loss))
            for group, loss in choice.runners_up
            if math.isfinite(loss)
        )
        yield _step(grouped, choice.group, runners_up, False, began)


def _step(
    grouped: GroupState,
    group: int,
    runners_up: tuple[tuple[int, float], ...],
    forced: bool,
    began: float,
) -> Step:
    columns = grouped.layout.members[group]
    return step_of(grouped.state, columns, runners_up, forced, began)
