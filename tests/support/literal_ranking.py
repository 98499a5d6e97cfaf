"""The slow twin of ranking: pairs written out, one model for each candidate and query left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
TIE, TIE_OF_INITIAL = 1e-10, 1e-13


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Differences of all pairs of samples of the same query."""

    D: Array  # (P × n)
    d: Array  # (P)
    weights: Array
    query_of: NDArray[np.intp]


def all_pairs(X: ArrayLike, y: ArrayLike, groups: ArrayLike, weights: ArrayLike | None) -> Pairs:
    X, y, groups = np.asarray(X, dtype=float), np.asarray(y, dtype=float), np.asarray(groups)
    w = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=float)
    rows = [
        (i, j)
        for i in range(len(y))
        for j in range(i + 1, len(y))
        if groups[i] == groups[j] and w[i] * w[j] > 0
    ]
    first, second = np.array(rows).T
    query_of = np.unique(groups[first], return_inverse=True)[1]
    return Pairs(X[first] - X[second], y[first] - y[second], w[first] * w[second], query_of)


def fitted(pairs: Pairs, used: NDArray[np.bool_], columns: Sequence[int], alpha: float) -> Array:
    """Coefficients of ridge on some of the pairs, by least squares."""
    root = np.sqrt(pairs.weights[used])
    left = np.vstack(
        [root[:, None] * pairs.D[used][:, columns], np.sqrt(alpha) * np.eye(len(columns))]
    )
    right = np.concatenate([root * pairs.d[used], np.zeros(len(columns))])
    return np.linalg.lstsq(left, right, rcond=0.0)[0]


def query_losses(pairs: Pairs, columns: Sequence[int], alpha: float) -> Array:
    """Mean squared error of the pairs of each query, by the model of all others."""
    losses = []
    for query in np.unique(pairs.query_of):
        own = pairs.query_of == query
        w = fitted(pairs, ~own, columns, alpha)
        errors = pairs.d[own] - pairs.D[own][:, columns] @ w
        losses.append(pairs.weights[own] @ errors**2 / pairs.weights[own].sum())
    return np.array(losses)


def query_shares(pairs: Pairs) -> Array:
    """What each query counts: the weight of its pairs."""
    totals = np.bincount(pairs.query_of, pairs.weights)
    return totals / totals.sum()


def criterion(pairs: Pairs, columns: Sequence[int], alpha: float) -> float:
    """Mean squared error of a pair in queries left out."""
    return float(query_shares(pairs) @ query_losses(pairs, columns, alpha))


def literal_ranking(
    pairs: Pairs,
    n_features: int,
    alpha: float,
    forced: Sequence[int] = (),
    excluded: Sequence[int] = (),
) -> tuple[list[int], list[dict[int, float]]]:
    """The features in order, and the losses of all candidates at each step."""
    chosen: list[int] = []
    known: list[dict[int, float]] = []
    initial = criterion(pairs, [], alpha)
    while len(chosen) < n_features:
        free = [i for i in range(pairs.D.shape[1]) if i not in chosen and i not in excluded]
        candidates = list(forced[len(chosen) : len(chosen) + 1]) or free
        losses = {i: criterion(pairs, [*chosen, i], alpha) for i in candidates}
        least = min(losses.values())
        tied = [i for i in losses if losses[i] <= least * (1 + TIE) + TIE_OF_INITIAL * initial]
        chosen.append(min(tied))
        known.append(losses)
    return chosen, known


def left_out_scores(
    X: ArrayLike,
    y: ArrayLike,
    groups: ArrayLike,
    weights: ArrayLike | None,
    columns: Sequence[int],
    alpha: float,
) -> Array:
    """Scores of all samples, those of each query by the model of the pairs of all others."""
    X, groups = np.asarray(X, dtype=float), np.asarray(groups)
    scores = np.zeros(len(X))
    pairs = all_pairs(X, y, groups, weights)
    w = np.ones(len(X)) if weights is None else np.asarray(weights)
    named = [q for q in np.unique(groups) if np.count_nonzero((groups == q) & (w > 0)) > 1]
    for number, query in enumerate(named):
        coef = fitted(pairs, pairs.query_of != number, columns, alpha)
        scores[groups == query] = X[groups == query][:, columns] @ coef
    return scores
