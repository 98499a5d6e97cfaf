"""Greedy feature selection for regularized least squares by the exact leave-one-out criterion.

Public names are loaded when they are first used, so that ``import greedyrls`` alone is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._estimators import GreedyRLSClassifier, GreedyRLSRegressor
    from ._greedy import extend_path, greedy_path
    from ._kernel_estimators import GreedyKernelRLS, GreedyKernelRLSClassifier
    from ._linear_model import LinearModel
    from ._path import SelectionPath
    from ._ranker import GreedyRLSRanker
    from ._selection_result import SelectionResult
    from ._size import SizeChoice
    from ._steps import Counters, Step, StopReason
    from ._surface import AlphaSurface

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

_MODULES = {
    "AlphaSurface": "_surface",
    "Counters": "_steps",
    "GreedyKernelRLS": "_kernel_estimators",
    "GreedyKernelRLSClassifier": "_kernel_estimators",
    "GreedyRLSClassifier": "_estimators",
    "GreedyRLSRanker": "_ranker",
    "GreedyRLSRegressor": "_estimators",
    "LinearModel": "_linear_model",
    "SelectionPath": "_path",
    "SelectionResult": "_selection_result",
    "SizeChoice": "_size",
    "Step": "_steps",
    "StopReason": "_steps",
    "extend_path": "_greedy",
    "greedy_path": "_greedy",
}


_SUBMODULES = ("assess", "export", "files", "metrics", "plots", "reference", "report")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        value = getattr(importlib.import_module(f".{_MODULES[name]}", __name__), name)
        globals()[name] = value
        return value
    if name in _SUBMODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_SUBMODULES})
