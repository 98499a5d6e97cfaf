"""The compiled steps, where the package was built with a C compiler."""

from __future__ import annotations

import os
from functools import cache
from types import ModuleType


@cache
def native() -> ModuleType | None:
    """The compiled module; None if there is none, or with GREEDYRLS_COMPILED=0.

    The variable may also name a variant that this processor has (`avx2`, `baseline`), instead of
    the best one.
    """
    if os.environ.get("GREEDYRLS_COMPILED") == "0":
        return None
    try:
        from . import _compiled
    except ImportError:
        return None
    return _compiled
