"""Whether Algorithms 1, 2, 3 and ours choose the same features, on problems small enough for 1."""

from __future__ import annotations

import time
from itertools import product
from typing import Any

import numpy as np

from greedyrls import greedy_path
from greedyrls.reference import greedy_rls, low_rank_ls_svm, wrapper

from .scaling import SAME_LOSS, two_normals

SAMPLES, FEATURES, SELECTED = 30, 12, 6
LOSSES = ("squared", "zero_one")
ALPHAS = (0.01, 1.0, 100.0)
REFERENCES = {"Algorithm 1": wrapper, "Algorithm 2": low_rank_ls_svm, "Algorithm 3": greedy_rls}


def check() -> dict[str, Any]:
    """All losses and penalties, with and without intercept: how many problems, who differed where.

    Algorithm 1 refits the model for every candidate with every sample left out.
    """
    began = time.perf_counter()
    X, y = two_normals(SAMPLES, FEATURES)
    differing: list[str] = []
    cases = list(product(LOSSES, ALPHAS, (False, True)))
    for loss, alpha, fit_intercept in cases:
        settings: dict[str, Any] = {"alpha": alpha, "loss": loss, "fit_intercept": fit_intercept}
        path = greedy_path(X, y, SELECTED, **settings)
        for name, algorithm in REFERENCES.items():
            theirs = algorithm(X, y, SELECTED, **settings)
            if not (
                np.array_equal(path.indices, theirs.indices)
                and np.allclose(path.losses, theirs.losses, rtol=SAME_LOSS, atol=1e-12)
            ):
                differing.append(f"{name}, {loss} loss, α = {alpha:g}, {fit_intercept=}")
    return {
        "problems": len(cases),
        "samples": SAMPLES,
        "features": FEATURES,
        "selected": SELECTED,
        "differing": differing,
        "seconds": round(time.perf_counter() - began, 1),
    }
