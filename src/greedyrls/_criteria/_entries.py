"""Candidates of a state and what it has chosen, where some are groups of columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._choice import Entries, Open


def open_candidates(state: Open, too_dear: NDArray[np.bool_] | None = None) -> None:
    """Let all be candidates that are not chosen, excluded, spanned or too dear (n)."""
    barred, problem = state.barred, state.problem
    barred[:] = -np.inf
    barred[[*problem.excluded, *state.layout.others, *state.selected]] = np.inf
    if too_dear is not None:
        barred[too_dear] = np.inf
    state.bar_spanned()


def chosen_groups(state: Entries, positions: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Where the columns of some of the chosen groups are among the chosen columns."""
    order = {column: position for position, column in enumerate(state.selected)}
    entries = state.layout.entries(state.selected)
    return [
        np.array([order[column] for column in state.layout.members(entries[position])])
        for position in positions.tolist()
    ]
