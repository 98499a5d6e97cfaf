"""The request that an analysis of a table answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..path import DirectionName, SizeRule


@dataclass(frozen=True, slots=True)
class Question:
    """A request for a selection: options as in `greedy_path`, with a number of shuffled folds."""

    n_features: int | Literal["auto"] = "auto"
    alpha: float | list[float] | Literal["auto"] = "auto"
    folds: int | None = None  # of the search; None is leave-one-out
    loss: str = "auto"
    size_rule: SizeRule = "1se"
    max_features: int | None = None
    fit_intercept: bool = True
    whole_columns: bool = False  # select all texts of a column together
    costs: tuple[tuple[str, float], ...] = ()  # of columns; other columns cost 1
    budget: float | None = None
    direction: DirectionName = "forward"
    class_weight: Literal["balanced"] | tuple[tuple[str, float], ...] | None = None
    seed: int = 0
    n_jobs: int | None = None
    verbose: int = 0
