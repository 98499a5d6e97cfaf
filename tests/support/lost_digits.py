"""Problems in which digits are lost: tiny penalties, columns of unlike scales, near-duplicates.

A problem goes by its seed, so that a test can name one.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from problems import Case

MEASURES = ["squared", "squared", "squared", "absolute", "zero_one", "balanced_zero_one"]
MEASURES += ["cv5", "cv5", "grid"]
DIRECTIONS = ["forward", "floating", "foba", "swap", "backward"]


def lost_digits_case(seed: int) -> Case:
    """A problem of 6 to 40 samples; one in three has 12 and the penalty 1e-6."""
    rng = np.random.default_rng([77, seed])
    if seed % 3 == 0:
        m, n, alpha = 12, int(rng.integers(4, 31)), 1e-6
    else:
        m, n = int(rng.integers(6, 41)), int(rng.integers(4, 31))
        alpha = 10.0 ** int(rng.integers(-6, 7 if seed % 3 == 1 else 3))
    base, X = _columns(rng, m, n, is_scaled=seed % 3 == 0)
    measure = str(rng.choice(MEASURES))
    direction = str(rng.choice(DIRECTIONS, p=[0.3, 0.27, 0.27, 0.12, 0.04]))
    signal = base[:, : min(3, n)]
    signal = (signal / (1e-9 + signal.std(axis=0))).sum(axis=1)
    is_labelled = measure in ("zero_one", "balanced_zero_one")
    y = _codes(rng, signal) if is_labelled else _numbers(rng, signal)
    options: dict[str, Any] = {
        "alpha": alpha,
        "fit_intercept": bool(rng.random() < 0.7),
        "direction": direction,
        "n_runners_up": int(rng.choice([0, 0, 1, 3])),
    }
    if is_labelled or measure == "absolute":
        options["loss"] = measure
    if measure == "cv5":
        options["cv"] = 5
    if measure == "grid":
        options |= {"alpha": sorted(alpha * 10.0 ** np.array([-2.0, 0.0, 2.0])), "alpha_cv": 3}
        if rng.random() < 0.3:
            options["alpha_rule"] = "joint"
            del options["alpha_cv"]
    if rng.random() < 0.3:
        weights = _weights(rng, y, is_labelled)
        options["sample_weight"] = weights + 0.5 * (measure in ("cv5", "grid"))
    k = _size(rng, n, seed % 3 == 0)
    if direction == "backward":
        k = max(1, min(k, n // 2))
    features, spare = rng.permutation(n), n - k
    if spare and rng.random() < 0.15:
        options["excluded_features"] = features[k : k + int(rng.integers(1, spare + 1))].tolist()
    if rng.random() < 0.15:
        options["forced_features"] = features[: int(rng.integers(0, min(k, 3) + 1))].tolist()
    return Case(X, y, k, options)


def _columns(rng: np.random.Generator, m: int, n: int, is_scaled: bool) -> tuple[Any, Any]:
    """Columns before and after some become equal, or nearly so, and get a scale of their own."""
    kind = rng.choice(["normal", "integer", "binary"], p=[0.6, 0.2, 0.2])
    if kind == "normal":
        X = rng.standard_normal((m, n))
        if rng.random() < 0.3:
            few = max(2, n // 3)
            X = X[:, :few] @ rng.standard_normal((few, n)) + 0.1 * X
    elif kind == "integer":
        X = rng.integers(-3, 4, (m, n)).astype(float)
    else:
        X = (rng.random((m, n)) < 0.4).astype(float)
    base = X.copy()
    for _ in range(int(rng.integers(0, 4))):
        a, b = rng.integers(n, size=2)
        relation = rng.random()
        if relation < 0.3:
            X[:, a] = X[:, b]
        elif relation < 0.6:
            X[:, a] = X[:, b] + 1e-9 * rng.standard_normal(m)
        elif relation < 0.75:
            X[:, a] = 2.0
        elif relation < 0.9:
            X[:, a] = -X[:, b]
        else:
            X[:, a] = X[:, b] + X[:, int(rng.integers(n))]
    if rng.random() < (1.0 if is_scaled else 0.3):
        X = X * 10.0 ** rng.integers(-4, 5, n)
    if rng.random() < 0.1:
        X = X + 100.0 * rng.standard_normal(n)
    return base, X


def _codes(rng: np.random.Generator, signal: Any) -> Any:
    """Codes of two or three classes."""
    m, n_classes = len(signal), int(rng.choice([2, 2, 3]))
    classes = np.empty(m, dtype=int)
    classes[np.argsort(signal + 2.0 * rng.standard_normal(m))] = np.arange(m) * n_classes // m
    codes = 2.0 * (classes[:, None] == np.arange(n_classes)) - 1.0
    return codes[:, 1] if n_classes == 2 else codes


def _numbers(rng: np.random.Generator, signal: Any) -> Any:
    """Targets, some of them without noise, or with two values."""
    m, t = len(signal), int(rng.choice([0, 0, 0, 1, 2]))
    y = signal + rng.standard_normal(m) if t == 0 else signal[:, None] + rng.standard_normal((m, t))
    if rng.random() < 0.1:
        y = signal.copy() if t == 0 else np.repeat(signal[:, None], t, axis=1)
    if rng.random() < 0.1:
        y = np.where(y > np.median(y), 1.0, -1.0)
    return y


def _weights(rng: np.random.Generator, y: Any, is_labelled: bool) -> Any:
    """Weights, some of which may be 0; every class keeps rows."""
    m = len(y)
    weights = rng.random(m) + 0.1 if rng.random() < 0.5 else rng.integers(0, 3, m).astype(float)
    classes = y if y.ndim == 1 and is_labelled else np.zeros(m)
    if y.ndim == 2:
        classes = np.argmax(y, axis=1)
    for label in np.unique(classes):
        weights[np.flatnonzero(classes == label)[:4]] += 1.0
    return weights


def _size(rng: np.random.Generator, n: int, is_small: bool) -> int:
    if is_small:
        return int(rng.integers(min(n, 4), min(n, 13) + 1))
    return (
        int(rng.integers(1, min(n, 9) + 1)) if rng.random() < 0.8 else int(rng.integers(1, n + 1))
    )


def exact_loss(X: Any, y: Any, alpha: float) -> Fraction:
    """The leave-one-out loss of a ridge with an intercept, refitted in rational numbers."""
    m = len(y)
    return exact_held_out_loss(X, y, alpha, [[row] for row in range(m)])


def exact_held_out_loss(X: Any, y: Any, alpha: float, folds: list[list[int]]) -> Fraction:
    """The squared loss of the same over all rows, each of which is in one fold."""
    rows = [[Fraction(float(value)) for value in row] for row in X]
    targets = [Fraction(float(value)) for value in y]
    total, m = Fraction(0), len(rows)
    for fold in folds:
        train = [row for row in range(m) if row not in fold]
        for row in fold:
            total += _fitted(rows, targets, train, Fraction(float(alpha)), row) ** 2
    return total / m


def _fitted(
    rows: list[list[Fraction]],
    targets: list[Fraction],
    train: list[int],
    alpha: Fraction,
    left_out: int,
) -> Fraction:
    """The error in the row that is left out, by elimination."""
    k, count = len(rows[0]), len(train)
    means = [sum((rows[j][s] for j in train), Fraction(0)) / count for s in range(k)]
    mean = sum((targets[j] for j in train), Fraction(0)) / count
    Z = [[rows[j][s] - means[s] for s in range(k)] for j in train]
    system = [
        [sum((z[a] * z[b] for z in Z), alpha * (a == b)) for b in range(k)]
        + [sum((z[a] * (targets[j] - mean) for z, j in zip(Z, train, strict=True)), Fraction(0))]
        for a in range(k)
    ]
    for a in range(k):
        system[a] = [value / system[a][a] for value in system[a]]
        for b in range(k):
            factor = system[b][a]
            if b != a and factor:
                system[b] = [v - factor * w for v, w in zip(system[b], system[a], strict=True)]
    row = rows[left_out]
    prediction = sum(((row[s] - means[s]) * system[s][k] for s in range(k)), mean)
    return targets[left_out] - prediction
