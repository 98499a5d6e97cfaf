"""Results to draw, and what to read off a picture of them."""

from __future__ import annotations

from typing import Any

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from greedyrls import greedy_path
from greedyrls.assess import PathAssessment, PermutationNull, Predictions, Stability

COLUMN = (3.4, 2.6)  # of a paper, in inches
HOSTILE = (
    "$",
    "a$b$c",
    r"\$x$",
    "<script>alert(1)</script>",
    "x" * 500,
    "a_b^{c}",
    "\\frac{1}{2}",
    "%&#~",
    "two\nlines\x00and a bell\x07",
    "",
)


def drawn(ax: Axes) -> Axes:
    """After drawing, which lays out and formats."""
    ax.figure.canvas.draw()
    return ax


def legend(ax: Axes) -> list[str]:
    found = ax.get_legend()
    assert found is not None
    return [text.get_text() for text in found.get_texts()]


def curve(ax: Axes, start: str) -> tuple[Any, Any]:
    """The line whose label begins so: where, and what."""
    (line,) = [line for line in ax.lines if str(line.get_label()).startswith(start)]
    x, y = line.get_data()
    return np.asarray(x), np.asarray(y)


def heights(band: Any) -> tuple[Any, Any]:
    """Lower and upper ends of a band, by where it is."""
    corners = np.concatenate([piece.vertices for piece in band.get_paths()])
    where = np.unique(corners[:, 0])
    values = [corners[corners[:, 0] == x, 1] for x in where]
    return np.array([value.min() for value in values]), np.array([value.max() for value in values])


def make_assessment(folds: int = 4, k: int = 6, n_random: int = 3, **options: Any) -> Any:
    """An assessment of made-up losses, selections from 20 features."""
    rng = np.random.default_rng(0)
    given: dict[str, Any] = {
        "measure": "squared",
        "test_losses": 2.0 + rng.random((folds, k)),
        "selection_losses": 1.0 + rng.random((folds, k)),
        "random_losses": 3.0 + rng.random((folds, n_random, k)),
        "initial_losses": 5.0 + rng.random(folds),
        "features": tuple(rng.permutation(20)[:k] for _ in range(folds)),
        "alphas": np.ones(folds),
        "chosen_sizes": np.full(folds, k),
        "shares": np.full(folds, 1.0 / folds),
        "folds": f"{folds}-fold",
        "criterion": "leave-one-out, squared loss",
        "n_samples": 40,
        "n_features_in": 20,
        "n_available": 20,
        "n_asked": k,
        "predictions": Predictions(
            "test folds", 40, rng.standard_normal(40), rng.standard_normal(40)
        ),
    }
    return PathAssessment(**given | options)


def make_null(k: int = 6, count: int = 30, measure: str = "squared") -> PermutationNull:
    losses = 2.0 + np.random.default_rng(1).random((count, k))
    return PermutationNull(measure, np.full(k, 1.5), losses, 1.5, losses.min(axis=1), 5.0)


def make_stability(names: tuple[str, ...] | None = None) -> Stability:
    rng = np.random.default_rng(2)
    first = (np.concatenate(([3], rng.permutation([0, 1, 2, 4, 5, 6, 7])))[:5] for _ in range(8))
    return Stability(tuple(first), 10, names, "8 halves")


def make_path(n_features: Any = 5, *, names: Any = None, targets: int = 0, **options: Any) -> Any:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((40, 10)) * np.arange(1, 11)
    y = np.sign(X[:, 2] + 0.5 * X[:, 5] + 0.5 * rng.standard_normal(40))
    if targets:
        y = y[:, None] + 0.3 * rng.standard_normal((40, targets))
    data = X if names is None else pd.DataFrame(X, columns=list(names))
    return greedy_path(data, y, n_features, **options)


def bars(ax: Axes) -> list[float]:
    return [float(bar.get_width()) for bar in ax.patches]


def names_of(ax: Axes) -> list[str]:
    return [label.get_text() for label in ax.get_yticklabels()]
