"""Sets drawn at random: what the final model makes of any features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..tasks import Array, Labels, Task
from . import Chosen

title = "random"
does = "mean of 10 sets drawn at random"
one_call = True

SETS = 10


def why_not(X: Array, task: Task, k: int) -> str | None:
    return None


def select(X: Array, y: Labels, sizes: Sequence[int], task: Task, seed: int) -> Chosen:
    generator = np.random.default_rng(seed)
    n = X.shape[1]
    return {
        k: np.array([generator.choice(n, size=k, replace=False) for _ in range(SETS)])
        for k in sizes
    }
