"""Choosing the feature to remove from a model."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .._base import Float
from .._problem import GroupLayout
from ._choice import Choice, NumericalLimit, choose_among, finite_losses

# Features scored in the first round; later rounds are four times as large.
_FIRST_WIDTH = 4


class Shrinkable(Protocol):
    """The interface of a state that can evaluate the removal of its features.

    All losses are in the units of the state's `loss`.
    """

    @property
    def selected(self) -> Sequence[int]:
        """The chosen features."""
        ...

    @property
    def layout(self) -> GroupLayout:
        """The groups that they belong to."""
        ...

    def removal_bounds(self) -> Float | None:
        """Without each chosen feature, or group, the loss is at least this; None if not of use."""
        ...

    def removal_losses(self, positions: NDArray[np.intp]) -> tuple[Float, Float]:
        """Return exact losses without each of c chosen features, and tolerances of ties."""
        ...


def choose_removal(
    state: Shrinkable,
    protected: Collection[int] = (),
    n_runners_up: int = 0,
    below: float = math.inf,
) -> Choice | None:
    """The feature (or group) without which the loss is smallest, if it is then below `below`.

    Runners-up are the next best removals. Of tied ones the feature with the highest index is
    removed, so that among equal features the one with the lowest index stays.
    """
    selected = np.array(state.layout.entries(state.selected), dtype=np.intp)
    (free,) = np.nonzero([index not in protected for index in selected.tolist()])
    if not len(free):
        return None
    bounds = state.removal_bounds()
    if bounds is None:
        losses, tolerances = finite_losses(*state.removal_losses(free))
    else:
        wanted = min(n_runners_up + 1, len(free))
        losses, tolerances = _smallest(state, free, bounds[free], wanted, below)
    if below < np.inf and not losses.min() < below:
        return None
    if losses.min() == np.inf:
        raise NumericalLimit("no removal gives a finite loss")
    if (
        n_runners_up and below < np.inf and bounds is not None
    ):  # runners-up above `below` count as well
        return choose_removal(state, protected, n_runners_up)
    choice = choose_among(-selected[free], losses, tolerances, n_runners_up)
    runners_up = tuple((-index, loss) for index, loss in choice.runners_up if loss < np.inf)
    return choice._replace(feature=-choice.feature, runners_up=runners_up)


def _smallest(
    state: Shrinkable, free: NDArray[np.intp], bounds: Float, wanted: int, below: float
) -> tuple[Float, Float]:
    """Return losses and tolerances (c), exact where they may be among the `wanted` smallest.

    Others, and those that are not below `below`, are +inf.
    """
    order = np.argsort(bounds, kind="stable")
    losses, tolerances = np.full(len(free), np.inf), np.zeros(len(free))
    first, width, limit = 0, max(wanted, _FIRST_WIDTH), below
    while first < len(order):
        chunk = order[first : first + width]
        chunk = chunk[~(bounds[chunk] > limit)]
        if not len(chunk):
            break
        losses[chunk], tolerances[chunk] = finite_losses(*state.removal_losses(free[chunk]))
        reached = np.argpartition(losses, wanted - 1)[wanted - 1]
        limit = min(below, float(losses[reached] + tolerances[reached]))
        first, width = first + width, 4 * width
    return losses, tolerances
