"""Greedy feature selection for regularized least squares by the exact leave-one-out criterion."""

from ._estimators import GreedyRLSClassifier, GreedyRLSRegressor
from ._greedy import extend_path, greedy_path
from ._path import Counters, SelectionPath, Step, StopReason

__all__ = [
    "Counters",
    "GreedyRLSClassifier",
    "GreedyRLSRegressor",
    "SelectionPath",
    "Step",
    "StopReason",
    "extend_path",
    "greedy_path",
]

__version__ = "0.1.0"
