"""The criterion that scores every candidate: for losses and rows that no bound describes."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._base import Float
from .._problem import breaks_ties
from ._choice import Choice, Judge, check_candidates, choose_among

if TYPE_CHECKING:
    from ._fold_state import FoldState
    from ._loo_loss import LossState
    from ._many_folds import ManyFoldState

    Scoring: TypeAlias = FoldState | LossState | ManyFoldState


class EveryCandidate:
    """The criterion that minimises the held-out loss of the state."""

    def choose(
        self, state: Scoring, n_runners_up: int, remaining: int, by_cost: bool = True
    ) -> Choice:
        """The best candidate with its runners-up."""
        check_candidates(state.is_spanned)
        candidates = state.candidates
        judge = Judge(state.layout.costs if by_cost else None, state.loss)
        count = min(n_runners_up + 1, len(candidates))
        losses, tolerances = state.candidate_losses(candidates, judge, count)
        second = None
        if judge.costs is None and breaks_ties(state.criterion_loss):  # else costs break it
            second = partial(state.squared_losses, candidates)
        return choose_among(candidates, losses, tolerances, n_runners_up, second, judge)

    def least(self, state: Scoring) -> float:
        """Return −inf: no bound is available before the losses are computed."""
        return -math.inf


def may_be_best(
    judge: Judge,
    candidates: NDArray[np.intp],
    losses: Float,
    tolerances: Float,
    count: int,
    rounding: float,
) -> NDArray[np.bool_]:
    """Mark candidates (c) that may be among the best `count`, if losses are off by `rounding`."""
    limits = judge.limits(candidates, losses, tolerances + rounding, count)
    if isinstance(limits, np.ndarray):
        limits = limits[candidates]
    near: NDArray[np.bool_] = losses <= limits + 2.0 * rounding
    return near
