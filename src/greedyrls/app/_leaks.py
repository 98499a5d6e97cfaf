"""Columns that predict the target almost exactly alone: copies of it, or known only after it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._base import Float
from .._problem import make_targets
from ..assess import LEFT_OF_CLASSES, LEFT_OF_SQUARES, NOT_BY_CHANCE, by_chance
from ._preparation import Prepared
from ._table import MOST_LEVELS

# Numbers of (rows × columns) worked on at a time.
_ELEMENTS = 1 << 20
# Numbers are looked at as codes of classes among so many features; each takes a sort.
_MOST_SORTED = 5000


def find_leaks(prepared: Prepared) -> tuple[str, ...]:
    """Features and whole text columns that alone leave next to nothing of the loss, by name.

    Decided by the leave-one-out loss of the model on a single feature, without a penalty and with
    an intercept: squared loss for numbers, error rate for classes. A text column, and for classes
    also a column of few different numbers, is judged as a whole, too: by the mean or the most
    frequent class of the other rows with the same value. A column that does so by chance is none.
    """
    m, n = prepared.X.shape
    weights = np.ones(m) if prepared.weights is None else prepared.weights
    Y = np.asarray(make_targets(prepared.y, prepared.task).values, dtype=np.float64)
    Y = Y.reshape(m, -1)
    is_classes = prepared.task == "classification"
    if not _is_telling(Y, weights, is_classes, n):
        return ()
    judge = _class_share if is_classes else _square_share
    bar = LEFT_OF_CLASSES if is_classes else LEFT_OF_SQUARES
    width = max(1, _ELEMENTS // (m * Y.shape[1]))
    is_leak = np.zeros(n, dtype=bool)
    for first in range(0, n, width):
        block = slice(first, min(n, first + width))
        is_leak[block] = judge(prepared.X[:, block], Y, weights) <= bar
    by_column: dict[str, list[int]] = {}
    for place, feature in enumerate(prepared.features):
        by_column.setdefault(feature.column, []).append(place)
    found: list[str] = []
    for column, places in by_column.items():
        names = [prepared.features[place].name for place in places if is_leak[place]]
        if names:
            found += [column] if len(places) == 1 else names
        elif _is_leak_as_a_whole(prepared, places, Y, weights):
            found.append(column)
    return tuple(found)


def _is_telling(Y: Float, weights: Float, is_classes: bool, n: int) -> bool:
    """Whether a perfect feature would be more than chance, for the rows and features there are."""
    if is_classes:
        rarest = int((Y > 0.0).sum(axis=0).min()) if Y.shape[1] > 1 else int((Y > 0.0).sum())
        return by_chance(len(Y), n, min(rarest, len(Y) - rarest)) < NOT_BY_CHANCE
    # A few outliers may be all that there is to predict: rows count by their share of the variance.
    squares = np.square(Y - np.average(Y, axis=0, weights=weights)).sum(axis=1)
    largest = squares.max()
    if not largest > 0.0:
        return False
    squares = squares / largest
    telling = 3.0 * squares.sum() ** 2 / np.square(squares).sum()
    return by_chance(int(min(len(Y), telling)), n, None) < NOT_BY_CHANCE


def _errors(X: Float, Y: Float, weights: Float) -> Float:
    """Leave-one-out errors (t × m × n) of the line on each feature alone, with an intercept."""
    total = weights.sum()
    X = X - (weights @ X) / total
    Y = Y - (weights @ Y) / total
    scaled = X * weights[:, None]
    squares = np.einsum("ij,ij->j", scaled, X)
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = (scaled.T @ Y) / squares[:, None]  # (n × t)
        # What is left of a row's own error once the row is left out.
        rest = 1.0 - weights[:, None] / total - scaled * X / squares
        rest[rest <= 1e-9] = np.nan
        return np.stack([(Y[:, [t]] - X * slopes[:, t]) / rest for t in range(Y.shape[1])])


def _square_share(X: Float, Y: Float, weights: Float) -> Float:
    """The squared loss that each feature alone leaves, as a share of that without features, (n)."""
    errors = _errors(X, Y, weights)
    left: Float = np.einsum("tmn,tmn,m->n", errors, errors, weights)
    return np.nan_to_num(left / _squares_without(Y, weights), nan=np.inf)


def _squares_without(Y: Float, weights: Float) -> float:
    """Squared leave-one-out errors of the mean, added up."""
    errors = Y - np.average(Y, axis=0, weights=weights)
    errors /= (1.0 - weights / weights.sum())[:, None]
    return float((weights @ np.square(errors)).sum())


def _class_share(X: Float, Y: Float, weights: Float) -> Float:
    """The error rate of each feature alone, as a share of that of the most frequent class, (n)."""
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
    """The weight of rows that are not of the most frequent class."""
    totals = weights @ (Y > 0.0)
    largest = max(totals[0], weights.sum() - totals[0]) if len(totals) == 1 else totals.max()
    return float(weights.sum() - largest)


def _is_leak_as_a_whole(prepared: Prepared, places: list[int], Y: Float, weights: Float) -> bool:
    """Whether rows with the same value of a column have the same target, all but exactly."""
    is_text = prepared.features[places[0]].level is not None
    is_classes = prepared.task == "classification"
    if not is_text and (not is_classes or prepared.X.shape[1] > _MOST_SORTED):
        return False
    values = prepared.X[:, places]
    if not is_text and len(np.unique(values[: 4 * MOST_LEVELS])) > MOST_LEVELS:
        return False
    codes = np.unique(values, axis=0, return_inverse=True)[1].ravel()
    counts = np.bincount(codes)
    if len(counts) > MOST_LEVELS or len(codes) < 2 * len(counts):
        return False
    if is_classes:
        return _is_sorted_by(codes, Y, weights, prepared.X.shape[1])
    # Means of the other rows with the same value; a value that comes once says nothing.
    sums = np.bincount(codes, weights)
    rest = 1.0 - weights / sums[codes]
    if (counts == 1).any() or len(codes) - len(counts) < len(counts) + 10:
        return False
    means = np.bincount(codes, weights * Y[:, 0]) / sums
    errors = (Y[:, 0] - means[codes]) / rest
    share = (weights @ np.square(errors)) / _squares_without(Y, weights)
    return bool(share <= LEFT_OF_SQUARES)


def _is_sorted_by(codes: NDArray[np.intp], Y: Float, weights: Float, n: int) -> bool:
    """Whether the most frequent class of the other rows with the same code is nearly always right.

    And whether that would not happen by chance, if classes were spread over the codes at random.
    """
    labels = np.argmax(Y, axis=1) if Y.shape[1] > 1 else (Y[:, 0] > 0.0).astype(np.intp)
    classes = int(labels.max()) + 1
    table = np.zeros((int(codes.max()) + 1, classes))
    np.add.at(table, (codes, labels), weights)
    others = table[codes]
    rows = np.arange(len(codes))
    others[rows, labels] -= weights
    own = others[rows, labels].copy()
    others[rows, labels] = -np.inf
    is_wrong = ~(own > np.maximum(others.max(axis=1), 0.0))
    if not weights @ is_wrong <= LEFT_OF_CLASSES * _base(Y, weights):
        return False
    shares = np.bincount(labels) / len(labels)
    counts = np.bincount(codes)
    chance = np.log((shares[None, :] ** counts[:, None]).sum(axis=1)).sum()
    return bool(chance + np.log(n) < np.log(NOT_BY_CHANCE))
