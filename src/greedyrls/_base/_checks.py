"""Checks of single values."""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np


def is_whole(value: Any) -> TypeGuard[int]:
    """Whether the value is an integer of Python or NumPy; True and False do not count."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
