"""Features that repeat others in another unit: b = 2 a, °F = 1.8 °C + 32."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._base import Float
from ._data_summary import Feature

# Tolerances for unit-length columns: of products with a random vector, and of each entry.
_SAME = 1e-9
_ROUNDING = 64 * float(np.finfo(np.float64).eps)
# A shift is reported if it exceeds this, relative to the numbers.
_SHIFT = 1e-7
# Elements of columns computed at a time.
_ELEMENTS = 1 << 20
_SHOWN = 3


def multiples_in_words(X: Float, features: Sequence[Feature]) -> list[str]:
    """Return a note on features that equal others in all rows, up to their unit.

    Equal columns have equal products with any vector: once the products with a random vector are
    sorted, columns that may be equal are neighbours. Takes one pass over X, and another over those.
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
    relations = [_in_words(features, first, second, X, lengths, means) for first, second in pairs]
    more = f"; and {len(relations) - _SHOWN} more" if len(relations) > _SHOWN else ""
    return [f"The same in all rows, in other units: {'; '.join(relations[:_SHOWN])}{more}."]


def _projections(X: Float) -> tuple[Float, Float, Float]:
    """Return products of centred unit-length columns with a random vector, lengths and means."""
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
    """Return pairs of a column and the first column that it equals, up to the sign."""
    pairs: list[tuple[int, int]] = []
    firsts: list[tuple[int, Float, float]] = []
    for column in group if len(group) > 1 else ():
        values = (X[:, column] - means[column]) / lengths[column]
        # Numbers far from 0 relative to their spread have lost digits.
        spread = lengths[column] / np.sqrt(len(X))
        lost = 1.0 + abs(_centre(features[column], means[column])) / (
            features[column].scale * spread
        )
        for first, other, more in firsts:
            difference = min(np.abs(values - other).max(), np.abs(values + other).max())
            if difference <= _ROUNDING * (lost + more):
                pairs.append((first, column))
                break
        else:
            firsts.append((column, values, lost))
    return pairs


def _centre(feature: Feature, mean: float) -> float:
    """Return the mean of a feature in the units of the data, from its mean in the search."""
    return feature.mean + feature.scale * mean


def _in_words(
    features: Sequence[Feature], first: int, second: int, X: Float, lengths: Float, means: Float
) -> str:
    """Return the second feature as a function of the first, in the units of the data."""
    base, multiple = features[first], features[second]
    same = (X[:, first] - means[first]) @ (X[:, second] - means[second])
    slope = np.sign(same) * lengths[second] * multiple.scale / (lengths[first] * base.scale)
    centre = _centre(multiple, means[second])
    offset = centre - slope * _centre(base, means[first])
    spread = lengths[second] * multiple.scale / np.sqrt(len(X))
    is_shifted = abs(offset) > _SHIFT * (spread + abs(centre))
    times = "" if abs(slope - 1.0) <= _SHIFT else f"{_short(slope)} × "
    shift = f" {'+' if offset > 0 else '−'} {_short(abs(offset))}" if is_shifted else ""
    return f"{multiple.name!r} is {times}{base.name!r}{shift}"


def _short(number: float) -> str:
    return f"{number:.6g}".replace("-", "−")
