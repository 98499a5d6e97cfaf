"""Grids of penalties in which digits are lost: columns of unlike scales, near-duplicates.

A problem goes by its seed, so that a test can name one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from problems import Case

LOSSES = ["squared", "squared", "squared", "absolute", "zero_one", "balanced_zero_one"]


def lost_grid_case(seed: int) -> Case:
    """A problem of 8 to 60 samples; the smallest penalty of a grid is often 1e-6."""
    rng = np.random.default_rng([78, seed])
    m, n = int(rng.integers(8, 61)), int(rng.integers(3, 31))
    base = rng.standard_normal((m, n))
    X = _related(rng, base.copy()) * 10.0 ** rng.integers(-4, 5, n)
    signal = base[:, : min(3, n)].sum(axis=1)
    loss = str(rng.choice(LOSSES))
    if loss in ("zero_one", "balanced_zero_one"):
        noisy = signal + rng.standard_normal(m)
        y = np.where(noisy > np.median(noisy), 1.0, -1.0)
    else:
        shape = (m,) if rng.random() < 0.8 else (m, 2)
        noise = float(rng.choice([0.0, 1.0, 1.0, 1.0]))
        y = (signal if len(shape) == 1 else signal[:, None]) + noise * rng.standard_normal(shape)
    lowest = 10.0 ** int(rng.choice([-6, -6, -3, 0]))
    ratio = 10.0 ** int(rng.integers(1, 4))
    options: dict[str, Any] = {
        "alpha": (lowest * ratio ** np.arange(int(rng.integers(2, 5)))).tolist(),
        "alpha_cv": int(rng.choice([2, 3, 5])),
        "loss": loss,
        "fit_intercept": bool(rng.random() < 0.75),
        "size_rule": str(rng.choice(["1se", "min"])),
    }
    if rng.random() < 0.25:
        options["alpha"] = "auto"
    refit = rng.choice(["chosen", "same", "number"], p=[0.4, 0.35, 0.25])
    if refit != "chosen":
        options["refit_alpha"] = "same" if refit == "same" else lowest
    if rng.random() < 0.2:
        options["sample_weight"] = rng.random(m) + 0.5
    if rng.random() < 0.15:
        options["direction"] = str(rng.choice(["floating", "foba", "swap"]))
    size: Any = "auto" if rng.random() < 0.7 else int(rng.integers(1, min(n, 10) + 1))
    return Case(X, y, size, options)


def _related(rng: np.random.Generator, X: Any) -> Any:
    """Let some columns be nearly equal, equal, opposite, constant or a sum."""
    m, n = X.shape
    for _ in range(int(rng.integers(0, 6))):
        a, b, c = rng.integers(n, size=3)
        relation = rng.random()
        if relation < 0.5:
            X[:, a] = X[:, b] + 10.0 ** rng.integers(-9, -4) * rng.standard_normal(m)
        elif relation < 0.65:
            X[:, a] = X[:, b]
        elif relation < 0.75:
            X[:, a] = -X[:, b]
        elif relation < 0.85:
            X[:, a] = 2.0
        else:
            X[:, a] = X[:, b] + X[:, c]
    return X
