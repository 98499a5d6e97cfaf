"""What a stepper is, which one a search has, and when it is asked."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Protocol

from .._criteria import (
    Criterion,
    FoldState,
    LeaveOneOut,
    SelectionState,
    State,
    is_loss_known,
)

# Steps until a stepper is asked again at most, after it left many to the criterion.
_LONGEST_PAUSE = 15


class LostDigits(ArithmeticError):
    """Losses are not known as well as they have to be: the general engine repeats the search."""


class Stop(Enum):
    """Why a stepper leaves the next step to the criterion."""

    DONE = "It leads beyond the features that were asked for, or that it has room for."
    NEEDS_COLUMNS = "The Gram column of the best candidate was not computed yet."
    IN_DOUBT = "Rounding may decide it: a tie, a pivot without digits, drift, a leverage of 1."
    LOST_DIGITS = "Rounding is more of a loss than engines may differ: the search is repeated."
    NOT_AVAILABLE = "Steps of this kind of model are not implemented."


class Stepper(Protocol):
    """Takes plain forward steps by itself: those that nothing but the smallest loss decides.

    It belongs to one search, whose state it moves. It may be ahead of the state, by steps that
    were not asked for yet: whoever reads the state in between finds the chosen features, their
    moments, the loss and its standard error, and nothing else is to be relied on or changed before
    the stepper stops.
    """

    def begin(self, last: int) -> Stop | None:
        """Make ready for steps from the state as it is, to at most `last` features.

        Nothing is changed; why there can be no steps now, if so.
        """
        ...

    @property
    def runners_up(self) -> tuple[tuple[int, float], ...]:
        """The next best candidates of the last step, with their losses as in a `Choice`."""
        ...

    def step(self, last: int) -> int | Stop:
        """The feature that the next step added, with the state moved by it; or why there is none.

        In that case the state is complete: the criterion can take the step from there, and `begin`
        is called before the next one.
        """
        ...


def check_digits(stop: Stop) -> None:
    """Raise an error if a search cannot go on from where a stepper stopped."""
    if stop is Stop.LOST_DIGITS:
        raise LostDigits("losses have lost digits")


class Stepping:
    """Asks a stepper for steps; after repeated fallbacks, backs off exponentially."""

    def __init__(self, stepper: Stepper, is_known: Callable[[], bool] | None = None) -> None:
        """`is_known` says whether the loss after a step of the criterion is known well enough."""
        self._stepper, self._is_known = stepper, is_known
        self._taken: int | None = None  # since the stepper began; None if it is not under way
        self._pause = self._longer = 0

    def step(self, last: int) -> int | None:
        """The feature that the stepper added; None if the criterion is to take this step."""
        if self._taken is None:
            if self._pause:
                self._pause -= 1
                return None
            stop = self._stepper.begin(last)
            if stop is not None:
                check_digits(stop)
                return None
            self._taken = 0
        answer = self._stepper.step(last)
        if not isinstance(answer, Stop):
            self._taken += 1
            return answer
        check_digits(answer)
        self._longer = 0 if self._taken else min(_LONGEST_PAUSE, 2 * self._longer + 1)
        self._pause, self._taken = self._longer, None
        return None

    def check(self) -> None:
        """Raise an error if the criterion has led to a model whose loss has lost digits."""
        if self._taken is None and self._is_known is not None and not self._is_known():
            raise LostDigits("losses have lost digits")

    @property
    def is_under_way(self) -> bool:
        """Whether the stepper has begun, and not stopped yet."""
        return self._taken is not None

    def pause(self, count: int) -> None:
        """Leave so many steps to the criterion, then begin again."""
        self._taken, self._pause = None, count

    @property
    def runners_up(self) -> tuple[tuple[int, float], ...]:
        """The next best candidates of the last step."""
        return self._stepper.runners_up


def stepping_for(state: State, criterion: Criterion, n_runners_up: int) -> Stepping | None:
    """Return what takes steps faster than the criterion does, if anything."""
    if state.problem.is_grouped:
        return None
    if isinstance(state, FoldState):
        from ._recorded_folds import RecordedFoldStepper, suits_folds

        if not state.problem.X.location.on_device or not suits_folds(state, n_runners_up):
            return None
        return Stepping(RecordedFoldStepper(state))
    if not isinstance(state, SelectionState):
        return None
    stepper: Stepper | None = None
    if not state.problem.X.location.on_device:
        from ._compiled_stepper import compiled_stepper

        stepper = compiled_stepper(state, criterion, n_runners_up)
        return None if stepper is None else Stepping(stepper, lambda: is_loss_known(state))
    if isinstance(criterion, LeaveOneOut) and not n_runners_up:
        from ._recorded import RecordedStepper  # which loads all that devices need

        stepper = RecordedStepper(state, criterion)
    return None if stepper is None else Stepping(stepper)
