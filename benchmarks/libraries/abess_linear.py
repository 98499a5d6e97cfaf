"""abess: best-subset selection of a given size by splicing."""

from __future__ import annotations

from importlib import metadata

import numpy as np
from abess.linear import LinearRegression

from harness.problems import Array, Problem
from libraries import Answer, as_indices

name = "abess"
does = "training error by splicing, no validation, order not kept"
same_criterion = False
keeps_order = False


def version() -> str:
    return metadata.version("abess")


def can_run(problem: Problem) -> str | None:
    return None


def select(X: Array, y: Array, k: int) -> Answer:
    model = LinearRegression(support_size=[k]).fit(X, y)
    return Answer(as_indices(np.flatnonzero(model.coef_)))
