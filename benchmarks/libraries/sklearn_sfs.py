"""scikit-learn's SequentialFeatureSelector: one refit for each candidate and each sample left out.

Leave-one-out is our criterion, computed by literal refits, so the answer must be ours; the
selector does not keep the order.
"""

from __future__ import annotations

from importlib import metadata

import numpy as np
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.linear_model import Ridge
from sklearn.model_selection import LeaveOneOut

from harness.problems import Array, Problem
from libraries import ALPHA, Answer, as_indices

name = "scikit-learn SFS"
does = "exact LOO of ridge by refitting, order not kept"
same_criterion = True
keeps_order = False

MOST_FITS = 4000  # at one or two milliseconds each


def version() -> str:
    return metadata.version("scikit-learn")


def can_run(problem: Problem) -> str | None:
    fits = problem.work
    return f"would take {fits:.0e} fits" if fits > MOST_FITS else None


def select(X: Array, y: Array, k: int) -> Answer:
    selector = SequentialFeatureSelector(
        Ridge(alpha=ALPHA),
        n_features_to_select=k,
        scoring="neg_mean_squared_error",
        cv=LeaveOneOut(),
    )
    return Answer(as_indices(np.flatnonzero(selector.fit(X, y).get_support())))
