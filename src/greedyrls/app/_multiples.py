"""Features that are others in another unit: b = 2 a, °F = 1.8 °C + 32."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._base import Float
from ._data_summary import Feature

# Of columns of length 1: products that may be equal, and what rounding leaves of each entry.
_SAME = 1e-9
_ROUNDING = 64 * float(np.finfo(np.float64).eps)
# Relative to the numbers: a shift that is said.
_SHIFT = 1e-7
# Columns are made to this many numbers at a time.
_ELEMENTS = 1 << 20
_SHOWN = 3


def multiples_in_words(X: Float, features: Sequence[Feature]) -> list[str]:
    """A note on features that say the same as others, in all rows; or none.

    Equal columns have equal products with any vector: with one drawn at random, sorted, those that
    may be equal are neighbours. One pass over X, and one more over those.
    """
    products, lengths, means = _projections(X)
    order = np.argsort(np.abs(products), kind="stable")
    values = np.abs(products)[order]
    pairs: list[tuple[int, int]] = []
    start = 0
    for end in range(1, len(order) + 1):
        if end < len(order) and values[end] - values[start] <= _SAME * np.sqrt(len(X)):
            continue
        pairs += _equal(X, features, sorted(order[start:end].tolist()), lengths, means)
        start = end
    if not pairs:
        return []
    pairs.sort(key=lambda pair: (pair[1], pair[0]))
    told = [_in_words(features, first, second, X, lengths, means) for first, second in pairs]
    more = f"; and {len(told) - _SHOWN} more" if len(told) > _SHOWN else ""
    return [f"The same in all rows, in other units: {'; '.join(told[:_SHOWN])}{more}."]


def _projections(X: Float) -> tuple[Float, Float, Float]:
    """Of each column about its mean, put to length 1, the product with a vector; lengths, means."""
    m, n = X.shape
    vector = np.random.default_rng(0).standard_normal(m)
    products, lengths, means = np.empty(n), np.empty(n), np.empty(n)
    width = max(1, _ELEMENTS // m)
    for first in range(0, n, width):
        block = slice(first, min(n, first + width))
        means[block] = X[:, block].mean(axis=0)
        part = X[:, block] - means[block]
        lengths[block] = np.sqrt(np.einsum("ij,ij->j", part, part))
        products[block] = vector @ part / np.maximum(lengths[block], np.finfo(float).tiny)
    return products, lengths, means


def _equal(
    X: Float, features: Sequence[Feature], group: list[int], lengths: Float, means: Float
) -> list[tuple[int, int]]:
    """Pairs of a column and the first one that it equals, up to its sign."""
    found: list[tuple[int, int]] = []
    firsts: list[tuple[int, Float, float]] = []
    for column in group if len(group) > 1 else ():
        values = (X[:, column] - means[column]) / lengths[column]
        # Numbers far from 0 for their spread have lost digits.
        spread = lengths[column] / np.sqrt(len(X))
        lost = 1.0 + abs(_centre(features[column], means[column])) / (
            features[column].scale * spread
        )
        for first, other, more in firsts:
            difference = min(np.abs(values - other).max(), np.abs(values + other).max())
            if difference <= _ROUNDING * (lost + more):
                found.append((first, column))
                break
        else:
            firsts.append((column, values, lost))
    return found


def _centre(feature: Feature, mean: float) -> float:
    """The mean of a feature in the units of the data, from that of what the search saw."""
    return feature.mean + feature.scale * mean


def _in_words(
    features: Sequence[Feature], first: int, second: int, X: Float, lengths: Float, means: Float
) -> str:
    """The second feature by the first, in the units of the data."""
    one, two = features[first], features[second]
    same = (X[:, first] - means[first]) @ (X[:, second] - means[second])
    slope = np.sign(same) * lengths[second] * two.scale / (lengths[first] * one.scale)
    centre = _centre(two, means[second])
    offset = centre - slope * _centre(one, means[first])
    spread = lengths[second] * two.scale / np.sqrt(len(X))
    is_shifted = abs(offset) > _SHIFT * (spread + abs(centre))
    times = "" if abs(slope - 1.0) <= _SHIFT else f"{_short(slope)} × "
    shift = f" {'+' if offset > 0 else '−'} {_short(abs(offset))}" if is_shifted else ""
    return f"{two.name!r} is {times}{one.name!r}{shift}"


def _short(number: float) -> str:
    return f"{number:.6g}".replace("-", "−")
