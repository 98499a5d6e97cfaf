"""The compiled steps, where the package was built with a C compiler."""

from __future__ import annotations

import importlib
import os
import warnings
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
        return importlib.import_module("._compiled", __package__)
    except ModuleNotFoundError:
        return None
    except ImportError as error:
        warnings.warn(
            f"The compiled steps cannot be loaded, so steps run in NumPy: {error}. Install "
            "greedyrls again on this machine, or set GREEDYRLS_COMPILED=0.",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
