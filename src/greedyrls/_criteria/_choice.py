"""Choosing among candidates by their losses: ties, runners-up, the result of a criterion."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .._base import LOSS_ROUNDING, TIE, TIE_ROUNDING, Float, smallest_indices
from .._features import Ranking
from .._problem import GroupLayout, Problem


class NumericalLimit(ArithmeticError):
    """The penalty is lost in the rounding of the data: no further step can be computed."""


class Spanned(ArithmeticError):
    """The chosen features span all others: no candidate is left."""


class Choice(NamedTuple):
    """The candidate to add, its loss, and the next best ones; a group goes by its first column."""

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


class HasSelection(Protocol):
    """Columns that are chosen, one by one or in groups."""

    layout: GroupLayout

    @property
    def selected(self) -> list[int]:
        """The chosen columns in their order."""
        ...


class HasCandidates(HasSelection, Protocol):
    """The same, with the candidates that are left."""

    problem: Problem
    barred: Float  # (n) −inf for candidates

    def bar_spanned(self) -> None:
        """Features that the chosen ones span are no candidates."""
        ...


class State(Model, HasCandidates, Protocol):
    """What a search sees of a model that grows."""

    @property
    def size(self) -> int:
        """How many columns are chosen."""
        ...

    @property
    def candidates(self) -> NDArray[np.intp]:
        """Features that may be added; a group goes by its first column."""
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

    def choose(self, state: Any, n_runners_up: int, remaining: int, by_cost: bool = True) -> Choice:
        """The best candidate, with its runners-up; `remaining` columns are to be added yet.

        Where candidates have costs, the best lowers the loss most for its cost, unless only the
        loss is to count.
        """
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


def mean_tolerances(losses: Float, scale: float, is_squared: bool) -> Float:
    """Return the same for mean losses (c), where `scale` is the loss of the empty model.

    A squared loss is the square of errors, other losses are accurate to rounding of the scale.
    """
    sizes = np.abs(losses)
    rounding = TIE_ROUNDING * np.sqrt(sizes * scale) if is_squared else LOSS_ROUNDING * scale
    tolerances: Float = TIE * sizes + rounding
    return tolerances


def fold_error(shares: Float, losses: Float) -> float:
    """Return the standard error of a mean over folds by their shares; NaN for a single fold."""
    count = len(shares)
    if count < 2:
        return math.nan
    squares = float(np.square(shares * (losses - shares @ losses)).sum())
    return math.sqrt(squares * count / (count - 1))


def first_of_best(indices: NDArray[np.intp], losses: Float, tolerances: Float) -> int:
    """Position of the best: lowest index among those tied with the smallest loss."""
    position = int(losses.argmin())
    (tied,) = (losses <= losses[position] + tolerances[position]).nonzero()
    return int(tied[indices[tied].argmin()]) if len(tied) > 1 else position


class Judge(NamedTuple):
    """Says which loss is better, for a model that has the loss `now`.

    With costs (n), the largest (now − loss)/cost is the best. Where no candidate lowers the loss by
    more than a tie, the smallest loss is: a high cost does not excuse a higher loss.
    """

    costs: Float | None = None
    now: float = 0.0

    def best(
        self, candidates: NDArray[np.intp], losses: Float, tolerances: Float, count: int
    ) -> list[int]:
        """Positions of the best, the best of the others, and so on; lowest index among ties."""
        left, positions = losses, list[int]()
        while len(positions) < min(count, len(losses)):
            if positions:
                left = np.where(np.arange(len(left)) == positions[-1], np.inf, left)
            values, allowed = left, tolerances
            if self.costs is not None:
                gains = left < self.now - tolerances
                if gains.any():
                    costs = self.costs[candidates]
                    values = np.where(gains, (left - self.now) / costs, np.inf)
                    allowed = tolerances / costs
            positions.append(first_of_best(candidates, values, allowed))
        return positions

    def keys(self, bounds: Float, candidates: NDArray[np.intp] | None = None) -> Float:
        """Candidates (all, if not given) are best scored in the order of these."""
        if self.costs is None:
            return bounds
        costs = self.costs if candidates is None else self.costs[candidates]
        gained = bounds - self.now
        return np.where(gained < 0.0, gained / costs, gained)

    def limits(
        self, candidates: NDArray[np.intp], losses: Float, tolerances: Float, count: int
    ) -> Float | float:
        """No candidate whose loss is above its limit, (n) or one for all, is among the best."""
        if len(losses) < count:
            return np.inf
        if self.costs is None:
            position = int(losses.argmin())
            if count > 1:
                position = int(np.argpartition(losses, count - 1)[count - 1])
            return float(losses[position] + tolerances[position])
        position = self.best(candidates, losses, tolerances, count)[-1]
        loss, tolerance = float(losses[position]), float(tolerances[position])
        if not loss < self.now - tolerance:
            return loss + tolerance
        score = (loss - self.now + tolerance) / self.costs[candidates[position]]
        limits: Float = self.now + self.costs * score
        return limits


def finite_losses(losses: Float, tolerances: Float) -> tuple[Float, Float]:
    """Return losses and tolerances with +inf, and no tolerance, for losses that are not finite."""
    if losses.max(initial=-np.inf) < np.inf:
        return losses, tolerances
    lost = ~(losses < np.inf)
    return np.where(lost, np.inf, losses), np.where(lost, 0.0, tolerances)


def choose_among(
    candidates: NDArray[np.intp],
    losses: Float,
    tolerances: Float,
    n_runners_up: int,
    second: Callable[[], Float] | None = None,
    judge: Judge = Judge(),  # noqa: B008 (a value)
) -> Choice:
    """Choose the best of candidates whose losses are all computed, without a pivot.

    If all of them tie, the smallest of the losses returned by `second` decides.
    """
    losses, tolerances = finite_losses(losses, tolerances)
    deciding = losses
    is_tied = losses.max() < np.inf and np.ptp(losses) <= tolerances.min()
    if second is not None and is_tied:
        deciding = second()
        tolerances, judge = TIE * np.abs(deciding), Judge()
    position, *others = judge.best(candidates, deciding, tolerances, n_runners_up + 1)
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
