"""Bounds of candidates in a state of the search, and what they must be below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from greedyrls import greedy_path
from greedyrls.path import Step
from internals import (
    FoldState,
    LooData,
    SelectionState,
    follow_spread,
    leverage_growth,
    lower_bounds,
    make_problem,
    replay_together,
)
from problems import Case


def replay(state: FoldState | SelectionState, features: Sequence[int]) -> Iterator[Step]:
    """Add features in their order, without a search."""
    return replay_together(state, [(feature,) for feature in features], False)


def state_after(case: Case, features: list[int]) -> SelectionState:
    options = dict(case.options)
    alpha = options.pop("alpha")
    data = LooData(make_problem(case.X, case.y, **options))
    state = SelectionState(data, alpha, len(features) + 1)
    follow_spread(state.features)
    for _ in replay(state, features):
        pass
    return state


def sharp_bounds(state: SelectionState) -> np.ndarray:
    """Of all candidates, with all that is known."""
    return lower_bounds(state)[state.candidates] + leverage_growth(state, state.candidates)


def assert_bounds_hold(case: Case) -> None:
    """Before the last step of the path, bounds of all candidates are below their exact losses."""
    path = greedy_path(case.X, case.y, case.n_features, search="exhaustive", **case.options)
    state = state_after(case, path.indices[:-1].tolist())
    candidates = state.candidates
    scores = state.score(candidates)
    margin = 1e-9 * state.loss_sum + 1e-13 * state.target_energy.sum()
    bounds = sharp_bounds(state)
    assert (bounds <= scores.losses.sum(axis=0) + margin).all()
    state.set_anchor([])
    tighter = sharp_bounds(state)
    assert (tighter <= scores.losses.sum(axis=0) + margin).all()
    trusted = np.isfinite(bounds)
    assert (tighter[trusted] >= bounds[trusted] - margin).all()
