"""Algorithm 3 of the paper, as `greedyrls.reference` writes it: the yardstick of the answer."""

from __future__ import annotations

from greedyrls import __version__
from greedyrls.reference import greedy_rls
from harness.problems import Array, Problem
from libraries import ALPHA, Answer, as_indices

name = "Algorithm 3"
does = "exact LOO of ridge, intercept not penalised"
same_criterion = True
keeps_order = True

LARGEST_WORK = 2_500_000_000
SECONDS_PER_WORK = 1e-7  # measured on two cores; used for the reason below only


def version() -> str:
    return __version__


def can_run(problem: Problem) -> str | None:
    if problem.work > LARGEST_WORK:
        return f"would take about {problem.work * SECONDS_PER_WORK / 60:.0f} minutes"
    return None


def select(X: Array, y: Array, k: int) -> Answer:
    selection = greedy_rls(X, y, k, alpha=ALPHA, fit_intercept=True)
    return Answer(as_indices(selection.indices))
