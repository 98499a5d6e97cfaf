"""How many kernel centres: parameters checked, shares made numbers."""

from __future__ import annotations

import math
import numbers
from typing import Any

from .._problem import is_whole


def largest_number(max_centers: Any) -> Any:
    """The parameter, if it may be one."""
    if max_centers is not None and (not is_whole(max_centers) or max_centers < 1):
        raise ValueError(
            f"max_centers must be None or a whole number, 1 or more; got {max_centers!r}."
        )
    return max_centers


def number_of_centers(n_centers: Any, available: int, most: int | None) -> Any:
    """A share of all candidates as a number of them; "auto" as it is."""
    wrong = f"n_centers must be a whole number, a share in (0, 1] or 'auto', got {n_centers!r}."
    if isinstance(n_centers, str):
        if n_centers != "auto":
            raise ValueError(wrong)
        return n_centers
    if isinstance(n_centers, bool) or not isinstance(n_centers, numbers.Real):
        raise TypeError(wrong)
    if isinstance(n_centers, numbers.Integral):
        count = int(n_centers)
        if not 1 <= count <= available:
            raise ValueError(
                f"n_centers={count} is not possible: there are {available} candidates. Ask for 1 "
                f"to {available}."
            )
        if most is not None and count > largest_number(most):
            raise ValueError(
                f"n_centers={count} is more than max_centers={most}; max_centers is for 'auto', "
                "leave it out."
            )
        return count
    share = float(n_centers)
    if not 0.0 < share <= 1.0:
        raise ValueError(f"{wrong} For a number of centres pass a whole number.")
    return max(1, math.floor(share * available * (1 + 1e-12)))
