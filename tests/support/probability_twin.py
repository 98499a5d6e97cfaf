"""Probabilities as they are defined: models refitted for every split, the sigmoid by SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import optimize, special

from literal import Array, best_penalty, literal_path, ridge_predict


def literal_sigmoid(margins: Array, is_positive: Array, weights: Array) -> tuple[float, float]:
    """Slope (0 or more) and intercept of largest likelihood, with Platt's targets."""
    positive, negative = weights[is_positive].sum(), weights[~is_positive].sum()
    targets = np.where(is_positive, (positive + 1) / (positive + 2), 1 / (negative + 2))

    def loss(parameters: Array) -> tuple[float, Array]:
        u = parameters[0] * margins + parameters[1]
        p = special.expit(u)
        value = -weights @ (special.xlogy(targets, p) + special.xlogy(1 - targets, 1 - p))
        errors = weights * (p - targets)
        return value, np.array([errors @ margins, errors.sum()])

    found = optimize.minimize(
        loss,
        np.array([1.0, 0.0]),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None), (None, None)],
        options={"ftol": 1e-16, "gtol": 1e-12, "maxiter": 2000},
    )
    slope, intercept = found.x
    if slope == 0.0:
        intercept = special.logit(positive / weights.sum())
    return float(slope), float(intercept)


def outer_margins(
    X: Array,
    Y: Array,
    splits: Any,
    size: int,
    alpha: float,
    *,
    refit: Any,
    weights: Array,
    fitted: Any,
    fit_intercept: bool,
) -> Array:
    """Margins (m × t) of rows by the selection on the training rows of their split.

    `fitted(train)` are the weights (m) of the fit; `refit` is "same", or penalties of which the
    smallest leave-one-out loss takes one, by the rows `train`.
    """
    margins = np.full(Y.shape, np.nan)
    for train, test in splits:
        train = train[weights[train] > 0]
        own, data = fitted(train)[train], (X[train], Y[train])
        options: dict[str, Any] = {"loss": "squared", "fit_intercept": fit_intercept}
        path = literal_path(*data, size, cv="loo", alpha=alpha, sample_weight=own, **options)
        columns = path.indices.tolist()
        penalty = alpha
        if refit != "same":
            penalty = best_penalty(*data, columns, refit(train, own), weights=own, **options)
        fit = X[train][:, columns], Y[train], own
        margins[test] = ridge_predict(*fit, X[test][:, columns], penalty, fit_intercept)
    return margins


def refitted_margins(
    X: Array, Y: Array, splits: Any, columns: list[int], penalty: float, weights: Array, b: bool
) -> Array:
    """Margins (m × t) of models on given features, fitted to the training rows of each split."""
    margins = np.full(Y.shape, np.nan)
    for train, test in splits:
        fit = X[train][:, columns], Y[train], weights[train]
        margins[test] = ridge_predict(*fit, X[test][:, columns], penalty, b)
    return margins


def literal_probabilities(values: Array, sigmoids: list[tuple[float, float]]) -> Array:
    """Of all classes: for several, one against the rest, divided by their sum."""
    values = values.reshape(len(values), -1)
    each = np.array(
        [special.expit(a * v + b) for (a, b), v in zip(sigmoids, values.T, strict=True)]
    ).T
    if each.shape[1] == 1:
        return np.hstack([1 - each, each])
    return each / each.sum(axis=1, keepdims=True)


def brier(probabilities: Array, y: Array, weights: Array) -> float:
    """The sum over classes of squared differences, half of it for two."""
    truth = np.unique(y)[None, :] == y[:, None]
    squares = ((probabilities - truth) ** 2).sum(axis=1)
    return float(np.average(squares, weights=weights)) / (2 if truth.shape[1] == 2 else 1)
