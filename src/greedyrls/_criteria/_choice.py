"""Choosing among candidates by their losses: ties, runners-up, what a criterion answers."""

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
    """The chosen features span all others: there is nothing left to add."""


class Choice(NamedTuple):
    """The feature to add, its loss, and the next best ones."""

    feature: int
    loss: float
    pivot: Any  # what the criterion measured of it, for the state that adds it
    runners_up: tuple[tuple[int, float], ...]
    ranking: Ranking


class Model(Protocol):
    """What a step says of the model that it led to."""

    @property
    def loss(self) -> float:
        """Held-out loss of the current model."""
        ...

    @property
    def standard_error(self) -> float:
        """Of that loss; not a number where there is none."""
        ...

    @property
    def fold_losses(self) -> Float | None:
        """The loss on each split, (K), if there are splits."""
        ...


class State(Model, Protocol):
    """What a search sees of a model that grows."""

    @property
    def size(self) -> int:
        """How many features are chosen."""
        ...

    def mean_loss(self, total: float) -> float:
        """A loss as choices have it, in the units of `loss`."""
        ...

    def measure(self, index: int) -> Any:
        """The pivot of one candidate."""
        ...

    def add(self, index: int, pivot: Any, ranking: Ranking, remaining: int) -> None:
        """Add a feature; `ranking` names the likely next ones."""
        ...


class Criterion(Protocol):
    """Chooses the next feature to add."""

    def choose(self, state: Any, n_runners_up: int, remaining: int) -> Choice:
        """The best candidate, with its runners-up; `remaining` features are to be added yet."""
        ...

    def least(self, state: Any) -> float:
        """A lower bound of the loss with the best candidate added, if one is known for little."""
        ...


def check_candidates(is_spanned: bool) -> None:
    """Raise `Spanned` if the chosen features leave nothing of any candidate."""
    if is_spanned:
        raise Spanned("the chosen features span all others up to rounding")


def tie_tolerances(losses: Float, scales: Float) -> Float:
    """How far above each loss another one counts as equal; losses are t × c, the result (c).

    1e-10 relative. A loss far below the scale of its target (t) is the square of errors that are
    themselves known to rounding of that scale only, so there the tolerance is that rounding.
    """
    rounding = np.sqrt(losses * scales[:, None])
    rounding *= TIE_ROUNDING
    rounding += TIE * losses
    total: Float = rounding[0] if len(rounding) == 1 else rounding.sum(axis=0)
    return total


def first_of_best(indices: NDArray[np.intp], losses: Float, tolerances: Float) -> int:
    """Place of the best: lowest index among those tied with the smallest loss."""
    place = int(losses.argmin())
    (tied,) = (losses <= losses[place] + tolerances[place]).nonzero()
    return int(tied[indices[tied].argmin()]) if len(tied) > 1 else place


def best_places(
    indices: NDArray[np.intp], losses: Float, tolerances: Float, count: int
) -> list[int]:
    """Places of the best, the best of the others, and so on."""
    places = [first_of_best(indices, losses, tolerances)]
    left = losses
    for _ in range(min(count, len(losses)) - 1):
        left = np.where(np.arange(len(left)) == places[-1], np.inf, left)
        places.append(first_of_best(indices, left, tolerances))
    return places


def choose_among(
    candidates: NDArray[np.intp],
    losses: Float,
    tolerances: Float,
    n_runners_up: int,
    second: Callable[[], Float] | None = None,
) -> Choice:
    """The best of candidates whose losses are all known, without a pivot.

    Where all of them tie, the smallest of the losses that `second` gives is the best.
    """
    lost = ~(losses < np.inf)
    losses, tolerances = np.where(lost, np.inf, losses), np.where(lost, 0.0, tolerances)
    deciding = losses
    is_tied = not lost.any() and np.ptp(losses) <= tolerances.min()
    if second is not None and is_tied:
        deciding = second()
        tolerances = TIE * np.abs(deciding)
    place, *others = best_places(candidates, deciding, tolerances, n_runners_up + 1)
    if losses[place] == np.inf:
        raise NumericalLimit("no candidate has a finite loss")

    def ranking(count: int) -> list[int]:
        return [int(candidates[place]) for place in best_first(deciding, count)]

    return Choice(
        int(candidates[place]),
        float(losses[place]),
        None,
        tuple((int(candidates[other]), float(losses[other])) for other in others),
        ranking,
    )


def smallest(values: Float, count: int) -> NDArray[np.intp]:
    """Places of the smallest values below +inf, at most `count`, in no order."""
    places, least = smallest_indices(values, count)
    return places[least < np.inf]


def best_first(values: Float, count: int) -> list[int]:
    """Places of the smallest values below +inf, best first, lowest place first among equals."""
    places, least = smallest_indices(values, count)
    ordered: list[int] = places[np.lexsort((places, least))].tolist()
    return ordered[: np.count_nonzero(least < np.inf)]
