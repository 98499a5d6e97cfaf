"""When a stepper is asked: not for every step, if it leaves one after the other."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from internals import Stepping, Stop


class Script:
    """A stepper that answers what it was told to, and None where it can begin."""

    def __init__(self, begins: Sequence[Stop | None], steps: Sequence[int | Stop]) -> None:
        self._begins, self._steps = list(begins), list(steps)
        self.n_begun = 0

    def begin(self, last: int) -> Stop | None:
        self.n_begun += 1
        return self._begins.pop(0) if self._begins else None

    def step(self, last: int) -> int | Stop:
        return self._steps.pop(0)


def test_steps_end_where_the_stepper_stops() -> None:
    stepper = Script([], [4, 2, Stop.IN_DOUBT, 7, Stop.DONE])
    stepping = Stepping(stepper)
    assert [stepping.step(9) for _ in range(5)] == [4, 2, None, 7, None]
    assert stepper.n_begun == 2


def test_pauses_grow_while_no_step_is_taken() -> None:
    stepper = Script([], [Stop.IN_DOUBT] * 6 + [3, Stop.IN_DOUBT, Stop.IN_DOUBT, 5])
    stepping = Stepping(stepper)
    begun = []
    for _ in range(67):
        stepping.step(99)
        begun.append(stepper.n_begun)
    asked = [step for step, count in enumerate(begun) if count > ([0, *begun])[step]]
    # Pauses of 1, 3, 7 and 15 steps at most; none after a step, and then they begin again.
    assert asked[:6] == [0, 2, 6, 14, 30, 46]
    assert asked[6:] == [62, 64, 66]


@pytest.mark.parametrize("reason", [Stop.NOT_AVAILABLE, Stop.NEEDS_COLUMNS, Stop.DONE])
def test_what_cannot_begin_is_asked_again(reason: Stop) -> None:
    stepper = Script([reason, reason], [1])
    stepping = Stepping(stepper)
    assert [stepping.step(5) for _ in range(3)] == [None, None, 1]


def test_reasons_are_sentences() -> None:
    assert all(reason.value.endswith(".") for reason in Stop)
