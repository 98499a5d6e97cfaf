"""The direction of a search."""

from __future__ import annotations

import numbers
from typing import Any, NamedTuple, get_args

from ._steps import DirectionName

# For direction "foba": a feature is removed if this raises the loss by less than this share of
# the last gain.
BACKWARD_RATIO = 0.5


class Direction(NamedTuple):
    """A direction of search, and for "foba" the share of a gain that a removal may cost."""

    name: DirectionName = "forward"
    ratio: float | None = None


FORWARD = Direction()


def check_direction(direction: Any, backward_ratio: Any = None) -> Direction:
    """Check the name of a direction and its ratio."""
    allowed = get_args(DirectionName)
    if not isinstance(direction, str) or direction not in allowed:
        names = ", ".join(repr(name) for name in allowed)
        raise ValueError(f"direction must be one of {names}; got {direction!r}.")
    name: Any = direction
    if name != "foba":
        if backward_ratio is not None:
            raise ValueError(
                f"backward_ratio={backward_ratio!r} is for direction='foba', got "
                f"direction={direction!r}; leave it out."
            )
        return Direction(name)
    ratio = BACKWARD_RATIO if backward_ratio is None else backward_ratio
    if isinstance(ratio, bool) or not isinstance(ratio, numbers.Real):
        raise TypeError(f"backward_ratio must be a number in (0, 1), got {backward_ratio!r}.")
    if not 0.0 < float(ratio) < 1.0:
        raise ValueError(f"backward_ratio must be in (0, 1), got {backward_ratio!r}.")
    return Direction(name, float(ratio))
