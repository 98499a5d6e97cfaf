"""Greedy feature selection for regularized least squares by the exact leave-one-out criterion.

Public names are loaded when they are first used, so that ``import greedyrls`` alone is quick.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._select import extend_path, greedy_path, show_versions
    from .app import LinearModel, SelectionResult
    from .estimators import (
        GreedyKernelRLS,
        GreedyKernelRLSClassifier,
        GreedyRLSClassifier,
        GreedyRLSRanker,
        GreedyRLSRegressor,
    )
    from .path import AlphaSurface, Counters, SelectionPath, SizeChoice, Step, StopReason

__all__ = [
    "AlphaSurface",
    "Counters",
    "GreedyKernelRLS",
    "GreedyKernelRLSClassifier",
    "GreedyRLSClassifier",
    "GreedyRLSRanker",
    "GreedyRLSRegressor",
    "LinearModel",
    "SelectionPath",
    "SelectionResult",
    "SizeChoice",
    "Step",
    "StopReason",
    "extend_path",
    "greedy_path",
    "show_versions",
]

__version__ = "0.1.0"

_PACKAGES = {
    "AlphaSurface": "path",
    "Counters": "path",
    "GreedyKernelRLS": "estimators",
    "GreedyKernelRLSClassifier": "estimators",
    "GreedyRLSClassifier": "estimators",
    "GreedyRLSRanker": "estimators",
    "GreedyRLSRegressor": "estimators",
    "LinearModel": "app",
    "SelectionPath": "path",
    "SelectionResult": "app",
    "SizeChoice": "path",
    "Step": "path",
    "StopReason": "path",
    "extend_path": "_select",
    "greedy_path": "_select",
    "show_versions": "_select",
}


_SUBMODULES = ("assess", "export", "files", "metrics", "plots", "reference", "report")


# Modules that held public classes before these had the names by which users know them.
_FORMER = (
    "_assessment",
    "_calibration",
    "_class_rates",
    "_data_summary",
    "_estimators",
    "_kernel_estimators",
    "_kernel_functions",
    "_linear_model",
    "_null",
    "_path",
    "_predictions",
    "_ranker",
    "_regressor",
    "_selection_result",
    "_sigmoid",
    "_size",
    "_stability",
    "_steps",
    "_surface",
)


class _FormerModules:
    """Says what to do about pickles that name modules which no longer exist."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> None:
        """An error with a sentence for these modules; others are found by other finders."""
        package, _, module = name.partition(".")
        if package == __name__ and module in _FORMER:
            raise ModuleNotFoundError(
                f"There is no module {name}: this is probably a pickle that an earlier version of "
                "greedyrls wrote, which cannot be read any more. Fit or select again, or load the "
                "result from the JSON file that `save` wrote; pickles written now will be read.",
                name=name,
            )


# Asked after all others, and only about modules that nobody has found.
sys.meta_path.append(_FormerModules)


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        value = getattr(importlib.import_module(f".{_PACKAGES[name]}", __name__), name)
        globals()[name] = value
        return value
    if name in _SUBMODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_SUBMODULES})
