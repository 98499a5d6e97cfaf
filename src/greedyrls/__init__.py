"""Greedy feature selection for regularized least squares by the exact leave-one-out criterion.

Public names are loaded when they are first used, so that ``import greedyrls`` alone is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._select import extend_path, greedy_path
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
}


_SUBMODULES = ("assess", "export", "files", "metrics", "plots", "reference", "report")


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
