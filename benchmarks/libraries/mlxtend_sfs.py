"""mlxtend's SequentialFeatureSelector with 5-fold cross-validation, its default."""

from __future__ import annotations

from importlib import metadata

from mlxtend.feature_selection import SequentialFeatureSelector
from sklearn.linear_model import Ridge

from harness.problems import Array, Problem
from libraries import ALPHA, Answer, as_indices

name = "mlxtend SFS"
does = "5-fold cross-validation of ridge by refitting"
same_criterion = False
keeps_order = True

FOLDS = 5
MOST_FITS = 4000  # at one or two milliseconds each


def version() -> str:
    return metadata.version("mlxtend")


def can_run(problem: Problem) -> str | None:
    fits = FOLDS * problem.n * problem.k
    return f"would take {fits:.0e} fits" if fits > MOST_FITS else None


def select(X: Array, y: Array, k: int) -> Answer:
    selector = SequentialFeatureSelector(
        Ridge(alpha=ALPHA), k_features=k, scoring="neg_mean_squared_error", cv=FOLDS
    )
    subsets = selector.fit(X, y).subsets_
    chosen: list[int] = []
    for size in range(1, k + 1):
        chosen += [i for i in subsets[size]["feature_idx"] if i not in chosen]
    return Answer(as_indices(chosen))
