"""RLScore, the authors' own implementation of Algorithm 3.

Its last release (0.8.1, source only) ships C files that Cython made for Python 3.6; they were found
not to compile on 3.7, 3.8, 3.9 and 3.11, so on a current Python the import fails and the run says
so. On 3.6 this call gave what `greedyrls.reference` gives, in the same order (300 x 40, k = 10).
"""

from __future__ import annotations

from importlib import metadata

import numpy as np

from harness.problems import Array, Problem
from libraries import ALPHA, Answer, as_indices

name = "RLScore GreedyRLS"
does = "exact LOO of ridge, intercept penalised (almost not, with this bias)"
same_criterion = False
keeps_order = True

LARGEST_WORK = 1_000_000_000
BIAS = 1e6  # the constant feature is sqrt(BIAS), so its penalty is in effect ALPHA / BIAS

try:
    from rlscore.learner import GreedyRLS
except ImportError as error:
    raise ImportError(f"{error} (0.8.1 compiled on Python 3.6 only, of those tried)") from error
if not hasattr(np, "mat"):
    raise ImportError("RLScore calls numpy.mat, which NumPy 2 removed")


def version() -> str:
    return metadata.version("rlscore")


def can_run(problem: Problem) -> str | None:
    return "would take minutes" if problem.work > LARGEST_WORK else None


def select(X: Array, y: Array, k: int) -> Answer:
    return Answer(as_indices(GreedyRLS(X, y, k, regparam=ALPHA, bias=BIAS).selected))
