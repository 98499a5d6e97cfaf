"""Candidates of a state and what it has chosen, where some are groups of columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._choice import HasCandidates, HasSelection


def open_candidates(state: HasCandidates, too_expensive: NDArray[np.bool_] | None = None) -> None:
    """Make all features candidates but those chosen, excluded, spanned or too expensive (n)."""
    barred, problem = state.barred, state.problem
    barred[:] = -np.inf
    barred[[*problem.excluded, *state.layout.others, *state.selected]] = np.inf
    if too_expensive is not None:
        barred[too_expensive] = np.inf
    state.bar_spanned()


def bar_spanned(state: HasCandidates, spanned: NDArray[np.bool_] | None) -> bool:
    """Exclude features that the chosen ones span; returns whether no candidate is left then."""
    if spanned is None:
        return False
    state.barred[spanned] = np.inf
    return not (state.barred < 0.0).any()


def chosen_groups(state: HasSelection, positions: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Return the positions of the columns of chosen groups among all chosen columns."""
    order = {column: position for position, column in enumerate(state.selected)}
    entries = state.layout.entries(state.selected)
    return [
        np.array([order[column] for column in state.layout.members(entries[position])])
        for position in positions.tolist()
    ]
