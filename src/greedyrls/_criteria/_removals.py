"""Choosing among chosen features the one to remove."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .._base import Float
from ._choice import Choice, NumericalLimit, choose_among

# Features scored in the first round; later rounds are four times as large.
_FIRST_WIDTH = 4


class Shrinkable(Protocol):
    """What a state that can go to any set says of the removal of its features.

    All losses are those that the state's `loss` would be.
    """

    @property
    def selected(self) -> Sequence[int]:
        """The chosen features."""
        ...

    def removal_bounds(self) -> Float:
        """Without each of them the loss is at least this, (|S|)."""
        ...

    def removal_losses(self, places: NDArray[np.intp]) -> tuple[Float, Float]:
        """The exact losses without some of them, (c), and how far above each another one ties."""
        ...


def choose_removal(
    state: Shrinkable,
    protected: Collection[int] = (),
    n_runners_up: int = 0,
    below: float = math.inf,
) -> Choice | None:
    """The feature without which the loss is smallest, if it is then below `below`.

    Runners-up are the next best removals. Of tied ones the feature with the highest index goes, so
    that among equal features the one with the lowest index stays. None where no removal will do.
    """
    selected = np.array(state.selected, dtype=np.intp)
    (free,) = (~np.isin(selected, list(protected))).nonzero()
    if not len(free):
        return None
    bounds = state.removal_bounds()[free]
    order = np.argsort(bounds, kind="stable")
    losses, tolerances = np.full(len(free), np.inf), np.zeros(len(free))
    wanted = min(n_runners_up + 1, len(free))
    first, width, limit = 0, max(wanted, _FIRST_WIDTH), below
    while first < len(order):
        some = order[first : first + width]
        some = some[~(bounds[some] > limit)]
        if not len(some):
            break
        losses[some], tolerances[some] = state.removal_losses(free[some])
        losses[~(losses < np.inf)] = np.inf  # a leverage of 1 up to rounding
        tolerances[losses == np.inf] = 0.0
        reached = np.argpartition(losses, wanted - 1)[wanted - 1]
        limit = min(below, float(losses[reached] + tolerances[reached]))
        first, width = first + width, 4 * width
    if below < np.inf and not losses.min() < below:
        return None
    if losses.min() == np.inf:
        raise NumericalLimit("no removal gives a finite loss")
    if n_runners_up and below < np.inf:  # those above `below` count as well
        return choose_removal(state, protected, n_runners_up)
    choice = choose_among(-selected[free], losses, tolerances, n_runners_up)
    runners_up = tuple((-index, loss) for index, loss in choice.runners_up if loss < np.inf)
    return choice._replace(feature=-choice.feature, runners_up=runners_up)
