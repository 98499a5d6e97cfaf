"""Problems for the tests: hypothesis strategies and named troublemakers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st


@dataclass
class Case:
    """A selection problem; `options` go to greedy_path and to the reference alike."""

    X: np.ndarray
    y: np.ndarray
    n_features: int
    options: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        shape, targets = self.X.shape, self.y.shape
        return f"Case({shape}, y {targets}, k={self.n_features}, {self.options})"


@st.composite
def cases(draw: st.DrawFn, *, max_samples: int = 16, max_features: int = 12) -> Case:
    """Small problems: wide and tall, weighted, several targets, duplicates, α from 1e-6 to 1e6."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m = draw(st.integers(4, max_samples))
    n = draw(st.integers(1, max_features))
    kind = draw(st.sampled_from(["normal", "integer", "binary", "scaled", "shifted"]))
    if kind == "normal":
        X = rng.standard_normal((m, n))
    elif kind == "integer":
        X = rng.integers(-3, 4, (m, n)).astype(float)
    elif kind == "binary":
        X = (rng.random((m, n)) < 0.4).astype(float)
    elif kind == "scaled":
        X = rng.standard_normal((m, n)) * 10.0 ** rng.integers(-2, 3, n)
    else:
        X = rng.standard_normal((m, n)) + 100.0 * rng.standard_normal(n)
    for _ in range(draw(st.integers(0, 2))):  # duplicated columns
        X[:, rng.integers(n)] = X[:, rng.integers(n)]
    if draw(st.booleans()) and n > 1:
        X[:, rng.integers(n)] = 1.5  # a constant column
    targets = draw(st.sampled_from([None, None, 1, 2, 3]))
    shape = (m,) if targets is None else (m, targets)
    if draw(st.booleans()):
        y = np.where(rng.random(shape) < 0.5, -1.0, 1.0)
    else:
        signal = X[:, : min(3, n)].sum(axis=1)
        y = rng.standard_normal(shape) + (signal if targets is None else signal[:, None])
    options: dict[str, Any] = {
        "alpha": 10.0 ** draw(st.integers(-6, 6)),
        "fit_intercept": draw(st.booleans()),
    }
    if draw(st.booleans()):
        weights = rng.integers(0, 4, m) + rng.random(m) * draw(st.booleans())
        if np.count_nonzero(weights) < m // 2 + 1:
            weights += 1.0
        options["sample_weight"] = weights.astype(float)
    weighted = np.count_nonzero(options.get("sample_weight", np.ones(m)))
    # Half as many features as samples: beyond that a small α makes the definition itself
    # (a difference of nearly equal numbers divided by almost 0) lose digits in any algorithm.
    k = draw(st.integers(1, max(1, min(n, 6, (weighted - 1) // 2))))
    return Case(X, y, k, options)


def two_classes(m: int, n: int, seed: int = 0, signal: float = 0.1) -> tuple[Any, Any]:
    """Two normal classes, as in the paper: X (m × n) and labels ±1."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(m) < 0.5, 1.0, -1.0)
    return rng.standard_normal((m, n)) + y[:, None] * signal * rng.standard_normal(n), y


def named_problems() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Larger problems with a difficulty each."""
    rng = np.random.default_rng(12345)
    tall = rng.standard_normal((400, 30))
    wide = rng.standard_normal((40, 300))
    near = rng.standard_normal((100, 20))
    near[:, 10:] = near[:, :10] + 1e-7 * rng.standard_normal((100, 10))
    duplicates = np.repeat(rng.standard_normal((80, 12)), 3, axis=1)
    constant = rng.standard_normal((60, 15))
    constant[:, ::4] = 3.0
    outliers = rng.standard_cauchy((150, 40))
    rare = (rng.random((300, 60)) < 0.02).astype(float)
    shifted = rng.standard_normal((120, 25)) + 1e6
    ar = rng.standard_normal((200, 50))
    for column in range(1, 50):
        ar[:, column] = 0.95 * ar[:, column - 1] + 0.3 * ar[:, column]
    data = {
        "tall": tall,
        "wide": wide,
        "near-singular": near,
        "duplicates": duplicates,
        "constant columns": constant,
        "outliers": outliers,
        "rare binary": rare,
        "far from the origin": shifted,
        "autocorrelated": ar,
    }
    problems = {}
    for name, X in data.items():
        centred = X - X.mean(axis=0)
        y = centred[:, :5].sum(axis=1) / np.maximum(1.0, np.abs(centred).max())
        problems[name] = (X, y + rng.standard_normal(len(X)))
    return problems
