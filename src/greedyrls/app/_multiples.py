"""Features that repeat others in another unit: b = 2 a, °F = 1.8 °C + 32."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from .._base import Float
from .._data import single_column
from ._data_summary import Feature
from ._feature_blocks import Values, feature_blocks, features_of, most_columns

# Tolerances for unit-length columns: of products with a random vector, and of each entry.
_SAME = 1e-9
_ROUNDING = 64 * float(np.finfo(np.float64).eps)
# A shift is reported if it exceeds this, relative to the numbers.
_SHIFT = 1e-7
# Elements of columns computed at a time.
_ELEMENTS = 1 << 20
_SHOWN = 3


def multiples_in_words(X: Values, features: Sequence[Feature]) -> list[str]:
    """Return a note on features that equal others in all rows, up to their unit.

    Equal columns have equal products with any vector: once the products with a random vector are
    sorted, columns that may be equal are neighbours. Takes one pass over X, and another over those.
    """
    products, lengths, means = _projections(X, features)
    order = np.argsort(np.abs(products), kind="stable")
    values = np.abs(products)[order]
    groups: list[list[int]] = []
    start = 0
    for end in range(1, len(order) + 1):
        if end < len(order) and values[end] - values[start] <= _SAME * np.sqrt(len(X)):
            continue
        if end - start > 1:
            groups.append(sorted(order[start:end].tolist()))
        start = end
    column = _loaded(X, groups)
    pairs: list[tuple[int, int]] = []
    for group in groups:
        pairs += _equal(column, features, group, lengths, means)
    if not pairs:
        return []
    pairs.sort(key=lambda pair: (pair[1], pair[0]))
    relations = [
        _in_words(features, first, second, column, lengths, means)
        for first, second in pairs[:_SHOWN]
    ]
    more = f"; and {len(pairs) - _SHOWN} more" if len(pairs) > _SHOWN else ""
    return [f"The same in all rows, in other units: {'; '.join(relations)}{more}."]


def _loaded(X: Values, groups: list[list[int]]) -> Callable[[int], Float]:
    """Return a function that returns a column of these groups; those of a file are read once.

    Groups that do not fit into memory are left out.
    """
    matrix = features_of(X)
    if matrix.is_in_memory:
        return partial(single_column, matrix)
    width, wanted = most_columns(matrix), [index for group in groups for index in group]
    while len(wanted) > width:
        del wanted[-len(groups.pop()) :]
    columns = matrix.columns(np.array(wanted, dtype=np.intp)) if wanted else ()
    known = dict(zip(wanted, columns, strict=True))
    return lambda index: known[index]


def _projections(X: Values, features: Sequence[Feature]) -> tuple[Float, Float, Float]:
    """Return products of centred unit-length columns with a random vector, lengths and means."""
    m, n = X.shape
    vector = np.random.default_rng(0).standard_normal(m)
    products, lengths, means = np.empty(n), np.empty(n), np.empty(n)
    width = max(1, _ELEMENTS // m)
    for inside, values in feature_blocks(X, features):
        for first in range(0, values.shape[1], width):
            part = values[:, first : first + width]
            block = slice(inside.start + first, inside.start + first + part.shape[1])
            means[block] = part.mean(axis=0)
            part = part - means[block]
            lengths[block] = np.sqrt(np.einsum("ij,ij->j", part, part))
            products[block] = vector @ part / np.maximum(lengths[block], np.finfo(float).tiny)
    return products, lengths, means


def _equal(
    column_at: Callable[[int], Float],
    features: Sequence[Feature],
    group: list[int],
    lengths: Float,
    means: Float,
) -> list[tuple[int, int]]:
    """Return pairs of a column and the first column that it equals, up to the sign."""
    pairs: list[tuple[int, int]] = []
    firsts: list[tuple[int, Float, float]] = []
    for column in group:
        values = (column_at(column) - means[column]) / lengths[column]
        # Numbers far from 0 relative to their spread have lost digits.
        spread = lengths[column] / np.sqrt(len(values))
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
    features: Sequence[Feature],
    first: int,
    second: int,
    column_at: Callable[[int], Float],
    lengths: Float,
    means: Float,
) -> str:
    """Return the second feature as a function of the first, in the units of the data."""
    base, multiple = features[first], features[second]
    one, other = column_at(first), column_at(second)
    same = (one - means[first]) @ (other - means[second])
    slope = np.sign(same) * lengths[second] * multiple.scale / (lengths[first] * base.scale)
    centre = _centre(multiple, means[second])
    offset = centre - slope * _centre(base, means[first])
    spread = lengths[second] * multiple.scale / np.sqrt(len(one))
    is_shifted = abs(offset) > _SHIFT * (spread + abs(centre))
    times = "" if abs(slope - 1.0) <= _SHIFT else f"{_short(slope)} × "
    shift = f" {'+' if offset > 0 else '−'} {_short(abs(offset))}" if is_shifted else ""
    return f"{multiple.name!r} is {times}{base.name!r}{shift}"


def _short(number: float) -> str:
    return f"{number:.6g}".replace("-", "−")
