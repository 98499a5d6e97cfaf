"""What is asked of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..path import DirectionName, SizeRule


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of the data: as in `greedy_path`, with shuffled folds made of a number."""

    n_features: int | Literal["auto"] = "auto"
    alpha: float | list[float] | Literal["auto"] = "auto"
    folds: int | None = None  # of the criterion; None is leave-one-out
    loss: str = "auto"
    size_rule: SizeRule = "1se"
    max_features: int | None = None
    fit_intercept: bool = True
    whole_columns: bool = False  # all texts of a column together
    costs: tuple[tuple[str, float], ...] = ()  # of columns; others cost 1
    budget: float | None = None
    direction: DirectionName = "forward"
    class_weight: Literal["balanced"] | tuple[tuple[str, float], ...] | None = None
    seed: int = 0
    n_jobs: int | None = None
    verbose: int = 0
