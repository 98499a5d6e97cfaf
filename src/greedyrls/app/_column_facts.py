"""What preparation must know of a column, so that the column itself need not stay in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._base import Float
from ._column_roles import Finding
from ._column_summary import summary
from ._data_summary import ColumnSummary, Feature
from ._frame_columns import texts_of_numbers
from ._linear_model import InputColumn, term_values
from ._placeholders import placeholders
from ._table import Column, Numbers, Texts, Unusable


@dataclass(frozen=True, slots=True)
class Encoding:
    """How columns become features."""

    is_imputed: bool
    is_standardised: bool
    is_centred: bool
    categorical: frozenset[str]  # numbers that are categories
    comma_columns: frozenset[str]
    missing: tuple[str, ...]
    weights: Float | None  # (m)


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """Facts about a column; those from `summary` on are of columns that have values."""

    finding: Finding | None  # if it seems to be no measurement
    unusable: Unusable | None = None
    n_levels: int = 0  # different texts
    infinite: tuple[int, tuple[str, ...]] | None = None  # the first row, and what is there
    n_missing: int = 0
    first_missing: int = 0
    is_empty: bool = False
    summary: ColumnSummary | None = None
    placeholders: Mapping[str, int] = field(default_factory=dict)
    input: InputColumn | None = None
    # Candidates: the numbers, one for each text, or a single one of two texts.
    features: tuple[Feature, ...] = ()
    is_constant: bool = False
    has_scale: bool = True  # False if numbers are too large or too close to each other


def categorised(name: str, values: Column, encoding: Encoding) -> Column:
    """Return a column with numbers as texts if they are categories."""
    if name in encoding.categorical and isinstance(values, Numbers):
        return texts_of_numbers(values)
    return values


def facts_of(name: str, values: Column, finding: Finding | None, encoding: Encoding) -> ColumnFacts:
    """Return the facts about a column; `finding` is what it looks like, with all its rows."""
    values = categorised(name, values, encoding)
    if isinstance(values, Unusable):
        return ColumnFacts(finding, values)
    is_missing = values.is_missing
    n_missing, first = int(is_missing.sum()), int(np.argmax(is_missing))
    n_levels, infinite = 0, None
    if isinstance(values, Texts):
        n_levels = len(values.levels)
    elif np.isinf(values.values).any():
        row = int(np.argmax(np.isinf(values.values)))
        words = [word for word in ("inf", "-inf") if (values.values == float(word)).any()]
        infinite = row, tuple(words)
    if n_missing == len(is_missing):
        return ColumnFacts(finding, None, n_levels, infinite, n_missing, first, is_empty=True)
    column = _input(name, values, encoding)
    features: tuple[Feature, ...] = ()
    is_constant, has_scale = False, True
    if infinite is None and (encoding.is_imputed or not n_missing):
        complete = filled(values, column.fill)
        is_constant, levels = _levels(complete)
        if not is_constant:
            pairs = [_feature(name, level, complete, encoding) for level in levels]
            features = tuple(feature for feature, _ in pairs)
            has_scale = all(is_fine for _, is_fine in pairs)
    return ColumnFacts(
        finding,
        None,
        n_levels,
        infinite,
        n_missing,
        first,
        False,
        summary(name, values),
        placeholders(values),
        column,
        features,
        is_constant,
        has_scale,
    )


def _input(name: str, values: Numbers | Texts, encoding: Encoding) -> InputColumn:
    """Return a column as models name it, with what stands for its missing values."""
    fill: Any = None
    if isinstance(values, Texts):
        if encoding.is_imputed:
            counts = np.bincount(values.codes[values.codes >= 0])
            fill = values.levels[int(np.argmax(counts))]
        return InputColumn(name, values.levels, fill, missing=encoding.missing)
    if encoding.is_imputed:
        fill = float(np.nanmedian(values.values))
        if values.is_flag:
            fill = float(fill > 0.5)  # the median of flags may be 0.5
    mark = "," if name in encoding.comma_columns else "."
    return InputColumn(name, None, fill, mark, missing=encoding.missing)


def filled(values: Numbers | Texts, fill: Any) -> Numbers | Texts:
    """Return a column without gaps."""
    is_missing = values.is_missing
    if fill is None or not is_missing.any():
        return values
    if isinstance(values, Numbers):
        return Numbers(np.where(is_missing, fill, values.values))
    code = values.levels.index(fill)
    return Texts(np.where(is_missing, code, values.codes), values.levels)


def _levels(values: Numbers | Texts) -> tuple[bool, list[str | None]]:
    """Return whether a column is constant, and the texts that its features indicate."""
    if isinstance(values, Numbers):
        return bool((values.values == values.values[0]).all()), [None]
    used: list[str | None] = [values.levels[code] for code in np.unique(values.codes).tolist()]
    # One indicator suffices for two texts.
    return len(used) < 2, used[1:] if len(used) == 2 else used


def _feature(
    name: str, level: str | None, values: Numbers | Texts, encoding: Encoding
) -> tuple[Feature, bool]:
    """Return a feature, and whether it can be standardised."""
    numbers, weights = term_values(values, level), encoding.weights
    # The second mean removes the rounding of the first, for values far from 0.
    mean = float(np.average(numbers, weights=weights))
    mean += float(np.average(numbers - mean, weights=weights))
    scale = float(np.sqrt(np.average(np.square(numbers - mean), weights=weights)))
    has_scale = bool(np.isfinite(scale) and scale > 0.0)
    scale = scale if encoding.is_standardised else 1.0
    return Feature(name, level, mean if encoding.is_centred else 0.0, scale), has_scale


def feature_values(feature: Feature, values: Numbers | Texts) -> Float:
    """Return a feature as the search sees it, (m), from a column without gaps."""
    numbers: Float = term_values(values, feature.level) - feature.mean
    numbers /= feature.scale
    return numbers
