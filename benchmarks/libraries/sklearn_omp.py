"""scikit-learn's orthogonal matching pursuit: the fast greedy selector that most people have.

The peer at its best: its default forms X'X whenever m > n, which is faster up to about 2,000
features (50000 x 1000, k = 50: 0.9 s, not 2.8 s) and slower beyond (10000 x 8000: 12 s, not
2.5 s), so here X'X is formed for few features only.
"""

from __future__ import annotations

from importlib import metadata

import numpy as np
from sklearn.linear_model import OrthogonalMatchingPursuit

from harness.problems import Array, Problem
from libraries import Answer, as_indices

name = "scikit-learn OMP"
does = "correlation with the residual, no validation, order not kept"
same_criterion = False
keeps_order = False

MOST_FEATURES_FOR_GRAM = 2000


def version() -> str:
    return metadata.version("scikit-learn")


def can_run(problem: Problem) -> str | None:
    return None


def select(X: Array, y: Array, k: int) -> Answer:
    m, n = X.shape
    precompute = m > n and n <= MOST_FEATURES_FOR_GRAM
    model = OrthogonalMatchingPursuit(n_nonzero_coefs=k, precompute=precompute).fit(X, y)
    return Answer(as_indices(np.flatnonzero(model.coef_)))
