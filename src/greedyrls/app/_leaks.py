"""Columns that alone predict the target almost exactly: copies of it, or known only after it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._base import Float
from .._problem import make_targets
from ..assess import LEFT_OF_CLASSES, LEFT_OF_SQUARES, NOT_BY_CHANCE, by_chance
from ._feature_blocks import feature_blocks
from ._preparation import Prepared
from ._table import MOST_LEVELS

# Elements (rows × columns) processed at a time.
_ELEMENTS = 1 << 20
# With more features than this, numbers are not checked as codes of classes: each takes a sort.
_MOST_SORTED = 5000


def find_leaks(prepared: Prepared) -> tuple[str, ...]:
    """Return names of features and text columns that alone leave almost nothing of the loss.

    The criterion is the leave-one-out loss of the model on a single feature, without a penalty and
    with an intercept: squared loss for numbers, error rate for classes. A text column (and, for
    classes, a column with few different numbers) is also judged as a whole: by the mean or the most
    frequent class of the other rows with the same value. A column that predicts well by chance is
    not a leak.
    """
    m, n = prepared.X.shape
    weights = np.ones(m) if prepared.weights is None else prepared.weights
    Y = np.asarray(make_targets(prepared.y, prepared.task).values, dtype=np.float64)
    Y = Y.reshape(m, -1)
    is_classes = prepared.task == "classification"
    if not _is_informative(Y, weights, is_classes, n):
        return ()
    judge = _class_share if is_classes else _square_share
    bar = LEFT_OF_CLASSES if is_classes else LEFT_OF_SQUARES
    width = max(1, _ELEMENTS // (m * Y.shape[1]))
    is_sorted = is_classes and n <= _MOST_SORTED
    leaks: list[str] = []
    for inside, X in feature_blocks(prepared.X, prepared.features):
        shares = [
            judge(X[:, first : first + width], Y, weights) for first in range(0, X.shape[1], width)
        ]
        is_leak = np.concatenate(shares) <= bar
        features = prepared.features[inside]
        by_column: dict[str, list[int]] = {}
        for index, feature in enumerate(features):
            by_column.setdefault(feature.column, []).append(index)
        for column, indices in by_column.items():
            names = [features[index].name for index in indices if is_leak[index]]
            is_text = features[indices[0]].level is not None
            if names:
                leaks += [column] if len(indices) == 1 else names
            elif (is_text or is_sorted) and _is_leak_as_a_whole(
                X[:, indices], Y, weights, n, is_text, is_classes
            ):
                leaks.append(column)
    return tuple(leaks)


def _is_informative(Y: Float, weights: Float, is_classes: bool, n: int) -> bool:
    """Whether a perfect feature would be more than chance, for so many rows and features."""
    if is_classes:
        rarest = int((Y > 0.0).sum(axis=0).min()) if Y.shape[1] > 1 else int((Y > 0.0).sum())
        return by_chance(len(Y), n, min(rarest, len(Y) - rarest)) < NOT_BY_CHANCE
    # A few outliers may dominate the target: rows count by their share of the variance.
    squares = np.square(Y - np.average(Y, axis=0, weights=weights)).sum(axis=1)
    largest = squares.max()
    if not largest > 0.0:
        return False
    squares = squares / largest
    effective = 3.0 * squares.sum() ** 2 / np.square(squares).sum()
    return by_chance(int(min(len(Y), effective)), n, None) < NOT_BY_CHANCE


def _errors(X: Float, Y: Float, weights: Float) -> Float:
    """Return leave-one-out errors (t × m × n) of the line on each feature, with an intercept."""
    total = weights.sum()
    X = X - (weights @ X) / total
    Y = Y - (weights @ Y) / total
    scaled = X * weights[:, None]
    squares = np.einsum("ij,ij->j", scaled, X)
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = (scaled.T @ Y) / squares[:, None]  # (n × t)
        # One minus the leverage of each row.
        complement = 1.0 - weights[:, None] / total - scaled * X / squares
        complement[complement <= 1e-9] = np.nan
        return np.stack([(Y[:, [t]] - X * slopes[:, t]) / complement for t in range(Y.shape[1])])


def _square_share(X: Float, Y: Float, weights: Float) -> Float:
    """Return the squared loss with each feature alone, relative to that without features, (n)."""
    errors = _errors(X, Y, weights)
    left: Float = np.einsum("tmn,tmn,m->n", errors, errors, weights)
    return np.nan_to_num(left / _squares_without(Y, weights), nan=np.inf)


def _squares_without(Y: Float, weights: Float) -> float:
    """Return the sum of squared leave-one-out errors of the mean."""
    errors = Y - np.average(Y, axis=0, weights=weights)
    errors /= (1.0 - weights / weights.sum())[:, None]
    return float((weights @ np.square(errors)).sum())


def _class_share(X: Float, Y: Float, weights: Float) -> Float:
    """Return the error rate of each feature alone, relative to that of the largest class, (n)."""
    errors = _errors(X, Y, weights)
    predictions = Y.T[:, :, None] - errors
    if Y.shape[1] == 1:
        is_wrong = ~(predictions[0] * Y > 0.0)
    else:
        is_wrong = predictions.argmax(axis=0) != Y.argmax(axis=1)[:, None]
        is_wrong |= np.isnan(predictions).any(axis=0)
    result: Float = (weights @ is_wrong) / _base(Y, weights)
    return result


def _base(Y: Float, weights: Float) -> float:
    """Return the weight of rows that do not belong to the most frequent class."""
    totals = weights @ (Y > 0.0)
    largest = max(totals[0], weights.sum() - totals[0]) if len(totals) == 1 else totals.max()
    return float(weights.sum() - largest)


def _is_leak_as_a_whole(
    values: Float, Y: Float, weights: Float, n: int, is_text: bool, is_classes: bool
) -> bool:
    """Whether rows with the same values of a column have almost exactly the same target.

    `values` (m × c) are the features of the column, one of n.
    """
    if not is_text and len(np.unique(values[: 4 * MOST_LEVELS])) > MOST_LEVELS:
        return False
    codes = np.unique(values, axis=0, return_inverse=True)[1].ravel()
    counts = np.bincount(codes)
    if len(counts) > MOST_LEVELS or len(codes) < 2 * len(counts):
        return False
    if is_classes:
        return _is_sorted_by(codes, Y, weights, n)
    # Means of the other rows with the same value; a unique value gives no information.
    sums = np.bincount(codes, weights)
    complement = 1.0 - weights / sums[codes]
    if (counts == 1).any() or len(codes) - len(counts) < len(counts) + 10:
        return False
    means = np.bincount(codes, weights * Y[:, 0]) / sums
    errors = (Y[:, 0] - means[codes]) / complement
    share = (weights @ np.square(errors)) / _squares_without(Y, weights)
    return bool(share <= LEFT_OF_SQUARES)


def _is_sorted_by(codes: NDArray[np.intp], Y: Float, weights: Float, n: int) -> bool:
    """Whether codes determine classes: the majority of the other rows is nearly always right.

    False if that would also happen by chance, with classes assigned to codes at random.
    """
    labels = np.argmax(Y, axis=1) if Y.shape[1] > 1 else (Y[:, 0] > 0.0).astype(np.intp)
    classes = int(labels.max()) + 1
    table = np.zeros((int(codes.max()) + 1, classes))
    np.add.at(table, (codes, labels), weights)
    others = table[codes]
    rows = np.arange(len(codes))
    others[rows, labels] -= weights
    same = others[rows, labels].copy()
    others[rows, labels] = -np.inf
    is_wrong = ~(same > np.maximum(others.max(axis=1), 0.0))
    if not weights @ is_wrong <= LEFT_OF_CLASSES * _base(Y, weights):
        return False
    shares = np.bincount(labels) / len(labels)
    counts = np.bincount(codes)
    chance = np.log((shares[None, :] ** counts[:, None]).sum(axis=1)).sum()
    return bool(chance + np.log(n) < np.log(NOT_BY_CHANCE))
