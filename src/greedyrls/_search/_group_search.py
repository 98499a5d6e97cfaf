"""Searches among groups of features: a step adds all columns of a group; costs and a budget."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from .._criteria import GroupCriterion
from .._problem import BUDGET_ROUNDING, GroupLayout
from ..path import Step
from ._plan import AnyState
from ._searching import add_together, ignore_rounding, step_of


def forward_groups(
    state: AnyState, criterion: GroupCriterion, n_groups: int, n_runners_up: int = 0
) -> Iterator[Step]:
    """Add the best group until there are n_groups, or until nothing is affordable."""
    layout = criterion.layout
    chosen = chosen_groups(state, layout)
    while len(chosen) < n_groups:
        candidates = affordable(state, layout, chosen)
        if not len(candidates):
            return
        began = time.perf_counter()
        left = min(n_groups - len(chosen), len(candidates))
        remaining = math.ceil(left * float(layout.widths[candidates].mean()))
        with ignore_rounding():
            choice = criterion.choose(state, candidates, n_runners_up, remaining)
            features = layout.members[choice.group]
            others = [other for other in choice.likely if other != choice.group]
            later = layout.columns(np.array(others, dtype=np.intp)).tolist()
            add_together(state, features, later, max(remaining, len(features)))
        chosen.append(choice.group)
        runners_up = tuple(
            (int(layout.firsts[group]), state.mean_loss(loss))
            for group, loss in choice.runners_up
            if math.isfinite(loss)
        )
        yield step_of(state, features, runners_up, False, began)


def chosen_groups(state: AnyState, layout: GroupLayout) -> list[int]:
    """Return the groups in the model, in the order of choice."""
    return list(dict.fromkeys(layout.owner[list(state.selected)].tolist()))


def affordable(state: AnyState, layout: GroupLayout, chosen: list[int]) -> NDArray[np.intp]:
    """Return the candidates that the rest of the budget can pay for."""
    is_open = state.barred[layout.firsts] < 0.0
    budget = state.problem.budget
    if budget is not None:
        assert layout.costs is not None
        spent = math.fsum(layout.costs[chosen].tolist())
        is_open &= layout.costs <= budget * (1.0 + BUDGET_ROUNDING) - spent
    return np.flatnonzero(is_open)
