"""The slow twin of the search for kernel centres: one fit for each candidate and split.

Kernels are written out, and every held-out prediction comes from a fit to the other rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

from literal import LiteralPath, Split, loss_value
from problems import splits_of

Array = np.ndarray
# A centre of which the chosen ones leave less than this share is no candidate.
SPANNED = 1e-8
TIE, TIE_OF_INITIAL = 1e-10, 1e-14


def literal_kernel(
    name: str, X: Array, C: Array, gamma: float, degree: float = 3.0, coef0: float = 1.0
) -> Array:
    """k(x, c) of all pairs, from the differences or products of the points."""
    differences = X[:, None, :] - C[None, :, :]
    if name == "rbf":
        return np.exp(-gamma * np.sum(differences**2, axis=2))
    if name == "laplacian":
        return np.exp(-gamma * np.sum(np.abs(differences), axis=2))
    return (gamma * np.sum(X[:, None, :] * C[None, :, :], axis=2) + coef0) ** degree


def fit(
    K: Array, Kcc: Array, Y: Array, w: Array, alpha: float, fit_intercept: bool
) -> tuple[Array, Array]:
    """Coefficients (k × t) and intercepts (t) that minimise Σ w (y − f)² + α v'K_cc v.

    By least squares on [√w K; √α R], where R'R = K_cc.
    """
    means, targets = np.zeros(K.shape[1]), np.zeros(Y.shape[1])
    if fit_intercept:
        means, targets = w @ K / w.sum(), w @ Y / w.sum()
    values, vectors = np.linalg.eigh(Kcc)
    R = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    root = np.sqrt(w)[:, None]
    left = np.vstack([root * (K - means), np.sqrt(alpha) * R])
    right = np.vstack([root * (Y - targets), np.zeros((len(Kcc), Y.shape[1]))])
    lengths = np.sqrt(np.sum(left**2, axis=0))
    lengths[lengths == 0.0] = 1.0
    coef = np.linalg.lstsq(left / lengths, right, rcond=1e-15)[0] / lengths[:, None]
    return coef, targets - means @ coef


def what_is_left(K: Array, Kcc: Array, w: Array, alpha: float, fit_intercept: bool) -> float:
    """The last column's share that the others leave of it, with the penalty."""
    if fit_intercept:
        K = K - w @ K / w.sum()
    A = (K.T * w) @ K + alpha * Kcc
    if A[-1, -1] == 0.0:
        return 0.0
    scale = np.sqrt(np.maximum(np.diagonal(A), 1e-300))
    A = A / np.outer(scale, scale)
    explained = A[-1, :-1] @ np.linalg.lstsq(A[:-1, :-1], A[:-1, -1], rcond=1e-15)[0]
    return float(A[-1, -1] - explained)


@dataclass
class KernelCase:
    """Points, candidates for centres and targets, with all that decides the answer."""

    points: Array
    pool: Array
    Y: Array
    n_centers: int
    kernel: dict[str, Any]
    alpha: float
    fit_intercept: bool
    weights: Array | None = None
    splits: list[Split] | None = None  # None: leave-one-out
    cv: Any = "loo"  # what the splits are made of
    groups: Any = None
    loss: str = "squared"
    excluded: list[int] = field(default_factory=list)

    @property
    def K(self) -> Array:
        return literal_kernel(X=self.points, C=self.pool, **self.kernel)

    @property
    def Kcc(self) -> Array:
        return literal_kernel(X=self.pool, C=self.pool, **self.kernel)


def literal_centers(case: KernelCase) -> tuple[LiteralPath, float]:
    """Greedy selection; of tied losses the lowest index wins. Ends where nothing is left.

    Also the smallest share that was left of a candidate: as many digits are lost to rounding.
    """
    K, Kcc, Y = case.K, case.Kcc, case.Y
    m, n = K.shape
    w = np.ones(m) if case.weights is None else case.weights
    every = np.arange(m)
    splits = case.splits
    if splits is None:
        splits = [(np.delete(every, row), every[[row]]) for row in np.flatnonzero(w)]

    def score(columns: list[int]) -> float:
        predictions = []
        for train, test in splits:
            some = K[np.ix_(train, columns)], Kcc[np.ix_(columns, columns)], Y[train], w[train]
            coef, intercept = fit(*some, case.alpha, case.fit_intercept)
            predictions.append(K[np.ix_(test, columns)] @ coef + intercept)
        if case.splits is None:
            rows = np.flatnonzero(w)
            return loss_value(case.loss, Y[rows], np.vstack(predictions), w[rows])
        losses = [
            loss_value(case.loss, Y[test], P, w[test])
            for (_, test), P in zip(splits, predictions, strict=True)
        ]
        return float(np.average(losses, weights=[w[test].sum() for _, test in splits]))

    def share(columns: list[int]) -> float:
        parts = [every] if case.splits is None else [train for train, _ in splits]
        block = Kcc[np.ix_(columns, columns)]
        return min(
            what_is_left(K[np.ix_(part, columns)], block, w[part], case.alpha, case.fit_intercept)
            for part in parts
        )

    initial = score([])
    indices: list[int] = []
    known: list[dict[int, float]] = []
    least_share = 1.0
    while len(indices) < case.n_centers:
        free = [i for i in range(n) if i not in indices and i not in case.excluded]
        shares = {i: share([*indices, i]) for i in free}
        losses = {i: score([*indices, i]) for i in free if shares[i] > SPANNED}
        if not losses:
            break
        least_share = min(least_share, *(shares[i] for i in losses))
        least = min(losses.values())
        tolerance = TIE * least + TIE_OF_INITIAL * initial
        indices.append(min(i for i in losses if losses[i] <= least + tolerance))
        known.append(losses)
    chosen = [losses[i] for i, losses in zip(indices, known, strict=True)]
    path = LiteralPath(np.array(indices, dtype=np.intp), np.array(chosen), initial, known)
    return path, least_share


@st.composite
def kernel_cases(draw: st.DrawFn, *, folds: bool = False, loss: str = "squared") -> KernelCase:
    """Small problems: duplicated points, pools of other points, weights, several targets."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m, d = draw(st.integers(10, 18)), draw(st.integers(1, 4))
    points = rng.standard_normal((m, d))
    if draw(st.booleans()):
        points = np.round(points)  # many equal points
    pool = points
    if draw(st.booleans()):
        pool = rng.standard_normal((draw(st.integers(1, 12)), d))
        pool[0] = pool[-1]
    targets = draw(st.sampled_from([1, 1, 2, 3]))
    signal = np.sin(2.0 * points[:, :1])
    Y = signal + 0.3 * rng.standard_normal((m, targets))
    if loss != "squared":
        Y = np.where(Y[:, :1] > np.median(Y[:, :1]), 1.0, -1.0)
    weights = None
    if draw(st.booleans()):
        weights = 0.2 + rng.random(m)
        weights[rng.integers(m)] = 0.0 if not folds else 1.0
    cv, groups, splits = "loo", None, None
    if folds:
        kind = draw(st.sampled_from(["k-fold", "repeated", "groups", "time series"]))
        options, splits = splits_of(kind, rng, m, None)
        cv, groups = options["cv"], options.get("groups")
    kernel = {
        "name": draw(st.sampled_from(["rbf", "laplacian", "poly"])),
        "gamma": draw(st.sampled_from([0.05, 0.5, 3.0])),
        "degree": draw(st.sampled_from([2.0, 3.0])),
        "coef0": draw(st.sampled_from([0.0, 1.0])),
    }
    count = draw(st.integers(1, min(len(pool), 4)))
    excluded = [int(rng.integers(len(pool)))] if draw(st.booleans()) and len(pool) > count else []
    return KernelCase(
        *(points, pool, Y, count, kernel),
        alpha=10.0 ** draw(st.integers(-4, 2)),
        fit_intercept=draw(st.booleans()),
        weights=weights,
        splits=splits,
        cv=cv,
        groups=groups,
        loss=loss,
        excluded=excluded,
    )
