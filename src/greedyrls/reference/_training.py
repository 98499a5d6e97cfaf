"""Training forms of regularized least-squares, and their leave-one-out short-cuts."""

from __future__ import annotations

from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def as_finite(values: ArrayLike, name: str) -> Array:
    """Return the values in float64; raise an error that names the first NaN or infinity."""
    array = np.asarray(values, dtype=np.float64)
    bad = np.argwhere(~np.isfinite(array)).tolist()
    if bad:
        raise ValueError(f"{name}{bad[0]} is {array[tuple(bad[0])]}; impute or drop such values")
    return array


def check(X: ArrayLike, y: ArrayLike, alpha: float) -> tuple[Array, Array, float]:
    """Return X (m, n), y (m,) or (m, t) in float64 and alpha as a float, after checks."""
    X, y = as_finite(X, "X"), as_finite(y, "y")
    if X.ndim != 2 or y.ndim not in (1, 2) or len(X) != len(y) or 0 in y.shape[1:]:
        raise ValueError(f"X has shape {X.shape} and y {y.shape}; pass (m, n) and (m,) or (m, t)")
    if not isinstance(alpha, Real) or not 0 < float(alpha) < np.inf:
        raise ValueError(f"alpha is {alpha!r}; pass a finite number above 0, such as 1.0")
    return X, y, float(alpha)


def check_weights(sample_weight: ArrayLike | None, m: int, fit_intercept: bool) -> Array:
    """Return sample weights (m,); raise an error if too few are positive for LOO."""
    weights = as_finite(np.ones(m) if sample_weight is None else sample_weight, "sample_weight")
    if weights.shape != (m,):
        raise ValueError(f"sample_weight has shape {weights.shape}; pass shape ({m},)")
    if np.any(weights < 0):
        raise ValueError(f"sample_weight holds {weights.min()}; pass weights of 0 or above")
    positive, needed = np.count_nonzero(weights), 1 + bool(fit_intercept)
    if positive < needed:
        have = f"{positive} samples of positive weight"
        raise ValueError(f"X has {have}; pass at least {needed} with {fit_intercept=}")
    return weights


def train_primal(X: ArrayLike, y: ArrayLike, alpha: float) -> Array:
    """Train regularized least-squares in the primal form, w = (X'X + alpha I)^-1 X'y.

    X of shape (m, n) and y of shape (m,) or (m, t) give w of shape (n,) or (n, t); no intercept.

    Parameters
    ----------
    X : array-like of shape (m, n)
        Samples.
    y : array-like of shape (m,) or (m, t)
        Target values.
    alpha : float
        Penalty.

    Notes
    -----
    Time O(m n^2 + n^3), memory O(n^2): the form for few features.

    Examples
    --------
    >>> train_primal([[1.0, 0.0], [0.0, 1.0]], [2.0, 4.0], alpha=1.0).tolist()
    [1.0, 2.0]
    """
    X, y, alpha = check(X, y, alpha)
    return np.asarray(np.linalg.solve(X.T @ X + alpha * np.eye(X.shape[1]), X.T @ y))


def train_dual(X: ArrayLike, y: ArrayLike, alpha: float) -> Array:
    """Train regularized least-squares in the dual form, w = X'a with a = (XX' + alpha I)^-1 y.

    X of shape (m, n) and y of shape (m,) or (m, t) give w of shape (n,) or (n, t); no intercept.

    Parameters
    ----------
    X : array-like of shape (m, n)
        Samples.
    y : array-like of shape (m,) or (m, t)
        Target values.
    alpha : float
        Penalty.

    Notes
    -----
    Time O(m^2 n + m^3), memory O(m^2): the form for few samples.

    Examples
    --------
    >>> train_dual([[1.0, 0.0], [0.0, 1.0]], [2.0, 4.0], alpha=1.0).tolist()
    [1.0, 2.0]
    """
    X, y, alpha = check(X, y, alpha)
    return np.asarray(X.T @ np.linalg.solve(X @ X.T + alpha * np.eye(X.shape[0]), y))


def loo_primal(X: ArrayLike, y: ArrayLike, alpha: float) -> Array:
    """Leave-one-out predictions by the primal short-cut, (f_j - h_j y_j) / (1 - h_j).

    Here f are the predictions of the model on all samples, and h_j = x_j'(X'X + alpha I)^-1 x_j.
    X of shape (m, n) and y of shape (m,) or (m, t) give the shape of y; no intercept.

    Parameters
    ----------
    X : array-like of shape (m, n)
        Samples.
    y : array-like of shape (m,) or (m, t)
        Target values.
    alpha : float
        Penalty.

    Notes
    -----
    Time O(m n^2 + n^3), memory O(m n + n^2).

    Examples
    --------
    >>> loo_primal([[1.0], [1.0], [2.0]], [1.0, 1.0, 2.0], alpha=1.0).round(3).tolist()
    [0.833, 0.833, 1.333]
    """
    X, y, alpha = check(X, y, alpha)
    A = X.T @ X + alpha * np.eye(X.shape[1])
    f = X @ np.linalg.solve(A, X.T @ y)
    h = np.sum(X.T * np.linalg.solve(A, X.T), axis=0)
    return np.asarray(((f.T - h * y.T) / (1.0 - h)).T)


def loo_dual(X: ArrayLike, y: ArrayLike, alpha: float) -> Array:
    """Leave-one-out predictions by the dual short-cut, y_j - a_j / G_jj.

    Here G = (XX' + alpha I)^-1 and a = G y. Shapes are those of `loo_primal`; no intercept.

    Parameters
    ----------
    X : array-like of shape (m, n)
        Samples.
    y : array-like of shape (m,) or (m, t)
        Target values.
    alpha : float
        Penalty.

    Notes
    -----
    Time O(m^2 n + m^3), memory O(m^2).

    Examples
    --------
    >>> loo_dual([[1.0], [1.0], [2.0]], [1.0, 1.0, 2.0], alpha=1.0).round(3).tolist()
    [0.833, 0.833, 1.333]
    """
    X, y, alpha = check(X, y, alpha)
    G = np.linalg.inv(X @ X.T + alpha * np.eye(X.shape[0]))
    return np.asarray(y - ((G @ y).T / np.diag(G)).T)


def fit(X: Array, y: Array, alpha: float, weights: Array, centre: bool) -> tuple[Array, Array]:
    """Return coefficients and intercept of weighted ridge; centring leaves the intercept free."""
    x_mean, y_mean = np.zeros(X.shape[1]), np.zeros(y.shape[1:])
    if centre:
        x_mean = np.average(X, axis=0, weights=weights)
        y_mean = np.average(y, axis=0, weights=weights)
    root = np.sqrt(weights)
    train = train_primal if X.shape[1] <= X.shape[0] else train_dual
    coef = train((root * (X - x_mean).T).T, (root * (y - y_mean).T).T, alpha)
    return coef, y_mean - x_mean @ coef


def loo_brute_force(
    X: ArrayLike,
    y: ArrayLike,
    alpha: float,
    *,
    fit_intercept: bool = False,
    sample_weight: ArrayLike | None = None,
) -> Array:
    """Leave-one-out predictions by the definition: delete each sample, train, predict it.

    Parameters are those of `wrapper`. The result has the shape of y, also with zero weights.

    Parameters
    ----------
    X, y, alpha, fit_intercept, sample_weight
        As in `wrapper`.

    Notes
    -----
    Time O(m (m n c + c^3)) with c = min(m, n).

    Examples
    --------
    >>> loo_brute_force([[1.0], [1.0], [2.0]], [1.0, 1.0, 2.0], alpha=1.0).round(3).tolist()
    [0.833, 0.833, 1.333]
    """
    X, y, alpha = check(X, y, alpha)
    weights = check_weights(sample_weight, len(X), fit_intercept)
    predictions = np.empty_like(y)
    for j in range(len(X)):
        others = np.arange(len(X)) != j
        coef, intercept = fit(X[others], y[others], alpha, weights[others], fit_intercept)
        predictions[j] = X[j] @ coef + intercept
    return predictions
