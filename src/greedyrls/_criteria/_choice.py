"""Choosing among candidates by their losses: ties, runners-up, the result of a criterion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .._base import TIE, TIE_ROUNDING, Float, smallest_indices
from .._features import Ranking


class NumericalLimit(ArithmeticError):
    """The penalty is lost in the rounding of the data: no further step can be computed."""


class Spanned(ArithmeticError):
    """The chosen features span all others: no candidate is left."""


class Choice(NamedTuple):
    """The feature to add, its loss, and the next best ones."""

    feature: int
    loss: float
    pivot: Any  # the criterion's measurements of it, for the state that adds it
    runners_up: tuple[tuple[int, float], ...]
    ranking: Ranking


class Model(Protocol):
    """The losses of a model that a step led to."""

    @property
    def loss(self) -> float:
        """Held-out loss of the current model."""
        ...

    @property
    def standard_error(self) -> float:
        """Standard error of that loss; NaN where it is undefined."""
        ...

    @property
    def fold_losses(self) -> Float | None:
        """The loss on each split, (K); None without splits."""
        ...


class State(Model, Protocol):
    """The interface of a growing model to the search."""

    @property
    def size(self) -> int:
        """The number of chosen features."""
        ...

    def mean_loss(self, total: float) -> float:
        """Convert the loss of a `Choice` to the units of `loss`."""
        ...

    def measure(self, index: int) -> Any:
        """Return the pivot of one candidate."""
        ...

    def add(self, index: int, pivot: Any, ranking: Ranking, remaining: int) -> None:
        """Add a feature; `ranking` names the likely next ones."""
        ...


class Criterion(Protocol):
    """Chooses the next feature to add."""

    def choose(self, state: Any, n_runners_up: int, remaining: int) -> Choice:
        """Return the best candidate with its runners-up; `remaining` more will be added."""
        ...

    def least(self, state: Any) -> float:
        """Return a lower bound of the loss with the best candidate, if a cheap one exists."""
        ...


def check_candidates(is_spanned: bool) -> None:
    """Raise `Spanned` if the chosen features span all candidates."""
    if is_spanned:
        raise Spanned("the chosen features span all others up to rounding")


def tie_tolerances(losses: Float, scales: Float) -> Float:
    """Return how far above each loss another one counts as equal, (c), for losses (t × c).

    The tolerance is 1e-10 relative. A loss far below the scale of its target (t) is the square of
    errors that are accurate only to rounding of that scale, so there it is that rounding.
    """
    rounding = np.sqrt(losses * scales[:, None])
    rounding *= TIE_ROUNDING
    rounding += TIE * losses
    total: Float = rounding[0] if len(rounding) == 1 else rounding.sum(axis=0)
    return total


def first_of_best(indices: NDArray[np.intp], losses: Float, tolerances: Float) -> int:
    """Return the position of the lowest index among those tied with the smallest loss."""
    position = int(losses.argmin())
    (tied,) = (losses <= losses[position] + tolerances[position]).nonzero()
    return int(tied[indices[tied].argmin()]) if len(tied) > 1 else position


def best_positions(
    indices: NDArray[np.intp], losses: Float, tolerances: Float, count: int
) -> list[int]:
    """Return positions of the best, the best of the others, and so on."""
    positions = [first_of_best(indices, losses, tolerances)]
    left = losses
    for _ in range(min(count, len(losses)) - 1):
        left = np.where(np.arange(len(left)) == positions[-1], np.inf, left)
        positions.append(first_of_best(indices, left, tolerances))
    return positions


def choose_among(
    candidates: NDArray[np.intp],
    losses: Float,
    tolerances: Float,
    n_runners_up: int,
    second: Callable[[], Float] | None = None,
) -> Choice:
    """Choose the best of candidates whose losses are all computed, without a pivot.

    If all of them tie, the smallest of the losses returned by `second` decides.
    """
    lost = ~(losses < np.inf)
    losses, tolerances = np.where(lost, np.inf, losses), np.where(lost, 0.0, tolerances)
    deciding = losses
    is_tied = not lost.any() and np.ptp(losses) <= tolerances.min()
    if second is not None and is_tied:
        deciding = second()
        tolerances = TIE * np.abs(deciding)
    position, *others = best_positions(candidates, deciding, tolerances, n_runners_up + 1)
    if losses[position] == np.inf:
        raise NumericalLimit("no candidate has a finite loss")

    def ranking(count: int) -> list[int]:
        return [int(candidates[position]) for position in best_first(deciding, count)]

    return Choice(
        int(candidates[position]),
        float(losses[position]),
        None,
        tuple((int(candidates[other]), float(losses[other])) for other in others),
        ranking,
    )


def smallest(values: Float, count: int) -> NDArray[np.intp]:
    """Return positions of the `count` smallest finite values, in no particular order."""
    positions, least = smallest_indices(values, count)
    return positions[least < np.inf]


def best_first(values: Float, count: int) -> list[int]:
    """Return positions of the `count` smallest finite values, sorted by value, then position."""
    positions, least = smallest_indices(values, count)
    ordered: list[int] = positions[np.lexsort((positions, least))].tolist()
    return ordered[: np.count_nonzero(least < np.inf)]
