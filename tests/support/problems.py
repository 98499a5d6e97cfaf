"""Problems for the tests: hypothesis strategies and named troublemakers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)

_FOLD_OPTIONS = ("cv", "groups")


@dataclass
class Case:
    """A selection problem; `options` go to greedy_path and to the reference alike."""

    X: np.ndarray
    y: np.ndarray
    n_features: int
    options: dict[str, Any] = field(default_factory=dict)
    splits: Any = "loo"  # what cv and groups among the options come to

    @property
    def literal_options(self) -> dict[str, Any]:
        """The options for the slow twin: splits in place of cv and groups."""
        other = {name: value for name, value in self.options.items() if name not in _FOLD_OPTIONS}
        return other | {"cv": self.splits}

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


def _data(rng: np.random.Generator, m: int, n: int, kind: str) -> np.ndarray:
    if kind == "integer":
        return rng.integers(-3, 4, (m, n))
    if kind == "binary":
        return (rng.random((m, n)) < 0.4).astype(float)
    X = rng.standard_normal((m, n))
    if kind == "scaled":
        X *= 10.0 ** rng.integers(-2, 3, n)
    if kind == "far":
        X += 1e6 * rng.standard_normal(n)
    return X.astype(np.float32) if kind == "float32" else X


def splits_of(
    kind: str, rng: np.random.Generator, m: int, strata: np.ndarray | None
) -> tuple[dict[str, Any], list[tuple[np.ndarray, np.ndarray]]]:
    """Options cv and groups, and the splits they stand for."""
    seed, K = int(rng.integers(100)), int(rng.integers(2, 5))
    groups = rng.permutation(np.arange(m) % int(rng.integers(K, 7)))
    splitters: dict[str, Any] = {
        "k-fold": KFold(K),
        "shuffled": KFold(K, shuffle=True, random_state=seed),
        "repeated": RepeatedKFold(n_splits=K, n_repeats=2, random_state=seed),
        "groups": GroupKFold(K),
        "leave one group out": LeaveOneGroupOut(),
        "time series": TimeSeriesSplit(K),
        "random": ShuffleSplit(K, test_size=0.3, train_size=0.5, random_state=seed),
        "stratified": StratifiedKFold(K, shuffle=True, random_state=seed),
    }
    if kind in splitters:
        cv = splitters[kind]
        is_grouped = kind in ("groups", "leave one group out")
        splits = list(cv.split(np.zeros((m, 1)), strata, groups if is_grouped else None))
        return {"cv": cv} | ({"groups": groups} if is_grouped else {}), splits
    if kind == "pairs":
        order = rng.permutation(m)
        splits = [
            (order[2:], order[:2]),
            (order[: m // 2], order[m // 2 + 1 :]),
            (order[3:], order[:1]),
        ]
        return {"cv": splits}, splits
    ids = rng.permutation(np.arange(m) % K)
    if kind == "unequal":
        ids = np.minimum(rng.geometric(0.5, m) - 1, K)
        ids[:2] = 0, 1
    else:  # some rows are in no test set
        ids[rng.permutation(m)[: m // 4]] = -1
    splits = [
        (np.flatnonzero(ids != f), np.flatnonzero(ids == f)) for f in np.unique(ids[ids >= 0])
    ]
    return {"cv": ids}, splits


FOLD_KINDS = ["k-fold", "shuffled", "repeated", "groups", "leave one group out", "time series"]
FOLD_KINDS += ["random", "pairs", "unequal", "ids with -1"]
DATA_KINDS = ["normal", "integer", "binary", "scaled", "far", "float32"]


@st.composite
def fold_cases(
    draw: st.DrawFn,
    *,
    folds: list[str] = FOLD_KINDS,
    kinds: list[str] = DATA_KINDS,
    labelled: bool = False,
    max_classes: int = 3,
    max_samples: int = 24,
    max_features: int = 7,
) -> Case:
    """Small problems with splits ("loo": leave-one-out), α from 1e-3 to 1e3.

    Labelled ones have y = ±1 or a ±1 column for each class, with every class in every test set
    where folds are stratified.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m = draw(st.integers(14, max_samples))
    n = draw(st.integers(1, max_features))
    kind = draw(st.sampled_from(kinds))
    X = _data(rng, m, n, kind)
    if kind in ("normal", "integer", "binary"):
        for _ in range(draw(st.integers(0, 2))):
            X[:, rng.integers(n)] = X[:, rng.integers(n)]
        if draw(st.booleans()) and n > 1:
            X[:, rng.integers(n)] = 2
    if draw(st.booleans()):
        X = np.asfortranarray(X)
    centred = X - X.mean(axis=0)
    signal = (centred / (1e-9 + centred.std(axis=0)))[:, : min(3, n)].sum(axis=1)
    strata = None
    if labelled:
        classes = draw(st.sampled_from([2, 2, max_classes]))
        order = np.argsort(signal + 2.0 * rng.standard_normal(m))
        strata = np.empty(m, dtype=int)
        strata[order] = np.arange(m) * classes // m
        y = 2.0 * (strata[:, None] == np.arange(classes)) - 1.0
        y = y[:, 1] if classes == 2 else y
    else:
        targets = draw(st.sampled_from([None, None, 1, 2]))
        shape = (m,) if targets is None else (m, targets)
        y = rng.standard_normal(shape) + (signal if targets is None else signal[:, None])
    options: dict[str, Any] = {
        "alpha": 10.0 ** draw(st.integers(-3, 3)),
        "fit_intercept": kind == "far" or draw(st.booleans()),
    }
    fold_kind = draw(st.sampled_from(folds))
    splits: Any = "loo"
    if fold_kind != "loo":
        fold_options, splits = splits_of(fold_kind, rng, m, strata)
        # scikit-learn stratifies by labels only, not by codes.
        options |= {"cv": splits} if y.ndim == 2 and labelled else fold_options
    if draw(st.booleans()):
        weights = rng.integers(0, 3, m) + rng.random(m) * draw(st.booleans())
        options["sample_weight"] = _weights_in_all_parts(weights.astype(float), splits, strata)
    k = draw(st.integers(1, min(n, 4)))
    features = rng.permutation(n)
    spare = n - k
    if spare and draw(st.booleans()):
        options["excluded_features"] = features[k : k + int(rng.integers(1, spare + 1))].tolist()
    if draw(st.booleans()):
        options["forced_features"] = features[: int(rng.integers(0, k + 1))].tolist()
    return Case(X, y, k, options, splits)


def _weights_in_all_parts(
    weights: np.ndarray, splits: Any, strata: np.ndarray | None
) -> np.ndarray:
    """The weights, or larger ones if a split would be left without rows (or rows of a class)."""
    parts = [np.arange(len(weights))] if isinstance(splits, str) else [p for s in splits for p in s]
    for part in parts:
        classes = np.zeros(len(part)) if strata is None else strata[part]
        for label in np.unique(classes):
            if np.count_nonzero(weights[part[classes == label]]) < 2:
                return weights + 1.0
    return weights


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


def summary_data() -> tuple[Any, Any]:
    """Column 0 sums up four others: a search forward takes it first, and keeps it."""
    generator = np.random.default_rng(1)
    causes = generator.standard_normal((60, 4))
    summary = causes.sum(axis=1) + generator.standard_normal(60)
    X = np.column_stack([summary, causes, generator.standard_normal((60, 5))])
    return X, causes.sum(axis=1) + 0.5 * generator.standard_normal(60)
